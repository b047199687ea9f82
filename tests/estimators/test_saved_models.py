"""Models are unchanged after saving and loading. `tests/hostile` has the files that must be refused."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import snekhorn
from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import DoublyStochasticAffinity, GaussianAffinity, SymmetricEntropicAffinity
from snekhorn.embedding.descent import EmbeddingReport
from snekhorn.errors import InputError
from snekhorn.estimators.model_contents import EMBEDDING_REPORT, SOLVE_REPORT
from snekhorn.estimators.saved_models import FORMAT, load_with_source
from snekhorn.geometry.preprocessing import Preprocessing
from snekhorn.io.npz_archive import MODEL_HEADER as HEADER
from snekhorn.registry import AFFINITIES
from snekhorn.solvers.solve_report import SolveReport

from ..helpers import dense, squared_distances, without_some_entries
from ..hostile.crafted_models import archive_of, members_of, npy
from ..hostile.damage import damaged
from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early


def _again(estimator, folder):
    estimator.save(folder / "fitted.snekhorn")
    return snekhorn.load(folder / "fitted.snekhorn")


def _same(found, want):
    assert type(found) is type(want)
    np.testing.assert_array_equal(found.embedding_, want.embedding_)
    assert found.embedding_.dtype == want.embedding_.dtype
    np.testing.assert_array_equal(dense(found.affinity_), dense(want.affinity_))
    assert sparse.issparse(found.affinity_) == sparse.issparse(want.affinity_)
    assert found.report_ == want.report_
    assert found.kl_divergence_ == want.kl_divergence_
    assert found.n_features_in_ == want.n_features_in_
    assert set(vars(found)) == set(vars(want))
    assert repr(found) == repr(want)


@each_estimator
@each_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator(X, kind, method, dtype, tmp_path):
    estimator = quick(kind, method=method, random_state=3).fit(X.astype(dtype))
    again = _again(estimator, tmp_path)
    _same(again, estimator)
    new = (X[:7] + 0.1).astype(dtype)
    np.testing.assert_array_equal(again.transform(new), estimator.transform(new))
    np.testing.assert_array_equal(again.transform(X.astype(dtype)), estimator.embedding_)
    assert again.transform(new).dtype == dtype
    assert str(again.affinity_report_) == str(estimator.affinity_report_)
    np.testing.assert_array_equal(again.fit_transform(X.astype(dtype)), estimator.embedding_)


@each_estimator
@pytest.mark.parametrize("n_neighbors", [None, 25])
def test_precomputed_affinity(X, kind, n_neighbors, tmp_path):
    P = SymmetricEntropicAffinity(8.0, n_neighbors=n_neighbors).fit_transform(X)
    estimator = quick(kind, affinity="precomputed").fit(P)
    again = _again(estimator, tmp_path)
    _same(again, estimator)
    with pytest.raises(ValueError, match="has no information about new points"):
        again.transform(P)


@pytest.mark.parametrize(
    ("kind", "affinity"),
    [
        (TSNE, SymmetricEntropicAffinity(8.0, n_neighbors=25)),
        (SNEkhorn, DoublyStochasticAffinity(perplexity=8.0)),
        (SNE, GaussianAffinity(0.5, metric="euclidean")),
    ],
    ids=["SEA", "doubly stochastic", "Gaussian"],
)
def test_affinity_objects(X, kind, affinity, tmp_path):
    estimator = quick(kind, affinity=affinity).fit(X)
    again = _again(estimator, tmp_path)
    _same(again, estimator)
    assert type(again.affinity) is type(affinity)
    assert again.affinity.get_params() == affinity.get_params()
    np.testing.assert_array_equal(again.transform(X + 0.1), estimator.transform(X + 0.1))


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, lambda Z: Z.astype(np.float32)])
def test_init_arrays(X, form, tmp_path):
    estimator = quick(TSNEkhorn, init=form(X[:, :2])).fit(X)
    again = _again(estimator, tmp_path)
    np.testing.assert_array_equal(again.init, estimator.init)
    np.testing.assert_array_equal(again.fit_transform(X), estimator.embedding_)


def test_names_of_features_and_output(X, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "ß", "a longer name"])
    estimator = quick(TSNEkhorn).set_output(transform="pandas").fit(frame)
    again = _again(estimator, tmp_path)
    assert list(again.feature_names_in_) == list(frame.columns)
    assert again.feature_names_in_.dtype == object
    pd.testing.assert_frame_equal(again.transform(frame + 0.1), estimator.transform(frame + 0.1))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame[["ß", "a", "a longer name"]])


def test_sparse_points_and_costs(X, tmp_path):
    thin = sparse.csr_matrix(without_some_entries(X))
    estimator = quick(TSNEkhorn).fit(thin)
    np.testing.assert_array_equal(_again(estimator, tmp_path).transform(1.1 * thin), estimator.transform(1.1 * thin))
    C = squared_distances(X)
    estimator = quick(TSNEkhorn, metric="precomputed").fit(C)
    np.testing.assert_array_equal(_again(estimator, tmp_path).transform(C + 0.1), estimator.transform(C + 0.1))


def test_callbacks_and_generators_are_left_out(X, tmp_path):
    estimator = quick(TSNEkhorn, callbacks=lambda *_: None, random_state=np.random.RandomState(0)).fit(X)
    again = _again(estimator, tmp_path)
    assert again.callbacks is None
    assert again.random_state is None
    assert estimator.callbacks is not None
    np.testing.assert_array_equal(again.embedding_, estimator.embedding_)


@pytest.mark.parametrize("name", AFFINITIES)
def test_every_affinity_of_the_registry(X, name, tmp_path):
    affinity = AFFINITIES[name].load()(**AFFINITIES[name].parameters)
    estimator = quick(TSNE, affinity=affinity, max_iter=5).fit(X)
    again = _again(estimator, tmp_path)
    assert type(again.affinity) is type(affinity)
    assert again.affinity.get_params() == affinity.get_params()
    np.testing.assert_array_equal(again.transform(X + 0.1), estimator.transform(X + 0.1))


class OwnAffinity(SymmetricEntropicAffinity):
    """User-defined affinity."""


class EntropicAffinity(SymmetricEntropicAffinity):
    """User-defined affinity with the name of an existing one."""


class OwnPipeline(Pipeline):
    """A pipeline of the user's own."""


