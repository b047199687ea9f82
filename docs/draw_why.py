"""Draw the pictures of the page "Why snekhorn, and when not".

Run ``python docs/draw_why.py`` from a clone, with openTSNE and umap-learn installed (``pip install .[bench]``) and
MNIST in the folder of SNEKHORN_DATA. Layouts are computed with the defaults of each package at perplexity 30.
"""

import json
import sys
import warnings
from io import BytesIO
from pathlib import Path
from statistics import mean

import matplotlib
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the package `harness`

from harness.data_sets import load_points
from harness.peers import peer_layout
from snekhorn import TSNEkhorn, plots
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import neighbor_recall, silhouette

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
N = 10_000
N_COLORS = 128  # of a picture of points
COLORS = {
    "t-SNEkhorn": "#0072B2",
    "t-SNEkhorn, exaggeration 1.5": "#56B4E9",
    "openTSNE": "#D55E00",
    "umap-learn": "#009E73",
}


def groups() -> None:
    """Draw MNIST with the three packages, with the scores of neighbours and of groups."""
    X, y = load_points("mnist", n=N)
    found = {
        "t-SNEkhorn": TSNEkhorn().fit_transform(X),
        "t-SNEkhorn, exaggeration 1.5": TSNEkhorn(exaggeration=1.5).fit_transform(X),
        **_peers(X),
    }
    scores = {
        key: f"neighbour recall {neighbor_recall(X, Z):.2f}, silhouette {silhouette(Z, y):.2f}"
        for key, Z in found.items()
    }
    _sheet(found, y, scores, "why-groups.png", columns=2, label="digit")


def noise() -> None:
    """Draw two kinds of samples, one of which was measured with two levels of noise."""
    X, y, less_noise = make_heteroscedastic_multinomial(1000, random_state=1)
    names = np.array(["A", "B", "B, less noise"])[y + less_noise]
    found = {"t-SNEkhorn": TSNEkhorn().fit_transform(X), **_peers(X)}
    scores = {key: f"silhouette of A and B {silhouette(Z, y):.2f}" for key, Z in found.items()}
    _sheet(found, names, scores, "why-noise.png", columns=3, label="kind")


def trade() -> None:
    """Draw neighbours against groups, and the time for 70,000 points, as measured by the benchmarks."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained", width_ratios=(1.15, 1))
    quality = [case for case in _cases("defaults") if case.get("part") == "sets"]
    for name, color in COLORS.items():
        rows = [case for case in quality if case["tool"] == name]
        x, y = (mean(row[score] for row in rows) for score in ("neighbor_recall", "silhouette"))
        left.plot(x, y, "o", color=color, markersize=9)
        below = -17 if name == "umap-learn" else 9  # points; its name would overlap another one above
        left.annotate(name, (x, y), xytext=(0, below), textcoords="offset points", ha="center", fontsize=8.5)
    left.set(xlabel="neighbour recall", ylabel="silhouette of the classes", xlim=(0.535, 0.645), ylim=(0.28, 0.42))
    left.set_title("mean over 11 data sets: up and right is better", fontsize=10, loc="left")
    speed = _cases("speed")
    for at, (name, color) in enumerate(COLORS.items()):
        tool = "t-SNEkhorn, defaults" if name == "t-SNEkhorn" else name
        seconds = min(case["total_seconds"] for case in speed if case.get("tool") == tool)
        right.barh(at, seconds, color=color, height=0.6)
        right.annotate(
            f"{seconds:.1f} s", (seconds, at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5
        )
    right.set_yticks(range(len(COLORS)), labels=list(COLORS), fontsize=8.5)
    right.set_title("time for 70,000 points of MNIST, 2 cores", fontsize=10, loc="left")
    right.set(xlim=(0, 120), xticks=[])
    right.invert_yaxis()
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    right.spines["bottom"].set_visible(False)
    plots.save(figure, DOCS / "images" / "why-trade.png", dpi=110)
    plt.close(figure)


def _peers(X):
    """Return the layouts of openTSNE and umap-learn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: peer_layout(name, X, 30.0, 0) for name in ("openTSNE", "umap-learn")}


def _sheet(found, values, scores, name, *, columns, label):
    """Draw layouts side by side, with their scores; few colours keep the file small."""
    buffer = BytesIO()
    plots.save(plots.sheet(found, values, subtitles=scores, columns=columns, label=label), buffer, dpi=80)
    with Image.open(buffer) as picture:
        picture.convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE).save(DOCS / "images" / name, optimize=True)


def _cases(name):
    """Return the cases of a benchmark."""
    return list(json.loads((DOCS / "benchmarks" / f"{name}.json").read_text())["cases"].values())


if __name__ == "__main__":
    pictures = (groups, noise, trade)
    for draw in pictures:
        if draw.__name__ in (sys.argv[1:] or [each.__name__ for each in pictures]):
            draw()
