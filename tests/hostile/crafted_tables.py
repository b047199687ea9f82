"""Tables that no damage would make: files that a library accepts, and whose contents would mislead it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import ipc

from .crafted_models import archive_of, npy, npy_head
from .good_files import N, P, points

GENE = 1  # column of the gene by which the worker colours


def crafted_tables(h5ad: bytes, with_raw: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Yield the suffix, a description and the content of files that must all be refused.

    `h5ad` has a sparse X, and `with_raw` also has X_pca and raw.
    """
    yield from _sparse_archives()
    yield from _arrays()
    yield from _texts()
    yield from _arrow_files()
    yield from _cells(h5ad)
    yield from _genes(with_raw)


def _sparse_archives() -> Iterator[tuple[str, str, bytes]]:
    indptr, columns = np.arange(0, N * P + 1, P), np.tile(np.arange(P), N)
    good = {"format": b"csr", "shape": (N, P), "data": np.ones(N * P), "indices": columns, "indptr": indptr}
    far, low, back = columns.copy(), columns.copy(), indptr.copy()
    far[7], low[7], back[3] = 10**8, -(10**7), 10**7
    wrong = {
        "indices beyond the columns": {"indices": far},
        "negative indices": {"indices": low},
        "row starts beyond the entries": {"indptr": back},
        "row starts that decrease": {"indptr": indptr[::-1].copy()},
        "too few row starts": {"indptr": indptr[:5]},
        "too few values": {"data": np.ones(3)},
        "indices that are not whole": {"indices": columns + 0.5},
        "a shape of one number": {"shape": (N,)},
        "a trillion columns": {"shape": (N, 10**12)},
        "a trillion rows": {"shape": (10**12, P)},
        "a negative shape": {"shape": (-N, -P)},
        "an unknown format": {"format": b"xyz"},
        "a method for a format": {"format": b"is"},
        "BSR with broken blocks": {"format": b"bsr", "data": np.ones((N * P, 3, 3)), "indices": far},
        "DIA without offsets": {"format": b"dia", "data": np.ones((3, P))},
    }
    for case, change in wrong.items():
        yield "npz", f"sparse: {case}", archive_of({f"{k}.npy": npy(v) for k, v in {**good, **change}.items()})
    row = np.repeat(np.arange(N), P)
    row[9] = 10**8
    coo = {"format": b"coo", "shape": (N, P), "data": np.ones(N * P), "row": row, "col": columns}
    yield "npz", "sparse: rows beyond the shape", archive_of({f"{key}.npy": npy(value) for key, value in coo.items()})


def _arrays() -> Iterator[tuple[str, str, bytes]]:
    data = points().tobytes()
    for case, text in {
        "huge": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 100), }",
        "too few rows": "{'descr': '<f8', 'fortran_order': False, 'shape': (20, 4), }",
        "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (40, 4), }",
        "nested": "(" * 5000,
        "minuses": "-" * 9000 + "1",
        "no items": "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000, 2), }",
        "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
    }.items():
        content = npy_head(text) + data
        yield "npy", f"description: {case}", content
        yield "npz", f"description: {case}", archive_of({"X.npy": content})
        yield "npz", f"description: {case}, compressed", archive_of({"X.npy": content}, zipfile.ZIP_DEFLATED)
    yield "npz", "pickled", archive_of({"X.npy": npy(np.full((N, P), None), allow_pickle=True)})


