"""Properties of affinities, recomputed from P without using the library."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from snekhorn.affinities import EntropicAffinity, GaussianAffinity
from snekhorn.affinities.symmetric_solver import SymmetricSolver

from ..helpers import dense, entropies, uniform_rows
from .fuzz_cases import affinity_cases, tied_points
from .hard_points import points
from .property_table import holds_for
from .recomputed import JOBS, Refused, fit, is_symmetric, same_bits, threads_for_any_work, warned_of_failure

REPORTED = 2e-8  # entropies this close to the target count as reached
MANY_ITERATIONS = 60  # of Newton's method, which usually takes fewer than 25
FLOOR_ROUNDING = 1e-4  # relative difference of floors that rounding explains
NEARLY = 1e-3  # difference of an entropy from its maximum


@holds_for(affinity_cases())
def an_affinity_is_what_it_reports(case):
    affinity = case.build()
    said = fit(affinity, case.data(), affinity.get_params())
    P, report = affinity.affinity_, affinity.report_
    D = dense(P)
    assert D.shape == (case.points.n,) * 2
    assert np.isfinite(D).all()
    assert (D >= 0.0).all()
    if not affinity.self_loops:
        assert not D.diagonal().any()
    if is_symmetric(case.kind) or getattr(affinity, "symmetrize", False):
        np.testing.assert_array_equal(D, D.T)
    assert report.converged != warned_of_failure(said)
    if not report.converged and hasattr(affinity, "entropy_dual_"):
        assert report.unsolved_rows.size
    # Symmetrising and mixing change the rows that the report describes.
    if not getattr(affinity, "symmetrize", False) and report.balance in (None, 1.0):
        _check_row_sums(affinity, D, P.dtype)
        _check_entropies(affinity, D, P.dtype)


def _rounding(dtype):
    """Return the error of sums and entropies of rows of this type."""
    return 1e-6 if dtype == np.float32 else 1e-11


def _check_row_sums(affinity, D, dtype):
    report, rounding = affinity.report_, _rounding(dtype)
    if np.isnan(report.marginal_gap):
        return
    gap = float(np.abs(D.sum(axis=1) - 1.0).max())
    tol = getattr(affinity, "tol", 1e-9)
    assert gap <= report.marginal_gap * (1.0 + 1e-6) + rounding, f"row sums off by {gap}, reported {report}"
    assert not report.converged or gap <= tol + rounding, f"row sums off by {gap}, reported {report}"
    # An affinity with several reports gives the largest of their gaps.
    assert report.converged or hasattr(affinity, "reports_") or gap > 0.99 * report.marginal_gap - rounding


def _check_entropies(affinity, D, dtype):
    """Check each row's entropy if it has a dual variable of its own, and otherwise their average if it has a target."""
    report = affinity.report_
    rounding = 20 * _rounding(dtype) + 2 * float(np.abs(D.sum(axis=1) - 1.0).max())
    if np.isnan(report.entropy_gap) or not hasattr(affinity, "perplexity_"):
        return
    above = entropies(D) - np.log(affinity.perplexity_)
    if hasattr(affinity, "entropy_dual_"):
        tol = max(getattr(affinity, "tol", 0.0), REPORTED) + rounding
        exempt = np.zeros(len(D), dtype=bool)
        exempt[report.floor_rows] = exempt[report.unreachable_rows] = True
        assert (above[report.floor_rows] > -tol).all() or not report.converged, "floor_rows below the target"
        assert (above[report.unreachable_rows] < tol).all() or not report.converged, "unreachable_rows above it"
        gap = float(np.abs(above[~exempt]).max(initial=0.0))
        assert not report.converged or gap <= tol, f"entropies off by {gap}, reported {report}"
    else:
        gap = abs(float(above.mean()))
        listed = report.floor_rows.size or report.unreachable_rows.size
        assert not report.converged or listed or gap <= 1e-6 + rounding
    if report.converged and isinstance(affinity, EntropicAffinity | GaussianAffinity):
        missed = np.concatenate([report.floor_rows, report.unreachable_rows])
        assert uniform_rows(D)[missed].all(), "another bandwidth brings a row closer to its target"
    if report.converged:
        assert abs(gap - report.entropy_gap) <= rounding + REPORTED + 1e-6 * gap