class OwnMethod(TSNEkhorn):
    """User-defined estimator."""


CANNOT_BE_SAVED = {
    "an affinity": (
        lambda X: quick(TSNEkhorn, affinity=OwnAffinity(8.0)).fit(X),
        r"cannot save affinity=OwnAffinity.* a file can hold, SymmetricEntropicAffinity, .* affinity='precomputed'",
    ),
    "an affinity with a known name": (
        lambda X: quick(TSNEkhorn, affinity=EntropicAffinity(8.0)).fit(X),
        r"cannot save affinity=EntropicAffinity",
    ),
    "an estimator": (lambda X: quick(OwnMethod).fit(X), "cannot save OwnMethod; a file holds one of TSNEkhorn"),
    "a step": (
        lambda X: Pipeline([("scale", StandardScaler()), ("layout", quick(TSNEkhorn))]).fit(X),
        "cannot save StandardScaler; a file holds",
    ),
    "a parameter": (lambda X: quick(TSNEkhorn, init=pd.DataFrame(X[:, :2])).fit(X), "cannot save init="),
    "no model": (lambda X: X, "cannot save ndarray"),
    "preprocessing alone": (lambda X: Preprocessing().fit(X), "cannot save Preprocessing; a file holds"),
    "a pipeline without steps": (lambda X: Pipeline([]), "cannot save Pipeline; a file holds"),
    "a pipeline without an estimator": (
        lambda X: Pipeline([("preprocessing", Preprocessing())]).fit(X),
        "cannot save Preprocessing; .* and, as its last step, one of these",
    ),
    "an estimator as an earlier step": (
        lambda X: Pipeline([("first", quick(TSNE)), ("second", quick(TSNEkhorn))]).fit(X),
        "cannot save TSNE; a file holds",
    ),
    "a step that is skipped": (
        lambda X: Pipeline([("none", "passthrough"), ("layout", quick(TSNEkhorn))]).fit(X),
        "cannot save 'passthrough'; a file holds",
    ),
    "a pipeline in a pipeline": (
        lambda X: Pipeline([("whole", Pipeline([("layout", quick(TSNEkhorn))]))]).fit(X),
        "cannot save Pipeline; a file holds",
    ),
    "a pipeline of the user's own": (
        lambda X: OwnPipeline([("layout", quick(TSNEkhorn))]).fit(X),
        "cannot save OwnPipeline; a file holds",
    ),
}


