"""Check that pages match the code they describe."""

import re
import runpy

from snekhorn.cli.app import app
from snekhorn.registry import AFFINITIES, METHODS

from .pages import ROOT

PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`")


def test_every_command_and_option_is_described():
    text = runpy.run_path(str(ROOT / "docs" / "commands.py"))["command_sections"]()
    for info in app.registered_commands:
        assert f"## snekhorn {info.callback.__name__}\n" in text
    assert all(f"`{kind}`" in text for kind in (*AFFINITIES, *METHODS))


def test_decisions_name_existing_files():
    paths = PATH.findall((ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"))
    assert paths
    assert not [path for path in paths if not (ROOT / "src" / "snekhorn" / path).exists()]
