"""A bar for every stage, which other threads and silent fits do not show."""

import subprocess
import sys

import numpy as np
import pytest

from snekhorn import TSNEkhorn
from snekhorn.runtime.execution import Threads, run_in_blocks
from snekhorn.runtime.progress import note, notes_shown_by, share_done, show_progress, shown_stage


@pytest.mark.parametrize("verbose", [True, False])
def test_loops_over_blocks_are_parts_of_a_stage(verbose, capsys):
    rows = []
    with shown_stage("search", verbose=verbose):
        run_in_blocks(Threads(2), rows.append, 1000, 125, work=10**6)
    run_in_blocks(Threads(2), rows.append, 1000, 100, work=10**6)  # after the stage
    said = capsys.readouterr().err
    assert sorted((block.start, block.stop) for block in rows[:8]) == [(i, i + 125) for i in range(0, 1000, 125)]
    assert ("search" in said and "/8 [" in said) == verbose
    assert "/10 [" not in said


def test_an_error_in_a_block_ends_the_stage(capsys):
    def fail(rows):
        raise ArithmeticError

    with pytest.raises(ArithmeticError), shown_stage("search", verbose=True):
        run_in_blocks(Threads(1), fail, 10, 5, work=1)
    run_in_blocks(Threads(1), lambda rows: None, 30, 10, work=1)
    assert "/3 [" not in capsys.readouterr().err


def test_notes_are_shown_only_to_those_who_ask(capsys):
    seen = []
    note("before")
    with notes_shown_by(seen.append):
        note("here")
    note("after")
    assert seen == ["here"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("first", "gap", "share"),
    [(1.0, 1.0, 0.0), (1.0, 1e-3, 0.5), (1.0, 1e-6, 1.0), (1.0, 0.0, 1.0), (1.0, 5.0, 0.0), (np.inf, 1.0, 0.0)],
)
def test_the_share_that_is_done(first, gap, share):
    assert share_done(first, gap, 1e-6) == pytest.approx(share)


def test_gaps_that_do_not_decrease_do_not_move_the_bar_back(capsys):
    with show_progress("affinity", verbose=True, tol=1e-6) as progress:
        for n_iter, gap in enumerate([1.0, 1e-3, 1e-2, np.nan, 1e-7]):
            progress(n_iter, gap)
    said = capsys.readouterr().err
    assert "affinity: 100%" in said
    assert "gap=1.0e-07" in said


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
@pytest.mark.parametrize("verbose", [True, False])
def test_every_stage_of_a_fit(verbose, capsys, rng):
    TSNEkhorn(n_neighbors=20, perplexity=10, max_iter=3, verbose=verbose).fit(rng.normal(size=(1500, 4)))
    said = capsys.readouterr().err
    for stage in ("neighbours", "affinity", "layout"):
        assert (f"{stage}:" in said) == verbose


def test_an_import_and_a_quiet_fit_load_no_widgets():
    """In a notebook without widgets, tqdm.auto warns when it is imported."""
    code = (
        "import sys, numpy as np; from snekhorn import TSNEkhorn; "
        "TSNEkhorn(max_iter=2).fit(np.eye(20)); assert 'tqdm.auto' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
