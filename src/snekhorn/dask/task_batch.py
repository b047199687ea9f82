"""Submit many tasks to a Dask cluster at once.

A task that is submitted alone costs the client and the scheduler several milliseconds of their time, and a task of a
batch a fraction of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import getitem
from typing import Any
from uuid import uuid4

import dask
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Future

from .workers import LARGE_GRAPHS, Workers, futures_in, reported_losses


@dataclass
class TaskBatch:
    """Tasks that are submitted together; their arguments may be the keys of earlier tasks of the batch, or futures."""

    workers: Workers
    name: str = field(default_factory=lambda: uuid4().hex)
    tasks: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, function: Callable[..., Any], *args: Any, piece: int) -> str:
        """Add a task, preferably for the worker of a piece, and return its key."""
        key = f"{function.__name__}-{self.name}-{len(self.tasks)}"
        self.tasks[key] = (function, *map(futures_in, args))
        self.places[key] = [self.workers.address_of(piece)]
        return key

    def send(self, wanted: Sequence[str]) -> list[Future]:
        """Submit the tasks, and return the futures of the wanted ones; the results of others are freed when used."""
        with dask.annotate(workers=partial(getitem, self.places), allow_other_workers=True):
            layer = MaterializedLayer(self.tasks)
        graph = HighLevelGraph({self.name: layer}, {self.name: set()})
        client = self.workers.client
        with dask.config.set(LARGE_GRAPHS), reported_losses(client):
            return list(client.get(graph, list(wanted), sync=False))
