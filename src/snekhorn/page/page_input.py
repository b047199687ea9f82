"""Check what the page is to show: layouts, metadata of any kind of table, and a sample of very many points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..colors import with_palettes
from ..errors import InputError, InputTypeError, did_you_mean, shown
from ..geometry.inputs import as_array, check_finite
from ..runtime.checks import is_missing

Layout = NDArray[np.float32]

INDEX_NAME = "index"  # column for the index of a data frame, if the index has no name
VALUES_NAME = "label"  # column for a list of values without a name
COLOR_NAME = "color"  # column for a list of colours without a name


def check_layouts(Z: Any) -> dict[str, Layout]:
    """Return the layouts by name in single precision; the name of a single layout is ""."""
    if not isinstance(Z, Mapping):
        return {"": _check_layout(Z, "Z")}
    if not Z:
        raise InputError("Z has no layouts; pass an array, or a dictionary with at least one layout.")
    layouts = {str(name): _check_layout(each, f"Z[{name!r}]") for name, each in Z.items()}
    lengths = {name: len(each) for name, each in layouts.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"Z has layouts of different numbers of points: {lengths}; pass layouts of the same points.")
    return layouts


def _check_layout(Z: Any, name: str) -> Layout:
    Z = as_array(Z, name)
    if Z.ndim != 2 or Z.shape[1] != 2 or Z.shape[0] == 0:
        raise InputError(f"{name} has shape {Z.shape}, but the page is 2-dimensional; pass an array of shape (n, 2).")
    if Z.dtype.kind not in "fiub":
        raise InputError(f"{name} has type {Z.dtype}; pass an array of numbers.")
    check_finite(Z, name)
    if (largest := float(np.abs(Z).max())) > float(np.finfo(np.float32).max):
        raise InputError(
            f"{name} has entries as large as {largest:.3g} in absolute value, too large for single precision; "
            f"scale {name} down."
        )
    return np.asarray(Z, dtype=np.float32)


def check_metadata(metadata: Any, n: int, *, color: str | None = None) -> tuple[pa.Table, str | None]:
    """Return the metadata of n points as an Arrow table, and the column that holds the index of a data frame.

    The column to colour by may also be a gene of an AnnData object.
    """
    if metadata is None:
        return pa.table({}), None
    if hasattr(metadata, "obs") and hasattr(metadata, "obsm"):  # AnnData
        table, index = _as_table(metadata.obs if color is None else _with_gene(metadata, color))
        table = with_palettes(table, metadata)
    else:
        table, index = _as_table(metadata)
    if table.num_columns and table.num_rows != n:
        raise InputError(f"metadata has {table.num_rows} rows for the {n} points of Z; pass one row per point.")
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise InputError(f"metadata has more than one column called {twice!r}; rename the duplicates.")
    return table, index


def _as_table(metadata: Any) -> tuple[pa.Table, str | None]:
    if isinstance(metadata, pa.Table):
        return metadata, None
    if hasattr(metadata, "iloc") and hasattr(metadata, "columns"):
        return _from_pandas(metadata)
    if isinstance(metadata, Mapping):
        return _from_mapping(metadata), None
    if hasattr(metadata, "to_arrow") and hasattr(metadata, "columns"):  # Polars
        return metadata.to_arrow(), None
    if not hasattr(metadata, "iloc") and hasattr(metadata, "__arrow_c_stream__") and not hasattr(metadata, "name"):
        return pa.table(metadata), None
    if _is_list_of_values(metadata):
        return _from_mapping({str(getattr(metadata, "name", None) or VALUES_NAME): metadata}), None
    raise InputTypeError(
        f"metadata has type {type(metadata).__name__}; pass a pandas or Polars data frame, a pyarrow.Table, a "
        "dictionary of columns, an AnnData object, or one value per point."
    )


def with_color(metadata: pa.Table, color: Any, n: int) -> tuple[pa.Table, str]:
    """Add the values of a list or an array of colours to the metadata, and return the name of the column."""
    if not _is_list_of_values(color):
        raise InputTypeError(
            f"color must be the name of a column, or one value per point, got {shown(color)}; pass one of them."
        )
    column = _as_column(COLOR_NAME, color)
    if len(column) != n:
        raise InputError(f"color has {len(column)} values for the {n} points of Z; pass one value per point.")
    return _appended(metadata, str(getattr(color, "name", None) or COLOR_NAME), column)


def _appended(metadata: pa.Table, name: str, column: Any) -> tuple[pa.Table, str]:
    """Append a column to metadata, which may have no columns yet, and return its name, which no other column has."""
    while name in metadata.column_names:
        name = f"input_{name}"
    return (metadata.append_column(name, column) if metadata.num_columns else pa.table({name: column})), name


def _with_gene(adata: Any, name: str) -> Any:
    """Return obs with the values of a gene, from raw if it exists, as in scanpy, unless obs has such a column."""
    if name in (*adata.obs.columns, adata.obs.index.name or INDEX_NAME):
        return adata.obs
    parts = [part for part in (adata.raw, adata) if part is not None and part.X is not None]
    for part in parts:
        if name in part.var_names:
            return adata.obs.assign(**{name: part.obs_vector(name)})
    genes = parts[0].var_names if parts else ()
    remedy = did_you_mean(name, map(str, [*adata.obs.columns, *genes]))
    raise InputError(f"color={name!r} is neither a column of obs nor a gene; {remedy}")


def _is_list_of_values(metadata: Any) -> bool:
    if isinstance(metadata, str | bytes):
        return False
    return isinstance(metadata, list | tuple) or getattr(metadata, "ndim", None) == 1 or hasattr(metadata, "to_list")


def _from_pandas(frame: Any) -> tuple[pa.Table, str | None]:
    """Convert a pandas data frame; the index becomes the first column, unless it only numbers the rows."""
    columns = {str(name): frame.iloc[:, place] for place, name in enumerate(frame.columns)}
    if len(columns) < frame.shape[1]:
        names = [str(name) for name in frame.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"metadata has more than one column called {twice!r}; rename the duplicates.")
    index = None
    if type(frame.index).__name__ != "RangeIndex":
        index = str(frame.index.name or INDEX_NAME)
        while index in columns:
            index = f"input_{index}"
        labels = frame.index.map(str) if frame.index.nlevels > 1 else frame.index
        columns = {index: labels.to_series(), **columns}
    return _from_mapping(columns), index


def _from_mapping(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {str(name): _as_column(str(name), values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"metadata has columns of different lengths: {lengths}; pass one value per point.")
    return pa.table(arrays)


def _as_column(name: str, values: Any) -> Any:
    """Convert the values of a column; values of mixed types become text."""
    if isinstance(values, str | bytes) or not np.iterable(values):
        raise InputError(f"column {name!r} of metadata is {values!r}; pass one value per point.")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(f"column {name!r} of metadata has shape {values.shape}; pass one value per point.")
    if hasattr(values, "to_arrow"):  # Polars
        values = values.to_arrow()
    try:
        return values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if is_missing(value) else str(value) for value in values], pa.string())


def sampled_rows(n: int, size: int, behind: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Draw some of n rows, always the same, in increasing order; those of the background only if the others fit."""
    if behind is not None:
        front, back = np.flatnonzero(~behind), np.flatnonzero(behind)
        if len(front) >= size:
            return front[sampled_rows(len(front), size)]
        return np.sort(np.concatenate([front, back[sampled_rows(len(back), size - len(front))]]))
    return np.sort(np.random.default_rng(0).choice(n, size, replace=False))


def numbered(metadata: pa.Table, rows: NDArray[np.int64]) -> tuple[pa.Table, str]:
    """Add a column with the row numbers of sampled points, and return its name."""
    return _appended(metadata, "row", pa.array(rows))
