"""Images in the tooltip, and the drawing order, in a real browser."""

import io

import numpy as np
import pytest
from PIL import Image

from snekhorn.page import write_page

from .browser import pixel, position, settle


@pytest.fixture
def page(opened, tmp_path):
    for i in range(9):
        file = io.BytesIO()
        Image.new("RGB", (40, 120), (20 * i, 0, 0)).save(file, "PNG")
        (tmp_path / f"{i}.png").write_bytes(file.getvalue())
    Z = np.stack(np.divmod(np.arange(9), 3), axis=1).astype(float)
    names = [f"{i}.png" for i in range(9)]
    write_page(tmp_path / "page.html", Z, {"photo": names}, images="photo", image_folder=tmp_path)
    return opened(tmp_path / "page.html")


def test_the_first_tooltip_has_an_image_that_fits_into_the_window(page):
    page.mouse.move(5, 5)
    page.mouse.move(*position(page, 0), steps=3)  # the point at the bottom
    page.wait_for_selector("#tooltip img.portrait", state="visible")
    assert page.inner_text("#tooltip h2") == "Point 0"
    fits = """() => {
      const [box, image] = ["#tooltip", "#tooltip img"].map((name) => document.querySelector(name));
      return image.complete && box.getBoundingClientRect().bottom <= innerHeight;
    }"""
    page.wait_for_function(fits)


def test_missing_values_cover_no_others(opened, tmp_path):
    """Among points at one place, those without a value are drawn first, whatever the points are coloured by."""
    Z = np.concatenate([np.zeros((60, 2)), [[-1.0, -1.0], [1.0, 1.0]]])
    kinds = [None] * 30 + ["a"] + [None] * 29 + ["b", "b"]
    numbers = [None] * 50 + [5.0] + [None] * 9 + [0.0, 10.0]
    write_page(tmp_path / "page.html", Z, {"kind": kinds, "number": numbers}, color="kind")
    page = opened(tmp_path / "page.html")
    for column in ("kind", "number", "kind"):
        page.select_option("#color", label=column)
        settle(page)
        color = pixel(page, 30 if column == "kind" else 50)
        assert np.ptp(color) > 20, f"{column}: {color} is grey"  # points at one place are transparent
