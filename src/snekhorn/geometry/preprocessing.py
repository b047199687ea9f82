"""Prepare the columns of X for a layout: select by name, standardise, compute principal components.

`Preprocessing` is a scikit-learn transformer, so it can be the first step of a pipeline and is saved with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InputError, did_you_mean, first_few, reported_as_input_errors
from ..runtime.checks import check_choice, check_count, check_jobs, check_seed
from ..runtime.execution import Execution, choose_execution, one_blas_thread, run_in_blocks
from ..runtime.sparse_format import check_sparse
from .inputs import check_finite, check_squares, largest_entry
from .row_products import row_products

FEW_COLUMNS = 2000  # with more columns, decomposing the covariance matrix takes longer than decomposing X
ROWS_AT_ONCE = 4096  # rows converted to float64 at a time, so that a memory-mapped file is never copied in full
COLUMNS_AT_ONCE = 128  # of a matrix of products; smaller blocks make products slower, larger keep fewer threads busy
SPARSE_FORMATS = ["csr", "csc", "coo"]

Array = NDArray[Any]
Self = TypeVar("Self", bound="Preprocessing")


class Preprocessing(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Standardise the columns of X, reduce them to principal components, or both.

    With neither, X is returned unchanged. If the column names are known, `transform` selects the columns of a data
    frame by name, in any order, and ignores other columns.

    Parameters
    ----------
    standardize : bool, default=False
        Whether to scale every column to mean 0 and standard deviation 1. Constant columns become 0.
    n_components : int or None, default=None
        Number of principal components to keep, computed after standardisation if `standardize` is set. The columns
        themselves are kept if this is None, or not less than the number of rows and the number of columns of X.
    random_state : int, RandomState or None, default=0
        Random seed; used only with more than 2,000 columns.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on this number.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if they are known.
    mean_ : ndarray of shape (n_features_in_,) or None
        Mean of each column; None if X is returned unchanged.
    scale_ : ndarray of shape (n_features_in_,) or None
        Standard deviation of each column, if `standardize` is set.
    components_ : ndarray of shape (n_components, n_features_in_) or None
        Principal axes. If `standardize` is set, they include the division by `scale_`, so a row x always becomes
        ``components_ @ (x - mean_)``. None if the columns themselves are kept.
    """

    mean_: Any
    scale_: Any
    components_: Any

    def __init__(
        self,
        *,
        standardize: bool = False,
        n_components: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.standardize = standardize
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def n_features_out(self) -> int:
        """Number of columns of the output."""
        return int(self.n_features_in_ if self.components_ is None else len(self.components_))

    def check_parameters(self) -> None:
        """Raise for values that are invalid for any data."""
        check_choice(self.standardize, "standardize", (True, False))
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        check_seed(self.random_state)
        check_jobs(self.n_jobs)

    @one_blas_thread()
    def fit(self: Self, X: Any, y: Any = None, *, feature_names: Sequence[str] | None = None) -> Self:
        """Compute means, standard deviations and principal axes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Rows are points.
        y : None
            Ignored.
        feature_names : sequence of str or None, default=None
            Names of the columns, if X is not a data frame.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.check_parameters()
        check_sparse(X, "X")
        with reported_as_input_errors():
            X = validate_data(self, X, accept_sparse=SPARSE_FORMATS, ensure_all_finite=False, ensure_min_samples=2)
        X = check_finite(X, "X")
        n, p = X.shape
        if feature_names is not None:
            if len(feature_names) != p:
                raise InputError(
                    f"feature_names has {len(feature_names)} names for the {p} columns of X; pass one per column."
                )
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        self.mean_, self.scale_, self.components_ = None, None, None
        if self.standardize:
            check_squares(X)
            self.mean_, self.scale_ = _moments(X)
        if self.n_components is not None and self.n_components < min(n, p):
            execution = choose_execution(self.n_jobs)
            if self.standardize:
                X = _standardized(X, self.mean_, self.scale_)  # now the columns have mean 0
                _, axes = _principal_axes(X, self.n_components, self.random_state, execution)
                self.components_ = np.ascontiguousarray(axes * _inverse(self.scale_))
            else:
                self.mean_, self.components_ = _principal_axes(X, self.n_components, self.random_state, execution)
        return self

    @one_blas_thread()
    def transform(self, X: Any) -> Any:
        """Apply the fitted preprocessing.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (m, p)
            A data frame may have additional columns and another order. Any other X must have the same columns as in
            `fit`.

        Returns
        -------
        ndarray of shape (m, n_components) or (m, p)
            The preprocessed points, or X itself, dense or sparse, if there is nothing to compute.
        """
        check_is_fitted(self)
        check_sparse(X, "X")
        with reported_as_input_errors():
            X = check_array(self._by_name(X), accept_sparse=SPARSE_FORMATS, ensure_all_finite=False, input_name="X")
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                f"as input{self._first_names()}."
            )
        X = check_finite(X, "X")
        if self.components_ is not None:
            return _project(X, self.mean_, self.components_, choose_execution(self.n_jobs))
        return X if self.scale_ is None else _standardized(X, self.mean_, self.scale_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the column names of the output: "pca0", "pca1", ... or the input names."""
        names: Array = super().get_feature_names_out(input_features)
        if self.components_ is None:
            return names
        return np.array([f"pca{i}" for i in range(len(self.components_))], dtype=object)

    def _by_name(self, X: Any) -> Any:
        """Return the columns of a data frame in the order of `fit`; return any other X unchanged."""
        wanted, given = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if wanted is None or given is None or not all(isinstance(name, str) for name in given):
            return X
        column_positions(wanted, given)  # raises if a column is missing
        return X if list(given) == list(wanted) else X[list(wanted)]

    def _first_names(self) -> str:
        names = getattr(self, "feature_names_in_", [])
        return f" ({', '.join(map(repr, names[:8]))}{', ...' if len(names) > 8 else ''})" if len(names) else ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def column_positions(wanted: Sequence[str], given: Sequence[str]) -> list[int]:
    """Return the positions of the wanted columns among the given ones; raise if any is missing."""
    positions = {name: position for position, name in enumerate(given)}
    missing = [name for name in wanted if name not in positions]
    if missing:
        names = f"column{'s' * (len(missing) > 1)} {first_few(missing)}"
        remedy = did_you_mean(missing[0], given) if len(missing) == 1 else f"available: {first_few(given) or 'none'}."
        raise InputError(f"the new points have no {names}, which the model needs; {remedy}")
    return [positions[name] for name in wanted]


def spread_ratio(X: Any) -> float:
    """Return the ratio of the largest to the smallest standard deviation, ignoring constant columns."""
    deviations = _moments(X)[1]
    varying = deviations[deviations > 0.0]
    return float(varying.max() / varying.min()) if varying.size else 1.0


@one_blas_thread()
def principal_components(
    X: Any, n_components: int, random_state: Any = 0, *, execution: Execution | None = None
) -> Array:
    """Return the coordinates of the rows of X, dense or sparse, along its first principal axes.

    If `execution` is None, all cores are used.
    """
    execution = choose_execution(None) if execution is None else execution
    return _project(X, *_principal_axes(X, n_components, random_state, execution), execution)


def components_bytes(X: Any) -> float:
    """Estimate the peak memory of `principal_components`, in addition to X."""
    n, p = (int(size) for size in X.shape)
    if p <= min(FEW_COLUMNS, 2 * n):
        return 9.5 * p * (3 * p + min(n, ROWS_AT_ONCE))  # products of columns, and a block of rows, in float64
    if sparse.issparse(X) and p > FEW_COLUMNS:
        return 16.0 * int(X.nnz) + 200.0 * (n + p)  # a copy of X, and the vectors of ARPACK
    return 24.0 * n * p  # a centred copy, and its decomposition


def _standardized(X: Any, mean: Array, scale: Array) -> Array:
    """Compute (X - mean) / scale; constant columns become 0."""
    factors = _inverse(scale)
    if sparse.issparse(X):
        return np.asarray(X.multiply(factors).toarray() - mean * factors)
    out = np.empty(X.shape)
    for rows, block in _blocks(X):
        out[rows] = (block - mean) * factors
    return out


def _inverse(scale: Array) -> Array:
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)


