"""The simulations of the paper have the distributions they claim."""

import numpy as np
import pytest

from snekhorn.datasets import make_heteroscedastic_multinomial, make_three_gaussians


def test_three_gaussians_have_the_given_spreads():
    X, y = make_three_gaussians(4000, spreads=(1.0, 3.0, 2.0))
    assert X.shape == (12_000, 2)
    found = [X[y == cluster].std(axis=0).mean() for cluster in range(3)]
    np.testing.assert_allclose(found, [1.0, 3.0, 2.0], rtol=0.05)


def test_multinomial_rows_are_frequencies_of_their_batch():
    X, y, batch = make_heteroscedastic_multinomial(40, 200, trials=(100, 400))
    np.testing.assert_allclose(X.sum(axis=1), 1.0)
    assert np.bincount(y).tolist() == [20, 20]
    assert batch.sum() == 10
    assert (y[batch == 1] == 1).all()
    np.testing.assert_allclose(X[batch == 1] * 400, np.round(X[batch == 1] * 400), atol=1e-9)
    np.testing.assert_allclose(X[batch == 0] * 100, np.round(X[batch == 0] * 100), atol=1e-9)


def test_the_batch_with_more_trials_has_less_noise():
    X, y, batch = make_heteroscedastic_multinomial(200, 500)
    spread = [np.linalg.norm(X[rows] - X[rows].mean(axis=0), axis=1).mean() for rows in (batch == 1, y > batch)]
    assert spread[0] < 0.8 * spread[1]


@pytest.mark.parametrize("make", [make_three_gaussians, make_heteroscedastic_multinomial])
def test_the_seed_determines_the_points(make):
    size = {} if make is make_three_gaussians else {"n_features": 50}
    first, again, other = (make(40, **size, random_state=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="multiple of four"):
        make_heteroscedastic_multinomial(10)
    with pytest.raises(ValueError, match="spreads must have 3"):
        make_three_gaussians(spreads=(1.0, 2.0))
