"""Measure time and peak memory from 1,000 to 1,000,000 points, beside the other methods.

The points are those of `growth`: MNIST, with rotated and shifted copies. Every layout is computed in a new process, at
the method's defaults, without a seed, because some packages use only one thread with one. A case is ended after an
hour, and a method is not tried on more points if its last layout lets one expect more than that, even if its time grew
only in proportion. Set SNEKHORN_COST_LIMIT to another number of seconds: with an hour, the benchmark takes about four
hours on two cores, with 600 about 75 minutes.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from harness import peers
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings, finished
from harness.results_page import table
from snekhorn.metrics import neighbor_recall

from .field_methods import DEFAULTS, METHODS, lay_out, version
from .growth import augmented, exponent
from .many_blocks import digits, scores
from .measure import N_THREADS, benchmark, best_of, forget_peak, peak_gigabytes, quiet

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SHOWN = tuple(name for name in METHODS if name not in ("t-SNEkhorn, balance 1", "TorchDR"))
QUICK_METHODS, QUICK_SIZES = (DEFAULTS, "openTSNE", "PaCMAP"), (1_000,)
COMPILED = ("snekhorn", "umap-learn", "pacmap", "trimap", "phate")  # packages that compile code when they first run
LIMIT = float(os.environ.get("SNEKHORN_COST_LIMIT", "3600"))  # seconds
OVERHEAD = 300.0  # seconds for making the points, compiling and scoring
WARM_UP_POINTS = 5_000
FEW_POINTS, REPEATS = 30_000, 2  # up to this number of points, take the faster of two runs
SAMPLE = 300  # points whose neighbours are compared: all pairs of a million points would take hours


def plan(settings: Settings) -> Plan:
    methods, sizes = (QUICK_METHODS, QUICK_SIZES) if settings.quick else (SHOWN, SIZES)
    return {_key(method, n): partial(measure, method, n, settings.data) for method in methods for n in sizes}


def _key(method: str, n: int) -> str:
    return SEPARATOR.join((method, f"{n:,} points"))


def measure(method: str, n: int, folder: Path | None) -> dict[str, Any]:
    """Lay out n points; return time, peak memory of the process, and scores."""
    peers.require(METHODS[method].package)
    X = augmented(n, folder)
    if METHODS[method].package in COMPILED:
        quiet(lambda: lay_out(method, X[:WARM_UP_POINTS], None, N_THREADS))
    forget_peak()  # of reading the images
    seconds, Z = best_of(REPEATS if n <= FEW_POINTS else 1, lambda: lay_out(method, X, None, N_THREADS))
    peak = peak_gigabytes()
    return {
        "method": method,
        "version": version(method),
        "n": n,
        "layout_seconds": seconds,
        "peak_gb": peak,
        "recall": neighbor_recall(X, Z, sample=SAMPLE, n_jobs=N_THREADS),
        **scores(Z, digits(n, folder)),
    }


def hopeless(key: str, cases: Cases) -> str:
    """Return why a method is not tried on so many points: a smaller layout failed, or took too long."""
    method, points = key.split(SEPARATOR)
    n = _size(points)
    smaller = [size for size in SIZES if size < n and _key(method, size) in cases]
    if not smaller:
        return ""
    last = cases[_key(method, smaller[-1])]
    if "layout_seconds" not in last:
        return f"{method} is not tried on more points than those on which it failed or exceeded the limit."
    if last["layout_seconds"] * n / smaller[-1] > LIMIT:
        return f"{method} would take more than {LIMIT:,.0f} s for {points}."
    return ""


def _size(points: str) -> int:
    return int(points.removesuffix(" points").replace(",", ""))


def report(cases: Cases) -> str:
    found = {(case["method"], case["n"]): case for case in finished(cases).values()}
    methods = list(dict.fromkeys(method for method, _ in found))
    sizes = sorted({n for _, n in found})
    if not found:
        return ""
    about = (
        "Layouts of MNIST with rotated and shifted copies, in 50 dimensions, by every method at its defaults, with "
        f"{N_THREADS} threads; the faster of {REPEATS} runs up to {FEW_POINTS:,} points, otherwise a single run. A "
        "dash means that the method failed, or would have taken longer than the limit."
    )
    tables = [
        ("layout_seconds", ".1f", "Time in **seconds**, without compilation:"),
        ("peak_gb", ".2f", "**Peak memory** of the process in GB, including the points:"),
        ("recall", ".3f", f"**Neighbour recall**, for {SAMPLE} random points:"),
        ("silhouette", ".3f", "**Silhouette** of the digits:"),
    ]
    parts = [
        table(
            ["points", *methods], [[f"{n:,}", *(_entry(found, m, n, key, form) for m in methods)] for n in sizes], note
        )
        for key, form, note in tables
    ]
    return "\n\n".join([about, *parts, ranking(found)])


def _entry(found: dict[tuple[str, int], Case], method: str, n: int, key: str, form: str) -> str:
    case = found.get((method, n))
    return "–" if case is None or case.get(key) is None else format(case[key], form)


def ranking(found: dict[tuple[str, int], Case]) -> str:
    """Say which method is fastest and smallest at every size, and how times grow from the third size on."""
    lines = []
    for n in sorted({n for _, n in found}):
        here = {method: case for (method, size), case in found.items() if size == n}
        fast, small = (min(here, key=lambda method: here[method][key]) for key in ("layout_seconds", "peak_gb"))
        lines.append(f"- {n:,} points: {fast} is fastest, and {small} needs the least memory.")
    grown = []
    for method in dict.fromkeys(method for method, _ in found):
        sizes = [n for own, n in found if own == method and n >= SIZES[2]]
        if len(sizes) > 1:
            first, last = found[method, sizes[0]], found[method, sizes[-1]]
            grown.append(f"{method} n^{exponent(first, last, 'layout_seconds'):.2f} (to {sizes[-1]:,})")
    growth = f"\n\nGrowth of the time from {SIZES[2]:,} points: {', '.join(grown)}." if grown else ""
    return "\n".join(lines) + growth


EXPERIMENT = benchmark("cost", "Cost", plan, report, limit=LIMIT + OVERHEAD, hopeless=hopeless)
