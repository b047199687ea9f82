"""Draw the figures of the documentation: python docs/draw.py"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from snekhorn import TSNEkhorn, plots
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
LAYOUT_PERPLEXITIES = (5, 10, 20, 30, 50, 100)
PERPLEXITIES = (3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
METHODS = {
    "symmetric entropic": (SymmetricEntropicAffinity(), "#0072B2"),
    "symmetric entropic, no self-loops": (SymmetricEntropicAffinity(self_loops=False), "#009E73"),
    "entropic, symmetrised": (EntropicAffinity(symmetrize=True), "#D55E00"),
}


def layouts_figure() -> None:
    """Layouts of the digits as the perplexity grows."""
    X, y = load_digits(return_X_y=True)
    layouts = {f"perplexity {xi}": TSNEkhorn(perplexity=xi).fit_transform(X) for xi in LAYOUT_PERPLEXITIES}
    plots.save(plots.sheet(layouts, y, label="digit"), IMAGES / "layouts.png", dpi=100)


def perplexity_figure() -> None:
    """Three views of the digits as the perplexity grows."""
    X, y = load_digits(return_X_y=True)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    for name, (affinity, colour) in METHODS.items():
        scores = np.array([_scores(affinity.set_params(perplexity=xi).fit_transform(X), y) for xi in PERPLEXITIES])
        for ax, values in zip(axes, scores.T, strict=True):
            ax.plot(PERPLEXITIES, values, marker="o", markersize=3, color=colour, label=name)
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


def _scores(P, y):
    diagonal = np.diag(P)
    other = P.sum(axis=1) - diagonal
    same = (P * (y[:, None] == y)).sum(axis=1) - diagonal
    clusters = SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(P)
    return diagonal.mean(), (same / other).mean(), adjusted_rand_score(y, clusters)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    layouts_figure()
    perplexity_figure()
