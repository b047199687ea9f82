import numpy as np

from snekhorn.kernels.momentum import SMALLEST_GAIN, momentum_step


def test_a_step_is_the_formula_on_its_rows_alone(rng):
    z, gradient, velocity = rng.normal(size=(3, 20, 2))
    gains = rng.uniform(0.005, 2.0, size=(20, 2))
    before = [array.copy() for array in (z, velocity, gains)]
    momentum_step(5, 12, z, gradient, velocity, gains, 0.3, 0.8)
    old_z, old_velocity, old_gains = before
    turns = np.sign(gradient) == np.sign(old_velocity)  # the gradient points along the step: it went too far
    new_gains = np.maximum(np.where(turns, 0.8 * old_gains, old_gains + 0.2), SMALLEST_GAIN)
    new_velocity = 0.8 * old_velocity - 0.3 * new_gains * gradient
    rows = slice(5, 12)
    np.testing.assert_allclose(gains[rows], new_gains[rows], rtol=1e-15)
    np.testing.assert_allclose(velocity[rows], new_velocity[rows], rtol=1e-12)
    np.testing.assert_allclose(z[rows], (old_z + new_velocity)[rows], rtol=1e-12, atol=1e-15)
    for array, old in zip((z, velocity, gains), before, strict=True):
        np.testing.assert_array_equal(np.delete(array, rows, axis=0), np.delete(old, rows, axis=0))


def test_gains_do_not_vanish():
    gains, ones = np.full((1, 1), 0.011), np.ones((1, 1))
    momentum_step(0, 1, np.zeros((1, 1)), ones, ones.copy(), gains, 0.1, 0.8)
    assert gains[0, 0] == SMALLEST_GAIN
