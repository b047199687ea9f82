"""Objectives, schedules and scripted losses for the tests of the descent."""

import numpy as np

from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.descent import minimize
from snekhorn.embedding.normalizations import TotalNormalized
from snekhorn.embedding.objective import Objective
from snekhorn.embedding.schedule import Phase, Schedule
from snekhorn.solvers.descent_steps import Momentum

from ..helpers import clusters, squared_distances
from .layouts_and_sums import ONE_THREAD

N = 60


def cluster_affinity(n=N):
    X = clusters(n)
    P = np.exp(-squared_distances(X) / 2.0) + 1e-4
    np.fill_diagonal(P, 0.0)
    return P / P.sum()


def cluster_objective(kind=DirectSums, make=TotalNormalized, n=N, springs=None):
    normalization = make(kind(Kernel.STUDENT, ONE_THREAD))
    return Objective(cluster_affinity(n), normalization, dtype=np.float64, springs=springs)


def small_start(n=N):
    return 0.01 * np.random.default_rng(0).normal(size=(n, 2))


def short_schedule(early=20, main=60, rate=0.2, tol=1e-12, check_every=10):
    return Schedule(Phase(early, 4.0, rate / 4.0, 0.5), Phase(main, 1.0, rate, 0.8), tol, check_every)


def descend(problem=None, Z=None, plan=None, callbacks=(), optimizer=None):
    Z = small_start() if Z is None else Z
    return minimize(
        problem or cluster_objective(),
        Z,
        optimizer or Momentum(Z.shape, ONE_THREAD),
        plan or short_schedule(),
        callbacks=callbacks,
    )


class Script:
    """An objective with given losses and an optimiser that records its steps, in one."""

    def __init__(self, losses):
        self.losses, self.steps, self.n_resets = iter(losses), [], 0

    execution = ONE_THREAD

    def gradient(self, Z, exaggeration):
        return np.zeros_like(Z)

    divergence_of_one_place, floats, state = np.inf, True, (None, None)

    def shorten(self, Z, gradient):
        pass

    def loss(self, Z):
        return next(self.losses)

    def step(self, Z, gradient, rate, momentum):
        self.steps.append((rate, momentum))

    def reset(self):
        self.n_resets += 1

    def permute(self, order):
        pass

    def restore(self, *state):
        pass
