"""Read CSV and TSV files in blocks.

The separator, the header and the decimal mark are detected from the first lines, and Arrow infers from the first block
which columns are numeric. All other columns are read as text, and then converted to numbers and dates, see
`text_columns.py`.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from ..errors import InputError
from .column_choice import matching_columns
from .table import Plan, Table, Wanted, assemble, is_number, plan_columns
from .text_columns import check_first_row, check_text_columns, decimal_mark, not_a_number, with_types

BLOCK_BYTES = 1 << 20  # the reader holds about forty blocks at once, so larger blocks take more memory
LONGEST_LINE = 1 << 25  # characters, enough for a million columns; longer ones take more memory to look at
MIN_ROWS_PER_BLOCK = 4  # blocks grow for long rows, because a row must fit into a block
SEPARATORS = (",", ";", "\t", "|")  # only the first can also be a decimal mark
LONG_INTEGER, ANY_INTEGER = r"\s*[-+]?[0-9]{19,}\s*", pa.decimal256(76)  # which Arrow takes for decimal numbers
SAMPLE_LINES = 200  # lines that show the decimal mark; with fewer, the first values may all be whole numbers
OPEN_QUOTE = ", which may have an opening double quote without a closing one"
UNREADABLE = (pa.ArrowInvalid, OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error)


@dataclass(frozen=True)
class CsvFormat:
    """Format of a file: separator, decimal mark, column names, and the number of lines before the first row."""

    separator: str
    decimal: str
    names: list[str]
    has_header: bool
    n_blank: int
    block_bytes: int
    first_row: list[str]

    @property
    def read_options(self) -> arrow_csv.ReadOptions:
        skipped = self.n_blank + self.has_header
        return arrow_csv.ReadOptions(block_size=self.block_bytes, column_names=self.names, skip_rows=skipped)

    @property
    def parse_options(self) -> arrow_csv.ParseOptions:
        return arrow_csv.ParseOptions(delimiter=self.separator)

    def convert_options(self, types: dict[str, pa.DataType] | None = None) -> arrow_csv.ConvertOptions:
        return arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True, decimal_point=self.decimal)


def read_csv(path: Path, wanted: Wanted) -> Table:
    """Read a CSV or TSV file, plain or compressed."""
    try:
        return _read(path, wanted)
    except UNREADABLE as error:
        reason = _reason_with_line(path, error)
        raise InputError(f"{path} cannot be read as text ({reason}); save it as CSV in UTF-8.") from error


def _read(path: Path, wanted: Wanted) -> Table:
    form = _detect_format(path, wanted)
    plan = plan_columns(path, _guess_schema(path, form, wanted), wanted)
    if not form.has_header:
        plan.notes.append("the first line is data, not a header; columns are called column_1, column_2, ...")
    if form.decimal == ",":
        plan.notes.append("numbers are read with decimal commas")
    try:
        table = assemble(path, _batches(path, form, plan), plan)
    except pa.ArrowInvalid as error:
        raise _explained(path, error, form, plan.features, wanted) from error
    table.lines = partial(_lines_of, path, form)
    if wanted.columns is None and wanted.leading is None:
        excluded = matching_columns(path, wanted.exclude or (), form.names, form.names)
        check_text_columns(path, table, {*excluded, wanted.label}, form=form)
    table.metadata = with_types(table.metadata, {table.id, table.label}, decimal=form.decimal)
    return table


def _detect_format(path: Path, wanted: Wanted) -> CsvFormat:
    lines, n_blank = _first_lines(path)
    first, second = lines[0], lines[1] if len(lines) > 1 else ""
    usual = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    separator = _separator(first, usual)
    fields = next(csv.reader([first], delimiter=separator), [])
    _check_no_comment(path, lines, usual, len(fields))
    if len(fields) < 2 and wanted.columns is None and wanted.leading is None:
        raise InputError(
            f"{path} has only one column, {first.strip()[:40]!r}, but a layout needs at least two numeric columns. "
            "If there are more, separate them with commas, tabs, ; or |, also in the first line, which must hold the "
            "names; to use this one anyway, name it with --columns."
        )
    decimal = "." if separator == "," else decimal_mark(csv.reader(lines, delimiter=separator))
    second_fields = next(csv.reader([second], delimiter=separator), [])
    has_header = _is_header(*([field.replace(decimal, ".") for field in line] for line in (fields, second_fields)))
    if has_header and not second:
        raise InputError(f"{path} has 0 rows below its header; pass a file with points.")
    return CsvFormat(
        separator=separator,
        decimal=decimal,
        names=_column_names(fields) if has_header else [f"column_{i + 1}" for i in range(len(fields))],
        has_header=has_header,
        n_blank=n_blank,
        block_bytes=max(BLOCK_BYTES, MIN_ROWS_PER_BLOCK * len(first.encode())),
        first_row=second_fields if has_header else fields,
    )


def _first_lines(path: Path) -> tuple[list[str], int]:
    """Return the first lines that are not blank, at least two if there are, and the number of blank ones before."""
    lines: list[str] = []
    n_blank = n_characters = 0
    with _open_text(path) as file:
        for line in iter(lambda: file.readline(LONGEST_LINE), ""):
            if line.strip():
                lines.append(line.rstrip("\r\n"))
                n_characters += len(line)
            elif not lines:
                n_blank += 1
            if len(lines) >= SAMPLE_LINES or (len(lines) > 1 and n_characters > BLOCK_BYTES):
                break
    if not lines:
        raise InputError(f"{path} is empty; pass a file with points.")
    if max(map(len, lines)) >= LONGEST_LINE:
        raise InputError(f"{path} has a line of more than {LONGEST_LINE:,} characters; put each point on its own line.")
    return lines, n_blank


def _check_no_comment(path: Path, lines: list[str], usual: str, n_fields: int) -> None:
    """Raise if a comment stands above the column names; a first name may start with # as well."""
    below = next((line for line in lines if not line.startswith("#")), None)
    if not lines[0].startswith("#") or below is None:
        return
    if len(next(csv.reader([below], delimiter=_separator(below, usual)), [])) != n_fields:
        raise InputError(
            f"{path} starts with a comment, {lines[0].strip()[:40]!r}, but the first line must hold the column names; "
            "remove the comment."
        )


