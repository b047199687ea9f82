"""A descent that continues from a state of another one ends with the same bits."""

import copy

import numpy as np
import pytest

from snekhorn.embedding import descent as module
from snekhorn.embedding.descent import minimize
from snekhorn.embedding.latent import Kernel, Latent
from snekhorn.embedding.objective import make_objective
from snekhorn.embedding.schedule import make_optimizer, make_schedule

from .layouts_and_sums import ONE_THREAD

N = 300
RNG = np.random.default_rng(0)
P = np.exp(-((RNG.normal(size=(N, 1)) - RNG.normal(size=(1, N))) ** 2) * 4.0)
P = (P + P.T) / P.sum()
START = RNG.normal(scale=1e-2, size=(N, 2))

CASES = {
    "momentum, grid": (Latent(Kernel.STUDENT, "both"), "fft", "momentum"),
    "momentum, direct": (Latent(Kernel.STUDENT, "both"), "exact", "momentum"),
    "gaussian, grid": (Latent(Kernel.GAUSSIAN, "both"), "fft", "momentum"),
    "total": (Latent(Kernel.STUDENT, "total"), "fft", "momentum"),
    "rows": (Latent(Kernel.GAUSSIAN, "rows"), "exact", "momentum"),
    "adam": (Latent(Kernel.STUDENT, "both"), "fft", "adam"),
}


def descend(case, **how):
    latent, method, optimizer = CASES[case]
    objective = make_objective(P, latent, method=method, self_loops=True, symmetric=True, execution=ONE_THREAD)
    schedule = make_schedule(
        latent,
        optimizer=optimizer,
        learning_rate="auto" if optimizer == "momentum" else 0.1,
        early_exaggeration=12.0,
        exaggeration=1.0,
        max_iter=400 if optimizer == "momentum" else 40,
        tol=1e-7,
    )
    Z, report = minimize(objective, START, make_optimizer(optimizer, START.shape, ONE_THREAD), schedule, **how)
    return Z, report, objective.state


@pytest.mark.parametrize("sorted_points", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_state_leads_to_the_same_end(case, sorted_points, monkeypatch):
    if sorted_points:
        monkeypatch.setattr(module, "REORDER_FROM", 100)
    states = []
    Z, report, (charges, _) = descend(case, keep=lambda state: states.append(copy.deepcopy(state)))
    assert [state.n_iter for state in states] == report.iterations[: len(states)]
    assert len(states) >= 5
    np.testing.assert_array_equal(Z, descend(case)[0])  # keeping states changes nothing
    for state in states[:: max(1, len(states) // 8)]:
        before = copy.deepcopy(state)
        again, report_again, (charges_again, _) = descend(case, start=state)
        np.testing.assert_array_equal(again, Z)
        np.testing.assert_array_equal(charges_again, charges)
        assert report_again == report
        np.testing.assert_array_equal(before.Z, state.Z)  # a state can be used again
        np.testing.assert_array_equal(before.accepted, state.accepted)


def test_a_layout_that_returns_to_an_earlier_one_is_resumed(monkeypatch):
    """With long steps, the loss rises, and the steps are halved."""
    latent, *_ = CASES["momentum, grid"]
    states, ends = [], []
    for start in (None, 4, 6):
        objective = make_objective(P, latent, method="fft", self_loops=True, symmetric=True, execution=ONE_THREAD)
        schedule = make_schedule(
            latent,
            optimizer="momentum",
            learning_rate=40.0,
            early_exaggeration=12.0,
            exaggeration=1.0,
            max_iter=500,
            tol=1e-7,
        )
        how = {"keep": lambda state: states.append(copy.deepcopy(state))} if start is None else {"start": states[start]}
        ends.append(minimize(objective, START, make_optimizer("momentum", START.shape, ONE_THREAD), schedule, **how)[0])
    assert states[-1].damping < 1.0
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])
