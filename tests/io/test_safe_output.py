"""Files are written completely or not at all, with the permissions and links of the file that they replace."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from snekhorn.io import InputError, check_output, replacing

ENDED = """
import os, signal, sys
from pathlib import Path
from snekhorn.io import replacing
number = getattr(signal, sys.argv[2])
signal.signal(number, signal.SIG_DFL)  # the tests may run under nohup
with replacing(Path(sys.argv[1])) as file:
    file.write_text("half")
    os.kill(os.getpid(), number)
    signal.pause()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_termination_leaves_no_temporary_file(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("whole")
    code = subprocess.run([sys.executable, "-c", ENDED, path, name], check=False).returncode
    assert code == -getattr(signal, name)
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "whole"


def test_handlers_of_the_program_are_left_alone(tmp_path):
    handled = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: handled.append(number))
    try:
        with replacing(tmp_path / "t.csv") as file:
            os.kill(os.getpid(), signal.SIGTERM)
            file.write_text("whole")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert handled == [signal.SIGTERM]
    assert (tmp_path / "t.csv").read_text() == "whole"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_an_existing_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "t.csv") as file:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o640


def test_a_link_keeps_pointing_to_its_target(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "t.csv", tmp_path / "t.csv"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as file:
        assert file.parent == target.parent  # a file system that can be renamed within
        file.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_pipes_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match="is a device or a pipe, which would be replaced"):
        check_output(tmp_path / "t.csv", (".csv",), force=True)
    with pytest.raises(InputError, match="is a device or a pipe"), replacing(tmp_path / "t.csv"):
        pass


def test_files_that_cannot_be_created_are_errors(tmp_path):
    long, missing, dangling = tmp_path / ("n" * 300 + ".csv"), tmp_path / "none" / "t.csv", tmp_path / "link.csv"
    dangling.symlink_to(missing)
    for path, reason in ((long, "too long"), (missing, "none does not exist; create it"), (dangling, "No such file")):
        with pytest.raises(InputError, match=reason) as said, replacing(path):
            pass
        assert ".snekhorn-" not in str(said.value)
        with pytest.raises(InputError, match=reason):
            check_output(path, (".csv",), force=False)
    assert list(tmp_path.iterdir()) == [dangling]
