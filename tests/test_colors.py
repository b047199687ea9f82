"""Colours are distinct with normal and deficient colour vision, and never change."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from snekhorn.colors import DISTINCT, MISSING, OKABE_ITO, categorical, continuous

# Ottosson (2020), OKLab: linear RGB to cone responses, and their cube roots to lightness and two opponent axes.
TO_CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]
# Machado, Oliveira and Fernandes (2009), deuteranopia, on linear RGB.
DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881],
]
BACKGROUNDS = ("#ffffff", "#15171a")


def _separation(colors):
    """Return the smallest OKLab distance between two colours, for normal vision and for deuteranopia."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    pairs = np.triu_indices(len(colors), 1)
    smallest = []
    for seen in (linear, np.clip(linear @ np.transpose(DEUTERANOPIA), 0.0, 1.0)):
        lab = np.cbrt(seen @ np.transpose(TO_CONES)) @ np.transpose(TO_LAB)
        smallest.append(np.linalg.norm(lab[:, None] - lab, axis=-1)[pairs].min())
    return smallest


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 20, 40])
def test_as_many_distinct_colours_as_requested(n):
    colors = categorical(n)
    assert len(set(colors)) == len(colors) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors)


def test_few_categories_get_the_colours_of_okabe_and_ito():
    assert categorical(8) == list(OKABE_ITO)
    assert categorical(3) == list(OKABE_ITO[:3])


def test_another_category_does_not_change_the_colours_before_it():
    assert categorical(40)[:9] == categorical(9)
    assert categorical(40)[:7] == categorical(7)


def test_colours_repeat_beyond_forty():
    assert categorical(45) == categorical(40) + categorical(40)[:5]


@pytest.mark.parametrize(("n", "normal", "deuteranopia"), [(8, 0.15, 0.07), (20, 0.10, 0.06), (40, 0.07, 0.04)])
def test_all_readers_can_tell_the_colours_apart(n, normal, deuteranopia):
    # 0.02 is about the smallest difference in OKLab that can be seen.
    seen, seen_with_deuteranopia = _separation(categorical(n))
    assert seen > normal
    assert seen_with_deuteranopia > deuteranopia


def test_no_category_looks_missing():
    assert min(_separation([color, MISSING])[0] for color in categorical(40)) > 0.07


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_many_classes_are_visible_on_light_and_dark_backgrounds(background):
    assert min(_separation([color, background])[0] for color in DISTINCT) > 0.14


def test_the_measure_of_separation():
    assert _separation(["#000000", "#ffffff"])[0] == pytest.approx(1.0, abs=1e-3)
    normal, deuteranopia = _separation(["#ff0000", "#7f8c00"])
    assert deuteranopia < normal / 2


def test_numbers_run_from_dark_to_bright():
    scale = continuous(5)
    assert scale[0] == "#440154"
    assert scale[-1] == "#fde725"
    brightness = [sum(int(color[i : i + 2], 16) for i in (1, 3, 5)) for color in scale]
    assert np.all(np.diff(brightness) > 0)
