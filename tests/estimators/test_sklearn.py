"""The estimators follow all of scikit-learn's conventions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from .cases import ESTIMATORS


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few points, and of few iterations
@parametrize_with_checks([kind(max_iter=30) for kind in ESTIMATORS])
def test_scikit_learn(estimator, check):
    check(estimator)
