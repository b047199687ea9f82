"""Every experiment runs end to end, quickly, without data; what is missing says so."""

import json
import shutil
from pathlib import Path

import pytest

from snekhorn.experiments import EXPERIMENTS, Settings, table2, table3
from snekhorn.experiments.experiment import finished
from snekhorn.experiments.markdown import difference, table, verdict
from snekhorn.experiments.page import write_page
from snekhorn.experiments.paper import CLUSTERING, EMBEDDINGS

CHEAP = ("table1", "figure2", "figure3", "figure4", "figure6", "table2", "figure7", "snareseq", "multiscale")
DOCS = Path(__file__).parents[2] / "docs"
WITH_PICTURE = set(CHEAP) - {"table1", "table2"}


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))


@pytest.mark.parametrize("name", CHEAP)
def test_quick_run(name, tmp_path):
    experiment = EXPERIMENTS[name]
    store = experiment.run(tmp_path, Settings(quick=True))
    assert finished(store.cells)
    pictures = experiment.picture(tmp_path, store.cells)
    assert len(pictures) == (2 if name in WITH_PICTURE else 0)
    assert all(path.stat().st_size > 1000 for path in pictures)
    page = tmp_path / "page.md"
    write_page(tmp_path, page)
    text = page.read_text()
    assert f"## {experiment.title}" in text
    assert "A quick run" in text
    assert "nan" not in text.lower().replace("not available", "")


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
    assert sum(key.startswith("coil20 | openTSNE | ") for key in plan) == 30
    assert set(CLUSTERING) <= {key.split(" | ")[0] for key in table2.plan(Settings())}
    assert set(EMBEDDINGS) <= {key.split(" | ")[0] for key in plan}
    assert Settings().seeds == range(5)


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
