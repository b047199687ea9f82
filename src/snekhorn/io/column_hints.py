"""Point out columns that are probably not meant to be features, and labels and orientations that were not declared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from ..colors import DISTINCT
from ..errors import first_few, option_text
from ..geometry.point_blocks import PASS_ROWS_AT_ONCE, PointBlocks
from .table import Table, Wanted, is_number

LABEL_NAMES = (
    *("label", "labels", "class", "classes", "target", "cluster", "clusters", "category", "group", "species"),
    *("type", "celltype", "cell_type", "leiden", "louvain"),
)
GENE_NAMES = ("gene", "genes", "gene_id", "gene_name", "gene_symbol", "symbol", "probe", "probe_id", "ensembl_id")
GENE = r"^ENS[A-Z]*G[0-9]{11}"
DATED = re.compile(r"(date|time|day|year|_at$|^at$|timestamp)", re.IGNORECASE)
MIN_ROWS = 5  # with fewer rows, consecutive numbers may be measurements
MIN_SORTED = 20  # increasing numbers that are row names; doses and times of a small experiment may increase, too
EQUAL_PAIRS = 5.0  # expected number; if lower, distinct counts pass for row numbers, if higher, few numbers do
MOST_CODES = 20  # distinct whole numbers of a column of codes; counts often have more
POINTS_PER_CLASS = 5  # on average; with fewer, a column is not a label
COUNTS_SAMPLE = 200  # rows examined for raw counts
FLAGS = ("true", "TRUE", "True", "false", "FALSE", "False")  # the booleans of Arrow in text
LARGEST_EXACT = 2.0**53  # larger whole numbers are rounded, so that different ids could become equal
WIDE = 10  # columns per row above which the points may be in columns


def column_notes(table: Table, wanted: Wanted) -> tuple[list[str], list[str]]:
    """Return notes about the columns of a dense table whose features were chosen automatically.

    Also return the features that are probably ids, dates or codes.
    """
    X, names = np.asarray(table.X), table.columns
    if len(X) < MIN_ROWS:
        return label_notes(table, wanted, names), []
    dates = [name for j, name in enumerate(names) if _is_dated(name, X[:, j])]
    ids = [
        name
        for j, name in enumerate(names)
        if table.id is None and name not in dates and _names_rows(name, X[:, j], first=j == 0)
    ]
    notes = [
        f"column {name!r} is used as a feature; if it names the rows, pass {option_text('--id', name)}" for name in ids
    ]
    if dates:
        notes.append(
            f"{_columns(dates)} like dates or times; to leave out what is not a feature, pass "
            f"{option_text('--exclude', *dates[:8])}"
        )
    codes = [name for j, name in enumerate(names) if name not in (*ids, *dates) and _has_codes(X[:, j])]
    doubtful = [*ids, *dates]
    if codes and 2 * len(codes) <= len(names) and len(names) - len(codes) - len(doubtful) > 0:
        doubtful += codes
        labels = " or ".join(option_text("--label", name) for name in codes[:8])
        notes.append(
            f"{_columns(codes)} like codes (few distinct whole numbers); for classes, pass {labels}; otherwise, "
            f"consider {option_text('--exclude', *codes[:8])}"
        )
    others = [name for name in names if name not in codes]  # codes have their own note
    return [*notes, *label_notes(table, wanted, others), *_orientation_notes(table)], doubtful


def too_long_integers(table: Table) -> list[str]:
    """Return the features whose whole numbers a float cannot distinguish, unless no other feature would remain."""
    if not table.integers:
        return []
    long = np.zeros(len(table.columns), np.bool_)
    for start in range(0, len(table.X), PASS_ROWS_AT_ONCE):
        long |= (np.abs(table.X[start : start + PASS_ROWS_AT_ONCE]) >= LARGEST_EXACT).any(axis=0)
    integers = set(table.integers)
    found = [name for name, is_long in zip(table.columns, long, strict=True) if is_long and name in integers]
    return found if len(found) < len(table.columns) else []


def long_integers_note(names: list[str]) -> str:
    """Return a note about columns of such numbers, which have become metadata."""
    one = len(names) == 1
    return (
        f"{_columns(names)} like {'an id' if one else 'ids'} (whole numbers beyond 2**53), so "
        f"{'it is not used as a feature' if one else 'they are not used as features'}; if "
        f"{'it names' if one else 'one names'} the rows, pass {option_text('--id', names[0])}"
    )


def unused_notes(table: Table, wanted: Wanted) -> list[str]:
    """Return notes about columns that a reader may take for features, but that are empty, or hold true and false."""
    left = {table.id, table.label, *table.elsewhere}
    empty, flags, late = [], [], []
    for name, column in zip(table.metadata.column_names, table.metadata.columns, strict=True):
        if name in left or any(name == pattern or fnmatchcase(name, pattern) for pattern in wanted.exclude or ()):
            continue
        if column.null_count == len(column):
            empty.append(name)
        elif _is_flag(column):
            flags.append(name)
        elif is_number(column.type):
            late.append(name)
    notes = [f"{_columns(empty, 'is', 'are')} empty, and kept as metadata"] if empty else []
    if flags:
        notes.append(
            f"{_columns(flags, 'holds', 'hold')} true and false, which are not features; to use them as such, write 1 "
            "and 0"
        )
    if late:
        notes.append(f"{_columns(late, 'has', 'have')} no values at the start of the file; kept as metadata")
    return notes


def _is_flag(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds true and false; those of text files are text."""
    if pa.types.is_boolean(column.type):
        return True
    return pa.types.is_string(column.type) and bool(pc.all(pc.is_in(column.drop_null(), pa.array(FLAGS))).as_py())


