"""Simulate data as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..runtime.checks import check_count, check_positive

CENTERS = np.array([[-8.0, -8.0], [0.0, 8.0], [8.0, -8.0]])
SPREADS = (1.0, 3.0, 2.0)  # standard deviation of each cluster


def make_three_gaussians(
    n_per_cluster: int = 30, *, spreads: Sequence[float] = SPREADS, random_state: Any = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw three Gaussian clusters with different spreads in the plane, as in Figures 2 and 3.

    Parameters
    ----------
    n_per_cluster : int, default=30
        Number of points per cluster.
    spreads : sequence of three floats, default=(1, 3, 2)
        Standard deviations of the clusters.
    random_state : int, Generator or anything else that `numpy.random.default_rng` accepts, default=0
        Random seed.

    Returns
    -------
    X : ndarray of shape (3 n_per_cluster, 2)
        The points.
    y : ndarray of shape (3 n_per_cluster,)
        Cluster of each point.
    """
    n = check_count(n_per_cluster, "n_per_cluster")
    _check_length(spreads, "spreads", len(CENTERS), "one per cluster")
    scales = np.array([check_positive(spread, "spreads") for spread in spreads])
    rng = _generator(random_state)
    y = np.repeat(np.arange(len(CENTERS)), n)
    return CENTERS[y] + scales[y, None] * rng.normal(size=(y.size, 2)), y


def make_heteroscedastic_multinomial(
    n: int = 1000,
    n_features: int = 10_000,
    *,
    trials: tuple[int, int] = (1000, 2000),
    random_state: Any = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    r"""Draw from two distributions, one of them with two levels of noise, as in Figures 4 and 5.

    Two probability vectors :math:`p_1, p_2` are drawn uniformly from the simplex. Each point is a vector of relative
    frequencies. Half of the points come from `trials[0]` multinomial draws from :math:`p_1`, a quarter from `trials[0]`
    draws from :math:`p_2`, and a quarter, the low-noise batch, from `trials[1]` draws from :math:`p_2`.

    Parameters
    ----------
    n : int, default=1000
        Number of points, a multiple of four.
    n_features : int, default=10_000
        Number of features.
    trials : pair of int, default=(1000, 2000)
        Number of draws per point at each noise level.
    random_state : int, Generator or anything else that `numpy.random.default_rng` accepts, default=0
        Random seed.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        The points; rows sum to one.
    y : ndarray of shape (n,)
        0 for points from p_1, 1 for points from p_2.
    batch : ndarray of shape (n,)
        1 for the low-noise batch, 0 for the other points.

    References
    ----------
    Landa, Coifman and Kluger, Doubly stochastic normalization of the Gaussian kernel is robust to heteroskedastic
    noise, 2021.
    """
    if check_count(n, "n") % 4:
        raise InputError(f"n must be a multiple of four, got {n}.")
    _check_length(trials, "trials", 2, "one per noise level")
    rng = _generator(random_state)
    first, second = rng.dirichlet(np.ones(check_count(n_features, "n_features")), size=2)
    few, many = (check_count(number, "trials") for number in trials)
    counts = [
        rng.multinomial(few, first, size=n // 2),
        rng.multinomial(few, second, size=n // 4),
        rng.multinomial(many, second, size=n // 4),
    ]
    X = np.concatenate([drawn / drawn.sum(axis=1, keepdims=True) for drawn in counts])
    y, batch = np.repeat([0, 0, 1, 1], n // 4), np.repeat([0, 0, 0, 1], n // 4)
    return X, y, batch


def _check_length(values: Any, name: str, length: int, meaning: str) -> None:
    """Raise unless there is one number for each part of the data."""
    if not np.iterable(values) or len(list(values)) != length:
        raise InputError(f"{name} must have {length} numbers, {meaning}, got {shown(values)}.")


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            "random_state must be a whole number of at least 0, a numpy.random.Generator or None; got "
            f"{shown(random_state)}."
        ) from error
