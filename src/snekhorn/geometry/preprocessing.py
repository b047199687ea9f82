"""Prepare the columns of X for a layout: select by name, fill in missing values, standardise, reduce.

`Preprocessing` is a scikit-learn transformer, so it can be the first step of a pipeline and is saved with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..errors import InputError, did_you_mean, first_few
from ..runtime.checks import check_choice, check_count, check_jobs, check_seed
from ..runtime.execution import Execution, choose_execution, one_blas_thread, run_in_blocks
from .block_components import COLUMNS_AT_ONCE, add_products, block_moments, iterated_axes, leading_axes, share
from .column_statistics import (
    ROWS_PER_BLOCK,
    check_not_infinite,
    column_means,
    column_medians,
    column_moments,
    filled,
    inverse,
    row_blocks,
    standardized,
)
from .inputs import check_finite, check_fitted, check_squares, largest_entry
from .point_blocks import PointBlocks, as_blocks
from .row_products import row_products
from .unreadable_points import reading

FEW_COLUMNS = 2000  # with more columns, decomposing the covariance matrix takes longer than decomposing X
FLOAT32_SPREADS = (1e-15, 1e15)  # standard deviations whose squares single precision can hold
SPARSE_FORMATS = ["csr", "csc", "coo"]

Array = NDArray[Any]
Self = TypeVar("Self", bound="Preprocessing")


class Preprocessing(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill in missing values of X, standardise its columns, reduce them to principal components, or any of these.

    With none of them, X is returned unchanged. If the column names are known, `transform` selects the columns of a data
    frame by name, in any order, and ignores other columns.

    X may also be a dask array, a Zarr array, an HDF5 data set, the X of an AnnData object opened with ``backed="r"``,
    or a memory-mapped array of more than 100 million values. It is then read by blocks, in one pass to fit up to 2,000
    columns and one to transform, and standardised columns and principal components are in single precision.

    Parameters
    ----------
    standardize : bool, default=False
        Whether to scale every column to mean 0 and standard deviation 1. Constant columns become 0.
    missing : {"error", "median"}, default="error"
        What to do with NaN: raise an error, or replace it by the median of the known values of the column, first of
        all. Medians are computed only of a dense array in memory; in any other X, NaN is always an error.
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
    medians_ : ndarray of shape (n_features_in_,) or None
        Median of each column, if `missing` is "median" and X is dense.
    mean_ : ndarray of shape (n_features_in_,) or None
        Mean of each column; None if X is returned unchanged.
    scale_ : ndarray of shape (n_features_in_,) or None
        Standard deviation of each column, if `standardize` is set.
    components_ : ndarray of shape (n_components, n_features_in_) or None
        Principal axes. If `standardize` is set, they include the division by `scale_`, so a row x always becomes
        ``components_ @ (x - mean_)``. None if the columns themselves are kept.
    variance_kept_ : float or None
        Share of the variance of the columns, standardised if `standardize` is set, that the components keep.
    """

    medians_: Any
    mean_: Any
    scale_: Any
    components_: Any
    variance_kept_: float | None

    def __init__(
        self,
        *,
        standardize: bool = False,
        missing: Literal["error", "median"] = "error",
        n_components: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.standardize = standardize
        self.missing = missing
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
        check_choice(self.missing, "missing", ("error", "median"))
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
        if (blocks := as_blocks(X)) is not None:
            self._note_columns_of(blocks)
            X = blocks
        else:
            with reading(X, "X"):
                X = validate_data(self, X, accept_sparse=SPARSE_FORMATS, ensure_all_finite=False, ensure_min_samples=2)
        n, p = X.shape
        if feature_names is not None:
            if len(feature_names) != p:
                raise InputError(
                    f"feature_names has {len(feature_names)} names for the {p} columns of X; pass one per column."
                )
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        self.medians_, self.mean_, self.scale_, self.components_, self.variance_kept_ = None, None, None, None, None
        k = self.n_components if self.n_components is not None and self.n_components < min(n, p) else None
        execution = choose_execution(self.n_jobs)
        if blocks is not None:
            if self.standardize or k is not None:
                self._fit_blocks(blocks, k, execution)
            return self
        if self.missing == "median" and not sparse.issparse(X):
            self.medians_ = column_medians(X, getattr(self, "feature_names_in_", None))
        X = self._filled(X)
        if self.standardize:
            check_squares(X)
            self.mean_, self.scale_ = column_moments(X)
        if k is not None:
            if self.standardize:
                X = standardized(X, self.mean_, self.scale_)  # now the columns have mean 0
                _, axes, self.variance_kept_ = _principal_axes(X, k, self.random_state, execution)
                self.components_ = np.ascontiguousarray(axes * inverse(self.scale_))
            else:
                self.mean_, self.components_, self.variance_kept_ = _principal_axes(X, k, self.random_state, execution)
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
        check_fitted(self)
        if (blocks := as_blocks(X)) is not None:
            self._check_width(blocks)
            return self._apply_to_blocks(blocks)
        X = self._by_name(X)
        with reading(X, "X"):
            X = check_array(X, accept_sparse=SPARSE_FORMATS, ensure_all_finite=False, input_name="X")
        self._check_width(X)
        return self._apply(self._filled(X))

    def before_reduction(self, X: Any) -> Any:
        """Fill in missing values of an array or a sparse matrix and standardise it, without reducing it."""
        check_fitted(self)
        X = self._filled(X)
        return X if self.scale_ is None else standardized(X, self.mean_, self.scale_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the column names of the output: "pca0", "pca1", ... or the input names."""
        names: Array = super().get_feature_names_out(input_features)
        if self.components_ is None:
            return names
        return np.array([f"pca{i}" for i in range(len(self.components_))], dtype=object)

    def _fit_blocks(self, blocks: PointBlocks, k: int | None, execution: Execution) -> None:
        """Fit to blocks, reducing them to k components, in one pass unless there are too many columns for covariances.

        What is stored is in single precision, unless that cannot hold it, and so is what `transform` returns.
        """
        p = blocks.shape[1]
        found = block_moments(blocks, execution, covariance=k is not None and p <= FEW_COLUMNS)
        self.mean_ = found.mean
        varying = found.deviations[found.deviations > 0.0]
        extreme = (varying.min() if self.standardize else varying.max()) if varying.size else 1.0
        dtype = np.float32 if FLOAT32_SPREADS[0] < extreme < FLOAT32_SPREADS[1] else np.float64
        if self.standardize:
            self.scale_ = found.deviations.astype(dtype)
        if k is None:
            return
        factors = inverse(found.deviations) if self.standardize else np.ones(p)
        if found.covariance is not None:
            axes, self.variance_kept_ = leading_axes(found.covariance * np.outer(factors, factors), k)
        else:
            axes, kept = iterated_axes(blocks, found.mean, factors, k, self.random_state, execution)
            self.variance_kept_ = share(kept, blocks.shape[0] * ((found.deviations * factors) ** 2).sum())
        self.components_ = np.ascontiguousarray(axes * factors, dtype=dtype)

    def _filled(self, X: Any) -> Any:
        """Replace missing values by medians, if there are any; raise if a value is not finite."""
        if self.medians_ is None or sparse.issparse(X):
            return check_finite(X, "X")
        check_not_infinite(X)
        return filled(X, self.medians_)

    def _apply(self, X: Any) -> Any:
        """Standardise or project points; what is computed has the precision of what was fitted."""
        if self.components_ is not None:
            found = _project(X, self.mean_, self.components_, choose_execution(self.n_jobs))
            return found.astype(self.components_.dtype, copy=False)
        if self.scale_ is None:
            return X
        return standardized(X, self.mean_, self.scale_).astype(self.scale_.dtype, copy=False)

    def _apply_to_blocks(self, blocks: PointBlocks) -> Array:
        fitted = self.scale_ if self.components_ is None else self.components_
        if fitted is None:
            return blocks.to_array()
        out = np.empty((blocks.shape[0], self.n_features_out), fitted.dtype)
        for rows, block in blocks:
            out[rows] = self._apply(block)
        return out

    def _note_columns_of(self, blocks: PointBlocks) -> None:
        n, p = blocks.shape
        if n < 2 or p < 1:
            raise InputError(f"X has shape {n} x {p}; pass at least 2 points (rows) and 1 feature.")
        self.n_features_in_ = p
        self.__dict__.pop("feature_names_in_", None)  # left by an earlier fit

    def _check_width(self, X: Any) -> None:
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                f"as input{self._first_names()}."
            )

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
        tags.input_tags.allow_nan = self.missing == "median"
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


@one_blas_thread()
def principal_components(
    X: Any, n_components: int, random_state: Any = 0, *, execution: Execution | None = None
) -> Array:
    """Return the coordinates of the rows of X, dense or sparse, along its first principal axes.

    If `execution` is None, all cores are used.
    """
    execution = choose_execution(None) if execution is None else execution
    mean, axes, _ = _principal_axes(X, n_components, random_state, execution)
    return _project(X, mean, axes, execution)


def components_bytes(X: Any) -> float:
    """Estimate the peak memory of `principal_components`, in addition to X."""
    n, p = (int(size) for size in X.shape)
    if p <= min(FEW_COLUMNS, 2 * n):
        return 9.5 * p * (3 * p + min(n, ROWS_PER_BLOCK))  # products of columns, and a block of rows, in float64
    if sparse.issparse(X) and p > FEW_COLUMNS:
        return 16.0 * int(X.nnz) + 200.0 * (n + p)  # a copy of X, and the vectors of ARPACK
    return 24.0 * n * p  # a centred copy, and its decomposition


def _project(X: Any, mean: Array, components: Array, execution: Execution) -> Array:
    """Compute (X - mean) components^T."""
    if sparse.issparse(X):
        return np.asarray(X @ components.T - mean @ components.T)
    return row_products(X, mean, components, execution)


def _principal_axes(X: Any, n_components: int, random_state: Any, execution: Execution) -> tuple[Array, Array, float]:
    """Return the mean of X, its first principal axes, and the share of the variance that they keep.

    There are fewer than `n_components` axes if X has fewer.
    """
    X = sparse.csr_matrix(X) if sparse.issparse(X) else X  # for slicing rows below
    n, p = X.shape
    n_components = min(n_components, n - 1, p)
    check_squares(X)
    if p <= min(FEW_COLUMNS, 2 * n):
        return _axes_from_covariance(X, n_components, execution)
    if sparse.issparse(X) and p > FEW_COLUMNS:
        return _axes_of_sparse(X, n_components, random_state)
    return _axes_from_singular_vectors(X, n_components, random_state)


def _axes_from_covariance(X: Any, n_components: int, execution: Execution) -> tuple[Array, Array, float]:
    n, p = X.shape
    mean = column_means(X)
    scatter = np.zeros((p, p))
    for _, block in row_blocks(X):
        block -= mean
        run_in_blocks(execution, partial(add_products, block, scatter), p, COLUMNS_AT_ONCE, block.size * p)
    return mean, *leading_axes(scatter / n, n_components)


def _axes_from_singular_vectors(X: Any, n_components: int, random_state: Any) -> tuple[Array, Array, float]:
    """Decompose a centred copy; a float32 mean could be off by more than X varies, so the mean is float64."""
    mean = column_means(X)
    highest = float(np.finfo(np.float32).max) / X.shape[0] / X.shape[1]  # of a square, so that sums do not overflow
    in_float32 = X.dtype == np.float32 and float(largest_entry(X)) ** 2 < highest
    centred = np.empty(X.shape, dtype=np.float32 if in_float32 else np.float64)
    for rows, block in row_blocks(X):
        centred[rows] = block - mean
    solver = "full" if X.shape[1] <= FEW_COLUMNS else "randomized"
    found = _fit_pca(centred, n_components, solver, random_state)
    return mean, found.components_, _share_kept(found)


def _axes_of_sparse(X: Any, n_components: int, random_state: Any) -> tuple[Array, Array, float]:
    """Decompose X without converting it to dense; scikit-learn centres it implicitly."""
    if not (X.max(axis=0) != X.min(axis=0)).nnz:  # ARPACK fails if no column varies
        return X[:1].toarray()[0], np.zeros((n_components, X.shape[1])), 1.0
    found = _fit_pca(X.astype(float, copy=False), n_components, "arpack", random_state)
    return found.mean_, found.components_, _share_kept(found)


def _share_kept(found: PCA) -> float:
    kept = float(found.explained_variance_ratio_.sum())
    return 1.0 if kept != kept else share(kept, 1.0)  # NaN if nothing varies


def _fit_pca(X: Any, n_components: int, solver: str, random_state: Any) -> PCA:
    with np.errstate(divide="ignore", invalid="ignore"):  # unused variance ratios may be 0 / 0
        return PCA(n_components, svd_solver=solver, random_state=random_state, copy=False).fit(X)
