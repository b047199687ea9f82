"""Check the input and write the page piece by piece, so that the whole page is never held in memory."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..colors import DISTINCT, MISSING, OKABE_ITO, continuous
from ..errors import InputError, did_you_mean
from ..geometry.inputs import check_finite
from ..runtime.checks import check_count
from .page_data import write_array, write_column

FOLDER = files(__package__)

# Points of a page. With more, the page takes many seconds to open without a graphics card, and its file is large; with
# fewer, small groups of a large layout disappear.
MAX_POINTS = 1_000_000

# In order of dependency; they are combined into one function.
SCRIPTS = ("data.js", "legend.js", "plot.js", "frame_rate.js", "interaction.js", "main.js")


def write_page(
    file: str | os.PathLike[str] | BinaryIO,
    Z: NDArray[Any],
    metadata: pa.Table | None = None,
    *,
    color: str | None = None,
    ids: str | None = None,
    title: str = "",
    summary: Mapping[str, str] | None = None,
    max_points: int | None = MAX_POINTS,
) -> None:
    """Write a two-dimensional layout as one self-contained HTML file.

    If there are more than `max_points` points, the page shows a random sample of them, and says so.

    Parameters
    ----------
    file : path or binary file
        File to write.
    Z : array of shape (n, 2)
        The layout, stored in single precision.
    metadata : pyarrow.Table, optional
        One row per point: the columns to show, colour by, search and export.
    color : str, optional
        Column to colour by initially. By default, the first column with 2 to 40 distinct values, or else the first
        numeric column.
    ids : str, optional
        Column that names the points. By default, points are numbered from 0.
    title : str, default=""
        Title of the page.
    summary : mapping of str to str, optional
        Facts to show next to the layout: method, parameters, scores, warnings.
    max_points : int or None, default=1,000,000
        Largest number of points to show; None shows all.
    """
    Z = _check_layout(Z)
    metadata = _check_metadata(metadata, len(Z))
    for parameter, name in (("color", color), ("ids", ids)):
        if name is not None and name not in metadata.column_names:
            remedy = did_you_mean(str(name), metadata.column_names)
            raise InputError(f"{parameter}={name!r} is not a column of metadata; {remedy}")
    total = len(Z)
    if max_points is not None and total > check_count(max_points, "max_points"):
        Z, metadata, ids = _sample(Z, metadata, ids, max_points)
    header = {
        "n": len(Z),
        "total": total,
        "title": str(title),
        "summary": [[str(k), str(v)] for k, v in (summary or {}).items()],
    }
    with _opened(file) as out:
        for piece in _template():
            if piece == "title":
                out.write(html.escape(str(title) or "Layout").encode())
            elif piece == "style":
                out.write(_asset("page.css").encode())
            elif piece == "data":
                _write_data(out, Z, metadata, header, color=color, ids=ids)
            elif piece == "scripts":
                for text in _scripts():
                    out.write(f"<script>\n{text}\n</script>\n".encode())
            else:
                out.write(piece.encode())


def _check_layout(Z: Any) -> NDArray[np.float32]:
    Z = np.asarray(Z)
    if Z.ndim != 2 or Z.shape[1] != 2 or Z.shape[0] == 0:
        raise InputError(f"Z has shape {Z.shape}, but the page is 2-dimensional; pass an array of shape (n, 2).")
    if Z.dtype.kind not in "fiub":
        raise InputError(f"Z has type {Z.dtype}; pass an array of numbers.")
    check_finite(Z, "Z")
    if (largest := float(np.abs(Z).max())) > float(np.finfo(np.float32).max):
        raise InputError(
            f"Z has entries as large as {largest:.3g} in absolute value, too large for single precision; scale Z down."
        )
    return np.asarray(Z, dtype=np.float32)


def _check_metadata(metadata: Any, n: int) -> pa.Table:
    if metadata is None:
        return pa.table({})
    if not isinstance(metadata, pa.Table):
        raise InputError(
            f"metadata has type {type(metadata).__name__}; pass a pyarrow.Table, e.g. from pyarrow.Table.from_pandas."
        )
    if metadata.num_columns and metadata.num_rows != n:
        raise InputError(f"metadata has {metadata.num_rows} rows for the {n} points of Z; pass one row per point.")
    return metadata


def sample_note(n: int) -> str | None:
    """Return a note that the page shows a sample, if n points are too many for it."""
    return f"the page shows a random sample of {MAX_POINTS:,} of the {n:,} points" if n > MAX_POINTS else None


def _sample(
    Z: NDArray[np.float32], metadata: pa.Table, ids: str | None, size: int
) -> tuple[NDArray[np.float32], pa.Table, str]:
    """Draw some points, always the same; if no column names them, add one with their row numbers."""
    rows = np.sort(np.random.default_rng(0).choice(len(Z), size, replace=False))
    metadata = metadata.take(pa.array(rows)) if metadata.num_columns else metadata
    if ids is None:
        ids = "row"
        while ids in metadata.column_names:
            ids = f"input_{ids}"
        numbers = pa.array(rows)
        metadata = metadata.append_column(ids, numbers) if metadata.num_columns else pa.table({ids: numbers})
    return Z[rows], metadata, ids


def _opened(file: str | os.PathLike[str] | BinaryIO) -> AbstractContextManager[BinaryIO]:
    return Path(file).open("wb") if isinstance(file, str | os.PathLike) else nullcontext(file)


def _template() -> list[str]:
    """Split the page template at its placeholders; user-supplied text is never searched for placeholders."""
    return _asset("page.html").replace("{{", "}}").split("}}")


def _asset(name: str) -> str:
    return (FOLDER / "assets" / name).read_text(encoding="utf-8")


def _vendored(name: str) -> str:
    return (FOLDER / "vendor" / name).read_text(encoding="utf-8")


def _scripts() -> list[str]:
    """Return the scripts of the page in order; vendored scripts include their licences."""
    own = "\n".join(_asset(name) for name in SCRIPTS)
    return [
        _licence("pub-sub-es") + _pub_sub(),
        _licence("regl") + _vendored("regl.min.js"),
        _licence("regl-scatterplot") + _licence("bundled") + _vendored("regl-scatterplot.min.js"),
        f"(() => {{\n{own}\n}})();",
    ]


def _licence(name: str) -> str:
    return f"/*! {name}\n{_vendored(f'LICENSE.{name}')}*/\n"


def _pub_sub() -> str:
    """Return pub-sub-es as a plain script, with a dummy channel, because pages do not communicate."""
    body = re.sub(r"^export .*$", "", _vendored("pub-sub-es.js"), flags=re.MULTILINE)
    dummy = "{ BroadcastChannel: class { postMessage() {} } }"
    return f"globalThis.createPubSub = ((window) => {{\n{body}\nreturn createPubSub;\n}})({dummy});"


def _write_data(
    out: BinaryIO,
    Z: NDArray[np.float32],
    metadata: pa.Table,
    header: dict[str, Any],
    *,
    color: str | None,
    ids: str | None,
) -> None:
    """Write coordinates and metadata, then the header that describes them."""
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
        "many": DISTINCT,
        "scale": continuous(),
        "missing": MISSING,
    }
    text = json.dumps(header, separators=(",", ":")).replace("<", "\\u003c")  # "</script>" would end the element
    out.write(f'<script type="application/json" id="header">{text}</script>\n'.encode())


def _first_color(columns: list[dict[str, Any]], ids: str | None) -> int | None:
    """Return the index of the column to colour by if the user did not choose one."""
    offered = [(i, column) for i, column in enumerate(columns) if column["name"] != ids]
    classes = (i for i, column in offered if 2 <= column.get("size", 0) <= len(DISTINCT))
    numbers = (i for i, column in offered if column["kind"] != "category")
    return next(classes, next(numbers, None))
