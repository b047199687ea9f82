"""Local clusters and points for the tests of the Dask estimators."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from snekhorn.dask import graph_pieces, neighbor_pieces
from snekhorn.dask.task_batch import TaskBatch
from snekhorn.dask.workers import Workers
from snekhorn.embedding import descent
from snekhorn.geometry import neighbor_graph, neighbor_search

N, P = 3600, 20
SETTINGS = {"n_neighbors": 45, "method": "fft", "max_iter": 60}  # with a check of the loss, and both phases


@contextmanager
def local_cluster(n_workers, *, default=True, direct=False, memory_limit="auto"):
    """Start a cluster of single-threaded processes, and make its client the default one, unless `default` is False.

    With `direct`, the client fetches results from the workers, as that of the program does.
    """
    settings = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    settings["memory_limit"] = memory_limit
    with (
        LocalCluster(n_workers=n_workers, **settings) as cluster,
        Client(cluster, set_as_default=default, direct_to_workers=direct) as client,
    ):
        yield client


@contextmanager
def running_cluster(file):
    """Start a scheduler, which writes its address to a file, and a worker; yield the process of the scheduler."""
    place = ("--no-dashboard", "--scheduler-file", str(file))
    commands = {"dask_scheduler": ("--host", "127.0.0.1", "--port", "0"), "dask_worker": ("--nthreads", "1")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *place, *options], stderr=subprocess.DEVNULL
        )
        for module, options in commands.items()
    ]
    try:
        yield processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def unequal_groups(n=N):
    """Return float32 points in four groups of unequal spread, in random order."""
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n // 4, P)) * (1 + 3 * (i % 2)) + 3 * rng.normal(size=P) for i in range(4)]
    return np.concatenate(groups).astype(np.float32)[rng.permutation(n)]


def in_chunks(X):
    """Return a dask array whose chunks match neither the pieces nor each other."""
    return da.from_array(X, chunks=(1100, 7))


def work_as_for_many_points(monkeypatch):
    """Search in clusters, solve in a local order, and sort the points of the layout, as for 100,000 points and more."""
    for module in (neighbor_search, neighbor_pieces):
        monkeypatch.setattr(module, "EXACT_SEARCH_LIMIT", 100)
    monkeypatch.setattr(neighbor_pieces, "POINTS_PER_TASK", 600)
    monkeypatch.setattr(neighbor_pieces, "TASKS_AHEAD", 1)
    for module in (neighbor_graph, graph_pieces):
        monkeypatch.setattr(module, "MANY_POINTS", 100)
    monkeypatch.setattr(graph_pieces, "FRONTIER_AT_ONCE", 700)
    monkeypatch.setattr(descent, "REORDER_FROM", 100)


def kill_when_submitted(monkeypatch, name, which, pid):
    """Kill a process as soon as a task of this name has been submitted for the given time; return the kills."""
    submit, send, kills, seen = Workers.submit, TaskBatch.send, [], []

    def note(names):
        before = len(seen)
        seen.extend(found for found in names if found == name)
        if before < which <= len(seen):
            os.kill(pid, signal.SIGKILL)
            kills.append(pid)

    def submit_and_kill(self, function, *args, **options):
        future = submit(self, function, *args, **options)
        note([function.__name__])
        return future

    def send_and_kill(self, wanted):
        futures = send(self, wanted)
        note([task[0].__name__ for task in self.tasks.values()])
        return futures

    monkeypatch.setattr(Workers, "submit", submit_and_kill)
    monkeypatch.setattr(TaskBatch, "send", send_and_kill)
    return kills
