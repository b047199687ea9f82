"""Every bad input: one sentence on stderr, exit code 2, nothing written."""

import fcntl
import io
import os
import resource
import signal
import struct
import subprocess
import sys
import termios
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from snekhorn import cli


def _archive(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


INPUTS = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "one.csv": b"a\n1\n2\n",
    "text.csv": b"a,b\nx,y\nz,w\n",
    "gap.csv": b"a,b\n1,2\n3,\n",
    "inf.csv": b"a,b\n1,2\n3,inf\n",
    "ids.csv": b"id,a,b\nu,1,2\nu,3,4\n",
    "mixed.csv": b"a,b\n" + b"1,2\n" * 300_000 + b"1,oops\n",
    "fake.parquet": b"a,b\n1,2\n",
    "fake.npy": b"a,b\n1,2\n",
    "array.npy": _npy(np.eye(4)),
    "good.csv": b"alpha,beta,kind\n1,2,u\n3,4,v\n5,7,u\n2,2,v\n",
    "space.csv": b"x,y,z\n1,2,3\n4,5,6\n",
    "alone.csv": b"a,b\n1,2\n",
    "fake.npz": b"a,b\n1,2\n",
    "what.xyz": b"a,b\n1,2\n",
    "huge.csv": b"a,b\n1e200,2e200\n3e200,4e200\n5e200,7e200\n2e200,2e200\n",
    "tiny.csv": b"a,b\n1e-200,2e-200\n3e-200,4e-200\n5e-200,7e-200\n2e-200,2e-200\n",
    "arrays.npz": _archive(X=np.eye(4)),
    "words.csv": b"x,y\nu,1\nv,2\nw,3\nu,4\n",
}

