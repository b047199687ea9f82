"""User-defined affinities work in estimators; if a model cannot be saved, no file is written."""

import numpy as np
import pytest
from sklearn.base import clone

from snekhorn import TSNEkhorn
from snekhorn.affinities import (
    Affinity,
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    MultiscaleSymmetricEntropicAffinity,
    SelfTuningAffinity,
)
from snekhorn.affinities.affinity import closed_form_report
from snekhorn.errors import InputError

from ..helpers import clusters
from .cases import each_estimator, quick, stops_early

pytestmark = stops_early


class InverseAffinity(Affinity):
    """P_ij = 1 / (width + C_ij), an arbitrary formula."""

    def __init__(self, width=1.0, *, metric="sqeuclidean", n_neighbors=None, self_loops=False):
        super().__init__(metric, n_neighbors, self_loops=self_loops)
        self.width = width

    def check_parameters(self):
        super().check_parameters()
        if self.width <= 0.0:
            raise InputError(f"width must be positive, got {self.width}.")

    def compute(self, cost):
        P = cost.symmetrized().map_pairs(lambda C, i, j: 1.0 / (self.width + C), self_loops=self.self_loops)
        return P, closed_form_report()


@each_estimator
@pytest.mark.parametrize("n_neighbors", [None, 10])
def test_an_affinity_of_ones_own(kind, n_neighbors):
    X = clusters(60)
    estimator = quick(kind, affinity=InverseAffinity(2.0, n_neighbors=n_neighbors)).fit(X)
    assert np.isfinite(estimator.embedding_).all()
    assert estimator.perplexity_ == 8.0
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)


@pytest.mark.parametrize("form", [{}, {"n_neighbors": 15}])
@pytest.mark.parametrize(
    ("affinity", "perplexity"),
    [
        (EntropicAffinity(5.0), 5.0),
        (GaussianAffinity(perplexity=5.0), 5.0),
        (GaussianAffinity(bandwidth=1.0), 8.0),
        (DoublyStochasticAffinity(perplexity=5.0), 5.0),
        (DoublyStochasticAffinity(bandwidth=1.0), 8.0),
        (SelfTuningAffinity(), 8.0),
        (MultiscaleSymmetricEntropicAffinity([4.0, 6.0]), 6.0),
        (MultiscaleSymmetricEntropicAffinity(), 100.0),
    ],
    ids=repr,
)
def test_new_points_have_the_perplexity_of_the_affinity_or_else_that_of_the_estimator(affinity, perplexity, form):
    own = clone(affinity).set_params(**form)
    assert quick(TSNEkhorn, perplexity=8.0, affinity=own).fit(clusters(60)).perplexity_ == perplexity


def test_its_parameters_are_checked_before_any_work():
    with pytest.raises(InputError, match="width must be positive"):
        quick(TSNEkhorn, affinity=InverseAffinity(-1.0)).fit(clusters(60))


def test_saving_says_what_cannot_be_saved(tmp_path):
    estimator = quick(TSNEkhorn, affinity=InverseAffinity()).fit(clusters(60))
    with pytest.raises(InputError, match="InverseAffinity"):
        estimator.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
