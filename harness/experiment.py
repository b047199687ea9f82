"""Define experiments: cases to compute, a picture, and a section of the results page."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from snekhorn.datasets import DamagedData, MissingData
from snekhorn.errors import InputError

from .machine import Load, describe
from .processes import run_cases
from .results_file import ResultsFile, is_finished

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Case: TypeAlias = Mapping[str, Any]
Cases: TypeAlias = Mapping[str, Case]  # results by key
Plan: TypeAlias = dict[str, Callable[[], dict[str, Any]]]  # function to compute each case
Progress: TypeAlias = Callable[[str, int, int], None]  # next key, number of finished cases, total number of cases

SEPARATOR = " | "  # between the parts of a key; the first part is the data set if there are several parts
FAILED = "failed"
SEEDS = 5  # as in the paper


class NotAvailable(Exception):
    """Missing requirement of a case; the message says what is missing."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Parameters
    ----------
    quick : bool
        Whether to compute only a few small cases, to check that everything runs.
    data : Path or None
        Folder of the data sets; None for the folder in SNEKHORN_DATA.
    jobs : int
        Number of cases computed at the same time, each on its own core.
    """

    quick: bool = False
    data: Path | None = None
    jobs: int = 1

    @property
    def seeds(self) -> range:
        return range(1 if self.quick else SEEDS)


def always(case: Case) -> bool:
    return True


@dataclass(frozen=True)
class Experiment:
    """Figure, table or benchmark.

    Parameters
    ----------
    name : str
        Name on the command line; results are stored in `{source or name}.json`.
    title : str
        Heading on the page.
    plan : callable
        Function from settings to the cases to compute.
    report : callable
        Function from all cases to the Markdown of the section.
    draw : callable or None
        Function from finished cases to a figure, or to None if there is nothing to draw.
    source : str
        Name of the experiment whose cases are shown, if this experiment has none of its own.
    timed : bool
        Whether time or peak memory is measured; cases then run one at a time, each in a new process.
    reusable : callable
        Function that decides whether a finished case of an earlier complete run is kept or computed again.
    limit : float or None
        Seconds after which a timed case is ended; None for no limit.
    hopeless : callable
        Function from the key of a timed case and all cases so far to the reason not to try it, or "".
    """

    name: str
    title: str
    plan: Callable[[Settings], Plan]
    report: Callable[[Cases], str]
    draw: Callable[[Cases], Figure | None] | None = None
    source: str = ""
    timed: bool = False
    reusable: Callable[[Case], bool] = always
    limit: float | None = None
    hopeless: Callable[[str, Cases], str] = lambda key, cases: ""

    def results(self, folder: Path, *, quick: bool | None) -> ResultsFile:
        """Open the results file of the experiment."""
        return ResultsFile(folder / f"{self.source or self.name}.json", quick=quick)

    def run(self, folder: Path, settings: Settings, progress: Progress | None = None) -> ResultsFile:
        """Compute the missing cases, and save each as soon as it is finished."""
        results, plan = self.results(folder, quick=settings.quick), self.plan(settings)
        # Continue an interrupted run only if neither code nor machine has changed, so that results are not mixed.
        goes_on = results.is_incomplete and results.machine == describe()
        results.start(plan, keep=always if goes_on else self.reusable)
        left = {key: partial(compute_case, compute) for key, compute in plan.items() if key not in results}
        load = Load(results.load) if self.timed else None
        if progress is not None:
            progress(next(iter(left), ""), len(plan) - len(left), len(plan))
        computed = self._run_in_turn(dict(left), results) if self.timed else run_cases(dict(left), jobs=settings.jobs)
        for key, case in computed:
            results.put(key, case, load=load.so_far() if load else None)
            del left[key]
            if progress is not None:
                progress(next(iter(left), ""), len(plan) - len(left), len(plan))
        return results

    def _run_in_turn(self, plan: Plan, results: ResultsFile) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run timed cases one by one, except those that earlier cases show to be hopeless."""
        for key, compute in plan.items():
            reason = self.hopeless(key, results.cases)
            if reason:
                yield key, {"not_available": reason}
            else:
                yield from run_cases({key: compute}, timed=True, limit=self.limit)

    def picture(self, folder: Path, cases: Cases) -> list[Path]:
        """Draw the finished cases as PNG and PDF."""
        from snekhorn.plots import save

        figure = self.draw(finished(cases)) if self.draw is not None else None
        if figure is None:
            return []
        paths = [folder / f"{self.name}.{suffix}" for suffix in ("png", "pdf")]
        for path in paths:
            save(figure, path, dpi=130)
        return paths


def finished(cases: Cases) -> Cases:
    """Return the cases that have a result."""
    return {key: case for key, case in cases.items() if is_finished(case)}


def data_sets_in(cases: Cases) -> list[str]:
    """Return the data sets of all cases, finished or not, in order."""
    return list(dict.fromkeys(key.split(SEPARATOR)[0] for key in cases))


def compute_case(compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Compute a case and add its time and convergence warnings; record failures, so that other cases still run."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ConvergenceWarning)
            case = compute()
    except (MissingData, NotAvailable) as error:
        return {"not_available": str(error)}
    except DamagedData:
        raise  # no case can use the file until it is replaced
    except (ArithmeticError, InputError, LinAlgError, RuntimeError) as error:  # any other exception is a bug
        return {"not_available": f"{FAILED}: {type(error).__name__}: {error}"}
    warned = [str(record.message) for record in caught]
    return {**case, "not_converged": warned, "seconds": time.perf_counter() - start}