CASES = {
    "missing": (["embed", "nothing.csv"], r"nothing.csv does not exist"),
    "missing, output there": (["embed", "nothing.csv", "--out", "text.csv"], "nothing.csv does not exist"),
    "empty": (["embed", "empty.csv"], "empty.csv is empty"),
    "no rows": (["embed", "header.csv"], "header.csv has 0 rows"),
    "one column": (["embed", "one.csv"], "one.csv has only one column"),
    "text only": (["embed", "text.csv"], "text.csv has no numeric columns"),
    "NaN": (["embed", "gap.csv"], "gap.csv: the value in line 3, column 'b' is empty"),
    "infinite": (["embed", "inf.csv"], "inf.csv: the value in line 3, column 'b' is infinite"),
    "duplicate ids": (["embed", "ids.csv", "--id", "id"], "ids.csv has the id 'u' in lines 2 and 3"),
    "mixed types": (["embed", "mixed.csv"], "the value in line 300002, column 'b' is 'oops'"),
    "not Parquet": (["embed", "fake.parquet"], "fake.parquet cannot be read as Parquet"),
    "not NPY": (["embed", "fake.npy"], "fake.npy cannot be read as NPY"),
    "unknown kind": (["embed", "what.xyz"], "what.xyz must end in one of .csv"),
    "no such folder": (["embed", "blokcs"], "blokcs does not exist; check the name and the folder"),
    "not NPY at all": (["embed", "fake.npy"], "it does not begin like one"),
    "label of an array": (
        ["embed", "array.npy", "--label", "kind"],
        "has no named columns, so none is 'kind'; pass a ",
    ),
    "wrong column": (["embed", "good.csv", "--columns", "alpha,betta"], "no column 'betta'; did you mean 'beta'?"),
    "open quote": (
        ["embed", "good.csv", "--columns", '"alpha,beta'],
        "has an opening double quote without a closing one",
    ),
    "wrong label": (["embed", "good.csv", "--label", "kinds"], "no column 'kinds'; did you mean 'kind'?"),
    "wrong color": (["embed", "good.csv", "--color", "kinds"], "there is no column 'kinds'; did you mean 'kind'?"),
    "color near a feature": (["embed", "good.csv", "--color", "betta"], "no column 'betta'; did you mean 'beta'?"),
    "one point": (["embed", "alone.csv"], "alone.csv has 1 row; a layout needs at least 2"),
    "wrong metric": (["embed", "good.csv", "--metric", "euclid"], "Did you mean 'euclidean'?"),
    "wrong perplexity": (["embed", "good.csv", "--perplexity", "many"], "--perplexity must be a number, got 'many'"),
    "small perplexity": (["embed", "good.csv", "--perplexity", "0.5"], "--perplexity must be a finite number above 1"),
    "wrong exaggeration": (
        ["embed", "good.csv", "--exaggeration", "1,strong"],
        "--exaggeration must be a number, got 'strong'; 1 preserves neighbours, 1.5 to 2 shows groups.",
    ),
    "exaggeration 0": (
        ["embed", "good.csv", "--exaggeration", "1,0"],
        "--exaggeration must be a finite number above 0, got 0;",
    ),
    "negative exaggeration": (["embed", "good.csv", "--exaggeration=-1"], "--exaggeration must be a finite number"),
    "infinite exaggeration": (["embed", "good.csv", "--exaggeration", "inf"], "--exaggeration must be a finite number"),
    "exaggeration NaN": (["embed", "good.csv", "--exaggeration", "nan"], "--exaggeration must be a finite number"),
    "no exaggeration": (["embed", "good.csv", "--exaggeration", ","], "--exaggeration is ',', which has no values"),
    "no folder": (["embed", "good.csv", "--out", "no/t.csv"], "the folder no does not exist"),
    "unwritable": (["embed", "good.csv", "--out", "/proc/t.csv"], "/proc/t.csv cannot be written"),
    "exists": (["embed", "good.csv", "--out", "text.csv"], "text.csv already exists; pass --force"),
    "the input": (
        ["embed", "good.csv", "--out", "good.csv", "--force"],
        "good.csv is given twice, or is also an input",
    ),
    "twice": (["embed", "good.csv", "--plot", "t.png", "--out", "t.png"], "t.png must end in .parquet"),
    "output kind": (["embed", "good.csv", "--out", "t.xls"], "t.xls must end in .parquet"),
    "many in NPY": (["embed", "good.csv", "--out", "t.npy", "-p", "2,3"], "t.npy can hold only one layout"),
    "many models": (["embed", "good.csv", "--save-model", "t.npz", "-p", "2,3"], "--save-model saves one layout"),
    "exaggerations in NPY": (
        ["embed", "good.csv", "--out", "t.npy", "--exaggeration", "1,2"],
        "t.npy can hold only one layout, but several were requested",
    ),
    "models of exaggerations": (
        ["embed", "good.csv", "--save-model", "t.npz", "--exaggeration", "1,2"],
        "--save-model saves one layout, but several were requested; pass one --perplexity and one --exaggeration.",
    ),
    "page in 3-D": (
        ["embed", "good.csv", "--html", "t.html", "-d", "3"],
        "the page shows only two-dimensional layouts; leave out --html, or pass --dimensions 2.",
    ),
    "page in 1-D": (
        ["embed", "good.csv", "--html", "t.html", "-d", "1"],
        "the page shows only two-dimensional layouts; leave out --html, or pass --dimensions 2.",
    ),
    "images in 3-D": (
        ["embed", "good.csv", "--image", "a", "-d", "3"],
        "the page shows only two-dimensional layouts; leave out --image, or pass --dimensions 2.",
    ),
    "images without a page": (
        ["embed", "good.csv", "--image", "a", "--out", "t.csv"],
        "--image a is shown on the page, which was not requested; pass --html.",
    ),
    "no model": (
        ["transform", "good.csv", "good.csv", "--out", "t.csv"],
        "good.csv is a table of points or of a layout",
    ),
    "points for a model": (
        ["transform", "arrays.npz", "good.csv", "--out", "t.csv"],
        "arrays.npz holds the arrays 'X', not a model; pass a file that",
    ),
    "balance of t-SNE": (["embed", "good.csv", "--method", "tsne", "--balance", "1"], "TSNE has no balance"),
    "no layout": (["plot", "good.csv", "--out", "t.png"], "does not start with columns x and y"),
    "no page": (["view", "good.csv", "--no-open"], "does not start with columns x and y"),
    "other rows": (
        ["evaluate", "good.csv", "alone.csv", "--coordinates", "a,b"],
        "good.csv has 4 rows, but alone.csv has 1",
    ),
    "page of a 3-D layout": (
        ["view", "space.csv", "--no-open"],
        "space.csv is 3-dimensional, but the page shows only two dimensions",
    ),
    "no threads": (["embed", "good.csv", "--jobs", "0"], "--jobs must be a number of threads"),
    "no size": (["embed", "good.csv", "--max-memory", "much"], "--max-memory must be a number of bytes, a text such"),
    "little memory": (
        ["embed", "good.csv", "--max-memory", "1MB"],
        "error: --max-memory 1MB is less than the program already uses (about 0.",
    ),
    "memory without a unit": (
        ["embed", "good.csv", "--max-memory", "50"],
        "--max-memory 50 needs a unit; pass a size such as 50GB, or a share such as 50%.",
    ),
    "share of the memory without a unit": (
        ["embed", "good.csv", "--max-memory", "0.5"],
        "--max-memory 0.5 needs a unit; pass a size such as 50GB, or a share such as 50%.",
    ),
    "no tolerance": (["embed", "good.csv", "--tol", "-1"], "--tol must be"),
    "affinity over its input": (["affinity", "fake.npz", "--out", "fake.npz", "--force"], "is also an input"),
    "named twice": (["embed", "good.csv", "--html", "t.html", "--plot", "t.html"], "t.html must end in .png"),
    "no such model": (["transform", "no.npz", "good.csv", "--out", "t.csv"], "no.npz does not exist"),
    "several perplexities": (
        ["affinity", "good.csv", "--out", "P.npz", "-p", "2,3"],
        "takes one perplexity, but got 2, 3",
    ),
    "affinity neighbours": (["affinity", "good.csv", "--out", "P.npz", "--neighbors", "-3"], "--neighbors must be"),
    "checkpoint in a file": (
        ["embed", "good.csv", "--checkpoint", "text.csv"],
        "--checkpoint text.csv is a file, not a folder; name another folder.",
    ),
    "features as distances": (
        ["embed", "space.csv", "--metric", "precomputed"],
        "--metric precomputed needs a square matrix of distances, but space.csv has 2 points and 3 columns",
    ),
    "scores of features as distances": (
        ["evaluate", "good.csv", "good.csv", "--columns", "alpha", "--coordinates", "beta", "--metric", "precomputed"],
        "--metric precomputed needs a square matrix of distances, but good.csv has 4 points and 1 column; use another",
    ),
    "no columns": (["embed", "good.csv", "--columns", ""], "--columns is '', which has no values; pass at least one"),
    "no perplexity": (["embed", "good.csv", "--perplexity", ""], "--perplexity is '', which has no values"),
    "no perplexity, then one": (["embed", "good.csv", "-p", "", "-p", "3"], "--perplexity is '', which has no values"),
    "comma alone": (["affinity", "good.csv", "--out", "P.npz", "-p", ","], "--perplexity is ',', which has no values"),
    "no coordinates": (["plot", "good.csv", "--out", "t.png", "--coordinates", ""], "--coordinates is '', which has"),
    "components overflow": (["embed", "huge.csv", "--pca", "1"], "7e+200 in absolute value, so their squares overflow"),
    "deviations overflow": (["embed", "huge.csv", "--standardize"], "so their squares overflow"),
    "initial layout overflows": (
        ["embed", "huge.csv", "--metric", "manhattan"],
        "X has entries as large as 7e+200 in absolute value, so their squares overflow; scale X down.",
    ),
    "scales underflow": (["embed", "tiny.csv", "--metric", "mahalanobis"], "underflow for metric='mahalanobis'; scale"),
    "text for coordinates": (
        ["evaluate", "good.csv", "words.csv"],
        "column 'x' of words.csv does not contain numbers; name the coordinates with --coordinates.",
    ),
    "affinity kind": (["affinity", "good.csv", "--out", "P.csv"], "P.csv must end in .npz or .mtx"),
}


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in INPUTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_exit_code_2_and_nothing_written(case, inputs, snekhorn):
    args, message = CASES[case]
    result = snekhorn(*args, "--quiet", code=2)
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert {path.name: path.read_bytes() for path in inputs.iterdir()} == INPUTS


