import numpy as np
import pytest

from snekhorn.kernels.placement_sums import _attraction_weights, add_log, placement_sums


@pytest.mark.parametrize("student", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_sums_over_neighbours_are_the_formula(student, d, rng):
    z, positions, p = rng.normal(size=(20, d)), rng.normal(size=(6, d)), rng.uniform(size=(9, 4))
    indices, chosen = rng.integers(20, size=(9, 4)), np.array([8, 0, 3, 4, 5, 7])
    out = np.full((6, 2 + d), np.nan)
    placement_sums(1, 5, chosen, indices, p, z, positions, student, out)
    indices, p = indices[chosen], p[chosen]
    difference = positions[:, None] - z[indices]
    squared = (difference**2).sum(axis=2)
    weight, cost = (p / (1.0 + squared), np.log1p(squared)) if student else (p, squared)
    rows = slice(1, 5)
    np.testing.assert_allclose(out[rows, 0], (p * cost).sum(axis=1)[rows], rtol=1e-13)
    np.testing.assert_allclose(out[rows, 1], weight.sum(axis=1)[rows], rtol=1e-13)
    np.testing.assert_allclose(out[rows, 2:], (weight[:, :, None] * difference).sum(axis=1)[rows], rtol=1e-11)
    assert np.isnan(out[[0, 5]]).all()


def test_logarithms_are_added_to_their_rows(rng):
    values, out = rng.uniform(0.1, 9.0, size=17), rng.normal(size=17)
    want = out + np.log(values)
    want[:3], want[14:] = out[:3], out[14:]
    add_log(3, 14, values, out)
    np.testing.assert_allclose(out, want, rtol=1e-14, atol=1e-15)


def test_sums_do_not_depend_on_where_arrays_are_in_memory(rng):
    """The compiler vectorises a loop that writes only if its arrays are some way apart."""
    k, memory = 16, np.empty(200)
    p, squared = rng.uniform(size=k), memory[:k]
    squared[:] = rng.uniform(size=k)
    totals = {_attraction_weights(p, squared, True, memory[start : start + k]) for start in range(k, 180)}  # noqa: FBT003
    assert len(totals) == 1
