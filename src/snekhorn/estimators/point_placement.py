"""Place new points in a fitted layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from ..affinities.entropic import entropic_weights
from ..embedding.affinity_rows import ENTRIES_AT_ONCE, strongest_neighbors
from ..embedding.charge_sums import ROUGH_SUMS, Array
from ..embedding.descent import EmbeddingReport
from ..embedding.latent import choose_method
from ..embedding.objective import SINKHORN_STEPS, Objective
from ..embedding.placing import frozen_field, place
from ..geometry.costs import NEIGHBORS_PER_PERPLEXITY
from ..geometry.inputs import check_fitted
from ..geometry.neighbor_index import NeighborIndex
from ..runtime.execution import Execution, choose_execution, one_blas_thread
from ..runtime.user_warnings import warn
from .layout_parts import LayoutParts

NEW_POINTS_AT_ONCE = 50_000  # placing a point takes 4 kB at perplexity 30, so larger batches take more memory


class PointPlacement(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LayoutParts):  # type: ignore[misc]
    """Fitted layout in which new points are placed; see `NeighborEmbedding` for its attributes."""

    embedding_: NDArray[Any]
    potential_: NDArray[Any]
    perplexity_: float
    report_: EmbeddingReport
    _reference: NeighborIndex

    @one_blas_thread()
    def transform(self, X: Any) -> NDArray[Any]:
        """Place new points in the layout, which does not change.

        Each point is placed independently of the others, at the position that best matches its affinities to the points
        of the layout. A row of the training data gets its coordinates in the layout; identical rows get those of the
        first. The perplexity is `perplexity_`; parameters that were changed after the fit are ignored.

        Parameters
        ----------
        X : array of shape (m, p)
            Features, or costs of shape (m, n) to the points of the layout if metric="precomputed".

        Returns
        -------
        ndarray of shape (m, n_components)
            Coordinates of the new points.
        """
        check_fitted(self)
        X = self.checked_input(X, reset=False)
        self._reference.check_queries(X)
        return self.placed(X)

    def placed(self, X: Any) -> NDArray[Any]:
        """Return the positions of new points that have been checked."""
        execution = choose_execution(self.n_jobs)
        Z = np.asarray(self.embedding_, dtype=float)
        log_charges = self.potential_ if self.latent.doubly_stochastic else None
        field = frozen_field(Z, log_charges, self.latent, self.report_.method, execution)
        if field.rough:
            warn(f"{type(self).__name__}: {ROUGH_SUMS}", ConvergenceWarning)
        placed = np.empty((X.shape[0], Z.shape[1]), dtype=self.embedding_.dtype)
        for start in range(0, X.shape[0], NEW_POINTS_AT_ONCE):
            batch = slice(start, start + NEW_POINTS_AT_ONCE)
            indices, costs, p = self._weights_of_new_points(X, batch, execution)
            placed[batch] = place(field, Z, indices, p, execution)
            known = costs[:, 0] == 0.0
            placed[batch][known] = self.embedding_[indices[known, 0]]
        return placed

    def placed_again(self, Z: Array, *, n_old: int, P: Any, objective: Objective) -> Array:
        """Return a layout of all points in which the new points, from row `n_old` on, are where P places them.

        The neighbours of a new point may be new themselves, and elsewhere in the layout than those among old points. It
        is too far for a descent to bring it there: neighbours that are far away attract a point only weakly.
        """
        execution = objective.execution
        placed: Array = Z.copy()
        objective.normalization.solve_potential(Z, self.marginal_tol, SINKHORN_STEPS)  # the grid of `refine` is slow
        method = choose_method(self.method, len(Z), Z.shape[1])
        field = frozen_field(Z, objective.potential, self.latent, method, execution)
        k = int(np.ceil(NEIGHBORS_PER_PERPLEXITY * self.perplexity_))
        step = NEW_POINTS_AT_ONCE if sparse.issparse(P) else max(1, ENTRIES_AT_ONCE // len(Z))
        for start in range(n_old, len(Z), step):
            rows = np.arange(start, min(start + step, len(Z)))
            indices, p = strongest_neighbors(P, rows, min(k, len(Z) - 1))
            linked = p[:, 0] > 0.0
            placed[rows[linked]] = place(field, Z, indices[linked], p[linked], execution)
        return placed

    def keep_reference(self, X: Any) -> None:
        """Index the training points, for `transform`."""
        self._reference = NeighborIndex(X, "precomputed" if self.takes_affinity else self.cost_metric)

    @property
    def _layout_dtype(self) -> Any:
        """Precision of the layout: that of the training points."""
        return self._reference.dtype

    def _weights_of_new_points(self, X: Any, batch: slice, execution: Execution) -> tuple[Any, Any, Any]:
        """Return the neighbours of a batch of new points in the layout, with their costs and affinities."""
        n = len(self.embedding_)
        perplexity = min(self.perplexity_, n - 1.0)
        k = min(n, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * perplexity)))
        indices, costs = self._reference.query(X[batch], k, execution, batch.start)
        return indices, costs, entropic_weights(costs, perplexity, execution)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
