"""Layouts to draw, and readers of what was drawn."""

import numpy as np


def blobs(n=600, k=4, spread=0.5, seed=0):
    """Return points around the corners of a polygon, and the corner of each."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, k, n)
    angle = 2.0 * np.pi * np.arange(k) / k
    return 5.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)[corner] + spread * rng.normal(size=(n, 2)), corner


def labels_of(ax):
    """Return the names written on points, without their halos."""
    return [text for text in ax.texts if text.get_gid() == "category" and not text.get_path_effects()]


def drawn(ax):
    """Lay out the figure as for saving, and return the axes."""
    ax.figure.draw_without_rendering()
    return ax


def points_of(ax):
    """Return positions and colours of the points, in drawing order."""
    (points,) = ax.collections
    return np.asarray(points.get_offsets()), points.get_facecolors()[:, :3]
