"""Compute the affinities of the paper on handwritten digits, check their properties, draw their row perplexities.

Run by `make demo`; writes to the folder `demo`.
"""

import time
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SymmetricEntropicAffinity,
    row_perplexities,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PERPLEXITY = 30.0
TOLERANCE = 1e-6
FOLDER = Path("demo")
AFFINITIES = {
    "Gaussian, row-stochastic": GaussianAffinity(perplexity=PERPLEXITY),
    "entropic (SNE)": EntropicAffinity(PERPLEXITY),
    "entropic, symmetrised (t-SNE)": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "doubly stochastic": DoublyStochasticAffinity(perplexity=PERPLEXITY),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
}


def main() -> None:
    X, _ = load_digits(return_X_y=True)
    print(f"Affinities of {X.shape[0]:,} digits, perplexity {PERPLEXITY:g}\n")
    print(f"{'':30}  symmetric  rows sum to 1  constant entropy  row perplexities   seconds")
    perplexities = {}
    for name, affinity in AFFINITIES.items():
        start = time.perf_counter()
        P = affinity.fit_transform(X)
        seconds = time.perf_counter() - start
        rows = perplexities[name] = row_perplexities(P)
        symmetric = np.abs(P - P.T).max() < TOLERANCE
        unit_rows = np.abs(P.sum(axis=1) - 1.0).max() < TOLERANCE
        constant = np.abs(np.log(rows / PERPLEXITY)).max() < TOLERANCE
        marks = "".join(
            f"{'yes' if holds else 'no':>{width}}"
            for holds, width in zip((symmetric, unit_rows, constant), (9, 15, 18), strict=True)
        )
        print(f"{name:30}{marks}  {rows.min():7.2f} to {rows.max():6.1f}  {seconds:8.2f}")
    FOLDER.mkdir(exist_ok=True)
    picture = FOLDER / "row_perplexities.png"
    draw(perplexities, picture)
    print("\nOnly the symmetric entropic affinity has all three properties (Table 1 of the paper).")
    print(f"Seconds include compilation on the first run. Picture: {picture}")


def draw(perplexities: dict[str, np.ndarray], path: Path) -> None:
    """One strip of points an affinity: its row perplexities, in the order of the data."""
    figure, axes = plt.subplots(len(perplexities), 1, figsize=(7.0, 7.5), sharex=True, layout="constrained")
    for ax, (name, rows) in zip(axes, perplexities.items(), strict=True):
        ax.scatter(np.arange(rows.size), rows, s=3, color="#0072B2", linewidths=0)
        ax.axhline(PERPLEXITY, color="#D55E00", linewidth=1, zorder=0)
        ax.set_yscale("log")
        ax.set_ylim(1.0, 1500.0)
        ax.set_yticks([1, 10, 100, 1000], labels=["1", "10", "100", "1,000"])
        ax.set_title(name, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("digit")
    axes[len(axes) // 2].set_ylabel("perplexity of the row (effective number of neighbours)")
    figure.suptitle(f"Row perplexities of five affinities; asked for: {PERPLEXITY:g} (orange)", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
