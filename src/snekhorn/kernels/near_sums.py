"""Sum the near part of the Student kernel directly over pairs of points, box by box.

The near part is x^m / (1 + s), with s the squared distance and x = 1 - (1 + s) / (1 + r^2), up to the radius r, and
zero beyond. `reach` is the number of boxes per radius along every axis, so only the boxes up to `reach` away from a box
matter. For every row of boxes, the points of the rows around it are copied into a band that is sorted by column. The
points near to a box are then consecutive, and one loop over them, which the compiler vectorises, computes the sums of
a target.

Positions are in units of the spacing, one row per axis. Sources and targets are sorted by box: box b holds the points
first[b] ... first[b + 1] - 1. A plane is one slab of rows.
"""

import numpy as np

from .compilation import FAST, compiled, inlined

STRIDE = np.uint32(32)  # a multiple of this many sources needs no loop over a remainder; more visit more pairs
CROWD = 256  # points in a box from which points in one place are merged; with fewer, merging saves little
SLOTS = 1024  # places per box in which points are merged; more take longer to clear


@inlined(fastmath=FAST)
def _near_pair(charge, distance, inverse, steepness, sharp):
    """Return the near part of the field of one charge, and the factor of its derivatives; distance is 1 + s."""
    one, zero = type(charge)(1.0), type(charge)(0.0)
    t = one / distance
    u = max(one - inverse * distance, zero)
    weight = charge * t * (u * u) * u
    if sharp:
        weight *= (u * u) * (u * u)
    return weight * u, weight * (steepness + t)


@inlined(fastmath=FAST)
def _near_in_plane(x, y, begin, end, points, charge, edge, sharp):
    """Return sum_k q_k x^m / (1 + s), and its derivatives divided by -2, with m = 4 or, if `sharp`, 8."""
    one, zero = charge.dtype.type(1.0), charge.dtype.type(0.0)
    inverse = one / edge
    steepness = charge.dtype.type(7.0 if sharp else 3.0) * inverse
    value = by_x = by_y = zero
    for k in range(begin, end):
        dx, dy = x - points[0, k], y - points[1, k]
        near, pull = _near_pair(charge[k], one + dx * dx + dy * dy, inverse, steepness, sharp)
        value += near
        by_x += pull * dx
        by_y += pull * dy
    return value, by_x, by_y


@inlined(fastmath=FAST)
def _near_in_space(x, y, z, begin, end, points, charge, edge, sharp):
    """Compute the same in three dimensions."""
    one, zero = charge.dtype.type(1.0), charge.dtype.type(0.0)
    inverse = one / edge
    steepness = charge.dtype.type(7.0 if sharp else 3.0) * inverse
    value = by_x = by_y = by_z = zero
    for k in range(begin, end):
        dx, dy, dz = x - points[0, k], y - points[1, k], z - points[2, k]
        near, pull = _near_pair(charge[k], one + dx * dx + dy * dy + dz * dz, inverse, steepness, sharp)
        value += near
        by_x += pull * dx
        by_y += pull * dy
        by_z += pull * dz
    return value, by_x, by_y, by_z


@inlined
def _rows_around(row, n_boxes, reach):
    """Return the ranges of slabs, and of rows within a slab, that are near to a row of boxes."""
    slab, row = row // n_boxes[1], row % n_boxes[1]
    slabs = max(0, slab - reach[0]), min(n_boxes[0], slab + reach[0] + 1)
    return slabs, (max(0, row - reach[1]), min(n_boxes[1], row + reach[1] + 1))


@inlined
def _copy(begin, end, position, charge, spacing, m, points, charges):
    """Append the points of a box to the band, with positions in units of the layout; return the end of the band."""
    for k in range(begin, end):
        points[0, m], points[1, m] = spacing * position[0, k], spacing * position[1, k]
        if position.shape[0] == 3:
            points[2, m] = spacing * position[2, k]
        charges[m] = charge[k]
        m += 1
    return m


