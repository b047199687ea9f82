"""Save and load fitted models as NumPy archives with a JSON header, without pickle.

The header holds the format version, the class, the parameters and the plain attributes. Arrays and sparse matrices are
entries of the archive. A file can refer only to the classes listed in `snekhorn.registry`, pipelines of these, and a
few other objects listed below, so loading an untrusted file does not run any code from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..affinities.affinity import Affinity
from ..embedding.descent import EmbeddingReport
from ..errors import InputError, InputTypeError
from ..geometry.neighbor_index import NeighborIndex
from ..geometry.preprocessing import Preprocessing
from ..registry import AFFINITIES, METHODS, Entry, classes
from ..solvers.solve_report import SolveReport

FORMAT = 1
HEADER = "header"
PIPELINE = "Pipeline"
PREPROCESSING = {Preprocessing.__name__: Entry("geometry.preprocessing", Preprocessing.__name__)}
REPORTS = {"EmbeddingReport": EmbeddingReport, "SolveReport": SolveReport}
NOTHING = {"kind": "dict", "items": {}}
EARLIER_PREPROCESSING = ("columns", "mean", "components")  # an earlier layout of the format kept it in these notes
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, EOFError, OSError, BadZipFile)


def save(model: Any, path: Any, *, source: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file for `load`.

    Callbacks and the state of a `numpy.random.RandomState` are left out. Nothing is written if any other part of the
    model cannot be saved.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator such as `TSNEkhorn`, or a scikit-learn pipeline of
        `snekhorn.geometry.preprocessing.Preprocessing` and an estimator.
    path : str or Path
        File to write; the usual suffix is ".npz".
    source : mapping or None, default=None
        Plain values that describe the input file of the model, for `load_with_source`.
    """
    _check_model(model)
    archive: dict[str, Any] = {}
    header = {
        "format": FORMAT,
        **_pack_model(model, "", archive),
        "source": _pack(dict(source or {}), "source", archive),
    }
    archive[HEADER] = np.array(json.dumps(header))
    with open(path, "wb") as file:
        np.savez(file, **archive)


def load(path: Any) -> Any:
    """Load a model written by `save`.

    Parameters
    ----------
    path : str or Path
        File written by `save`, by the `save` method of an estimator, or by ``snekhorn embed --save-model``.

    Returns
    -------
    estimator or Pipeline
        The fitted model, ready to `transform` new points.
    """
    return load_with_source(path)[0]


def load_with_source(path: Any) -> tuple[Any, dict[str, Any]]:
    """Load a model written by `save`, and the values stored as its `source`."""
    with open(path, "rb") as file:
        try:
            if not is_zipfile(file):  # np.load would complain about pickles
                raise BadZipFile("not an NPZ archive")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            header = json.loads(str(archive[HEADER]))
            version = int(header["format"])
            if version <= FORMAT:
                model = _unpack_model(header, archive)
                notes = _unpack(header.get("notes", NOTHING), archive)  # what an earlier layout called the source
                source = {**notes, **_unpack(header.get("source", NOTHING), archive)}
        except UNREADABLE as error:
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{path} was not written by snekhorn, or is corrupt ({reason}).") from error
    if version > FORMAT:
        raise InputError(
            f"{path} has format {version}, but this version reads formats up to {FORMAT}; upgrade snekhorn."
        )
    if not isinstance(model, Pipeline) and any(name in notes for name in EARLIER_PREPROCESSING):
        raise InputError(
            f"{path} was saved by an earlier version of snekhorn, with preprocessing that this version cannot read; "
            "run embed --save-model again."
        )
    return model, source


def _check_model(model: Any) -> None:
    """Raise unless the model is one that a file can hold."""
    steps = [step for _, step in model.steps] if type(model) is Pipeline and model.steps else [model]
    listed = [*[PREPROCESSING] * (len(steps) - 1), classes(METHODS.values())]
    for step, entries in zip(steps, listed, strict=True):
        if not _is_listed(type(step), entries):
            raise InputTypeError(
                f"cannot save {_called(step)}; a file holds one of {_names(METHODS)}, or a pipeline of "
                f"{Preprocessing.__name__} and, as its last step, one of these. Use pickle or joblib for other models."
            )


