"""Draw the pictures of the field: neighbours against groups, ranks, cost, and noise.

Run ``python docs/draw_field.py`` from a clone, after ``python -m benchmarks field cost noise``. A picture whose results
are missing is skipped with a message. ``--folder`` and ``--out`` choose the folders of the results and of the pictures.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the package `benchmarks`

from benchmarks.field_methods import METHODS, OURS
from benchmarks.field_report import GROUPS
from benchmarks.layout_measures import MEASURES
from benchmarks.rankings import rank, rivals, sets_of, summarize
from snekhorn import plots

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
COLORS = {
    **dict(zip(OURS, ("#0072B2", "#56B4E9", "#003F5C"), strict=True)),
    "t-SNEkhorn, balance 0": "#9ECAE1",
    "openTSNE": "#D55E00",
    "scikit-learn": "#E69F00",
    "umap-learn": "#009E73",
    "PaCMAP": "#CC79A7",
    "LocalMAP": "#882255",
    "TriMap": "#999933",
    "PHATE": "#666666",
    "TorchDR": "#AAAAAA",
}
NOISE_SCORES = {"classes": "classes: high is good", "batches": "batches: 0 is good"}
SHAPES = {0.333: "v", 1.0: "o", 3.0: "^"}  # by size of the neighbourhood, relative to the default
Cases = list[dict[str, Any]]


def trade(cases: Cases) -> Any:
    """Draw the mean recall against the mean silhouette, with one dot per method and setting."""
    several = {case["data"] for case in cases if case["factor"] != 1.0}
    cases = [case for case in cases if case["data"] in several]
    figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    for method, color in COLORS.items():
        own = [case for case in cases if case["method"] == method]
        if METHODS.get(method) is None or METHODS[method].most_points is not None or not own:
            continue
        dots = {f: _means([case for case in own if case["factor"] == f]) for f in sorted({c["factor"] for c in own})}
        ax.plot(*zip(*dots.values(), strict=True), "-", color=color, alpha=0.4, linewidth=1)
        for factor, (x, y) in dots.items():
            ax.plot(x, y, SHAPES[factor], color=color, markersize=9 if factor == 1.0 else 6)
        ax.annotate(method, dots[1.0], xytext=(6, 5), textcoords="offset points", fontsize=8, color=color)
    ax.set(xlabel="recall of 15 neighbours", ylabel="silhouette of the classes")
    ax.margins(x=0.15)  # room for the names
    ax.set_title(
        f"mean over {len(several)} data sets: up and right is better\n"
        "dots: defaults; triangles: neighbourhoods a third (down) and three times (up) as large",
        fontsize=9,
        loc="left",
    )
    return _plain(figure, ax)


def _means(cases: Cases) -> tuple[float, float]:
    """Return the mean recall and silhouette over the data sets, each of which counts once."""
    return tuple(mean(s.mean for s in summarize(cases, score).values()) for score in ("recall_15", "silhouette"))


def ranks(cases: Cases) -> Any:
    """Draw the mean rank of every method in every score as a table of colours."""
    cases = [case for case in cases if case["factor"] == 1.0]
    tables = {score: summarize(cases, score) for score in MEASURES}
    methods = [method for method in METHODS if any(case["method"] == method for case in cases)]
    found = [[_mean_rank(tables[score], method) for score in MEASURES] for method in methods]
    figure, ax = plt.subplots(figsize=(9.5, 0.42 * len(methods) + 1.8), layout="constrained")
    ax.imshow(found, cmap="RdYlBu_r", aspect="auto", vmin=1.0, vmax=len(rivals(methods[0])))
    for i, row in enumerate(found):
        for j, value in enumerate(row):
            ax.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=8)
    ax.set_xticks(range(len(MEASURES)), labels=list(MEASURES.values()), rotation=35, ha="right", fontsize=8)
    ax.set_yticks(range(len(methods)), labels=methods, fontsize=8.5)
    for end in (len(GROUPS["local"]) - 0.5, len(GROUPS["local"]) + len(GROUPS["label"]) - 0.5):
        ax.axvline(end, color="white", linewidth=3)
    sets = len({case["data"] for case in cases})
    ax.set_title(f"mean rank over {sets} data sets at one setting per method; 1 is best", fontsize=9.5, loc="left")
    return figure


def _mean_rank(scores: Any, method: str) -> float:
    return mean([rank(scores, data, method, rivals(method)) for data in sets_of(scores, method)] or [float("nan")])


def cost(cases: Cases) -> Any:
    """Draw time and peak memory against the number of points."""
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for ax, key, label in zip(
        axes, ("layout_seconds", "peak_gb"), ("seconds, 2 cores", "peak memory, GB"), strict=True
    ):
        for method, color in COLORS.items():
            own = sorted((case["n"], case[key]) for case in cases if case["method"] == method)
            if own:
                width = 2.2 if method in OURS else 1.2
                ax.plot(*zip(*own, strict=True), "o-", color=color, label=method, linewidth=width, markersize=4)
        ax.set(xscale="log", yscale="log", xlabel="points", ylabel=label)
        _plain(figure, ax)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    return figure


def noise(cases: Cases) -> Any:
    """Draw the silhouettes of classes and batches against the strength of the noise."""
    kinds = list(dict.fromkeys(case["part"] for case in cases))
    figure, axes = plt.subplots(2, len(kinds), figsize=(3.4 * len(kinds), 5.4), layout="constrained", squeeze=False)
    for column, kind in enumerate(kinds):
        for row, (score, label) in enumerate(
            {"classes": "classes: high is good", "batches": "batches: 0 is good"}.items()
        ):
            ax, scores = axes[row, column], summarize([case for case in cases if case["part"] == kind], score)
            for method, color in COLORS.items():
                own = sorted((float(data), one.mean) for (data, other), one in scores.items() if other == method)
                if own:
                    ax.plot(*zip(*own, strict=True), "o-", color=color, label=method, markersize=3, linewidth=1.4)
            ax.set(ylabel=f"silhouette of {label}" if column == 0 else "", xlabel="strength" if row else "")
            ax.set_title(kind if row == 0 else "", fontsize=9.5, loc="left")
            _plain(figure, ax)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    return figure


def _plain(figure: Any, ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES = {  # function, benchmark, part of it
    "field-trade": (trade, "field", "sets"),
    "field-ranks": (ranks, "field", "sets"),
    "field-cost": (cost, "cost", None),
    "field-noise": (noise, "noise", None),
}


def read(folder: Path, name: str, part: str | None) -> Cases:
    """Return the finished cases of a benchmark, or of one part; none if it was not run."""
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"].values()
    return [case for case in cases if "not_available" not in case and part in (None, case.get("part"))]


def main(arguments: list[str] | None = None) -> list[Path]:
    """Draw every picture whose results are there, and return their paths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=DOCS / "benchmarks")
    parser.add_argument("--out", type=Path, default=DOCS / "images")
    options = parser.parse_args(arguments)
    drawn = []
    for picture, (draw, name, part) in PICTURES.items():
        cases = read(options.folder, name, part)
        if not cases:
            print(f"{picture}.png skipped: run python -m benchmarks {name} first")
            continue
        figure = draw(cases)
        drawn.append(options.out / f"{picture}.png")
        plots.save(figure, drawn[-1], dpi=110)
        plt.close(figure)
    return drawn


if __name__ == "__main__":
    main()
