"""Sum the near part of the Student kernel directly over pairs of points, box by box.

The near part is x^m / (1 + s), with s the squared distance and x = 1 - (1 + s) / (1 + r^2), up to the radius r, and zero
beyond. Boxes have the side r, so only the points in a box and in the boxes around it matter. For every row of boxes,
the points of the rows around it are copied into a list that is sorted by column. The points near to a box are then
consecutive, and one loop over them, which the compiler vectorises, computes the sums of a target.

Positions are in units of the spacing, one row per axis. Sources and targets are sorted by box: box b holds the points
first[b] ... first[b + 1] - 1.
"""

import numpy as np

from .compilation import FAST, compiled, inlined


@inlined(fastmath=FAST)
def _near_in_plane(x, y, begin, end, points, charge, square, edge, sharp):
    """Return sum_k q_k x^m / (1 + s), and its derivatives divided by -2, with m = 4 or, if `sharp`, 8."""
    one, zero = charge.dtype.type(1.0), charge.dtype.type(0.0)
    inverse = one / edge
    steepness = charge.dtype.type(8.0 if sharp else 4.0) * inverse
    value = by_x = by_y = zero
    for k in range(begin, end):
        dx, dy = x - points[0, k], y - points[1, k]
        distance = one + square * (dx * dx + dy * dy)
        t = one / distance
        u = max(one - inverse * distance, zero)
        weight = charge[k] * u * u * u * t
        if sharp:
            weight *= (u * u) * (u * u)
        value += weight * u
        pull = weight * (steepness + u * t)
        by_x += pull * dx
        by_y += pull * dy
    return value, by_x, by_y


@inlined(fastmath=FAST)
def _near_in_space(x, y, z, begin, end, points, charge, square, edge, sharp):
    """Compute the same in three dimensions."""
    one, zero = charge.dtype.type(1.0), charge.dtype.type(0.0)
    inverse = one / edge
    steepness = charge.dtype.type(8.0 if sharp else 4.0) * inverse
    value = by_x = by_y = by_z = zero
    for k in range(begin, end):
        dx, dy, dz = x - points[0, k], y - points[1, k], z - points[2, k]
        distance = one + square * (dx * dx + dy * dy + dz * dz)
        t = one / distance
        u = max(one - inverse * distance, zero)
        weight = charge[k] * u * u * u * t
        if sharp:
            weight *= (u * u) * (u * u)
        value += weight * u
        pull = weight * (steepness + u * t)
        by_x += pull * dx
        by_y += pull * dy
        by_z += pull * dz
    return value, by_x, by_y, by_z


@inlined
def _rows_around(row, n_boxes):
    """Return the ranges of slabs and of rows within a slab that touch a row of boxes; a plane is one slab."""
    slab, row = row // n_boxes[1], row % n_boxes[1]
    return max(0, slab - 1), min(n_boxes[0], slab + 2), max(0, row - 1), min(n_boxes[1], row + 2)


@compiled
def near_sums(
    start, stop, n_boxes, first, position, charge, first_target, target, spacing, radius, sharp, out, n_pairs
):
    """Compute the near part of the field and its derivatives at the targets, and count pairs, for rows of boxes.

    `n_boxes` are the numbers of slabs, of rows in a slab and of columns in a row.
    """
    n_columns = n_boxes[2]
    edges = np.empty(n_columns + 1, np.uint32)  # unsigned, so that the compiled loop need not test for negative indices
    square, edge = charge.dtype.type(spacing**2), charge.dtype.type(1.0 + radius**2)
    scale = charge.dtype.type(-2.0 * spacing)
    for row in range(start, stop):
        base = row * n_columns
        if first_target[base] == first_target[base + n_columns]:
            continue
        slab, last_slab, near_row, last_row = _rows_around(row, n_boxes)
        size = 0
        for s in range(slab, last_slab):
            begin = s * n_boxes[1] * n_columns
            size += first[begin + last_row * n_columns] - first[begin + near_row * n_columns]
        points, charges = np.empty((position.shape[0], size), charge.dtype), np.empty(size, charge.dtype)
        m = 0
        for column in range(n_columns):
            edges[column] = m
            for s in range(slab, last_slab):
                for r in range(near_row, last_row):
                    box = (s * n_boxes[1] + r) * n_columns + column
                    for k in range(first[box], first[box + 1]):
                        for axis in range(position.shape[0]):
                            points[axis, m] = position[axis, k]
                        charges[m] = charge[k]
                        m += 1
        edges[n_columns] = m
        for column in range(n_columns):
            begin, end = edges[max(0, column - 1)], edges[min(n_columns, column + 2)]
            n_targets = first_target[base + column + 1] - first_target[base + column]
            n_pairs[row] += np.float64(n_targets) * np.float64(end - begin)
            for i in range(first_target[base + column], first_target[base + column + 1]):
                if position.shape[0] == 2:
                    x, y = target[0, i], target[1, i]
                    value, a, b = _near_in_plane(x, y, begin, end, points, charges, square, edge, sharp)
                else:
                    x, y, z = target[0, i], target[1, i], target[2, i]
                    value, a, b, c = _near_in_space(x, y, z, begin, end, points, charges, square, edge, sharp)
                    out[i, 3] = scale * c
                out[i, 0], out[i, 1], out[i, 2] = value, scale * a, scale * b
