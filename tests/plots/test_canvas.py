import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from snekhorn.plots import loss, save, scatter, sheet
from snekhorn.plots.panels import MAX_VECTOR_POINTS

from .drawing_helpers import blobs

FORMATS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def _bytes(figure, **options):
    file = io.BytesIO()
    save(figure, file, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_picture_gives_the_same_bytes(format):
    Z, corner = blobs(100)
    pictures = [scatter(Z, corner, title="Title").figure for _ in range(2)]
    first = _bytes(pictures[0], format=format)
    assert first.startswith(FORMATS[format])
    assert _bytes(pictures[1], format=format) == first
    assert _bytes(pictures[0], format=format) == first


@pytest.mark.parametrize("format", FORMATS)
def test_files_record_neither_date_nor_program(format):
    content = _bytes(scatter(blobs(50)[0]).figure, format=format)
    assert not re.search(rb"CreationDate|Producer|Software|dc:date|dc:creator|20\d\d-\d\d-\d\d", content)


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.PDF"])
def test_the_suffix_determines_the_format(tmp_path, name):
    figure = scatter(blobs(50)[0]).figure
    save(figure, tmp_path / name)
    save(figure, str(tmp_path / "other"), format=name[2:].lower())
    assert (tmp_path / name).read_bytes().startswith(FORMATS[name[2:].lower()])
    assert (tmp_path / "other").read_bytes() == (tmp_path / name).read_bytes()


def test_resolution():
    figure = scatter(blobs(50)[0]).figure
    widths = [int.from_bytes(_bytes(figure, dpi=dpi)[16:20], "big") for dpi in (50, 100)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


def test_many_points_are_an_image_in_vector_files_and_text_stays_text():
    Z, corner = blobs(MAX_VECTOR_POINTS + 1)
    svg = _bytes(scatter(Z, np.array(["one", "two", "three", "four"])[corner], title="A title").figure, format="svg")
    assert svg.count(b"<image") == 1
    assert len(svg) < 400_000
    for text in (b"A title", b">three<"):
        assert text in svg
    small = _bytes(scatter(Z[:100], corner[:100]).figure, format="svg")
    assert b"<image" not in small


def test_a_legend_is_not_cut_off():
    Z, corner = blobs(50)
    figure = Figure(figsize=(3, 3))  # with no room for the legend
    scatter(Z, [f"a name of some length {i}" for i in corner], ax=figure.add_subplot(), legend="outside")
    assert int.from_bytes(_bytes(figure, dpi=100)[16:20], "big") > 350


def test_axes_stand_for_their_figure():
    ax = scatter(*blobs(50))
    assert _bytes(ax) == _bytes(ax.figure)
    part = Figure().subfigures(1, 2)[0].add_subplot()
    assert _bytes(part).startswith(FORMATS["png"])


def test_sheets_are_figures_too():
    assert _bytes(sheet({"a": blobs(50)[0]}, blobs(50)[1])).startswith(FORMATS["png"])


@pytest.mark.parametrize(
    ("options", "message"), [({"format": "gif"}, "format must be one of 'png'"), ({"dpi": 0}, "dpi must")]
)
def test_bad_options(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        save(Figure(), tmp_path / "a.png", **options)
    assert not list(tmp_path.iterdir())


def test_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(ValueError, match="format must be one of 'png', 'svg', 'pdf'; got 'jpeg'"):
        save(Figure(), tmp_path / "a.jpeg")


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_notebook_shows_axes_and_figures_whatever_the_backend(dimensions):
    Z = np.random.default_rng(0).normal(size=(60, dimensions))
    axes = scatter(Z, np.repeat(["a", "b"], 30))
    for shown in (axes, axes.figure, sheet({"one": Z, "two": -Z}), loss([0, 50], [2.0, 1.0])):
        image, size = shown._repr_png_()
        assert image.startswith(FORMATS["png"])
        assert size.keys() == {"width", "height"}
        with Image.open(io.BytesIO(image)) as opened:
            assert opened.size[0] - 2 * size["width"] in (0, 1)
            assert opened.size[1] - 2 * size["height"] in (0, 1)


def test_axes_of_the_user_stay_as_they_are():
    ax = Figure().add_subplot()
    assert scatter(blobs(50)[0], ax=ax) is ax
    assert not hasattr(ax, "_repr_png_")
