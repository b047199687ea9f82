import numpy as np
import pytest
from matplotlib.figure import Figure

from snekhorn.plots import loss, row_perplexities

from .drawing_helpers import drawn


def test_every_affinity_gets_a_histogram(rng):
    rows = {"equal": np.full(50, 30.0), "unequal": 30.0 * np.exp(0.3 * rng.normal(size=50))}
    ax = drawn(row_perplexities(rows, target=30, title="Rows"))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["equal", "unequal"]
    for place, (stairs, values) in enumerate(zip(ax.patches, rows.values(), strict=True)):
        heights, edges, baseline = stairs.get_data()
        number = np.histogram(values, edges)[0]
        assert number.sum() == 50
        assert baseline == -place
        np.testing.assert_allclose((heights + place) / (heights + place).max(), number / number.max())
    texts = [text.get_text() for text in ax.texts]
    assert "30" in texts
    assert f"{rows['unequal'].min():.3g} to {rows['unequal'].max():.3g}" in texts


def test_a_bin_is_centred_on_the_target():
    ax = row_perplexities(np.array([20.0, 30.0, 70.0]), target=30)
    edges = ax.patches[0].get_data().edges
    assert np.abs(np.log(np.sqrt(edges[1:] * edges[:-1]) / 30.0)).min() == pytest.approx(0.0, abs=1e-9)
    assert any(np.allclose(line.get_xdata(), 30.0) for line in ax.lines)
    assert "target 30" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("values", [[30.0, 30.0], [29.9999, 30.0001], [2.0, 2000.0], [1.5]])
def test_the_scale_has_plain_ticks_for_any_range(values):
    ax = drawn(row_perplexities(values))
    low, high = ax.get_xlim()
    assert low < min(values)
    assert max(values) < high
    assert high / low >= 1.24
    assert len([tick for tick in ax.get_xticks() if low <= tick <= high]) >= 2
    assert not any("×" in label.get_text() for label in ax.get_xticklabels())


def test_loss_is_drawn_unchanged():
    ax = Figure().add_subplot()
    assert loss([50, 100, 150], [3.0, 2.0, 0.91234], early=100, ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[50, 3.0], [100, 2.0], [150, 0.91234]])
    (shade,) = ax.patches
    assert shade.get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(100.0)
    assert {"early exaggeration", "0.912"} <= {text.get_text() for text in ax.texts}


def test_loss_of_a_single_iteration():
    assert not drawn(loss([50], [1.0])).patches


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: row_perplexities({}), "perplexities is empty"),
        (lambda: row_perplexities({"a": [1.0, np.nan]}), r"perplexities\['a'\] must be"),
        (lambda: row_perplexities([0.0, 1.0]), "perplexities must be"),
        (lambda: row_perplexities(np.ones((2, 2))), "perplexities must be"),
        (lambda: row_perplexities([2.0], target=-1), "target must be a positive finite number, got -1"),
        (lambda: loss([1, 2], [1.0]), r"iterations has shape \(2,\) and losses \(1,\)"),
        (lambda: loss([], []), "at least one"),
        (lambda: loss(["a"], [1.0]), "iterations is not an array of numbers"),
        (lambda: row_perplexities(["a"]), "perplexities is not an array of numbers"),
        (lambda: loss([1], [1.0], early=-1), "early must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
