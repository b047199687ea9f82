"""Damage files: flip bits, cut off the end. The same seed gives the same damage."""

from __future__ import annotations

import random
from collections.abc import Iterator


def damaged(content: bytes, *, flips: int, truncations: int, seed: str) -> Iterator[tuple[str, bytes]]:
    """Yield a description and the content of damaged copies: each with one bit flipped, or without its end."""
    choose = random.Random(seed)
    for _ in range(flips):
        place, bit = choose.randrange(len(content)), choose.randrange(8)
        changed = bytearray(content)
        changed[place] ^= 1 << bit
        yield f"bit {bit} of byte {place} flipped", bytes(changed)
    for _ in range(truncations):
        length = choose.randrange(len(content))
        yield f"cut off after {length} bytes", content[:length]
