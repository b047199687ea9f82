"""Run experiments from the command line: `python -m reproduction` and `python -m benchmarks`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tqdm import tqdm

from snekhorn.datasets import DamagedData, MissingData
from snekhorn.errors import InputError

from .data_sets import check_folder
from .experiment import Experiment, Settings
from .processes import count_cores
from .results_file import ResultsFile
from .results_page import Summary, write_page

BAD_INPUT, INTERRUPTED = 2, 130
LOG_INTERVAL = 60.0  # seconds between progress messages if stderr is not a terminal


@dataclass
class Program:
    """Collection of experiments with one results page.

    Parameters
    ----------
    name : str
        The program is `python -m {name}`; a quick run writes to `{name}-quick` by default.
    description : str
        Description for --help.
    modules : tuple of str
        Modules of the package `name` that define an `EXPERIMENT`, in the order of the page.
    introduction : str
        Beginning of the page; a page with the same first line may be replaced.
    out : Path
        Default folder for the results of a full run.
    jobs : int or None
        Default number of cases to compute at the same time in a full run; None for one per core.
    summary_module : str
        Module of the package `name` whose function `summary` writes the first section of the page; "" for none.
    """

    name: str
    description: str
    modules: tuple[str, ...]
    introduction: str
    out: Path
    jobs: int | None = None
    summary_module: str = ""

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """Import the experiments only when they are needed, because every new process imports the program."""
        modules = [importlib.import_module(f"{self.name}.{module}") for module in self.modules]
        return {module.EXPERIMENT.name: module.EXPERIMENT for module in modules}

    @cached_property
    def summary(self) -> Summary | None:
        """Function that writes the first section of the page, if there is one."""
        if not self.summary_module:
            return None
        function: Summary = importlib.import_module(f"{self.name}.{self.summary_module}").summary
        return function

    def write_page(self, page: Path, folder: Path) -> None:
        """Write the page from the results in a folder."""
        write_page(page, folder, self.introduction, self.experiments.values(), self.summary)

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the requested experiments and return the exit code."""
        options = self.parser().parse_args(arguments)
        try:
            run = Run(self, options)
        except (InputError, MissingData, OSError) as error:
            return _complain(error)
        return run.execute()

    def parser(self) -> argparse.ArgumentParser:
        listing = "\n".join(f"  {name:<13}{experiment.title}" for name, experiment in self.experiments.items())
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.name}",
            description=f"{self.description} Finished cases are kept: run the same command again to continue after an "
            "interrupt.",
            epilog=f"experiments:\n{listing}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("names", nargs="*", default=["all"], metavar="NAME", help="experiments (default: all)")
        parser.add_argument("--quick", action="store_true", help="compute a few small cases, as a check")
        parser.add_argument("--data", type=Path, help="folder of the data sets (default: from SNEKHORN_DATA)")
        parser.add_argument(
            "-o",
            "--out",
            type=Path,
            help=f"folder of the results (default: {self.out}; with --quick {self.name}-quick)",
        )
        parser.add_argument("--draw", action="store_true", help="only redraw pictures and rewrite the page")
        parser.add_argument(
            "--jobs",
            type=_positive,
            help=f"cases to run in parallel, one core each (default: {self.jobs or 'one per core on Linux, else 1'}; "
            "with --quick 1). Timed cases always run one by one.",
        )
        parser.add_argument("--json", action="store_true", help="print the results as JSON")
        parser.add_argument("-q", "--quiet", action="store_true", help="print only errors, and JSON if requested")
        return parser


