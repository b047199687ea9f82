"""Compare a local Dask cluster with the threads of one process, and lay out points that one process cannot hold.

Set SNEKHORN_BLOCKS to a folder in which blocks are kept for the next run; 4,000,000 points take 0.8 GB.
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.experiment import Case, Cases, Plan, Settings
from harness.results_page import figure_table, part_tables
from snekhorn import TSNEkhorn
from snekhorn.errors import InputError

from .growth import augmented
from .many_blocks import FOLDER_VARIABLE, digits, scores, write_blocks
from .measure import N_THREADS, Array, benchmark, peak_gigabytes, timed, yes_or_no
from .speed import compile_ours

SIZES = (200_000, 1_000_000)
COMPARED, COUNTS = 200_000, (1, 2, 4)  # points whose layouts are compared; numbers of threads and of workers
MOST, N_WORKERS = 4_000_000, 4
WORKER_GB, CLIENT_GB = 4, 3  # limits of memory, for points that one process of 4 GB cannot hold
ROWS_PER_CHUNK = 100_000
FEW = 4000  # points, in quick runs and to load the compiled code


def plan(settings: Settings) -> Plan:
    sizes, most, same = ((FEW,), FEW, FEW) if settings.quick else (SIZES, MOST, COMPARED)
    cases: Plan = {f"{n:,} points": partial(compare, n, settings.data) for n in sizes}
    return {
        **cases,
        "same bits": partial(compare_bits, same, settings.data),
        "limited memory": partial(lay_out_with_limits, most, settings.data),
    }


@contextmanager
def local_cluster(n_workers: int, memory_limit: str | None = None) -> Iterator[Any]:
    """Start a cluster of single-threaded processes on this machine, as the program does; yield its client."""
    import dask
    from distributed import Client, LocalCluster

    from snekhorn.dask.worker_setup import LOCAL_SETTINGS

    preload = ["snekhorn.dask.worker_setup"]
    settings: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(LOCAL_SETTINGS):
        cluster = LocalCluster(n_workers=n_workers, memory_limit=memory_limit, preload=preload, **settings)
    with cluster, Client(cluster, set_as_default=False, direct_to_workers=True) as client:
        yield client


def fit_on_cluster(X: Array, n_workers: int) -> tuple[float, Any]:
    """Fit points on single-threaded workers; return the time, without that of starting the cluster, and the model."""
    import dask.array

    import snekhorn.dask

    points = dask.array.from_array(X, chunks=(ROWS_PER_CHUNK, -1), name=False)
    with local_cluster(n_workers) as client:
        few = snekhorn.dask.TSNEkhorn(client=client, max_iter=2, n_jobs=N_THREADS)
        timed(lambda: few.fit(points[:FEW]))  # import and load compiled code on the workers
        return timed(lambda: snekhorn.dask.TSNEkhorn(client=client, n_jobs=N_THREADS).fit(points))


def compare(n: int, data: Path | None) -> dict[str, Any]:
    """Fit the same points on threads and on as many single-threaded workers."""
    X = augmented(n, data)
    compile_ours(X)
    seconds, one = timed(lambda: TSNEkhorn(n_jobs=N_THREADS).fit(X))
    one_layout, n_iter = one.embedding_, one.n_iter_
    del one
    on_cluster, other = fit_on_cluster(X, N_THREADS)
    return {
        "part": "overhead",
        "n": n,
        "iterations": n_iter,
        "thread_seconds": seconds,
        "cluster_seconds": on_cluster,
        "ratio": on_cluster / seconds,
        "same": one_layout.tobytes() == other.embedding_.tobytes(),
    }


def compare_bits(n: int, data: Path | None) -> dict[str, Any]:
    """Fit the same points on several numbers of threads and of workers, and compare the layouts bit by bit."""
    X = augmented(n, data)
    on_threads = [TSNEkhorn(n_jobs=count).fit_transform(X) for count in COUNTS]
    on_workers = [fit_on_cluster(X, count)[1].embedding_ for count in COUNTS]
    first, *others = (*on_threads, *on_workers)
    return {"part": "bits", "n": n, "same": all(first.tobytes() == other.tobytes() for other in others)}


def lay_out_with_limits(n: int, data: Path | None) -> dict[str, Any]:
    """Lay out points on workers and a client with little memory, where one process refuses."""
    import snekhorn.dask

    with tempfile.TemporaryDirectory() as temporary:
        folder = write_blocks(n, data, Path(os.environ.get(FOLDER_VARIABLE, temporary)) / f"{n}")
        points = _dask_array(folder)
        try:
            TSNEkhorn(max_memory=f"{WORKER_GB}GB").fit(points)
            refusal = None
        except InputError as error:
            refusal = str(error)
        with local_cluster(N_WORKERS, f"{WORKER_GB}GB") as client:
            resource.setrlimit(resource.RLIMIT_DATA, (CLIENT_GB * 10**9,) * 2)
            seconds, model = timed(lambda: snekhorn.dask.TSNEkhorn(client=client).fit(points))
            peaks = client.run(peak_gigabytes)
    return {
        "part": "limits",
        "n": n,
        "refusal": refusal,
        "cluster_seconds": seconds,
        "iterations": model.n_iter_,
        "largest_worker_gb": max(peaks.values()),
        "client_gb": peak_gigabytes(),
        **scores(model.embedding_, digits(n, data)),
    }


def _dask_array(folder: Path) -> Any:
    """Return the blocks of a folder as a dask array, whose chunks the workers read themselves."""
    import dask
    import dask.array

    parts = []
    for path in sorted(folder.glob("*.npy")):
        block = np.load(path, mmap_mode="r")
        parts.append(dask.array.from_delayed(dask.delayed(np.load)(str(path)), block.shape, block.dtype))
    return dask.array.concatenate(parts)


def report(cases: Cases) -> str:
    return part_tables(cases, {"overhead": _overhead_table, "bits": _bits_text, "limits": _limits_text})


def _overhead_table(cases: list[Case]) -> str:
    columns = {
        "points": ("n", ",d"),
        "iterations": ("iterations", ",d"),
        f"{N_THREADS} threads, s": ("thread_seconds", ",.0f"),
        f"{N_THREADS} workers, s": ("cluster_seconds", ",.0f"),
        "ratio": ("ratio", ".2f"),
        "same bits": ("same", ""),
    }
    note = (
        "The table shows complete fits of MNIST, augmented with rotated and shifted copies, at the defaults, on the "
        "threads of one process and on as many single-threaded workers of a local cluster."
    )
    return figure_table(columns, [{**case, "same": yes_or_no(case["same"])} for case in cases], note)


def _bits_text(cases: list[Case]) -> str:
    counts = f"{', '.join(map(str, COUNTS[:-1]))} and {COUNTS[-1]}"
    case = cases[0]
    outcome = "are the same to the last bit" if case["same"] else "differ"
    return f"The layouts of {case['n']:,} points on {counts} threads and on {counts} workers {outcome}."


def _limits_text(cases: list[Case]) -> str:
    columns = {
        "points": ("n", ",d"),
        "seconds": ("cluster_seconds", ",.0f"),
        "iterations": ("iterations", ",d"),
        "largest worker, GB": ("largest_worker_gb", ".2f"),
        "client and scheduler, GB": ("client_gb", ".2f"),
        "silhouette": ("silhouette", ".3f"),
        "15-NN accuracy": ("knn_accuracy", ".3f"),
    }
    refused = "refuses before it starts" if all(case["refusal"] for case in cases) else "does not refuse"
    note = (
        f"The next table shows a fit on {N_WORKERS} workers that are limited to {WORKER_GB} GB each, with a client "
        f'limited to {CLIENT_GB} GB. One process with `max_memory="{WORKER_GB}GB"` {refused}.'
    )
    return figure_table(columns, cases, note)


EXPERIMENT = benchmark("cluster", "Dask cluster", plan, report)
