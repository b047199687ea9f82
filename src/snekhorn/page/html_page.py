"""Write the page piece by piece, so that the whole page is never held in memory."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..colors import DISTINCT, MISSING, OKABE_ITO, continuous, palette_of
from ..errors import InputError, did_you_mean, shown
from ..io.safe_output import opened
from ..runtime.checks import check_count, check_mapping, check_text
from .page_data import smallest_type, write_array, write_block, write_column
from .page_input import check_layouts, check_metadata, numbered, sampled_rows, with_color
from .page_neighbors import DataNeighbors, check_data, data_neighbors
from .thumbnails import Thumbnails, read_thumbnails

FOLDER = files(__package__)

# Points of a page. With more, the page takes many seconds to open without a graphics card, and its file is large; with
# fewer, small groups of a large layout disappear.
MAX_POINTS = 1_000_000

# In order of dependency; they are combined into one function.
SCRIPTS = (
    *("data.js", "images.js", "legend.js", "filters.js", "plot.js", "names.js", "frame_rate.js"),
    *("interaction.js", "details.js", "main.js"),
)

SUGGESTED = 1000  # texts among which a similar one is suggested; comparing with more would take long

AUTO = "auto"  # colour by a column that the page chooses
RECALL = "neighbour recall"  # column for the fraction of neighbours in the data that the layout preserves


def write_page(  # noqa: PLR0913
    file: str | os.PathLike[str] | BinaryIO,
    Z: Any,
    metadata: Any = None,
    *,
    data: Any = None,
    metric: str = "euclidean",
    images: str | Thumbnails | None = None,
    image_folder: str | os.PathLike[str] | None = None,
    color: Any = AUTO,
    ids: str | None = None,
    background: tuple[str, str] | None = None,
    title: str = "",
    summary: Mapping[str, Any] | None = None,
    max_points: int | None = MAX_POINTS,
) -> None:
    """Write a two-dimensional layout, or several of the same points, as one self-contained HTML file.

    If there are more than `max_points` points, the page shows a random sample of them, and says so. The points of
    the background are left out first.

    Parameters
    ----------
    file : path or binary file
        File to write.
    Z : array of shape (n, 2), or mapping of str to such arrays
        The layout, stored in single precision. Several layouts of the same points are keyed by their names, and the
        page switches between them.
    metadata : data frame, table, dict, AnnData or array of shape (n,), optional
        One row per point: the columns to show, colour by, filter, search and export. A pandas or Polars data frame, a
        pyarrow.Table, a dictionary of columns, the `obs` of an AnnData object, or a single column.
    data : array or sparse matrix of shape (n, p), optional
        The points that were laid out. The page then shows the 15 nearest neighbours of each point in the data, and how
        many of them the layout preserves.
    metric : str, default="euclidean"
        Distance between rows of `data`: any metric that scikit-learn supports.
    images : str or Thumbnails, optional
        Column of image files or data URIs, or what `read_thumbnails` has read from it. Thumbnails of up to 128 pixels
        are embedded, of up to 100 MB in total.
    image_folder : path, optional
        Folder that relative paths of images start from. By default, the current folder.
    color : str, array of shape (n,) or None, default="auto"
        Column to colour by initially, gene of an AnnData object, or values, which become a further column; None for
        none. By default, the first column with 2 to 40 distinct values, or else the first numeric column.
    ids : str, optional
        Column that names the points. By default, the index of a pandas data frame; otherwise, points are numbered from
        0.
    background : tuple of str, optional
        Text column and value of the points that are grey and behind the others, whatever the colour, such as the points
        of a layout in which new points have been placed. The legend calls them by the value.
    title : str, default=""
        Title of the page.
    summary : mapping of str to str, or of str to such mappings, optional
        Facts to show next to the layout: method, parameters, scores, warnings. For several layouts, facts about each,
        keyed by its name.
    max_points : int or None, default=1,000,000
        Largest number of points to show; None shows all.
    """
    layouts = check_layouts(Z)
    n = len(next(iter(layouts.values())))
    named = isinstance(color, str) and color != AUTO
    metadata, index = check_metadata(metadata, n, color=color if named else None)
    if color is not None and not isinstance(color, str):
        metadata, color = with_color(metadata, color, n)
    ids = index if ids is None else ids
    chosen = None if color == AUTO and AUTO not in metadata.column_names else color
    _check_columns(metadata, color=chosen, ids=ids, images=None if isinstance(images, Thumbnails) else images)
    behind = None if background is None else _background_points(metadata, background)
    data = None if data is None else check_data(data, n)
    summaries = _summaries(layouts, summary)
    if max_points is not None and n > check_count(max_points, "max_points"):
        rows = sampled_rows(n, max_points, behind)
        layouts = {name: each[rows] for name, each in layouts.items()}
        metadata = metadata.take(pa.array(rows)) if metadata.num_columns else metadata
        data = None if data is None else data[rows]
        images = images.of(rows) if isinstance(images, Thumbnails) else images
        if ids is None:
            metadata, ids = numbered(metadata, rows)
    thumbnails = read_thumbnails(metadata, images, folder=image_folder) if isinstance(images, str) else images
    if thumbnails is not None and thumbnails.inline_column in metadata.column_names:
        metadata = metadata.drop_columns(thumbnails.inline_column)
        _check_columns(metadata, color=chosen, ids=ids, background=background and background[0])
    neighbors = None if data is None else data_neighbors(data, layouts.values(), metric=metric)
    header = {
        "n": len(next(iter(layouts.values()))),
        "total": n,
        "title": str(title),
        "layouts": [{"name": name, "summary": facts} for name, facts in summaries.items()],
    }
    with opened(file) as out:
        for piece in _template():
            if piece == "title":
                out.write(html.escape(str(title) or "Layout").encode())
            elif piece == "style":
                out.write(_asset("page.css").encode())
            elif piece == "data":
                blocks = _write_points(out, layouts, neighbors, thumbnails)
                columns = _write_metadata(out, metadata, neighbors)
                header |= blocks | _describe(columns, color=color, ids=ids, background=background)
                _write_header(out, header)
            elif piece == "scripts":
                for text in _scripts():
                    out.write(f"<script>\n{text}\n</script>\n".encode())
            else:
                out.write(piece.encode())


def _check_columns(metadata: pa.Table, **names: str | None) -> None:
    """Raise if a column does not exist."""
    for parameter, name in names.items():
        if name is None:
            continue
        check_text(name, parameter, "pass the name of a column of metadata")
        if name not in metadata.column_names:
            remedy = did_you_mean(name, metadata.column_names)
            raise InputError(f"{parameter}={name!r} is not a column of metadata; {remedy}")


def _background_points(metadata: pa.Table, background: Any) -> NDArray[np.bool_]:
    """Return whether each point is shown behind the others; raise if none is."""
    if not isinstance(background, tuple | list) or len(background) != 2:
        raise InputError(
            f"background must be (column, value), got {shown(background)}; pass a text column and a value of it."
        )
    name, value = background
    _check_columns(metadata, background=name)
    column = metadata.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise InputError(f"background={background!r}, but column {name!r} has type {kind}; pass a column of text.")
    texts = column.cast(kind).cast(pa.string())
    behind = np.asarray(pc.fill_null(pc.equal(texts, str(value)), fill_value=False))
    if not isinstance(value, str) or not behind.any():
        remedy = did_you_mean(str(value), texts.unique().drop_null()[:SUGGESTED].to_pylist())
        raise InputError(f"background={background!r}, but column {name!r} has no text {value!r}; {remedy}")
    return behind


def _summaries(layouts: Iterable[str], summary: Mapping[str, Any] | None) -> dict[str, list[list[str]]]:
    """Return the facts about each layout, as pairs of texts."""
    summary = check_mapping({} if summary is None else summary, "summary", "pass facts by their names")
    each = any(isinstance(facts, Mapping) for facts in summary.values())
    if each and (unknown := set(summary) - set(layouts)):
        remedy = did_you_mean(str(min(unknown)), layouts)
        raise InputError(f"summary has facts about {min(unknown)!r}, which is not a layout; {remedy}")
    facts = {name: summary.get(name, {}) if each else summary for name in layouts}
    return {name: [[str(k), str(v)] for k, v in found.items()] for name, found in facts.items()}


def sample_note(n: int, *, n_new: int = 0) -> str | None:
    """Return a note that the page shows a sample, if n points, of which some are new, are too many for it."""
    if n <= MAX_POINTS:
        return None
    new = f", with all {n_new:,} new points" if 0 < n_new <= MAX_POINTS else ""
    return f"the page shows a random sample of {MAX_POINTS:,} of the {n:,} points{new}"


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


def _write_points(
    out: BinaryIO,
    layouts: Mapping[str, NDArray[np.float32]],
    neighbors: DataNeighbors | None,
    thumbnails: Thumbnails | None,
) -> dict[str, Any]:
    """Write coordinates, neighbours and thumbnails, and return what the page needs to read them."""
    for number, Z in enumerate(layouts.values()):
        for axis, key in enumerate("xy"):
            write_array(out, f"{key}-{number}", Z[:, axis])
    header: dict[str, Any] = {"neighbors": None, "images": None}
    if neighbors is not None:
        indices = neighbors.indices.astype(smallest_type(len(neighbors.indices)))
        write_array(out, "neighbors", indices.ravel())
        header["neighbors"] = {"k": indices.shape[1], "type": indices.dtype.str[1:]}
        for number, preserved in enumerate(neighbors.preserved):
            write_array(out, f"preserved-{number}", preserved)
    if thumbnails is not None:
        write_block(out, "images", thumbnails.images)
        write_array(out, "image-ends", thumbnails.ends)
        write_array(out, "image-codes", thumbnails.codes)
        header["images"] = len(thumbnails.images)
    return header


def _write_metadata(out: BinaryIO, metadata: pa.Table, neighbors: DataNeighbors | None) -> list[dict[str, Any]]:
    """Write the metadata, and return the descriptions of the columns; the recall of neighbours is the last one."""
    columns = [
        {"name": name, **write_column(out, str(index), metadata.column(index), palette_of(metadata, name))}
        for index, name in enumerate(metadata.column_names)
    ]
    if neighbors is not None:
        columns.append({"name": RECALL, "kind": "recall", "type": "f4", "scale": [0, 0, 1, 1]})
    return columns


def _describe(
    columns: list[dict[str, Any]], *, color: str | None, ids: str | None, background: tuple[str, str] | None
) -> dict[str, Any]:
    """Return the part of the header about columns and colours."""
    names = [column["name"] for column in columns]
    behind = None if background is None else {"column": names.index(background[0]), "value": background[1]}
    return {
        "columns": columns,
        "ids": None if ids is None else names.index(ids),
        "color": None if color is None else names.index(color) if color in names else _first_color(columns, ids),
        "background": behind,
        "few": OKABE_ITO,
        "many": DISTINCT,
        "scale": continuous(),
        "missing": MISSING,
    }


def _write_header(out: BinaryIO, header: dict[str, Any]) -> None:
    text = json.dumps(header, separators=(",", ":")).replace("<", "\\u003c")  # "</script>" would end the element
    out.write(f'<script type="application/json" id="header">{text}</script>\n'.encode())


def _first_color(columns: list[dict[str, Any]], ids: str | None) -> int | None:
    """Return the index of the column to colour by if the user did not choose one."""
    offered = [(i, column) for i, column in enumerate(columns) if column["name"] != ids]
    classes = (i for i, column in offered if 2 <= column.get("size", 0) <= len(DISTINCT))
    numbers = (i for i, column in offered if column["kind"] in ("number", "time", "duration"))
    return next(classes, next(numbers, None))