@pytest.mark.parametrize("case", CANNOT_BE_SAVED)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(X, case, tmp_path):
    make, message = CANNOT_BE_SAVED[case]
    with pytest.raises(InputError, match=message) as raised:
        snekhorn.save(make(X), tmp_path / "fitted")
    assert isinstance(raised.value, TypeError)
    assert not (tmp_path / "fitted").exists()


def test_the_remedy_for_an_affinity_that_cannot_be_saved(X, tmp_path):
    own = quick(TSNEkhorn, affinity=OwnAffinity(8.0)).fit(X)
    estimator = quick(TSNEkhorn, affinity="precomputed", init=own.embedding_).fit(own.affinity_)
    _same(_again(estimator, tmp_path), estimator)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"n_components": 2}, {"missing": "median"}])
def test_pipelines(X, frame, parameters, tmp_path):
    names = ["a", "ß", "a longer name"]
    points = frame(dict(zip(names, X.T, strict=True)))
    steps = [("preprocessing", Preprocessing(**parameters)), ("layout", quick(TSNEkhorn))]
    pipeline = Pipeline(steps).fit(points)
    snekhorn.save(pipeline, tmp_path / "m.npz", source={"rep": "X"})
    again, source = load_with_source(tmp_path / "m.npz")
    assert source == {"rep": "X"}
    assert [name for name, _ in again.steps] == ["preprocessing", "layout"]
    assert list(again.feature_names_in_) == names
    assert set(vars(again[0])) == set(vars(pipeline[0]))
    _same(again[1], pipeline[1])
    np.testing.assert_array_equal(again.transform(X), pipeline[1].embedding_)
    np.testing.assert_array_equal(again.transform(points[names[::-1]]), pipeline[1].embedding_)
    np.testing.assert_array_equal(again.transform(X + 0.1), pipeline.transform(X + 0.1))
    with pytest.raises(InputError, match="no column 'a longer name', which the model needs"):
        again.transform(points[names[:2]])
    np.testing.assert_array_equal(again.fit(X)[1].embedding_, pipeline[1].embedding_)


