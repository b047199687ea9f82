"""Take one step of gradient descent with momentum and one gain per coordinate."""

from .compilation import compiled

SMALLEST_GAIN = 0.01  # as in the original t-SNE implementation; a smaller gain would almost stop a coordinate


@compiled
def momentum_step(start, stop, z, gradient, velocity, gains, rate, momentum):
    """Move z in place; a gain grows by 0.2 while the direction persists, and is multiplied by 0.8 when it reverses.

    This is the rule of Jacobs (1988), as used in t-SNE.
    """
    z, gradient = z[start:stop].reshape(-1), gradient[start:stop].reshape(-1)
    velocity, gains = velocity[start:stop].reshape(-1), gains[start:stop].reshape(-1)
    for i in range(z.size):  # branch-free: directions are nearly random, so branches would be mispredicted
        g, v, gain = gradient[i], velocity[i], gains[i]
        longer, shorter = gain + 0.2, max(gain * 0.8, SMALLEST_GAIN)
        gain = longer if (g > 0.0) != (v > 0.0) else shorter
        v = momentum * v - rate * gain * g
        gains[i] = gain
        velocity[i] = v
        z[i] += v