def _project(X: Any, mean: Array, components: Array, execution: Execution) -> Array:
    """Compute (X - mean) components^T."""
    if sparse.issparse(X):
        return np.asarray(X @ components.T - mean @ components.T)
    return row_products(X, mean, components, execution)


def _principal_axes(X: Any, n_components: int, random_state: Any, execution: Execution) -> tuple[Array, Array]:
    """Return the mean of X and its first principal axes; fewer than `n_components` if X has fewer."""
    X = sparse.csr_matrix(X) if sparse.issparse(X) else X  # for slicing rows below
    n, p = X.shape
    n_components = min(n_components, n - 1, p)
    check_squares(X)
    if p <= min(FEW_COLUMNS, 2 * n):
        return _axes_from_covariance(X, n_components, execution)
    if sparse.issparse(X) and p > FEW_COLUMNS:
        return _axes_of_sparse(X, n_components, random_state)
    return _axes_from_singular_vectors(X, n_components, random_state)


def _axes_from_covariance(X: Any, n_components: int, execution: Execution) -> tuple[Array, Array]:
    n, p = X.shape
    mean = _mean(X)
    scatter = np.zeros((p, p))
    for _, block in _blocks(X):
        block -= mean
        run_in_blocks(execution, partial(_add_products, block, scatter), p, COLUMNS_AT_ONCE, block.size * p)
    _, vectors = eigh(scatter / n, subset_by_index=[p - n_components, p - 1])  # reads the lower triangle only
    axes = vectors.T[::-1]
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return mean, axes * signs[:, None]


