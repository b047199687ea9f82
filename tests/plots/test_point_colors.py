from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_hex

from snekhorn.errors import InputError
from snekhorn.plots.point_colors import MAX_COLORS, OTHER, Categories, Numbers, encode, is_categorical, natural_order


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"],
        np.array(["a", "b"]),
        np.array([b"a", b"b"]),
        [True, False],
        np.array([True, False]),
        [True, None],
        ["a", None],
        ["a", np.nan],
        ["a", 1],
        [date(2020, 1, 1), "2020-01-02"],
        np.array(["NaT", "NaT"], dtype="datetime64[D]"),
        np.repeat(np.arange(40), 2),
        np.repeat(np.arange(40), 2).tolist(),
        np.repeat(np.arange(12.0), 2),
        np.append(np.repeat(np.arange(40.0), 2), np.nan),
        [0, 0, 1, 1, None],
        [None, None],
        [np.nan, np.nan],
        pd.Series([0.5, 1.5]).astype("category"),
        pd.Categorical(range(100)),
        pd.Series(["a", pd.NA], dtype="string"),
        pd.Series([0, 0, 1, 1, pd.NA], dtype="Int64"),
        pl.Series(["a", None]),
    ],
)
def test_categories(values):
    assert is_categorical(values)


@pytest.mark.parametrize(
    "values",
    [
        [0.5, 0.5, 1.5, 1.5],
        np.repeat(np.arange(41), 2),
        np.repeat(np.arange(13.0), 2),
        np.arange(30),
        [0.5, None, 0.5],
        np.repeat([0.5, np.nan], 5),
        [10**30, 10**31, 0, 1],
        pd.Series([0.5, pd.NA], dtype="Float64"),
        pl.Series([0.5, None]),
    ],
)
def test_numbers(values):
    assert not is_categorical(values)


def test_the_caller_can_decide():
    assert isinstance(encode([0, 0, 1, 1], 4, categorical=False), Numbers)
    assert encode([0.5, 1.5, 2.0], 3, categorical=True).names == ["0.5", "1.5", "2"]


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        ({"10", "9", "-1", "1.5"}, ["-1", "1.5", "9", "10"]),
        ({"a10", "a2", "A1", "b"}, ["A1", "a2", "a10", "b"]),
        ({"a2b10", "a2b9", "a10b1"}, ["a2b9", "a2b10", "a10b1"]),
        ({"3", "x", "12"}, ["3", "12", "x"]),
        ({"nan", "2", "10"}, ["2", "10", "nan"]),
        ({"01", "1"}, ["01", "1"]),
        (set(), []),
    ],
)
def test_natural_order(names, ordered):
    assert natural_order(names) == ordered


def test_categories_are_coded_in_their_order():
    found = encode(["a10", None, "a2", "a10", np.nan, " b\n 2 ", ""], 7)
    assert found.names == ["(empty)", "a2", "a10", "b 2"]
    np.testing.assert_array_equal(found.codes, [2, -1, 1, 2, -1, 3, 0])
    assert found.n_missing == 2


def test_labels_turned_into_floats_by_a_missing_value_are_whole_again():
    found = encode([3.0, np.nan, 3.0, 10.0, 10.0], 5)
    assert found.names == ["3", "10"]
    np.testing.assert_array_equal(found.codes, [0, -1, 0, 1, 1])


def test_an_ordered_categorical_keeps_its_order():
    values = ["low", "high", "middle", None]
    ordered = pd.Categorical(values, ["low", "middle", "high", "absent"], ordered=True)
    assert encode(ordered, 4).names == ["low", "middle", "high"]
    assert encode(pd.Series(ordered), 4).names == ["low", "middle", "high"]
    assert encode(pd.Categorical(values), 4).names == ["high", "low", "middle"]


def test_of_many_categories_the_most_frequent_get_colours():
    sizes = np.arange(200) % 50 + 1
    values = np.repeat([f"c{i}" for i in range(200)], sizes)
    found = encode(values, values.size)
    assert len(found.names) == MAX_COLORS
    assert found.names[-1] == "other (161 categories)"
    assert found.others == 161
    counted = {f"c{i}": sizes[i] for i in range(200)}
    least = min(counted[name] for name in found.names[:-1])
    assert all(size <= least for name, size in counted.items() if name not in found.names)
    for code, name in enumerate(found.names[:-1]):
        np.testing.assert_array_equal(found.codes == code, values == name)
    assert len(set(found.colors)) == MAX_COLORS


