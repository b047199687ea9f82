"""Every experiment runs end to end, quickly and without data; missing data are named."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from harness.experiment import FAILED, NotAvailable, Settings, finished
from reproduction import layout_protocols, table2, table3
from reproduction.__main__ import PROGRAM
from reproduction.paper import CLUSTERING, EMBEDDINGS
from reproduction.paper_data import points, points_for
from reproduction.verdicts import difference, verdict

EXPERIMENTS = PROGRAM.experiments
CHEAP = tuple(name for name in EXPERIMENTS if name not in ("table3", "sensitivity"))
WITH_PICTURE = set(CHEAP) - {"table1", "table2", "protocol"}
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))


def page_of(folder):
    page = folder.parent / f"{folder.name}.md"
    PROGRAM.write_page(page, folder)
    return page.read_text()


@pytest.mark.parametrize("name", CHEAP)
def test_quick_run(name, tmp_path):
    experiment = EXPERIMENTS[name]
    results = experiment.run(tmp_path, Settings(quick=True))
    assert finished(results.cases)
    assert not any(case.get("not_available", "").startswith(FAILED) for case in results.cases.values())
    pictures = experiment.picture(tmp_path, results.cases)
    assert len(pictures) == (2 if name in WITH_PICTURE else 0)
    assert all(path.stat().st_size > 1000 for path in pictures)
    text = page_of(tmp_path)
    assert f"## {experiment.title}" in text
    assert "A quick run" in text
    assert not re.search(r"\bnan\b", text.lower())


def test_cases_computed_at_once_are_those_computed_one_after_the_other(tmp_path):
    runs = [EXPERIMENTS["table1"].run(tmp_path / str(n), Settings(quick=True, jobs=n)) for n in (1, 2)]
    one, two = ({key: {**case, "seconds": 0} for key, case in run.cases.items()} for run in runs)
    assert list(one.items()) == list(two.items())


def test_table_3_and_its_appendix(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.paper_data.QUICK_SETS", ("digits",))
    monkeypatch.setattr("reproduction.table3.PEERS", {})
    for name in ("table3", "sensitivity"):
        results = EXPERIMENTS[name].run(tmp_path, Settings(quick=True))
        expected = len(layout_protocols.OUR_COLUMNS) + 2 * len(layout_protocols.PAPER_COLUMNS)
        assert len(finished(results.cases)) == expected
        assert len(EXPERIMENTS[name].picture(tmp_path, results.cases)) == (2 if name == "sensitivity" else 0)
    text = page_of(tmp_path)
    assert re.search(r"\| digits \| \d of 2 \|", text)
    assert re.search(r"\| sum over the paper's data sets \| not run yet \|", text)


def test_table_3_without_data_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.paper_data.QUICK_SETS", ("liver_14520",))
    results = EXPERIMENTS["table3"].run(tmp_path, Settings(quick=True))
    assert not finished(results.cases)
    text = page_of(tmp_path)
    row = next(line for line in text.splitlines() if line.startswith("| Liver (14520)"))
    assert row.count("not available") == len(table3.COLUMNS) + 1
    assert "49.7 / 50.9 / 61.1" in row
    assert "Liver_GSE14520_U133A.csv" in text


def scored(data, column, silhouette, *, trustworthiness=0.9, perplexities=(10,)):
    """A case of Table 3."""
    rows = [{"perplexity": xi, "silhouette": silhouette, "trustworthiness": trustworthiness} for xi in perplexities]
    return {"data": data, "column": column, "rows": rows}


def test_table_3_shows_the_numbers_of_the_cases():
    case = scored("scgem", "t-SNEkhorn", 0.44, trustworthiness=0.972, perplexities=(20,))
    text = table3.report({"scgem | t-SNEkhorn": case})
    assert "44.0 (20)" in text
    assert "+4.7 | better" in text
    assert "97.2 (20)" in text
    assert "+0.4 | better" in text
    assert "not run yet" not in text


def test_table_2_takes_the_best_mean_and_the_papers_number():
    case = {"values": [10, 20], "ari": [[0.5, 0.7], [0.8, 0.6]]}
    text = table2.report({"scgem | symmetric entropic": case})
    assert "70.0 (71.6)" in text
    assert "-1.6 | worse" in text


def test_plans_have_the_papers_grid_and_data():
    plan = table3.plan(Settings())
    grid = [key.split(" | ")[2] for key in plan if key.startswith("scgem | t-SNE, paper's protocol | ")]
    assert [int(xi) for xi in grid] == list(range(10, 180, 10))
    assert sum(key.startswith("coil20 | t-SNEkhorn, paper's protocol | ") for key in plan) == 30
    assert set(CLUSTERING) <= {key.split(" | ")[0] for key in table2.plan(Settings())}
    assert set(EMBEDDINGS) <= {key.split(" | ")[0] for key in plan}
    assert Settings().seeds == range(5)


def test_the_stored_results_are_those_that_are_planned():
    """Otherwise a full run would compute them again."""
    for name, experiment in EXPERIMENTS.items():
        stored = experiment.results(DOCS / "results", quick=False).cases
        assert set(stored) == set(experiment.plan(Settings())), name


def test_the_papers_protocol():
    for method, self_loops in layout_protocols.PAPER_COLUMNS.values():
        found = layout_protocols.paper_model(method, 30, 50, 3, self_loops=self_loops).get_params()
        assert (found["optimizer"], found["tol"], found["perplexity"]) == ("adam", 1e-5, 30)
        assert found["self_loops"] is self_loops
        np.testing.assert_array_equal(found["init"], np.random.default_rng(3).normal(size=(50, 2)))
    X = points("digits", Settings())[0]
    assert X.shape == (1797, 50)
    rate, steps = layout_protocols.PAPER["learning_rate"], layout_protocols.PAPER["max_iter"]
    assert re.search(rf"a\s+learning rate of {rate},.* and at most {steps:,} iterations", PROGRAM.introduction)


def test_the_papers_protocol_is_judged_by_the_papers_standard_deviation():
    case = scored("umist", "t-SNEkhorn, paper's protocol", 0.21)
    text = table3.report({"umist | t-SNEkhorn, paper's protocol | 10": case})
    assert "| UMIST faces | t-SNEkhorn | 21.0 | 25.4 ± 4.9 | as in the paper | 90.0 | 99.8 ± 0.1 | lower |" in text
    assert "0 higher, 1 lower, 1 as in the paper" in text


def test_data_sets_on_which_other_packages_are_better_are_named():
    cases = {
        "su | t-SNEkhorn": scored("su", "t-SNEkhorn", 0.4),
        "su | umap-learn | 10": scored("su", "umap-learn", 0.5),
    }
    text = table3.report(cases)
    assert "Our silhouette is better on 0, the same on 0 and worse on 1 of 1 data set." in text
    assert "It is worse on tumours (su) (40.0 compared with 50.0 for umap-learn)." in text


def test_unfinished_columns_say_so():
    cases = {
        "scgem | t-SNEkhorn": scored("scgem", "t-SNEkhorn", 0.4, perplexities=(10, 20)),
        "scgem | openTSNE | 10": scored("scgem", "openTSNE", 0.4),
    }
    text = table3.report(cases)
    assert "1 of 2 perplexities" in text
    assert "with the best of" not in text  # until they are finished


def test_a_layout_that_is_not_finite_has_no_scores():
    with pytest.raises(NotAvailable, match="not finite"):
        layout_protocols.scores(np.zeros((3, 2)), [0, 0, 1], np.full((3, 2), np.nan))


def test_a_perplexity_above_the_number_of_points_is_not_available():
    with pytest.raises(NotAvailable, match="only 150 points"):
        points_for("digits", 150, Settings(quick=True))


def test_verdicts():
    assert verdict(50.0, 40.0) == "better"
    assert verdict(40.5, 40.0) == "the same"
    assert verdict(30.0, 40.0) == "worse"
    assert verdict(None, 40.0) == "not available"
    assert verdict(40.0, None) == ""
    assert difference(41.26, 40.0) == "+1.3"


def test_an_interrupted_layout_is_no_result(tmp_path, monkeypatch):
    """The descent keeps the layout reached at Ctrl-C; an experiment must not take it for a result."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("snekhorn.embedding.objective.Objective.gradient", interrupt)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENTS["figure7"].run(tmp_path, Settings(quick=True))
    assert not (tmp_path / "figure7.json").exists()


def test_the_json_is_plain(tmp_path):
    EXPERIMENTS["table1"].run(tmp_path, Settings(quick=True))
    record = json.loads((tmp_path / "table1.json").read_text())
    assert record["quick"] is True
    assert set(record["machine"]) >= {"cpu", "snekhorn", "python", "commit", "packages"}


def test_the_page_of_the_documentation_is_made_from_its_json(tmp_path):
    shutil.copytree(DOCS / "results", tmp_path / "results")
    assert page_of(tmp_path / "results") == (DOCS / "results.md").read_text()
