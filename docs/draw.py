"""Draw the pictures of the documentation.

Run ``python docs/draw.py NAME ...`` with the names of functions below, or without names to draw all pictures.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn, plots, sweep
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.embedding.schedule import EARLY_ITER
from snekhorn.metrics import evaluate

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
LAYOUT_PERPLEXITIES = (5, 10, 20, 30, 50, 100)
PERPLEXITIES = (3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
COLORS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")
SCORES = {
    "silhouette": "silhouette",
    "trustworthiness": "trustworthiness",
    "neighbor_recall": "neighbour recall",
    "knn_accuracy": "kNN accuracy",
}
AFFINITIES = {
    "symmetric entropic": (SymmetricEntropicAffinity(), "#0072B2"),
    "symmetric entropic, no self-loops": (SymmetricEntropicAffinity(self_loops=False), "#009E73"),
    "entropic, symmetrised": (EntropicAffinity(symmetrize=True), "#D55E00"),
}


def start() -> None:
    """Run `snekhorn embed` on the digits; keep its picture and a screenshot of its page."""
    X, y = load_digits(return_X_y=True)
    with TemporaryDirectory() as folder:
        names = ",".join([*(f"pixel_{i}" for i in range(X.shape[1])), "digit"])
        np.savetxt(f"{folder}/digits.csv", np.column_stack([X, y]), "%g", ",", header=names, comments="")
        command = ["embed", "digits.csv", "--label", "digit"]
        subprocess.run([sys.executable, "-m", "snekhorn", *command], cwd=folder, check=True)
        shutil.copy(f"{folder}/digits.tsnekhorn.png", IMAGES / "start.png")
        take_screenshot(Path(folder, "digits.tsnekhorn.html"), IMAGES / "page.png")


def demo() -> None:
    """Run the demonstration, and keep its picture."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(IMAGES.parents[1] / "demo.py")], cwd=folder, check=True)
        shutil.copy(f"{folder}/demo/demo.png", IMAGES / "demo.png")


def take_screenshot(page: Path, picture: Path) -> None:
    """Take a screenshot of the page in a browser, with the details of a point."""
    from playwright.sync_api import sync_playwright

    arguments = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        window = browser.new_page(viewport={"width": 1200, "height": 760})
        window.goto(page.as_uri())
        window.wait_for_timeout(3000)
        window.mouse.click(*window.evaluate("window.snekhorn.scatterplot.getScreenPosition(3)"))
        window.wait_for_timeout(2000)
        window.screenshot(path=picture)
        browser.close()


def rows() -> None:
    """Draw the row perplexities of two affinities computed for a perplexity of 30."""
    X, _ = load_digits(return_X_y=True)
    affinities = {
        "symmetric entropic": SymmetricEntropicAffinity(self_loops=False),
        "entropic, symmetrised": EntropicAffinity(symmetrize=True, self_loops=False),
    }
    found = {}
    for name, affinity in affinities.items():
        P = affinity.fit_transform(X)
        found[name] = row_perplexities(P / P.sum(axis=1, keepdims=True))
    plots.save(plots.row_perplexities(found, target=30).figure, IMAGES / "rows.png", dpi=150)


def loss() -> None:
    """Draw the loss during a descent."""
    report = TSNEkhorn().fit(load_digits().data).report_
    plots.save(plots.loss(report.iterations, report.losses, early=EARLY_ITER).figure, IMAGES / "loss.png", dpi=150)


def methods() -> None:
    """Draw the digits with every method."""
    X = load_digits().data
    found = {model.__name__: model().fit_transform(X) for model in (TSNEkhorn, TSNE, SNEkhorn, SymmetricSNE, SNE)}
    _sheet(found, "methods.png")


def exaggerations() -> None:
    """Draw the digits with increasing exaggeration."""
    models = sweep(TSNEkhorn(), load_digits().data, exaggerations=(1, 1.5, 2))
    _sheet({f"exaggeration {model.exaggeration:g}": model.embedding_ for model in models}, "exaggeration.png")


def _sheet(found: dict[str, np.ndarray], name: str) -> None:
    """Draw layouts of the digits side by side, with their scores."""
    X, y = load_digits(return_X_y=True)
    scores = {key: evaluate(X, Z, y) for key, Z in found.items()}
    summaries = {
        key: f"neighbour recall {score['neighbor_recall']:.2f}, silhouette {score['silhouette']:.2f}"
        for key, score in scores.items()
    }
    plots.save(plots.sheet(found, y, subtitles=summaries, columns=3, label="digit"), IMAGES / name, dpi=100)