def test_missing_values_are_below_merged_categories_and_those_below_the_rest():
    values = np.append(np.repeat(np.arange(60).astype(str), 2), ["c"] * 9).astype(object)
    values[0] = None
    found = encode(values, values.size)
    assert found.layers[0] == 0
    assert set(found.layers[found.codes == MAX_COLORS - 1]) == {1}
    assert set(found.layers[-9:]) == {2}


def test_limits_leave_out_long_tails_only(rng):
    values = rng.normal(size=1000)
    assert (encode(values, 1000).low, encode(values, 1000).high) == (values.min(), values.max())
    assert encode(values, 1000).extend == "neither"
    values[:2] = [-1e6, np.nan]
    found = encode(values, 1000)
    np.testing.assert_allclose([found.low, found.high], np.nanpercentile(values, [1, 99]))
    assert found.extend == "both"
    assert found.n_missing == 1


def test_infinite_numbers_are_missing():
    found = encode([0.5, np.inf, -np.inf, 1.5], 4)
    assert found.n_missing == 2
    assert (found.low, found.high) == (0.5, 1.5)


def test_mostly_equal_numbers_have_a_scale():
    values = np.zeros(1000)
    values[0] = 0.5
    assert (encode(values, 1000).low, encode(values, 1000).high) == (0.0, 0.5)


def test_no_values_are_one_unnamed_category():
    found = encode(None, 3)
    assert isinstance(found, Categories)
    assert not found.named
    assert found.n_missing == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "values has 2 entries for 3 points"),
        ("abcd", "values must be one value per point, got the text 'abcd'"),
        (np.zeros((3, 2)), r"values has shape \(3, 2\)"),
        (5, r"values has shape \(\)"),
        (np.array([1j, 2j, 3j]), "values of type complex128"),
        ([[1], [1, 2], [3]], "values has entries that cannot be categories"),
    ],
)
def test_bad_values(values, message):
    with pytest.raises(ValueError, match=message):
        encode(values, 3)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_are_a_colour_scale(unit):
    dates = np.array(["2020-01-01", "2020-01-01", "NaT", "2021-01-01"], dtype=f"datetime64[{unit}]")
    for values in (dates, pd.Series(dates)):
        found = encode(values, 4)
        assert isinstance(found, Numbers)
        assert found.are_dates
        np.testing.assert_array_equal(found.values, [18262.0, 18262.0, np.nan, 18628.0])
    as_classes = encode(dates, 4, categorical=True)
    assert as_classes.names == ["2020-01-01 00:00:00", "2021-01-01 00:00:00"]
    assert as_classes.n_missing == 1


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        (np.array([0, 3, "NaT"], "timedelta64[D]"), "days", [0.0, 3.0, np.nan]),
        (np.array([-90, 30, "NaT"], "timedelta64[m]"), "minutes", [-90.0, 30.0, np.nan]),
        (np.array([250, 500, "NaT"], "timedelta64[ns]"), "seconds", [2.5e-7, 5e-7, np.nan]),
        (pd.Series(pd.to_timedelta(["90min", "36h", None])), "hours", [1.5, 36.0, np.nan]),
        ([timedelta(hours=1), timedelta(hours=6), None], "hours", [1.0, 6.0, np.nan]),
        ([np.timedelta64(90, "m"), np.timedelta64(6, "h"), np.timedelta64("NaT")], "hours", [1.5, 6.0, np.nan]),
        ([np.timedelta64(250, "ns"), timedelta(seconds=1), None], "seconds", [2.5e-7, 1.0, np.nan]),
    ],
)
def test_durations_are_a_colour_scale_in_a_suitable_unit(values, unit, expected):
    found = encode(values, 3)
    assert isinstance(found, Numbers)
    assert found.unit == unit
    np.testing.assert_allclose(found.values, expected)
    assert encode(values, 3, categorical=True).n_missing == 1


