"""Run benchmarks: `python -m benchmarks NAME`, from the root of the repository."""

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.command_line import Program

NAMES = (  # modules, in the order of the page
    *("convergence", "affinity_peers", "scale", "neighbors", "hub_graphs", "speed", "growth", "quality", "study"),
    *("starts", "interactive_page"),
)
INTRODUCTION = """# Benchmarks

`make bench` runs the benchmarks and writes this page; do not edit it by hand. The numbers come from the JSON files in
the folder beside it. Each section says when, on which machine and with which versions it was measured."""


def program() -> "Program":
    """Return the program; the experiments are imported here, so that new processes need not import them all."""
    from harness.command_line import Program

    modules = [importlib.import_module(f"benchmarks.{name}") for name in NAMES]
    return Program(
        name="benchmarks",
        description="Run benchmarks and write their page beside the folder. A complete benchmark is measured again.",
        experiments={module.EXPERIMENT.name: module.EXPERIMENT for module in modules},
        introduction=INTRODUCTION,
        out=Path("docs/benchmarks"),
        jobs=1,
    )


if __name__ == "__main__":
    sys.exit(program().main())
