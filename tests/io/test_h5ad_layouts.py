"""Layouts in H5AD files."""

import numpy as np
import pyarrow as pa
import pytest

from snekhorn.io import InputError, Layouts, read_layouts
from snekhorn.io.h5ad_layouts import write_h5ad

anndata = pytest.importorskip("anndata")

Z = np.random.default_rng(0).normal(size=(6, 2))
X = np.random.default_rng(1).normal(size=(6, 5))


def _write(folder, metadata, layouts=None):
    path = folder / "t.h5ad"
    write_h5ad(Layouts(layouts or {"": Z}, metadata), path, name="tsnekhorn", source=folder / "t.csv")
    return path


def _cells(folder, **entries):
    cells = anndata.AnnData(X)
    for name, entry in entries.items():
        cells.obsm[name] = entry
    cells.write_h5ad(folder / "cells.h5ad")
    return folder / "cells.h5ad"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([True, None, False] * 2), ["true", None, "false"] * 2),
        (pa.nulls(6), [None] * 6),
        (pa.nulls(6, pa.string()), [None] * 6),
        (pa.nulls(6, pa.bool_()), [None] * 6),
        (pa.array(["u", None, "v"] * 2).dictionary_encode(), ["u", None, "v"] * 2),
        (pa.array([1, None, 3] * 2), [1, None, 3] * 2),
        (pa.array([True, False, False] * 2), [True, False, False] * 2),
    ],
)
def test_metadata_with_missing_values(column, expected, tmp_path):
    path = _write(tmp_path, pa.table({"kind": column}))
    assert read_layouts(path).metadata["kind"].to_pylist() == expected


def test_names_that_anndata_does_not_take(tmp_path):
    names = ["_index", "input__index", "", ".", "a/b", "a_b"]
    path = _write(tmp_path, pa.table([np.arange(6) + i for i in range(len(names))], names=names))
    obs = anndata.read_h5ad(path).obs
    assert list(obs) == ["input_input__index", "input__index", "input_", "input_.", "input_a_b", "a_b"]
    assert obs.iloc[0].tolist() == list(range(len(names)))


def test_points_without_metadata(tmp_path):
    path = _write(tmp_path, pa.table({"row": np.arange(6)}).select([]))
    np.testing.assert_array_equal(read_layouts(path).only, Z)


def test_the_layouts_are_read_in_the_order_of_their_settings(tmp_path):
    layouts = {key: Z + i for i, key in enumerate(("5_e1", "5_e1.5", "10_e1", "10_e1.5", "100_e1"))}
    found = read_layouts(_write(tmp_path, pa.table({"kind": list("uvwxyz")}), layouts))
    assert list(found.layouts) == list(layouts)
    for key in layouts:
        np.testing.assert_array_equal(found.layouts[key], layouts[key])
    assert found.metadata["kind"].to_pylist() == list("uvwxyz")


def test_data_is_not_taken_for_a_layout(tmp_path):
    path = _cells(tmp_path, X_pca=X[:, :3], X_umap=Z + 1, X_tsnekhorn=Z)
    found = read_layouts(path)
    assert list(found.layouts) == [""]
    np.testing.assert_array_equal(found.only, Z)
    assert found.metadata["cell"].to_pylist() == list("012345")
    np.testing.assert_array_equal(read_layouts(path, columns=["X_umap"]).only, Z + 1)
    assert list(read_layouts(path, columns=["X_umap", "X_tsnekhorn"]).layouts) == ["X_umap", "X_tsnekhorn"]


@pytest.mark.parametrize(
    ("entries", "columns", "message"),
    [
        ({}, None, "has no layout in obsm that is named after a method, .*; compute one with snekhorn embed"),
        ({"X_umap": Z}, None, r"choose entries with --coordinates \(available: 'X_umap'\)"),
        ({"X_umap": Z}, ["X_umpa"], r"has no obsm\['X_umpa'\]; did you mean 'X_umap'\?"),
        ({"X_pca": X}, ["X_pca"], "has 5 coordinate columns, but a layout has 1 to 3"),
        ({"X_tsne": np.full((6, 2), np.nan)}, None, r"obsm\['X_tsne'\] of .* has values that are missing or infinite"),
        (
            {"X_tsne": Z, "X_sne": X[:, :3]},
            None,
            "layouts of different dimensions, 'X_sne', 'X_tsne'; choose some with",
        ),
    ],
)
def test_cells_without_a_layout(entries, columns, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_layouts(_cells(tmp_path, **entries), columns=columns)
