"""Points that are read by blocks: the same rows, whatever the blocks, and errors that name the place."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from snekhorn.errors import InputError
from snekhorn.geometry import point_blocks
from snekhorn.geometry.point_blocks import PointBlocks, as_blocks
from snekhorn.geometry.preprocessing import FEW_COLUMNS, Preprocessing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 60)) @ RNG.normal(size=(60, 60)) + RNG.normal(size=60) * 100.0
SIZES = {"one": [500], "equal": [100] * 5, "unequal": [1, 0, 250, 0, 249], "rows": [1] * 500}


def divided(points, sizes, **known):
    """Blocks of these sizes, and a list of the blocks that were read."""
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    read = []

    def load(i):
        read.append(i)
        return points[bounds[i] : bounds[i + 1]]

    return PointBlocks(sizes, points.shape[1], points.dtype, load, **known), read


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_any_rows_can_be_read(sizes):
    blocks, _ = divided(X, sizes)
    assert blocks.shape == X.shape
    for start, stop in [(0, 500), (0, 1), (3, 260), (251, 252), (499, 500), (7, 7)]:
        found = blocks.read(start, stop)
        np.testing.assert_array_equal(found, X[start:stop])
        assert found.flags.c_contiguous
    np.testing.assert_array_equal(blocks.select([5, 2]).select([1]).to_array(), X[:, [2]])
    np.testing.assert_array_equal(blocks.column(3), X[:, 3])


def test_a_pass_reads_every_block_once(monkeypatch):
    monkeypatch.setattr(point_blocks, "PASS_ROWS_AT_ONCE", 64)
    blocks, read = divided(X, [100] * 5)
    np.testing.assert_array_equal(np.asarray(blocks), X)
    assert read == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.float64)],
)
def test_types(stored, expected):
    points = RNG.integers(0, 200, size=(20, 3)).astype(stored)
    found = divided(points, [15, 5])[0].to_array()
    assert found.dtype == expected
    np.testing.assert_array_equal(found, points)


def test_sparse_blocks():
    points = sparse.random(40, 9, 0.2, format="csr", random_state=0)
    np.testing.assert_array_equal(divided(points, [30, 10])[0].to_array(), points.toarray())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_by_its_place(value):
    points = X.copy()
    points[444, 7] = value
    with pytest.raises(InputError, match=rf"X contains {value} at row 444, column 7"):
        divided(points, [400, 100])[0].to_array()
    places = [("a.npy", 0), ("b.npy", 20)]
    blocks, _ = divided(points, [400, 100], places=places, names=[f"gene{i}" for i in range(60)])
    with pytest.raises(InputError, match=rf"b\.npy: the value in row 65, column 'gene7' is {value}"):
        blocks.select([3, 7]).to_array()


def test_a_block_that_has_changed():
    blocks = PointBlocks([5, 5], 3, float, lambda i: np.zeros((5 - i, 3)), places=[("a.npy", 0), ("b.npy", 0)])
    with pytest.raises(InputError, match=r"b\.npy has changed"):
        blocks.to_array()


def test_ordinary_arrays_are_not_read_by_blocks(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for given in (X, X.tolist(), sparse.csr_matrix(X), mapped):
        assert as_blocks(given) is None
    monkeypatch.setattr(point_blocks, "LARGE", X.size - 1)
    assert as_blocks(X) is None
    np.testing.assert_array_equal(as_blocks(mapped).to_array(), X)
    assert as_blocks(mapped[:, :50]) is None  # can be used without being copied


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_components_of_blocks(sizes, standardize, monkeypatch):
    """They are those of scikit-learn, in single precision, and do not depend on the blocks."""
    monkeypatch.setattr(point_blocks, "PASS_ROWS_AT_ONCE", 64)
    points = X.copy()
    points[:, 9] = 0.1  # its mean rounds to another number
    scaled = (points - points.mean(axis=0)) / np.where(np.ptp(points, axis=0) > 0.0, points.std(axis=0), 1.0)
    pca = PCA(5, svd_solver="full").fit(scaled if standardize else points)
    expected = pca.transform(scaled if standardize else points)
    blocks, read = divided(points, sizes)
    preprocessing = Preprocessing(standardize=standardize, n_components=5).fit(blocks)
    assert len(read) == np.count_nonzero(sizes)  # in one pass
    assert preprocessing.variance_kept_ == pytest.approx(pca.explained_variance_ratio_.sum())
    found = preprocessing.transform(blocks)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(found, preprocessing.transform(points))
    np.testing.assert_array_equal(found[:7], preprocessing.transform(points[:7]))
    whole = Preprocessing(standardize=standardize, n_components=5).fit(divided(points, [500])[0])
    np.testing.assert_array_equal(preprocessing.components_, whole.components_)
    if standardize:
        assert preprocessing.scale_[9] == 0.0


def test_standardized_blocks():
    points = (X * np.logspace(-3, 3, 60)).astype(np.float32)
    preprocessing = Preprocessing(standardize=True).fit(divided(points, [400, 100])[0])
    found = preprocessing.transform(divided(points, [100, 400])[0])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.std(axis=0), 1.0, rtol=1e-4)
    np.testing.assert_allclose(found.mean(axis=0, dtype=float), 0.0, atol=1e-4)
    np.testing.assert_array_equal(found, preprocessing.transform(points))


@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_units_that_single_precision_cannot_hold(scale):
    found = Preprocessing(n_components=2).fit_transform(divided(scale * X, [250, 250])[0])
    expected = PCA(2, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(found / scale), np.abs(expected), atol=1e-5 * np.abs(expected).max())


def test_large_entries_are_refused():
    with pytest.raises(InputError, match="squares overflow"):
        Preprocessing(n_components=2).fit(divided(1e200 * X, [250, 250])[0])


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_components_of_many_columns(as_sparse, standardize):
    p = FEW_COLUMNS + 100
    low = RNG.normal(size=(200, 4)) * [9.0, 6.0, 4.0, 2.0]
    points = low @ RNG.normal(size=(4, p)) + 0.1 * RNG.normal(size=(200, p)) + 3.0
    scaled = (points - points.mean(axis=0)) / (points.std(axis=0) if standardize else 1.0)
    variances, vectors = np.linalg.eigh(scaled @ scaled.T)
    expected = (vectors * np.sqrt(np.maximum(variances, 0.0)))[:, :-5:-1]
    given = sparse.csr_matrix(points) if as_sparse else points
    blocks, _ = divided(given, [150, 50])
    preprocessing = Preprocessing(standardize=standardize, n_components=4).fit(blocks)
    found = preprocessing.transform(blocks)
    assert preprocessing.variance_kept_ == pytest.approx(variances[-4:].sum() / variances.sum(), rel=1e-4)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("sizes", [[], [1], [0, 0]])
def test_too_few_points(sizes):
    with pytest.raises(InputError, match="pass at least 2 points"):
        Preprocessing(standardize=True).fit(divided(X, sizes)[0])


def test_zarr_arrays():
    zarr = pytest.importorskip("zarr")
    array = zarr.array(X, chunks=(70, 20))
    np.testing.assert_array_equal(as_blocks(array).to_array(), X)


@pytest.mark.parametrize("chunks", [None, (70, 20)])
def test_hdf5_data_sets(chunks, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        array = file.create_dataset("X", data=X, chunks=chunks)
        np.testing.assert_array_equal(as_blocks(array).to_array(), X)


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    np.testing.assert_array_equal(as_blocks(da.from_array(X, chunks=(130, 17))).to_array(), X)
    unknown = da.from_array(X, chunks=(130, 60))
    with pytest.raises(InputError, match=r"chunks of unknown size; call X\.compute_chunk_sizes\(\)"):
        as_blocks(unknown[unknown[:, 0] > 0.0])
    for wrong in (unknown[0], unknown.astype(str)):
        with pytest.raises(InputError, match="two-dimensional dask array of numbers"):
            as_blocks(wrong)


def test_a_block_at_a_time_is_in_memory():
    """Blocks that are made when they are read: all points would take 160 MB."""
    sizes, p = [2000] * 50, 200
    axes = np.random.default_rng(0).normal(size=(3, p)).astype(np.float32)

    def load(i):
        return np.random.default_rng(i).normal(size=(sizes[i], 3)).astype(np.float32) @ axes

    blocks = PointBlocks(sizes, p, np.float32, load)
    Preprocessing(n_components=3).fit_transform(blocks)  # compiled and imported
    tracemalloc.start()
    found = Preprocessing(n_components=3).fit_transform(blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (100_000, 3)
    assert peak < 40e6
