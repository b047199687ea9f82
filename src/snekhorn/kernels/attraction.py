"""Sum over the stored pairs of P: the attraction between similar points, and its energy.

The latent cost is C = log(1 + r^2) for the Student kernel and C = r^2 for the Gaussian kernel. P is in CSR format. Its
`indices` must be unsigned: the compiled code then skips the test for negative indices, which saves a quarter of the
time.
"""

import numpy as np

from .arithmetic import fast_log
from .compilation import FAST, compiled, inlined
from .graph_rows import longest_row


@inlined(fastmath=FAST)
def _attract_in_plane(p, near, z, x, y, student):
    """Return sum_j P_ij dC/dr^2 (z_i - z_j) in two dimensions."""
    by_x = by_y = z.dtype.type(0.0)
    one = z.dtype.type(1.0)
    for k in range(p.size):
        dx, dy = x - z[near[k], 0], y - z[near[k], 1]
        weight = p[k] / (one + dx * dx + dy * dy) if student else p[k]
        by_x += weight * dx
        by_y += weight * dy
    return by_x, by_y


@inlined(fastmath=FAST)
def _attract(p, near, z, i, student, out):
    """Compute sum_j P_ij dC/dr^2 (z_i - z_j) in any number of dimensions."""
    out[:] = 0.0
    for k in range(p.size):
        j = near[k]
        weight = p[k]
        if student:
            squared = z.dtype.type(1.0)
            for axis in range(z.shape[1]):
                squared += (z[i, axis] - z[j, axis]) ** 2
            weight /= squared
        for axis in range(z.shape[1]):
            out[axis] += weight * (z[i, axis] - z[j, axis])


@compiled
def attract(start, stop, indptr, indices, p, z, student, out):
    """Compute sum_j P_ij dC/dr^2 (z_i - z_j) for every row i."""
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        if z.shape[1] == 2:
            out[i, 0], out[i, 1] = _attract_in_plane(p[row], indices[row], z, z[i, 0], z[i, 1], student)
        else:
            _attract(p[row], indices[row], z, i, student, out[i])


@inlined(fastmath=FAST)
def row_energy(p, squared, student):
    """Return sum_k P_k C(squared_k), or infinity or NaN if any distance is infinite or NaN."""
    total = spread = 0.0
    for k in range(p.size):
        total += p[k] * (fast_log(1.0 + squared[k]) if student else squared[k])
        spread += squared[k]
    return total if np.isfinite(spread) else spread  # fast_log would hide an overflow


@inlined(fastmath=FAST)
def _squared_distances(near, z, i, out):
    """Compute |z_i - z_j|^2 for the neighbours j of one point."""
    if z.shape[1] == 2:  # a single loop that the compiler vectorises
        x, y = z[i, 0], z[i, 1]
        for k in range(near.size):
            dx, dy = np.float64(x - z[near[k], 0]), np.float64(y - z[near[k], 1])
            out[k] = dx * dx + dy * dy
        return
    for k in range(near.size):
        out[k] = 0.0
        for axis in range(z.shape[1]):
            out[k] += np.float64(z[i, axis] - z[near[k], axis]) ** 2


@compiled
def energy(start, stop, indptr, indices, p, z, student, out):
    """Compute sum_j P_ij C_ij for every row i."""
    squared = np.empty(longest_row(start, stop, indptr))
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        near = indices[row]
        _squared_distances(near, z, i, squared[: near.size])
        out[i] = row_energy(p[row], squared[: near.size], student)
