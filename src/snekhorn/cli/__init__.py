"""Command-line program `snekhorn`: turn a file into a layout, a plot and an interactive page."""

import sys
import time

NOTHING_WRITTEN = "interrupted before there were any results; nothing was written."


def main() -> None:
    """Run the command line."""
    start = time.perf_counter()
    try:
        from .app import app
        from .session import count_time_from
    except KeyboardInterrupt:  # during the imports
        print(NOTHING_WRITTEN, file=sys.stderr)
        raise SystemExit(130) from None
    count_time_from(start)
    app()
