"""Layouts are compared with the layout at the defaults; only what the kind names differs."""

import numpy as np
import pytest

from benchmarks import layout_sensitivity
from benchmarks.layout_sensitivity import FACTORS, REPEATS, kept_features, solve, variants, verdict
from harness.experiment import Settings

RAW = np.random.default_rng(0).normal(size=(30, 20))


@pytest.mark.parametrize("kind", ["seeds", "features", "neighbourhood"])
def test_one_thing_varies(kind):
    calls = []
    list(variants(kind, RAW, lambda X, **given: calls.append((X.shape[1], given))))
    seeds = {given["seed"] for _, given in calls}
    assert {shape for shape, _ in calls} == ({18} if kind == "features" else {20})
    assert seeds == (set(range(1, REPEATS + 1)) if kind == "seeds" else {0})
    factors = [given.get("factor") for _, given in calls]
    assert factors == (list(FACTORS) if kind == "neighbourhood" else [None] * REPEATS)


def test_features_are_dropped_at_random():
    kept = [kept_features(50, seed) for seed in range(5)]
    assert {len(one) for one in kept} == {45}
    assert len({tuple(one) for one in kept}) == 5
    assert len(kept_features(3, 0)) == 2


def test_a_layout_that_does_not_change_has_no_spread(monkeypatch):
    Z = np.random.default_rng(1).normal(size=(178, 2))
    turn = np.array([[0.0, -3.0], [3.0, 0.0]])
    layouts = iter([Z, Z @ turn, Z, Z])
    monkeypatch.setattr(layout_sensitivity, "lay_out", lambda *args, **given: next(layouts))
    found = solve("wine", "seeds", "t-SNEkhorn", Settings())
    assert found["agreement"] == 1.0
    assert found["disparity"] == pytest.approx(0.0, abs=1e-12)
    assert found["recall_spread"] == pytest.approx(0.0, abs=1e-12)


def test_the_verdict_names_the_method_that_changes_least():
    means = {"t-SNEkhorn": {"agreement": 0.7}, "openTSNE": {"agreement": 0.6}}
    assert verdict(means) == "t-SNEkhorn keeps the most neighbours, 0.70; next is openTSNE (0.60)."
    means["openTSNE"] = {"agreement": 0.8}
    assert verdict(means) == "openTSNE keeps the most neighbours, 0.80; t-SNEkhorn is number 2 of 2 (0.70)."
