"""A fit is aligned to an earlier layout, and pulled towards its shape."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snekhorn import SNEkhorn, TSNEkhorn
from snekhorn.errors import InputError
from snekhorn.estimators import checkpoints

from ..helpers import changed, clusters, squared_distances
from .cases import each_estimator, quick, stops_early

pytestmark = stops_early

X = clusters(90)
ROWS = np.random.default_rng(1).permutation(90)[:60]
EARLIER = np.random.default_rng(2).normal(size=(90, 2))


def _turned(Z):
    """Return a layout, rotated, mirrored and shifted."""
    angle = 2.0
    turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    return Z @ turn + np.array([30.0, -5.0])


@each_estimator
def test_a_layout_is_turned_to_the_earlier_one(kind):
    plain = quick(kind).fit(X)
    aligned = quick(kind).fit(X, align=_turned(plain.embedding_))
    np.testing.assert_allclose(aligned.embedding_, _turned(plain.embedding_), atol=1e-8)
    assert aligned.kl_divergence_ == pytest.approx(plain.kl_divergence_, rel=1e-6)


def test_distances_do_not_change_without_a_pull():
    plain = quick(TSNEkhorn).fit_transform(X)
    aligned = quick(TSNEkhorn).fit_transform(X, align=1000.0 * EARLIER)
    np.testing.assert_allclose(squared_distances(aligned), squared_distances(plain), rtol=1e-8, atol=1e-8)


def test_rows_are_matched_by_number():
    plain = quick(TSNEkhorn).fit(X)
    earlier = np.concatenate([_turned(plain.embedding_)[ROWS], [[1e6, 1e6], [np.nan, 0.0]]])
    aligned = quick(TSNEkhorn).fit(X, align=earlier, align_rows=[*ROWS, -1, -1])
    np.testing.assert_allclose(aligned.embedding_, _turned(plain.embedding_), atol=1e-8)


@pytest.mark.parametrize("kind", [TSNEkhorn, SNEkhorn])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_pull_keeps_the_shape_at_any_scale(kind, scale):
    earlier = quick(kind, init="random", random_state=4, max_iter=300).fit_transform(X[ROWS])
    disparities = []
    for pull in (0.0, 0.1):
        model = quick(kind, max_iter=300).fit(X, align=scale * earlier, align_rows=ROWS, pull=pull)
        disparities.append(procrustes(model.embedding_[ROWS], earlier)[2])
    assert disparities[1] < 0.02 < disparities[0]


@pytest.mark.parametrize("kind", [TSNEkhorn, SNEkhorn])
@pytest.mark.parametrize("how", [{}, {"n_components": 3}, {"optimizer": "adam"}, {"method": "fft"}], ids=str)
def test_a_pull_to_its_own_shape_does_not_keep_a_layout_from_growing(kind, how):
    points = clusters(120)
    plain = kind(perplexity=20, **how).fit(points)
    for pull in (0.01, 1.0, 10.0) if how.get("optimizer") == "adam" else (0.01, 1.0, 10.0, 100.0, 1e4):
        model = kind(perplexity=20, **how).fit(points, align=plain.embedding_, pull=pull)
        assert model.report_.converged
        assert model.kl_divergence_ < 1.02 * plain.kl_divergence_


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e14])
def test_the_unit_of_the_earlier_layout_does_not_matter(scale):
    centred = EARLIER - EARLIER.mean(axis=0)
    layouts = [quick(TSNEkhorn).fit_transform(X, align=factor * centred, pull=0.1) for factor in (1.0, scale)]
    disparity = procrustes(*layouts)[2]
    assert disparity < 1e-6


def test_single_precision_must_resolve_a_layout_at_its_place():
    points = X.astype(np.float32)
    plain = quick(TSNEkhorn).fit_transform(points)
    aligned = quick(TSNEkhorn).fit_transform(points, align=plain + np.float32(4000.0))
    np.testing.assert_allclose(aligned - np.float32(4000.0), plain, atol=1e-2)
    with pytest.raises(InputError, match=r"the centre of align is at 1e\+08, where float32 numbers are too far apart"):
        quick(TSNEkhorn).fit(points, align=plain.astype(float) + 1e8)


def test_new_points_can_be_placed_in_an_aligned_layout():
    model = quick(TSNEkhorn).fit(X, align=EARLIER, pull=0.1)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_the_bits_do_not_depend_on_threads(many):
    rows = np.arange(0, 600, 2)
    layouts = [
        quick(TSNEkhorn, n_neighbors=20, method="fft", n_jobs=jobs).fit_transform(
            many, align=np.random.default_rng(0).normal(size=(300, 2)), align_rows=rows, pull=0.01
        )
        for jobs in (1, 3)
    ]
    np.testing.assert_array_equal(*layouts)


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), quick(TSNEkhorn))
    plain = pipeline.fit_transform(X)
    aligned = pipeline.fit_transform(X, tsnekhorn__align=_turned(plain))
    np.testing.assert_allclose(aligned, _turned(plain), atol=1e-8)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"align": EARLIER[:80]}, "align has 80 rows, but X has 90; pass align_rows"),
        ({"align": EARLIER[:, :1]}, r"align has shape \(90, 1\), but the layout has 2 dimensions"),
        ({"align": EARLIER[:, 0]}, r"align has shape \(90,\)"),
        ({"align": "earlier.csv"}, "align is not an array of numbers"),
        ({"align": changed(EARLIER, (7, 1), np.inf)}, "row 7 of align is not finite; set its entry of align_rows"),
        ({"align": np.ones((90, 2))}, "align has 90 points in common with X, all at one position"),
        ({"align": EARLIER[:3], "align_rows": [5, -1, -1]}, "align has 1 point in common with X; pass at least 2"),
        ({"align": EARLIER[:3], "align_rows": [0, 1]}, "align_rows must be an array of 3 whole numbers"),
        ({"align": EARLIER[:3], "align_rows": [0.0, 1.0, 2.0]}, "whole numbers, .* got an array of float64"),
        ({"align": EARLIER[:3], "align_rows": [0, 1, 90]}, "align_rows must be from -1 to 89, got 0 to 90"),
        ({"align": EARLIER[:3], "align_rows": [0, -2, 1]}, "align_rows must be from -1 to 89, got -2 to 1"),
        ({"align": EARLIER[:3], "align_rows": [0, 4, 4]}, "align_rows has row 4 of X more than once"),
        ({"align": EARLIER, "pull": -0.1}, "pull must be a finite number of at least 0, got -0.1"),
        ({"align": EARLIER, "pull": 1e5}, r"pull must be at most 10000, got 100000; 100 keeps the shape"),
        ({"align": EARLIER + 1e14}, "the centre of align is at 1e\\+14, where float64 numbers are too far apart"),
        ({"align": 1e200 * (EARLIER + 1.0)}, r"the centre of align is at .*e\+200, .* divide it by its width"),
        ({"align": 1e308 * EARLIER.clip(-1.0, 1.0)}, "align is inf wide, which exceeds the range of numbers"),
        ({"align": 1e-310 * EARLIER}, r"align is .*e-310 wide, which exceeds the range of numbers"),
        ({"align": EARLIER[:2], "align_rows": [-1, -1]}, "align has 0 points in common with X; pass at least 2"),
        ({"align_rows": ROWS}, "align_rows has no effect without an earlier layout"),
        ({"pull": 0.1}, "pull has no effect without an earlier layout"),
    ],
)
def test_bad_input_is_noticed_before_the_work(monkeypatch, how, message):
    def work(*args):
        raise AssertionError("the long work has started")

    monkeypatch.setattr("snekhorn.affinities.affinity.Affinity.fit_transform", work)
    with pytest.raises(InputError, match=message):
        TSNEkhorn().fit(X, **how)


def test_adam_refuses_springs_that_it_cannot_follow():
    with pytest.raises(InputError, match="pull must be at most 10 with optimizer='adam', got 11; use optimizer="):
        TSNEkhorn(optimizer="adam").fit(X, align=EARLIER, pull=11)
    plain = TSNEkhorn(perplexity=20).fit(X)
    with pytest.raises(InputError, match="pull must be at most 10 with optimizer='adam', got 100; use optimizer="):
        plain.set_params(optimizer="adam").extend(X[:10], pull=100)


def test_a_checkpoint_belongs_to_one_alignment(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)
    model = quick(TSNEkhorn, checkpoint=tmp_path, max_iter=100)
    whole = model.fit_transform(X, align=EARLIER, pull=0.01)
    assert "layout" in checkpoints.stages_in(tmp_path)
    np.testing.assert_array_equal(model.fit_transform(X, align=EARLIER, pull=0.01), whole)  # from the last state
    with pytest.raises(InputError, match="a checkpoint of another fit, with align="):
        model.fit(X, align=EARLIER, pull=0.02)
    with pytest.raises(InputError, match="a checkpoint of another fit"):
        model.fit(X)


def test_bad_input_is_noticed_before_blocks_are_read():
    da = pytest.importorskip("dask.array")

    def read(block):
        raise AssertionError("the points are read")

    blocks = da.zeros((90, 3), chunks=(30, 3)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(InputError, match="align has 80 rows, but X has 90"):
        TSNEkhorn().fit(blocks, align=EARLIER[:80])