def _separator(line: str, usual: str) -> str:
    """Return the most frequent separator of a line; commas between digits are decimal if others separate numbers.

    Text rarely contains tabs, so that they separate columns wherever they are usual.
    """
    if usual == "\t" and usual in line:
        return usual
    for separator in SEPARATORS[1:]:
        if separator in line and all(_is_number_text(field.replace(",", ".", 1)) for field in line.split(separator)):
            return separator
    return max((usual, *SEPARATORS), key=line.count)


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _open_text(path: Path) -> IO[str]:
    if _is_compressed(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _open_bytes(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if _is_compressed(path) else None)


def _is_header(fields: list[str], second: list[str]) -> bool:
    """Return whether the first line holds names: text, or the numbers 0, 1, 2, ... that pandas gives unnamed columns.

    A line with text is still a point if it has decimal numbers, and text only in columns where the next line has text.
    """
    if len(fields) > 2 and fields == [str(i) for i in range(len(fields))]:
        return True
    numbers = [_is_number_text(field) for field in fields]
    decimals = any(number and "." in field for number, field in zip(numbers, fields, strict=True))
    return not (all(numbers) or (decimals and numbers == [_is_number_text(field) for field in second]))


def _column_names(fields: list[str]) -> list[str]:
    """Return the column names; an unnamed first column is an index written by pandas."""
    return ["index" if i == 0 and not name and "index" not in fields else name for i, name in enumerate(fields)]


def _guess_schema(path: Path, form: CsvFormat, wanted: Wanted) -> pa.Schema:
    """Return the names and types of the columns, inferred from the first block."""
    try:
        with (
            _open_bytes(path) as stream,
            arrow_csv.open_csv(stream, form.read_options, form.parse_options, form.convert_options()) as reader,
        ):
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise _explained(path, error, form, [], wanted) from error
    for i, (field, value) in enumerate(zip(schema, form.first_row, strict=False)):
        if pa.types.is_floating(field.type) and re.fullmatch(LONG_INTEGER, value):
            schema = schema.set(i, field.with_type(ANY_INTEGER))
    for i in reversed(range(len(form.names))):
        if form.names[i] == "" and pa.types.is_null(schema.field(i).type):
            schema = schema.remove(i)  # an empty column, because every line ends with a separator
    if not any(is_number(kind) for kind in schema.types):
        check_first_row(path, form)
    if wanted.of_model:  # read features of a model as numbers, so that the error names the bad value
        features = set(wanted.columns or ())
        schema = pa.schema([(f.name, pa.float64() if f.name in features else f.type) for f in schema])
    return schema


def _batches(path: Path, form: CsvFormat, plan: Plan) -> Iterator[pa.RecordBatch]:
    """Read features as numbers and other columns as text, since later blocks may not match the types of the first."""
    features = set(plan.features)
    types = {name: pa.float64() if name in features else pa.string() for name in form.names}
    with (
        _open_bytes(path) as stream,
        arrow_csv.open_csv(stream, form.read_options, form.parse_options, form.convert_options(types)) as reader,
    ):
        yield from reader


def _explained(path: Path, error: Exception, form: CsvFormat, features: list[str], wanted: Wanted) -> InputError:
    """Convert an Arrow error into one that names the line and, if possible, the value."""
    known = set(features)
    places = {i: name for i, name in enumerate(form.names) if name in known}
    rows = _rows(path, form)
    for line, row in rows:
        if len(row) != len(form.names):
            values = "1 value" if len(row) == 1 else f"{len(row)} values"
            hint = OPEN_QUOTE if _may_have_open_quote(row, form.separator) else ""
            return InputError(
                f"{path}: line {line} has {values}, but the first line has {len(form.names)}; fix the line{hint}."
            )
        for i, name in places.items():
            if _is_wrong(row[i], form.decimal):
                n_equal = 1 + sum(i < len(other) and other[i] == row[i] for _, other in rows)
                return not_a_number(path, f"line {line}", name, row[i], of_model=wanted.of_model, n_equal=n_equal)
    return InputError(f"{path} cannot be read: {_reason(error)}; every row needs as many values as the header.")


def _rows(path: Path, form: CsvFormat) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of the lines in which they start; as for Arrow, blank lines are not rows."""
    line = 1
    with _open_text(path) as file:
        reader = csv.reader(file, delimiter=form.separator)
        try:
            for row in reader:
                if row and line > form.n_blank + form.has_header:
                    yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{path}: line {line} cannot be read ({_reason(error)}); fix the line{OPEN_QUOTE}."
            ) from error


def _lines_of(path: Path, form: CsvFormat, rows: Sequence[int]) -> list[int]:
    """Return the numbers of the lines in which rows start, given in increasing order."""
    lines = (line for line, _ in _rows(path, form))
    return [next(islice(lines, step, None)) for step in (rows[0], *(b - a - 1 for a, b in pairwise(rows)))]


def _may_have_open_quote(row: list[str], separator: str) -> bool:
    """Return whether a value has swallowed what follows, as after an opening double quote without a closing one."""
    return separator in row[-1] or any("\n" in value or "\r" in value for value in row)


def _is_wrong(text: str, decimal: str) -> bool:
    """Return whether a value of a feature is neither a number nor missing."""
    if decimal != "." and "." in text:
        return True
    missing = not text.strip() or text.strip() in arrow_csv.ConvertOptions().null_values
    return not missing and not _is_number_text(text.replace(decimal, "."))


def _is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reason_with_line(path: Path, error: Exception) -> str:
    """Return the reason for an error, with the line number of any byte that is not UTF-8."""
    if not isinstance(error, UnicodeDecodeError) or _is_compressed(path):
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
