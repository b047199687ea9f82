"""Colours: distinct, with and without colour vision deficiency, and always the same."""

import re

import numpy as np
import pytest

from snekhorn.colors import MISSING, OKABE_ITO, categorical, continuous, separation


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 20, 40])
def test_as_many_distinct_colours_as_asked_for(n):
    colors = categorical(n)
    assert len(set(colors)) == len(colors) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors)


def test_few_categories_have_the_colours_of_okabe_and_ito():
    assert categorical(8) == list(OKABE_ITO)
    assert categorical(3) == list(OKABE_ITO[:3])


def test_one_more_category_does_not_change_the_colours_before():
    assert categorical(40)[:9] == categorical(9)
    assert categorical(40)[:7] == categorical(7)


def test_colours_repeat_where_there_are_no_more():
    assert categorical(45) == categorical(40) + categorical(40)[:5]


@pytest.mark.parametrize(("n", "normal", "blind"), [(8, 0.15, 0.07), (20, 0.10, 0.06), (40, 0.07, 0.04)])
def test_colours_stay_apart_for_all_readers(n, normal, blind):
    # 0.02 is about what the eye can just tell apart in OKLab.
    seen, seen_blind = separation(categorical(n))
    assert seen > normal
    assert seen_blind > blind


def test_no_category_looks_missing():
    assert min(separation([color, MISSING])[0] for color in categorical(40)) > 0.07


def test_separation_is_the_distance_in_oklab():
    assert separation(["#000000", "#ffffff"])[0] == pytest.approx(1.0, abs=1e-3)
    red_green, blind = separation(["#ff0000", "#7f8c00"])
    assert blind < red_green / 2


def test_numbers_run_from_dark_to_bright():
    scale = continuous(5)
    assert scale[0] == "#440154"
    assert scale[-1] == "#fde725"
    brightness = [sum(int(color[i : i + 2], 16) for i in (1, 3, 5)) for color in scale]
    assert np.all(np.diff(brightness) > 0)
