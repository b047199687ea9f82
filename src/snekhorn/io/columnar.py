"""Parquet and Arrow files, read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

from .table import Plan, Table, Wanted, assemble, plan_columns
from .unreadable import unlike

ROWS_AT_ONCE = 1 << 16


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """A Parquet file."""
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise unlike(path, "Parquet", error) from error
    with file:
        plan = plan_columns(path, file.schema_arrow, wanted)
        columns = [*plan.features, *plan.metadata]
        return _assembled(path, file.iter_batches(ROWS_AT_ONCE, columns=columns), plan, "Parquet")


def read_arrow(path: Path, wanted: Wanted) -> Table:
    """An Arrow (Feather) file or stream."""
    with pa.memory_map(str(path)) as source:
        try:
            reader = ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:
            source.seek(0)
            try:
                batches = iter(reader := ipc.open_stream(source))
            except (pa.ArrowInvalid, OSError) as error:
                raise unlike(path, "Arrow", error) from error
        return _assembled(path, batches, plan_columns(path, reader.schema, wanted), "Arrow")


def _assembled(path: Path, batches: Iterator[pa.RecordBatch], plan: Plan, kind: str) -> Table:
    try:
        return assemble(path, batches, plan)
    except (pa.ArrowInvalid, OSError) as error:
        raise unlike(path, kind, error) from error
