"""Pictures of layouts and of how they came about: arrays in, Matplotlib out.

`scatter` draws a layout, `sheet` several beside each other, `row_perplexities` and `loss` what the affinity and the
descent did; `save` writes a picture, the same bytes for the same picture. Nothing here touches pyplot: without `ax`
a figure of its own is made, `ax.figure`, which nothing keeps open.

Parameters
----------
values : array of shape (n,) or None
    What colours the points: categories or numbers, as `is_categorical` tells; None, NaN and NA are missing, and grey.
ax : Axes or None
    Where to draw. Give its figure layout="constrained" to leave room for what stands outside the axes.
title, subtitle : str
    Above the picture, from its left edge.
label : str
    What the values are: the title of the legend, the label of the colour bar.
legend : "auto", "labels", "outside" or "none"
    Names of the categories on their points, or in a legend outside the axes; "auto" writes on the points if each of
    at most 12 categories has a place of its own. A colour bar stands for numbers, unless "none".
density : bool or "auto"
    Whether to draw how many points fall into each pixel instead of the points; "auto" does above 100,000 points.
categorical : bool or "auto"
    Whether values are categories, where `is_categorical` would decide otherwise.
colormap : str
    Matplotlib's name of the colours of numbers.
"""

from .curves import loss, row_perplexities
from .files import save
from .layouts import scatter, sheet
from .values import is_categorical

__all__ = ["is_categorical", "loss", "row_perplexities", "save", "scatter", "sheet"]
