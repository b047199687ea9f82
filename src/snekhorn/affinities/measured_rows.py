"""Measure the rows of a stored affinity, so that reports describe the result and not the computation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..geometry.costs import Array, Matrix
from ..geometry.inputs import as_array
from ..kernels import row_measures
from ..runtime.execution import Execution, Threads
from ..runtime.sparse_format import check_sparse
from ..solvers.solve_report import Reason


@dataclass(frozen=True)
class MeasuredRows:
    """Sums and entropies of the rows of an affinity P, as stored.

    Attributes
    ----------
    sums : ndarray of shape (n,)
        sum_j P_ij.
    log_perplexities : ndarray of shape (n,)
        H(P_i) - 1, where H(P_i) = -sum_j P_ij (log P_ij - 1).
    ties : ndarray of shape (n,)
        Number of entries of the row that are about as large as its largest one.
    rounding : float
        Largest change of a sum or an entropy by rounding the entries to the type of P.
    """

    sums: Array
    log_perplexities: Array
    ties: Array
    rounding: float

    @classmethod
    def of(cls, P: Matrix, execution: Execution | None = None) -> MeasuredRows:
        """Measure every row of P, dense or CSR."""
        execution = Threads() if execution is None else execution
        n = P.shape[0]
        measures = np.empty((n, row_measures.N_MEASURES))
        if isinstance(P, np.ndarray):
            execution.run(row_measures.dense_measures, n, P.size, P, measures)
        else:
            P = P.tocsr()
            execution.run(row_measures.graph_measures, n, P.nnz, P.indptr, P.data, measures)
        return cls.of_measures(measures, P.dtype)

    @classmethod
    def of_measures(cls, measures: Array, dtype: Any) -> MeasuredRows:
        """Interpret the array that the loops of `row_measures` fill, for a matrix of this type."""
        sums = measures[:, row_measures.SUM]
        log_perplexities = measures[:, row_measures.ENTROPY] + sums - 1.0
        rounding = float(np.finfo(np.result_type(dtype, np.float32)).eps) * (1.0 + np.log(len(sums)))
        return cls(sums, log_perplexities, measures[:, row_measures.TIES], rounding)

    @property
    def marginal_gap(self) -> float:
        """Largest deviation of a row sum from 1."""
        return float(np.max(np.abs(self.sums - 1.0)))

    def unbalanced(self, tol: float) -> NDArray[np.bool_]:
        """Return which row sums deviate from 1 by `tol` or more, apart from rounding."""
        return self.off(self.sums - 1.0, tol)

    def off(self, deviation: Array, tol: float) -> NDArray[np.bool_]:
        """Return which deviations are `tol` or more, apart from rounding; NaN counts."""
        return np.asarray(~(np.abs(deviation) < tol + self.rounding))

    def lowest(self, tol: float) -> NDArray[np.bool_]:
        """Return which rows are uniform on their largest entries: no smaller bandwidth lowers their entropy.

        A lower entropy means that some of these entries are smaller, and vanish at a smaller bandwidth.
        """
        return np.asarray(np.abs(self.log_perplexities - np.log(self.ties)) < tol + self.rounding)

    def highest(self, n_entries: Array, tol: float) -> NDArray[np.bool_]:
        """Return which rows are uniform on all `n_entries`: no larger bandwidth raises their entropy."""
        return np.asarray(self.log_perplexities > np.log(n_entries) - tol - self.rounding)


def measured_reason(reason: str, unsolved: NDArray[np.bool_]) -> str:
    """Return why the solver stopped, corrected if the stored P disagrees."""
    if not unsolved.any():
        return Reason.CONVERGED.value
    return Reason.ROUNDING.value if reason == Reason.CONVERGED.value else reason


def row_entropies(P: Matrix) -> NDArray[np.floating[Any]]:
    """Compute the entropy -sum_j P_ij (log P_ij - 1) of every row i.

    A uniform row of xi entries that sums to one has the entropy log(xi) + 1.
    """
    if not sparse.issparse(P):
        P = as_array(P, "P")
    if P.ndim != 2 or P.dtype.kind not in "biuf":
        raise InputError(f"P has shape {P.shape} and type {P.dtype}; pass an affinity matrix, such as affinity_.")
    check_sparse(P, "P")
    return MeasuredRows.of(P).log_perplexities + 1.0


def row_perplexities(P: Matrix) -> NDArray[np.floating[Any]]:
    """Compute exp(H(P_i) - 1) of every row i, where H(P_i) = -sum_j P_ij (log P_ij - 1) is its entropy.

    If a row sums to one, this is its effective number of neighbours.
    """
    return np.asarray(np.exp(row_entropies(P) - 1.0))
