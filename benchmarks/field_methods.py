"""Methods of layouts that benchmarks compare: ours and those of other packages, each with its own defaults.

Every method has one parameter that sets the size of a neighbourhood. Its default is the package's own, except that
methods with a perplexity all run at 30.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from harness import peers
from harness.experiment import Case, NotAvailable
from harness.machine import version_of
from snekhorn import TSNEkhorn

from .measure import Array, quiet

PERPLEXITY = 30.0
FEW_POINTS = 400  # TorchDR takes minutes for more, because each of its 2,000 iterations visits all pairs several times
WARM_UP_POINTS = 300
ONE_THREAD = (
    1  # for layouts that are only scored: cases run side by side, and idle threads of peers would slow them down
)


@dataclass(frozen=True)
class Method:
    """Method of one package.

    Parameters
    ----------
    package : str
        Package that implements the method.
    parameter : str
        Parameter that sets the size of a neighbourhood.
    default : float
        Value of the parameter.
    lay_out : callable
        Function from points, value of the parameter, seed and number of threads to a layout.
    most_points : int or None
        Number of points above which the method is not run, because it would take too long; None for no limit.
    remark : str
        What differs from the package's defaults, besides the perplexity.
    """

    package: str
    parameter: str
    default: float
    lay_out: Callable[[Array, Any, int | None, int], Array]
    most_points: int | None = None
    remark: str = ""


def _ours(X: Array, perplexity: float, seed: int | None, n_jobs: int, **parameters: Any) -> Array:
    return TSNEkhorn(perplexity=perplexity, random_state=seed, n_jobs=n_jobs, **parameters).fit_transform(X)


def _umap(X: Array, n_neighbors: int, seed: int | None, n_jobs: int) -> Array:
    return peers.umap_layout(X, n_neighbors=n_neighbors, random_state=seed, n_jobs=n_jobs)


def _pacmap(X: Array, n_neighbors: int, seed: int | None, n_jobs: int, *, kind: str) -> Array:
    return peers.pacmap_layout(X, n_neighbors, seed, kind=kind)


def _trimap(X: Array, n_inliers: int, seed: int | None, n_jobs: int) -> Array:
    return peers.trimap_layout(X, n_inliers)


TORCHDR_REMARK = f"min_grad_norm {peers.TORCHDR_GRADIENT:g}, because its default stops at the initial layout"
DEFAULTS = "t-SNEkhorn"
OURS = {
    DEFAULTS: Method("snekhorn", "perplexity", PERPLEXITY, _ours),
    "t-SNEkhorn, exaggeration 1.5": Method("snekhorn", "perplexity", PERPLEXITY, partial(_ours, exaggeration=1.5)),
    "t-SNEkhorn, balance 1": Method("snekhorn", "perplexity", PERPLEXITY, partial(_ours, balance=1.0)),
}
PEERS = {
    "openTSNE": Method("openTSNE", "perplexity", PERPLEXITY, peers.LAYOUTS["openTSNE"]),
    "scikit-learn": Method("scikit-learn", "perplexity", PERPLEXITY, peers.LAYOUTS["scikit-learn"]),
    "umap-learn": Method("umap-learn", "n_neighbors", 15, _umap),
    "PaCMAP": Method("pacmap", "n_neighbors", 10, partial(_pacmap, kind="PaCMAP")),
    "LocalMAP": Method("pacmap", "n_neighbors", 10, partial(_pacmap, kind="LocalMAP")),
    "TriMap": Method("trimap", "n_inliers", 12, _trimap),
    "PHATE": Method("phate", "knn", 5, peers.phate_layout),
    "TorchDR": Method("TorchDR", "perplexity", PERPLEXITY, peers.torchdr_layout, FEW_POINTS, remark=TORCHDR_REMARK),
}
METHODS = {**OURS, **PEERS}
ABLATIONS = {  # the affinity of t-SNE in an otherwise unchanged t-SNEkhorn
    "t-SNEkhorn, balance 0": Method("snekhorn", "perplexity", PERPLEXITY, partial(_ours, balance=0.0)),
}
KNOWN = {**METHODS, **ABLATIONS}


def value_used(method: str, n_points: int, factor: float = 1.0) -> float:
    """Return the method's parameter, `factor` times its default but at most a third of the number of points."""
    known = KNOWN[method]
    value = min(factor * known.default, (n_points - 1) / 3)
    return value if known.parameter == "perplexity" else max(2, round(value))


def lay_out(method: str, X: Array, seed: int | None, n_jobs: int, factor: float = 1.0) -> Array:
    """Return a layout; raise `NotAvailable` if the package is missing, fails or returns no numbers.

    Without a seed, umap-learn and pacmap use all threads; with one, a single thread.
    """
    known = KNOWN[method]
    peers.require(known.package)
    if known.most_points is not None and len(X) > known.most_points:
        raise NotAvailable(f"{method} is not run on more than {known.most_points:,} points.")
    try:
        with redirect_stdout(io.StringIO()), limited_threads(n_jobs):
            Z = np.asarray(
                quiet(partial(known.lay_out, X, value_used(method, len(X), factor), seed, n_jobs)), dtype=float
            )
    except (ArithmeticError, AssertionError, IndexError, TypeError, ValueError, RuntimeError) as error:
        if known.package == "snekhorn":
            raise
        raise NotAvailable(f"{method} failed on {len(X):,} points: {error}") from error
    if not np.isfinite(Z).all():
        raise NotAvailable(f"{method} returned coordinates that are not finite on {len(X):,} points.")
    return Z


@contextmanager
def limited_threads(n_jobs: int) -> Iterator[None]:
    """Limit the threads of packages that have no parameter for them."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(n_jobs, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(n_jobs):
            yield
    finally:
        numba.set_num_threads(before)


@lru_cache(maxsize=len(METHODS))
def warm_up(method: str) -> None:
    """Lay out a few random points, once per process, so that times do not include compilation."""
    with suppress(NotAvailable):  # a method that fails here may not fail on other points
        lay_out(method, np.random.default_rng(0).normal(size=(WARM_UP_POINTS, 5)), 0, ONE_THREAD)


def version(method: str) -> str | None:
    """Return the version of a method's package, or None for our own."""
    package = KNOWN[method].package
    return None if package == "snekhorn" else version_of(package.lower())


def still_valid(case: Case) -> bool:
    """Return whether a case of another package was computed with the installed version."""
    return case.get("version") is not None and case["version"] == version(case["method"])
