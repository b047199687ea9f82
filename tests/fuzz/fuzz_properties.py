"""Properties that hold for every case; each recomputes what the library reports, without using it."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import snekhorn

from ..helpers import dense, entropies
from .fuzz_cases import METRICS, affinity_cases, layout_cases, tied_points
from .hard_points import FORMS, points
from .recomputed import (
    Refused,
    attempt,
    divergence,
    fit,
    is_symmetric,
    log_latent_affinity,
    matched_affinity,
    same_bits,
    threads_for_any_work,
    warned_of_failure,
)

JOBS = (1, 2, 3)
REPORTED = 2e-8  # entropies this close to the target count as reached

PROPERTIES = {}  # by name: the strategy for cases, and the check


def holds_for(cases):
    """Register a property, which takes a case and raises if it fails."""

    def register(check):
        PROPERTIES[check.__name__] = (cases, check)
        return check

    return register


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
    if not getattr(affinity, "symmetrize", False):
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
    if "bandwidth" in case.parameters:
        case = case.with_parameters(bandwidth=None)
    one, other = case.build(), case.scaled(2.0**power).build()
    fit(one, case.data())
    try:
        fit(other, case.scaled(2.0**power).data())
    except Refused as refused:
        raise AssertionError(f"accepted in one unit only: {refused}") from refused
    assert one.report_.converged == other.report_.converged
    if one.report_.converged:
        np.testing.assert_allclose(dense(other.affinity_), dense(one.affinity_), rtol=0.0, atol=1e-6)


@holds_for(layout_cases())
def a_layout_is_what_it_reports(case):
    estimator = case.build()
    X = case.data()
    said = fit(estimator, X, _settings(case, estimator))
    Z, report = estimator.embedding_, estimator.report_
    assert Z.shape == (case.points.n, estimator.n_components)
    assert np.isfinite(Z).all()
    assert 1 <= estimator.n_iter_ == report.n_iter <= estimator.max_iter
    assert np.isfinite(report.losses).all()
    assert report.converged or warned_of_failure(said)
    _check_loss(estimator)
    _check_latent_row_sums(estimator)


def _settings(case, estimator):
    """Return the settings that apply: those of an affinity object take precedence."""
    own = case.affinity.build().get_params() if hasattr(case.affinity, "build") else {}
    settings = {**estimator.get_params(deep=False), **own}
    if case.affinity == "precomputed":
        del settings["self_loops"]  # P is given
    if settings["n_neighbors"] == "auto":
        settings["n_neighbors"] = None  # all pairs of so few points
    if estimator.learning_rate != "auto":
        settings["learning_rate"] = estimator.learning_rate
    return settings


def _error_of_coordinates(estimator):
    """Return how far the logarithm of a kernel may be off because the stored layout is rounded."""
    Z = np.abs(estimator.embedding_.astype(float)).max()
    rounding = float(np.finfo(estimator.embedding_.dtype).eps)
    return 8.0 * rounding * Z * max(Z, 1.0)


def _check_loss(estimator):
    P, log_q = matched_affinity(estimator), log_latent_affinity(estimator, estimator.embedding_.astype(float))
    want, found = divergence(P, log_q), estimator.kl_divergence_
    close = 1e-5 if estimator.report_.method == "exact" else 1e-2
    largest = -np.where(P > 0.0, log_q, 0.0).min()
    allowed = close * (1.0 + abs(want)) + 1e-5 * largest + _error_of_coordinates(estimator)
    assert abs(found - want) <= allowed, f"kl_divergence_ is {found}, but the divergence is {want}"


def _check_latent_row_sums(estimator):
    report = estimator.report_
    if not estimator.latent.doubly_stochastic:
        assert report.marginal_gap is None
        return
    log_q = log_latent_affinity(estimator, estimator.embedding_.astype(float))
    gap = float(np.abs(np.exp(log_q).sum(axis=1) - 1.0).max())
    close = 1e-6 if report.method == "exact" else 1e-2
    allowed = close * (1.0 + gap) + _error_of_coordinates(estimator)
    assert abs(gap - report.marginal_gap) <= allowed, f"row sums of Q off by {gap}, reported {report.marginal_gap}"


@holds_for(layout_cases(150, tied_points))
def a_layout_has_the_same_bits_for_any_n_jobs(case):
    case = case.with_parameters(max_iter=min(case.parameters["max_iter"], 30))
    X = case.data()
    new = case.points.build() if case.places_new_points else None
    with threads_for_any_work():
        one, *others = (case.build(n_jobs=n_jobs) for n_jobs in JOBS)
        fit(one, X)
        for other in others:
            fit(other, X)
            assert same_bits(other.embedding_, one.embedding_), f"another layout with n_jobs={other.n_jobs}"
            assert same_bits(other.affinity_, one.affinity_), f"another P with n_jobs={other.n_jobs}"
            assert other.kl_divergence_ == one.kl_divergence_
            if new is not None:
                assert same_bits(_transform(other, new), _transform(one, new)), f"transform, n_jobs={other.n_jobs}"


def _transform(estimator, new):
    placed = []
    attempt(lambda: placed.append(estimator.transform(new)))
    return placed[0]


def _fitted(case):
    """Fit few iterations; return the estimator, its data, and new points, some of them known."""
    case = case.with_parameters(max_iter=min(case.parameters["max_iter"], 10))
    estimator, X = case.build(), case.data()
    fit(estimator, X)
    if case.affinity == "precomputed" or case.cost_metric in ("precomputed graph", "precomputed lists"):
        raise Refused("no new points")
    if case.cost_metric == "precomputed matrix":
        return estimator, X, X[: len(X) // 2 + 1]
    others = replace(case.points, seed=case.points.seed + 1).build()
    if others.shape[1:] != X.shape[1:]:
        return estimator, X, X
    half = X.shape[0] // 2 + 1
    stack = np.vstack([dense(X)[:half], dense(others)[:half]]).astype(X.dtype)
    return estimator, X, FORMS[case.points.form](stack)


@holds_for(layout_cases(60))
def a_new_point_does_not_depend_on_its_batch(case):
    estimator, _, new = _fitted(case)
    together = _transform(estimator, new)
    assert np.isfinite(together).all()
    some = np.random.default_rng(0).permutation(new.shape[0])
    assert same_bits(_transform(estimator, new[some]), together[some]), "the order of the batch matters"
    for i in some[:5]:
        assert same_bits(_transform(estimator, new[i : i + 1]), together[i : i + 1]), f"point {i} alone"


@holds_for(layout_cases(60, metrics=st.sampled_from(["sqeuclidean", *METRICS])))
def training_points_are_placed_where_they_are(case):
    estimator, X, _ = _fitted(case)
    first = _first_equal(dense(X))
    placed = _transform(estimator, X)
    assert np.isfinite(placed).all()
    if estimator.cost_metric in ("sqeuclidean", "euclidean", "manhattan"):
        np.testing.assert_array_equal(placed, estimator.embedding_[first])


def _first_equal(X):
    """Return, for each row, the first row that is equal to it."""
    return np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in X])


@holds_for(layout_cases(60))
def a_saved_model_is_the_same_model(case):
    estimator, _, new = _fitted(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        estimator.save(path)
        loaded = snekhorn.load(path)
    for name in ("embedding_", "affinity_", "potential_"):
        if hasattr(estimator, name):
            assert same_bits(getattr(loaded, name), getattr(estimator, name)), name
    assert str(loaded.report_) == str(estimator.report_)
    assert same_bits(_transform(loaded, new), _transform(estimator, new)), "transform"


@holds_for(st.tuples(layout_cases(40), layout_cases(40)))
def an_earlier_fit_leaves_no_trace(cases):
    earlier, case = cases
    case = case.with_parameters(max_iter=min(case.parameters["max_iter"], 10))
    fresh, used, X = case.build(), case.build(), case.data()
    fit(fresh, X)
    for data in (earlier.data(), X):
        try:
            fit(used, data)
        except Refused:
            assert data is not X
    assert same_bits(used.embedding_, fresh.embedding_)
    assert same_bits(used.affinity_, fresh.affinity_)
    assert sorted(vars(used)) == sorted(vars(fresh))


NONSENSE = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2, 0.0, -1.5, 1e308, 5e-324, np.nan, np.inf, "auto", "exact", "", "x", b"x"]),
    st.sampled_from([[], [1.0], {}, (), np.array(3.0), np.array([1, 2]), np.float32(2.5), np.int8(3), 1 + 2j]),
)


@holds_for(st.tuples(st.one_of(layout_cases(12), affinity_cases(12)), st.integers(0, 99), NONSENSE))
def nonsense_is_refused_or_works(case_and_nonsense):
    case, which, value = case_and_nonsense
    model = case.build()
    names = sorted(set(model.get_params(deep=False)) - {"verbose", "n_jobs", "callbacks"})
    name = names[which % len(names)]
    model.set_params(**{name: value})
    if name != "max_iter":
        model.set_params(**({"max_iter": 10} if "max_iter" in names else {}))
    fit(model, case.data())
