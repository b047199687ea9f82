"""Benchmarks plan and report; measuring takes too long here, except for one of them."""

import json
import pickle
import shutil
from pathlib import Path
from pkgutil import resolve_name

import pytest

from benchmarks import peak_memory, quality
from benchmarks.__main__ import PROGRAM
from benchmarks.neighbors import crossover
from harness.experiment import Settings
from harness.results_page import write_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PROGRAM.experiments)
@pytest.mark.parametrize("quick", [False, True])
def test_cases_can_be_sent_to_another_process(name, quick):
    plan = PROGRAM.experiments[name].plan(Settings(quick=quick))
    assert plan
    assert all(callable(pickle.loads(pickle.dumps(compute))) for compute in plan.values())


@pytest.mark.parametrize("name", PROGRAM.experiments)
def test_a_benchmark_without_results_has_a_section(name, tmp_path):
    experiment = PROGRAM.experiments[name]
    experiment.results(tmp_path, quick=False).put("case", {"not_available": "no data"})
    write_page(tmp_path / "page.md", tmp_path, PROGRAM.introduction, [experiment])
    text = (tmp_path / "page.md").read_text()
    assert f"## {experiment.title}" in text
    assert "- no data" in text


def test_the_page_of_the_documentation_is_made_from_its_json(tmp_path):
    shutil.copytree(DOCS / "benchmarks", tmp_path / "benchmarks")
    page = tmp_path / "benchmarks.md"
    write_page(page, tmp_path / "benchmarks", PROGRAM.introduction, PROGRAM.experiments.values())
    assert page.read_text() == (DOCS / "benchmarks.md").read_text()


@pytest.mark.slow
def test_a_benchmark_is_measured_in_new_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.hub_graphs.N_POINTS", 12_000)
    monkeypatch.setattr("benchmarks.hub_graphs.CLOUDS", ("Gaussian",))
    out = tmp_path / "found"
    assert PROGRAM.main(["hubs", "--quick", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["experiments"]["hubs"]["not_available"] == 0
    record = json.loads((out / "hubs.json").read_text())
    assert len(record["cases"]) == 2
    assert all(case["outcome"] == "converged" and case["n"] == 1200 for case in record["cases"].values())
    assert record["seconds"] > 0
    assert "| Gaussian | yes |" in (tmp_path / "found.md").read_text()


def test_scores_of_other_packages_are_kept_while_their_version_stays(monkeypatch):
    monkeypatch.setattr(quality, "version_of", lambda package: "2.0")
    assert quality.still_valid({"tool": "openTSNE", "version": "2.0"})
    assert not quality.still_valid({"tool": "openTSNE", "version": "1.0"})
    assert not quality.still_valid({"tool": "t-SNEkhorn", "version": None})


@pytest.mark.parametrize("name", [peak_memory.ESTIMATE, *peak_memory.STAGES.values()])
def test_stages_of_a_fit_begin_with_functions_that_exist(name):
    assert callable(resolve_name(name))


def test_crossover():
    def cases(*ratios):
        return [{"n": 1000 * (i + 1), "ratio": ratio} for i, ratio in enumerate(ratios)]

    assert crossover(cases(0.5, 0.9)) is None
    assert crossover(cases(1.5, 2.0)) == 1000.0
    assert 1000.0 < crossover(cases(0.5, 2.0)) < 2000.0
