import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from scipy import sparse

from snekhorn.colors import MISSING, categorical
from snekhorn.errors import InputError
from snekhorn.plots import scatter, sheet

from .drawing_helpers import blobs, drawn, labels_of, points_of


def _by_place(Z, colours):
    order = np.lexsort(Z.T)
    return Z[order], colours[order]


def _is_outside(ax, box):
    return box.x0 >= ax.get_window_extent().x1 - 1.0 and box.x1 <= ax.figure.bbox.x1 + 1.0


def test_every_point_has_the_colour_of_its_category():
    Z, corner = blobs()
    want = np.array([to_rgb(colour) for colour in categorical(4)])[corner]
    for got, expected in zip(_by_place(*points_of(scatter(Z, corner))), _by_place(Z, want), strict=True):
        np.testing.assert_allclose(got, expected)


def test_every_point_has_the_colour_of_its_number():
    Z, _ = blobs()
    want = plt.get_cmap("cividis")(plt.Normalize(Z[:, 0].min(), Z[:, 0].max())(Z[:, 0]))[:, :3]
    ax = scatter(Z, Z[:, 0], colormap="cividis", label="abscissa")
    for got, expected in zip(_by_place(*points_of(ax)), _by_place(Z, want), strict=True):
        np.testing.assert_allclose(got, expected)
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "abscissa"
    assert bar.get_ylim() == pytest.approx((Z[:, 0].min(), Z[:, 0].max()))


def test_missing_values_are_grey_and_at_the_bottom():
    Z, corner = blobs()
    for values in (corner.astype(float), Z[:, 0].copy()):
        values[:50] = np.nan
        places, colours = points_of(scatter(Z, values))
        np.testing.assert_allclose(colours[:50], np.tile(to_rgb(MISSING), (50, 1)))
        assert (colours[50:] != to_rgb(MISSING)).any(axis=1).all()
        np.testing.assert_allclose(np.sort(places[:50], axis=0), np.sort(Z[:50], axis=0))


def test_all_missing():
    Z, _ = blobs(50)
    ax = scatter(Z, [None] * 50)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["missing (50)"]


def test_no_category_hides_another():
    """Two categories, sorted in the data, are drawn in mixed order."""
    Z, _ = blobs()
    _, colours = points_of(scatter(Z, np.repeat(["a", "b"], 300)))
    first = (colours == to_rgb(categorical(2)[0])).all(axis=1)
    assert 0.4 < first[:300].mean() < 0.6


def test_the_drawing_order_is_fixed():
    Z, corner = blobs()
    np.testing.assert_array_equal(points_of(scatter(Z, corner))[0], points_of(scatter(Z, corner))[0])


def test_inputs_are_not_changed():
    Z, corner = blobs()
    before = Z.copy(), corner.copy()
    scatter(Z, corner)
    scatter(Z, corner, density=True)
    np.testing.assert_array_equal(Z, before[0])
    np.testing.assert_array_equal(corner, before[1])


def test_axes_are_hidden_and_have_one_scale():
    Z, corner = blobs()
    ax = drawn(scatter(Z * (2.0, 1.0), corner, title="Title", subtitle="and more"))
    assert not ax.axison
    unit = ax.transData.transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert unit[1, 0] - unit[0, 0] == pytest.approx(unit[2, 1] - unit[0, 1])
    for limits, column in zip((ax.get_xlim(), ax.get_ylim()), (Z * (2.0, 1.0)).T, strict=True):
        assert limits[0] < column.min()
        assert column.max() < limits[1]
    assert ax.get_title(loc="left") == "Title"
    assert "and more" in [text.get_text() for text in ax.texts]


def test_the_subtitle_is_below_the_title():
    Z, _ = blobs()
    ax = drawn(scatter(Z, title="Title", subtitle="two\nlines"))
    (subtitle,) = ax.texts
    assert subtitle.get_window_extent().y1 <= ax._left_title.get_window_extent().y0 + 1.0
    assert subtitle.get_window_extent().y0 >= ax.get_window_extent().y1


@pytest.mark.parametrize("k", [2, 15, 40, 90])
def test_the_legend_is_outside_the_axes(k, rng):
    Z = rng.normal(size=(2000, 2))
    ax = drawn(scatter(Z, rng.integers(0, k, 2000).astype(str), legend="outside", label="class"))
    legend = ax.get_legend()
    assert len(legend.get_texts()) == min(k, 40)
    assert legend.get_title().get_text() == "class"
    assert _is_outside(ax, legend.get_window_extent())
    assert legend.get_window_extent().height <= ax.figure.bbox.height
    assert legend._ncols <= 3


def test_the_legend_does_not_shrink_the_picture(rng):
    Z = rng.normal(size=(500, 2))
    names = [f"a rather long name of class {i % 30}" for i in range(500)]
    with_legend, without = drawn(scatter(Z, names)), drawn(scatter(Z, names, legend="none"))
    assert without.get_legend() is None
    assert with_legend.get_window_extent().width == pytest.approx(without.get_window_extent().width, rel=0.1)


def test_names_in_the_legend_are_kept_unless_too_long(rng):
    Z = rng.normal(size=(90, 2))
    ax = drawn(scatter(Z, ["_hidden", "$x and $y", "n" * 100] * 30, legend="outside"))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(texts) > {"$x and $y", "_hidden"}
    assert max(map(len, texts)) <= 32


