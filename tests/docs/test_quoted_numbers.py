"""The numbers on the pages are those of the stored results, and the pages say of which commit."""

import re
import runpy

import pytest

from .pages import ROOT

SCRIPT = runpy.run_path(str(ROOT / "docs" / "quoted_numbers.py"))
QUOTES, Quote = SCRIPT["QUOTES"], SCRIPT["Quote"]
DECIMAL = re.compile(r"\d+\.\d+")


def _page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page}: {quote.sentence[:40]}")
def test_pages_quote_the_stored_results(quote):
    assert quote.text() in _page(quote.page), "run: python docs/quoted_numbers.py"


def test_no_other_measurement_stands_among_the_reasons_of_the_readme():
    """Every number with decimals in the list of reasons is part of a sentence that is checked."""
    reasons = _page("README.md").split("- **Exact perplexities.**")[1].split("- **Reproducible results.**")[0]
    for quote in QUOTES:
        if quote.page == "README.md":
            reasons = reasons.replace(quote.text(), "")
    assert [number for number in DECIMAL.findall(reasons) if number != "1.5"] == []  # the exaggeration


def test_numbers_are_updated_in_place():
    quote = Quote("README.md", "takes {seconds_ours:.1f} s, measured with commit {commit_speed}.")
    present = quote.text()
    old = "It takes 99.9 s, measured\nwith commit 0123abc. Then 99.9 s more."
    assert " ".join(quote.update(old).split()) == f"It {present} Then 99.9 s more."
    assert quote.update(old).count("\n") == 1
    for page, count in (("It takes long.", 0), (f"{old} {old}", 2)):
        with pytest.raises(ValueError, match=f"README.md has {count} sentences"):
            quote.update(page)


@pytest.mark.parametrize("name", sorted({quote.page for quote in QUOTES}))
def test_updating_present_numbers_changes_nothing(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for quote in QUOTES:
        assert quote.page != name or quote.update(text) == text


def test_the_words_around_the_numbers_hold():
    found = SCRIPT["values"]()
    assert found["silhouette_ours"] > found["silhouette_opentsne"]
    assert found["neighbor_recall_ours"] > found["neighbor_recall_opentsne"]
    assert found["knn_accuracy_ours"] < found["knn_accuracy_opentsne"]
    assert found["silhouette_umap"] > found["silhouette_ours"]
    assert found["neighbor_recall_umap"] < found["neighbor_recall_ours"]
    assert found["silhouette_exaggerated"] > found["silhouette_umap"]
    assert found["neighbor_recall_exaggerated"] > found["neighbor_recall_umap"]
    assert found["seconds_exaggerated"] < found["seconds_ours"] < found["seconds_umap"] < found["seconds_opentsne"]
