"""Find the pages of the documentation and the code blocks in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A code block, and the line of the page at which it begins."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A shell command, and the lines that the page says it prints."""

    line: str
    output: list[str]


def blocks(page):
    """Return the code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], text.count("\n", 0, found.start("text")))
        for found in FENCE.finditer(text)
    ]


def commands(block):
    """Return the commands of a shell block."""
    parts = re.split(r"^\$ ", block.text, flags=re.M)
    assert not parts[0].strip(), f"{parts[0]!r} does not follow a command"
    return [Command(lines[0], lines[1:]) for part in parts[1:] if (lines := part.strip().splitlines())]


def matches(pattern, line):
    """Return whether a line is as the page shows it; "..." stands for any text, and repeated spaces count as one."""
    pattern, line = " ".join(pattern.split()), " ".join(line.split())
    return re.fullmatch(re.escape(pattern).replace(r"\.\.\.", ".*"), line) is not None
