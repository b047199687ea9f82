"""Keys of layouts in tables, and what they mean."""

import pytest

from snekhorn import TSNEkhorn
from snekhorn.cli.layout_names import LayoutValues, layout_settings, layout_title, sheet_columns

SEVERAL = ([10.0, 1e6], [1e-5, 1.0, 1.5, 2e6])


@pytest.mark.parametrize("perplexities", [SEVERAL[0], [30.0]])
@pytest.mark.parametrize("exaggerations", [SEVERAL[1], [1.0]])
def test_keys_are_unique_and_can_be_read(perplexities, exaggerations):
    values = LayoutValues(perplexities, exaggerations)
    varied = {"perplexity": len(perplexities) > 1, "exaggeration": len(exaggerations) > 1}
    keys = set()
    for perplexity in perplexities:
        for exaggeration in exaggerations:
            model = TSNEkhorn(perplexity=perplexity, exaggeration=exaggeration)
            key = values.key(model)
            keys.add(key)
            found = {name: float(text) for name, text in layout_settings(key).items() if name != "layout"}
            assert found == {name: getattr(model, name) for name, varies in varied.items() if varies}
    assert len(keys) == len(perplexities) * len(exaggerations)
    assert values.several == (keys != {""})


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("30", "perplexity 30"),
        ("e1.5", "exaggeration 1.5"),
        ("30_e1.5", "perplexity 30, exaggeration 1.5"),
        ("1e+06_e1e-05", "perplexity 1e+06, exaggeration 1e-05"),
        ("umap", "umap"),
        ("e", "e"),
        ("30_early", "30_early"),
        ("", "x, y"),
    ],
)
def test_titles(key, title):
    assert layout_title(key) == title


def test_a_sheet_has_a_column_per_exaggeration_if_it_is_a_grid():
    assert sheet_columns(["5_e1", "5_e2", "5_e4", "9_e1", "9_e2", "9_e4"]) == 3
    assert sheet_columns(["5_e1", "5_e2", "5_e4", "9_e1"]) is None  # after an interrupt
    assert sheet_columns(["e1", "e2"]) is None
    assert sheet_columns(["5", "umap"]) is None
