"""Advice about an affinity that did not converge names only what the user can change."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from snekhorn import TSNEkhorn, sweep
from snekhorn.affinities import SymmetricEntropicAffinity, symmetric_solver
from snekhorn.cli.app import app
from snekhorn.solvers.concave_problems import Outcome
from snekhorn.solvers.solve_report import Reason

from .cases import stops_early

X = np.random.default_rng(0).normal(size=(60, 4))
FEW = {"perplexity": 5.0, "max_iter": 5}


@pytest.fixture(autouse=True)
def stalls(monkeypatch):
    def stall(problem, start, **options):
        point, passes = start()
        return Outcome(point, Reason.STALLED, 1, passes, [])

    monkeypatch.setattr(symmetric_solver, "maximize", stall)


def _advice(action):
    with pytest.warns(ConvergenceWarning, match="SymmetricEntropicAffinity did not converge") as said:
        action()
    text = next(str(warning.message) for warning in said if "did not converge" in str(warning.message))
    return text.partition("this perplexity; ")[2].partition(" (")[0]


@stops_early
@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({}, "lower perplexity, pass an affinity with a larger tol or allow self_loops"),
        ({"self_loops": True}, "lower perplexity or pass an affinity with a larger tol"),
        (
            {"n_neighbors": 20, "self_loops": True},
            "raise n_neighbors, lower perplexity or pass an affinity with a larger tol",
        ),
        ({"affinity": SymmetricEntropicAffinity(5.0, tol=1e-5)}, "lower perplexity or raise tol"),
    ],
)
def test_estimators_advise_their_own_parameters(parameters, advice):
    assert _advice(lambda: TSNEkhorn(**FEW, **parameters).fit(X)) == advice


@stops_early
def test_sweep_advises_neither_an_affinity_nor_a_graph():
    model = TSNEkhorn(n_neighbors=20, max_iter=5)
    advice = _advice(lambda: list(sweep(model, X, [4, 5])))
    assert advice == "raise n_neighbors, lower perplexity or allow self_loops"


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (("embed", "--max-iter", "5", "--no-scores"), "lower perplexity or allow --self-loops"),
        (("embed", "--max-iter", "5", "--no-scores", "-p", "4,5"), "lower perplexity or allow --self-loops"),
        (("affinity", "--no-self-loops"), "raise --neighbors, lower perplexity or allow --self-loops"),
    ],
)
def test_the_program_advises_its_own_options(command, advice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("snekhorn.estimators.layout_parts.DENSE_LIMIT", 10)
    np.save("t.npy", X)
    name, *options = command
    out = "t.csv" if name == "embed" else "t.npz"
    result = CliRunner().invoke(app, [name, "t.npy", "-p", "5", *options, "--out", out])
    assert result.exit_code == 0, result.stderr
    assert f"this perplexity; {advice} (1 iteration" in result.stderr
