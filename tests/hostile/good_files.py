"""Good files: one of every format that `embed` reads, and models of every kind. Damage starts from these."""

from __future__ import annotations

import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, feather, ipc, parquet
from scipy import io as scipy_io
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

import snekhorn
from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import GaussianAffinity
from snekhorn.geometry.preprocessing import Preprocessing

N, P = 40, 4
QUICK = {"perplexity": 5.0, "max_iter": 20}


def points():
    """Points with some zeros, so that they can be sparse."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)).round(3)
    X[rng.random((N, P)) < 0.2] = 0.0
    return X


def write_tables(folder: Path) -> dict[str, Path]:
    """Write the same points in every format; return the files by name."""
    X, kinds = points(), np.array(list("ab") * (N // 2))
    table = pa.table({**{f"c{j}": X[:, j] for j in range(P)}, "kind": kinds, "n": np.arange(N) % 7})
    csv.write_csv(table, folder / "t.csv")
    csv.write_csv(table, folder / "t.tsv", csv.WriteOptions(delimiter="\t"))
    for name in ("t.csv", "t.tsv"):
        with pa.output_stream(str(folder / f"{name}.gz"), compression="gzip") as stream:
            stream.write((folder / name).read_bytes())
    parquet.write_table(table, folder / "t.parquet")
    parquet.write_table(table, folder / "plain.parquet", compression="none", use_dictionary=False)
    parquet.write_table(table, folder / "checked.parquet", write_page_checksum=True)
    with ipc.new_file(str(folder / "t.arrow"), table.schema) as sink:
        sink.write_table(table)
    with ipc.new_stream(str(folder / "stream.arrow"), table.schema) as sink:
        sink.write_table(table)
    encoded = table.set_column(P, "kind", table["kind"].dictionary_encode())
    feather.write_feather(encoded, str(folder / "t.feather"), compression="lz4")
    np.save(folder / "t.npy", X)
    np.savez(folder / "t.npz", X=X, kind=kinds)
    np.savez_compressed(folder / "packed.npz", X=X, kind=kinds)
    sparse.save_npz(folder / "csr.npz", sparse.csr_matrix(X))
    sparse.save_npz(folder / "coo.npz", sparse.coo_matrix(X), compressed=False)
    scipy_io.mmwrite(str(folder / "t.mtx"), sparse.csr_matrix(X))
    with pa.output_stream(str(folder / "t.mtx.gz"), compression="gzip") as stream:
        stream.write((folder / "t.mtx").read_bytes())
    cells = anndata.AnnData(
        sparse.csr_matrix(X),
        obs=pd.DataFrame({"kind": pd.Categorical(kinds)}, index=[f"cell{i}" for i in range(N)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(P)]),
    )
    cells.write_h5ad(folder / "t.h5ad")
    raw = cells.copy()
    cells.X = sparse.csc_matrix(X)
    cells.write_h5ad(folder / "csc.h5ad", compression="gzip")
    cells.obsm["X_pca"], cells.raw = X, raw
    cells.write_h5ad(folder / "pca.h5ad")
    return {path.name: path for path in sorted(folder.iterdir())}


def write_models(folder: Path) -> dict[str, Path]:
    """Write models that differ in their parts; return the files by name."""
    X = points()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(P)])
    pipeline = [("preprocessing", Preprocessing(standardize=True, n_components=3)), ("layout", TSNEkhorn(**QUICK))]
    models = {
        "dense": TSNEkhorn(**QUICK).fit(X),
        "graph": TSNE(**QUICK, n_neighbors=12, init="random", random_state=0).fit(frame),
        "sparse": SNEkhorn(**QUICK).fit(sparse.csr_matrix(X)),
        "pipeline": Pipeline(pipeline).fit(frame),
        "affinity": SNE(**QUICK, affinity=GaussianAffinity(0.5), init=X[:, :2], method="fft").fit(X),
    }
    for name, model in models.items():
        snekhorn.save(model, folder / f"{name}.npz", source={"rep": "X_pca"})
    return {path.name: path for path in sorted(folder.iterdir())}


def write_all(folder: Path) -> dict[str, dict[str, Path]]:
    """Write tables and models to two folders; return the files by command and name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        found = {}
        for command, write in (("embed", write_tables), ("transform", write_models)):
            (folder / command).mkdir()
            found[command] = write(folder / command)
    return found
