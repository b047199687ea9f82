"""What the benchmarks share: times, peak memory, gaps, recall, and cases that run in a process of their own."""

import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from snekhorn.affinities.affinity import row_entropies

N_THREADS = 2  # of everything that is timed, ours and peers'
QUIET = {"OMP_WAIT_POLICY": "passive"}  # spinning threads would make peers ten times slower beside other work
ROOT = Path(__file__).resolve().parents[1]


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Shortest time of several calls, in seconds, and the result of the last."""
    times = []
    for _ in range(repeats):
        result = None  # the last result must not take memory while the next is computed
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def fresh(function: Callable[..., dict], **arguments: Any) -> dict:
    """What a function of this package returns in a new process, or {"failed": why}."""
    command = [sys.executable, "-m", __name__, function.__module__, function.__name__, json.dumps(arguments)]
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    print(done.stderr, file=sys.stderr)
    return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far, in units of 10^9 bytes."""
    try:
        # ru_maxrss of a new process starts from the size of its parent; this one starts from nothing.
        status = Path("/proc/self/status").read_text()
        kilobytes = int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024 / 1e9


def gaps(P: Any, perplexity: float, at_floor: np.ndarray) -> dict[str, float]:
    """Worst distances of the row sums from 1 and of the row entropies from their target, from the matrix itself.

    A row whose entropy dual is at its floor may have more entropy than asked, as the constraint allows.
    """
    if sparse.issparse(P):
        P = P.astype(float)
    marginal = np.asarray(P.sum(axis=1, dtype=float)).ravel() - 1.0
    entropy = row_entropies(P) - np.log(perplexity) - 1.0
    entropy = np.where(at_floor & (entropy > 0.0), 0.0, entropy)
    return {"marginal_gap": float(np.abs(marginal).max()), "entropy_gap": float(np.abs(entropy).max())}


def floor_rows(report: Any, gamma: np.ndarray) -> np.ndarray:
    """Which rows of a solution have their entropy dual at the floor."""
    return np.isin(np.arange(gamma.size), report.floor_rows)


def recall(found: np.ndarray, true: np.ndarray) -> float:
    """Share of the true neighbours among those found."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]))


def markdown(caption: str, header: list[str], rows: list[list[str]]) -> str:
    """A table under its caption."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join([caption, "", *("| " + " | ".join(line) + " |" for line in lines)])


def figure(result: dict, key: str, form: str) -> str:
    """A number of a result as text, a dash where there is none."""
    value = result.get(key)
    return "–" if value is None else format(value, form)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    module, name, text = sys.argv[1:]
    with threadpool_limits(N_THREADS):
        answer = getattr(importlib.import_module(module), name)(**json.loads(text))
    print(json.dumps(answer))
