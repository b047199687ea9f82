"""CSV and TSV, read in blocks."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from ..errors import InputError
from .table import Table, Wanted, assemble, is_number, plan_columns, tighten

BLOCK_BYTES = 1 << 20  # the reader holds some forty of them; a row must fit into one
ROWS_PER_BLOCK = 4  # at least, of rows as long as the first
UNREADABLE = (pa.ArrowInvalid, OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error)
SEPARATORS = (",", ";", "\t", "|")
NUMBER = r"^\s*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?\s*$"
MOSTLY = 0.9  # share of numbers from which on a cell of text is a mistake
DECIMAL_COMMA = r"^\s*[-+]?[0-9.]*,[0-9]+([eE][-+]?[0-9]+)?\s*$"


def read_delimited(path: Path, wanted: Wanted) -> Table:
    """A table of text: the separator of a .csv is found in its first line, as is a header."""
    try:
        return _read(path, wanted)
    except UNREADABLE as error:
        raise InputError(
            f"{path} cannot be read as text ({_line_of(path, error)}); save it as CSV in UTF-8."
        ) from error


def _read(path: Path, wanted: Wanted) -> Table:
    first, blank, below = _first_line(path)
    separator = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else max(SEPARATORS, key=first.count)
    cells = next(csv.reader([first], delimiter=separator), [])
    if len(cells) < 2 and wanted.columns is None:
        raise InputError(
            f"{path} has one column, {first.strip()[:40]!r}; a layout needs at least two of numbers. "
            "If there are more, separate them by commas, or name the one with --columns."
        )
    second = next(csv.reader([below], delimiter=separator), [])
    header = _is_header(cells, second)
    if header and not below:
        raise InputError(f"{path} has 0 rows below its header; there is nothing to lay out.")
    names = _names(cells) if header else [f"column_{i + 1}" for i in range(len(cells))]
    block = max(BLOCK_BYTES, ROWS_PER_BLOCK * len(first.encode()))
    read = arrow_csv.ReadOptions(block_size=block, column_names=names, skip_rows=blank + header)
    parse = arrow_csv.ParseOptions(delimiter=separator)
    try:
        guess = _schema(path, read, parse)
    except pa.ArrowInvalid as error:
        raise _explained(path, error, separator, {}, wanted, n_columns=len(names), header=header) from error
    for place in [i for i, name in enumerate(names) if name == "" and pa.types.is_null(guess.field(i).type)][::-1]:
        guess = guess.remove(place)  # a separator at the end of every line
    if not any(is_number(kind) for kind in guess.types):
        for name, cell in zip(names, second, strict=False):
            if separator == ";" and re.match(DECIMAL_COMMA, cell):
                raise _decimal_commas(path, name, cell)
    if wanted.of_model:  # whose columns are numbers: one that does not look so has a cell to be named
        columns = set(wanted.columns or ())
        guess = pa.schema([(f.name, pa.float64() if f.name in columns else f.type) for f in guess])
    plan = plan_columns(path, guess, wanted)
    if not header:
        plan.notes.append("the first line is a point, not a header: columns are called column_1, column_2, ...")
    # Types are guessed from the first block, which need not be like the others: numbers are read as such, all
    # else as the text it is.
    features = set(plan.features)
    types = {name: pa.float64() if name in features else pa.string() for name in names}
    convert = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    try:
        table = assemble(path, _batches(path, read, parse, convert), plan)
    except pa.ArrowInvalid as error:
        places = {place: name for place, name in enumerate(names) if name in features}
        raise _explained(path, error, separator, places, wanted, n_columns=len(names), header=header) from error
    if wanted.columns is None and wanted.leading is None:
        _check_mixed(path, table, commas=separator == ";")
    table.metadata = tighten(table.metadata)
    return table


def _decimal_commas(path: Path, name: str, cell: str) -> InputError:
    return InputError(
        f"{path} has decimal commas, {cell.strip()} in column {name!r}; write them as points, or choose the columns to "
        "lay out with --columns."
    )


def _names(cells: list[str]) -> list[str]:
    """Names of the columns; the first is the index that pandas writes where it has none."""
    return ["index" if place == 0 and not name and "index" not in cells else name for place, name in enumerate(cells)]


def _check_mixed(path: Path, table: Table, *, commas: bool) -> None:
    """Raise where a column that was taken for text is nearly all numbers, perhaps with decimal commas."""
    for name in table.metadata.column_names:
        column = table.metadata.column(name)
        if name in (table.id, table.label) or not pa.types.is_string(column.type):
            continue
        if commas and (pc.mean(pc.match_substring_regex(column, DECIMAL_COMMA)).as_py() or 0.0) >= MOSTLY:
            raise _decimal_commas(path, name, pc.drop_null(column)[0].as_py())
        numbers = pc.match_substring_regex(column, NUMBER)
        share = pc.mean(numbers).as_py()
        if share is not None and MOSTLY <= share < 1.0:
            row = pc.index(numbers, False).as_py()
            raise InputError(
                f"{path}: row {row + 1}, column {name!r} holds {column[row].as_py()!r} among numbers; mend it, or "
                "choose the columns to lay out with --columns."
            )


def _is_header(cells: list[str], second: list[str]) -> bool:
    """Whether a first line holds names: text, or the numbers 0, 1, 2, ... that pandas gives columns without any.

    A line with text may still be a point: one with decimal numbers, and text where the next line has text, too.
    """
    if len(cells) > 2 and cells == [str(i) for i in range(len(cells))]:
        return True
    numbers = [_is_number_text(cell) for cell in cells]
    decimals = any(number and "." in cell for number, cell in zip(numbers, cells, strict=True))
    return not (all(numbers) or (decimals and numbers == [_is_number_text(cell) for cell in second]))


def _first_line(path: Path) -> tuple[str, int, str]:
    """The first line with something in it, how many blank ones are above, and the next one."""
    with _open_text(path) as file:
        lines = ((place, line.rstrip("\r\n")) for place, line in enumerate(file) if line.strip())
        blank, first = next(lines, (0, ""))
        _, below = next(lines, (0, ""))
    if not first:
        raise InputError(f"{path} is empty; there is nothing to lay out.")
    return first, blank, below


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _schema(path: Path, read: Any, parse: Any) -> pa.Schema:
    """Names and types, from the first block."""
    with pa.input_stream(str(path)) as stream, arrow_csv.open_csv(stream, read, parse) as reader:
        return reader.schema


def _batches(path: Path, read: Any, parse: Any, convert: Any) -> Iterator[pa.RecordBatch]:
    with pa.input_stream(str(path)) as stream, arrow_csv.open_csv(stream, read, parse, convert) as reader:
        yield from reader


def _explained(
    path: Path,
    error: Exception,
    separator: str,
    features: dict[int, str],
    wanted: Wanted,
    *,
    n_columns: int,
    header: bool,
) -> InputError:
    """The error of the reader, with the cell that made it where it can be found."""
    with _open_text(path) as file:
        rows = (row for row in csv.reader(file, delimiter=separator) if row)  # blank lines are no rows
        for n_row, row in enumerate(rows, start=0 if header else 1):
            if n_row and len(row) != n_columns:
                return InputError(
                    f"{path}: row {n_row} has {len(row)} cells and the first line {n_columns}; every row needs as many."
                )
            for j, name in features.items():
                if n_row and j < len(row) and row[j].strip() and not _is_number_text(row[j]) and not _is_null(row[j]):
                    rest = "" if wanted.of_model else ", or choose the columns to lay out with --columns"
                    return InputError(
                        f"{path}: row {n_row}, column {name!r} holds {row[j]!r} among numbers; mend the cell{rest}."
                    )
    return InputError(f"{path} cannot be read: {_reason(error)}; every row needs as many cells as the header.")


def _is_null(text: str) -> bool:
    return text.strip() in arrow_csv.ConvertOptions().null_values


def _is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line_of(path: Path, error: Exception) -> str:
    """The reason, with the line it is about where that can be told."""
    if not isinstance(error, UnicodeDecodeError) or path.suffix == ".gz":
        return _reason(error)
    with open(path, "rb") as file:
        for n_line, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as wrong:
                return f"line {n_line}: byte 0x{line[wrong.start]:02x} is not UTF-8"
    return _reason(error)


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")[:200]
