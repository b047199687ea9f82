import numpy as np
import pytest

from snekhorn.kernels.spring_forces import pull_to_anchors, spring_energies


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_formulas_on_their_rows_alone(rng, d):
    z, anchors, before = rng.normal(size=(3, 20, d))
    strengths = np.where(np.arange(20) % 3 == 0, 0.0, rng.uniform(size=20))
    matrix, shift = rng.normal(size=(d, d)), rng.normal(size=d)
    offsets = z - (anchors @ matrix.T + shift)
    gradient, energies = before.copy(), np.full(20, np.nan)
    pull_to_anchors(5, 12, z, anchors, strengths, matrix, shift, gradient)
    spring_energies(5, 12, z, anchors, strengths, matrix, shift, energies)
    rows = slice(5, 12)
    np.testing.assert_allclose(gradient[rows], (before + 4.0 * strengths[:, None] * offsets)[rows], rtol=1e-12)
    np.testing.assert_allclose(energies[rows], (2.0 * strengths * (offsets**2).sum(axis=1))[rows], rtol=1e-12)
    np.testing.assert_array_equal(np.delete(gradient, rows, axis=0), np.delete(before, rows, axis=0))
    assert np.isnan(np.delete(energies, rows)).all()
