"""Take a Sinkhorn step and compute the repulsion of a doubly stochastic Q."""

import numpy as np

from .compilation import compiled


@compiled
def sinkhorn_step(start, stop, charges, phi, slope, self_loops, most, new_charges, repulsion):
    """Compute the charges sqrt(q / phi), limited to `most`, and the repulsion 2 q grad phi.

    With self-loops, the field is at least the point's own term q. The ratio q / phi could overflow; its roots cannot.
    """
    for i in range(start, stop):
        q = charges[i]
        field = max(phi[i], q) if self_loops else phi[i]
        new_charges[i] = min(np.sqrt(q) / np.sqrt(field), most)
        for axis in range(slope.shape[1]):
            repulsion[i, axis] = 2.0 * q * slope[i, axis]
