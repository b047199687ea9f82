"""Properties of parameters, preprocessing, scores and fits that run at the same time."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as st

from snekhorn.geometry.preprocessing import Preprocessing
from snekhorn.metrics import evaluate

from ..helpers import dense
from .fuzz_cases import affinity_cases, layout_cases
from .hard_points import layouts, points
from .property_table import holds_for
from .recomputed import JOBS, attempt, fit, same_bits, threads_for_any_work

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
    with _temporary_folder():  # a checkpoint may have any name
        fit(model, case.data())


@contextmanager
def _temporary_folder():
    """Work in a folder that is deleted in the end."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@holds_for(st.tuples(points(60), st.booleans(), st.sampled_from([None, 1, 2, 5])))
def preprocessing_is_finite_and_row_by_row(case):
    recipe, standardize, n_components = case
    X = recipe.build()
    steps = Preprocessing(standardize=standardize, n_components=n_components)
    fit(steps, X)
    together = dense(steps.transform(X))
    assert np.isfinite(together).all()
    for i in range(0, recipe.n, 7):
        assert same_bits(dense(steps.transform(X[i : i + 1])), together[i : i + 1]), f"row {i} alone"


@holds_for(st.tuples(points(80), layouts(), st.integers(1, 4), st.sampled_from([None, 1, 2, 10])))
def scores_are_in_their_range_for_any_n_jobs(case):
    recipe, layout, n_classes, n_neighbors = case
    X, Z = recipe.build(), layout.build(recipe.n, 2)
    y = np.arange(recipe.n) % n_classes
    found = []
    with threads_for_any_work():
        for n_jobs in JOBS:
            attempt(lambda n=n_jobs: found.append(evaluate(X, Z, y, n_neighbors=n_neighbors, n_jobs=n)))
    assert all(scores == found[0] for scores in found)
    for name, score in found[0].items():
        lowest = -1.0 if name in ("silhouette", "distance_correlation") else 0.0
        assert name == "n_sampled" or lowest <= score <= 1.0 + 1e-12 or np.isnan(score), (name, score)


@holds_for(st.tuples(affinity_cases(60), layout_cases(40)))
def fits_at_the_same_time_do_not_disturb_each_other(cases):
    first, second = cases
    second = second.shortened(10)
    alone = [first.build(n_jobs=2), second.build(n_jobs=3)]
    data = [first.data(), second.data()]
    for model, X in zip(alone, data, strict=True):
        fit(model, X)
    together = [first.build(n_jobs=2), second.build(n_jobs=3)]

    def both():
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda model, X: model.fit(X), together, data))

    with threads_for_any_work():
        attempt(both)
    for one, other in zip(alone, together, strict=True):
        assert same_bits(one.affinity_, other.affinity_)
    assert same_bits(alone[1].embedding_, together[1].embedding_)
