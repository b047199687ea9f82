"""Preload of the workers that the program starts.

Ctrl-C in a terminal reaches all processes of the program. The workers must go on, because the interrupted layout is
finished and written with their help.
"""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore interrupts; Dask calls this in the main thread of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
