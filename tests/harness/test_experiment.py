"""A case is computed, or reports why it could not be."""

import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from harness.experiment import Experiment, NotAvailable, Settings, compute_case
from harness.machine import Load, describe, sentence
from harness.peers import peer_layout, require
from harness.results_page import figures, table, write_page
from snekhorn.errors import InputError


def test_what_does_not_converge_is_recorded():
    def compute():
        warnings.warn("stopped at max_iter", ConvergenceWarning, stacklevel=1)
        warnings.warn("something else", stacklevel=1)
        return {"score": 1.0}

    assert compute_case(compute)["not_converged"] == ["stopped at max_iter"]
    assert compute_case(lambda: {"score": 1.0})["not_converged"] == []


@pytest.mark.parametrize("error", [FloatingPointError, InputError, RuntimeError, np.linalg.LinAlgError])
def test_a_case_that_fails_does_not_stop_the_others(tmp_path, error):
    def fails():
        raise error("overflow")

    plan = {"bad": fails, "good": lambda: {"score": 1.0}}
    experiment = Experiment("name", "Title", lambda settings: plan, lambda cases: "")
    results = experiment.run(tmp_path, Settings())
    assert results.cases["bad"] == {"not_available": f"failed: {error.__name__}: overflow"}
    assert "good" in results
    assert "bad" not in results  # tried again the next time
    write_page(tmp_path / "page.md", tmp_path, "# Heading", [experiment])
    assert f"- bad failed: {error.__name__}: overflow" in (tmp_path / "page.md").read_text()


def small():
    return {"n": 1}


def test_hopeless_cases_are_not_tried(tmp_path):
    plan = {"a": small, "b": small}
    experiment = Experiment(
        "name",
        "Title",
        lambda settings: plan,
        lambda cases: "",
        timed=True,
        hopeless=lambda key, cases: "as a has shown" if "a" in cases else "",
    )
    cases = experiment.run(tmp_path, Settings()).cases
    assert cases["a"]["n"] == 1
    assert cases["b"] == {"not_available": "as a has shown"}


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_a_mistake_in_the_code_is_not_hidden(tmp_path, error):
    def wrong():
        raise error("a bug")

    with pytest.raises(error, match="a bug"):
        Experiment("name", "Title", lambda settings: {"a": wrong}, lambda cases: "").run(tmp_path, Settings())


def test_the_page_says_what_did_not_converge(tmp_path):
    experiment = Experiment("name", "Title", lambda settings: {}, lambda cases: "")
    results = experiment.results(tmp_path, quick=False)
    for column, xi, record in (
        ("a", 10, {}),
        ("a", 20, {"not_converged": ["no"]}),
        ("b", 10, {"not_converged": ["no"]}),
    ):
        results.put(f"data | {column} | {xi}", record)
    write_page(tmp_path / "page.md", tmp_path, "# Heading", [experiment])
    text = (tmp_path / "page.md").read_text()
    assert "- data | a (1 case): no\n- data | b (1 case): no\n" in text
    assert "Convergence was not recorded for 1 of the 3 cases." in text


def test_the_page_names_the_machine_once_and_doubts_busy_times(tmp_path):
    timed, untimed = (
        Experiment(name, name, lambda settings: {}, lambda cases: "text", timed=name == "timed")
        for name in ("timed", "untimed")
    )
    for experiment in (timed, untimed):
        load = {"seconds": 100, "busy_cores_of_others": 1.5}
        experiment.results(tmp_path, quick=False).put("case", {}, load=load)
    write_page(tmp_path / "page.md", tmp_path, "# Heading", [timed, untimed])
    text = (tmp_path / "page.md").read_text()
    assert text.count(sentence(describe())) == 1
    assert text.count("Same machine and versions as above") == 1
    assert text.count("Other processes kept 1.5 cores busy") == 1


def test_timed_cases_record_the_load(tmp_path):
    experiment = Experiment("name", "Title", lambda settings: {"a": dict}, lambda cases: "", timed=True)
    experiment.run(tmp_path, Settings())
    record = json.loads((tmp_path / "name.json").read_text())
    assert record["seconds"] >= 0
    assert record["busy_cores_of_others"] >= 0.0
    assert record["cases"]["a"]["seconds"] >= 0.0


def test_the_load_of_an_interrupted_run_counts():
    found = Load({"seconds": 1e9, "busy_cores_of_others": 0.25}).so_far()
    assert found["seconds"] >= 1e9
    assert found["busy_cores_of_others"] == pytest.approx(0.25, abs=0.01)


def test_a_missing_package_is_not_available():
    with pytest.raises(NotAvailable, match="pip install no_such_package"):
        require("no_such_package")


def test_a_perplexity_that_a_package_would_lower_is_not_available():
    pytest.importorskip("openTSNE")
    with pytest.raises(NotAvailable, match="a third of the number of points"):
        peer_layout("openTSNE", np.zeros((30, 2)), 20, 0)


def test_tables():
    assert table(["a"], [[None]]).endswith("| not available |")
    assert table(["a"], [[0.123456]], "Caption.") == "Caption.\n\n| a |\n| --- |\n| 0.123 |"
    assert figures({"n": 1000, "none": None}, [("n", ",d"), ("none", ".1f"), ("absent", "d")]) == ["1,000", "–", "–"]
