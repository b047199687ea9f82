"""The solver tries again from other points, reports the work of all attempts, and keeps few graphs in memory."""

from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity, symmetric_solver
from snekhorn.geometry.neighbor_graph import NeighborGraph
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


@pytest.fixture
def graphs_beside_solver(monkeypatch):
    """Return the numbers of graphs of all points that are in memory at the end of every attempt."""
    made, beside = [], []
    maximize, initialize = symmetric_solver.maximize, NeighborGraph.__post_init__

    def recorded(graph):
        initialize(graph)
        made.append(ref(graph))

    def counted(problem, start, **options):
        outcome = maximize(problem, start, **options)
        graphs = [graph for one in made if (graph := one()) is not None]
        beside.append(sum(graph.n_points == problem.cost.n_points for graph in graphs))
        return outcome

    monkeypatch.setattr("snekhorn.geometry.neighbor_graph.MANY_POINTS", 100)  # above, points get an order of their own
    monkeypatch.setattr(NeighborGraph, "__post_init__", recorded)
    monkeypatch.setattr(symmetric_solver, "maximize", counted)
    return beside


@pytest.mark.parametrize(
    ("affinity", "n_graphs"),
    [
        (SymmetricEntropicAffinity(8.0, n_neighbors=12), 1),
        (SymmetricEntropicAffinity(8.0, n_neighbors=12, balance=0.5), 1),
        (MultiscaleSymmetricEntropicAffinity((4.0, 8.0), n_neighbors=12), 2),  # it needs its graph for the next scale
    ],
)
def test_no_graph_that_has_been_replaced_stays_in_memory(graphs_beside_solver, affinity, n_graphs):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 100)) / np.sqrt(rng.chisquare(2, size=(400, 1)) / 2)  # with points that starve
    affinity.fit(X)
    assert set(graphs_beside_solver) == {n_graphs}
