"""Lay out millions of points by the program, which reads them in blocks: time, memory and its estimate, and classes.

Set SNEKHORN_BLOCKS to a folder in which blocks are kept for the next run; 10,000,000 points take 2 GB. Set
SNEKHORN_BLOCK_SIZES to other numbers of points, for example to 1000000,10000000.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.data_sets import N_COMPONENTS
from harness.experiment import Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn import TSNEkhorn, datasets
from snekhorn.metrics import knn_accuracy, silhouette

from .growth import augmented_blocks
from .measure import N_THREADS, Array, benchmark, quiet
from .peak_memory import estimated_gigabytes

SIZES = (1_000_000, 3_000_000, 10_000_000)
SIZES_VARIABLE, FOLDER_VARIABLE = "SNEKHORN_BLOCK_SIZES", "SNEKHORN_BLOCKS"
SCORED = 20_000  # points of every layout whose classes are compared; as many at every size, so that scores compare
N_NEAREST = 15


def plan(settings: Settings) -> Plan:
    asked = os.environ.get(SIZES_VARIABLE)
    sizes = [int(n) for n in asked.split(",")] if asked else [n // 100 if settings.quick else n for n in SIZES]
    return {f"{n:,} points": partial(measure, n, settings.data) for n in sizes}


def measure(n: int, data: Path | None) -> dict[str, Any]:
    """Run the program on n points, and measure its time and memory."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_blocks(n, data, Path(os.environ.get(FOLDER_VARIABLE, temporary)) / f"{n}")
        out = Path(temporary) / "layout.npy"
        outline = np.broadcast_to(np.zeros((), np.float32), (n, N_COMPONENTS))  # of points that are not in memory yet
        estimate = estimated_gigabytes(TSNEkhorn(n_jobs=N_THREADS), outline)
        start = time.perf_counter()
        program = _embed(folder, out, "--no-scores", "--jobs", str(N_THREADS), peak=Path(temporary) / "peak")
        seconds = time.perf_counter() - start
        assert program.returncode == 0, program.stderr
        peak = int((Path(temporary) / "peak").read_text()) * 1024 / 1e9
        Z = np.load(out)
    return {
        "n": n,
        "total_seconds": seconds,
        "peak_gb": peak,
        "estimate_gb": estimate,
        "bytes_per_point": peak * 1e9 / n,
        **scores(Z, digits(n, data)),
    }


def write_blocks(n: int, data: Path | None, folder: Path) -> Path:
    """Write augmented MNIST as a folder of NPY files, unless it is there already."""
    if not folder.exists():
        unfinished = folder.with_name(folder.name + ".unfinished")
        unfinished.mkdir(parents=True)
        for number, block in enumerate(augmented_blocks(n, data)):
            np.save(unfinished / f"block{number:04d}.npy", block)
        unfinished.rename(folder)
    return folder


def digits(n: int, data: Path | None) -> Array:
    """Return the digit that each of n augmented images shows."""
    y = datasets.load("mnist", data).y
    return y[np.arange(n) % y.size]


def scores(Z: Array, y: Array) -> dict[str, float]:
    """Return how well a random sample of the layout separates the classes."""
    sample = np.random.default_rng(0).permutation(len(Z))[:SCORED]
    Z, y = Z[sample], y[sample]
    return {
        "silhouette": quiet(lambda: silhouette(Z, y)),
        "knn_accuracy": quiet(lambda: knn_accuracy(Z, y, n_neighbors=N_NEAREST)),
    }


PEAK = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def _embed(folder: Path, out: Path, *options: str, peak: Path) -> subprocess.CompletedProcess[str]:
    """Run the program; `peak` is a file for its peak memory in units of 1024 bytes."""
    command = [sys.executable, "-m", "snekhorn", "embed", str(folder), "--out", str(out), *options]
    command = [sys.executable, "-c", PEAK, str(peak), *command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def report(cases: Cases) -> str:
    columns = {
        "points": ("n", ",d"),
        "total, s": ("total_seconds", ",.0f"),
        "peak memory, GB": ("peak_gb", ".2f"),
        "estimate, GB": ("estimate_gb", ".2f"),
        "bytes per point": ("bytes_per_point", ",.0f"),
        "silhouette": ("silhouette", ".3f"),
        f"{N_NEAREST}-NN accuracy": ("knn_accuracy", ".3f"),
    }
    note = (
        "The table shows `snekhorn embed FOLDER --no-scores` at its defaults, for a folder of NPY files with MNIST, "
        "augmented with rotated and shifted copies (50 principal components, float32, 200 bytes per point), with "
        f"{N_THREADS} threads. The time includes reading and writing. Memory is that of the whole process, and the "
        "estimate is what a fit expects before it starts, on this machine. Scores compare the digits of "
        f"{SCORED:,} random points of every layout."
    )
    return figure_table(columns, finished(cases).values(), note)


EXPERIMENT = benchmark("blocks", "Points in blocks", plan, report)
