"""Every kind of table is accepted as metadata, and several layouts; other input is refused with a remedy."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from anndata import AnnData

from snekhorn.errors import InputError

from .reading import Page
from .test_html_page import written

N = 30
Z = np.random.default_rng(0).normal(size=(N, 2))
KIND = ["a", "b", None] * 10
SIZE = np.arange(N) / 8
NAMES = [f"cell {i}" for i in range(N)]
FRAME = pd.DataFrame({"kind": KIND, "size": SIZE})


@pytest.mark.parametrize(
    "metadata",
    [
        FRAME,
        FRAME.astype({"kind": "category"}),
        FRAME.convert_dtypes(),
        pl.DataFrame({"kind": KIND, "size": SIZE}),
        pa.table({"kind": KIND, "size": SIZE}),
        pa.table({"kind": KIND, "size": SIZE}).to_batches()[0],
        {"kind": KIND, "size": SIZE},
        {"kind": pd.Series(KIND), "size": pl.Series(SIZE)},
        {"kind": pd.Categorical(KIND), "size": pa.chunked_array([SIZE])},
    ],
    ids=["pandas", "categorical", "nullable", "polars", "arrow", "batch", "lists", "series", "arrays"],
)
def test_all_kinds_of_tables_give_the_same_columns(metadata):
    page = Page(written(Z, metadata))
    assert [column["name"] for column in page.header["columns"]] == ["kind", "size"]
    assert page.column("kind")[1] == KIND
    assert page.column("size")[1] == SIZE.tolist()
    assert page.header["ids"] is None


def test_the_index_of_a_data_frame_names_the_points():
    adata = AnnData(np.ones((N, 2)), obs=FRAME.set_axis(NAMES))
    for metadata in (FRAME.set_axis(NAMES), adata):
        page = Page(written(Z, metadata))
        assert page.header["columns"][page.header["ids"]]["name"] == "index"
        assert page.column("index")[1] == NAMES
    named = Page(written(Z, FRAME.set_axis(pd.Index(NAMES, name="kind")), ids="size"))
    assert [column["name"] for column in named.header["columns"]] == ["input_kind", "kind", "size"]
    assert named.header["ids"] == 2
    pairs = pd.MultiIndex.from_product([["x", "y", "z"], range(10)])
    assert Page(written(Z, FRAME.set_axis(pairs))).column("index")[1][0] == "('x', 0)"


def test_a_gene_is_a_colour():
    X = np.arange(2.0 * N).reshape(N, 2)
    adata = AnnData(X, obs=FRAME.set_axis(NAMES), var=pd.DataFrame(index=["LYZ", "CD3E"]))
    page = Page(written(Z, adata, color="LYZ"))
    assert page.column("LYZ")[1] == X[:, 0].tolist()
    assert page.header["columns"][page.header["color"]]["name"] == "LYZ"
    assert "LYZ" not in [column["name"] for column in Page(written(Z, adata, color="kind")).header["columns"]]
    assert page.header["columns"][Page(written(Z, adata, color="index")).header["color"]]["name"] == "index"
    with pytest.raises(InputError, match="color='CD3' is neither a column of obs nor a gene; did you mean 'CD3E'"):
        written(Z, adata, color="CD3")
    adata.raw = AnnData(X * 3.0, var=adata.var)
    assert Page(written(Z, adata, color="LYZ")).column("LYZ")[1] == (X[:, 0] * 3.0).tolist()


@pytest.mark.parametrize(
    ("values", "name"), [(KIND, "label"), (np.array(KIND, object), "label"), (pd.Series(KIND, name="type"), "type")]
)
def test_one_value_per_point_is_a_column(values, name):
    assert Page(written(Z, values)).column(name)[1] == KIND
    assert Page(written(Z, pl.Series("type", KIND))).column("type")[1] == KIND


def test_values_of_mixed_types_are_text():
    columns = {"mixed": [1, "two", None] * 10, "nan": [1.5, "x", np.nan] * 10, "na": [1, "x", pd.NA] * 10}
    page = Page(written(Z, pd.DataFrame({**columns, "nat": [1, "x", pd.NaT] * 10})))
    assert page.column("na")[1] == page.column("nat")[1] == ["1", "x", None] * 10
    assert page.column("mixed")[1] == ["1", "two", None] * 10
    assert page.column("nan")[1] == ["1.5", "x", None] * 10


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": range(N), "b": [1]}, r"columns of different lengths: \{'a': 30, 'b': 1\}; pass one value per point"),
        ({"a": [1] * 29}, "metadata has 29 rows for the 30 points of Z; pass one row per point"),
        ({"a": "text"}, "column 'a' of metadata is 'text'; pass one value per point"),
        ({"a": np.ones((N, 2))}, r"column 'a' of metadata has shape \(30, 2\)"),
        (FRAME.set_axis(["a", "a"], axis=1), "metadata has more than one column called 'a'; rename"),
        (pa.table([KIND, SIZE], names=["a", "a"]), "metadata has more than one column called 'a'; rename"),
        ("cells.csv", "metadata has type str; pass a pandas or Polars data frame"),
        (np.ones((N, 2)), "metadata has type ndarray; pass"),
    ],
)
def test_bad_metadata_is_refused(metadata, message):
    with pytest.raises(InputError, match=message):
        written(Z, metadata)


def test_several_layouts_are_kept_with_their_facts():
    layouts = {"one": Z, 2: 2 * Z}
    page = Page(written(layouts, summary={"one": {"score": 1}}))
    assert page.header["layouts"] == [{"name": "one", "summary": [["score", "1"]]}, {"name": "2", "summary": []}]
    np.testing.assert_array_equal(page.numbers("y-1", "f4"), (2 * Z[:, 1]).astype(np.float32))
    shared = Page(written(layouts, summary={"points": 30}))
    assert [layout["summary"] for layout in shared.header["layouts"]] == [[["points", "30"]]] * 2


@pytest.mark.parametrize(
    ("layouts", "options", "message"),
    [
        ({}, {}, "Z has no layouts; pass an array, or a dictionary"),
        ({"a": Z, "b": Z[1:]}, {}, r"different numbers of points: \{'a': 30, 'b': 29\}; pass layouts of the same"),
        ({"a": Z, "b": Z[:, :1]}, {}, r"Z\['b'\] has shape \(30, 1\), but the page is 2-dimensional"),
        ({"a": Z}, {"summary": {"c": {}}}, "summary has facts about 'c', which is not a layout; available: 'a'"),
    ],
)
def test_bad_layouts_are_refused(layouts, options, message):
    with pytest.raises(InputError, match=message):
        written(layouts, **options)
