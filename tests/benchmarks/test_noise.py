"""Simulations have noise of the stated strength, and the verdict follows the numbers."""

import numpy as np
import pytest

from benchmarks.noise import DEPTH, PLAIN, SIMULATIONS, SYMMETRIC, digit_counts, noisy_digits, verdict
from benchmarks.rankings import Score
from snekhorn import datasets


@pytest.mark.parametrize("kind", SIMULATIONS)
def test_samples_are_reproducible_and_differ_by_seed(kind):
    simulate, strengths, _ = SIMULATIONS[kind]
    X, y, batch = simulate(strengths[-1], 200, 0)
    assert len(X) == len(y) == len(batch) == 200
    np.testing.assert_array_equal(simulate(strengths[-1], 200, 0)[0], X)
    assert not np.array_equal(simulate(strengths[-1], 200, 1)[0], X)
    assert set(np.unique(batch)) == {0, 1}


def test_only_the_noisier_batch_has_gaussian_noise_of_the_level():
    clean, _, _ = noisy_digits(0.0, 400, 3)
    noisy, _, batch = noisy_digits(2.0, 400, 3)
    np.testing.assert_array_equal(noisy[batch == 1], clean[batch == 1])
    scale = np.sqrt(clean.var(axis=0).mean())
    assert np.std((noisy - clean)[batch == 0]) == pytest.approx(2.0 * scale, rel=0.02)
    assert {row.tobytes() for row in clean} <= {row.tobytes() for row in datasets.load("digits").X.astype(float)}


def test_images_get_the_stated_number_of_draws():
    X, _, batch = digit_counts(3.0, 100, 0)
    draws = np.where(batch == 1, 3 * DEPTH, DEPTH)
    counts = X**2 * draws[:, None]
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), draws)


def test_the_verdict_names_the_strengths():
    def scores(symmetric, plain):
        return {("2", SYMMETRIC): Score(symmetric, 0.01), ("2", PLAIN): Score(plain, 0.01)}

    assert "is better at 2" in verdict(scores(0.9, 0.5), scores(0.0, 0.3))
    assert "is worse at 2" in verdict(scores(0.5, 0.9), scores(0.3, 0.0))
    assert "makes no difference at 2" in verdict(scores(0.9, 0.895), scores(0.01, 0.0))
    assert "worse in the other at 2" in verdict(scores(0.9, 0.5), scores(-0.3, 0.0))
    assert verdict({}, {}) == ""