def counts_note(X: Any) -> str | None:
    """Return a note if X, dense, sparse or in blocks, looks like raw counts, of which a few genes would dominate.

    These are whole numbers of at least 0 with more than two distinct values, among the first rows.
    """
    if isinstance(X, PointBlocks):
        some: Any = X.read(0, min(COUNTS_SAMPLE, X.shape[0]))
    else:
        some = (X if not sparse.issparse(X) or X.format in ("csr", "csc") else X.tocsr())[:COUNTS_SAMPLE]
    values = np.asarray(some.data if sparse.issparse(some) else some)
    if values.dtype.kind not in "biuf":
        return None
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0 or (values != np.round(values)).any():
        return None
    distinct = np.unique(values).size + bool(sparse.issparse(some) and some.nnz < np.prod(some.shape) and values.all())
    if distinct <= 2:  # such as 0 and 1
        return None
    return (
        f"X holds whole numbers up to {values.max():g}, like raw counts, in which a few genes dominate all distances; "
        "run scanpy.pp.normalize_total, scanpy.pp.log1p and scanpy.pp.pca first"
    )


def _columns(names: list[str], one: str = "looks", several: str = "look") -> str:
    return f"column {names[0]!r} {one}" if len(names) == 1 else f"columns {first_few(names)} {several}"


def _names_rows(name: str, x: NDArray[np.float64], *, first: bool) -> bool:
    """Return whether a feature looks like row names: distinct whole numbers, as measurements hardly ever are.

    Some of n measurements are equal if their range has few values: if it has w values, about n(n - 1) / 2w pairs are
    equal by chance, and more if some values are more frequent. Counts of which all are distinct, as in a small table,
    have a wide range. Row numbers have a narrow one, even if they are shuffled or some rows are absent.

    With a wide range, numbers name the rows if they are evenly spaced, if they increase in the first column, or if the
    column is called ...id.
    """
    if not _is_whole(x):
        return False
    known = x[~np.isnan(x)]
    n, n_values = len(known), float(known.max()) - float(known.min()) + 1.0
    if n < MIN_ROWS or n_values < n or len(np.unique(known)) < n:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(known)
        even = bool(np.ptp(steps) == 0.0)
    sorted_first = first and n >= MIN_SORTED and bool((steps > 0.0).all())
    return n * (n - 1) / 2.0 >= EQUAL_PAIRS * n_values or even or sorted_first or name.lower().endswith("id")


def _is_whole(x: NDArray[np.float64]) -> bool:
    """Return whether all known values are whole numbers."""
    start = x[:MIN_ROWS]
    if (start[np.isfinite(start)] % 1.0 > 0.0).any():  # quick answer for most columns
        return False
    known = x[~np.isnan(x)]
    return bool(known.size and np.isfinite(known).all() and not (known % 1.0).any())


def _is_dated(name: str, x: NDArray[np.float64]) -> bool:
    """Return whether a feature is a date as a number: 20240131, or a year or seconds since 1970 by its name."""
    if not _is_whole(x):
        return False
    known = x[~np.isnan(x)]
    low, high = int(known.min()), int(known.max())
    if low >= 19000101 and high <= 21001231:
        known = known.astype(np.int64)  # larger numbers may not fit
        month, day = known // 100 % 100, known % 100
        return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
    if not DATED.search(name):
        return False
    seconds = any(unit * 10**8 <= low and high < unit * 4 * 10**9 for unit in (1, 1_000, 1_000_000, 10**9))
    return seconds or (low >= 1800 and high <= 2200)


def _has_codes(x: NDArray[np.float64]) -> bool:
    if not _is_whole(x):
        return False
    n_values = len(np.unique(x[~np.isnan(x)]))
    return 2 <= n_values <= MOST_CODES and POINTS_PER_CLASS * n_values <= len(x)


def label_notes(table: Table, wanted: Wanted, features: Sequence[str] = ()) -> list[str]:
    """Return notes about columns that are probably labels, if no label was given: among these features and metadata."""
    if wanted.label is not None:
        return []
    notes = [
        f"column {name!r} is used as a feature; if it holds classes, pass {option_text('--label', name)}"
        for name in features
        if name.lower() in LABEL_NAMES
    ]
    for name in table.metadata.column_names:
        n_values = _n_classes(table.metadata.column(name)) if name != table.id else None
        if n_values is not None:
            uses = ["to score how well its groups are separated"]
            if not wanted.colors:
                uses.insert(0, "to colour by it")
            notes.append(
                f"column {name!r} has {n_values} distinct values; pass {option_text('--label', name)} "
                f"{' and '.join(uses)}"
            )
            break
    return notes


def _n_classes(column: pa.ChunkedArray) -> int | None:
    """Return the number of distinct values if there are so few that they are probably classes."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)):
        return None
    n_values = len(column.drop_null().unique())
    few = 2 <= n_values <= len(DISTINCT) and POINTS_PER_CLASS * n_values <= len(column)
    return n_values if few else None


def _orientation_notes(table: Table) -> list[str]:
    """Return a note if the points are probably in columns."""
    texts = [field.name for field in table.metadata.schema if pa.types.is_string(field.type)]
    if not texts:
        return []
    name, (n, p) = texts[0], table.X.shape
    values = table.metadata.column(name)
    genes = name.lower() in GENE_NAMES or bool(pc.all(pc.match_substring_regex(values, GENE)).as_py())
    if genes:
        return [f"column {name!r} seems to hold genes; if the points are in columns, pass --transpose"]
    if p >= WIDE * n:
        return [f"there are {p:,} columns, but only {n:,} rows; if the points are in columns, pass --transpose"]
    return []
