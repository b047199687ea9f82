"""The page of all commands says what the program does."""

import runpy

from .pages import ROOT


def test_the_page_of_commands_is_up_to_date():
    written = runpy.run_path(str(ROOT / "docs" / "commands.py"))
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == written["page"](), "run: python docs/commands.py"
