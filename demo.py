"""Lay out handwritten digits with t-SNEkhorn and, beside it, t-SNE; print their scores, draw both.

Run by `make demo`; writes to the folder `demo`.
"""

import time
from pathlib import Path

from sklearn.datasets import load_digits

from snekhorn import TSNE, TSNEkhorn, plots
from snekhorn.affinities import row_perplexities
from snekhorn.metrics import evaluate

FOLDER = Path("demo")
METHODS = {"t-SNEkhorn": TSNEkhorn(), "t-SNE": TSNE()}
SCORES = ("silhouette", "trustworthiness", "neighbor_recall", "knn_accuracy")


def main() -> None:
    X, y = load_digits(return_X_y=True)
    print(f"{X.shape[0]:,} handwritten digits, {X.shape[1]} features\n")
    print(f"{'':12}{'seconds':>8}{'iterations':>12}{'KL':>8}" + "".join(f"{score:>17}" for score in SCORES))
    layouts, summaries = {}, {}
    for name, method in METHODS.items():
        start = time.perf_counter()
        layouts[name] = Z = method.fit_transform(X)
        seconds = time.perf_counter() - start
        scores = evaluate(X, Z, y)
        summaries[name] = f"silhouette {scores['silhouette']:.2f}, neighbour recall {scores['neighbor_recall']:.2f}"
        figures = "".join(f"{scores[score]:17.3f}" for score in SCORES)
        print(f"{name:12}{seconds:8.1f}{method.n_iter_:12}{method.kl_divergence_:8.3f}{figures}")
    print("\nEffective number of neighbours of a digit (the perplexity asked for is 30):")
    for name, method in METHODS.items():
        rows = row_perplexities(method.affinity_ / method.affinity_.sum(axis=1, keepdims=True))
        floor = method.affinity_report_.n_floor_rows
        above = f" (above it: {floor} rows that no bandwidth brings down to it)" if floor else ""
        print(f"{name:12}from {rows.min():.1f} to {rows.max():.1f}{above}")
    FOLDER.mkdir(exist_ok=True)
    picture = FOLDER / "digits.png"
    plots.save(plots.sheet(layouts, y, subtitles=summaries, legend="labels"), picture)
    print(f"\nSeconds include compilation on the first run. Picture: {picture}")


if __name__ == "__main__":
    main()
