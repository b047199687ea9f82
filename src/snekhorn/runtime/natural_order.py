"""Sort names in natural order: a2 before a10."""

from __future__ import annotations

import re
from typing import Any


def natural_key(name: str) -> tuple[Any, ...]:
    """Return a key that sorts names without regard to case, and the numbers in them by value."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return (*((part, 0) if i % 2 == 0 else ("", int(part)) for i, part in enumerate(parts)), (name, 0))
