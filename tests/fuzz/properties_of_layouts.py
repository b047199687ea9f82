"""Properties of layouts and of new points, recomputed from the results without using the library."""

import copy
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import snekhorn

from ..helpers import dense
from .fuzz_cases import METRICS, layout_cases, tied_points
from .hard_points import FORMS
from .property_table import holds_for
from .recomputed import (
    JOBS,
    Refused,
    attempt,
    divergence,
    fit,
    log_latent_affinity,
    matched_affinity,
    same_bits,
    threads_for_any_work,
    warned_of_failure,
)


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
    settings = estimator.get_params(deep=False)
    if settings["n_neighbors"] == "auto":
        settings["n_neighbors"] = None  # all pairs of so few points
    if case.affinity == "precomputed":
        del settings["self_loops"]  # P is given
    elif case.affinity is not None:
        settings |= {**case.affinity.build().get_params(), "learning_rate": estimator.learning_rate}
    return settings


def _error_of_coordinates(estimator):
    """Return how far the logarithm of a kernel may be off because the stored layout is rounded."""
    Z = np.abs(estimator.embedding_.astype(float)).max()
    rounding = float(np.finfo(estimator.embedding_.dtype).eps)
    return 8.0 * rounding * Z * max(Z, 1.0)


def _check_loss(estimator):
    P, log_q = matched_affinity(estimator), log_latent_affinity(estimator, estimator.embedding_.astype(float))
    want, found = divergence(P, log_q), estimator.kl_divergence_
    if np.isinf(want):  # P has a diagonal, and Q has none
        return
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
    case = case.shortened(30)
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
    case = case.shortened(10)
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


@holds_for(st.tuples(layout_cases(60), st.sampled_from([0.0, 0.01, 1.0, 1e4])))
def an_extended_layout_is_finite_and_the_same_for_any_n_jobs(case_and_pull):
    case, pull = case_and_pull
    estimator, X, new = _fitted(case)
    models = [copy.deepcopy(estimator).set_params(n_jobs=n_jobs) for n_jobs in JOBS]
    with threads_for_any_work():
        for model in models:
            attempt(lambda model=model: model.extend(new, pull=pull, max_iter=10))
            assert model.embedding_.shape == (X.shape[0] + new.shape[0], estimator.embedding_.shape[1])
            assert np.isfinite(model.embedding_).all()
            assert same_bits(model.embedding_, models[0].embedding_)
            assert same_bits(model.affinity_, models[0].affinity_)
    _check_loss(models[0])


@holds_for(st.tuples(layout_cases(40), layout_cases(40)))
def an_earlier_fit_leaves_no_trace(cases):
    earlier, case = cases
    case = case.shortened(10)
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


@holds_for(
    st.tuples(
        layout_cases(40),
        st.lists(st.floats(1.01, 60.0), min_size=1, max_size=3),
        st.lists(st.floats(0.1, 20.0), min_size=1, max_size=2),
    )
)
def a_sweep_is_finite_and_the_same_for_any_n_jobs(case_and_values):
    case, perplexities, exaggerations = case_and_values
    case = replace(case.shortened(20), affinity=None)
    X, found = case.data(), []
    with threads_for_any_work():
        for n_jobs in JOBS:
            swept = snekhorn.sweep(case.build(n_jobs=n_jobs), X, perplexities, exaggerations=exaggerations)
            attempt(lambda swept=swept: found.append(list(swept)))
    for models in found:
        assert len(models) == len(set(perplexities)) * len(set(exaggerations))
        for model, first in zip(models, found[0], strict=True):
            assert np.isfinite(model.embedding_).all()
            assert same_bits(model.embedding_, first.embedding_)
            assert same_bits(model.affinity_, first.affinity_)