def test_density_is_an_image_of_all_points():
    Z, corner = blobs(3000)
    ax = scatter(Z, corner, density=True)
    assert not ax.collections
    (image,) = ax.images
    pixels = image.get_array()
    left, right, bottom, top = image.get_extent()
    assert (left, right) == ax.get_xlim()
    assert (bottom, top) == ax.get_ylim()
    rows, columns = pixels.shape[:2]
    occupied = np.histogram2d(Z[:, 1], Z[:, 0], (rows, columns), ((bottom, top), (left, right)))[0] > 0
    np.testing.assert_array_equal(pixels[..., 3] > 0.0, occupied)
    assert len(labels_of(ax)) == 4


def test_very_many_points_are_drawn_as_density(rng):
    Z = rng.normal(size=(100_001, 2))
    assert scatter(Z).images
    assert not scatter(Z[:-1]).images
    assert not scatter(Z, density=False).images


@pytest.mark.parametrize("values", [None, [0, 1], ["a", None], [0.5, 1.5], [1.5, 1.5]])
@pytest.mark.parametrize("Z", [[[0.0, 0.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]], [[0.0, 0.0], [1e-12, 5.0]]])
def test_two_points(Z, values):
    ax = drawn(scatter(Z, values))
    box = ax.get_window_extent()
    assert 1.0 / 3.2 < box.width / box.height < 3.2


def test_new_figures_are_not_managed_by_pyplot():
    before = plt.get_fignums()
    ax = scatter(blobs()[0])
    assert isinstance(ax, Axes)
    assert plt.get_fignums() == before
    assert ax.figure.get_layout_engine() is not None


def test_given_axes_are_used():
    Z, corner = blobs()
    figure = Figure(figsize=(10, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = [left.add_subplot(), right.add_subplot()]
    assert scatter(Z, corner, ax=axes[0]) is axes[0]
    scatter(Z, corner, ax=axes[1], legend="outside")
    assert len(labels_of(axes[0])) == 4
    assert tuple(figure.get_size_inches()) == (10, 5)
    figure.draw_without_rendering()
    assert axes[1].get_legend().get_window_extent().x0 >= axes[1].get_window_extent().x1 - 1.0


def test_one_dimension_is_a_histogram(rng):
    z, values = rng.normal(size=500), rng.integers(0, 3, 500)
    for Z in (z, z[:, None]):
        ax = scatter(Z, values)
        heights = np.array([bar.get_height() for bar in ax.patches])
        assert heights.sum() == 500
        assert len(ax.get_legend().get_texts()) == 3
    ax = scatter(z, z)
    assert sum(bar.get_height() for bar in ax.patches) == 500
    assert len(ax.figure.axes) == 2


def test_three_dimensions_are_drawn_in_perspective(rng):
    Z, values = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    ax = drawn(scatter(Z, values))
    assert ax.name == "3d"
    assert len(ax.get_legend().get_texts()) == 3
    assert len(drawn(scatter(Z, Z[:, 0])).figure.axes) == 2
    with pytest.raises(ValueError, match="projection='3d'"):
        scatter(Z, ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="projection='rectilinear'"):
        scatter(Z[:, :2], ax=Figure().add_subplot(projection="3d"))


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[0.0, np.nan], [1.0, 1.0]], "Z contains nan at row 0, column 1"),
        (np.zeros((5, 4)), "Z has 4 columns, but a drawing needs 1 to 3"),
        (np.zeros((1, 2)), "Z has shape 1 x 2"),
        (np.zeros((2, 2, 2)), r"Z has shape \(2, 2, 2\)"),
        (3.0, r"Z has shape \(\)"),
        (np.zeros((0, 2)), "Z has shape 0 x 2"),
        (sparse.eye(3).tocsr(), "Z is sparse"),
    ],
)
def test_bad_layouts(Z, message):
    with pytest.raises(ValueError, match=message):
        scatter(Z)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"legend": "inside"}, "legend must be one of 'auto', 'labels', 'outside', 'none'; got 'inside'"),
        ({"density": "yes"}, "density must be one of .*'yes'"),
        ({"categorical": 1}, "categorical must be one of .*1"),
        ({"values": [1, 2, 3]}, "values has 3 entries for 50 points"),
    ],
)
def test_bad_options(options, message):
    Z, _ = blobs(50)
    with pytest.raises(ValueError, match=message):
        scatter(Z, **options)
    with pytest.raises(ValueError, match=message):
        sheet({"a": Z}, **options)


def test_a_sheet_has_a_panel_per_layout_and_one_legend():
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
    with pytest.raises(ValueError, match=r"layouts have different numbers of points: .*'b': 49"):
        sheet({"a": Z, "b": Z[1:]})
    with pytest.raises(ValueError, match="layouts is empty; pass at least one layout"):
        sheet({})
    with pytest.raises(ValueError, match=r"layouts\['a'\] contains nan"):
        sheet({"a": np.where(Z > 4.0, np.nan, Z)})
    with pytest.raises(ValueError, match="columns must be a whole number of at least 1, got 0"):
        sheet({"a": Z}, columns=0)


def test_a_background_is_grey_and_below(rng):
    below, Z = 10.0 * rng.normal(size=(50, 2)), rng.normal(size=(8, 2))
    ax = scatter(Z, list("ababaabb"), background=below, legend="none")
    first, second = (part.get_offsets() for part in ax.collections)
    np.testing.assert_allclose(np.sort(first, axis=0), np.sort(below, axis=0))
    np.testing.assert_allclose(np.sort(second, axis=0), np.sort(Z, axis=0))
    assert {to_hex(color) for color in ax.collections[0].get_facecolors()} == {MISSING}
    assert ax.get_xlim()[0] < below[:, 0].min() < below[:, 0].max() < ax.get_xlim()[1]
    for Z, other in ((np.zeros((3, 1)), below), (np.zeros((3, 3)), below), (below, np.zeros((3, 1)))):
        with pytest.raises(InputError, match="only in two dimensions"):
            scatter(Z, background=other)
