"""Lay out points on a Dask cluster: start workers on this machine, or join a cluster that is running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from logging import CRITICAL, getLogger
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..registry import METHODS
from ..runtime.execution import available_cores
from ..runtime.interrupts import delayed_interrupts
from . import options
from .session import Session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding

METHODS_ON_CLUSTERS = ("tsnekhorn", "snekhorn")
SECONDS_TO_CONNECT = 10  # until an answer of the scheduler; fewer may be too few on a busy network
CHUNK_BYTES = 1 << 26  # of points sent at once; larger chunks take more memory


@dataclass(frozen=True)
class Cluster:
    """Cluster that the user asked for, as options: a number of workers, or the address of a scheduler."""

    workers: options.Workers = None
    dask: options.DaskAddress = None

    @property
    def option(self) -> str:
        """Option that was passed; empty if there is none."""
        return "--workers" if self.workers is not None else "--dask" if self.dask is not None else ""

    def check(self, method: str, *, several: bool) -> None:
        """Raise if the options contradict each other, or if a cluster cannot do what was requested."""
        if not self.option:
            return
        if self.workers is not None and self.dask is not None:
            raise InputError("--workers starts a cluster and --dask joins one; pass only one of them.")
        if method not in METHODS_ON_CLUSTERS:
            raise InputError(
                f"{self.option} supports the methods {' and '.join(METHODS_ON_CLUSTERS)}, not {method}; omit "
                f"{self.option}."
            )
        if several:
            raise InputError(
                f"{self.option} computes one layout, but several were requested; pass one --perplexity and one "
                "--exaggeration."
            )

    def model(self, method: str, **parameters: Any) -> Any:
        """Return the estimator of a method with parameters that are valid where it will run."""
        parameters = {**METHODS[method].parameters, **parameters}
        if not self.option:
            model = METHODS[method].load()(**parameters)
            model.check_parameters()
            return model
        try:
            from .. import dask
        except ImportError:
            raise InputError(f"{self.option} needs Dask; install it with: pip install 'snekhorn[dask]'.") from None
        model = getattr(dask, METHODS[method].class_name)(**parameters)
        model.check_parameters()
        model.check_support()
        return model

    @contextmanager
    def joined(self, run: Session) -> Iterator[Any]:
        """Yield a client of the running cluster that was requested, or None if there is none."""
        if self.dask is None:
            yield None
            return
        with run.stage("cluster", f"connecting to {self.dask}"):
            client = _join(self.dask)
        with client:
            _describe(run, client)
            yield client

    @contextmanager
    def started(self, run: Session, joined: Any, model: Any, X: Any) -> Iterator[Any]:
        """Start the workers that were requested, and yield their client; yield `joined` if there are none to start.

        The workers share what this program leaves of its memory, or of `max_memory`: the estimate of what it needs for
        a fit of the model to X, which may be an outline of the points, is subtracted.
        """
        if self.workers is None:
            yield joined
            return
        from distributed import Client

        if self.workers > (cores := available_cores()):
            run.note(f"{_counted(self.workers)} share {cores} cores; more workers than cores only take memory")
        with ExitStack() as stack:
            with run.stage("cluster", f"starting {_counted(self.workers)}"):
                with delayed_interrupts():  # a cluster that has started in part cannot be closed
                    cluster = stack.enter_context(_start(self.workers, model.max_memory, model.client_bytes(X)))
                # The workers are on this machine, so results need not pass through the scheduler.
                client = stack.enter_context(Client(cluster, set_as_default=False, direct_to_workers=True))
            _describe(run, client)
            yield client


def _describe(run: Session, client: Any) -> None:
    """Check that a cluster can be used, and say where its dashboard is."""
    from ..dask.cluster_checks import check_workers

    run.say(f"using {_counted(len(check_workers(client)))}; dashboard: {client.dashboard_link}")


def fit_on_cluster(model: Any, X: Any, client: Any) -> NeighborEmbedding:
    """Fit a model on a cluster, and return it as one for this machine."""
    import dask.array
    from scipy import sparse

    if sparse.issparse(X):
        raise InputError(
            f"a Dask cluster needs dense points, but X is a sparse matrix with {X.shape[1]:,} columns; pass --pca 50 "
            "to reduce it."
        )
    getLogger("asyncio").setLevel(CRITICAL)  # after an interrupt, it would report what Dask no longer waits for
    X = np.asarray(X)
    rows = max(1, CHUNK_BYTES // max(1, X.shape[1] * X.itemsize))
    points = dask.array.from_array(X, chunks=(rows, -1), name=False)
    fitted: NeighborEmbedding = model.set_params(client=client).fit(points).to_local(X)
    return fitted


def _join(address: str) -> Any:
    """Connect to a running scheduler."""
    from distributed import Client
    from distributed.comm import resolve_address

    try:
        resolve_address(address)  # if the client itself found an address malformed, it could not be closed
        return Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({reason}); start one with 'dask scheduler', or pass the "
            "address that it prints, such as --dask tcp://10.0.0.1:8786."
        ) from error


def _counted(n_workers: int) -> str:
    return "1 worker" if n_workers == 1 else f"{n_workers:,} workers"


def _start(n_workers: int, max_memory: Any, reserved: float) -> Any:
    """Start single-threaded workers on this machine, each with an equal share of the free memory that is not reserved.

    The program itself will need the `reserved` bytes, in addition to what it uses.
    """
    import dask
    from distributed import LocalCluster

    from ..dask.worker_setup import LOCAL_SETTINGS
    from ..runtime.memory import left_bytes, limited_memory, size_text
    from ..runtime.memory_budget import WORKER

    with limited_memory(max_memory):
        free = left_bytes()
    left = None if free is None else max(free - reserved, 0.0)
    if left is not None and left < WORKER * n_workers:
        raise_limit = "" if max_memory is None else ", or raise max_memory"
        raise InputError(
            f"{_counted(n_workers)} need at least {size_text(WORKER * n_workers)} of memory before they have any data, "
            f"but this program leaves only {size_text(left)} to them; use fewer workers{raise_limit}."
        )
    with dask.config.set(LOCAL_SETTINGS):
        return LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit="auto" if left is None else int(left / n_workers),  # above it, Dask restarts the worker
            dashboard_address="127.0.0.1:0",
            silence_logs=CRITICAL,  # the errors of tasks are raised in this process
            preload=["snekhorn.dask.worker_setup"],
        )
