"""Models that no damage would make: valid archives with right checksums and wrong contents."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HEADER = "header.json"
Members = dict[str, bytes]


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members: Members, compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), **options)
    return stream.getvalue()


def npy_head(text: str) -> bytes:
    """The start of an NPY file with this description, whatever it says."""
    padded = text.encode().ljust(118 if len(text) < 118 else len(text) + 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded


def array_in(members: Members, name: str) -> Any:
    return np.load(io.BytesIO(members[f"{name}.npy"]))


def crafted_models(good: dict[str, Path]) -> Iterator[tuple[str, bytes]]:
    """Yield a description and the content of models that must all be refused."""
    yield from _headers(members_of(good["dense.npz"]))
    yield from _arrays(members_of(good["dense.npz"]))
    yield from _matrices(members_of(good["sparse.npz"]))
    yield from _pipelines(members_of(good["pipeline.npz"]))
    yield from _containers(members_of(good["dense.npz"]))


def _with_header(members: Members, change: Callable[[dict[str, Any]], None]) -> bytes:
    header = json.loads(members[HEADER])
    change(header)
    return archive_of({**members, HEADER: json.dumps(header).encode()})


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        *outer, last = path.split("/")
        for name in outer:
            header = header[int(name)] if isinstance(header, list) else header[name]
        header[last] = value

    return change


HEADERS = {
    **{f"format/{value!r}": value for value in (0, -1, 1, 2, 4, 10**30, "3", 3.0, True, None, [3])},
    **{f"class/{value!r}": value for value in ("UMAP", "clone", "Preprocessing", "Pipeline", None, 3, ["TSNE"], {})},
    **{f"state/{value!r}": value for value in (None, [], 3, {}, "embedding_")},
    "source/a list": [],
    "source/nested": {"rep": {"a": {"b": 1}}},
    "source/an array": {"rep": {"array": "embedding_"}},
    **{f"state/{name}/set": 1 for name in ("transform", "__dict__", "__class__", "fit", "latent", "_hidden")},
    **{f"state/n_features_in_/{value!r}": value for value in (0, -1, 10**12, 3.0, None, "4", True)},
    **{f"state/perplexity_/{value!r}": value for value in (float("nan"), float("inf"), -1, 0, "5", None)},
    **{f"state/kl_divergence_/{value!r}": value for value in (float("nan"), "low", None, [])},
    **{f"state/perplexity/{value!r}": value for value in (0, "5", None, [], {"array": "perplexity"})},
    **{f"state/metric/{value!r}": value for value in ("euclid", None, 3, ["a"])},
    **{f"state/n_jobs/{value!r}": value for value in (0, "2", 1.5)},
    **{f"state/affinity/{value!r}": value for value in ("auto", 3, {"affinity": "os", "parameters": {}}, {"a": 1})},
    "state/affinity/unknown parameter": {"affinity": "GaussianAffinity", "parameters": {"shell": 1}},
    "state/affinity/nested": {"affinity": "GaussianAffinity", "parameters": {"sigma": {"affinity": "TSNE"}}},
    "state/callbacks/set": "print",
    "state/init/unknown": "magic",
    "state/report_/None": None,
    "state/report_/method/gpu": "gpu",
    "state/report_/marginal_gap/400 digits": 10**400,
    "state/report_/n_iter/400 digits": 10**400,
    "state/report_/losses/400 digits": [10**400],
    "state/max_iter/400 digits": 10**400,
    "state/perplexity/400 digits": 10**400,
    "source/400 digits": {"rep": 10**400},
    "state/report_/n_iter/-1": -1,
    "state/report_/losses/text": ["low"],
    "state/report_/losses/nested": [[[[0.0]]]],
    "state/report_/reason/a million characters": "a" * 1_000_000,
    "state/affinity_report_/converged/3": 3,
    "state/affinity_report_/floor_rows/a list": [1, 2],
    "state/_reference/metric/unknown": "euclid",
    "state/_reference/metric/precomputed": "precomputed",
    "state/_reference/dtype/object": "object",
    "state/_reference/X/None": None,
    "state/_sklearn_output_config/set": {"transform": "excel"},
    "state/embedding_/another key": {"array": "potential_"},
    "state/embedding_/no such key": {"array": "nothing"},
    "state/embedding_/a list": [[0.0, 1.0]],
}


def _headers(members: Members) -> Iterator[tuple[str, bytes]]:
    for case, value in HEADERS.items():
        path, _, _ = case.rpartition("/")
        yield f"header: {case}"[:100], _with_header(members, _set(path, value))
    header = json.loads(members[HEADER])
    for name in (*header["state"], *header):
        where = header["state"] if name in header["state"] else header
        without = {key: value for key, value in where.items() if key != name}
        changed = {**header, "state": without} if where is not header else without
        yield f"header without {name}", archive_of({**members, HEADER: json.dumps(changed).encode()})
    texts = {
        "empty": b"",
        "a list": b"[]",
        "no JSON": b"{",
        "not UTF-8": b'{"format": "\xff"}',
        "deep": b'{"format": 3, "class": ' + b"[" * 200_000,
        "deep and closed": b'{"format": 3, "class": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "many digits": b'{"format": ' + b"1" * 10_000 + b"}",
        "large": b'{"format": 3, "class": [' + b"[]," * 8_000_000 + b"[]]}",
    }
    for name, text in texts.items():
        yield f"header: {name}", archive_of({**members, HEADER: text})
    yield "no header", archive_of({name: content for name, content in members.items() if name != HEADER})


def _changed(array: Any, value: float) -> Any:
    array = array.copy()
    array.flat[array.size // 2] = value
    return array


def _arrays(members: Members) -> Iterator[tuple[str, bytes]]:
    for name in ("embedding_", "potential_", "affinity_", "_reference.X"):
        array = array_in(members, name)
        wrong = {
            "NaN": _changed(array, np.nan),
            "infinity": _changed(array, -np.inf),
            "too short": array[:-1],
            "too long": np.concatenate([array, array[:1]]),
            "empty": array[:0],
            "flat": array.ravel() if array.ndim > 1 else array[:, None],
            "a number": array.flat[0],
            "integers": array.astype(int),
            "complex": array.astype(complex),
            "text": array.astype(str),
            "swapped bytes": array.astype(array.dtype.newbyteorder()),
            "long doubles": array.astype(np.longdouble),
            "half": array.astype(np.float16),
        }
        for case, value in wrong.items():
            yield f"{name}: {case}", archive_of({**members, f"{name}.npy": npy(value)})
        pickled = npy(np.full(array.shape, None), allow_pickle=True)
        yield f"{name}: pickled", archive_of({**members, f"{name}.npy": pickled})
        yield f"{name}: missing", archive_of({key: value for key, value in members.items() if key != f"{name}.npy"})
    yield "negative affinity", archive_of({**members, "affinity_.npy": npy(-array_in(members, "affinity_"))})
    wide = np.zeros((len(array_in(members, "embedding_")), 4))
    yield "layout in four dimensions", archive_of({**members, "embedding_.npy": npy(wide)})
    rows = npy(np.array([10**9]))
    yield "row numbers out of range", archive_of({**members, "affinity_report_.floor_rows.npy": rows})
    descriptions = {
        "huge": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 2), }",
        "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
        "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-40, -2), }",
        "nested": "(" * 5000,
        "minuses": "-" * 9000 + "1",
        "a call": "__import__('os').getpid()",
        "not closed": "{'descr': '<f8', 'fortran_order': False, 'shape': (40, 2",
        "huge items": "{'descr': '<V2000000000', 'fortran_order': False, 'shape': (40, 2), }",
        "no items": "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000, 2), }",
        "subarrays": "{'descr': ('<f8', (100000, 100000)), 'fortran_order': False, 'shape': (40, 2), }",
    }
    data = array_in(members, "embedding_").tobytes()
    for case, text in descriptions.items():
        yield f"description: {case}", archive_of({**members, "embedding_.npy": npy_head(text) + data})


def _matrices(members: Members) -> Iterator[tuple[str, bytes]]:
    for name in ("_reference.X",):
        indices, indptr, data = (array_in(members, f"{name}.{part}") for part in ("indices", "indptr", "data"))
        wrong = {
            "indices": [_changed(indices, 10**8), _changed(indices, -5), indices[:-3], indices.astype(float)],
            "indptr": [_changed(indptr, 10**8), _changed(indptr, -1), indptr[:-1], indptr[::-1].copy(), indptr[:0]],
            "data": [
                *(_changed(data, np.nan), data[:-3], data[:0], data[:, None]),
                *(data.astype(kind) for kind in (int, np.float16)),
            ],
        }
        for part, values in wrong.items():
            for i, value in enumerate(values):
                yield f"sparse {part} {i}", archive_of({**members, f"{name}.{part}.npy": npy(value)})
        for shape in ([40, 10**12], [10**12, 4], [40], [40, 4, 1], [-40, -4], "40x4", [40.0, 4.0], None):
            yield f"sparse shape {shape}", _with_header(members, _set("state/_reference/X/sparse", shape))


def _pipelines(members: Members) -> Iterator[tuple[str, bytes]]:
    steps = json.loads(members[HEADER])["steps"]
    first, last = steps
    wrong = {
        "no steps": [],
        "not a list": {},
        "no names": [1, 2],
        "preprocessing alone": [first],
        "wrong order": [last, first],
        "the same name": [first, {**last, "name": first["name"]}],
        "a name that is not text": [{**first, "name": ["a"]}, last],
        "an unknown class": [{**first, "class": "StandardScaler"}, last],
    }
    for case, value in wrong.items():
        yield f"pipeline: {case}", _with_header(members, _set("steps", value))
    yield "pipeline: no mean", _with_header(members, _set("steps/0/state/mean_", None))
    components = array_in(members, "step0.components_")
    for case, value in {"rows": components[:-1], "columns": components[:, :-1], "NaN": components * np.nan}.items():
        yield f"components: {case}", archive_of({**members, "step0.components_.npy": npy(value)})
    names = npy(np.array(["a"] * 9))
    yield "too many names", archive_of({**members, "step0.feature_names_in_.npy": names})


def _containers(members: Members) -> Iterator[tuple[str, bytes]]:
    whole = archive_of(members)
    yield "compressed", archive_of(members, zipfile.ZIP_DEFLATED)
    yield "a bomb", archive_of({**members, "embedding_.npy": npy(np.zeros(30_000_000))}, zipfile.ZIP_DEFLATED)
    yield "compressed by another program", archive_of(members, zipfile.ZIP_LZMA)
    yield "not an archive", b"x,y\n1,2\n"
    yield "an array", npy(np.zeros(3))
    yield "an empty archive", archive_of({})
    yield "looks like an archive", b"PK\x03\x04" + 100 * b"x"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(300):
            archive.writestr(zipfile.ZipInfo(f"{i:060000}"), b"")
    yield "a long table of contents", stream.getvalue()
    central = whole.index(b"PK\x01\x02")
    for case, offset, value in (
        ("encrypted", 8, b"\x01"),
        ("unknown compression", 10, b"\x63"),
        ("a wrong checksum", 16, b"\x00\x00\x00\x00"),
        ("a wrong size", 24, b"\xff\xff\xff\x7f"),
        ("a wrong place", 42, b"\xff\xff\xff\x7f"),
    ):
        place = central + offset
        yield f"entry with {case}", whole[:place] + value + whole[place + len(value) :]
    many = whole[central : whole.rindex(b"PK\x05\x06")] * 200
    n_entries = len(members) * 200
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n_entries & 0xFFFF, n_entries & 0xFFFF, len(many), central, 0)
    yield "entries that overlap", whole[:central] + many + tail
