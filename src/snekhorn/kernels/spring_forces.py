"""Pull points towards anchors, by springs whose energy is 2 s_i |z_i - (M a_i + t)|^2."""

from .compilation import compiled, inlined


@inlined
def _offset(i, axis, z, anchors, matrix, shift):
    """Return one coordinate of z_i - (M a_i + t)."""
    place = shift[axis]
    for other in range(anchors.shape[1]):
        place += matrix[axis, other] * anchors[i, other]
    return z[i, axis] - place


@compiled
def pull_to_anchors(start, stop, z, anchors, strengths, matrix, shift, out):
    """Add the gradient 4 s_i (z_i - (M a_i + t)) to every row i."""
    for i in range(start, stop):
        if strengths[i] > 0.0:
            for axis in range(z.shape[1]):
                out[i, axis] += 4.0 * strengths[i] * _offset(i, axis, z, anchors, matrix, shift)


@compiled
def spring_energies(start, stop, z, anchors, strengths, matrix, shift, out):
    """Compute 2 s_i |z_i - (M a_i + t)|^2 for every row i."""
    for i in range(start, stop):
        total = 0.0
        if strengths[i] > 0.0:
            for axis in range(z.shape[1]):
                offset = _offset(i, axis, z, anchors, matrix, shift)
                total += offset * offset
        out[i] = 2.0 * strengths[i] * total
