"""Pages of the documentation, and the blocks of code in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """Code, and the line of the page that it begins at."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line after a $, and the lines that it is said to print."""

    line: str
    output: list[str]


def blocks(page):
    """The blocks of code of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], text.count("\n", 0, found.start("text")))
        for found in FENCE.finditer(text)
    ]


def commands(block):
    """The commands of a block of shell."""
    parts = re.split(r"^\$ ", block.text, flags=re.M)
    assert not parts[0].strip(), f"{parts[0]!r} follows no command"
    return [Command(lines[0], lines[1:]) for part in parts[1:] if (lines := part.strip().splitlines())]


def matches(pattern, line):
    """Whether a line is as the page says, where ... stands for anything and spaces count once."""
    pattern, line = " ".join(pattern.split()), " ".join(line.split())
    return re.fullmatch(re.escape(pattern).replace(r"\.\.\.", ".*"), line) is not None
