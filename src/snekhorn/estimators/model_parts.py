"""Kinds of values that a saved model consists of: how each is written, and what is checked when it is read.

Scalars and lists of numbers go to the header of the file as JSON, arrays to the archive under their own keys. Each
kind checks type, shape and range. Shapes are given by symbols such as "n", which must have one size in the whole model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..runtime.sparse_format import check_sparse

LONGEST_TEXT = 10_000
INDICES = ("indices", "indptr")
TYPES = {"f": (np.float32, np.float64), "i": (np.int32, np.int64)}  # of arrays, in the byte order of the machine
LARGEST_WHOLE = 2**63 - 1  # JSON has larger ones, which neither arrays nor floats can hold


class PartError(ValueError):
    """Value that is not what the declaration of the model says."""


@dataclass
class Arrays:
    """Arrays of a model file, and the sizes that its symbols have been found to have.

    Parameters
    ----------
    read : callable
        Returns the array with a given key.
    """

    read: Callable[[str], NDArray[Any]]
    sizes: dict[str, int] = field(default_factory=dict)

    def check_size(self, symbol: str, size: int, key: str) -> None:
        """Raise unless a symbol has this size wherever it occurs."""
        if self.sizes.setdefault(symbol, size) != size:
            raise PartError(f"{key} has size {size}, but other parts of the model have size {self.sizes[symbol]}")


class Part(Protocol):
    """Kind of value."""

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        """Describe a value in JSON; arrays go to `arrays` under `key`."""

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        """Return the value, or raise if it is not of this kind."""


class _Plain:
    """Value that is described by itself."""

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Flag(_Plain):
    """True or false."""

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> bool:
        if not isinstance(stored, bool):
            raise PartError(f"{key} must be true or false, got {stored!r:.60}")
        return stored


@dataclass(frozen=True)
class Number(_Plain):
    """Number within bounds; NaN and infinity are allowed if `finite` is False."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    finite: bool = True

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        kinds = int if self.whole else int | float
        if not isinstance(stored, kinds) or isinstance(stored, bool):
            raise PartError(f"{key} must be a {'whole ' if self.whole else ''}number, got {stored!r:.60}")
        if isinstance(stored, int) and abs(stored) > LARGEST_WHOLE:
            raise PartError(f"{key} is a number of {stored.bit_length()} bits; at most 63 are allowed")
        value = stored if self.whole else float(stored)
        if not (self.low <= value <= self.high if math.isfinite(value) else not self.finite):
            raise PartError(f"{key} must be from {self.low} to {self.high}, got {value}")
        return value


@dataclass(frozen=True)
class Text(_Plain):
    """Text, or one of several words."""

    choices: tuple[str, ...] | None = None

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> str:
        if not isinstance(stored, str) or len(stored) > LONGEST_TEXT:
            raise PartError(f"{key} must be text, got {stored!r:.60}")
        if self.choices is not None and stored not in self.choices:
            raise PartError(f"{key} must be one of {', '.join(self.choices)}, got {stored[:60]!r}")
        return stored


@dataclass(frozen=True)
class Size(_Plain):
    """Number of rows or columns."""

    symbol: str

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> int:
        size = int(Number(low=1, whole=True).unpack(stored, key, arrays))
        arrays.check_size(self.symbol, size, key)
        return size


@dataclass(frozen=True)
class OrNone:
    """Value that may be None."""

    part: Part

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        return None if value is None else self.part.pack(value, key, arrays)

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        return None if stored is None else self.part.unpack(stored, key, arrays)


@dataclass(frozen=True)
class Numbers:
    """List of numbers."""

    item: Number

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        return [self.item.pack(item, key, arrays) for item in value]

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> list[Any]:
        if not isinstance(stored, list):
            raise PartError(f"{key} must be a list, got {stored!r:.60}")
        return [self.item.unpack(item, key, arrays) for item in stored]


@dataclass(frozen=True)
class Array:
    """Array of finite numbers within bounds.

    Parameters
    ----------
    kinds : str
        Kinds of the dtype: "f" for floats, "i" for integers.
    shape : tuple of str or None
        A symbol for each dimension; None for any size.
    low, high : float or str
        Bounds; a symbol stands for its size less 1, the largest index.
    """

    kinds: str
    shape: tuple[str | None, ...]
    low: float = -math.inf
    high: float | str = math.inf

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        arrays[key] = np.asarray(value)
        return {"array": key}

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> NDArray[Any]:
        if stored != {"array": key}:
            raise PartError(f"{key} must be an array, got {stored!r:.60}")
        array = arrays.read(key)
        if array.dtype not in [np.dtype(known) for kind in self.kinds for known in TYPES[kind]]:
            raise PartError(f"{key} has the type {array.dtype}, which is not allowed")
        if array.ndim != len(self.shape):
            raise PartError(f"{key} must have {len(self.shape)} dimensions, but has the shape {array.shape}")
        for symbol, size in zip(self.shape, array.shape, strict=True):
            if symbol is not None:
                arrays.check_size(symbol, size, key)
        high = arrays.sizes[self.high] - 1 if isinstance(self.high, str) else self.high
        check_values(array, key, self.low, high)
        return array


