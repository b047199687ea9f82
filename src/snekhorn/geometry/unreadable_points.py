"""Refuse points that are not numbers, and say which values or columns are something else."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError, InputTypeError, first_few, reported_as_input_errors, shown
from ..runtime.checks import is_missing
from ..runtime.sparse_format import check_sparse

TIMES = (np.datetime64, np.timedelta64)


@contextmanager
def reading(X: Any, name: str) -> Iterator[None]:
    """Raise if X cannot hold points; if its conversion to numbers fails, name what stands in the way."""
    check_not_container(X, name)
    check_sparse(X, name)
    with reported_as_input_errors():
        if is_frame(X):
            _check_columns(X, name)
        else:
            check_no_mask(X, name)
            _check_outline(X, name)
        try:
            yield
        except (TypeError, ValueError) as error:
            _name_values(X, name, error)
            raise


def check_not_container(X: Any, name: str) -> None:
    """Raise if X names a file, is not computed yet, or is an AnnData object, which NumPy would convert for hours."""
    if isinstance(X, str | bytes | PathLike):
        raise InputTypeError(
            f"{name} is {shown(X)}, not an array; read the file first, for example with pandas.read_csv, or use the "
            "command 'snekhorn embed'."
        )
    if hasattr(X, "obsm"):
        raise InputTypeError(
            f"{name} is an {type(X).__name__} object, which holds several arrays; pass one of them, such as "
            "adata.obsm['X_pca'], or use snekhorn.anndata.tsnekhorn(adata)."
        )
    if type(X).__name__ == "LazyFrame":
        raise InputTypeError(f"{name} is a LazyFrame, which is not computed yet; call .collect() and pass the result.")


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas or polars, whose columns have names."""
    return (hasattr(X, "iloc") or hasattr(X, "get_columns")) and hasattr(X, "columns")


def check_no_mask(X: Any, name: str) -> None:
    """Raise if X is a masked array with masked values, whose masks NumPy would drop."""
    if np.ma.is_masked(X):
        masked = np.argwhere(np.ma.getmaskarray(X))
        few = "a masked value" if len(masked) == 1 else f"{len(masked)} masked values, the first"
        place = ", ".join(f"{axis} {index}" for axis, index in zip(("row", "column"), masked[0], strict=False))
        raise InputError(f"{name} has {few} at {place}; drop such rows, or impute the values.")


def _check_columns(frame: Any, name: str) -> None:
    """Raise if a data frame has no columns, or columns that NumPy would convert although they are no real numbers."""
    n, p = frame.shape
    if p == 0:
        raise InputError(f"{name} has shape {n} x {p}; pass at least 2 points (rows) and 1 feature.")
    if any(getattr(dtype, "kind", "O") in "mMc" or _is_temporal(dtype) for dtype in frame.dtypes):
        _name_values(frame, name, None)


def _is_temporal(dtype: Any) -> bool:
    """Return whether a type of polars holds dates, times or durations."""
    return bool(hasattr(dtype, "is_temporal") and dtype.is_temporal())


def _check_outline(X: Any, name: str) -> None:
    """Raise if X does not have two dimensions, or holds dates, durations or complex numbers."""
    outline = X if hasattr(X, "dtype") else _as_array(X, name)
    kind, shape = getattr(outline.dtype, "kind", "f"), tuple(getattr(outline, "shape", (0, 0)))
    if kind == "O" and not shape:
        raise InputTypeError(
            f"{name} is of type {type(X).__name__!r}; pass an array with a row for each point and a column for each "
            "feature."
        )
    if len(shape) != 2:
        such = ".reshape(-1, 1) if it is one feature, or .reshape(1, -1) if it is one point"
        such = such if len(shape) < 2 else ".reshape(len(X), -1)"
        raise InputError(f"{name} has shape {shape}, but needs a row for each point. Reshape your data, with {such}.")
    if kind == "O" and any(isinstance(value, TIMES) for value in outline.flat):  # NumPy would convert them
        _name_values(outline, name, None)
    if kind in "mM":
        raise InputTypeError(
            f"{name} holds {outline.dtype} values; encode them as numbers, such as the days since a date."
        )
    if kind == "c":
        raise InputError(
            f"Complex data not supported: {name} holds {outline.dtype} values; pass real numbers, such as the real and "
            "imaginary parts as columns."
        )


def _as_array(X: Any, name: str) -> Any:
    """Return X as an array of any type."""
    try:
        return np.asarray(X)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        lengths = sorted({len(row) for row in X if isinstance(row, Sized)})
        such = f", from {lengths[0]} to {lengths[-1]}" if len(lengths) > 1 else ""
        raise InputError(
            f"{name} has rows of different lengths{such}; give every row one value for each feature."
        ) from error


def _name_values(X: Any, name: str, error: Exception | None) -> None:
    """Name the columns that hold something else than numbers or, if there are none, the first missing value."""
    columns = list(_columns(X))
    others = [(column, _first_other(values)) for column, values in columns]
    if found := [(column, value) for column, value in others if value is not None]:
        is_type_error = isinstance(error, TypeError) and not is_frame(X)
        kind = InputTypeError if is_type_error else InputError
        raise kind(_not_numbers(name, found, f" ({error})" if is_type_error else "")) from error
    for place, (_, values) in enumerate(columns):
        for row, value in enumerate(values):
            if is_missing(value):
                where = place_of(row, place, X if is_frame(X) else None)
                raise InputError(not_finite(name, value, where)) from error


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the names, or numbers, and the values of the columns of a data frame or an array."""
    if is_frame(X):
        for place, name in enumerate(X.columns):
            yield name, X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]
    elif not sparse.issparse(X) and np.asarray(X).dtype.kind not in "biuf":
        yield from enumerate(np.asarray(X, dtype=object).T)


def _first_other(values: Any) -> Any:
    """Return the first value of a column that is neither a number nor missing; None if there is none."""
    is_numeric = getattr(values.dtype, "is_numeric", None)  # polars
    if getattr(values.dtype, "kind", "O") in "biuf" or (is_numeric is not None and is_numeric()):
        return None
    return next((value for value in values if not is_missing(value) and not _is_number(value)), None)


def _not_numbers(name: str, found: list[tuple[Any, Any]], reason: str) -> str:
    """Return an error about columns, each with one of its values."""
    column, value = found[0]
    kind = f"text, such as {str(value)!r}" if isinstance(value, str) else f"{type(value).__name__} objects"
    if len(found) == 1:
        return f"column {column!r} of {name} holds {kind}{reason}; drop the column, or encode it as numbers."
    listed = first_few([other for other, _ in found])
    return (
        f"columns {listed} of {name} do not hold numbers; {column!r} holds {kind}{reason}; drop these columns, or "
        "encode them as numbers."
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, TIMES):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def place_of(row: int, column: int, frame: Any) -> str:
    """Return the place of a value, with the names of the row and the column if a data frame has them."""
    named_row = frame.index[row] if hasattr(frame, "index") else row
    named_column = column if frame is None else repr(frame.columns[column])
    return f" at row {named_row}, column {named_column}"


def not_finite(name: str, value: Any, where: str) -> str:
    """Return an error about a value that is missing or infinite."""
    return f"{name} contains {value}{where}; NaN and infinity are not allowed. Drop such rows, or impute the values."
