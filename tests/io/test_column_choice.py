"""Features by name, by pattern, and by exclusion."""

import numpy as np
import pytest

from snekhorn.io import InputError, read_table

TEXT = "gene_a,gene_b,age,batch,kind\n" + "".join(f"{i}.5,{i * i}.5,{7 * i % 10}.5,{i % 2},u{i}\n" for i in range(8))


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("options", "features"),
    [
        ({"columns": ["gene*"]}, ["gene_a", "gene_b"]),
        ({"columns": ["age", "gene*", "gene_a"]}, ["age", "gene_a", "gene_b"]),
        ({"columns": ["gene_?", "a[gf]e"]}, ["gene_a", "gene_b", "age"]),
        ({"exclude": ["batch"]}, ["gene_a", "gene_b", "age"]),
        ({"exclude": ["gene*", "kind"]}, ["age", "batch"]),
        ({"columns": ["*"], "label": "batch"}, ["gene_a", "gene_b", "age"]),
        ({"columns": ["*"], "exclude": ["*e"], "label": "batch"}, ["gene_a", "gene_b"]),
    ],
)
def test_patterns(path, options, features):
    table = read_table(path, **options)
    assert table.columns == features
    assert set(table.metadata.column_names) == {"gene_a", "gene_b", "age", "batch", "kind"} - set(features)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["gena*"]}, r"no numeric column of .* matches 'gena\*'; available: 'gene_a'"),
        ({"columns": ["ki*"]}, r"no numeric column of .* matches 'ki\*'"),
        ({"exclude": ["x*"]}, r"no column of .* matches 'x\*'"),
        ({"exclude": ["bach"]}, r"no column 'bach'; did you mean 'batch'\?"),
        ({"exclude": ["*"]}, "--exclude leaves out all 4 features"),
        ({"columns": ["age"], "exclude": ["a*"]}, "--exclude leaves out all 1 features"),
    ],
)
def test_patterns_that_match_nothing(path, options, message):
    with pytest.raises(InputError, match=message):
        read_table(path, **options)


def test_a_column_may_be_called_like_a_pattern(tmp_path):
    (tmp_path / "t.csv").write_text("p*,pq,r\n1,2,3\n4,5,7\n")
    assert read_table(tmp_path / "t.csv", columns=["p*", "r"]).columns == ["p*", "r"]
    assert read_table(tmp_path / "t.csv", columns=["p*", "r"], of_model=True).columns == ["p*", "r"]


def test_columns_of_an_array(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 12))
    np.save(tmp_path / "t.npy", X)
    np.testing.assert_array_equal(read_table(tmp_path / "t.npy", columns=["column_1*"]).X, X[:, [0, 9, 10, 11]])
    np.testing.assert_array_equal(read_table(tmp_path / "t.npy", exclude=["column_1*"]).X, X[:, 1:9])
    with pytest.raises(InputError, match="no column 'column_13'; did you mean"):
        read_table(tmp_path / "t.npy", columns=["column_13"])


def test_genes_by_pattern(tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.random.default_rng(0).normal(size=(6, 3)))
    cells.var_names = ["MT-1", "CD3", "MT-2"]
    cells.write_h5ad(tmp_path / "t.h5ad")
    assert read_table(tmp_path / "t.h5ad", exclude=["MT-*"]).columns == ["CD3"]
