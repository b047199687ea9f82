"""Show a layout in an interactive HTML file that works offline: pan, zoom, hover, colour, search, select and export.

`html_page` checks the input and assembles the page; `page_data` compresses coordinates and metadata into it. The code
that runs in the browser is in `assets`, and the libraries that it uses are in `vendor`.
"""

from .html_page import sample_note, write_page

__all__ = ["sample_note", "write_page"]
