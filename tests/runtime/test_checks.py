"""Test the checks on their own; the tests of affinities cover what users see."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from snekhorn.errors import InputError
from snekhorn.geometry.inputs import MATRIX_ROWS_AT_ONCE, check_cost_matrix, check_points
from snekhorn.runtime.checks import (
    check_choice,
    check_count,
    check_jobs,
    check_memory,
    check_perplexity,
    check_positive,
    check_seed,
    clamp_perplexity,
    is_missing,
)
from snekhorn.runtime.progress import notes_shown_by


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_of_float_type_are_not_copied(dtype, rng):
    X = rng.normal(size=(5, 2)).astype(dtype)
    assert np.shares_memory(check_points(X), X)


@pytest.mark.parametrize("dtype", [int, np.uint8, bool])
def test_other_points_become_float64(dtype):
    assert check_points(np.ones((3, 2), dtype=dtype)).dtype == np.float64


def test_sparse_points_become_csr():
    assert check_points(sparse.coo_matrix(np.eye(3))).format == "csr"


def test_a_bad_value_beyond_the_first_block_is_found_where_it_is():
    X = np.zeros((MATRIX_ROWS_AT_ONCE + 10, 2))
    X[MATRIX_ROWS_AT_ONCE + 3, 1] = np.nan
    with pytest.raises(ValueError, match=f"row {MATRIX_ROWS_AT_ONCE + 3}, column 1"):
        check_points(X)


def test_a_symmetric_cost_matrix_is_not_copied():
    C = np.ones((4, 4)) - np.eye(4)
    assert np.shares_memory(check_cost_matrix(C), C)


def test_evening_out_takes_one_matrix_more_and_no_other(rng):
    C = np.ones((2000, 2000)) - np.eye(2000)
    C[0, 1] += 1e-12
    tracemalloc.start()
    check_cost_matrix(C)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * C.nbytes


def test_rounding_is_no_asymmetry_and_is_evened_out():
    C = np.ones((4, 4)) - np.eye(4)
    C[0, 1] += 1e-12
    found = check_cost_matrix(C)
    np.testing.assert_array_equal(found, found.T)
    assert C[0, 1] != C[1, 0]


@pytest.mark.parametrize("value", [1.0001, 30, np.float32(5.0), np.int64(7)])
def test_perplexities_that_are_numbers_pass(value):
    found = check_perplexity(value)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize(("perplexity", "n_entries", "found"), [(9.0, 10, 9.0), (1.5, 2, 1.5)])
def test_a_perplexity_that_fits_is_kept(perplexity, n_entries, found):
    assert clamp_perplexity(perplexity, n_entries, 100) == found


@pytest.mark.parametrize(
    ("perplexity", "n_entries", "largest"),
    [(30.0, 2, 1.5), (1.9, 2, 1.5), (30.0, 3, 2.0), (30.0, 10, 9.0), (9.5, 10, 9)],
)
def test_a_perplexity_that_does_not_fit_becomes_the_largest_sensible(perplexity, n_entries, largest):
    with pytest.warns(
        UserWarning, match=f"perplexity={perplexity:g} .* {n_entries} entries allow; using {largest:g}\\."
    ):
        assert clamp_perplexity(perplexity, n_entries, 100) == largest
    for n_points in (n_entries, n_entries + 1):  # with and without self-loops
        with pytest.warns(
            UserWarning, match=f"perplexity={perplexity:g} is too large for {n_points} points; using {largest:g}"
        ):
            assert clamp_perplexity(perplexity, n_entries, n_points) == largest


@pytest.mark.parametrize(
    ("n_points", "advice"),
    [
        (300, "using 298, but above a third of the points, layouts show little structure; 30 is a good start."),
        (60, "using 58, but above a third of the points, layouts show little structure; 20 is a good start."),
        (5, "using 3, but above a third of the points, layouts show little structure; 2 is a good start."),
        (4, "using 2."),
        (3, "using 1.5."),
    ],
)
def test_a_perplexity_above_the_number_of_points_comes_with_a_better_one(n_points, advice):
    with pytest.warns(UserWarning, match="too large") as said:
        clamp_perplexity(500.0, n_points - 1, n_points)
    assert str(said[0].message) == f"perplexity=500 is too large for {n_points} points; {advice}"


@pytest.mark.parametrize(("perplexity", "noted"), [(30.0, False), (31.0, True), (80.0, True)])
def test_a_perplexity_above_a_third_of_the_points_is_noted(perplexity, noted):
    notes = []
    with notes_shown_by(notes.append):
        assert clamp_perplexity(perplexity, 90, 90) == perplexity
    expected = "is large for 90 points: above a third of the points, layouts show little structure; 30 is a good start"
    assert notes == [f"perplexity={perplexity:g} {expected}"] * noted


def test_rows_of_a_single_entry_have_no_perplexity_to_choose():
    with pytest.warns(UserWarning, match=r"single entry, .* has no effect; add points, or allow self-loops"):
        assert clamp_perplexity(30.0, 1, 2) == 1.0


@pytest.mark.parametrize("value", [1, 1e-300, np.float32(0.5)])
def test_positive_numbers_pass(value):
    assert check_positive(value, "x") == float(value)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1", True, None, pytest.param(10**400, id="400 digits")])
def test_other_numbers_do_not(value):
    with pytest.raises(ValueError, match="x must be a positive finite number"):
        check_positive(value, "x")


def test_counts():
    assert check_count(np.int32(3), "k") == 3
    with pytest.raises(ValueError, match="k must be a whole number of at least 2, got 1"):
        check_count(1, "k", smallest=2)


def test_choices():
    assert check_choice("a", "letter", ("a", "b")) == "a"
    with pytest.raises(ValueError, match="letter must be one of 'a', 'b'; got 'c'"):
        check_choice("c", "letter", ("a", "b"))


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_booleans_of_numpy_are_booleans(value):
    assert check_choice(value, "flag", (True, False)) == value


@pytest.mark.parametrize("value", [1, 0, 1.0])
def test_numbers_are_no_booleans(value):
    with pytest.raises(ValueError, match="flag must be one of True, False"):
        check_choice(value, "flag", (True, False))


@pytest.mark.parametrize("value", [None, 1, -1, np.int64(4)])
def test_jobs(value):
    assert check_jobs(value) == value


@pytest.mark.parametrize("seed", [None, 0, 2**32 - 1, np.int64(3), np.random.RandomState(0)])
def test_seeds(seed):
    check_seed(seed)


@pytest.mark.parametrize("seed", [-1, 2**32, 99999999999999, 0.5, "a", [1], np.random.default_rng(0)])
def test_values_that_are_no_seeds(seed):
    with pytest.raises(InputError, match=r"random_state must be a whole number from 0 .*got"):
        check_seed(seed)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        (8_000_000_000, 8e9),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        ("8GB", 8e9),
        ("1.5 tb", 1.5e12),
        (" 500 MiB ", 500 * 2**20),
        ("2g", 2e9),
        ("2Gi", 2**31),
        ("64 KB", 64e3),
        ("100B", 100.0),
        ("4096", 4096.0),
        ("0.5", 0.5),
        ("50%", 0.5),
        ("100 %", 1.0),
    ],
)
def test_amounts_of_memory(given, found):
    assert check_memory(given) == found


@pytest.mark.parametrize(
    "given", ["", "8 gigs", "GB", "-1GB", "150%", "0", 0, -5, np.nan, np.inf, 10**400, True, [1], "1e9GB", "8iB", "1 2"]
)
def test_no_amounts_of_memory(given):
    with pytest.raises(InputError, match="max_memory must be a number of bytes, a text such as '8GB', a fraction"):
        check_memory(given)


def test_values_that_stand_for_none():
    for missing in (None, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")):
        assert is_missing(missing)
    for known in (0, "", "nan", False, 1.5, np.zeros(2), [], pd.Timestamp("2024-01-01")):
        assert not is_missing(known)
