"""Run benchmarks: `python -m benchmarks NAME`, from the root of the repository."""

import sys
from pathlib import Path

from harness.command_line import Program

INTRODUCTION = """# Benchmarks

`make bench` runs the benchmarks and writes this page; do not edit the page by hand. The numbers come from the JSON
files in the folder `docs/benchmarks`. Each section states when its numbers were measured, on which machine and with
which versions."""

PROGRAM = Program(
    name="benchmarks",
    description="Run benchmarks and write their page next to the results folder. Complete benchmarks are run again.",
    modules=(
        *("convergence", "affinity_peers", "scale", "neighbors", "hub_graphs", "speed", "growth", "cost"),
        *("peak_memory", "many_blocks", "cluster", "extend", "field", "noise", "layout_sensitivity"),
        *("quality", "default_quality", "study", "balance_study", "descent_schedules", "starts", "interactive_page"),
    ),
    introduction=INTRODUCTION,
    out=Path("docs/benchmarks"),
    jobs=1,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.main())
