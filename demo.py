"""Lay out handwritten digits with t-SNEkhorn and, beside it, t-SNE; print their scores, draw both.

Run by `make demo`; writes to the folder `demo`.
"""

import time
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

from snekhorn import TSNE, TSNEkhorn
from snekhorn.affinities import row_perplexities
from snekhorn.metrics import evaluate

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path("demo")
METHODS = {"t-SNEkhorn": TSNEkhorn(), "t-SNE": TSNE()}
SCORES = ("silhouette", "trustworthiness", "neighbor_recall", "knn_accuracy")


def main() -> None:
    X, y = load_digits(return_X_y=True)
    print(f"{X.shape[0]:,} handwritten digits, {X.shape[1]} features\n")
    print(f"{'':12}{'seconds':>8}{'iterations':>12}{'KL':>8}" + "".join(f"{score:>17}" for score in SCORES))
    layouts = {}
    for name, method in METHODS.items():
        start = time.perf_counter()
        Z = method.fit_transform(X)
        seconds = time.perf_counter() - start
        scores = evaluate(X, Z, y)
        layouts[name] = (Z, scores)
        figures = "".join(f"{scores[score]:17.3f}" for score in SCORES)
        print(f"{name:12}{seconds:8.1f}{method.n_iter_:12}{method.kl_divergence_:8.3f}{figures}")
    print("\nEffective number of neighbours of a digit (the perplexity asked for is 30):")
    for name, method in METHODS.items():
        rows = row_perplexities(method.affinity_ / method.affinity_.sum(axis=1, keepdims=True))
        print(f"{name:12}from {rows.min():.1f} to {rows.max():.1f}")
    FOLDER.mkdir(exist_ok=True)
    picture = FOLDER / "digits.png"
    draw(layouts, y, picture)
    print(f"\nSeconds include compilation on the first run. Picture: {picture}")


def draw(layouts: dict[str, tuple[np.ndarray, dict]], y: np.ndarray, path: Path) -> None:
    """One panel a method, every digit in its colour, its number at the middle of its points."""
    figure, axes = plt.subplots(1, len(layouts), figsize=(6.0 * len(layouts), 6.4), layout="constrained")
    colours = plt.get_cmap("tab10").colors
    for ax, (name, (Z, scores)) in zip(axes, layouts.items(), strict=True):
        for digit in range(10):
            points = Z[y == digit]
            ax.scatter(*points.T, s=5, color=colours[digit], linewidths=0)
            middle = np.median(points, axis=0)
            box = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colours[digit], "alpha": 0.85}
            ax.annotate(str(digit), middle, ha="center", va="center", fontsize=11, bbox=box)
        summary = f"silhouette {scores['silhouette']:.2f}, neighbour recall {scores['neighbor_recall']:.2f}"
        ax.set_title(f"{name}\n", fontsize=14, loc="left")
        ax.text(0.0, 1.01, summary, transform=ax.transAxes, fontsize=10, color="0.35")
        ax.set_aspect("equal")
        ax.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
