"""AnnData files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from ..errors import InputError, did_you_mean
from .arrays import check_finite
from .table import Table, Wanted
from .unreadable import unlike

DEFAULT_REP = "X_pca"


def read_h5ad(path: Path, wanted: Wanted, rep: str | None = None) -> Table:
    """Cells of an AnnData file: obsm["X_pca"] where it is there, else X; obs beside it."""
    try:
        from anndata import read_h5ad as read
    except ImportError:
        raise InputError(f"reading {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None
    try:
        adata = read(path, backed="r")
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise unlike(path, "H5AD", error) from error
    try:
        return _table(path, adata, wanted, rep)
    finally:
        adata.file.close()


def _table(path: Path, adata: Any, wanted: Wanted, rep: str | None) -> Table:
    if wanted.columns is not None:
        raise InputError(f"--columns has no meaning for {path}; choose an entry of obsm with --rep, or X.")
    if rep is None:
        rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if rep != "X" and rep not in adata.obsm:
        raise InputError(f"{path} has no obsm[{rep!r}]; {did_you_mean(rep, ['X', *adata.obsm])}")
    if rep == "X" and adata.X is None:
        raise InputError(f"{path} has no X; choose an entry of obsm with --rep: {did_you_mean(rep, adata.obsm)}")
    X = adata.X[:] if rep == "X" else adata.obsm[rep]
    X = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    names = list(map(str, adata.var_names)) if rep == "X" else [f"{rep}_{i + 1}" for i in range(X.shape[1])]
    if 0 in X.shape:
        raise InputError(f"{path} has {X.shape[0]} cells and {X.shape[1]} features; there is nothing to lay out.")
    check_finite(path, X, names, "fill it in, or drop the cell")
    obs = {str(name): _column(adata.obs[name]) for name in adata.obs.columns}
    cell = "cell" if "cell" not in obs else "cell name"
    id = wanted.id or cell
    columns = {cell: pa.array(list(map(str, adata.obs_names))), **obs}
    for name in (wanted.label, id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no obs column {name!r}; {did_you_mean(name, columns)}")
    metadata = pa.table(columns)
    note = f"laid out from {'X' if rep == 'X' else f'obsm[{rep!r}]'}"
    return Table(X, names, metadata, id, wanted.label, [note], rep)


def _column(values: Any) -> Any:
    """A column of obs, missing values and all; text where nothing else holds it."""
    try:
        return pa.array(values.astype(object) if values.dtype.name == "category" else values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None or value != value else str(value) for value in values.astype(object)])
