"""Run cases in a worker process, with limits of time and memory, and collect the defects."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 180.0  # a case takes at most 4 seconds of processor time; a machine that is busy with others needs more
TIMES_THE_FILE, BYTES_BESIDE = 10, 200 << 20  # memory that a case may take: ten times the file, plus 200 MB


@dataclass
class Outcomes:
    """What happened to the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)
    most_bytes: int = 0
    message: str = ""  # of the last case that was refused


class Runner:
    """Worker process that is started again after a crash or a hang.

    Parameters
    ----------
    folder : Path
        Folder for the files of the cases.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes = Outcomes()
        self._good: list[tuple[str, Path]] = []
        self._worker: subprocess.Popen[str] | None = None

    def warm_up(self, command: str, file: Path) -> None:
        """Run a good file, also whenever the worker is started: compiled code and imports do not count as memory."""
        answer = self._ask(command, file)
        assert answer["outcome"] == "loaded", (file, answer)
        self._good.append((command, file))

    def run(self, command: str, name: str, content: bytes, description: str) -> str:
        """Run a case, record its outcome and return it."""
        file = self.folder / name
        file.write_bytes(content)
        answer = self._ask(command, file)
        outcome = answer["outcome"]
        extra = answer.get("extra_bytes", 0)
        self.outcomes.message = answer.get("message", "")
        self.outcomes.most_bytes = max(self.outcomes.most_bytes, extra)
        if outcome in ("loaded", "refused") and extra > TIMES_THE_FILE * len(content) + BYTES_BESIDE:
            outcome = f"took {extra >> 20} MB for a file of {len(content)} bytes"
        known = outcome in ("loaded", "refused")
        self.outcomes.counts[outcome if known else "defect"] += 1
        if not known:
            self.outcomes.defects.append(f"{command} {name}, {description}: {outcome}")
        return outcome

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()
            self._worker = None

    def _ask(self, command: str, file: Path) -> dict[str, object]:
        if self._worker is None:
            self._worker = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for good in self._good:
                answer = self._exchange(*good)
                assert answer["outcome"] == "loaded", (good, answer)
        return self._exchange(command, file)

    def _exchange(self, command: str, file: Path) -> dict[str, object]:
        case = {"command": command, "file": str(file), "folder": str(self.folder)}
        print(json.dumps(case), file=self._worker.stdin, flush=True)
        with selectors.DefaultSelector() as selector:
            selector.register(self._worker.stdout, selectors.EVENT_READ)
            answered = selector.select(SECONDS)
        if answered and (line := self._worker.stdout.readline()):
            return json.loads(line)
        problem = f"crashed with code {self._worker.wait()}" if answered else f"no answer within {SECONDS:g} seconds"
        self.close()
        return {"outcome": problem}
