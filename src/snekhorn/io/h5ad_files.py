"""Read AnnData files (H5AD)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from ..colors import with_palettes
from ..errors import InputError, did_you_mean, first_few
from ..geometry.point_blocks import LARGE, PointBlocks, as_blocks
from ..runtime.checks import is_missing
from ..runtime.sparse_format import check_sparse
from .column_hints import counts_note
from .h5_scan import check_h5
from .matrix_files import select_features
from .table import Table, Wanted, feature_values, reading

DEFAULT_REP = "X_pca"


def read_h5ad(path: Path, wanted: Wanted, rep: str | None = None) -> Table:
    """Read an AnnData file: by default obsm["X_pca"] if it exists, otherwise X; obs becomes the metadata."""
    adata = _opened(path)
    try:
        table = _anndata_table(path, adata, wanted, rep)
    except BaseException:
        adata.file.close()
        raise
    if not isinstance(table.X, PointBlocks):  # blocks are read from the open file
        adata.file.close()
    return table


def read_entries(
    path: Path, choose: Callable[[list[str]], list[str]], colors: Iterable[str] = ()
) -> tuple[dict[str, Any], pa.Table, list[str]]:
    """Read the entries of obsm that `choose` selects by name, and obs with the names of the cells and these genes.

    Also return notes about where the values of the genes come from.
    """
    with reading(path, "H5AD"):
        adata = _opened(path)
        try:
            names = choose(list(adata.obsm))
            entries = {name: _as_numbers(path, f"obsm[{name!r}]", adata.obsm[name]) for name in names}
            columns = _obs_columns(adata)[1]
            notes = _add_genes(path, adata, columns, colors, ())
            return entries, with_palettes(pa.table(columns), adata), notes
        finally:
            adata.file.close()


def _opened(path: Path) -> Any:
    try:
        from anndata import read_h5ad as read
    except ImportError:
        raise InputError(f"reading {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None
    check_h5(path)
    return read(path, backed="r")


def _anndata_table(path: Path, adata: Any, wanted: Wanted, rep: str | None) -> Table:
    if rep is None:
        rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if rep != "X" and rep not in adata.obsm:
        raise InputError(f"{path} has no obsm[{rep!r}]; {did_you_mean(rep, ['X', *adata.obsm])}")
    if rep == "X" and not _has_x(adata):
        entries = first_few(list(adata.obsm))
        if not entries:
            raise InputError(f"{path} has neither X nor any entry in obsm; pass a file with data.")
        raise InputError(f"{path} has no X; choose an entry of obsm with --rep (available: {entries}).")
    source = "X" if rep == "X" else f"obsm[{rep!r}]"
    X = _matrix(path, source, adata.X) if rep == "X" else _as_numbers(path, source, adata.obsm[rep])
    names = list(map(str, adata.var_names)) if rep == "X" else [f"{rep}_{i + 1}" for i in range(X.shape[1])]
    if 0 in X.shape:
        size = f"{X.shape[0]} cells and {X.shape[1]} features"
        raise InputError(f"{path} has {size}; pass a file with at least one cell and one feature.")
    if isinstance(X, PointBlocks):
        X = X.in_file(str(path), names, partial(reading, path, "H5AD"))
    X, names = select_features(path, X, names, wanted)
    cell, columns = _obs_columns(adata)
    wanted.check_roles(path, columns, kind="obs column")
    notes = [f"using {source} as features"]
    if rep == "X" and wanted.columns is None and (note := counts_note(X)):
        notes.append(note)
    notes += _add_genes(path, adata, columns, wanted.colors, [*wanted.elsewhere, *names])
    id = wanted.id if wanted.id in columns else cell
    label = wanted.label if wanted.label in columns else None
    return Table(X, names, with_palettes(pa.table(columns), adata), id, label, notes, rep)


def _obs_columns(adata: Any) -> tuple[str, dict[str, Any]]:
    """Return the names of the cells, as a first column, and the columns of obs; and what the first one is called."""
    obs = {str(name): _obs_column(adata.obs[name]) for name in adata.obs.columns}
    cell = "cell" if "cell" not in obs else "cell name"
    return cell, {cell: pa.array(list(map(str, adata.obs_names))), **obs}


def _add_genes(
    path: Path, adata: Any, columns: dict[str, Any], colors: Iterable[str], others: Collection[str]
) -> list[str]:
    """Add to the columns the genes among the names to colour by; return notes about where their values come from.

    `others` are names that are known elsewhere.
    """
    notes = []
    for name in colors:
        if name in columns or name in others:
            continue
        if (found := _gene(path, adata, name)) is None:
            genes = adata.var_names if adata.raw is None else adata.raw.var_names
            remedy = did_you_mean(name, map(str, [*columns, *others, *genes]))
            raise InputError(f"--color: {path} has neither a column nor a gene {name!r}; {remedy}")
        columns[name], place = found
        notes.append(f"the values of gene {name!r} are those of {place}")
    return notes


def _gene(path: Path, adata: Any, name: str) -> tuple[Any, str] | None:
    """Return the values of a gene, and where they come from: raw if it exists, as in scanpy, otherwise X."""
    for place, part in (("raw.X", adata.raw), ("X", adata if _has_x(adata) else None)):
        if part is not None and name in part.var_names:
            genes = list(map(str, part.var_names))
            at, X = genes.index(name), part.X
            if getattr(X, "format", None) == "csc":  # of this format, a column can be read alone
                at, X = 0, _stored_column(path, place, X, at)
            else:
                X = _matrix(path, place, X)
            if isinstance(X, PointBlocks):
                X = X.in_file(str(path), genes, partial(reading, path, "H5AD"))
            return pa.array(feature_values(X, at), from_pandas=True), place
    return None


def _stored_column(path: Path, source: str, X: Any, at: int) -> Any:
    """Read one column of a matrix that is stored by columns."""
    start, stop = map(int, X.group["indptr"][at : at + 2])
    if not 0 <= start <= stop <= X.group["data"].shape[0]:
        raise InputError(f"{source} of {path} is a corrupt sparse matrix: indptr does not increase; create it again.")
    return _as_numbers(path, source, X[:, at : at + 1])


def _has_x(adata: Any) -> bool:
    try:
        return adata.X is not None
    except KeyError:  # anndata looks X up in the file without checking that it is there
        return False


def _matrix(path: Path, source: str, X: Any) -> Any:
    """Read X into memory, or by blocks if it is large."""
    n_values = X.group["data"].shape[0] if hasattr(X, "group") else X.size
    blocks = as_blocks(X) if n_values > LARGE else None
    if blocks is not None:
        return blocks
    return _as_numbers(path, source, X.to_memory() if hasattr(X, "to_memory") else X[:])


def _as_numbers(path: Path, source: str, values: Any) -> Any:
    """Return X or an entry of obsm as a matrix of numbers."""
    check_sparse(values, f"{source} of {path}")
    X = sparse.csr_matrix(values) if sparse.issparse(values) else np.asarray(values)
    if X.dtype.kind == "O":  # a data frame whose columns have different types
        try:
            X = X.astype(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{source} of {path} does not contain only numbers ({error}); choose another entry with --rep."
            ) from None
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{source} of {path} is an array of {X.dtype} with shape {X.shape}; "
            "choose a 2-D array of numbers with --rep."
        )
    return X


def _obs_column(values: Any) -> Any:
    """Convert a column of obs and its missing values to Arrow, as text if Arrow has no matching type."""
    try:
        return pa.array(values.astype(object) if values.dtype.name == "category" else values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if is_missing(value) else str(value) for value in values.astype(object)])
