"""What an experiment is: cells to compute, a picture of them, and what the results page says."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from ..datasets import DamagedData, MissingData
from .cores import each
from .store import Store

Cells: TypeAlias = Mapping[str, Mapping[str, Any]]  # results by key
Plan: TypeAlias = dict[str, Callable[[], dict[str, Any]]]  # how to compute each
SEPARATOR = " | "  # of the parts of a key; the first is the data set, where there are several
Progress: TypeAlias = Callable[[str, int, int], None]  # key, cells done, cells in all

FAILED = "it failed"
SEEDS = 5  # as in the paper


class NotAvailable(Exception):
    """What a cell needs is not there; the message says what."""


@dataclass(frozen=True)
class Settings:
    """How an experiment runs.

    Parameters
    ----------
    quick : bool
        Few and small cases, to see that everything runs.
    data : Path or None
        Folder of data sets; None for the one that SNEKHORN_DATA names.
    jobs : int
        Cells computed at once, each on a core of its own.
    """

    quick: bool = False
    data: Path | None = None
    jobs: int = 1

    @property
    def seeds(self) -> range:
        return range(1 if self.quick else SEEDS)


@dataclass(frozen=True)
class Experiment:
    """A figure or table.

    Parameters
    ----------
    name : str
        What `snekhorn reproduce` calls it; the results are in `{source or name}.json`.
    title : str
    plan : callable
        Settings -> how to compute every cell.
    draw : callable
        Finished cells -> picture, or None where there is nothing to draw.
    report : callable
        All cells -> Markdown of the results page.
    source : str
        The experiment whose cells it shows, where it has none of its own.
    """

    name: str
    title: str
    plan: Callable[[Settings], Plan]
    draw: Callable[[Cells], Figure | None]
    report: Callable[[Cells], str]
    source: str = ""

    def store(self, folder: Path, *, quick: bool | None) -> Store:
        """Where its cells are kept."""
        return Store(folder / f"{self.source or self.name}.json", quick=quick)

    def run(self, folder: Path, settings: Settings, progress: Progress | None = None) -> Store:
        """Compute what is not there yet; every cell is kept as soon as it is finished."""
        store, plan = self.store(folder, quick=settings.quick), self.plan(settings)
        store.plan(plan)
        left = {key: partial(_computed, compute) for key, compute in plan.items() if key not in store}

        def tell() -> None:
            if progress is not None:
                progress(next(iter(left), ""), len(plan) - len(left), len(plan))

        tell()
        for key, cell in each(dict(left), settings.jobs):
            store.put(key, cell)
            del left[key]
            tell()
        return store

    def picture(self, folder: Path, cells: Cells) -> list[Path]:
        """Draw what there is as PNG and PDF."""
        from ..plots import save

        figure = self.draw(finished(cells))
        if figure is None:
            return []
        paths = [folder / f"{self.name}.{suffix}" for suffix in ("png", "pdf")]
        for path in paths:
            save(figure, path, dpi=130)
        return paths


def data_sets(cells: Cells) -> list[str]:
    """Data sets that were asked for, with results or without."""
    return list(dict.fromkeys(key.split(SEPARATOR)[0] for key in cells))


def finished(cells: Cells) -> Cells:
    """Cells with a result."""
    return {key: cell for key, cell in cells.items() if "not_available" not in cell}


def _computed(compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The cell, how long it took, and what did not converge; one that fails does not keep the others from running."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ConvergenceWarning)
            cell = compute()
    except (MissingData, NotAvailable) as error:
        return {"not_available": str(error)}
    except DamagedData:
        raise  # of no use to any cell
    except (ArithmeticError, ValueError, RuntimeError) as error:  # of the numbers; others are mistakes in the code
        return {"not_available": f"{FAILED}: {type(error).__name__}: {error}"}
    stopped = [str(record.message) for record in caught]
    return {**cell, "not_converged": stopped, "seconds": time.perf_counter() - start}
