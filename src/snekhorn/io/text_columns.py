"""Interpret columns of text: decimal marks, numbers that can be stored without loss, and ISO dates and times."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from .table import Table

if TYPE_CHECKING:
    from .csv_files import CsvFormat

NUMBER = r"^\s*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?\s*$"
DECIMAL = {
    ".": r"^\s*[-+]?[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?\s*$",
    ",": r"^\s*[-+]?[0-9.]*,[0-9]+([eE][-+]?[0-9]+)?\s*$",
}
# By decimal mark, in the syntax of Arrow. The first group of digits starts with 1 to 9: "0,123" has no thousands.
THOUSANDS = {
    ".": r"^\s*[-+]?[1-9][0-9]{0,2}([, '\x{2019}\x{a0}\x{202f}][0-9]{3})+([.][0-9]+)?\s*$",
    ",": r"^\s*[-+]?[1-9][0-9]{0,2}([. '\x{2019}\x{a0}\x{202f}][0-9]{3})+(,[0-9]+)?\s*$",
}
MOSTLY = 0.9  # share of numbers in a column above which the remaining text is treated as a mistake
# Text that can be stored as a number without loss; '007' and '1E2' are treated as names.
LOSSLESS_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
LOSSLESS_DECIMAL = r"^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[-+]?[0-9]+)?$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?"
ZONE = r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)$"
UNITS = ("s", "ms", "us", "ns")


def decimal_mark(lines: Iterable[list[str]]) -> str:
    """Return the decimal mark of most values that have one, in a file that is not separated by commas."""
    fields = [field for line in lines for field in line]
    commas, points = (sum(bool(re.match(DECIMAL[mark], field)) for field in fields) for mark in (",", "."))
    return "," if commas > points else "."


def check_text_columns(path: Path, table: Table, others: Collection[str | None], *, form: CsvFormat) -> None:
    """Raise if a column that was read as text is mostly numeric, unless it is the id or one of the others.

    If commas separate the columns, numbers with a decimal comma would be quoted, and more often are lists.
    """
    problems = {"thousands separators": THOUSANDS[form.decimal]}
    if form.separator != ",":
        other, word = (".", "points") if form.decimal == "," else (",", "commas")
        problems[f"decimal {word}"] = DECIMAL[other]
    for name in table.metadata.column_names:
        column = table.metadata.column(name)
        if name == table.id or name in others or not pa.types.is_string(column.type):
            continue
        for problem, pattern in problems.items():
            matched = pc.match_substring_regex(column, pattern)
            if (pc.mean(matched).as_py() or 0.0) >= MOSTLY:
                raise wrong_marks(path, name, column.filter(matched)[0].as_py(), problem)
        numbers = pc.match_substring_regex(pc.replace_substring(column, form.decimal, "."), NUMBER)
        share = pc.mean(numbers).as_py()
        if share is not None and MOSTLY <= share < 1.0:
            row = pc.index(numbers, False).as_py()
            value = column[row].as_py()
            n_equal = pc.sum(pc.equal(column, value)).as_py()
            raise not_a_number(path, table.place(row), name, value, of_model=False, n_equal=n_equal)


def with_types(table: pa.Table, names: Collection[str | None], *, decimal: str) -> pa.Table:
    """Convert text columns to numbers or, unless they are among `names`, to dates, if that is lossless.

    '1.10' next to '1.1' stays text.
    """
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        converted = _as_numbers(column, decimal)
        if converted is None and name not in names:
            converted = _as_times(column)
        if converted is not None:
            table = table.set_column(i, name, converted)
    return table


def _as_numbers(column: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray | None:
    text = column if decimal == "." else pc.replace_substring(column, decimal, ".")
    for kind, pattern in ((pa.int64(), LOSSLESS_INTEGER), (pa.float64(), LOSSLESS_DECIMAL)):
        if pc.all(pc.match_substring_regex(text, pattern)).as_py():
            numbers = text.cast(kind)
            return numbers if pc.count_distinct(numbers).as_py() == pc.count_distinct(column).as_py() else None
    return None


def _as_times(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Convert ISO dates, or dates with times; return None for other text, and for days that do not exist."""
    if pc.all(pc.match_substring_regex(column, DATE)).as_py():
        return _cast(column, [pa.date32()])
    if pc.all(pc.match_substring_regex(column, TIME + "$")).as_py():
        return _cast(column, [pa.timestamp(unit) for unit in UNITS])
    if pc.all(pc.match_substring_regex(column, TIME + ZONE)).as_py():
        return _cast(column, [pa.timestamp(unit, "UTC") for unit in UNITS])
    return None


def _cast(column: pa.ChunkedArray, kinds: list[pa.DataType]) -> pa.ChunkedArray | None:
    """Convert to the first type that holds all values."""
    for kind in kinds:
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def check_first_row(path: Path, form: CsvFormat) -> None:
    """Raise if a value of the first row has thousands separators."""
    values = pa.array(form.first_row[: len(form.names)], pa.string())
    at = pc.index(pc.match_substring_regex(values, THOUSANDS[form.decimal]), True).as_py()
    if at >= 0:
        raise wrong_marks(path, form.names[at], form.first_row[at], "thousands separators")


def wrong_marks(path: Path, name: str, value: str, problem: str) -> InputError:
    """Return an error about numbers that were read as text."""
    remedy = "remove them" if problem.startswith("thousands") else "use the same decimal mark in all columns"
    return InputError(
        f"{path} has {problem} in column {name!r}, such as {value.strip()}; {remedy}, or leave out the column with "
        "--exclude."
    )


def not_a_number(path: Path, place: str, name: str, value: str, *, of_model: bool, n_equal: int = 1) -> InputError:
    """Return an error about a value of a numeric column that is text, and that the column has so many times."""
    alternative = "" if of_model else ", or leave out the column with --exclude"
    if n_equal == 1:
        problem = f"the value in {place}, column {name!r} is {value!r}, which is not a number; fix it"
    else:
        problem = (
            f"{n_equal:,} values of column {name!r} are {value!r}, which is not a number, the first in {place}; if "
            "they are missing, replace them by empty cells"
        )
    return InputError(f"{path}: {problem}{alternative}.")
