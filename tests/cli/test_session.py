"""User errors exit with code 2 and bugs with code 1; --debug shows the traceback of both."""

import time

import numpy as np
import pytest

from snekhorn.cli import main
from snekhorn.cli.heartbeat import Heartbeat
from snekhorn.cli.session import count_time_from, session, with_option_names
from snekhorn.errors import InputError, MissingMemoryError, NumericalOverflowError

ARGUMENTS = ("embed", "digits.csv", "--label", "digit", "--id", "name", "--max-iter", 20, "--quiet")
FIT = "snekhorn.estimators.TSNEkhorn.fit"


@pytest.fixture
def fails(monkeypatch):
    """Make an internal of the package raise an error."""

    def patch(name, error):
        def raising(*args, **options):
            raise error

        monkeypatch.setattr(name, raising)

    return patch


@pytest.mark.parametrize(
    "error", [ValueError("of\n our own"), KeyError("of our own"), AssertionError("of our own"), TypeError("of our own")]
)
def test_a_bug_is_called_a_bug(folder, snekhorn, fails, files, error):
    fails(FIT, error)
    result = snekhorn(*ARGUMENTS, "--out", "t.npy", code=1)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"error: this is a bug in snekhorn ({type(error).__name__}: ")
    assert "of our own" in result.stderr
    assert "please report it and include the traceback from --debug" in result.stderr
    assert files() == {"digits.csv"}


@pytest.mark.parametrize(
    "error",
    [
        InputError("of the user"),
        NumericalOverflowError("of the user"),
        OSError(28, "of the user"),
        MemoryError("of the user"),
    ],
)
def test_an_error_of_the_user_is_one_sentence(folder, snekhorn, fails, files, error):
    fails(FIT, error)
    result = snekhorn(*ARGUMENTS, "--out", "t.npy", code=2)
    assert result.stderr.startswith("error: ")
    assert "of the user" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "bug" not in result.stderr
    assert files() == {"digits.csv"}


def test_memory_errors_without_a_message(folder, snekhorn, fails):
    fails(FIT, MemoryError())
    assert "not enough memory" in snekhorn(*ARGUMENTS, "--out", "t.npy", code=2).stderr


@pytest.mark.parametrize(
    ("remedies", "offered"),
    [
        (("set n_neighbors=45",), "lack; use fewer points."),
        (("raise it", "set n_neighbors=45"), "lack; raise it."),
        (("raise it", "lower n_neighbors", "lower the perplexity"), "lack; raise it, or lower the perplexity."),
    ],
)
def test_memory_errors_name_only_what_the_program_offers(folder, snekhorn, fails, remedies, offered):
    fails(FIT, MissingMemoryError("lack", *remedies))
    assert snekhorn(*ARGUMENTS, "--out", "t.npy", code=2).stderr == f"error: {offered}\n"


@pytest.mark.parametrize(("error", "code"), [(ValueError("of our own"), 1), (InputError("of the user"), 2)])
def test_debug_shows_the_traceback(folder, snekhorn, fails, error, code):
    fails(FIT, error)
    lines = snekhorn(*ARGUMENTS, "--out", "t.npy", "--debug", code=code).stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert any("embed_command.py" in line for line in lines)
    assert lines[-1].startswith("error: ")
    assert ("the traceback above" in lines[-1]) == (code == 1)


def test_a_bug_in_the_scores_does_not_cost_the_layout(folder, snekhorn, fails):
    fails("snekhorn.metrics.evaluate", ValueError("of our own"))
    result = snekhorn(*ARGUMENTS, "--out", "t.npy", code=1)
    assert "this is a bug in snekhorn (ValueError: of our own)" in result.stderr
    assert np.load("t.npy").shape == (300, 2)


def test_a_bug_in_one_file_does_not_cost_the_others(folder, snekhorn, fails, files):
    fails("snekhorn.plots.scatter", KeyError("of our own"))
    result = snekhorn(*ARGUMENTS, "--no-scores", "--plot", "t.png", "--out", "t.npy", "--save-model", "m.npz", code=1)
    assert "this is a bug in snekhorn (KeyError" in result.stderr
    assert files() == {"digits.csv", "t.npy", "m.npz"}


def test_scores_that_cannot_be_computed_are_noted(folder, as_json, fails):
    fails("snekhorn.metrics.evaluate", InputError("of the user"))
    facts = as_json(*ARGUMENTS, "--out", "t.npy")
    assert "the scores could not be computed: of the user" in facts["warnings"]


def test_the_time_of_the_program_includes_the_imports():
    hour = 3600.0
    count_time_from(time.perf_counter() - hour)
    with session(as_json=True, quiet=True) as run:
        assert run.elapsed >= hour
    with session(as_json=True, quiet=True) as later:
        assert later.elapsed < run.elapsed


def test_the_program_counts_its_time_from_its_start(monkeypatch):
    started = []
    monkeypatch.setattr("snekhorn.cli.session.count_time_from", started.append)
    monkeypatch.setattr("snekhorn.cli.app.app", lambda: started.append(time.perf_counter()))
    before = time.perf_counter()
    main()
    assert [before, *started] == sorted([before, *started])


def test_the_total_covers_all_stages(folder, as_json):
    seconds = as_json(*ARGUMENTS, "--out", "t.npy")["seconds"]
    total = seconds.pop("total")
    assert {"read", "pca", "layout", "scores", "write"} == set(seconds)
    assert total >= sum(seconds.values()) - 0.001 * len(seconds)  # each is rounded


def test_every_note_is_printed_once(folder, snekhorn):
    result = snekhorn("embed", "digits.csv", "--label", "name", "--max-iter", 20, "--no-scores", "--out", "t.npy")
    note = "pass --id name"
    assert result.stderr.count(note) == 1
    assert note not in result.stdout


@pytest.mark.parametrize("options", [["-p", 10], ["-p", "5,10"]])
def test_without_a_terminal_the_descent_is_followed(folder, snekhorn, monkeypatch, options):
    followed = []

    class Recorder(Heartbeat):
        def follow(self, max_iter):
            return lambda n_iter, loss, layout: followed.append((n_iter, max_iter, loss > 0.0, layout.shape))

    monkeypatch.setattr("snekhorn.cli.session.Heartbeat", Recorder)
    arguments = ("embed", "digits.csv", *options, "--max-iter", 100, "--no-scores", "--out", "t.csv")
    snekhorn(*arguments)
    expected = [(50, 100, True, (300, 2)), (100, 100, True, (300, 2))] * (2 if options[1] == "5,10" else 1)
    assert followed == expected
    snekhorn(*arguments, "--force", "--quiet")
    assert followed == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n_jobs must be a number of threads; got 0.", "--jobs must be a number of threads; got 0."),
        ("stopped at max_iter; raise max_iter.", "stopped at --max-iter; raise --max-iter."),
        ("up to max_iter=2000; use n_components=2", "up to --max-iter=2000; use --dimensions=2"),
        ("max_memory='50%' allows", "--max-memory 50% allows"),
        ("tol must be a positive number", "--tol must be a positive number"),
        ("keep latent_self_loops=True", "keep latent_self_loops=True"),
        ("the layout's max_iter", "the layout's --max-iter"),
        ("n_jobs.csv: row 2, column 'max_iter' is empty", "n_jobs.csv: row 2, column 'max_iter' is empty"),
        ("data/n_jobs/x.csv has no column 'my n_jobs'", "data/n_jobs/x.csv has no column 'my n_jobs'"),
    ],
)
def test_parameters_are_called_by_their_options(text, expected):
    assert with_option_names(text) == expected
