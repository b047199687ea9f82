"""Command-line program `snekhorn`: turn a file into a layout, a plot and an interactive page."""


def main() -> None:
    """Run the command line."""
    try:
        from .app import app
    except KeyboardInterrupt:  # during the imports
        raise SystemExit(130) from None
    app()
