"""Methods are ranked by their means, and differences within the spread count as none."""

import pytest

from benchmarks.field_methods import DEFAULTS, OURS, PEERS, value_used
from benchmarks.field_report import sets_text, where_not
from benchmarks.layout_measures import MEASURES
from benchmarks.rankings import Score, ahead_and_behind, best_of, leaders, rank, rivals, summarize

SCORES = {
    ("a", "t-SNEkhorn"): Score(0.50, 0.02),
    ("a", "openTSNE"): Score(0.49, 0.00),
    ("a", "umap-learn"): Score(0.40, 0.05),
    ("b", "t-SNEkhorn"): Score(0.30, 0.01),
    ("b", "openTSNE"): Score(0.35, 0.01),
}
ALL = ("t-SNEkhorn", "openTSNE", "umap-learn")


def _case(repeat, factor, value, method="openTSNE"):
    return {"data": "a", "method": method, "repeat": repeat, "factor": factor, "silhouette": value}


def test_means_and_spreads_over_subsamples():
    found = summarize([_case(0, 1.0, 0.2), _case(1, 1.0, 0.4), _case(2, 1.0, None)], "silhouette")
    assert found == {("a", "openTSNE"): Score(pytest.approx(0.3), pytest.approx(0.1 * 2**0.5))}


def test_the_best_setting_uses_the_subsamples_of_all_settings():
    cases = [_case(0, 1.0, 0.5), _case(1, 1.0, 0.9), _case(0, 3.0, 0.6)]
    assert best_of(cases, "silhouette") == {("a", "openTSNE"): Score(0.6, 0.0)}


def test_ties_within_the_spread():
    assert leaders(SCORES, "a", ALL) == ["t-SNEkhorn", "openTSNE"]
    assert leaders(SCORES, "b", ALL) == ["openTSNE"]
    assert leaders(SCORES, "c", ALL) == []
    assert [rank(SCORES, "a", method, ALL) for method in ALL] == [1, 1, 3]
    assert rank(SCORES, "b", "t-SNEkhorn", ALL) == 2


def test_sets_on_which_a_method_is_ahead_or_behind():
    assert ahead_and_behind(SCORES, "t-SNEkhorn", "openTSNE") == (1, 0)
    assert ahead_and_behind(SCORES, "t-SNEkhorn", "umap-learn") == (0, 1)


def test_ours_has_one_entry_in_every_comparison():
    for method in OURS:
        assert [other for other in rivals(method) if other in OURS] == [method]
    assert all([other for other in rivals(peer) if other in OURS] == [DEFAULTS] for peer in PEERS)


def test_the_words_follow_the_numbers():
    scores = {("khan", "t-SNEkhorn"): Score(0.3, 0.01), ("khan", "PHATE"): Score(0.5, 0.01)}
    text = where_not(dict.fromkeys(MEASURES, scores))
    assert "**PHATE** is ahead in recall at 1 (1 : 0)" in text
    assert "blue cell (khan) (0 of 13)" in text
    other_way = {("khan", "t-SNEkhorn"): Score(0.6, 0.01), ("khan", "PHATE"): Score(0.5, 0.01)}
    assert where_not(dict.fromkeys(MEASURES, other_way)).startswith("No method is ahead of t-SNEkhorn")


def test_neighbourhoods_have_at_most_a_third_of_the_points():
    assert value_used("openTSNE", 1000) == 30.0
    assert value_used("openTSNE", 61) == 20.0
    assert value_used("umap-learn", 1000, 1 / 3) == 5
    assert value_used("umap-learn", 61, 3.0) == 20


def test_sets_that_were_not_used_to_choose_the_defaults_are_shown_apart():
    def case(data, method, value):
        scores = dict.fromkeys(MEASURES, value)
        return {
            "data": data,
            "method": method,
            "factor": 1.0,
            "n": 100,
            "layout_seconds": 1.0,
            "version": "1",
            **scores,
        }

    old = [case("khan", "t-SNEkhorn", 0.9), case("khan", "PHATE", 0.5)]
    new = [case("wine", "t-SNEkhorn", 0.4), case("wine", "PHATE", 0.5)]
    assert "in view" not in sets_text(old)
    fresh = sets_text([*old, *new]).split("in view")[1]
    assert "| t-SNEkhorn | 2.0 | 2.0 | 2.0 |" in fresh
    assert "| PHATE | 1.0 | 1.0 | 1.0 |" in fresh