def test_save_and_the_method_write_the_same(X, tmp_path):
    estimator = quick(TSNEkhorn).fit(X)
    estimator.save(tmp_path / "a")
    snekhorn.save(estimator, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_model_that_is_not_fitted(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        snekhorn.save(TSNEkhorn(), tmp_path / "fitted")
    assert not (tmp_path / "fitted").exists()


@each_estimator
def test_holds_no_pickle(X, kind, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    quick(kind, n_neighbors=25, affinity=None).fit(frame).save(tmp_path / "fitted.npz")
    with np.load(tmp_path / "fitted.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files if name != HEADER)
        header = json.loads(archive[HEADER])
    assert header["format"] == FORMAT
    assert header["class"] == kind.__name__


@pytest.fixture
def written(X, tmp_path):
    path = tmp_path / "fitted"
    quick(TSNEkhorn).fit(X).save(path)
    return path


def test_a_file_that_is_no_archive_is_called_that(written):
    written.write_text("x,y\n1,2\n")
    with pytest.raises(InputError, match=f"{written} was not written by snekhorn, or is corrupt .*not an NPZ archive"):
        snekhorn.load(written)


def test_a_file_of_arrays_is_called_that(written):
    with open(written, "wb") as file:
        np.savez(file, X=np.eye(3), y=np.arange(3))
    with pytest.raises(InputError, match=f"{written} holds the arrays 'X', 'y', not a model; pass a file that"):
        snekhorn.load(written)


@pytest.mark.parametrize(
    ("version", "remedy"), [(FORMAT + 1, "upgrade snekhorn"), (0, "fit the model again and save it"), (-1, "fit the")]
)
def test_other_formats_are_refused(written, version, remedy):
    members = members_of(written)
    header = {**json.loads(members[HEADER]), "format": version}
    written.write_bytes(archive_of({**members, HEADER: json.dumps(header).encode()}))
    with pytest.raises(InputError, match=f"has format {version}, but .* reads only format {FORMAT}; {remedy}"):
        snekhorn.load(written)


def test_the_first_format_is_refused(written):
    with written.open("wb") as file:
        np.savez(file, header=np.array(json.dumps({"format": 1, "class": "TSNE", "state": {}})), embedding_=np.ones(3))
    with pytest.raises(InputError, match="has format 1, but this version reads only format 3; fit the model again"):
        snekhorn.load(written)


def test_an_error_says_which_part_is_wrong(written):
    members = members_of(written)
    members["potential_.npy"] = npy(np.zeros(59))
    written.write_bytes(archive_of(members))
    with pytest.raises(InputError, match=r"corrupt \(potential_ has size 59, but other parts .* have size 60"):
        snekhorn.load(written)


def test_every_flipped_bit_of_an_array_is_noticed(written):
    whole = written.read_bytes()
    data = snekhorn.load(written).embedding_.tobytes()
    assert whole.count(data) == 1
    for _, changed in damaged(data, flips=50, truncations=0, seed="array"):
        written.write_bytes(whole.replace(data, changed))
        with pytest.raises(InputError, match="CRC"):
            snekhorn.load(written)


def test_the_declaration_covers_the_reports():
    for declared, kind in ((EMBEDDING_REPORT, EmbeddingReport), (SOLVE_REPORT, SolveReport)):
        assert list(declared) == [field.name for field in fields(kind)]


def test_an_attribute_that_is_not_declared_cannot_be_saved(X, tmp_path):
    estimator = quick(TSNEkhorn).fit(X)
    estimator.note = "mine"
    with pytest.raises(InputError, match="cannot save this model: 'note' is not part of a model"):
        estimator.save(tmp_path / "fitted")
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_loaded_is_not_saved(X, tmp_path):
    estimator = quick(TSNEkhorn).fit(X)
    estimator.embedding_ = np.full_like(estimator.embedding_, np.nan)
    with pytest.raises(InputError, match="cannot save this model: embedding_ must be finite, but has values from nan"):
        estimator.save(tmp_path / "fitted")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_when_the_new_one_is_complete(written, X, monkeypatch):
    def fails(stream, array, **options):
        raise OSError("the disk is full")

    before = written.read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", fails)
    with pytest.raises(InputError, match="the disk is full"):
        quick(TSNE).fit(X).save(written)
    assert written.read_bytes() == before
    assert [file.name for file in written.parent.iterdir()] == [written.name]


def test_a_source_may_have_any_names(X, tmp_path):
    estimator, source = quick(TSNEkhorn).fit(X), {"columns": ["a", "b"], "mean": 3.0}
    snekhorn.save(estimator, tmp_path / "m.npz", source=source)
    found, again = load_with_source(tmp_path / "m.npz")
    _same(found, estimator)
    assert again == source


def test_a_source_of_many_names(X, tmp_path):
    estimator, source = quick(TSNEkhorn).fit(X), {"columns": [f"column_{i}" for i in range(500_000)]}
    snekhorn.save(estimator, tmp_path / "m.npz", source=source)
    assert load_with_source(tmp_path / "m.npz")[1] == source
    source = {"columns": ["column" * 100] * 30_000}
    with pytest.raises(InputError, match="its parameters, reports and source take more than 16 MiB"):
        snekhorn.save(estimator, tmp_path / "large.npz", source=source)
    assert not (tmp_path / "large.npz").exists()


def test_numbers_of_a_report_are_floats(written):
    header = json.loads(members_of(written)[HEADER])
    header["state"]["report_"]["losses"] = [3, 2.5]
    written.write_bytes(archive_of({**members_of(written), HEADER: json.dumps(header).encode()}))
    losses = snekhorn.load(written).report_.losses
    assert list(map(type, losses)) == [float, float]


def test_a_folder_that_does_not_exist(X, tmp_path):
    with pytest.raises(InputError, match=r"m.npz cannot be written: the folder .*none does not exist; create it first"):
        quick(TSNEkhorn).fit(X).save(tmp_path / "none" / "m.npz")


def test_path_as_text_and_any_ending(X, tmp_path):
    estimator = quick(TSNEkhorn).fit(X)
    estimator.save(str(tmp_path / "a.b"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.b"]
    _same(snekhorn.load(str(tmp_path / "a.b")), estimator)
