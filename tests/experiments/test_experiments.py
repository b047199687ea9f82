"""Every experiment runs end to end, quickly, without data; what is missing says so."""

import json
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn.experiments import EXPERIMENTS, Settings, layouts, table2, table3
from snekhorn.experiments.data import points, points_for
from snekhorn.experiments.experiment import FAILED, Experiment, NotAvailable, _computed, finished
from snekhorn.experiments.markdown import difference, table, verdict
from snekhorn.experiments.page import write_page
from snekhorn.experiments.paper import CLUSTERING, EMBEDDINGS

CHEAP = tuple(name for name in EXPERIMENTS if name not in ("table3", "sensitivity"))
DOCS = Path(__file__).parents[2] / "docs"
WITH_PICTURE = set(CHEAP) - {"table1", "table2", "protocol"}


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))


@pytest.mark.parametrize("name", CHEAP)
def test_quick_run(name, tmp_path):
    experiment = EXPERIMENTS[name]
    store = experiment.run(tmp_path, Settings(quick=True))
    assert finished(store.cells)
    assert not any(FAILED in cell.get("not_available", "") for cell in store.cells.values())
    pictures = experiment.picture(tmp_path, store.cells)
    assert len(pictures) == (2 if name in WITH_PICTURE else 0)
    assert all(path.stat().st_size > 1000 for path in pictures)
    page = tmp_path / "page.md"
    write_page(tmp_path, page)
    text = page.read_text()
    assert f"## {experiment.title}" in text
    assert "A quick run" in text
    assert "nan" not in text.lower().replace("not available", "")


def test_table_3_and_its_appendix(tmp_path, monkeypatch):
    monkeypatch.setattr("snekhorn.experiments.data.QUICK_SETS", ("digits",))
    monkeypatch.setattr("snekhorn.experiments.layouts.PEERS", {})
    monkeypatch.setattr("snekhorn.experiments.table3.PEERS", {})
    for name in ("table3", "sensitivity"):
        store = EXPERIMENTS[name].run(tmp_path, Settings(quick=True))
        assert len(finished(store.cells)) == len(layouts.OUR_COLUMNS) + 2 * len(layouts.PAPER_COLUMNS)
        assert len(EXPERIMENTS[name].picture(tmp_path, store.cells)) == (2 if name == "sensitivity" else 0)
    page = tmp_path / "page.md"
    write_page(tmp_path, page)
    assert re.search(r"\| digits \| \d of 2 \|", page.read_text())
    assert re.search(r"\| the paper's sets \| not run yet \|", page.read_text())


def test_table_3_without_data_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("snekhorn.experiments.data.QUICK_SETS", ("liver_14520",))
    store = EXPERIMENTS["table3"].run(tmp_path, Settings(quick=True))
    assert not finished(store.cells)
    page = tmp_path / "page.md"
    write_page(tmp_path, page)
    row = next(line for line in page.read_text().splitlines() if line.startswith("| Liver (14520)"))
    assert row.count("not available") == len(table3.COLUMNS) + 1
    assert "49.7 / 50.9 / 61.1" in row
    assert "Liver_GSE14520_U133A.csv" in page.read_text()


def test_every_number_of_the_page_is_of_the_json(tmp_path):
    cell = {
        "data": "scgem",
        "column": "t-SNEkhorn",
        "rows": [{"perplexity": 20, "silhouette": 0.44, "trustworthiness": 0.972}],
    }
    text = table3.report({"scgem | t-SNEkhorn": cell})
    assert "44.0 (20)" in text
    assert "+4.7 | better" in text
    assert "97.2 (20)" in text
    assert "+0.4 | better" in text
    assert "not run yet" not in text


def test_table_2_takes_the_best_mean_and_the_papers_number():
    cell = {"values": [10, 20], "ari": [[0.5, 0.7], [0.8, 0.6]]}
    text = table2.report({"scgem | symmetric entropic": cell})
    assert "70.0 (71.6)" in text
    assert "-1.6 | worse" in text


def test_plans_have_the_papers_protocol():
    plan = table3.plan(Settings())
    grid = [key.split(" | ")[2] for key in plan if key.startswith("scgem | t-SNE, paper's protocol | ")]
    assert [int(xi) for xi in grid] == list(range(10, 180, 10))
    assert sum(key.startswith("coil20 | t-SNEkhorn, paper's protocol | ") for key in plan) == 30
    assert set(CLUSTERING) <= {key.split(" | ")[0] for key in table2.plan(Settings())}
    assert set(EMBEDDINGS) <= {key.split(" | ")[0] for key in plan}
    assert Settings().seeds == range(5)


def test_the_papers_protocol_is_what_it_says():
    for method, self_loops in layouts.PAPER_COLUMNS.values():
        found = layouts.paper_model(method, 30, 50, 3, self_loops=self_loops).get_params()
        assert (found["optimizer"], found["tol"], found["perplexity"]) == ("adam", 1e-5, 30)
        assert found["self_loops"] is self_loops
        np.testing.assert_array_equal(found["init"], np.random.default_rng(3).normal(size=(50, 2)))
    X = points("digits", Settings())[0]
    assert X.shape == (1797, 50)


