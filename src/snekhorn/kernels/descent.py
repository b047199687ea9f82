"""One step of gradient descent with momentum and a gain for every coordinate."""

from numba import njit

SMALLEST_GAIN = 0.01


@njit(nogil=True, cache=True)
def momentum_step(start, stop, z, gradient, velocity, gains, rate, momentum):
    """Gains grow by 0.2 where the step keeps its direction and shrink to 0.8 where it turns (Jacobs, 1988)."""
    for i in range(start, stop):
        for axis in range(z.shape[1]):
            g, v = gradient[i, axis], velocity[i, axis]
            gain = gains[i, axis] + 0.2 if (g > 0.0) != (v > 0.0) else gains[i, axis] * 0.8
            gain = max(gain, SMALLEST_GAIN)
            v = momentum * v - rate * gain * g
            gains[i, axis] = gain
            velocity[i, axis] = v
            z[i, axis] += v
