"""The simulations of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.checks import check_count, check_positive

CENTRES = np.array([[-8.0, -8.0], [0.0, 8.0], [8.0, -8.0]])
SPREADS = (1.0, 3.0, 2.0)  # standard deviations, of the clusters in the order of their centres


def make_three_gaussians(
    n_per_cluster: int = 30, *, spreads: Sequence[float] = SPREADS, random_state: Any = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three Gaussian clusters in the plane whose spreads differ: Figures 2 and 3.

    Parameters
    ----------
    n_per_cluster : int, default=30
    spreads : sequence of three floats, default=(1, 3, 2)
        Standard deviations of the clusters.
    random_state : int, Generator or anything else that `numpy.random.default_rng` takes, default=0

    Returns
    -------
    X : ndarray of shape (3 n_per_cluster, 2)
    y : ndarray of shape (3 n_per_cluster,)
        The cluster of each point.
    """
    n = check_count(n_per_cluster, "n_per_cluster")
    if len(spreads) != len(CENTRES):
        raise ValueError(f"spreads needs {len(CENTRES)} numbers, one a cluster, got {len(spreads)}.")
    scales = np.array([check_positive(spread, "spreads") for spread in spreads])
    rng = np.random.default_rng(random_state)
    y = np.repeat(np.arange(len(CENTRES)), n)
    return CENTRES[y] + scales[y, None] * rng.normal(size=(y.size, 2)), y


def make_heteroscedastic_multinomial(
    n: int = 1000,
    n_features: int = 10_000,
    *,
    trials: tuple[int, int] = (1000, 2000),
    random_state: Any = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    r"""Two distributions, one of them measured with two levels of noise: Figures 4 and 5.

    Two vectors :math:`p_1, p_2` are drawn uniformly in the simplex. Half of the points are frequencies of multinomial
    draws of `trials[0]` from :math:`p_1`, a quarter the same from :math:`p_2`, and a quarter, the batch of low noise,
    of `trials[1]` from :math:`p_2`.

    Parameters
    ----------
    n : int, default=1000
        A multiple of four.
    n_features : int, default=10_000
    trials : pair of int, default=(1000, 2000)
    random_state : int, Generator or anything else that `numpy.random.default_rng` takes, default=0

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Rows sum to one.
    y : ndarray of shape (n,)
        0 for points of p_1, 1 for those of p_2.
    batch : ndarray of shape (n,)
        1 for the batch of low noise, 0 for the other points.

    References
    ----------
    Landa, Coifman and Kluger, Doubly stochastic normalization of the Gaussian kernel is robust to heteroskedastic
    noise, 2021.
    """
    if check_count(n, "n") % 4:
        raise ValueError(f"n must be a multiple of four, got {n}.")
    rng = np.random.default_rng(random_state)
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
