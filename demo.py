"""Lay out two data sets with t-SNE and with t-SNEkhorn, and show where they agree and where they do not.

`make demo` runs this script. It writes a picture and two interactive pages to the folder `demo`.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.datasets import load_digits

from snekhorn import TSNE, TSNEkhorn, plots
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.colors import OKABE_ITO
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import neighbor_recall, silhouette
from snekhorn.page import write_page

FOLDER = Path("demo")
METHODS = {"t-SNE": TSNE, "t-SNEkhorn": TSNEkhorn}
KINDS = np.array(["A", "B", "B, less noise"])


@dataclass
class Example:
    """Data set: its points, their classes, the groups to colour by, and its layouts by method."""

    name: str
    title: str
    X: Any
    y: Any
    groups: Any
    layouts: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, str] = field(default_factory=dict)


def digits() -> Example:
    """Return the handwritten digits of scikit-learn."""
    X, y = load_digits(return_X_y=True)
    return Example("digits", "1,797 handwritten digits", X, y, y)


def samples() -> Example:
    """Return simulated samples of two kinds, one of which was measured with two levels of noise."""
    X, y, less_noise = make_heteroscedastic_multinomial(1000, random_state=1)
    title = "1,000 simulated samples of two kinds, half of B with less noise"
    return Example("samples", title, X, y, KINDS[y + less_noise])


def lay_out(example: Example) -> None:
    """Compute the layouts of an example, and print a dot at every check of the loss."""
    print(f"\n{example.title}, {example.X.shape[1]:,} features", flush=True)
    for name, method in METHODS.items():
        print(f"  {name:11}", end="", flush=True)
        start = time.perf_counter()
        Z = method(callbacks=_print_dot).fit_transform(example.X)
        seconds = time.perf_counter() - start
        score = f"silhouette of the classes {silhouette(Z, example.y):.2f}"
        example.layouts[name], example.scores[name] = Z, score
        kept = neighbor_recall(example.X, Z)
        print(f" {seconds:.1f} s; {score}, neighbours preserved {kept:.0%}", flush=True)


def _print_dot(iteration: int, loss: float, layout: Any) -> None:
    print(".", end="", flush=True)


def draw(examples: list[Example]) -> Figure:
    """Draw one row per example and one column per method."""
    figure = Figure(figsize=(8.6, 9.2), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    for row, example in zip(figure.subfigures(len(examples), 1, hspace=0.06), examples, strict=True):
        row.suptitle(example.title, x=0.012, ha="left", fontsize=12, fontweight="bold", color="#222222")
        for ax, (name, Z) in zip(row.subplots(1, len(METHODS)), example.layouts.items(), strict=True):
            legend = "labels" if example.name == "digits" else "none"
            plots.scatter(Z, example.groups, ax=ax, title=name, subtitle=example.scores[name], legend=legend)
            _make_square(ax)
        if example.name == "samples":
            handles = [Line2D([], [], linestyle="", marker="o", color=color) for color in OKABE_ITO[: len(KINDS)]]
            row.legend(handles, KINDS, loc="outside lower left", ncols=len(KINDS), frameon=False)
    return figure


def _make_square(ax: Axes) -> None:
    """Give all layouts the same amount of space."""
    for get, put in ((ax.get_xlim, ax.set_xlim), (ax.get_ylim, ax.set_ylim)):
        low, high = get()
        half = max(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) / 2.0
        put((low + high) / 2.0 - half, (low + high) / 2.0 + half)


def main() -> None:
    """Lay out both examples, and say what to look at."""
    print("The first run compiles the numerical code, which takes up to a minute. A dot stands for 50 iterations.")
    examples = [digits(), samples()]
    for example in examples:
        lay_out(example)
    FOLDER.mkdir(exist_ok=True)
    plots.save(draw(examples), FOLDER / "demo.png", dpi=100)
    for example in examples:
        page = FOLDER / f"{example.name}.html"
        metadata = pa.table({"group": example.groups, "row": np.arange(len(example.groups))})
        write_page(page, example.layouts["t-SNEkhorn"], metadata, color="group", title=f"t-SNEkhorn: {example.title}")
    n_neighbors = {
        "tsne": _neighbors(EntropicAffinity(self_loops=False, symmetrize=True), examples[0].X),
        "snekhorn": _neighbors(SymmetricEntropicAffinity(self_loops=False), examples[0].X),
    }
    print(f"""
What to look at:
- digits: both methods separate the ten digits. At perplexity 30, the rows of t-SNE's affinity have
  {n_neighbors["tsne"]} effective neighbours, and those of the symmetric entropic affinity {n_neighbors["snekhorn"]}.
- samples: the points of B with less noise are near to all others, so t-SNE mixes A and B. t-SNEkhorn
  separates A from B, and shows both parts of B as one group, because they differ only in noise.

picture: {FOLDER / "demo.png"}
pages:   {FOLDER / "digits.html"}, {FOLDER / "samples.html"} (open them in a browser)""")


def _neighbors(affinity: Any, X: Any) -> str:
    """Return the range of the perplexities of the rows of an affinity."""
    P = affinity.fit_transform(X)
    rows = row_perplexities(P / P.sum(axis=1, keepdims=True))
    return f"{rows.min():.1f} to {rows.max():.1f}"


if __name__ == "__main__":
    main()
