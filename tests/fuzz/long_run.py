"""Try random cases of every property for a given time, on several processes, and count the defects.

A process runs batches of cases and sends every case before it starts. If the process crashes or hangs, the last case
it sent is the cause.
"""

import faulthandler
import multiprocessing
import os
import re
import shlex
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

import hypothesis
import numpy as np

from .fuzz_cases import AffinityCase, LayoutCase
from .fuzz_properties import PROPERTIES
from .hard_points import Layout, Points
from .recomputed import Refused

CASES_PER_BATCH = 50
LONGEST = 300.0  # seconds; a case that takes longer hangs, even if other programs use the machine
HERE = str(Path(__file__).parents[2])
NAMES = {kind.__name__: kind for kind in (AffinityCase, LayoutCase, Points, Layout)}
NAMES |= {"nan": np.nan, "inf": np.inf, "array": np.array, "np": np}


def run_case(name, text):
    """Run one case, given as the text that a long run prints."""
    PROPERTIES[name][1](eval(text, NAMES))


def signature(name, case, error):
    """Return what tells one defect from another: property, kind of model, place of the error and start of its text."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(HERE)]
    kind = next((part.kind for part in np.atleast_1d(np.array(case, dtype=object)) if hasattr(part, "kind")), "")
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    start = re.sub(r"[\d.e+-]*\d", "#", str(error).strip())[:60].split("\n")[0]
    where = f"{name}, {kind}: " if isinstance(error, AssertionError) else ""  # any property may meet the same error
    return f"{where}{type(error).__name__} in {place}: {start}"


def run_batch(name, seed, known, tell):
    """Run a batch of cases; `tell` hears of every case, and of each defect that is not yet known, made small."""
    cases, check = PROPERTIES[name]
    latest = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=CASES_PER_BATCH,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(cases)
    def try_case(case):
        text = repr(case)
        tell("case", text)
        try:
            check(case)
        except Refused:
            tell("refused", text)
        except Exception as error:
            latest["signature"] = signature(name, case, error)
            if latest["signature"] in known:
                tell("again", latest["signature"])
                return
            latest["defect"] = (latest["signature"], text, f"{error}".strip())
            raise

    try:
        try_case()
    except Exception:
        if "defect" not in latest:
            raise
        tell("defect", latest["defect"])


def work(connection):
    """Run the batches that arrive until there are no more."""
    faulthandler.enable()  # a crash, or the signal that ends a hang, prints what every thread is doing
    while (task := connection.recv()) is not None:
        run_batch(*task, lambda *message: connection.send(message))
        connection.send(("done", None))


@dataclass
class _Process:
    """A process, and what it is doing."""

    name: str = ""
    seed: int = 0
    case: str = ""
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self):
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=work, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def start(self, name, seed, known):
        self.name, self.seed, self.since = name, seed, time.monotonic()
        self.connection.send((name, seed, known))

    def stop(self):
        """End the process after its batch."""
        self.connection.send(None)
        self.process.join()

    def kill(self):
        """End a process that hangs, or that has ended; it prints what its threads are doing."""
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGABRT)
            self.process.join(timeout=10.0)
        self.process.kill()
        self.process.join()


class LongRun:
    """A run over all properties in turn; `defects` maps signatures to their numbers of cases."""

    def __init__(self, names, seed, n_processes, say=print):
        self.names, self.seed, self.say = names, seed, say
        self.n_processes = n_processes
        self.cases, self.refused, self.defects = Counter(), Counter(), Counter()
        self.n_batches = 0

    def run(self, minutes):
        """Run until the time is over; return whether no defect was found."""
        end = time.monotonic() + 60.0 * minutes
        running = [self._next(_Process()) for _ in range(self.n_processes)]
        while running:
            ready = wait([each.connection for each in running], timeout=1.0)
            for each in list(running):
                finished = self._listen(each) if each.connection in ready else self._hangs(each)
                if finished is None:
                    continue
                running.remove(each)
                if not finished:
                    each.kill()
                if time.monotonic() < end:
                    running.append(self._next(each if finished else _Process()))
                elif finished:
                    each.stop()
        return not self.defects

    def _next(self, process):
        process.start(self.names[self.n_batches % len(self.names)], self.seed + self.n_batches, set(self.defects))
        self.n_batches += 1
        return process

    def _listen(self, process):
        """Hear one message; return True if the batch is done, False if the process has crashed, None otherwise."""
        try:
            kind, content = process.connection.recv()
        except EOFError:
            process.process.join()
            self._report(f"{process.name}: crash", process, process.case, f"exit code {process.process.exitcode}")
            return False
        if kind == "case":
            process.case, process.since = content, time.monotonic()
            self.cases[process.name] += 1
        elif kind == "refused":
            self.refused[process.name] += 1
        elif kind == "again":
            self.defects[content] += 1
        elif kind == "defect":
            self._report(content[0], process, *content[1:])
        return True if kind == "done" else None

    def _hangs(self, process):
        if time.monotonic() - process.since < LONGEST:
            return None
        self._report(f"{process.name}: hang", process, process.case, f"no result after {LONGEST:.0f} s")
        return False

    def _report(self, found, process, case, message):
        self.defects[found] += 1
        if self.defects[found] > 1:
            return
        first = (message.splitlines() or [""])[0]
        quoted = shlex.quote(case) if set(case) & set('"$`\\') else f'"{case}"'
        command = f"python -m tests.fuzz --case {process.name} {quoted}"
        self.say(f"DEFECT {found}\n  {first}\n  seed {process.seed}: {command}")

    def summary(self):
        """Return the counts, as lines of text."""
        lines = [f"{name:50} {self.cases[name]:>8,} cases, {self.refused[name]:>7,} refused" for name in self.names]
        lines += [f"  {count:,} x {found}" for found, count in sorted(self.defects.items())]
        return "\n".join([*lines, f"{sum(self.cases.values()):,} cases, {len(self.defects)} defects"])