def layouts() -> None:
    """Draw layouts of the digits at several perplexities."""
    X, y = load_digits(return_X_y=True)
    found = {f"perplexity {xi}": TSNEkhorn(perplexity=xi).fit_transform(X) for xi in LAYOUT_PERPLEXITIES}
    plots.save(plots.sheet(found, y, label="digit"), IMAGES / "layouts.png", dpi=100)


def perplexity() -> None:
    """Draw three properties of the affinities of the digits against the perplexity."""
    X, y = load_digits(return_X_y=True)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    for name, (affinity, color) in AFFINITIES.items():
        scores = np.array([_scores(affinity.set_params(perplexity=xi).fit_transform(X), y) for xi in PERPLEXITIES])
        for ax, values in zip(axes, scores.T, strict=True):
            ax.plot(PERPLEXITIES, values, marker="o", markersize=3, color=color, label=name)
    titles = ("mass on the point itself", "other mass within the digit's class", "spectral clustering, ARI")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xscale("log")
        ax.set_xticks([3, 10, 30, 100, 300], labels=["3", "10", "30", "100", "300"])
        ax.set_xlabel("perplexity")
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(IMAGES / "perplexity.png", dpi=150)
    plt.close(figure)


def choices() -> None:
    """Draw how variants of t-SNEkhorn change the scores, as measured by `python -m benchmarks study`."""
    rows = [case for case in _study() if case["part"] == "variants"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    variants = [variant for variant in dict.fromkeys(row["variant"] for row in rows) if variant != "defaults"]
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True, layout="constrained")
    for ax, score in zip(axes, ("silhouette", "neighbor_recall"), strict=True):
        best = {
            (name, variant): _best(rows, name, variant, score) for name in names for variant in ["defaults", *variants]
        }
        for at, variant in enumerate(variants):
            change = [best[name, variant] - best[name, "defaults"] for name in names]
            ax.plot(change, np.full(len(change), at), "o", color="#0072B2", alpha=0.45, markersize=6, markeredgewidth=0)
            ax.plot(np.mean(change), at, "|", color="#D55E00", markersize=18, markeredgewidth=2.5)
        ax.axvline(0.0, color="0.7", linewidth=1, zorder=0)
        ax.set_title(f"change in {SCORES[score]}", fontsize=10, loc="left")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)
    axes[0].set_yticks(range(len(variants)), labels=variants, fontsize=9)
    axes[0].invert_yaxis()
    figure.savefig(IMAGES / "choices.png", dpi=150)
    plt.close(figure)


def sizes() -> None:
    """Draw the scores of several perplexities against the number of points, from the same measurement."""
    rows = [case for case in _study() if case["part"] == "sizes"]
    figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.0), layout="constrained")
    for ax, (score, title) in zip(axes, SCORES.items(), strict=True):
        for xi, color in zip(dict.fromkeys(row["perplexity"] for row in rows), COLORS, strict=True):
            found = [row for row in rows if row["perplexity"] == xi]
            n = [row["n"] for row in found]
            ax.plot(n, [row[score] for row in found], marker="o", markersize=3, color=color, label=f"perplexity {xi}")
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xscale("log")
        ax.set_xticks(n, labels=[f"{size:,}" for size in n], fontsize=8)
        ax.set_xticks([], minor=True)
        ax.set_xlabel("points", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(IMAGES / "sizes.png", dpi=150)
    plt.close(figure)


def _study():
    """Read the cases of the study."""
    path = IMAGES.parent / "benchmarks" / "study.json"
    if not path.exists():
        raise SystemExit(f"{path} does not exist; run: python -m benchmarks study")
    return list(json.loads(path.read_text())["cases"].values())


def _best(rows, name, variant, score):
    """Return the score of a variant at its best perplexity."""
    return max(row[score] for row in rows if row["data"] == name and row["variant"] == variant)


def _scores(P, y):
    """Return the mass on the diagonal, the other mass within the class, and the clustering score of an affinity."""
    diagonal = np.diag(P)
    other = P.sum(axis=1) - diagonal
    same = (P * (y[:, None] == y)).sum(axis=1) - diagonal
    clusters = SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(P)
    return diagonal.mean(), (same / other).mean(), adjusted_rand_score(y, clusters)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    pictures = (start, demo, rows, loss, methods, exaggerations, layouts, perplexity, choices, sizes)
    for draw in pictures:
        if draw.__name__ in (sys.argv[1:] or [each.__name__ for each in pictures]):
            draw()
