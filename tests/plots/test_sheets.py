import numpy as np
import pytest
from matplotlib.figure import Figure

from snekhorn.plots import sheet

from .layouts import blobs, labels_of, points_of


def test_a_sheet_has_a_panel_a_layout_and_one_legend():
    Z, corner = blobs()
    layouts = {f"times {i}": i * Z for i in range(1, 7)}
    figure = sheet(layouts, corner, subtitles={"times 2": "double"}, label="corner")
    figure.draw_without_rendering()
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(layouts)
    assert [text.get_text() for text in figure.axes[1].texts] == ["double"]
    (legend,) = figure.legends
    assert not any(ax.get_legend() or labels_of(ax) for ax in figure.axes)
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2", "3"]
    box = legend.get_window_extent()
    assert all(box.x0 >= ax.get_window_extent().x1 - 1.0 for ax in figure.axes)
    assert box.x1 <= figure.bbox.x1 + 1.0
    for ax, i in zip(figure.axes, range(1, 7), strict=True):
        assert points_of(ax)[0].max() == pytest.approx(i * Z.max())


def test_a_sheet_has_one_colour_bar():
    Z, _ = blobs()
    figure = sheet({"a": Z, "b": -Z}, Z[:, 0], label="x")
    assert [ax.get_ylabel() for ax in figure.axes] == ["", "", "x"]


def test_a_sheet_has_names_on_the_points_of_all_panels_or_none():
    Z, corner = blobs(k=10)
    figure = sheet({"a": Z, "b": -Z}, corner, legend="labels")
    assert [len(labels_of(ax)) for ax in figure.axes] == [10, 10]
    assert not figure.legends
    figure = sheet({"a": Z, "all in one place": 0.0 * Z}, corner, legend="labels")
    assert [len(labels_of(ax)) for ax in figure.axes] == [0, 0]
    assert figure.legends


@pytest.mark.parametrize(
    ("n", "columns", "grid"), [(2, "auto", (1, 2)), (6, "auto", (2, 3)), (3, 2, (2, 2)), (2, 5, (1, 2))]
)
def test_columns_of_a_sheet(n, columns, grid):
    figure = sheet({str(i): blobs(30)[0] for i in range(n)}, columns=columns)
    assert isinstance(figure, Figure)
    assert figure.axes[0].get_gridspec().get_geometry() == grid


def test_layouts_of_a_sheet_may_have_any_dimension(rng):
    Z = rng.normal(size=(50, 3))
    figure = sheet({"line": Z[:, 0], "plane": Z[:, :2], "space": Z}, np.arange(50) % 3)
    assert [ax.name for ax in figure.axes] == ["rectilinear", "rectilinear", "3d"]


def test_bad_sheets():
    Z, _ = blobs(50)
    with pytest.raises(ValueError, match=r"layouts must have the same points, .*'b': 49"):
        sheet({"a": Z, "b": Z[1:]})
    with pytest.raises(ValueError, match="at least one layout"):
        sheet({})
    with pytest.raises(ValueError, match=r"layouts\['a'\] contains nan"):
        sheet({"a": np.where(Z > 4.0, np.nan, Z)})
    with pytest.raises(ValueError, match="columns must be a whole number of at least 1, got 0"):
        sheet({"a": Z}, columns=0)
