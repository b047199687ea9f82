"""The results page: from the cells of a folder to Markdown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..io import replacing
from .experiment import SEPARATOR, Cells, Experiment, finished
from .layouts import PAPER
from .registry import EXPERIMENTS
from .store import read

TITLE = "# The paper, reproduced"
INTRODUCTION = f"""{TITLE}

Every figure and table of *SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities* (NeurIPS 2023), run with
this library by `snekhorn reproduce all`, which writes this page; do not edit it by hand. Every number comes from the
JSON files beside the pictures, but those of the paper, which say so. Data sets that are not at hand are "not
available", never a number; other sets stand in for them.

The *paper's protocol* is: 50 principal components, independent N(0, 1) coordinates as a start that all methods share,
Adam until the loss changes by less than 1e-5 of itself, five seeds, and the best mean over all perplexities that are
multiples of ten up to 300. The paper has Adam's "default parameters"; its step here, {PAPER["learning_rate"]}, is that
of the authors' script for Figure 1, and {PAPER["max_iter"]:,} steps are the most. *Our defaults* are those of the
library. "As in the paper" and "differs" are said of what the paper claims; "better", "the same" and "worse" of ours
against a figure of the paper; "higher" and "lower" of its own protocol against a figure of it."""


def write_page(folder: Path, page: Path) -> None:
    """Sections of all experiments that have results in the folder."""
    parts = [INTRODUCTION]
    for experiment in EXPERIMENTS.values():
        path = folder / f"{experiment.source or experiment.name}.json"
        if path.exists():
            parts.append(_section(experiment, read(path), folder, page))
    with replacing(page) as file:
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(experiment: Experiment, record: dict[str, Any], folder: Path, page: Path) -> str:
    cells = record["cells"]
    parts = [f"## {experiment.title}", _state(record)]
    picture = folder / f"{experiment.name}.png"
    if picture.exists():
        parts.append(f"![{experiment.title}]({Path(os.path.relpath(picture, page.parent)).as_posix()})")
    parts.append(experiment.report(cells))
    absent = sorted({cell["not_available"] for cell in cells.values() if "not_available" in cell})
    if absent and not experiment.source:
        parts.append("Not available:\n\n" + "\n".join(f"- {reason}" for reason in absent))
    if (unsettled := _unsettled(cells)) and not experiment.source:
        parts.append(unsettled)
    return "\n\n".join(parts)


def _state(record: dict[str, Any]) -> str:
    cells = record["cells"]
    done = len(finished(cells))
    counts = {"computed": done, "not available": len(cells) - done, "to go": record["planned"] - len(cells)}
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count or what == "computed")
    seconds = sum(cell.get("seconds") or 0.0 for cell in cells.values())
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    quick = (
        " **A quick run on few, small cases, digits in the place of other data: not figures to quote.**"
        if record["quick"]
        else ""
    )
    return f"*{record['date']}: cells: {said}; {seconds:.0f} s of computing; {versions}.*{quick}"


def _unsettled(cells: Cells) -> str:
    """What did not converge, by column; and of how many cells that is not known."""
    done = finished(cells)
    found: dict[str, list[str]] = {}
    for key, cell in done.items():
        if cell.get("not_converged"):
            found.setdefault(_column(key), []).append(cell["not_converged"][0])
    lines = [f"- {column}, {len(said)} cell{'s' * (len(said) > 1)}: {said[0]}" for column, said in found.items()]
    parts = ["Warnings about convergence, one of each column:\n\n" + "\n".join(lines)] if lines else []
    unknown = sum("not_converged" not in cell for cell in done.values())
    parts += [f"Of {unknown} cells, computed before this was noted, it is not known whether all converged."] * (
        unknown > 0
    )
    return "\n\n".join(parts)


def _column(key: str) -> str:
    """A key without its perplexity."""
    return SEPARATOR.join(part for part in key.split(SEPARATOR) if not part.replace(".", "").isdigit())
