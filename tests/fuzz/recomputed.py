"""Fit models whatever they say, and compute from their results, by slow and obvious formulas, what they report."""

import warnings
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from snekhorn.embedding.charge_sums import Kernel
from snekhorn.errors import InputError
from snekhorn.registry import AFFINITIES

from ..helpers import clusters, dense, squared_distances

JOBS = (1, 2, 3)


class Refused(Exception):
    """The model refused its input with an `InputError`, which is always allowed."""


def fit(model, X, settings=()):
    """Fit the model and return the messages of its warnings; raise `Refused` if it refuses X.

    Nothing but an `InputError` may be raised, no warning may come from a computation, no advice may contradict the
    settings, and X must not change.
    """
    before = _bytes(X)
    said = attempt(lambda: model.fit(X), _in_effect(settings, X))
    assert _bytes(X) == before, "fit changed X"
    return said


def attempt(action, settings=()):
    """Call the action, which may refuse; return the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            action()
        except InputError as error:
            check_advice(str(error), settings)
            raise Refused(str(error)) from error
    for warning in caught:
        assert issubclass(warning.category, UserWarning), f"{warning.category.__name__}: {warning.message}"
        check_advice(str(warning.message), settings)
    return [warning.category for warning in caught]


def warned_of_failure(said):
    """Whether a warning says that a solver did not converge."""
    return any(issubclass(category, ConvergenceWarning) for category in said)


# Advice, and the setting that makes it useless; `n_neighbors` is None if it stands for all points.
USELESS = [
    ("allow self-loops", "self_loops", True),
    ("allow self_loops", "self_loops", True),
    ("set latent_self_loops=True", "latent_self_loops", True),
    ("set it to 'auto'", "learning_rate", "auto"),
    ("use solver='newton'", "solver", "newton"),
    ("raise n_neighbors", "n_neighbors", None),
]


def check_advice(message, settings):
    """Fail if a message advises what is set already."""
    assert message.strip(), "an empty message"
    for advice, name, value in USELESS:
        if advice in message and name in settings:
            setting = settings[name]
            same = setting is value or (isinstance(setting, str) and setting == value)
            assert not same, f"useless advice: {name}={setting!r}, but {message!r}"


def _in_effect(settings, X):
    """Return the settings, with None for a number of neighbours that stands for all points."""
    n = len(X[0]) if isinstance(X, tuple) else np.shape(X)[0]
    neighbors, rank = (dict(settings).get(name) for name in ("n_neighbors", "k"))
    if not isinstance(neighbors, int) or neighbors < n - 1 or (rank or 0) > neighbors:  # k is compared without X
        return settings
    return {**settings, "n_neighbors": None}


def _bytes(X):
    """Return everything that X consists of, to tell whether it has changed."""
    if isinstance(X, tuple):
        return tuple(map(_bytes, X))
    if sparse.issparse(X):
        return X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes()
    return np.asarray(X).tobytes()


def same_bits(a, b):
    """Whether two arrays or sparse matrices are identical, bit for bit."""
    if sparse.issparse(a) or sparse.issparse(b):
        return sparse.issparse(a) and sparse.issparse(b) and _bytes(a) == _bytes(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@contextmanager
def threads_for_any_work():
    """Use threads even for a few points."""
    with patch("snekhorn.runtime.execution.MIN_WORK_FOR_THREADS", 1):
        yield


@cache
def is_symmetric(kind):
    """Whether this affinity of the registry is symmetric."""
    P = AFFINITIES[kind].load()(**AFFINITIES[kind].parameters).fit_transform(clusters(40))
    return np.array_equal(dense(P), dense(P).T)


def log_kernel(squared, kernel):
    return -np.log1p(squared) if kernel is Kernel.STUDENT else -squared


def log_latent_affinity(estimator, Z):
    """Return log Q of a fitted estimator at the layout Z, without any lower limit."""
    latent = estimator.latent
    log_q = log_kernel(squared_distances(Z), latent.kernel)
    if not (latent.doubly_stochastic and estimator.latent_self_loops):
        np.fill_diagonal(log_q, -np.inf)
    if latent.doubly_stochastic:
        return log_q + estimator.potential_[:, None] + estimator.potential_
    if latent.normalized == "rows":
        return log_q - logsumexp(log_q, axis=1, keepdims=True)
    return log_q - logsumexp(log_q) + np.log(len(Z))


def matched_affinity(estimator):
    """Return P as the estimator compares it with Q: without a diagonal if Q has none, and of mean row sum 1."""
    P = dense(estimator.affinity_)
    if not estimator.latent.doubly_stochastic:
        np.fill_diagonal(P, 0.0)
    if estimator.latent.normalized == "rows":
        P /= P.sum(axis=1, keepdims=True)
    return P * (len(P) / P.sum())


def divergence(P, log_q):
    """Return KL(P | Q) / n, for matrices whose mass may differ."""
    some = P > 0.0
    with np.errstate(invalid="ignore"):
        total = np.sum(P[some] * (np.log(P[some]) - log_q[some]))
    return float(total - P.sum() + np.exp(log_q).sum()) / len(P)