class Run:
    """One run of a program. All options are checked before any computation starts."""

    def __init__(self, program: Program, options: argparse.Namespace) -> None:
        self.program, self.options = program, options
        self.experiments = self._chosen(options.names)
        check_folder(options.data)
        # A quick run finishes before other processes would have imported their modules.
        jobs = options.jobs or (1 if options.quick else program.jobs or count_cores())
        self.settings = Settings(options.quick, options.data, jobs)
        self.folder = options.out or (Path(f"{program.name}-quick") if options.quick else program.out)
        self.page = _prepare_folder(self.folder, program.introduction.splitlines()[0])
        self.kind = None if options.draw else options.quick
        for experiment in program.experiments.values():  # all results on a page must come from the same kind of run
            experiment.results(self.folder, quick=self.kind)
        self.facts: dict[str, Any] = {}

    def execute(self) -> int:
        """Run the experiments one by one, and rewrite the page after each."""
        code = 0
        for experiment in self.experiments:
            try:
                self._run(experiment)
            except KeyboardInterrupt:
                self._say("interrupted; finished cases are kept. Run the same command again to continue.")
                code = INTERRUPTED
            except (InputError, DamagedData, MissingData, MemoryError, OSError) as error:
                code = _complain(error)
            self.program.write_page(self.page, self.folder)
            if code:
                break
        if code != BAD_INPUT:
            self._print_outcome()
        return code

    def _run(self, experiment: Experiment) -> None:
        self._say(f"{experiment.title} ...")
        start = time.perf_counter()
        results = experiment.results(self.folder, quick=None) if self.options.draw else self._compute(experiment)
        pictures = experiment.picture(self.folder, results.cases)
        self.facts[experiment.name] = {
            "cases": len(results.cases),
            "not_available": sum(key not in results for key in results.cases),
            "results": str(results.path),
            "pictures": [str(path) for path in pictures],
            "seconds": round(time.perf_counter() - start, 3),
        }

    def _compute(self, experiment: Experiment) -> ResultsFile:
        """Compute all cases, with a progress bar in a terminal or occasional messages in a log."""
        shown = not self.options.quiet and sys.stderr.isatty()
        with tqdm(unit="case", disable=not shown, leave=False) as bar:
            last = -LOG_INTERVAL

            def progress(key: str, done: int, total: int) -> None:
                nonlocal last
                if not shown and time.monotonic() - last >= LOG_INTERVAL:
                    last = time.monotonic()
                    self._say(f"{done:,} of {total:,} cases")
                if bar.total is None:
                    bar.initial = done  # cases from an earlier run would distort the estimated speed
                bar.total, bar.n = total, done
                bar.set_description_str(key)

            return experiment.run(self.folder, self.settings, progress)

    def _chosen(self, names: Sequence[str]) -> list[Experiment]:
        known = self.program.experiments
        for name in names:
            if name not in known and name != "all":
                raise InputError(f"there is no experiment {name!r}; choose from {', '.join(known)}, or all.")
        return [experiment for name, experiment in known.items() if name in names or "all" in names]

    def _print_outcome(self) -> None:
        if self.options.json:
            facts = {"experiments": self.facts, "folder": str(self.folder), "page": str(self.page)}
            print(json.dumps(facts, indent=1))
        elif not self.options.quiet:
            for name, found in self.facts.items():
                missing = found["not_available"]
                absent = f", {missing} of them not available (the page says why)" if missing else ""
                print(f"{name}: {found['cases']} cases{absent}; {found['results']}")
            print(f"page: {self.page}")

    def _say(self, text: str) -> None:
        if not self.options.quiet:
            print(text, file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _complain(error: BaseException) -> int:
    print(f"error: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
    return BAD_INPUT


def _prepare_folder(folder: Path, heading: str) -> Path:
    """Create the folder and return the path of the page next to it; raise an error if either cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder} is a file; pass a folder.")
    page = folder.resolve() if folder.name in ("", "..") else folder  # resolve "." and ".." to the name of the folder
    page = page.parent / f"{page.name}.md"
    if page.is_dir() or (page.exists() and not page.read_text(errors="replace").startswith(heading)):
        raise InputError(f"{page} exists and is not a results page; choose another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be created: {error.strerror}.") from error
    for place in (folder, page.parent):
        if not os.access(place, os.W_OK):
            raise InputError(f"{place} is not writable; choose another --out for the results and their page.")
    return page