def _called(step: Any) -> str:
    return repr(step) if isinstance(step, str) else type(step).__name__


def _pack_model(model: Any, prefix: str, archive: dict[str, Any]) -> dict[str, Any]:
    """Describe a model in JSON; its arrays go to the archive under keys that start with `prefix`."""
    if isinstance(model, Pipeline):
        steps = {name: _pack_model(step, f"{prefix}{name}.", archive) for name, step in model.steps}
        return {"class": PIPELINE, "steps": steps}
    check_is_fitted(model)
    state = {name: None if name == "callbacks" else value for name, value in vars(model).items()}
    return {
        "class": type(model).__name__,
        "state": {name: _pack(value, f"{prefix}{name}", archive) for name, value in state.items()},
    }


def _unpack_model(described: dict[str, Any], archive: Any) -> Any:
    """Invert `_pack_model`."""
    methods = classes(METHODS.values())
    if described["class"] != PIPELINE:
        return _unpack_step(described, methods, archive)
    *others, last = described["steps"].items()
    steps = [(name, _unpack_step(step, PREPROCESSING, archive)) for name, step in others]
    return Pipeline([*steps, (last[0], _unpack_step(last[1], methods, archive))])


def _unpack_step(described: dict[str, Any], entries: dict[str, Entry], archive: Any) -> Any:
    model = _load_class(described["class"], entries)()
    for name, value in described["state"].items():
        setattr(model, name, _unpack(value, archive))
    return model


def _pack(value: Any, key: str, archive: dict[str, Any]) -> Any:
    """Describe a value in JSON; arrays go to the archive under `key`."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.random.RandomState):  # its state is not part of the fitted model
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
    kind, parts = _parts(value, key)
    return {"kind": kind, **{name: _pack(item, f"{key}.{name}", archive) for name, item in parts.items()}}


def _parts(value: Any, key: str) -> tuple[str, dict[str, Any]]:
    """Return the name that an object of the package has in the file, and its parts."""
    if isinstance(value, NeighborIndex):
        return "reference", {"X": value.X, "metric": value.metric, "dtype": str(value.dtype)}
    kind = type(value).__name__
    if isinstance(value, Affinity):
        if not _is_listed(type(value), classes(AFFINITIES.values())):
            raise InputTypeError(
                f"cannot save {key}={kind}(...): {kind} is not one of the affinities that a file can hold, "
                f"{_names(AFFINITIES)}. Pickle the model instead, or fit with affinity='precomputed' to P and save "
                "that model, which keeps the layout but cannot place new points."
            )
        return kind, value.get_params(deep=False)
    if type(value) in REPORTS.values():
        return kind, {field.name: getattr(value, field.name) for field in fields(value)}
    raise InputTypeError(f"cannot save {key}={value!r}; set it to a plain value or an array before saving.")


def _unpack(value: Any, archive: Any) -> Any:
    """Invert `_pack`."""
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "array":
        array = archive[value["key"]]
        return array.astype(object) if value["object"] else array
    if kind == "sparse":
        arrays = tuple(_unpack(value[part], archive) for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(arrays, shape=value["shape"])
    if kind == "list":
        return [_unpack(item, archive) for item in value["items"]]
    if kind == "dict":
        return {name: _unpack(item, archive) for name, item in value["items"].items()}
    parts = {name: _unpack(item, archive) for name, item in value.items() if name != "kind"}
    if kind == "reference":
        reference = NeighborIndex(parts["X"], parts["metric"])
        reference.dtype = np.dtype(parts["dtype"])
        return reference
    made_by = REPORTS.get(kind) or _load_class(kind, classes(AFFINITIES.values()))
    return made_by(**parts)


def _names(entries: dict[str, Entry]) -> str:
    return ", ".join(dict.fromkeys(entry.class_name for entry in entries.values()))


def _is_listed(kind: type, entries: dict[str, Entry]) -> bool:
    return kind.__name__ in entries and entries[kind.__name__].load() is kind


def _load_class(name: str, entries: dict[str, Entry]) -> Any:
    if name not in entries:
        raise KeyError(f"{name!r} is not one of {', '.join(entries)}")
    return entries[name].load()
