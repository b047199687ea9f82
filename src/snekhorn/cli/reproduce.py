"""snekhorn reproduce: the paper's figures and tables."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .session import Session, session

if TYPE_CHECKING:
    from ..experiments import Experiment, Settings, Store

NAMES = (  # a test compares them with the registry, which takes seconds to import
    "table1, figure1, figure2, figure3, figure4, figure5, figure6, table2, figure7, table3, sensitivity, protocol, "
    "snareseq, multiscale"
)
EVERY = 60.0  # seconds
FULL, QUICK = Path("reproduction"), Path("reproduction-quick")


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {NAMES}, or all.")],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Few and small cases: a few minutes for all.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of data sets.  (default: what SNEKHORN_DATA names)")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help=f"Folder of the results.  (default: {FULL}; with --quick {QUICK})"),
    ] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Compute nothing; draw what there is and write the page again.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            help="Cells computed at once, a core each.  (default: all cores on Linux, else 1; with --quick 1)",
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment of the paper, draw its picture and write the results page beside the folder.

    Finished cells are kept: interrupt it, and start it again to go on.

    snekhorn reproduce figure2
    """
    with session(as_json=as_json, quiet=quiet) as run:
        from ..datasets.loading import data_folder
        from ..experiments import EXPERIMENTS, Settings
        from ..experiments.cores import count_cores
        from ..experiments.page import write_page

        experiments = _experiments(name)
        data_folder(data)  # a folder that is not there is an error now, not a table of empty cells later
        # A quick run is over before other processes have imported what they need.
        settings = Settings(quick, data, jobs or (1 if quick else count_cores()))
        folder = out or (QUICK if quick else FULL)
        page = _page(folder)
        kind = None if draw else quick
        for experiment in EXPERIMENTS.values():  # one page is of one kind of run, whatever was asked for
            experiment.store(folder, quick=kind)
        facts: dict[str, Any] = {}
        try:
            for experiment in experiments:
                with run.stage(experiment.name, experiment.title):
                    store = experiment.store(folder, quick=kind) if draw else _run(run, experiment, folder, settings)
                    facts[experiment.name] = _drawn(experiment, folder, store)
                write_page(folder, page)
        except (KeyboardInterrupt, MemoryError, ValueError) as error:
            write_page(folder, page)
            if not isinstance(error, KeyboardInterrupt):
                raise
            run.interrupted = True
            run.note("interrupted; finished cells are kept: start again to go on.")
        run.result({"experiments": facts, "folder": str(folder), "page": str(page)}, _text(facts, page))


def _page(folder: Path) -> Path:
    """Make the folder, and name the page beside it; raise where that cannot be or would replace another file."""
    from ..experiments.page import TITLE
    from ..io import InputError

    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder} is a file; name a folder.")
    page = folder.resolve() if folder.name in ("", "..") else folder  # "." and ".." are names of others
    page = page.parent / f"{page.name}.md"
    if page.is_dir() or (page.exists() and not page.read_text(errors="replace").startswith(TITLE)):
        raise InputError(f"{page} exists and is no results page; choose another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be made: {error.strerror}.") from error
    for place in (folder, page.parent):
        if not os.access(place, os.W_OK):
            raise InputError(f"{place} cannot be written to, and results or their page go there; name another --out.")
    return page


def _experiments(name: str) -> list[Experiment]:
    from ..experiments import EXPERIMENTS
    from ..io import InputError

    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}, and all.")
    return [EXPERIMENTS[name]]


def _run(run: Session, experiment: Experiment, folder: Path, settings: Settings) -> Store:
    """All cells of an experiment, with a bar and the time left; in a log, a line now and then."""
    from tqdm import tqdm

    with tqdm(unit="cell", disable=not run.shows_progress, leave=False) as bar:
        said = -EVERY

        def progress(key: str, done: int, total: int) -> None:
            nonlocal said
            if bar.disable and not run.quiet and time.monotonic() - said >= EVERY:
                said = time.monotonic()
                typer.echo(f"{done:,} of {total:,} cells", err=True)
            if bar.total is None:
                bar.initial = done  # cells kept from an earlier run say nothing of the time that one takes
            bar.total, bar.n = total, done
            bar.set_description_str(key)

        return experiment.run(folder, settings, progress)


def _drawn(experiment: Experiment, folder: Path, store: Store) -> dict[str, Any]:
    """The picture, and what there is to say."""
    pictures = experiment.picture(folder, store.cells)
    return {
        "cells": len(store.cells),
        "not_available": sum("not_available" in cell for cell in store.cells.values()),
        "results": str(store.path),
        "pictures": [str(path) for path in pictures],
    }


def _text(facts: dict[str, Any], page: Path) -> str:
    lines = []
    for name, found in facts.items():
        absent = (
            f", {found['not_available']} of them not available (the page says why)" if found["not_available"] else ""
        )
        lines.append(f"{name}: {found['cells']} cells{absent}; {found['results']}")
    return "\n".join([*lines, f"page: {page}"])
