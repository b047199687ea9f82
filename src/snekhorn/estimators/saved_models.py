"""Save and load fitted models as NumPy archives with a JSON header, without pickle.

The header holds the format version, the classes, the parameters and the plain attributes. Arrays and sparse matrices
are entries of the archive, which is not compressed. `model_contents` declares what a model of each class consists of.
Only that is read, and it is checked, so loading an untrusted file neither runs code from it nor takes much more memory
than the size of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..errors import InputError, InputTypeError, MissingFileError, first_few
from ..geometry.inputs import check_fitted
from ..geometry.preprocessing import Preprocessing
from ..io.npz_archive import MODEL_HEADER, NpzArchive, open_bounded, write_npz
from ..io.safe_output import replacing
from ..registry import METHODS, Entry
from ..runtime.checks import check_mapping, check_path
from .model_contents import Parameter, contents_of, is_listed, listed_methods, load_class, names_of
from .model_parts import Arrays, PartError

FORMAT = 3
EARLIER_HEADER = "header"  # of format 1
MAX_HEADER = 16 << 20  # bytes; JSON takes up to twenty times its size in memory
PIPELINE = "Pipeline"
REMEDY = "pass a file that an estimator's `save` or 'snekhorn embed --save-model' wrote"
PREPROCESSING = {Preprocessing.__name__: Entry("geometry.preprocessing", Preprocessing.__name__)}

ReadArray = Callable[[str], NDArray[Any]]


def save(model: Any, path: Any, *, source: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file for `load`.

    Callbacks and the state of a `numpy.random.RandomState` are left out. Nothing is written if any other part of the
    model cannot be saved. An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator such as `TSNEkhorn`, or a scikit-learn pipeline of
        `snekhorn.geometry.preprocessing.Preprocessing` and an estimator.
    path : str or Path
        File to write; the usual suffix is ".npz".
    source : mapping or None, default=None
        Plain values, or lists of them, that describe the input file of the model, for `load_with_source`.
    """
    target = check_path(path, "path")
    header, arrays = _packed(model, source)
    with replacing(target) as file:
        write_npz(file, {MODEL_HEADER: header}, arrays)


def write_model(model: Any, file: Path, *, source: Mapping[str, Any]) -> None:
    """Write a fitted model like `save`, for a caller that makes sure that the file is complete."""
    header, arrays = _packed(model, source)
    write_npz(file, {MODEL_HEADER: header}, arrays)


