"""Protect blocks of code from keyboard interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Delay a keyboard interrupt (Ctrl-C) until the end of the block."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield  # interrupts do not arrive here
        return
    delayed: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: delayed.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if delayed:
        handler(*delayed[0])
