"""The verdicts on the paper's claims follow the stored results."""

import json
from pathlib import Path

import pytest

from harness.results_page import PENDING
from reproduction.__main__ import PROGRAM
from reproduction.claims import CLAIMS, NOT, PARTLY, REPRODUCED, UNTESTABLE, _outcome, summary
from reproduction.table2 import OURS as SYMMETRIC

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture
def results():
    """The stored cases of every experiment that a claim needs."""
    names = {claim.experiment for claim in CLAIMS}
    return {name: json.loads((RESULTS / f"{name}.json").read_text())["cases"] for name in names}


def judged(results, words):
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return _outcome(claim, results)


def test_every_claim_has_a_verdict_and_a_number(results):
    for claim in CLAIMS:
        verdict, numbers = _outcome(claim, results)
        assert verdict in (REPRODUCED, PARTLY, NOT, UNTESTABLE), claim.text
        assert any(character.isdigit() for character in numbers), claim.text
    assert {claim.experiment for claim in CLAIMS} <= set(PROGRAM.experiments)


def test_claims_without_results_are_pending():
    text = summary({})
    assert f"{len(CLAIMS)} {PENDING}" in text
    assert REPRODUCED not in text.split("|", 1)[1]


def test_a_verdict_changes_with_the_results(results):
    assert judged(results, "equal entropies")[0] == REPRODUCED
    results["table1"][SYMMETRIC]["equal entropies"] = 0.5
    assert judged(results, "equal entropies") == (
        PARTLY,
        "largest violation of the symmetric entropic affinity: 5.0e-01",
    )
    results["figure1"]["t-SNEkhorn"]["silhouette"] = 0.1
    assert judged(results, "COIL-20")[0] == PARTLY
    results["figure1"]["t-SNEkhorn, paper's protocol"]["silhouette"] = 0.1
    assert judged(results, "COIL-20")[0] == NOT
    results["figure4"]["SNEkhorn"]["sinkhorn_errors"] = [1.0] * 40
    assert judged(results, "Sinkhorn")[0] == NOT


def test_data_that_could_not_be_obtained_are_not_testable(results):
    results["table2"] = {key: {"not_available": "no data"} for key in results["table2"]}
    assert judged(results, "any other affinity") == (UNTESTABLE, "on 0 of the 0 data sets at hand")


def test_the_page_leads_with_the_claims():
    text = (RESULTS.parent / "results.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[0] == "## The claims of the paper"
