"""Check that the page of commands and options matches the program."""

import runpy

from .pages import ROOT


def test_command_page_is_up_to_date():
    written = runpy.run_path(str(ROOT / "docs" / "commands.py"))
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == written["page"](), "run: python docs/commands.py"
