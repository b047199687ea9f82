"""A layout as one HTML file that needs no network: pan, zoom, hover, colour, search, select and export.

Reading order: `write` checks what is handed in and puts the page together; `columns` turns metadata into blocks of
data, `blocks` writes them compressed, `scripts` collects the code. What runs in the browser is in `assets`.
"""

from .write import write_page

__all__ = ["write_page"]
