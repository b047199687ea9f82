"""Checks, and the page put together piece by piece, so that no copy of it is ever in memory."""

import difflib
import html
import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..colors import MISSING, N_DISTINCT, OKABE_ITO, categorical, continuous
from ..geometry.inputs import check_finite
from .blocks import write_array
from .columns import MOST_COLORS, write_column
from .scripts import asset, scripts


def write_page(
    file: str | os.PathLike[str] | BinaryIO,
    Z: NDArray[Any],
    metadata: pa.Table | None = None,
    *,
    color: str | None = None,
    ids: str | None = None,
    title: str = "",
    summary: Mapping[str, str] | None = None,
) -> None:
    """Write a two-dimensional layout as one HTML file that needs nothing else.

    Parameters
    ----------
    file : path or binary file
        Where the page goes.
    Z : array of shape (n, 2)
        The layout, kept in single precision.
    metadata : pyarrow.Table, optional
        A row a point: what the page shows of it, colours by, searches and exports.
    color : str, optional
        The column coloured by first; by default the first with 2 to 40 values, else the first of numbers.
    ids : str, optional
        The column that names the points; by default they are numbered from 0.
    title : str
        Shown above the panel and as the name of the window.
    summary : mapping of str to str, optional
        Facts to show beside the layout: method, parameters, scores, warnings.
    """
    Z = _check_layout(Z)
    metadata = _check_metadata(metadata, len(Z))
    for parameter, name in (("color", color), ("ids", ids)):
        _check_column(name, parameter, metadata)
    header = {"n": len(Z), "title": str(title), "summary": [[str(k), str(v)] for k, v in (summary or {}).items()]}
    with _opened(file) as out:
        for piece in _template():
            if piece == "title":
                out.write(html.escape(str(title) or "Layout").encode())
            elif piece == "style":
                out.write(asset("page.css").encode())
            elif piece == "data":
                _write_data(out, Z, metadata, header, color=color, ids=ids)
            elif piece == "scripts":
                for text in scripts():
                    out.write(f"<script>\n{text}\n</script>\n".encode())
            else:
                out.write(piece.encode())


def _check_layout(Z: Any) -> NDArray[np.float32]:
    Z = np.asarray(Z)
    if Z.ndim != 2 or Z.shape[1] != 2 or Z.shape[0] == 0:
        raise ValueError(
            f"Z has shape {Z.shape}, a page shows one or more points in 2 dimensions; pass an array of shape (n, 2)."
        )
    if Z.dtype.kind not in "fiub":
        raise ValueError(f"Z has type {Z.dtype}; pass an array of numbers.")
    check_finite(Z, "Z")
    if (largest := float(np.abs(Z).max())) > float(np.finfo(np.float32).max):
        raise ValueError(f"Z has entries up to {largest:.3g}, too large for single precision; scale Z down.")
    return Z.astype(np.float32)


def _check_metadata(metadata: Any, n: int) -> pa.Table:
    if metadata is None:
        return pa.table({})
    if not isinstance(metadata, pa.Table):
        raise ValueError(
            f"metadata is a {type(metadata).__name__}; pass a pyarrow.Table (pyarrow.Table.from_pandas makes one)."
        )
    if metadata.num_columns and metadata.num_rows != n:
        raise ValueError(f"metadata has {metadata.num_rows} rows for the {n} points of Z; pass one row a point.")
    return metadata


def _check_column(name: Any, parameter: str, metadata: pa.Table) -> None:
    names = metadata.column_names
    if name is None or name in names:
        return
    near = difflib.get_close_matches(str(name), names, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, names)) or 'no columns'}."
    raise ValueError(f"{parameter}={name!r} is no column of metadata; {remedy}")


def _opened(file: Any) -> Any:
    return Path(file).open("wb") if isinstance(file, str | os.PathLike) else nullcontext(file)


def _template() -> list[str]:
    """The page's frame, cut where something goes in; what goes in is never searched for marks."""
    return asset("page.html").replace("{{", "}}").split("}}")


def _write_data(
    out: BinaryIO,
    Z: NDArray[np.float32],
    metadata: pa.Table,
    header: dict[str, Any],
    *,
    color: str | None,
    ids: str | None,
) -> None:
    for axis, key in enumerate("xy"):
        write_array(out, key, Z[:, axis])
    names = metadata.column_names
    columns = []
    for index, name in enumerate(names):
        columns.append({"name": name, **write_column(out, str(index), metadata.column(index))})
    header |= {
        "columns": columns,
        "ids": None if ids is None else names.index(ids),
        "color": _first_color(columns, ids) if color is None else names.index(color),
        "few": OKABE_ITO,
        "many": categorical(N_DISTINCT),
        "scale": continuous(),
        "missing": MISSING,
    }
    text = json.dumps(header, separators=(",", ":")).replace("<", "\\u003c")  # else metadata could end the element
    out.write(f'<script type="application/json" id="header">{text}</script>\n'.encode())


def _first_color(columns: list[dict[str, Any]], ids: str | None) -> int | None:
    """Index of the column to colour by when none is asked for."""
    offered = [(i, column) for i, column in enumerate(columns) if column["name"] != ids]
    classes = (i for i, column in offered if 2 <= column.get("size", 0) <= MOST_COLORS)
    numbers = (i for i, column in offered if column["kind"] != "category")
    return next(classes, next(numbers, None))
