"""CSV and TSV, read in blocks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from .errors import InputError
from .table import Table, Wanted, assemble, plan_columns

BLOCK_BYTES = 1 << 20  # the reader holds some forty of them
SEPARATORS = (",", ";", "\t", "|")


def read_delimited(path: Path, wanted: Wanted) -> Table:
    """A table of text: the separator of a .csv is found in its first line, as is a header."""
    first, alone = _first_line(path)
    separator = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else max(SEPARATORS, key=first.count)
    cells = next(csv.reader([first], delimiter=separator), [])
    if len(cells) < 2 and wanted.columns is None:
        raise InputError(
            f"{path} has one column, {first.strip()[:40]!r}; a layout needs at least two of numbers. "
            "If there are more, separate them by commas, or name the one with --columns."
        )
    header = not all(map(_is_number_text, cells))
    if header and alone:
        raise InputError(f"{path} has 0 rows below its header; there is nothing to lay out.")
    names = cells if header else [f"column_{i + 1}" for i in range(len(cells))]
    read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=int(header))
    parse = arrow_csv.ParseOptions(delimiter=separator)
    guess = _schema(path, read, parse)
    plan = plan_columns(path, guess, wanted)
    if not header:
        plan.notes.append("the first line is made of numbers: no header, columns are called column_1, column_2, ...")
    # Types are guessed from the first block, which need not be like the others: numbers are read as such, all
    # else as the text it is.
    types = {name: pa.float64() if name in plan.features else pa.string() for name in names}
    convert = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    try:
        return assemble(path, _batches(path, read, parse, convert), plan)
    except pa.ArrowInvalid as error:
        raise _explained(path, error, separator, {names.index(name): name for name in plan.features}, header) from error


def _first_line(path: Path) -> tuple[str, bool]:
    """The first line with something in it, and whether it is the only one."""
    try:
        with _open_text(path) as file:
            lines = (line.rstrip("\r\n") for line in file if line.strip())
            first, alone = next(lines, ""), next(lines, None) is None
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} is not a text file, as its suffix says ({error}); save it as UTF-8.") from error
    if not first:
        raise InputError(f"{path} is empty; there is nothing to lay out.")
    return first, alone


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _schema(path: Path, read: Any, parse: Any) -> pa.Schema:
    """Names and types, from the first block."""
    try:
        with pa.input_stream(str(path)) as stream, arrow_csv.open_csv(stream, read, parse) as reader:
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is not a table of text, as its suffix says ({_reason(error)}).") from error
    return schema


def _batches(path: Path, read: Any, parse: Any, convert: Any) -> Iterator[pa.RecordBatch]:
    with pa.input_stream(str(path)) as stream, arrow_csv.open_csv(stream, read, parse, convert) as reader:
        yield from reader


def _explained(path: Path, error: Exception, separator: str, features: dict[int, str], header: bool) -> InputError:  # noqa: FBT001
    """The error of the reader, with the cell that made it where it can be found."""
    with _open_text(path) as file:
        rows = csv.reader(file, delimiter=separator)
        for n_row, row in enumerate(rows, start=0 if header else 1):
            for j, name in features.items():
                if n_row and j < len(row) and row[j].strip() and not _is_number_text(row[j]) and not _is_null(row[j]):
                    return InputError(
                        f"{path}: row {n_row}, column {name!r} holds {row[j]!r} among numbers; mend the cell, or "
                        "choose the columns to lay out with --columns."
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


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")[:200]
