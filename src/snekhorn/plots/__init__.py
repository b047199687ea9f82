"""Draw layouts, and diagnostics of how they were computed.

`scatter` draws one layout, and `sheet` draws several side by side. `row_perplexities` and `loss` are diagnostics of the
affinity and the descent. `save` writes a picture to a file; the same picture always gives the same bytes. All functions
take arrays and return Matplotlib objects. None of them uses pyplot: without `ax` they create a figure, available as
`ax.figure`, that does not need to be closed.

Parameters
----------
values : array of shape (n,) or None
    Values to colour the points by: categories or numbers, as decided by `is_categorical`. Values that are None, NaN or
    NA are missing, and their points are drawn in grey.
ax : Axes or None
    Axes to draw on. Create their figure with layout="constrained" to make room for a legend outside the axes.
title, subtitle : str
    Text above the picture, aligned with its left edge.
label : str
    Name of the values, used as the title of the legend or the label of the colour bar.
legend : {"auto", "labels", "outside", "none"}
    Where to name the categories: on their points ("labels") or in a legend outside the axes ("outside"). "auto" writes
    on the points if there are at most 12 categories and each dominates some region. Numbers get a colour bar, unless
    "none".
density : bool or "auto"
    Whether to draw the number of points per pixel instead of the points themselves. "auto" does so for more than
    100,000 points.
categorical : bool or "auto"
    Whether the values are categories. "auto" leaves the decision to `is_categorical`.
palette : mapping of str to str, list of str, str or None
    Colours of categories: of some, by their names, such as {"B cell": "#0072b2"}; of all, as a list in the order of the
    legend; or the name of a Matplotlib colormap.
colormap : str
    Name of a Matplotlib colormap for numbers.
"""

from .canvas import save
from .diagnostic_plots import loss, row_perplexities
from .point_colors import is_categorical
from .scatter_plots import scatter, sheet

__all__ = ["is_categorical", "loss", "row_perplexities", "save", "scatter", "sheet"]
