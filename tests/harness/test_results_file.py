"""Finished cases are kept in a complete file and not computed again."""

import json

import pytest

from harness import experiment
from harness.experiment import Experiment, NotAvailable, Settings
from harness.machine import describe
from harness.results_file import ResultsFile
from snekhorn.errors import InputError

HEAD = {"quick": False, "planned": 1, "date": "2026-01-01", "machine": {}}


def make_experiment(plan, **parameters):
    return Experiment("made_up", "Made up", lambda settings: plan, lambda cases: "", **parameters)


def test_cases_are_read_back_to_a_few_digits(tmp_path):
    ResultsFile(tmp_path / "a.json").put("one", {"values": [1.23456789, float("nan")], "name": "x"})
    again = ResultsFile(tmp_path / "a.json")
    assert again.cases == {"one": {"values": [1.2346, None], "name": "x"}}
    assert "one" in again
    assert "two" not in again


def recording(computed, *names, interrupt=""):
    def case(name):
        def compute():
            if name == interrupt:
                raise KeyboardInterrupt
            computed.append(name)
            return {"value": name}

        return compute

    return {name: case(name) for name in names}


def test_an_interrupted_run_continues_where_it_stopped(tmp_path):
    computed = []
    with pytest.raises(KeyboardInterrupt):
        make_experiment(recording(computed, *"abc", interrupt="c")).run(tmp_path, Settings())
    kept = json.loads((tmp_path / "made_up.json").read_text())
    assert set(kept["cases"]) == {"a", "b"}
    assert kept["planned"] == 3
    results = make_experiment(recording(computed, *"abcd")).run(tmp_path, Settings())
    assert computed == ["a", "b", "c", "d"]  # a and b only once
    assert set(results.cases) == set("abcd")
    assert not list(tmp_path.glob(".snekhorn-*"))


def test_a_complete_benchmark_is_measured_again_and_an_interrupted_one_is_continued(tmp_path, monkeypatch):
    computed = []
    again = {"reusable": lambda case: case["value"] == "kept"}
    with pytest.raises(KeyboardInterrupt):
        make_experiment(recording(computed, *"abc", interrupt="c"), **again).run(tmp_path, Settings())
    plan = recording(computed, "a", "b", "c", "kept")
    make_experiment(plan, **again).run(tmp_path, Settings())
    assert computed == ["a", "b", "c", "kept"]
    make_experiment(plan, **again).run(tmp_path, Settings())
    assert computed[4:] == ["a", "b", "c"]

    with pytest.raises(KeyboardInterrupt):
        make_experiment(recording(computed, *"abc", interrupt="b"), **again).run(tmp_path, Settings())
    monkeypatch.setattr(experiment, "describe", lambda: {**describe(), "commit": "another"})
    del computed[:]
    make_experiment(plan, **again).run(tmp_path, Settings())
    assert computed == ["a", "b", "c"]  # cases of another commit do not count


def test_cases_are_in_the_order_planned_whenever_they_finished(tmp_path):
    results = ResultsFile(tmp_path / "a.json")
    for name in ("other", "c", "a"):
        results.put(name, {})
    results.start("abc")
    assert list(results.cases) == ["a", "c", "other"]
    results.put("b", {})
    assert list(results.cases) == list(ResultsFile(tmp_path / "a.json").cases) == ["a", "b", "c", "other"]


def test_a_case_that_was_not_available_is_tried_again(tmp_path):
    def absent():
        raise NotAvailable("no data")

    results = make_experiment({"a": absent}).run(tmp_path, Settings())
    assert results.cases["a"] == {"not_available": "no data"}
    results = make_experiment({"a": lambda: {"value": 1}}).run(tmp_path, Settings())
    assert results.cases["a"]["value"] == 1


def test_the_load_is_kept_with_the_cases_it_belongs_to(tmp_path):
    results = ResultsFile(tmp_path / "a.json")
    results.start("ab")
    results.put("a", {}, load={"seconds": 10, "busy_cores_of_others": 0.5})
    again = ResultsFile(tmp_path / "a.json")
    assert again.is_incomplete
    assert again.load == {"seconds": 10, "busy_cores_of_others": 0.5}
    again.start("ab", keep=lambda case: False)
    assert again.load == {}


def test_progress_tells_what_is_done(tmp_path):
    said = []
    plan = {"a": lambda: {}, "b": lambda: {}}
    make_experiment(plan).run(tmp_path, Settings(), lambda *state: said.append(state))
    assert said == [("a", 0, 2), ("b", 1, 2), ("", 2, 2)]


def test_quick_and_full_results_are_not_mixed(tmp_path):
    ResultsFile(tmp_path / "a.json", quick=True).put("one", {})
    with pytest.raises(InputError, match="quick run"):
        ResultsFile(tmp_path / "a.json")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cases": {', json.dumps({**HEAD, "cases": []})])
def test_another_file_is_an_error(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match="does not hold the results"):
        ResultsFile(tmp_path / "a.json")
