"""The estimators keep scikit-learn's conventions, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from .cases import ESTIMATORS


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few points, and of few iterations
@parametrize_with_checks([kind(max_iter=30) for kind in ESTIMATORS])
def test_scikit_learn(estimator, check):
    check(estimator)
