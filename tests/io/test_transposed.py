"""Tables whose columns are the points."""

import numpy as np
import pytest
from scipy import sparse

from snekhorn.io import InputError, read_table

X = np.random.default_rng(0).normal(size=(5, 3))


def _genes(path, first="gene"):
    rows = [f"g{i}," + ",".join(map(repr, x.tolist())) for i, x in enumerate(X)]
    path.write_text(f"{first},u,v,w\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("first", ["gene", "", "id"])
def test_genes_in_rows(tmp_path, first):
    table = read_table(_genes(tmp_path / "t.csv", first), transpose=True)
    np.testing.assert_array_equal(table.X, X.T)
    assert table.columns == ["g0", "g1", "g2", "g3", "g4"]
    assert table.metadata.to_pydict() == {"point": ["u", "v", "w"]}
    assert table.id == "point"
    assert table.notes == [
        f"transposed: 3 columns of {tmp_path / 't.csv'} are the points",
        f"column {first or 'index'!r} names the features",
    ]


def test_columns_are_chosen_after_the_transposition(tmp_path):
    path = _genes(tmp_path / "t.csv")
    assert read_table(path, transpose=True, columns=["g[12]"]).columns == ["g1", "g2"]
    assert read_table(path, transpose=True, exclude=["g0"]).columns == ["g1", "g2", "g3", "g4"]
    with pytest.raises(InputError, match="no column 'u'"):
        read_table(path, transpose=True, columns=["u"])


FEATURE_COUNTS = "GeneID,Chr,Length,u,v\n7,chr1,900,1,2\n5,chr1,800,3,4\n9,chr2,700,5,6\n"


def test_columns_about_features_are_no_points(tmp_path):
    (tmp_path / "t.csv").write_text(FEATURE_COUNTS)
    table = read_table(tmp_path / "t.csv", transpose=True, id="GeneID", exclude=["Len*", "Chr", "5"])
    assert table.columns == ["7", "9"]
    assert table.metadata.to_pydict() == {"point": ["u", "v"]}
    np.testing.assert_array_equal(table.X, [[1.0, 5.0], [2.0, 6.0]])
    assert "column 'GeneID' names the features" in table.notes
    (tmp_path / "cells.csv").write_text("point,kind\nv,K\nu,L\n")
    options = {"transpose": True, "exclude": ["Length"], "metadata": tmp_path / "cells.csv", "label": "kind"}
    assert read_table(tmp_path / "t.csv", id="GeneID", **options).values("kind").tolist() == ["L", "K"]


def test_names_to_leave_out_must_exist(tmp_path):
    (tmp_path / "t.csv").write_text(FEATURE_COUNTS)
    with pytest.raises(InputError, match="no column 'Lengths'; did you mean 'Length'"):
        read_table(tmp_path / "t.csv", transpose=True, id="GeneID", exclude=["Lengths"])
    with pytest.raises(InputError, match="no column 'Gene'; did you mean 'GeneID'"):
        read_table(tmp_path / "t.csv", transpose=True, id="Gene")
    with pytest.raises(InputError, match="--exclude leaves out all 3 points"):
        read_table(tmp_path / "t.csv", transpose=True, id="GeneID", exclude=["Length", "[uv]"])


def test_labels_are_in_another_file(tmp_path):
    path = _genes(tmp_path / "t.csv")
    (tmp_path / "cells.csv").write_text("cell,kind\nw,K\nv,L\nu,K\n")
    table = read_table(path, transpose=True, metadata=tmp_path / "cells.csv", id="cell", label="kind")
    assert table.values("kind").tolist() == ["K", "L", "K"]
    with pytest.raises(InputError, match=r"--label kind cannot be a column of .*--metadata"):
        read_table(path, transpose=True, label="kind")


def test_arrays(tmp_path):
    np.save(tmp_path / "t.npy", X)
    table = read_table(tmp_path / "t.npy", transpose=True)
    np.testing.assert_array_equal(table.X, X.T)
    assert table.columns == [f"column_{i + 1}" for i in range(5)]
    assert table.metadata.num_rows == 3
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(X))
    np.testing.assert_array_equal(read_table(tmp_path / "s.npz", transpose=True).X.toarray(), X.T)


def test_names_of_rows_must_be_features(tmp_path):
    (tmp_path / "t.csv").write_text("gene,u,v\na,1,2\na,3,4\n")
    with pytest.raises(InputError, match="more than one row called 'a' in column 'gene'"):
        read_table(tmp_path / "t.csv", transpose=True)
    (tmp_path / "t.csv").write_text("gene,u,v\na,1,2\n,3,4\n")
    with pytest.raises(InputError, match=r"line 3 of .* has no name in column 'gene'"):
        read_table(tmp_path / "t.csv", transpose=True)


def test_what_is_not_transposed(tmp_path):
    np.save(tmp_path / "part-1.npy", X)
    with pytest.raises(InputError, match="--transpose does not apply to"):
        read_table(tmp_path, transpose=True)
    np.savez(tmp_path / "t.npz", a=X)
    with pytest.raises(InputError, match="--transpose does not apply with --vector"):
        read_table(tmp_path / "t.npz", transpose=True, vector="a")


@pytest.mark.parametrize(
    ("extra", "ignored"), [(["kind"], "'kind', which does not"), (["kind", "more"], "'kind', 'more', which do not")]
)
def test_columns_that_are_left_out_are_named(tmp_path, extra, ignored):
    lines = _genes(tmp_path / "t.csv").read_text().splitlines()
    texts = [",".join([line, *(name if i == 0 else "text" for name in extra)]) for i, line in enumerate(lines)]
    (tmp_path / "t.csv").write_text("\n".join(texts) + "\n")
    assert f"ignored {ignored} describe points" in read_table(tmp_path / "t.csv", transpose=True).notes
