"""Finished cells are kept, whole, and not computed again."""

import json

import pytest

from snekhorn.errors import InputError
from snekhorn.experiments.experiment import Experiment, NotAvailable, Settings
from snekhorn.experiments.store import Store


def _experiment(plan):
    return Experiment("made_up", "Made up", lambda settings: plan, lambda cells: None, lambda cells: "")


def test_cells_are_read_back_to_a_few_digits(tmp_path):
    Store(tmp_path / "a.json").put("one", {"values": [1.23456789, float("nan")], "name": "x"})
    again = Store(tmp_path / "a.json")
    assert again.cells == {"one": {"values": [1.2346, None], "name": "x"}}
    assert "one" in again
    assert "two" not in again


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    computed = []

    def cell(name, *, interrupt=False):
        def compute():
            if interrupt:
                raise KeyboardInterrupt
            computed.append(name)
            return {"value": name}

        return compute

    with pytest.raises(KeyboardInterrupt):
        _experiment({"a": cell("a"), "b": cell("b"), "c": cell("c", interrupt=True)}).run(tmp_path, Settings())
    kept = json.loads((tmp_path / "made_up.json").read_text())
    assert set(kept["cells"]) == {"a", "b"}
    assert kept["planned"] == 3
    store = _experiment({name: cell(name) for name in "abcd"}).run(tmp_path, Settings())
    assert computed == ["a", "b", "c", "d"]  # a and b once only
    assert set(store.cells) == set("abcd")
    assert not list(tmp_path.glob(".snekhorn-*"))


def test_cells_are_in_the_order_planned_whenever_they_were_finished(tmp_path):
    store = Store(tmp_path / "a.json")
    for name in ("other", "c", "a"):
        store.put(name, {})
    store.plan("abc")
    assert list(store.cells) == ["a", "c", "other"]
    store.put("b", {})
    assert list(store.cells) == list(Store(tmp_path / "a.json").cells) == ["a", "b", "c", "other"]


def test_what_was_not_available_is_tried_again(tmp_path):
    def absent():
        raise NotAvailable("no data")

    store = _experiment({"a": absent}).run(tmp_path, Settings())
    assert store.cells["a"] == {"not_available": "no data"}
    store = _experiment({"a": lambda: {"value": 1}}).run(tmp_path, Settings())
    assert store.cells["a"]["value"] == 1


def test_progress_tells_what_is_done(tmp_path):
    said = []
    plan = {"a": lambda: {}, "b": lambda: {}}
    _experiment(plan).run(tmp_path, Settings(), lambda *state: said.append(state))
    assert said == [("a", 0, 2), ("b", 1, 2), ("", 2, 2)]


def test_quick_and_full_results_are_not_mixed(tmp_path):
    Store(tmp_path / "a.json", quick=True).put("one", {})
    with pytest.raises(InputError, match="quick run"):
        Store(tmp_path / "a.json")


@pytest.mark.parametrize("content", ["", "[]", '{"cells": []}', '{"cells": {'])
def test_another_file_is_an_error(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match="holds no results"):
        Store(tmp_path / "a.json")
