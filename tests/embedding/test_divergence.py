"""Layouts that overflow or diverge on the way."""

import numpy as np
import pytest

from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.normalizations import RowNormalized
from snekhorn.embedding.objective import Objective
from snekhorn.embedding.schedule import Phase, Schedule
from snekhorn.errors import NumericalOverflowError

from .descents import Script, descend, short_schedule, small_start
from .layouts_and_sums import ONE_THREAD


class Overflowing(Script):
    """A script whose gradient overflows at some calls."""

    def __init__(self, losses, overflows):
        super().__init__(losses)
        self.overflows, self.n_gradients, self.n_forgotten = overflows, 0, 0

    def gradient(self, Z, exaggeration):
        self.n_gradients += 1
        if self.n_gradients in self.overflows:
            raise NumericalOverflowError("overflowed")
        return np.ones_like(Z)

    def step(self, Z, gradient, rate, momentum):
        super().step(Z, gradient, rate, momentum)
        Z -= rate * gradient

    def forget(self):
        self.n_forgotten += 1


def _overflowing_run(overflows, main=4, **schedule):
    class Objective(Overflowing):
        reset = Overflowing.forget

    objective = Objective([9.0] * 100, overflows)
    optimizer = Script([])
    optimizer.step = objective.step
    Z, report = descend(objective, optimizer=optimizer, plan=short_schedule(early=3, main=main, rate=0.4, **schedule))
    return objective, Z, report


def test_an_overflow_returns_to_the_accepted_layout_with_shorter_steps():
    objective, Z, report = _overflowing_run({3, 6}, check_every=100)
    assert [rate for rate, _ in objective.steps] == [0.1, 0.1, 0.05, 0.2, 0.1, 0.1, 0.1]
    assert objective.n_forgotten == 2
    assert report.n_iter == 7
    np.testing.assert_allclose(Z, small_start() - 0.05 - 3 * 0.1)  # the steps since both returns


def test_a_layout_that_overflows_with_any_steps_is_an_error():
    with pytest.raises(NumericalOverflowError, match="overflowed"):  # even at the accepted layout
        _overflowing_run({2, 3}, check_every=100)
    with pytest.raises(NumericalOverflowError, match="overflowed"):  # after every return to it
        _overflowing_run(set(range(2, 100, 2)), main=97, check_every=100)


@pytest.mark.parametrize("phase", ["early", "main"])
def test_a_layout_that_diverges_is_given_up(phase):
    """The loss rises above that of all points in one place: return, with steps half as long."""

    class Diverging(Script):
        divergence_of_one_place = 5.0

        def loss(self, Z):
            return 4.0 if np.array_equal(Z, small_start() - small_start().mean(axis=0)) else super().loss(Z)

        def reset(self):
            pass

        def step(self, Z, gradient, rate, momentum):
            super().step(Z, gradient, rate, momentum)
            Z *= 1.0 + rate

    script = Diverging([50.0, 3.0, 2.0])
    lengths = {"early": 3, "main": 0} if phase == "early" else {"early": 0, "main": 3}
    start = small_start() - small_start().mean(axis=0)
    Z, _ = descend(script, Z=start, optimizer=script, plan=short_schedule(**lengths, check_every=1))
    rate = script.steps[0][0]
    assert [step[0] for step in script.steps] == [rate, rate / 2, rate / 2]
    np.testing.assert_allclose(Z, start * (1.0 + rate / 2) ** 2)


def test_the_attraction_of_the_gaussian_kernel_does_not_throw_points_apart():
    """A chain of points, whose steps grow while it unfolds: with the same steps it would diverge."""
    n = 250
    P = np.eye(n, k=1) + np.eye(n, k=-1)
    objective = Objective(P, RowNormalized(DirectSums(Kernel.GAUSSIAN, ONE_THREAD)), dtype=np.float64)
    Z = 0.01 * np.cos(np.linspace(0.0, 12.0, n))[:, None] * np.linspace(0.1, 1.0, n)[:, None]
    schedule = Schedule(Phase(200, 12.0, 0.25 / 12, 0.8), Phase(400, 1.0, 0.25, 0.8), 1e-6)
    Z, report = descend(objective, Z, schedule)
    assert max(report.losses) > objective.divergence_of_one_place + 1.0  # otherwise the case would test nothing
    assert report.losses[-1] < 0.7 * objective.divergence_of_one_place
    assert np.ptp(Z) < 200.0