def _add_products(block: Array, scatter: Array, columns: slice) -> None:
    """Add the products of these columns of the block with all columns from the first of them on."""
    scatter[columns.start :, columns] += block[:, columns.start :].T @ block[:, columns]


def _axes_from_singular_vectors(X: Any, n_components: int, random_state: Any) -> tuple[Array, Array]:
    """Decompose a centred copy; a float32 mean could be off by more than X varies, so the mean is float64."""
    mean = _mean(X)
    highest = float(np.finfo(np.float32).max) / X.shape[0] / X.shape[1]  # of a square, so that sums do not overflow
    in_float32 = X.dtype == np.float32 and float(largest_entry(X)) ** 2 < highest
    centred = np.empty(X.shape, dtype=np.float32 if in_float32 else np.float64)
    for rows, block in _blocks(X):
        centred[rows] = block - mean
    solver = "full" if X.shape[1] <= FEW_COLUMNS else "randomized"
    return mean, _fit_pca(centred, n_components, solver, random_state).components_


def _axes_of_sparse(X: Any, n_components: int, random_state: Any) -> tuple[Array, Array]:
    """Decompose X without converting it to dense; scikit-learn centres it implicitly."""
    if not (X.max(axis=0) != X.min(axis=0)).nnz:  # ARPACK fails if no column varies
        return X[:1].toarray()[0], np.zeros((n_components, X.shape[1]))
    found = _fit_pca(X.astype(float, copy=False), n_components, "arpack", random_state)
    return found.mean_, found.components_


def _fit_pca(X: Any, n_components: int, solver: str, random_state: Any) -> PCA:
    with np.errstate(divide="ignore", invalid="ignore"):  # unused variance ratios may be 0 / 0
        return PCA(n_components, svd_solver=solver, random_state=random_state, copy=False).fit(X)


def _mean(X: Any) -> Array:
    return np.asarray(sum(block.sum(axis=0) for _, block in _blocks(X)) / X.shape[0])


def _moments(X: Any) -> tuple[Array, Array]:
    """Return the means and standard deviations of the columns."""
    if sparse.issparse(X):
        X = X.astype(float)
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    mean = _mean(X)
    return mean, np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for _, block in _blocks(X)) / X.shape[0])


def _blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of consecutive rows of X as dense float64 copies, with their slices."""
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        block = X[rows]
        if sparse.issparse(block):
            yield rows, block.astype(float).toarray()
        else:  # always in C order, because sums round differently in other orders
            yield rows, np.array(block, dtype=float, order="C")