def test_usage_errors_are_2_too(inputs, snekhorn):
    for args in (["embed"], ["embed", "good.csv", "--method", "umap"], ["no-such-command"]):
        assert snekhorn(*args, code=2).stdout == ""


@pytest.mark.parametrize("command", ["embed", "affinity"])
def test_seeds_out_of_range(inputs, snekhorn, command):
    for seed, limit in ((-1, "at least 0"), (99999999999999, "at most 4294967295")):
        error = snekhorn(command, "good.csv", "--out", "P.npz", "--seed", seed, code=2).stderr
        assert error.startswith(f"error: --seed must be {limit}, got {seed}.\n")


def test_an_interrupt_before_a_session_says_that_nothing_was_written(inputs, snekhorn, monkeypatch, capsys):
    class Interrupted(ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    def interrupted(**options):
        raise KeyboardInterrupt

    expected = "interrupted before there were any results; nothing was written."
    monkeypatch.setattr("snekhorn.cli.embed_command.session", interrupted)
    assert expected in snekhorn("embed", "good.csv", code=130).stderr
    monkeypatch.setitem(sys.modules, "snekhorn.cli.app", Interrupted("snekhorn.cli.app"))  # during the imports
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == f"{expected}\n"


def test_force_replaces(inputs, snekhorn):
    snekhorn("embed", "good.csv", "--out", "text.csv", "--force", "--quiet")
    assert (inputs / "text.csv").read_text().startswith('"x","y"')


def test_a_full_disk_loses_only_what_did_not_fit(inputs, snekhorn):
    """The system refuses files above some size, as a full disk does; the smaller of two fits."""
    np.save("many.npy", np.random.default_rng(0).normal(size=(2000, 3)))
    args = ("embed", "many.npy", "--max-iter", 20, "--no-scores", "--quiet")
    snekhorn(*args, "--out", "t.npy")  # compiles, and shows the size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize("t.npy") + 100, hard))
    try:
        result = snekhorn(*args, "--out", "u.npy", "--save-model", "m.npz", code=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "m.npz could not be written" in result.stderr
    assert "Written: u.npy." in result.stderr
    assert (inputs / "u.npy").read_bytes() == (inputs / "t.npy").read_bytes()
    assert {path.name for path in inputs.iterdir()} == {*INPUTS, "many.npy", "t.npy", "u.npy"}


def test_ctrl_c_keeps_what_is_done(inputs):
    """Run in a terminal, where a progress bar shows that the descent has started."""
    np.save("many.npy", np.random.default_rng(0).normal(size=(1500, 3)))
    args = ("embed", "many.npy", "--out", "t.npy", "--max-iter", "1000000", "--tol", "1e-12")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    run = subprocess.Popen([sys.executable, "-m", "snekhorn", *args], stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    seen = b""
    while b"loss=" not in seen:
        seen += os.read(ours, 1000)
    run.send_signal(signal.SIGINT)
    stdout, _ = run.communicate()
    os.close(ours)
    assert run.returncode == 130
    assert "interrupted; the results so far are kept" in stdout
    assert np.load("t.npy").shape == (1500, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"alpha,gamma,kind\n1,2,u\n", "no column 'beta', which the model needs"),
        (b"alpha,beta,kind\n1,2,u\n3,oops,v\n", "line 3, column 'beta' is 'oops', which is not a number; fix it."),
        (
            b"alpha,beta,kind\n1,2,u\n3,,v\n",
            "line 3, column 'beta' is empty or not a number; fill it in or drop the row.",
        ),
    ],
)
def test_new_points_must_have_the_columns_of_the_model(inputs, snekhorn, content, message):
    snekhorn("embed", "good.csv", "--save-model", "m.npz", "--no-scores", "--quiet")
    (inputs / "new.csv").write_bytes(content)
    error = snekhorn("transform", "m.npz", "new.csv", "--out", "t.csv", "--quiet", code=2).stderr
    assert message in error
    assert "--columns" not in error
    assert not (inputs / "t.csv").exists()


def test_text_for_coordinates_in_a_typed_file(inputs, snekhorn):
    parquet.write_table(pa.table({"x": ["u", "v", "w", "u"], "y": [1.0, 2.0, 3.0, 4.0]}), "layout.parquet")
    error = snekhorn("evaluate", "good.csv", "layout.parquet", "--quiet", code=2).stderr
    assert "column 'x' of layout.parquet does not contain numbers; name the coordinates with --coordinates." in error
