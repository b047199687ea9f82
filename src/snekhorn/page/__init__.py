"""Show layouts in an interactive HTML file that works offline: pan, zoom, colour, filter, search, select and export.

`html_page` assembles the page, from input that `page_input` checks. `page_data` compresses coordinates and metadata
into it, `page_neighbors` finds the nearest neighbours in the data, and `thumbnails` shrinks images. `notebook_view`
shows the page in a notebook. The code that runs in the browser is in `assets`, and the libraries that it uses are in
`vendor`.
"""

from .html_page import MAX_POINTS, sample_note, write_page
from .thumbnails import Thumbnails, read_thumbnails

__all__ = ["MAX_POINTS", "Thumbnails", "read_thumbnails", "sample_note", "write_page"]
