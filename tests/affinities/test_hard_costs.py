"""Reports hold for the matrix itself, whatever the costs: its sums, entropies and symmetry are measured in float64."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    MultiscaleSymmetricEntropicAffinity,
    SymmetricEntropicAffinity,
)
from snekhorn.errors import InputError, NumericalOverflowError

from ..helpers import dense, entropies, fit_whatever_it_says, make, uniform_rows

TOL = 1e-8


def _circle(n, rng):
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _lattice(n, rng):
    side = int(np.ceil(np.sqrt(n)))
    return np.stack(np.divmod(np.arange(n), side), axis=1) / 3.0


def _near_ties(n, rng):
    return np.eye(n) + rng.integers(0, 4, (n, n)) * 1e-14


def _duplicates(n, rng):
    return rng.normal(size=(n, 2))[rng.integers(0, max(1, n // 2), n)]


def _hub(n, rng):
    points = np.eye(n)
    points[0] = 1.0 / n
    return points


def _two_scales(n, rng):
    return rng.normal(size=(n, 2)) * 10.0 ** rng.choice([-9.0, 0.0], (n, 1))


POINTS = {
    "cloud": lambda n, rng: rng.normal(size=(n, 3)),
    "line": lambda n, rng: np.arange(n)[:, None] ** 1.5,
    "circle": _circle,
    "lattice": _lattice,
    "ties within rounding": _near_ties,
    "duplicates": _duplicates,
    "near-duplicates": lambda n, rng: _duplicates(n, rng) + 1e-9 * rng.normal(size=(n, 2)),
    "one point": lambda n, rng: np.zeros((n, 2)),
    "hub": _hub,
    "heavy tails": lambda n, rng: rng.standard_cauchy((n, 2)) ** 3,
    "two scales": _two_scales,
    "outlier": lambda n, rng: np.concatenate([rng.normal(size=(n - 1, 2)), [[1e6, 0.0]]]),
}


@st.composite
def hard_cases(draw):
    """Draw points, and parameters of an affinity, at which solvers and reports tend to go wrong."""
    n = draw(st.integers(2, 24))
    name, seed = draw(st.sampled_from(sorted(POINTS))), draw(st.integers(0, 2**16))
    # Squared distances of float32 cover fewer orders of magnitude.
    dtype, largest = draw(st.sampled_from([(np.float64, 130), (np.float32, 12)]))
    scale = 10.0 ** draw(st.one_of(st.just(0), st.integers(-largest, largest)))
    points = (POINTS[name](n, np.random.default_rng(seed)) * scale).astype(dtype)
    share = draw(st.one_of(st.sampled_from([0.0, 1e-3, 0.5, 1.0]), st.floats(0.0, 1.0)))
    return SimpleNamespace(
        X=points,
        perplexity=1.001 + share * (n - 1.001),
        parameters={
            "self_loops": draw(st.booleans()),
            "n_neighbors": draw(st.one_of(st.none(), st.integers(1, n))),
        },
    )


def _fit(kind, case):
    """Fit; return the affinity, P in float64 and the categories of the warnings, or None if X is refused."""
    affinity = make(kind, case.perplexity, **case.parameters)
    try:
        said = fit_whatever_it_says(affinity, case.X)
    except NumericalOverflowError:  # no affinity overflows if its costs do not
        raise
    except InputError:  # costs out of range, which `test_extremes.py` tests
        return None
    P, report = dense(affinity.affinity_), affinity.report_
    assert np.isfinite(P).all()
    assert (P >= 0.0).all()
    assert case.parameters["self_loops"] or not np.diag(P).any()
    assert (ConvergenceWarning in said) == (not report.converged) == bool(report.unsolved_rows.size)
    assert report.converged == (report.reason in ("converged", "computed in closed form"))
    if case.parameters["self_loops"]:
        assert "self_loops" not in report.reason
    return affinity, P


def _rounding(affinity):
    """Largest change of a sum or an entropy by the rounding of the entries of P."""
    return np.finfo(affinity.affinity_.dtype).eps * (1.0 + np.log(affinity.affinity_.shape[0]))


def _check_sums(affinity, P):
    """The gap of the report is that of P, and every row that is off is named."""
    gaps = np.abs(P.sum(axis=1) - 1.0)
    assert affinity.report_.marginal_gap == pytest.approx(gaps.max(), rel=1e-9, abs=1e-13)
    off = np.flatnonzero(gaps > 1.01 * TOL + _rounding(affinity))
    assert set(off) <= set(affinity.report_.unsolved_rows)


def _check_row_entropies(affinity, P):
    """Rows that the report does not exempt have the entropy, rows at the floor more of it, rows out of reach less."""
    report = affinity.report_
    above = entropies(P) + P.sum(axis=1) - 1.0 - np.log(affinity.perplexity_)
    slack = 1.01 * TOL + _rounding(affinity)
    exempt = np.zeros(len(P), dtype=bool)
    exempt[np.concatenate([report.floor_rows, report.unreachable_rows])] = True
    rest = ~exempt
    assert report.entropy_gap == pytest.approx(np.abs(above[rest]).max(initial=0.0), rel=1e-6, abs=1e-11)
    assert set(np.flatnonzero(rest & (np.abs(above) > slack))) <= set(report.unsolved_rows)
    solved = np.setdiff1d(np.arange(len(P)), report.unsolved_rows)
    assert (above[np.intersect1d(solved, report.floor_rows)] > -slack).all()
    assert (above[np.intersect1d(solved, report.unreachable_rows)] < slack).all()


def _check_mean_entropy(affinity, P):
    """The average entropy is the one asked for, or no bandwidth has it and the report names the rows."""
    report = affinity.report_
    above = float((entropies(P) + P.sum(axis=1)).mean()) - 1.0 - np.log(affinity.perplexity_)
    assert report.entropy_gap == pytest.approx(abs(above), rel=1e-6, abs=1e-11)
    if report.converged and abs(above) > 2e-6:
        assert (report.floor_rows if above > 0.0 else report.unreachable_rows).size > 0


def _check_limits(affinity, P):
    """A row that misses its target is uniform: on the nearest points at the floor, on all points out of reach."""
    report = affinity.report_
    solved = np.setdiff1d(np.arange(len(P)), report.unsolved_rows)
    assert uniform_rows(P)[np.intersect1d(solved, np.concatenate([report.floor_rows, report.unreachable_rows]))].all()


@given(hard_cases())
def test_entropic_affinities_are_what_they_report(case):
    if (found := _fit(EntropicAffinity, case)) is not None:
        affinity, P = found
        assert affinity.report_.converged
        _check_sums(affinity, P)
        _check_row_entropies(affinity, P)
        _check_limits(affinity, P)


@given(hard_cases())
def test_gaussian_affinities_are_what_they_report(case):
    if (found := _fit(GaussianAffinity, case)) is not None:
        affinity, P = found
        assert affinity.report_.converged
        _check_sums(affinity, P)
        _check_mean_entropy(affinity, P)
        _check_limits(affinity, P)


@given(hard_cases())
def test_doubly_stochastic_affinities_are_what_they_report(case):
    if (found := _fit(DoublyStochasticAffinity, case)) is not None:
        affinity, P = found
        np.testing.assert_array_equal(P, P.T)
        _check_sums(affinity, P)
        _check_mean_entropy(affinity, P)
        assert affinity.report_.n_passes <= 2500


@given(hard_cases())
def test_symmetric_entropic_affinities_are_what_they_report(case):
    if (found := _fit(SymmetricEntropicAffinity, case)) is not None:
        affinity, P = found
        np.testing.assert_array_equal(P, P.T)
        _check_sums(affinity, P)
        _check_row_entropies(affinity, P)


@settings(max_examples=20)
@given(hard_cases())
def test_multiscale_affinities_are_what_they_report(case):
    if (found := _fit(MultiscaleSymmetricEntropicAffinity, case)) is not None:
        affinity, P = found
        np.testing.assert_array_equal(P, P.T)
        _check_sums(affinity, P)
