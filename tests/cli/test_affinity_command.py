"""snekhorn affinity: every affinity of the registry, as a sparse matrix."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.geometry.preprocessing import principal_components
from snekhorn.io import read_table
from snekhorn.registry import AFFINITIES

from .conftest import N

DIGITS = ("affinity", "digits.csv", "--label", "digit", "--id", "name")
ONE_MORE = """
import sys, types
from snekhorn import registry
from snekhorn.affinities import EntropicAffinity

class NewAffinity(EntropicAffinity):
    pass

module = types.ModuleType("snekhorn.affinities.new")
module.NewAffinity = NewAffinity
sys.modules[module.__name__] = module
registry.AFFINITIES["new"] = registry.Entry("affinities.new", "NewAffinity", {"symmetrize": True})

from snekhorn.cli import main
main()
"""


def _points():
    X = read_table("digits.csv", label="digit", id="name").X
    return principal_components(X, 50)


def test_affinity(folder, as_json):
    facts = as_json(*DIGITS, "--perplexity", 10, "--out", "P.npz")
    expected = SymmetricEntropicAffinity(10, n_neighbors="auto").fit(_points())
    assert abs(sparse.load_npz("P.npz") - expected.affinity_).max() < 1e-12
    assert facts["report"]["converged"] is True
    assert facts["report"]["entropy_gap"] == expected.report_.entropy_gap
    assert facts["n_points"] == N


@pytest.mark.parametrize("kind", AFFINITIES)
def test_every_kind(folder, as_json, kind):
    facts = as_json(*DIGITS, "--kind", kind, "--out", "P.mtx")
    assert facts["kind"] == kind
    assert scipy_io.mmread("P.mtx").shape == (N, N)


def test_several_perplexities(folder, as_json):
    as_json(*DIGITS, "--kind", "multiscale", "--perplexity", "10,30", "--out", "P.npz")
    expected = MultiscaleSymmetricEntropicAffinity([10.0, 30.0], n_neighbors="auto").fit_transform(_points())
    np.testing.assert_array_equal(sparse.load_npz("P.npz").toarray(), expected.toarray())


def test_a_perplexity_that_has_no_use_is_noted(folder, as_json):
    noted = as_json(*DIGITS, "--kind", "self-tuning", "--perplexity", 10, "--out", "P.npz")["warnings"]
    assert "--perplexity is ignored: --kind self-tuning does not use it" in noted


def test_one_line_in_the_registry_makes_a_new_kind(folder, snekhorn):
    command = [*DIGITS, "--kind", "new", "--perplexity", "10", "--out", "new.npz"]
    result = subprocess.run([sys.executable, "-c", ONE_MORE, *command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    snekhorn(*DIGITS, "--kind", "symmetrized-entropic", "--perplexity", 10, "--out", "same.npz")
    assert abs(sparse.load_npz("new.npz") - sparse.load_npz("same.npz")).max() < 1e-12


@pytest.mark.parametrize("kind", ["self-tuning", "symmetrized-entropic"])
def test_row_perplexities_are_of_rows_that_sum_to_one(folder, as_json, snekhorn, kind):
    arguments = (*DIGITS, "--kind", kind, "--out", "P.npz")
    facts = as_json(*arguments)
    said = facts["row_perplexities"]
    P = sparse.load_npz("P.npz")
    rows = row_perplexities(P.multiply(1.0 / P.sum(axis=1)).tocsr())
    assert rows.max() <= N
    np.testing.assert_allclose([said["min"], said["max"]], [rows.min(), rows.max()])
    assert facts["rows_scaled_to_sum_to_1"]
    assert "(rows scaled to sum to 1)" in snekhorn(*arguments, "--force").stdout


def test_rows_that_sum_to_zero_have_no_perplexity(folder, as_json, snekhorn):
    points = np.random.default_rng(0).normal(size=(40, 3))
    np.save("t.npy", np.concatenate([points, [[1e4, 0.0, 0.0]]]))
    arguments = ("affinity", "t.npy", "--kind", "self-tuning", "--no-self-loops", "--out", "P.npz")
    facts = as_json(*arguments)
    assert facts["rows_without_mass"] == 1
    P = sparse.load_npz("P.npz").toarray()[:40]
    rows = row_perplexities(P / P.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(
        [facts["row_perplexities"][name] for name in ("min", "median", "max")],
        [rows.min(), np.median(rows), rows.max()],
    )
    assert any("1 row has no mass (row 40)" in text and "allow --self-loops" in text for text in facts["warnings"])
    said = snekhorn(*arguments, "--force").stdout
    assert f"to {rows.max():.2f} (rows scaled to sum to 1, without 1 row that sums to 0)" in said
