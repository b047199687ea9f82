"""What the measurements ran on."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import snekhorn
from snekhorn.runtime.execution import count_threads

from .measure import ROOT

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "torch", "torchdr", "openTSNE", "umap-learn")


def describe() -> dict:
    """Processor, cores, memory, versions and commit."""
    return {
        "cpu": _cpu(),
        "cores": count_threads(None),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "snekhorn": snekhorn.__version__,
        "commit": _commit(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def sentence(machine: dict) -> str:
    """The same in words."""
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:.0f} GB, {machine['system']}; "
        f"Python {machine['python']}, snekhorn {machine['snekhorn']} (commit {machine['commit']}), {packages}."
    )


def busy_seconds() -> tuple[float, float]:
    """Processor time spent so far by the whole machine, and by this process and its finished children."""
    own = sum(os.times()[:4])
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    except OSError:
        return own, own
    idle, waiting = ticks[3:5]
    return (sum(ticks[:8]) - idle - waiting) / os.sysconf("SC_CLK_TCK"), own


def _cpu():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit():
    """The last commit, and whether the code differs from it; the pages that benchmarks write do not count."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit}-dirty" if _git("status", "--porcelain", "--", "src", "benchmarks") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()
