"""Check that pages match the code they describe."""

import re
import runpy

from .pages import ROOT

PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`")


def test_command_page_is_up_to_date():
    written = runpy.run_path(str(ROOT / "docs" / "commands.py"))
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == written["page"](), "run: python docs/commands.py"


def test_decisions_name_existing_files():
    paths = PATH.findall((ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"))
    assert paths
    assert not [path for path in paths if not (ROOT / "src" / "snekhorn" / path).exists()]
