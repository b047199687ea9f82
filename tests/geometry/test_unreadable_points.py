"""X that is not an array of numbers is refused with one sentence that says what it is and what to do."""

import warnings
from datetime import date, time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from snekhorn import TSNEkhorn
from snekhorn.affinities import EntropicAffinity
from snekhorn.errors import InputError
from snekhorn.geometry.preprocessing import Preprocessing

from ..helpers import changed

POINTS = np.random.default_rng(0).normal(size=(20, 3))
DATES = changed((10 * POINTS).astype("datetime64[s]"), (3, 1), np.datetime64("NaT"))
DURATIONS = (10 * POINTS).astype("timedelta64[s]")
DAYS = pl.DataFrame({"a": [None, *[date(2024, 1, 1)] * 19], "b": [date(2024, 1, 2)] * 20})
OBJECTS = POINTS.astype(object)
SPARSE = changed(POINTS, (4, 2), np.nan) * (np.arange(20)[:, None] > 1)
FITS = {
    "estimator": TSNEkhorn(perplexity=4.0).fit,
    "affinity": EntropicAffinity(4.0).fit,
    "preprocessing": Preprocessing(standardize=True).fit,
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize(
    ("X", "text"),
    [
        (DATES, r"X holds datetime64\[s\] values; encode them as numbers"),
        (list(DATES), r"X holds datetime64\[s\] values; encode them as numbers"),
        (DURATIONS, r"X holds timedelta64\[s\] values; encode them as numbers"),
        (DAYS.to_arrow(), r"X holds datetime64\[D\] values; encode them as numbers"),
        (pd.DataFrame(DATES, columns=list("abc")), "columns 'a', 'b', 'c' of X do not .* 'a' holds Timestamp objects"),
        (pd.DataFrame(DURATIONS, columns=list("abc")), "columns 'a', 'b', 'c' of X do not .* 'a' holds Timedelta obj"),
        (DAYS, "columns 'a', 'b' of X do not hold numbers; 'a' holds date objects; drop these columns"),
        (DAYS.with_columns(x=pl.lit(1.0)), "columns 'a', 'b' of X do not hold numbers; 'a' holds date objects"),
        (pl.DataFrame({"a": [timedelta(1)] * 20}), "column 'a' of X holds timedelta objects; drop the column"),
        (pl.DataFrame({"a": [time(1)] * 20}), "column 'a' of X holds time objects; drop the column"),
        (
            changed(OBJECTS, (3, 1), np.datetime64("2024-01-01")),
            "column 1 of X holds datetime64 objects; drop the column",
        ),
    ],
)
def test_times_are_no_numbers(fit, X, text):
    with pytest.raises(InputError, match=f"^{text}"):
        fit(X)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_masked_values_are_refused(fit):
    with pytest.raises(InputError, match=r"^X has 2 masked values, the first at row 1, column 2; drop such rows, or"):
        fit(np.ma.masked_array(POINTS, np.arange(60).reshape(20, 3) % 45 == 5))
    with pytest.raises(InputError, match=r"^X has a masked value at row 0, column 1; drop such rows, or"):
        fit(np.ma.masked_array(POINTS, np.arange(60).reshape(20, 3) == 1))


def test_a_masked_array_without_masked_values_is_an_array():
    X = np.ma.masked_array(POINTS)
    P, expected = (EntropicAffinity(4.0).fit_transform(given) for given in (X, POINTS))
    np.testing.assert_array_equal(P, expected)


@pytest.mark.parametrize("name", ["init", "align"])
def test_masked_values_of_given_layouts_are_refused(name):
    Z = np.ma.masked_array(POINTS[:, :2], np.arange(40).reshape(20, 2) == 5)
    init, more = (Z, {}) if name == "init" else ("pca", {"align": Z})
    with pytest.raises(InputError, match=f"^{name} has a masked value at row 2, column 1"):
        TSNEkhorn(perplexity=4.0, init=init).fit(POINTS, **more)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize(
    ("X", "text"),
    [
        ("cells.csv", "X is 'cells.csv', not an array; read the file first, .* or use the command 'snekhorn embed'"),
        (Path("cells.csv"), r"X is PosixPath\('cells.csv'\), not an array; read the file first"),
        ({"a": [1, 2]}, "X is of type 'dict'; pass an array with a row for each point"),
        ((row for row in POINTS), "X is of type 'generator'; pass an array with a row for each point"),
        (pl.DataFrame(POINTS).lazy(), r"X is a LazyFrame, .* call \.collect\(\)"),
        (
            POINTS[:, 0],
            r"X has shape \(20,\), but needs a row for each point. Reshape your data, with .reshape\(-1, 1\)",
        ),
        (np.zeros((3, 2, 2)), r"X has shape \(3, 2, 2\), but needs a row for each point. Reshape your data"),
        (POINTS * 1j, "Complex data not supported: X holds complex128 values; pass real numbers"),
        (sparse.csr_matrix(POINTS * 1j), "Complex data not supported: X holds complex128 values; pass real numbers"),
        (pd.DataFrame(), "X has shape 0 x 0; pass at least 2 points"),
        (pl.DataFrame(), "X has shape 0 x 0; pass at least 2 points"),
        ([[1.0, 2.0], [3.0]], "X has rows of different lengths, from 1 to 2; give every row one value"),
        ([[1.0, [2.0]], [1.0, 2.0]], "X has rows of different lengths; give every row one value"),
        (changed(OBJECTS, (4, 1), "a"), "column 1 of X holds text, such as 'a'; drop the column, or encode it"),
        ([[1, "b"], [2, "c"]], "column 1 of X holds text, such as 'b'; drop the column, or encode it"),
        (changed(OBJECTS, (4, 1), pd.NA), "X contains <NA> at row 4, column 1; NaN and infinity are not allowed"),
        (changed(OBJECTS, (4, 1), {}), "column 1 of X holds dict objects .*; drop the column, or encode it"),
        (sparse.csr_matrix(SPARSE), "X contains nan at row 4, column 2; NaN and infinity are not allowed"),
        (sparse.csc_matrix(SPARSE), "X contains nan at row 4, column 2; NaN and infinity are not allowed"),
        (sparse.coo_matrix(SPARSE), "X contains nan at row 4, column 2; NaN and infinity are not allowed"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_one_sentence_says_what_to_do(fit, X, text):
    with pytest.raises(InputError, match=f"^{text}") as error:
        fit(X)
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


def test_one_new_point_needs_a_row():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TSNEkhorn(perplexity=4.0, max_iter=20).fit(POINTS)
    with pytest.raises(InputError, match=r"X has shape \(3,\), .* .reshape\(1, -1\) if it is one point"):
        model.transform(POINTS[0])