def test_durations_without_values_are_missing():
    assert encode(np.array(["NaT"] * 3, "timedelta64[s]"), 3).n_missing == 3


CET = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    "values",
    [
        [date(2020, 1, 1), None, date(2021, 1, 1)],
        [datetime(2020, 1, 1), pd.NaT, date(2021, 1, 1)],
        [datetime(2020, 1, 1, 1, tzinfo=CET), np.nan, datetime(2021, 1, 1, 1, tzinfo=CET)],
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"], utc=True)).dt.tz_convert("Europe/Berlin"),
        pl.Series([date(2020, 1, 1), None, date(2021, 1, 1)]),
    ],
)
def test_dates_of_python_and_with_time_zones_are_a_colour_scale(values):
    found = encode(values, 3)
    assert isinstance(found, Numbers)
    assert found.are_dates
    np.testing.assert_array_equal(found.values, [18262.0, np.nan, 18628.0])


@pytest.mark.parametrize("unit", ["D", "s", "us"])
def test_the_first_and_the_last_day_of_the_calendar_are_dates(unit, recwarn):
    found = encode(np.array(["0001-01-01", "2020-01-01", "9999-12-31"], dtype=f"datetime64[{unit}]"), 3)
    np.testing.assert_array_equal(found.values, [-719162.0, 18262.0, 2932896.0])
    assert not recwarn


def test_dates_outside_the_calendar_are_missing():
    dates = np.array(["0000-12-31", "2020-01-01", "10000-01-01", "NaT"], dtype="datetime64[s]")
    text = "^2 of 4 dates are before year 1 or after year 9999, such as 0000-12-31; they are drawn as missing$"
    with pytest.warns(UserWarning, match=text):
        found = encode(dates, 4)
    np.testing.assert_array_equal(found.values, [np.nan, 18262.0, np.nan, np.nan])
    with pytest.warns(UserWarning, match="^1 of 1 dates are before"):
        assert encode(dates[:1], 1).n_missing == 1
    with pytest.warns(UserWarning, match="^1 of 1 dates are before"):
        assert encode(np.array(["400000-01-01"], dtype="datetime64[D]"), 1).n_missing == 1


def test_words_are_not_numbers():
    with pytest.raises(ValueError, match=r"values are not numbers .*categorical"):
        encode(["a", "b"], 2, categorical=False)
    with pytest.raises(ValueError, match="values contains no finite number"):
        encode([np.nan, np.nan], 2, categorical=False)


def test_unknown_colormap():
    with pytest.raises(ValueError, match="colormap='nope' is not a Matplotlib colormap"):
        encode([0.5, 1.5], 2, colormap="nope")


def test_a_palette_sets_the_colours_of_some_categories():
    plain = encode(list("abca"), 4)
    painted = encode(list("abca"), 4, palette={"b": "red", "unused": "#123456"})
    assert painted.names == plain.names
    assert painted.colors == [plain.colors[0], "#ff0000", plain.colors[2]]
    with pytest.raises(InputError, match=r"palette\['b'\] is 'reddish', which is not a colour"):
        encode(list("abca"), 4, palette={"b": "reddish"})


def test_palettes_are_dictionaries_lists_and_colormaps():
    values = [0, 1, 2, 0, 1, 2]
    for palette in (["red", "#00ff00", "b", "k"], np.eye(3), {0: "red", "1": "#00ff00", 2.0: (0, 0, 1)}):
        assert encode(values, 6, palette=palette).colors == ["#ff0000", "#00ff00", "#0000ff"]
    assert encode(values, 6, palette={"1": "red"}).colors[1] == "#ff0000"
    tab10, viridis = colormaps["tab10"], colormaps["viridis"]
    assert encode(values, 6, palette="tab10").colors == [to_hex(tab10(i)) for i in range(3)]
    assert encode(values, 6, palette="viridis").colors == [to_hex(viridis(share)) for share in (0.0, 0.5, 1.0)]
    many = encode(np.arange(100).astype(str).repeat(2), 200, palette="tab10")
    assert many.colors[10] == many.colors[0]
    assert many.colors[-1] == OTHER
