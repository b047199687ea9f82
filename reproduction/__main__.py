"""Reproduce the paper: `python -m reproduction NAME`, from the root of the repository."""

import sys
from pathlib import Path

from harness.command_line import Program

INTRODUCTION = """# The paper, reproduced

This page reproduces every figure and table of *SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities*
(NeurIPS 2023) with snekhorn. `python -m reproduction all` computes the results and writes the page; do not edit the
page by hand. All numbers come from the JSON files next to the pictures, except for the paper's own numbers, which are
marked as such. Data sets that could not be obtained are marked "not available"; similar data sets were added in their
place.

**The paper's protocol.** The data are reduced to 50 principal components. All methods start from the same independent
N(0, 1) coordinates. Adam runs until the loss changes by less than 1e-5 (relative) per iteration. The result is the mean
over five seeds at the best of the perplexities 10, 20, ..., 300. The paper uses Adam's "default parameters"; we use a
learning rate of 0.5, as in the authors' script for Figure 1, and at most 3,000 iterations.

**Our defaults.** All parameters are left at snekhorn's defaults, except for the perplexity and for `balance`, which is
1, so that P is the paper's affinity.

**Scores.** For layouts, the scores are the silhouette and the trustworthiness. For affinities, the score is the
adjusted Rand index (ARI) between the classes and the clusters found by spectral clustering.

**Verdicts.** "As in the paper" and "differs" say whether our result agrees with a claim of the paper. "Better", "the
same" and "worse" compare our number with the paper's. "Higher", "lower" and "as in the paper" compare the number from
our run of the paper's protocol with the paper's. "Rows prepared differently" means that the rows of the data were not
prepared as in the paper, so that no verdict is possible."""

PROGRAM = Program(
    name="reproduction",
    description="Run experiments of the paper, draw their pictures and write the page next to the results folder.",
    modules=(
        *("table1", "figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "table2", "figure7", "table3"),
        *("sensitivity", "protocol", "snareseq", "several_perplexities"),
    ),
    introduction=INTRODUCTION,
    out=Path("reproduction-results"),
    summary_module="claims",
)

if __name__ == "__main__":
    sys.exit(PROGRAM.main())
