"""Lay out handwritten digits with t-SNEkhorn and with t-SNE, print their scores and draw both layouts.

`make demo` runs this script. It writes to the folder `demo`.
"""

import time
from pathlib import Path

from sklearn.datasets import load_digits

from snekhorn import TSNE, TSNEkhorn, plots
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.metrics import evaluate

FOLDER = Path("demo")
PERPLEXITY = 30.0
METHODS = {"t-SNEkhorn": TSNEkhorn(perplexity=PERPLEXITY), "t-SNE": TSNE(perplexity=PERPLEXITY)}
AFFINITIES = {
    "symmetric entropic (the paper's)": SymmetricEntropicAffinity(PERPLEXITY, self_loops=False),
    "entropic, averaged with its transpose (t-SNE's)": EntropicAffinity(PERPLEXITY, self_loops=False, symmetrize=True),
}
SCORES = {
    "silhouette": "silhouette",
    "trustworthiness": "trustworthiness",
    "neighbor_recall": "neighbour recall",
    "knn_accuracy": "kNN accuracy",
}


def main() -> None:
    """Run both methods and report on them."""
    X, y = load_digits(return_X_y=True)
    print(f"{X.shape[0]:,} handwritten digits with {X.shape[1]} features\n")
    print(f"{'':12}{'seconds':>8}{'iterations':>12}" + "".join(f"{score:>18}" for score in SCORES.values()))
    layouts, subtitles = {}, {}
    for name, method in METHODS.items():
        start = time.perf_counter()
        layouts[name] = Z = method.fit_transform(X)
        seconds = time.perf_counter() - start
        scores = evaluate(X, Z, y)
        subtitles[name] = f"silhouette {scores['silhouette']:.2f}, neighbour recall {scores['neighbor_recall']:.2f}"
        figures = "".join(f"{scores[score]:18.3f}" for score in SCORES)
        print(f"{name:12}{seconds:8.1f}{method.n_iter_:12}{figures}")

    print(f"\nEffective number of neighbours per digit (requested perplexity: {PERPLEXITY:g}):")
    for name, affinity in AFFINITIES.items():
        P = affinity.fit_transform(X)
        rows = row_perplexities(P / P.sum(axis=1, keepdims=True))
        n_floor = affinity.report_.n_floor_rows
        stay = "1 row stays" if n_floor == 1 else f"{n_floor} rows stay"
        above = f" ({stay} above this perplexity)" if n_floor else ""
        print(f"{name:50}{rows.min():.1f} to {rows.max():.1f}{above}")

    FOLDER.mkdir(exist_ok=True)
    picture = FOLDER / "digits.png"
    plots.save(plots.sheet(layouts, y, subtitles=subtitles, legend="labels"), picture)
    print(f"\nPicture: {picture}. On the first run, the times include compilation.")


if __name__ == "__main__":
    main()