@dataclass(frozen=True)
class Matrix:
    """Dense or sparse matrix of finite numbers."""

    shape: tuple[str, str]
    low: float = -math.inf

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        if not sparse.issparse(value):
            return Array("f", self.shape).pack(value, key, arrays)
        rows = sparse.csr_matrix(value)
        parts = {name: Array("if", (None,)).pack(getattr(rows, name), f"{key}.{name}", arrays) for name in self._parts}
        return {"sparse": list(map(int, rows.shape)), **parts}

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        if not isinstance(stored, dict) or "sparse" not in stored:
            return Array("f", self.shape, self.low).unpack(stored, key, arrays)
        if set(stored) != {"sparse", *self._parts}:
            raise PartError(f"{key} is not a sparse matrix")
        shape = Numbers(Number(low=1, whole=True)).unpack(stored["sparse"], key, arrays)
        if len(shape) != 2:
            raise PartError(f"{key} must have two dimensions, but has the shape {shape}")
        for symbol, size in zip(self.shape, shape, strict=True):
            arrays.check_size(symbol, size, key)
        data = Array("f", (None,), self.low).unpack(stored["data"], f"{key}.data", arrays)
        indices, indptr = (Array("i", (None,), 0).unpack(stored[name], f"{key}.{name}", arrays) for name in INDICES)
        if indptr.size != shape[0] + 1:  # before SciPy reads the last of them
            raise PartError(f"{key}.indptr has {indptr.size} entries for {shape[0]} rows")
        matrix = sparse.csr_matrix((data, indices, indptr), shape=shape)
        check_sparse(matrix, key)
        return matrix

    @property
    def _parts(self) -> tuple[str, ...]:
        return ("data", *INDICES)


@dataclass(frozen=True)
class Names:
    """Names of columns."""

    symbol: str

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        arrays[key] = np.asarray(value).astype(str)
        return {"array": key}

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> NDArray[Any]:
        if stored != {"array": key}:
            raise PartError(f"{key} must be an array of names, got {stored!r:.60}")
        names = arrays.read(key)
        if names.dtype.kind != "U" or names.ndim != 1:
            raise PartError(f"{key} must be a list of names, got {names.dtype} of shape {names.shape}")
        arrays.check_size(self.symbol, names.size, key)
        return names.astype(object)


@dataclass(frozen=True)
class Record:
    """Object with named parts.

    Parameters
    ----------
    parts : mapping
        Parts by name.
    build : callable
        Makes the object from its parts.
    take_apart : callable
        Returns the parts of an object by name.
    optional : frozenset of str
        Names of parts that may be absent.
    """

    parts: Mapping[str, Part]
    build: Callable[..., Any] = dict
    take_apart: Callable[[Any], Mapping[str, Any]] = vars
    optional: frozenset[str] = frozenset()

    def pack(self, value: Any, key: str, arrays: dict[str, Any]) -> Any:
        found = self.take_apart(value)
        self._check_names(found, key)
        return {name: self.parts[name].pack(part, _inside(key, name), arrays) for name, part in found.items()}

    def unpack(self, stored: Any, key: str, arrays: Arrays) -> Any:
        if not isinstance(stored, dict):
            raise PartError(f"{key or 'the header'} must have named parts, got {stored!r:.60}")
        self._check_names(stored, key)
        parts = {
            name: part.unpack(stored[name], _inside(key, name), arrays)
            for name, part in self.parts.items()  # in this order, in which the symbols get their sizes
            if name in stored
        }
        return self.build(**parts)

    def _check_names(self, found: Mapping[str, Any], key: str) -> None:
        for name in found:
            if name not in self.parts:
                raise PartError(f"{_inside(key, name)[:60]!r} is not part of a model")
        for name in self.parts:
            if name not in found and name not in self.optional:
                raise PartError(f"{_inside(key, name)!r} is missing")


def check_values(array: NDArray[Any], key: str, low: float, high: float) -> None:
    """Raise unless all values are finite and within bounds."""
    if not array.size:
        return
    smallest, largest = array.min(), array.max()  # NaN if there is one
    if not (np.isfinite(smallest) and np.isfinite(largest) and low <= smallest and largest <= high):
        bounds = "finite" if math.isinf(low) and math.isinf(high) else f"finite and from {low} to {high}"
        raise PartError(f"{key} must be {bounds}, but has values from {smallest} to {largest}")


def _inside(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
