"""Colours for classes and numbers, distinguishable with normal and with deficient colour vision."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = "#b8b8b8"
LONG_TAIL = 1.5  # clip the scale if all numbers span this many times the range of the central 98 per cent

HEX_COLOR = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")  # with or without opacity
PALETTE = b"snekhorn:palette"  # key of the colours of categories in the metadata of a field

# Okabe and Ito (2008). Black comes last because it disappears on a dark background.
OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")

# Okabe and Ito's colours without black. Each further colour is the one farthest in OKLab from all previous colours,
# from white, from near-black and from MISSING, as seen with normal vision and with deuteranopia.
DISTINCT = (
    *OKABE_ITO[:-1],
    *("#96005a", "#965aff", "#785a00", "#3c2dd2", "#3cf087", "#4bf0ff", "#d22db4", "#875a87", "#ff4b69", "#d20f3c"),
    *("#781ea5", "#f096f0", "#ffc3d2", "#6987e1", "#96c378", "#4b785a", "#5a5ae1", "#1e5a78", "#78b400", "#a587ff"),
    *("#a5e100", "#0fc396", "#00692d", "#ff69d2", "#c369d2", "#8769c3", "#96874b", "#787887", "#69e1b4", "#d2c35a"),
    *("#a50f96", "#5a9696", "#96d2e1"),
)


def categorical(n: int) -> list[str]:
    """Return n colours as hex codes: Okabe and Ito's up to 8 classes, otherwise DISTINCT, repeated beyond 40."""
    if n <= len(OKABE_ITO):
        return list(OKABE_ITO[: max(n, 0)])
    return [DISTINCT[i % len(DISTINCT)] for i in range(n)]


def continuous(n: int = 256) -> list[str]:
    """Return n steps of viridis as hex codes."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(color) for color in colormaps["viridis"](np.linspace(0.0, 1.0, n))]


def color_limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of the colour scale of finite numbers, which leaves out long tails."""
    smallest, low, high, largest = np.percentile(values, [0, 1, 99, 100])
    if not 0.0 < LONG_TAIL * (high - low) < largest - smallest:
        low, high = smallest, largest
    return float(low), float(high)


def palette_of(metadata: Any, name: str) -> dict[str, str] | None:
    """Return the colours of the categories of a column of an Arrow table, if it has any; ignore what is no palette."""
    stored = (metadata.schema.field(name).metadata or {}).get(PALETTE)
    try:
        found = None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):  # anybody can write these bytes into a Parquet or Arrow file
        return None
    if not isinstance(found, dict) or not all(HEX_COLOR.fullmatch(str(color)) for color in found.values()):
        return None
    return found


def with_palettes(metadata: Any, adata: Any) -> Any:
    """Attach the colours of categories that scanpy keeps in uns to columns of obs; ignore anything else in uns.

    `metadata` is an Arrow table that has the columns of the `obs` of an AnnData object, and perhaps others.
    """
    for name in adata.obs.columns:
        column, found = adata.obs[name], adata.uns.get(f"{name}_colors")
        if column.dtype.name != "category" or found is None or np.ndim(found) != 1:
            continue
        if len(found) < len(column.cat.categories) or not all(HEX_COLOR.fullmatch(str(color)) for color in found):
            continue
        pairs = zip(column.cat.categories, found, strict=False)  # scanpy allows more colours than categories
        palette = json.dumps({str(category): str(color)[:7] for category, color in pairs})
        place = metadata.column_names.index(str(name))
        field = metadata.schema.field(place).with_metadata({PALETTE: palette})
        metadata = metadata.set_column(place, field, metadata.column(place))
    return metadata