@holds_for(affinity_cases(250, tied_points))
def an_affinity_has_the_same_bits_for_any_n_jobs(case):
    X = case.data()
    with threads_for_any_work():
        one, *others = (case.build(n_jobs=n_jobs) for n_jobs in JOBS)
        fit(one, X)
        for other in others:
            fit(other, X)
            assert same_bits(other.affinity_, one.affinity_), f"other bits with n_jobs={other.n_jobs}"


WITH_UNITS = ["sqeuclidean", "euclidean", "manhattan", "chebyshev", "minkowski", "precomputed matrix"]


@holds_for(
    st.tuples(
        affinity_cases(60, lambda most: points(most, ("dense",)), st.sampled_from(WITH_UNITS)),
        st.sampled_from([-460, -300, -100, -20, 20, 100, 300, 460]),
    )
)
def the_unit_of_the_points_does_not_matter(case_and_power):
    case, power = case_and_power
    case = replace(case, points=replace(case.points, dtype="float64", scale=1.0))
    usual = {"bandwidth": None, "tol": 1e-8}  # a bandwidth has units, and a loose tolerance allows other solutions
    case = case.with_parameters(**{name: usual[name] for name in set(usual) & set(case.parameters)})
    one, other = case.build(), case.scaled(2.0**power).build()
    with _recorded_floors() as floors:
        fit(one, case.data())
    try:
        with _recorded_floors() as other_floors:
            fit(other, case.scaled(2.0**power).data())
    except Refused as refused:
        raise AssertionError(f"accepted in one unit only: {refused}") from refused
    both = all(affinity.report_.converged or _almost_converged(affinity) for affinity in (one, other))
    # Rounding decides whether a problem that is nearly impossible to solve without self-loops is solved, and whether
    # the last steps of a method that uses gradients alone still ascend.
    by_chance = not one.self_loops or case.parameters.get("solver", "newton") != "newton"
    assert both or by_chance or one.report_.converged == other.report_.converged
    if both:
        # If hardly more than one matrix satisfies the constraints, Newton's method takes many iterations, and entropies
        # are almost at their maxima. There they are flat, and determine P only up to the root of the tolerance.
        hard = by_chance and _took_long(one) and _has_uniform_rows(dense(one.affinity_))
        atol = np.sqrt(2.0 * one.tol) if hard else 1e-6
        # A row whose entropy is the same over a range of bandwidths has a floor that rounding decides.
        if one.report_.floor_rows.size:
            atol = max(atol, min(_difference_of(floors, other_floors, one.report_.floor_rows), FLOOR_ROUNDING))
        np.testing.assert_allclose(dense(other.affinity_), dense(one.affinity_), rtol=0.0, atol=atol)


@contextmanager
def _recorded_floors():
    """Yield a list, to which every solve adds the smallest bandwidths that it allows."""
    floors = []

    def recorded(solver, *arguments):
        dual, *rest = original(solver, *arguments)
        floors.append(dual.lower)
        return dual, *rest

    original = SymmetricSolver._start
    with patch.object(SymmetricSolver, "_start", recorded):
        yield floors


def _difference_of(floors, other_floors, rows):
    """Return the largest relative difference of the floors of some rows in two fits, each in units of its own."""
    differences = [0.0]
    for a, b in zip(floors, other_floors, strict=False):  # one of the fits may have tried again
        ratio = a / b
        differences.append(np.abs(ratio[rows] / np.median(ratio) - 1.0).max())
    return max(differences)


def _almost_converged(affinity):
    """Return whether rounding may have decided that a gap is larger than the tolerance."""
    gaps = (affinity.report_.marginal_gap, affinity.report_.entropy_gap)
    return max(gaps) <= 2.0 * getattr(affinity, "tol", 0.0)


def _took_long(affinity):
    """Return whether Newton's method took many iterations for rows with bandwidths of their own, at one scale."""
    reports = getattr(affinity, "reports_", [affinity.report_] if hasattr(affinity, "entropy_dual_") else [])
    return any(report.n_iter > MANY_ITERATIONS for report in reports)


def _has_uniform_rows(D):
    """Return whether a row with several entries is almost uniform."""
    n_entries = np.count_nonzero(D, axis=1)
    return bool((entropies(D) > np.log(np.maximum(n_entries, 1)) - NEARLY)[n_entries > 1].any())
