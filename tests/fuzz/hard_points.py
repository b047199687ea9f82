"""Recipes for data and layouts on which solvers and searches tend to fail.

A recipe is a few numbers. Its `repr` is Python code that builds the same array again, so that a failing example fits
into one line.
"""

from dataclasses import dataclass, fields

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from ..helpers import squared_distances

LARGEST = 1e150  # of the units; squares of larger values overflow


def _circle(rng, n, p):
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)] * p, axis=1)[:, : max(p, 2)]


def _lattice(rng, n, p):
    side = int(np.ceil(n ** (1.0 / p)))
    return np.stack(np.unravel_index(np.arange(n), (side,) * p), axis=1).astype(float)


def _hub(rng, n, p):
    """One point in the middle of a sphere: the nearest neighbour of all others."""
    X = rng.normal(size=(n, p + 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[0] = 0.0
    return X


def _groups(rng, n, p):
    """Three groups that are far from each other, compared with their size."""
    return rng.normal(size=(n, p)) + 1e4 * (np.arange(n) % 3)[:, None]


def _spreads(rng, n, p):
    return np.array([0.01, 1.0, 30.0])[np.arange(n) % 3, None] * rng.normal(size=(n, p))


def _near_ties(rng, n, p):
    """Points whose mutual distances are equal up to the last few digits."""
    return np.eye(n) * (1.0 + 1e-14 * np.arange(n)[:, None])


def _spiral(rng, n, p):
    t = np.linspace(0.0, 4.0 * np.pi, n)
    return np.stack([t * np.cos(t), t * np.sin(t)], axis=1)


SHAPES = {
    "normal": lambda rng, n, p: rng.normal(size=(n, p)),
    "spreads": _spreads,
    "groups": _groups,
    "hub": _hub,
    "lattice": _lattice,
    "circle": _circle,
    "spiral": _spiral,
    "simplex": lambda rng, n, p: np.eye(n),
    "near ties": _near_ties,
    "identical": lambda rng, n, p: np.full((n, p), 0.1),
    "two places": lambda rng, n, p: np.repeat(rng.normal(size=(2, p)), [n // 2, n - n // 2], axis=0),
    "heavy tails": lambda rng, n, p: rng.standard_cauchy(size=(n, p)),
    "powers": lambda rng, n, p: 2.0 ** rng.integers(-20, 20, size=(n, p)),
    "counts": lambda rng, n, p: rng.poisson(1.0, size=(n, p)).astype(float),
    "binary": lambda rng, n, p: rng.integers(0, 2, size=(n, p)).astype(float),
    "integers": lambda rng, n, p: rng.integers(-3, 4, size=(n, p)).astype(float),
    "grey levels": lambda rng, n, p: rng.integers(0, 17, size=(n, 4 * p)) / 16.0,
}


def _read_only(X):
    X.setflags(write=False)
    return X


def _unsorted(X):
    """Return a CSR matrix that cannot be written to and lists the entries of each row from the last to the first."""
    backwards = sparse.csr_matrix(X[:, ::-1])
    arrays = (backwards.data, X.shape[1] - 1 - backwards.indices, backwards.indptr)
    return sparse.csr_matrix(tuple(map(_read_only, arrays)), shape=X.shape)


FORMS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "read-only": _read_only,
    "sparse": sparse.csr_matrix,
    "unsorted": _unsorted,
}


class Recipe:
    """Data class whose `repr` leaves out the fields that have their default."""

    def __repr__(self):
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        usual = {each.name: each.default for each in fields(self)}
        changed = [f"{name}={value!r}" for name, value in values.items() if repr(value) != repr(usual[name])]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True, repr=False)
class Points(Recipe):
    """Points of one of the SHAPES, changed in ways that are hard for solvers."""

    shape: str = "normal"
    n: int = 2
    p: int = 1
    seed: int = 0
    duplicates: float = 0.0  # fraction of the points that are copies of others
    outlier: float = 0.0  # added to the first coordinate of the last point, in units of the largest entry
    constant_column: bool = False
    offset: float = 0.0  # in units of the largest entry
    scale: float = 1.0
    dtype: str = "float64"
    form: str = "dense"

    def build(self):
        """Return the array or the CSR matrix."""
        rng = np.random.default_rng(self.seed)
        X = np.asarray(SHAPES[self.shape](rng, self.n, self.p), dtype=float)
        n_copies = int(self.duplicates * self.n)
        X[rng.permutation(self.n)[:n_copies]] = X[rng.integers(self.n, size=n_copies)]
        size = np.abs(X).max() or 1.0
        X[-1, 0] += self.outlier * size
        if self.constant_column:
            X = np.insert(X, 0, 7.0, axis=1)
        X = (X + self.offset * size) * self.scale
        if self.dtype != "float64":
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                X = X.astype(self.dtype)
        return FORMS[self.form](X)

    def costs(self):
        """Return the squared distances between the points, as a full matrix."""
        X = self.build()
        with np.errstate(all="ignore"):
            return squared_distances(X.toarray() if sparse.issparse(X) else X)


@dataclass(frozen=True, repr=False)
class Layout(Recipe):
    """Initial layout of one of the SHAPES, with this width and height."""

    shape: str = "normal"
    seed: int = 0
    width: float = 1.0
    height: float = 1.0
    outlier: float = 0.0  # first coordinate of the last point; 0 leaves it unchanged

    def build(self, n, n_components):
        rng = np.random.default_rng(self.seed)
        Z = np.zeros((n, n_components))
        found = SHAPES[self.shape](rng, n, n_components)[:, :n_components]
        Z[:, : found.shape[1]] = found
        Z /= np.abs(Z).max() or 1.0
        Z[:, 0] *= self.width
        Z[:, 1:] *= self.height
        Z[-1, 0] = self.outlier or Z[-1, 0]
        return Z


SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.one_of(
    st.just(1.0),
    st.sampled_from([1 / LARGEST, 1e-100, 1e-30, 1e-6, 1e6, 1e30, 1e100, LARGEST]),
    st.floats(-150.0, 150.0).map(lambda power: 10.0**power),
)
FLOAT32_SCALES = st.sampled_from([1.0, 1e-15, 1e-6, 0.1, 1e6, 1e15])  # its squares range from 1e-38 to 1e38


def sizes(most):
    """Draw numbers of points from 2, most of them small, where special cases are."""
    return st.one_of(st.integers(2, min(8, most)), st.integers(2, min(40, most)), st.integers(2, most))


@st.composite
def points(draw, most=120, forms=("dense", *FORMS)):
    """Draw recipes for up to `most` points."""
    dtype = draw(st.sampled_from(["float64", "float64", "float32", "int64"]))
    scale = {"float64": SCALES, "float32": FLOAT32_SCALES, "int64": st.sampled_from([1.0, 10.0, 1e6])}[dtype]
    return Points(
        shape=draw(st.sampled_from(list(SHAPES))),
        n=draw(sizes(most)),
        p=draw(st.integers(1, 8)),
        seed=draw(SEEDS),
        duplicates=draw(st.sampled_from([0.0, 0.0, 0.1, 0.5, 0.9])),
        outlier=draw(st.sampled_from([0.0, 0.0, 0.0, 10.0, 1e3, 1e6])),
        constant_column=draw(st.booleans()),
        offset=draw(st.sampled_from([0.0, 0.0, 1.0, 1e3, 1e8])),
        scale=draw(scale),
        dtype=dtype,
        form=draw(st.sampled_from(forms)),
    )


@st.composite
def layouts(draw):
    """Draw recipes for initial layouts."""
    return Layout(
        shape=draw(st.sampled_from(list(SHAPES))),
        seed=draw(SEEDS),
        width=draw(st.sampled_from([1e-12, 1e-3, 1.0, 30.0, 1e3, 3e4, 1e6])),
        height=draw(st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 30.0, 1e3])),
        outlier=draw(st.sampled_from([0.0, 0.0, 10.0, 1e4, 1e6])),
    )
