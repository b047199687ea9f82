"""One step of gradient descent with momentum and a gain for every coordinate."""

from numba import njit

SMALLEST_GAIN = 0.01


@njit(nogil=True, cache=True)
def momentum_step(start, stop, z, gradient, velocity, gains, rate, momentum):
    """Gains grow by 0.2 where the step keeps its direction and shrink to 0.8 where it turns (Jacobs, 1988)."""
    z, gradient = z[start:stop].reshape(-1), gradient[start:stop].reshape(-1)
    velocity, gains = velocity[start:stop].reshape(-1), gains[start:stop].reshape(-1)
    for i in range(z.size):  # without a branch: directions are as good as random, and processors guess them wrongly
        g, v, gain = gradient[i], velocity[i], gains[i]
        longer, shorter = gain + 0.2, max(gain * 0.8, SMALLEST_GAIN)
        gain = longer if (g > 0.0) != (v > 0.0) else shorter
        v = momentum * v - rate * gain * g
        gains[i] = gain
        velocity[i] = v
        z[i] += v
