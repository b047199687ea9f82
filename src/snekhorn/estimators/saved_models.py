"""Fitted estimators as files: a NumPy archive with a header in JSON, without pickle.

The header holds the version of the format, the class, the parameters and the plain attributes; arrays and sparse
matrices are entries of the archive.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import affinities, estimators
from ..affinities.affinity import Affinity
from ..embedding.descent import EmbeddingReport
from ..geometry.neighbor_index import NeighborIndex
from ..solvers.solve_report import SolveReport

FORMAT = 1
HEADER = "header"
REPORTS = {"EmbeddingReport": EmbeddingReport, "SolveReport": SolveReport}
NAMES = {name: getattr(estimators, name) for name in ("SNE", "TSNE", "SNEkhorn", "SymmetricSNE", "TSNEkhorn")}
PARTS = {**REPORTS, **{name: getattr(affinities, name) for name in affinities.__all__ if name.endswith("Affinity")}}
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, EOFError, OSError, BadZipFile)


def save(estimator: estimators.NeighborEmbedding, path: Any, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to `path`; callbacks are left out. `notes` are plain values and arrays beside it."""
    check_is_fitted(estimator)
    if type(estimator) not in NAMES.values():
        raise TypeError(f"cannot save a {type(estimator).__name__}; a file holds one of {', '.join(NAMES)}.")
    archive: dict[str, Any] = {}
    state = {**vars(estimator), "callbacks": None}
    header = {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "state": {name: _pack(value, name, archive) for name, value in state.items()},
        "notes": _pack(notes or {}, "notes", archive),
    }
    archive[HEADER] = np.array(json.dumps(header))
    with open(path, "wb") as file:
        np.savez(file, **archive)


def load(path: Any) -> Any:
    """Read the estimator that `save` wrote."""
    return load_with_notes(path)[0]


def load_with_notes(path: Any) -> tuple[Any, dict[str, Any]]:
    """Read the estimator and the notes that `save` wrote."""
    with open(path, "rb") as file:
        try:
            if not is_zipfile(file):  # NumPy would speak of pickles
                raise BadZipFile("it is no .npz archive")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            header = json.loads(str(archive[HEADER]))
            version = int(header["format"])
            if version <= FORMAT:
                return _restore(header, archive), _unpack(header.get("notes", {"kind": "dict", "items": {}}), archive)
        except UNREADABLE as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path} is not a file that snekhorn wrote, or is damaged ({reason}).") from error
    raise ValueError(f"{path} has format {version}, this version reads up to {FORMAT}; upgrade snekhorn.")


def _restore(header: dict[str, Any], archive: Any) -> Any:
    estimator = _known(header["class"], NAMES)()
    for name, value in header["state"].items():
        setattr(estimator, name, _unpack(value, archive))
    return estimator


def _known(name: str, classes: dict[str, Any]) -> Any:
    """A class by its name; a file names no other than these."""
    if name not in classes:
        raise KeyError(f"no {name!r} among {', '.join(classes)}")
    return classes[name]


def _pack(value: Any, key: str, archive: dict[str, Any]) -> Any:
    """Value as JSON; arrays go to the archive under `key`."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.random.RandomState):  # its state is no part of what was fitted
        return None
    if isinstance(value, np.ndarray):
        archive[key] = value.astype(str) if value.dtype == object else value
        return {"kind": "array", "key": key, "object": value.dtype == object}
    if sparse.issparse(value):
        rows = sparse.csr_matrix(value)
        parts = {part: _pack(getattr(rows, part), f"{key}.{part}", archive) for part in ("data", "indices", "indptr")}
        return {"kind": "sparse", "shape": list(rows.shape), **parts}
    if isinstance(value, list | tuple):
        return {"kind": "list", "items": [_pack(item, f"{key}.{i}", archive) for i, item in enumerate(value)]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {name: _pack(item, f"{key}.{name}", archive) for name, item in value.items()}}
    fields = _fields(value, key)
    return {**fields, **{name: _pack(item, f"{key}.{name}", archive) for name, item in fields.items()}}


def _fields(value: Any, key: str) -> dict[str, Any]:
    """What an object of the package is made of."""
    if isinstance(value, NeighborIndex):
        return {"kind": "reference", "X": value.X, "metric": value.metric, "dtype": str(value.dtype)}
    if isinstance(value, Affinity):
        return {"kind": type(value).__name__, **value.get_params(deep=False)}
    if type(value).__name__ in REPORTS:
        return {"kind": type(value).__name__, **{name: getattr(value, name) for name in asdict(value)}}
    raise TypeError(f"cannot save {key}={value!r}; set it to a plain value before saving.")


def _unpack(value: Any, archive: Any) -> Any:
    """The inverse of `_pack`."""
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "array":
        array = archive[value["key"]]
        return array.astype(object) if value["object"] else array
    if kind == "sparse":
        parts = tuple(_unpack(value[part], archive) for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(parts, shape=value["shape"])
    if kind == "list":
        return [_unpack(item, archive) for item in value["items"]]
    if kind == "dict":
        return {name: _unpack(item, archive) for name, item in value["items"].items()}
    fields = {name: _unpack(item, archive) for name, item in value.items() if name != "kind"}
    if kind == "reference":
        reference = NeighborIndex(fields["X"], fields["metric"])
        reference.dtype = np.dtype(fields["dtype"])
        return reference
    return _known(kind, PARTS)(**fields)
