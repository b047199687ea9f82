"""Reproduce the paper: `python -m reproduction NAME`, from the root of the repository."""

import sys
from pathlib import Path

from harness.command_line import Program

INTRODUCTION = """# The paper, reproduced

This page reproduces every figure and table of *SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities*
(NeurIPS 2023) with this library. `python -m reproduction all` computes the results and writes the page; do not edit it
by hand. Every number comes from the JSON files next to the pictures, except the paper's own numbers, which are marked
as such. Data sets that could not be obtained are "not available"; similar data sets are added in their place.

**The paper's protocol.** Reduce the data to 50 principal components. Start all methods from the same independent
N(0, 1) coordinates. Run Adam until the loss changes by less than 1e-5 (relative) per iteration. Use five seeds, and
report the best mean over the perplexities 10, 20, ..., 300. The paper uses Adam's "default parameters"; the learning
rate here is 0.5, as in the authors' script for Figure 1, with at most 3,000 iterations.

**Our defaults.** All parameters have the default values of this library.

**Verdicts.** "As in the paper" and "differs" compare a claim of the paper with our result. "Better", "the same" and
"worse" compare our number with the paper's. "Higher" and "lower" compare our run of the paper's protocol with the
paper's number."""

PROGRAM = Program(
    name="reproduction",
    description="Run experiments of the paper, draw their pictures and write the results page next to the folder.",
    modules=(
        *("table1", "figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "table2", "figure7", "table3"),
        *("sensitivity", "protocol", "snareseq", "several_perplexities"),
    ),
    introduction=INTRODUCTION,
    out=Path("reproduction-results"),
)

if __name__ == "__main__":
    sys.exit(PROGRAM.main())
