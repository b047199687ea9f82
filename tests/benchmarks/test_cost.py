"""Methods are not tried on more points than they can do within the limit; the words follow the numbers."""

from benchmarks.cost import LIMIT, SIZES, hopeless, plan, ranking
from harness.experiment import Settings

FIRST, SECOND, THIRD = (f"openTSNE | {n:,} points" for n in SIZES[:3])


def test_methods_grow_until_the_limit():
    assert hopeless(FIRST, {}) == ""
    quick = {FIRST: {"layout_seconds": 1.0}}
    assert hopeless(SECOND, quick) == ""
    slow = {**quick, SECOND: {"layout_seconds": 0.9 * LIMIT}}
    assert hopeless(THIRD, slow) == f"openTSNE would take more than {LIMIT:,.0f} s for {SIZES[2]:,} points."
    assert hopeless(THIRD.replace("openTSNE", "PaCMAP"), slow) == ""
    failed = {**quick, SECOND: {"not_available": "failed: not finished"}}
    assert "is not tried on more points" in hopeless(THIRD, failed)


def test_every_method_is_planned_from_few_to_many_points():
    keys = list(plan(Settings()))
    assert keys[: len(SIZES)] == [f"t-SNEkhorn | {n:,} points" for n in SIZES]
    assert len(keys) % len(SIZES) == 0


def test_the_fastest_and_the_smallest_are_named():
    def case(seconds, peak, n):
        return {"layout_seconds": seconds, "peak_gb": peak, "n": n}

    found = {
        ("t-SNEkhorn", 10_000): case(2.0, 0.5, 10_000),
        ("t-SNEkhorn", 100_000): case(20.0, 0.9, 100_000),
        ("PaCMAP", 10_000): case(1.0, 0.6, 10_000),
    }
    text = ranking(found)
    assert "10,000 points: PaCMAP is fastest, and t-SNEkhorn needs the least memory" in text
    assert "t-SNEkhorn n^1.00 (to 100,000)" in text
    assert "PaCMAP n^" not in text
