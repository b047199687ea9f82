"""The program `snekhorn`: from a file to a layout, a picture and a page."""


def main() -> None:
    """Run the command line."""
    from .app import app

    app()
