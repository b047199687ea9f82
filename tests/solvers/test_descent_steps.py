import numpy as np
import pytest

from snekhorn.kernels.momentum import SMALLEST_GAIN
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads
from snekhorn.solvers.descent_steps import Adam, Momentum

SHAPE = (12, 2)


@pytest.fixture(params=[lambda shape: Momentum(shape, Threads()), Adam], ids=["momentum", "adam"])
def kind(request):
    return request.param


@pytest.fixture
def gradients(rng):
    return rng.normal(size=(30, *SHAPE))


def _walk(optimizer, gradients, momentum=0.8):
    Z = np.zeros(gradients.shape[1:])
    for gradient in gradients:
        optimizer.step(Z, gradient, 0.1, momentum)
    return Z


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.8])
def test_momentum_is_the_formula(gradients, momentum):
    Z, velocity, gains = np.zeros(SHAPE), np.zeros(SHAPE), np.ones(SHAPE)
    for gradient in gradients:
        gains = np.where((gradient > 0.0) != (velocity > 0.0), gains + 0.2, 0.8 * gains).clip(SMALLEST_GAIN)
        velocity = momentum * velocity - 0.1 * gains * gradient
        Z += velocity
    np.testing.assert_allclose(_walk(Momentum(SHAPE, Threads()), gradients, momentum), Z, rtol=1e-12, atol=1e-14)


def test_adam_is_the_formula(gradients):
    Z, mean, square = np.zeros(SHAPE), np.zeros(SHAPE), np.zeros(SHAPE)
    for t, gradient in enumerate(gradients, start=1):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        Z -= 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(_walk(Adam(SHAPE), gradients), Z, rtol=1e-12, atol=1e-14)


def test_adam_ascends_and_descends_by_the_same_update(gradients):
    adam, Z = Adam(SHAPE), np.zeros(SHAPE)
    for gradient in gradients:
        Z = Z + adam.update(gradient, 0.1)
    np.testing.assert_array_equal(Z, -_walk(Adam(SHAPE), gradients))


def test_the_first_step_of_adam_is_the_rate(gradients):
    np.testing.assert_allclose(_walk(Adam(SHAPE), gradients[:1]), -0.1 * np.sign(gradients[0]), rtol=1e-6)


def test_finds_the_minimum_of_a_quadratic(kind, rng):
    centre, Z = rng.normal(size=SHAPE), np.zeros(SHAPE)
    optimizer = kind(SHAPE)
    for t in range(1500):
        optimizer.step(Z, 2.0 * (Z - centre), 0.05 * 0.995**t, 0.8)
    np.testing.assert_allclose(Z, centre, atol=1e-3)


def test_permute_takes_the_state_along(kind, gradients, rng):
    order = rng.permutation(SHAPE[0])
    want = _walk(kind(SHAPE), gradients)
    optimizer = kind(SHAPE)
    Z = _walk(optimizer, gradients[:10])[order]
    optimizer.permute(order)
    for gradient in gradients[10:]:
        optimizer.step(Z, gradient[order], 0.1, 0.8)
    np.testing.assert_array_equal(Z, want[order])


def test_a_reset_optimizer_starts_anew(kind, gradients):
    optimizer = kind(SHAPE)
    _walk(optimizer, gradients[:10])
    optimizer.reset()
    np.testing.assert_array_equal(_walk(optimizer, gradients[10:]), _walk(kind(SHAPE), gradients[10:]))


def test_a_reset_keeps_the_options(gradients):
    optimizer = Adam(SHAPE, decay=(0.5, 0.9))
    optimizer.reset()
    np.testing.assert_array_equal(_walk(optimizer, gradients), _walk(Adam(SHAPE, decay=(0.5, 0.9)), gradients))


def test_the_momenta_of_adam_are_its_own(gradients):
    np.testing.assert_array_equal(_walk(Adam(SHAPE), gradients, 0.0), _walk(Adam(SHAPE), gradients, 0.9))


def test_the_gradient_is_left_as_it_is(kind, gradients):
    before = gradients.copy()
    _walk(kind(SHAPE), gradients)
    np.testing.assert_array_equal(gradients, before)


def test_threads_leave_no_trace(rng):
    gradients = rng.normal(size=(3, MIN_WORK_FOR_THREADS, 2))
    one = _walk(Momentum(gradients.shape[1:], Threads(1)), gradients)
    for n_threads in (2, 4):
        np.testing.assert_array_equal(_walk(Momentum(gradients.shape[1:], Threads(n_threads)), gradients), one)
