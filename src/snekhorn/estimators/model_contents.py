"""Declare what a saved model consists of: every attribute of every class that a file can hold.

A file is read according to these declarations and nothing else. The classes and their parameters come from the
registry. A new fitted attribute needs one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..affinities.affinity import Affinity
from ..embedding.descent import EmbeddingReport
from ..errors import InputTypeError
from ..geometry.distance_metrics import check_metric
from ..geometry.neighbor_index import NeighborIndex
from ..geometry.preprocessing import Preprocessing
from ..registry import AFFINITIES, METHODS, Entry, classes
from ..solvers.solve_report import SolveReport
from .model_parts import (
    LARGEST_WHOLE,
    LONGEST_TEXT,
    Array,
    Arrays,
    Flag,
    Matrix,
    Names,
    Number,
    Numbers,
    OrNone,
    Part,
    PartError,
    Record,
    Size,
    Text,
)

NOT_KEPT = ("checkpoint",)  # parameters of a fit that are no part of the model

Check = Callable[[Any, Mapping[str, Any]], None]

COUNT = Number(low=0, whole=True)
ROWS = Array("i", (None,), low=0, high="n")

EMBEDDING_REPORT: dict[str, Part] = {
    "converged": Flag(),
    "n_iter": COUNT,
    "reason": Text(),
    "iterations": Numbers(COUNT),
    "losses": Numbers(Number()),
    "marginal_gap": OrNone(Number(low=0)),
    "method": Text(("exact", "fft")),
}

SOLVE_REPORT: dict[str, Part] = {
    "converged": Flag(),
    "n_iter": COUNT,
    "n_passes": COUNT,
    "marginal_gap": Number(low=0, finite=False),
    "entropy_gap": Number(low=0, finite=False),
    "reason": Text(),
    "floor_rows": ROWS,
    "unreachable_rows": ROWS,
    "unsolved_rows": ROWS,
    "dual_values": Numbers(Number(finite=False)),
    "neighbor_recall": OrNone(Number(low=0, high=1)),
    "balance": OrNone(Number(low=0, high=1)),
    "inequality": OrNone(Number(low=0, high=1)),
}

REFERENCE: dict[str, Part] = {
    "X": OrNone(Matrix(("n", "q"))),  # q columns: those of X, or its principal components
    "metric": Text(),
    "dtype": Text(("float64", "float32")),
}

OUTPUT: dict[str, Part] = {"transform": OrNone(Text(("default", "pandas", "polars")))}


def build_reference(X: Any, metric: str, dtype: str) -> NeighborIndex:
    check_metric(metric)
    if (X is None) != (metric == "precomputed"):
        raise PartError(f"training points do not go with metric={metric!r}")
    reference = NeighborIndex(X, metric)
    reference.dtype = np.dtype(dtype)
    return reference


def reference_parts(reference: NeighborIndex) -> dict[str, Any]:
    return {"X": reference.X, "metric": reference.metric, "dtype": str(reference.dtype)}


LAYOUT: dict[str, Part] = {
    "embedding_": Array("f", ("n", "d")),
    "potential_": Array("f", ("n",)),
    "affinity_": OrNone(Matrix(("n", "n"), low=0)),  # None if it was computed on a cluster
    "kl_divergence_": Number(),
    "n_iter_": COUNT,
    "report_": Record(EMBEDDING_REPORT, EmbeddingReport),
    "affinity_report_": Record(SOLVE_REPORT, SolveReport),
    "perplexity_": Number(low=1),
    "n_features_in_": Size("p"),
    "feature_names_in_": Names("p"),
    "_reference": Record(REFERENCE, build_reference, reference_parts),
    "_sklearn_output_config": Record(OUTPUT, take_apart=dict, optional=frozenset(OUTPUT)),
}
OPTIONAL = frozenset({"affinity_report_", "perplexity_", "feature_names_in_", "reduction_", "_sklearn_output_config"})

PREPROCESSING: dict[str, Part] = {
    "n_features_in_": Size("p"),
    "feature_names_in_": Names("p"),
    "medians_": OrNone(Array("f", ("p",))),
    "mean_": OrNone(Array("f", ("p",))),
    "scale_": OrNone(Array("f", ("p",), low=0)),
    "components_": OrNone(Array("f", ("k", "p"))),
    "variance_kept_": OrNone(Number(low=0, high=1)),
    "_sklearn_output_config": LAYOUT["_sklearn_output_config"],
}


@dataclass(frozen=True)
class Parameter:
    """Parameter of an estimator or an affinity: a plain value, a list of them, an array, or an affinity.

    The class of the parameter checks the value.
    """

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.random.RandomState):  # its state is not part of the fitted model
            return None
        if _is_plain(value):
            return value
        if isinstance(value, list | tuple) and all(map(_is_plain, value)):
            return list(value)
        if isinstance(value, list | tuple | np.ndarray) and (array := np.asarray(value)).dtype.kind in "biuf":
            arrays[key] = array
            return {"array": key}
        if isinstance(value, Affinity):
            check_listed_affinity(value, key)
            parameters = value.get_params(deep=False)
            packed = {name: self.pack(part, f"{key}.{name}", arrays) for name, part in parameters.items()}
            return {"affinity": type(value).__name__, "parameters": packed}
        raise InputTypeError(f"cannot save {key}={value!r}; set it to a plain value or an array before saving.")

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        if _is_plain(stored) or (isinstance(stored, list) and all(map(_is_plain, stored))):
            return stored
        if stored == {"array": key}:
            array = arrays.read(key)
            if array.dtype.kind not in "biuf" or not array.dtype.isnative or array.ndim > 2:
                raise PartError(f"{key} is an array of {array.dtype} of shape {array.shape}, which is not allowed")
            return array
        if isinstance(stored, dict) and set(stored) == {"affinity", "parameters"}:
            kind = load_class(stored["affinity"], classes(AFFINITIES.values()))
            affinity = Record(dict.fromkeys(_parameters_of(kind), self), kind).unpack(stored["parameters"], key, arrays)
            affinity.check_parameters()
            return affinity
        raise PartError(f"{key} is not a parameter: {stored!r:.60}")


@dataclass(frozen=True)
class LeftOut:
    """Parameter that a file does not hold."""

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> None:
        return None

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> None:
        if stored is not None:
            raise PartError(f"{key} must be null, got {stored!r:.60}")


def contents_of(kind: Any) -> Record:
    """Return the declaration of a class of the registry, or of `Preprocessing`."""
    parameters: dict[str, Part] = {name: Parameter() for name in _parameters_of(kind)}
    if kind is Preprocessing:
        optional = frozenset({"feature_names_in_", "_sklearn_output_config"})
        return Record({**PREPROCESSING, **parameters}, _builder(kind, parameters, check_preprocessing), vars, optional)
    parameters["callbacks"] = LeftOut()
    without = () if kind.latent.doubly_stochastic else ("potential_",)
    parts = {name: part for name, part in LAYOUT.items() if name not in without}
    parts["reduction_"] = contents_of(Preprocessing)
    return Record({**parts, **parameters}, _builder(kind, parameters, check_layout_model), _kept, OPTIONAL)


def check_layout_model(model: Any, parts: Mapping[str, Any]) -> None:
    """Raise if the parts of an estimator, each of them valid, do not go together."""
    model.check_parameters()
    n, d = model.embedding_.shape
    if n < 2 or not 1 <= d <= 3:
        raise PartError(f"embedding_ has the shape {n} x {d}")
    for name in ("affinity_report_", "perplexity_"):
        if not model.takes_affinity and not hasattr(model, name):
            raise PartError(f"{name!r} is missing")
    reference, reduction = parts["_reference"], parts.get("reduction_")
    if reference.metric == "precomputed" and model.n_features_in_ != n:
        raise PartError(f"n_features_in_ is {model.n_features_in_}, but there are costs to {n} points")
    expected = model.n_features_in_ if reduction is None else reduction.n_features_out
    if reference.X is not None and reference.X.shape[1] != expected:
        raise PartError(f"the training points have {reference.X.shape[1]} columns, but there should be {expected}")


def check_preprocessing(model: Any, parts: Mapping[str, Any]) -> None:
    """Raise if a mean or the medians are missing, or if a parameter is invalid."""
    if model.medians_ is not None and model.missing != "median":
        raise PartError("there are medians, but missing values are errors")
    if model.mean_ is None and (model.scale_ is not None or model.components_ is not None):
        raise PartError("'mean_' is missing")
    model.check_parameters()


def check_listed_affinity(value: Affinity, key: str) -> None:
    """Raise unless a file can hold this affinity."""
    kind = type(value).__name__
    if not is_listed(type(value), classes(AFFINITIES.values())):
        raise InputTypeError(
            f"cannot save {key}={kind}(...): {kind} is not one of the affinities that a file can hold, "
            f"{names_of(AFFINITIES)}. Pickle the model instead, or fit with affinity='precomputed' to P and save "
            "that model, which keeps the layout but cannot place new points."
        )


def names_of(entries: Mapping[str, Entry]) -> str:
    """List the names of classes."""
    return ", ".join(dict.fromkeys(entry.class_name for entry in entries.values()))


def is_listed(kind: type, entries: Mapping[str, Entry]) -> bool:
    """Return whether a class is one of the registry, and not only called like it."""
    return kind.__name__ in entries and entries[kind.__name__].load() is kind


def load_class(name: Any, entries: Mapping[str, Entry]) -> Any:
    """Import a class of the registry by its name."""
    if not isinstance(name, str) or name not in entries:
        raise PartError(f"{name!r:.60} is not one of {', '.join(entries)}")
    return entries[name].load()


def listed_methods() -> dict[str, Entry]:
    """Return the estimators that a file can hold, by name."""
    return classes(METHODS.values())


def _builder(kind: Any, parameters: Mapping[str, Part], check: Check) -> Callable[..., Any]:
    """Return a function that makes a fitted estimator of its parts, and checks it."""

    def build(**parts: Any) -> Any:
        model = kind(**{name: parts.pop(name) for name in parameters})
        for name, value in parts.items():
            setattr(model, name, value)
        check(model, parts)
        return model

    return build


def _parameters_of(kind: Any) -> list[str]:
    return [name for name in kind().get_params(deep=False) if name not in NOT_KEPT]


def _kept(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name not in NOT_KEPT}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    if isinstance(value, int):
        return abs(value) <= LARGEST_WHOLE
    return value is None or isinstance(value, float)