@inlined
def _merge(begin, end, position, charge, spacing, m, points, charges, same, slots, mass):
    """Append the points of a crowded box to the band, but merge points that are less than `same` apart.

    Otherwise many points in one place would take quadratic time. A merged charge lies at the centre of its points, so
    the error is quadratic in `same`. The table of slots only remembers the last place with the same hash, so it may
    miss points that could be merged.
    """
    slots[:] = -1  # no place
    for k in range(begin, end):
        slot = 0
        for axis in range(position.shape[0]):
            points[axis, m] = spacing * position[axis, k]
            slot = slot * 31 + int(points[axis, m] / same)
        slot %= SLOTS
        found = slots[slot]
        near = found >= 0
        for axis in range(position.shape[0]):
            near = near and abs(points[axis, m] - points[axis, found]) < same
        if near:
            mass[slot] += charge[k]
            charges[found] = mass[slot]
            share = charge[k] / mass[slot] if mass[slot] > 0.0 else 0.0
            for axis in range(position.shape[0]):
                points[axis, found] += share * (points[axis, m] - points[axis, found])
        else:
            slots[slot], mass[slot], charges[m] = m, charge[k], charge[k]
            m += 1
    return m


@compiled
def near_sums(start, stop, n_boxes, reach, sources, targets, split, out, n_pairs):
    """Compute the near part of the field and its derivatives at the targets, and count pairs, for rows of boxes.

    `n_boxes` are the numbers of slabs, of rows in a slab and of columns in a row, `sources` are (first, position,
    charge), `targets` are (first, position), and `split` is (spacing, radius, same, sharp).
    """
    first, position, charge = sources
    first_target, target = targets
    spacing, radius, same, sharp = split
    d, n_columns = position.shape[0], n_boxes[2]
    edges = np.empty(n_columns + 1, np.uint32)  # unsigned, so that the compiled loop need not test for negative indices
    slots, mass = np.empty(SLOTS, np.int64), np.empty(SLOTS)
    scale, edge = charge.dtype.type(spacing), charge.dtype.type(1.0 + radius * radius)
    minus_two = charge.dtype.type(-2.0)
    points, charges = np.empty((d, 1), charge.dtype), np.empty(1, charge.dtype)
    for row in range(start, stop):
        base = row * n_columns
        if first_target[base] == first_target[base + n_columns]:
            continue
        slabs, rows = _rows_around(row, n_boxes, reach)
        size = STRIDE
        for s in range(slabs[0], slabs[1]):
            begin = s * n_boxes[1] * n_columns
            size += first[begin + rows[1] * n_columns] - first[begin + rows[0] * n_columns]
        if size > charges.size:
            points, charges = np.empty((d, 2 * size), charge.dtype), np.empty(2 * size, charge.dtype)
        m = 0
        for column in range(n_columns):
            edges[column] = m
            for s in range(slabs[0], slabs[1]):
                for r in range(rows[0], rows[1]):
                    box = (s * n_boxes[1] + r) * n_columns + column
                    begin, end = first[box], first[box + 1]
                    if end - begin < CROWD:
                        m = _copy(begin, end, position, charge, scale, m, points, charges)
                    else:
                        m = _merge(begin, end, position, charge, scale, m, points, charges, same, slots, mass)
        edges[n_columns] = m
        points[:, m : m + STRIDE] = 0.0
        charges[m : m + STRIDE] = 0.0
        for column in range(n_columns):
            begin, end = edges[max(0, column - reach[2])], edges[min(n_columns, column + reach[2] + 1)]
            n_targets = first_target[base + column + 1] - first_target[base + column]
            n_pairs[row] += np.float64(n_targets) * np.float64(end - begin)
            # Further points of the band are beyond the radius, or have no charge, so they change nothing.
            end = begin + (end - begin + STRIDE - np.uint32(1)) // STRIDE * STRIDE
            for i in range(first_target[base + column], first_target[base + column + 1]):
                x, y = scale * target[0, i], scale * target[1, i]
                if d == 2:
                    value, a, b = _near_in_plane(x, y, begin, end, points, charges, edge, sharp)
                else:
                    z = scale * target[2, i]
                    value, a, b, c = _near_in_space(x, y, z, begin, end, points, charges, edge, sharp)
                    out[i, 3] = minus_two * c
                out[i, 0], out[i, 1], out[i, 2] = value, minus_two * a, minus_two * b