def _packed(model: Any, source: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Return the header and the arrays of a file; raise if `load` would refuse it."""
    steps = _steps_of(model)
    arrays: dict[str, Any] = {}
    try:
        described = {
            "format": FORMAT,
            **_pack_model(model, steps, arrays),
            "source": _pack_source({} if source is None else source),
        }
        header = json.dumps(described)
        _unpack_model(json.loads(header), arrays.__getitem__)
    except PartError as error:
        raise InputError(f"cannot save this model: {error}.") from error
    if len(header) > MAX_HEADER:
        raise InputError(
            f"cannot save this model: its parameters, reports and source take more than {MAX_HEADER >> 20} MiB."
        )
    return header, arrays


def load(path: Any) -> Any:
    """Load a model written by `save`.

    A file that is missing, damaged or that another program wrote raises `snekhorn.errors.InputError`; if it is missing,
    this error is also a `FileNotFoundError`.

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
    with _opened(check_path(path, "path")) as file:
        with _damage_reported(path):
            archive = NpzArchive(file, compressed=False)
        if archive.names and not archive.is_model and EARLIER_HEADER not in archive.names:
            raise InputError(f"{path} holds the arrays {first_few(archive.names)}, not a model; {REMEDY}.")
        with _damage_reported(path):
            header = _read_header(archive)
            version = header["format"]
        if version != FORMAT:
            remedy = "upgrade snekhorn" if version > FORMAT else "fit the model again and save it"
            raise InputError(f"{path} has format {version}, but this version reads only format {FORMAT}; {remedy}.")
        with _damage_reported(path):
            return _unpack_model(header, archive.read_array), _unpack_source(header["source"])


def _opened(path: Path) -> IO[bytes]:
    try:
        return open_bounded(path)
    except FileNotFoundError as error:
        raise MissingFileError(f"{path} does not exist; {REMEDY}.") from error
    except OSError as error:
        if os.path.isdir(path):  # not Path.is_dir, which raises for names that are too long
            raise InputError(f"{path} is a folder; {REMEDY}.") from error
        raise InputError(f"{path} cannot be read ({error.strerror}); change its permissions, or copy it.") from error


@contextmanager
def _damage_reported(path: Any) -> Iterator[None]:
    """Report any exception as one error: what a damaged file makes a library raise cannot be listed."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()).rstrip(".")[:300]
        reason = text if isinstance(error, PartError | InputError) else f"{type(error).__name__}: {text}"
        raise InputError(f"{path} was not written by snekhorn, or is corrupt ({reason}).") from error


def _read_header(archive: NpzArchive) -> dict[str, Any]:
    if EARLIER_HEADER in archive.names:
        return {"format": 1}
    header = json.loads(archive.read_bytes(MODEL_HEADER, MAX_HEADER))
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise PartError("the header does not have a format")
    return header


def _steps_of(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a model by name; raise unless a file can hold all of them."""
    steps = model.steps if type(model) is Pipeline and model.steps else [("", model)]
    listed = [*[PREPROCESSING] * (len(steps) - 1), listed_methods()]
    for (_, step), entries in zip(steps, listed, strict=True):
        if not is_listed(type(step), entries):
            called = repr(step) if isinstance(step, str) else type(step).__name__
            raise InputTypeError(
                f"cannot save {called}; a file holds one of {names_of(METHODS)}, or a pipeline of "
                f"{Preprocessing.__name__} and, as its last step, one of these. Use pickle or joblib for other models."
            )
        check_fitted(step)
    return steps


def _pack_model(model: Any, steps: list[tuple[str, Any]], arrays: dict[str, Any]) -> dict[str, Any]:
    """Describe a model in JSON; its arrays go to `arrays`."""
    if not isinstance(model, Pipeline):
        return _pack_step(model, "", arrays)
    packed = [{"name": name, **_pack_step(step, f"step{i}", arrays)} for i, (name, step) in enumerate(steps)]
    return {"class": PIPELINE, "steps": packed}


def _pack_step(step: Any, key: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {"class": type(step).__name__, "state": contents_of(type(step)).pack(step, key, arrays)}


def _unpack_model(header: dict[str, Any], read: ReadArray) -> Any:
    """Invert `_pack_model`, and check everything that is read."""
    if header["class"] != PIPELINE:
        return _unpack_step(header, "", listed_methods(), read)
    stored = header["steps"]
    if not isinstance(stored, list) or not stored:
        raise PartError("the pipeline has no steps")
    listed = [*[PREPROCESSING] * (len(stored) - 1), listed_methods()]
    pairs = zip(stored, listed, strict=True)
    steps = [(step["name"], _unpack_step(step, f"step{i}", entries, read)) for i, (step, entries) in enumerate(pairs)]
    names = [name for name, _ in steps]
    if not all(isinstance(name, str) and name and "__" not in name for name in names) or len(set(names)) < len(names):
        raise PartError(f"a pipeline cannot have steps with the names {names!r:.100}")
    for (_, before), (name, step) in pairwise(steps):
        if step.n_features_in_ != before.n_features_out:
            raise PartError(
                f"the step {name!r:.60} expects {step.n_features_in_} columns, but the previous step returns "
                f"{before.n_features_out}"
            )
    return Pipeline(steps)


def _unpack_step(stored: Any, key: str, entries: Mapping[str, Entry], read: ReadArray) -> Any:
    kind = load_class(stored["class"], entries)
    return contents_of(kind).unpack(stored["state"], key, Arrays(read))


def _pack_source(source: Mapping[str, Any]) -> dict[str, Any]:
    check_mapping(source, "source", "pass plain values by their names")
    arrays: dict[str, Any] = {}
    packed = {name: Parameter().pack(value, f"source[{name!r}]", arrays) for name, value in source.items()}
    if arrays:
        raise InputTypeError(f"cannot save {next(iter(arrays))}, an array; pass plain values.")
    return packed


def _unpack_source(stored: Any) -> dict[str, Any]:
    if not isinstance(stored, dict):
        raise PartError(f"the source must have named values, got {stored!r:.60}")
    return {name: Parameter().unpack(value, name, Arrays(_no_arrays)) for name, value in stored.items()}


def _no_arrays(key: str) -> NDArray[Any]:
    raise PartError(f"the source must have plain values, but {key!r:.60} is an array")
