"""Columns of metadata of every type are read back unchanged, and the right one is coloured first."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from snekhorn.plots.point_colors import encode

from .reading import Page
from .test_html_page import written

N = 60
Z = np.random.default_rng(0).normal(size=(N, 2))


def column(values):
    return Page(written(Z, pa.table({"a": values}))).column("a")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", None, "b"] * 20, pa.string()),
        (["a", None, "b"] * 20, pa.large_string()),
        (["a", None, "b"] * 20, pa.dictionary(pa.int8(), pa.string())),
        ([f"unique {i}" for i in range(N)], pa.string()),
        ([f"unique {i}" for i in range(N - 1)] + [None], pa.string()),
        ([True, None, False] * 20, pa.bool_()),
        ([3, None, -1] * 20, pa.int64()),
        ([None] * N, pa.int64()),
        ([None] * N, pa.string()),
        ([None] * N, pa.null()),
    ],
)
def test_categories_are_read_back(values, kind):
    description, seen = column(pa.array(values, kind))
    assert description["kind"] == "category"
    assert seen == values
    assert description["size"] == len(set(values) - {None})


@pytest.mark.parametrize("chunks", [[10, 50], [60], [0, 60, 0]])
def test_chunks_do_not_matter(chunks):
    values = [f"v{i % 7}" for i in range(N)]
    parts = np.split(np.array(values), np.cumsum(chunks)[:-1])
    arrays = [pa.array(part, pa.string()).dictionary_encode() for part in parts]
    assert column(pa.chunked_array(arrays))[1] == values


@pytest.mark.parametrize("kind", [pa.int16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64()])
def test_numbers_are_read_back(kind):
    values = [None if i == 5 else i * 3 for i in range(N)]
    description, seen = column(pa.array(values, kind))
    assert description["kind"] == "number"
    assert seen == values


def test_numbers_take_four_bytes_if_that_is_exact():
    assert column(pa.array(range(2**24 - 59, 2**24 + 1)))[0]["type"] == "f4"
    assert column(pa.array(range(2**24 - 58, 2**24 + 2)))[0]["type"] == "f8"
    assert column(pa.array(np.linspace(0, 1, N, dtype=np.float32)))[0]["type"] == "f4"
    assert column(pa.array(np.linspace(0, 1, N)))[0]["type"] == "f8"


@pytest.mark.parametrize("n_values", [2, N])
def test_integers_beyond_doubles_are_text(n_values):
    values = [2**60 + i % n_values for i in range(N)]
    description, seen = column(pa.array(values))
    assert description["kind"] == "category"
    assert seen == [str(value) for value in values]


def test_nan_is_missing_and_whole_floats_with_few_values_are_classes():
    description, seen = column(pa.array([1.0, np.nan, 2.0] * 20))
    assert description["kind"] == "category"
    assert seen == [1, None, 2] * 20
    assert column(pa.array([0.5, np.nan, 2.0] * 20))[0]["kind"] == "number"
    assert column(pa.array([1.0, np.inf, 2.0] * 20))[0]["kind"] == "number"


def test_times_are_milliseconds_since_1970():
    start = datetime.datetime(2024, 2, 29, 12, 0, 0, 250)
    values = [None, *(start + datetime.timedelta(seconds=i) for i in range(N - 1))]
    description, seen = column(pa.array(values, pa.timestamp("us")))
    epoch = datetime.datetime(1970, 1, 1)
    expected = [(value - epoch) / datetime.timedelta(milliseconds=1) for value in values[1:]]
    first, last = expected[0], expected[-1]
    assert description == {
        **{"name": "a", "kind": "time", "digits": 6, "days": False, "zoned": False, "type": "f8"},
        "scale": [first, first, last, last],
    }
    assert seen[0] is None
    assert seen[1:] == expected


@pytest.mark.parametrize(
    ("unit", "per_second", "digits"), [("s", 1, 0), ("ms", 1e3, 3), ("us", 1e6, 6), ("ns", 1e9, 6)]
)
def test_durations_are_seconds(unit, per_second, digits):
    ticks = [None, *range(-5, N - 6)]
    description, seen = column(pa.array(ticks, pa.duration(unit)))
    assert {"kind": "duration", "digits": digits, "clock": False}.items() <= description.items()
    assert seen == [None if tick is None else tick / per_second for tick in ticks]
    assert description["scale"][::3] == [seen[1], seen[-1]]
    assert column(pa.array([tick and 1000 * tick for tick in ticks], pa.duration("ms")))[0]["digits"] == 0


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
def test_times_of_day_are_seconds_since_midnight(kind):
    values = [None, *(datetime.time(i % 24, i % 60) for i in range(N - 1))]
    description, seen = column(pa.array(values, kind))
    assert {"kind": "duration", "digits": 0, "clock": True}.items() <= description.items()
    assert seen == [value and 3600 * value.hour + 60 * value.minute for value in values]


def test_the_scale_leaves_out_long_tails_as_in_a_picture():
    values = np.r_[np.linspace(0.0, 1.0, N - 1) ** 2, 1000.0]
    numbers = encode(values, N)
    description, _ = column(pa.array(values))
    assert description["scale"] == [0.0, numbers.low, numbers.high, 1000.0]
    assert numbers.high < 1000.0
    assert column(pa.array([np.nan, np.inf] * 30))[0]["scale"] is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.date32(), {"days": True, "digits": 0, "zoned": False}),
        (pa.timestamp("s"), {"days": True, "digits": 0, "zoned": False}),
        (pa.timestamp("ns", tz="Europe/Paris"), {"days": False, "digits": 0, "zoned": True}),
    ],
)
def test_times_describe_how_to_write_them(kind, expected):
    values = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(N)]
    description, _ = column(pa.array(values).cast(pa.timestamp("s")).cast(kind))
    assert expected.items() <= description.items()


@pytest.mark.parametrize("values", [[[1, 2]] * N, [{"b": 1}] * N, [b"\xff"] * N])
def test_other_types_are_text(values):
    description, seen = column(pa.array(values))
    assert description["kind"] == "category"
    assert all(isinstance(value, str) for value in seen)


def first_color(**columns):
    table = pa.table(columns)
    header = Page(written(Z, table, ids="id" if "id" in columns else None)).header
    return None if header["color"] is None else table.column_names[header["color"]]


def test_the_first_colour_is_by_classes_else_numbers_else_nothing():
    unique = [f"id {i}" for i in range(N)]
    numbers, classes = np.linspace(0, 1, N), [i % 5 for i in range(N)]
    assert first_color(text=unique, numbers=numbers, classes=classes, more=classes) == "classes"
    assert first_color(text=unique, constant=["a"] * N, numbers=numbers) == "numbers"
    assert first_color(text=unique) is None
    assert first_color(text=unique, waits=numbers.astype("m8[s]")) == "waits"
    assert first_color(id=classes, numbers=numbers) == "numbers"
    assert Page(written(Z)).header["color"] is None
    table = pa.table({"numbers": numbers, "classes": classes})
    assert Page(written(Z, table, color="numbers")).header["color"] == 0
    assert Page(written(Z, table, color=None)).header["color"] is None
    assert first_color(auto=unique, classes=classes) == "auto"