def test_the_papers_protocol_is_judged_by_the_papers_spread():
    rows = [{"perplexity": 10, "silhouette": 0.21, "trustworthiness": 0.9}]
    cell = {"data": "umist", "column": "t-SNEkhorn, paper's protocol", "rows": rows}
    text = table3.report({"umist | t-SNEkhorn, paper's protocol | 10": cell})
    assert "| UMIST faces | t-SNEkhorn | 21.0 | 25.4 ± 4.9 | as in the paper | 90.0 | 99.8 ± 0.1 | lower |" in text
    assert "0 higher, 1 lower, 1 as in the paper" in text


def test_losses_to_other_packages_are_named():
    def cell(column, silhouette):
        return {
            "data": "su",
            "column": column,
            "rows": [{"perplexity": 10, "silhouette": silhouette, "trustworthiness": 0.9}],
        }

    text = table3.report({"su | t-SNEkhorn": cell("t-SNEkhorn", 0.4), "su | umap-learn | 10": cell("umap-learn", 0.5)})
    assert "silhouette better on 0, the same on 0, worse on 1: tumours (su) (40.0 against 50.0 of umap-learn)" in text


def test_columns_that_are_not_finished_say_so():
    ours = [{"perplexity": xi, "silhouette": 0.4, "trustworthiness": 0.9} for xi in (10, 20)]
    cells = {
        "scgem | t-SNEkhorn": {"data": "scgem", "column": "t-SNEkhorn", "rows": ours},
        "scgem | openTSNE | 10": {"data": "scgem", "column": "openTSNE", "rows": ours[:1]},
    }
    text = table3.report(cells)
    assert "1 of 2 perplexities" in text
    assert "Ours against the best of" not in text  # until they are


def test_what_does_not_converge_is_noted_in_the_cell():
    def compute():
        warnings.warn("stopped at max_iter", ConvergenceWarning, stacklevel=1)
        return {"score": 1.0}

    cell = _computed(compute)
    assert cell["not_converged"] == ["stopped at max_iter"]
    assert _computed(lambda: {"score": 1.0})["not_converged"] == []


def test_the_page_tells_what_did_not_converge(tmp_path):
    store = EXPERIMENTS["table3"].store(tmp_path, quick=False)
    row = {"perplexity": 10, "silhouette": 0.4, "trustworthiness": 0.9}
    for column, xi, converged in (("openTSNE", 10, None), ("openTSNE", 20, ["no"]), ("umap-learn", 10, ["no"])):
        record = {} if converged is None else {"not_converged": converged}
        store.put(f"scgem | {column} | {xi}", {"data": "scgem", "column": column, "rows": [row], **record})
    write_page(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "- scgem | openTSNE, 1 cell: no\n- scgem | umap-learn, 1 cell: no\n" in text
    assert "Of 1 cells, computed before this was noted, it is not known whether all converged." in text


@pytest.mark.parametrize("error", [FloatingPointError, ValueError, RuntimeError, np.linalg.LinAlgError])
def test_a_cell_that_fails_does_not_stop_the_others(tmp_path, error):
    def fails():
        raise error("overflow")

    plan = {"bad": fails, "good": lambda: {"score": 1.0}}
    store = Experiment("name", "title", lambda settings: plan, lambda cells: None, lambda cells: "").run(
        tmp_path, Settings()
    )
    assert store.cells["bad"] == {"not_available": f"it failed: {error.__name__}: overflow"}
    assert "good" in store
    assert "bad" not in store  # tried again the next time


def test_a_layout_without_numbers_has_no_scores():
    with pytest.raises(NotAvailable, match="not finite"):
        layouts.scores(np.zeros((3, 2)), [0, 0, 1], np.full((3, 2), np.nan))


def test_a_perplexity_above_the_points_is_not_available():
    with pytest.raises(NotAvailable, match="150 points only"):
        points_for("digits", 150, Settings(quick=True))


def test_verdicts():
    assert verdict(50.0, 40.0) == "better"
    assert verdict(40.5, 40.0) == "the same"
    assert verdict(30.0, 40.0) == "worse"
    assert verdict(None, 40.0) == "not available"
    assert verdict(40.0, None) == ""
    assert difference(41.26, 40.0) == "+1.3"
    assert table(["a"], [[None]]).endswith("| not available |")


def test_an_interrupted_layout_is_no_result(tmp_path, monkeypatch):
    """The descent keeps the layout reached at Ctrl-C; an experiment must not take it for a result."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("snekhorn.embedding.objective.Objective.gradient", interrupt)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENTS["figure7"].run(tmp_path, Settings(quick=True))
    assert not (tmp_path / "figure7.json").exists()


def test_json_is_plain(tmp_path):
    EXPERIMENTS["table1"].run(tmp_path, Settings(quick=True))
    record = json.loads((tmp_path / "table1.json").read_text())
    assert record["quick"] is True
    assert set(record["versions"]) >= {"snekhorn", "python", "numpy"}


@pytest.mark.skipif(not DOCS.is_dir(), reason="no documentation beside the package")
def test_the_page_of_the_documentation_is_made_of_its_json(tmp_path):
    shutil.copytree(DOCS / "results", tmp_path / "results")
    write_page(tmp_path / "results", tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text() == (DOCS / "results.md").read_text()