def _texts() -> Iterator[tuple[str, str, bytes]]:
    start = b"%%MatrixMarket matrix coordinate real general\n"
    for case, text in {
        "a trillion entries": b"40 4 1000000000000\n1 1 1.0\n",
        "a trillion rows": b"1000000000000 4 2\n1 1 1.0\n2 2 1.0\n",
        "a trillion columns": b"4 1000000000000 2\n1 1 1.0\n2 2 1.0\n",
        "rows beyond the shape": b"4 4 2\n1 1 1.0\n900000000 2 1.0\n",
        "negative columns": b"4 4 2\n1 1 1.0\n2 -20000 1.0\n",
        "negative shape": b"-4 -4 2\n1 1 1.0\n2 2 1.0\n",
        "NaN": b"4 4 2\n1 1 nan\n2 2 1.0\n",
        "an end inside a number": b"4 4 3\n1 1 1.0\n2 2 1.0E-",
    }.items():
        yield "mtx", case, start + text
        yield "mtx.gz", case, gzip.compress(start + text)
    yield "csv.gz", "one long line", gzip.compress(b"1," * 20_000_000)
    yield "csv.gz", "zeros", gzip.compress(bytes(50_000_000))
    yield "csv", "NUL bytes", b"a,b\n" + bytes(1000)
    yield "csv", "an open quote", b'a,b\n1,"' + b"2,3\n" * 100_000


def _arrow_files() -> Iterator[tuple[str, str, bytes]]:
    """Replace buffers in good files; Arrow compares them with the length of a column only when asked to."""
    X, kinds = points(), ["ab"] * N
    offsets = np.arange(0, 2 * (N + 1), 2, dtype=np.int32)
    far, back, codes = offsets.copy(), offsets.copy(), np.tile(np.arange(2, dtype=np.int32), N // 2)
    far[5:], back[5] = 10**8, -7
    within = offsets.copy()
    within[5] = 10**8
    coded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["u", "v"]))
    changes = {
        "text beyond the buffer": (kinds, offsets, far),
        "one text beyond the buffer": (kinds, offsets, within),
        "text that starts before the buffer": (kinds, offsets, back),
        "text that is not UTF-8": (kinds, np.frombuffer(b"ab" * N), np.frombuffer(b"\xff\xfe" * N)),
        "categories that do not exist": (coded, codes, codes + 10**6),
    }
    for case, (column, before, after) in changes.items():
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": column})
        for suffix, write in (("arrow", ipc.new_file), ("feather", ipc.new_stream)):
            stream = io.BytesIO()
            with write(stream, table.schema) as sink:
                sink.write_table(table)
            content = stream.getvalue()
            assert content.count(before.tobytes()) == 1
            yield suffix, case, content.replace(before.tobytes(), after.astype(before.dtype).tobytes())


def _cells(h5ad: bytes) -> Iterator[tuple[str, str, bytes]]:
    changes = {
        "indices beyond the genes": ("X/indices", 10**8),
        "negative indices": ("X/indices", -(10**7)),
        "row starts beyond the entries": ("X/indptr", 10**7),
        "NaN": ("X/data", np.nan),
        "categories that do not exist": ("obs/kind/codes", 100),
    }
    for case, (name, value) in changes.items():
        stream = io.BytesIO(h5ad)
        with h5py.File(stream, "r+") as file:
            file[name][3] = value
        yield "h5ad", case, stream.getvalue()
    stream = io.BytesIO(h5ad)
    with h5py.File(stream, "r+") as file:
        del file["X"]
        file.create_dataset("X", (N, 50_000_000), dtype=float, chunks=(1, 1000))
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    yield "h5ad", "values that are not stored", stream.getvalue()


def _genes(h5ad: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Damage the matrices of which only a gene is read, its own entries if they are stored together, as in X."""
    for group in ("raw/X", "X"):
        for case, (name, value) in {
            "indices that are too large": ("indices", 2 * 10**8),
            "negative indices": ("indices", -(10**7)),
            "starts beyond the entries": ("indptr", 10**7),
        }.items():
            stream = io.BytesIO(h5ad)
            with h5py.File(stream, "r+") as file:
                first = int(file["X/indptr"][GENE])  # X is stored by columns
                places = {"raw/X": 3, "X": first if name == "indices" else GENE + 1}
                file[f"{group}/{name}"][places[group]] = value
                if group == "X":
                    del file["raw"]
            yield "h5ad", f"a gene of {group}: {case}", stream.getvalue()
