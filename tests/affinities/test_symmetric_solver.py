"""The solver tries again from other starting points, and reports the work of all attempts."""

from dataclasses import replace

import pytest

from snekhorn.affinities import SymmetricEntropicAffinity, symmetric_solver
from snekhorn.solvers.solve_report import Reason

from ..helpers import clusters


@pytest.fixture
def attempts(monkeypatch):
    """Make the first attempt of every fit stall, and return the outcomes of all attempts."""
    outcomes, maximize = [], symmetric_solver.maximize

    def stall_once(problem, start, **options):
        outcome = maximize(problem, start, **options)
        if not outcomes:
            outcome = replace(outcome, reason=Reason.STALLED)
        outcomes.append(outcome)
        return outcome

    monkeypatch.setattr(symmetric_solver, "maximize", stall_once)
    return outcomes


def test_the_report_counts_the_work_of_all_attempts(attempts):
    report = SymmetricEntropicAffinity(5.0, n_neighbors=20).fit(clusters(90)).report_
    assert len(attempts) == 2
    assert report.converged
    assert report.n_iter == sum(outcome.n_iter for outcome in attempts)
    assert len(report.dual_values) == sum(len(outcome.values) for outcome in attempts)
    assert report.n_passes == sum(outcome.n_passes for outcome in attempts) + 2  # for the starting points
