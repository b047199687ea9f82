"""Check the input of an estimator, and read points that do not fit into memory by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..errors import InputError
from ..geometry.inputs import check_affinity_matrix, check_finite
from ..geometry.point_blocks import MANY_COLUMNS, PointBlocks, as_blocks
from ..geometry.preprocessing import Preprocessing
from ..geometry.unreadable_points import check_not_container, is_frame, reading
from .parameters import EmbeddingParameters
from .resources import count_lists

EUCLIDEAN = ("sqeuclidean", "euclidean")  # metrics that principal components preserve


class EmbeddingInput(EmbeddingParameters):
    """Input of `NeighborEmbedding`; see there for its description."""

    n_features_in_: int
    reduction_: Preprocessing

    def checked_input(self, X: Any, *, reset: bool = True) -> Any:
        """Return X as an array, a sparse matrix or neighbour lists, and record its columns."""
        if reset:
            self.__dict__.pop("reduction_", None)  # left by an earlier fit
        check_not_container(X, "X")
        if self.takes_affinity:
            if not reset:
                raise InputError(self.no_new_points())
            X = check_affinity_matrix(X, symmetric=self.latent.normalized != "rows")
            self._note_columns_without_names(X.shape[1])
            return X
        if isinstance(X, tuple) and reset:
            self._note_columns_without_names(count_lists(X))
            return X
        if self.cost_metric != "precomputed" and (blocks := as_blocks(X)) is not None:
            return self._read_training_blocks(blocks) if reset else self._read_new_blocks(blocks)
        frame = X if is_frame(X) else None
        with reading(X, "X"):
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",  # rounding depends on the memory order
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        X = check_finite(X, "X", frame=frame)
        return self.reduction_.transform(X) if hasattr(self, "reduction_") else X

    def no_new_points(self) -> str:
        """Return an error about new points, to which P says nothing."""
        if hasattr(self, "affinity_report_"):  # which `sweep` adds, after a fit to the P that it has computed
            return (
                f"models from sweep cannot place new points; fit {type(self).__name__} with "
                f"perplexity={self.perplexity:g} and exaggeration={self.exaggeration:g} to X."
            )
        return "affinity='precomputed' has no information about new points; fit to features to use transform."

    def unread_points(self, X: Any) -> Any | None:
        """Return the outline of points that are read by blocks; None if X is in memory."""
        blocks = None if self.takes_affinity or self.cost_metric == "precomputed" else as_blocks(X)
        if blocks is None or blocks.shape[0] < 2:
            return None
        return blocks.outline(MANY_COLUMNS if self.cost_metric in EUCLIDEAN else None)

    def _read_training_blocks(self, blocks: PointBlocks) -> Any:
        """Return the points in memory; reduce many columns to principal components if the metric allows it."""
        n, p = blocks.shape
        if n < 2 or p < 1:
            raise InputError(f"X has shape {n} x {p}; pass at least 2 points (rows) and 1 feature.")
        self._note_columns_without_names(p)
        if self.cost_metric not in EUCLIDEAN or min(n, p) <= MANY_COLUMNS:
            return blocks.to_array()
        self.reduction_ = Preprocessing(n_components=MANY_COLUMNS, n_jobs=self.n_jobs).fit(blocks)
        return self.reduction_.transform(blocks)

    def _read_new_blocks(self, blocks: PointBlocks) -> Any:
        """Return new points in memory, reduced like the training points."""
        if blocks.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {blocks.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        if blocks.shape[0] < 1:
            raise InputError("X has 0 points; pass at least one.")
        return self.reduction_.transform(blocks) if hasattr(self, "reduction_") else blocks.to_array()

    def _note_columns_without_names(self, n: int) -> None:
        """Record n unnamed columns, and discard the names of an earlier fit."""
        self.n_features_in_ = n
        self.__dict__.pop("feature_names_in_", None)
