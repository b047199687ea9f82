"""Pictures of the field are drawn from stored results, and skipped with a message without them."""

import json
import runpy

from PIL import Image

from benchmarks.field_methods import METHODS
from benchmarks.layout_measures import MEASURES
from benchmarks.noise import METHODS as NOISE_METHODS

from .pages import ROOT

SCRIPT = runpy.run_path(str(ROOT / "docs" / "draw_field.py"))


def _write(folder, name, cases):
    (folder / f"{name}.json").write_text(json.dumps({"cases": dict(enumerate(cases))}))


def _field():
    for i, method in enumerate(METHODS):
        for data in ("scgem", "khan"):
            for factor in (0.333, 1.0, 3.0):
                scores = dict.fromkeys(MEASURES, 0.5 + 0.01 * i + 0.005 * factor)
                yield {"part": "sets", "data": data, "method": method, "factor": factor, "repeat": 0, **scores}
    yield {"not_available": "too slow"}


def test_every_picture_is_drawn(tmp_path):
    _write(tmp_path, "field", _field())
    _write(
        tmp_path,
        "cost",
        [{"method": m, "n": n, "layout_seconds": n / 1e3, "peak_gb": 0.5} for m in METHODS for n in (10**3, 10**4)],
    )
    strengths = [{"part": "counts", "data": strength, "classes": 0.5, "batches": 0.0} for strength in "12"]
    _write(tmp_path, "noise", [{**case, "method": method} for method in NOISE_METHODS for case in strengths])
    drawn = SCRIPT["main"](["--folder", str(tmp_path), "--out", str(tmp_path)])
    assert {path.stem for path in drawn} == set(SCRIPT["PICTURES"])
    for path in drawn:
        with Image.open(path) as picture:
            assert len(picture.convert("RGB").getcolors(maxcolors=2**24)) > 50


def test_pictures_without_results_are_skipped_visibly(tmp_path, capsys):
    assert SCRIPT["main"](["--folder", str(tmp_path), "--out", str(tmp_path)]) == []
    said = capsys.readouterr().out
    assert all(f"{name}.png skipped" in said for name in SCRIPT["PICTURES"])


def test_every_method_has_a_colour():
    assert set(METHODS) | set(NOISE_METHODS) <= set(SCRIPT["COLORS"])
