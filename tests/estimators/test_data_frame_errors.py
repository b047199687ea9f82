"""Errors about data frames name the column, and the row if rows have names."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from snekhorn import TSNEkhorn
from snekhorn.affinities import EntropicAffinity
from snekhorn.errors import InputError

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
FITS = [TSNEkhorn().fit, EntropicAffinity(perplexity=5).fit_transform]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("kind", "values", "found"),
    [
        (pd.DataFrame, ["1.5", *"u" * 19], "text, such as 'u'"),
        (pd.DataFrame, [1.0, *"u" * 19], "text, such as 'u'"),
        (pd.DataFrame, [[1.0, 2.0]] * 20, "list objects"),
        (pd.DataFrame, [date(2024, 1, 1)] * 20, "date objects"),
        (pd.DataFrame, [pd.NA, *"u" * 19], "text, such as 'u'"),
        (pd.DataFrame, pd.to_datetime([None, *["2024-01-01"] * 19]), "Timestamp objects"),
        (pl.DataFrame, ["1.5", *"u" * 19], "text, such as 'u'"),
        (pl.DataFrame, [None, *"u" * 19], "text, such as 'u'"),
        (pl.DataFrame, [[1.0, 2.0]] * 20, "Series objects"),
    ],
)
def test_the_column_is_named(fit, kind, values, found):
    frame = kind({**{name: FRAME[name].to_numpy() for name in FRAME}, "kind": values})
    with pytest.raises(InputError, match=f"column 'kind' of X holds {found}; drop the column, or encode it"):
        fit(frame)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_all_columns_without_numbers_are_named(fit, kind):
    frame = kind({"name": ["u"] * 20, "a": FRAME["a"].to_numpy(), "day": [date(2024, 1, 1)] * 20})
    message = "columns 'name', 'day' of X do not hold numbers; 'name' holds text, such as 'u'; drop these columns, or"
    with pytest.raises(InputError, match=message):
        fit(frame)


@pytest.mark.parametrize("fit", FITS)
def test_the_place_of_a_missing_value_is_named(fit):
    named = FRAME.set_axis([f"cell {i}" for i in range(20)])
    named.loc["cell 7", "b"] = np.nan
    with pytest.raises(InputError, match="X contains nan at row cell 7, column 'b'; NaN and infinity"):
        fit(named)
    with pytest.raises(InputError, match="X contains nan at row 7, column 'b'; NaN and infinity"):
        fit(pl.DataFrame({name: named[name].to_numpy() for name in named}))


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pd.array([1.0, pd.NA, *[2.0] * 18]).astype(object), "<NA> at row 1, column 'd'"),
        (pd.Series([1.0, pd.NaT, *[2.0] * 18], dtype=object), "NaT at row 1, column 'd'"),
        (pd.to_datetime([None] * 20), "NaT at row 0, column 'd'"),
    ],
)
def test_missing_values_among_objects_are_called_that(fit, values, text):
    with pytest.raises(InputError, match=f"^X contains {text}; NaN and infinity"):
        fit(FRAME.assign(d=values))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_the_values_of_numeric_columns_are_not_looked_at_one_by_one(monkeypatch, kind):
    seen = []
    monkeypatch.setattr(
        "snekhorn.geometry.unreadable_points.is_missing", lambda value: seen.append(value) or value is None
    )
    frame = kind({**{name: FRAME[name].to_numpy() for name in FRAME}, "i": range(20), "kind": ["u"] * 20})
    with pytest.raises(InputError, match="column 'kind' of X holds text"):
        TSNEkhorn().fit(frame)
    assert seen == ["u"]
