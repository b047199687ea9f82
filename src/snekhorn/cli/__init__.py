"""The program `snekhorn`: from a file to a layout, a picture and a page."""


def main() -> None:
    """Run the command line."""
    try:
        from .app import app
    except KeyboardInterrupt:  # while it is loaded
        raise SystemExit(130) from None
    app()
