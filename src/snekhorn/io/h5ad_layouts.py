"""Write layouts to H5AD files, as entries of obsm."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..errors import InputError

if TYPE_CHECKING:
    from .layout_files import Layouts

H5AD = ".h5ad"


def check_anndata(path: Path) -> None:
    """Raise if a file is of this format and the package that writes it is missing."""
    if path.suffix.lower() != H5AD:
        return
    try:
        import anndata  # noqa: F401
    except ImportError:
        raise InputError(f"writing {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None


def write_h5ad(found: Layouts, path: Path, *, name: str, source: Path) -> None:
    """Write layouts to obsm["X_" + name], followed by their keys if there are several.

    If the points come from an H5AD file, the new file is a copy of it with additional entries of obsm. Otherwise, it
    has the metadata as obs.
    """
    entries = {f"X_{name}_{key}" if key else f"X_{name}": np.asarray(Z) for key, Z in found.layouts.items()}
    if source.suffix.lower() != H5AD:
        _new_file(found.metadata, entries, path)
        return
    import h5py
    from anndata.io import write_elem

    shutil.copyfile(source, path)
    with h5py.File(path, "r+") as file:
        for key, Z in entries.items():
            write_elem(file["obsm"], key, Z)  # replaces an entry of an earlier layout


def _new_file(metadata: pa.Table, entries: dict[str, Any], path: Path) -> None:
    from anndata import AnnData

    plain = {name: _plain(column) for name, column in zip(metadata.column_names, metadata.columns, strict=True)}
    obs = pa.table(plain).to_pandas()
    obs.index = obs.index.astype(str)
    AnnData(obs=obs, obsm=entries, shape=(len(next(iter(entries.values()))), 0)).write_h5ad(path)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of numbers, booleans or text; anything else, such as dates, becomes text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kept = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    return column if any(check(kind) for check in kept) else column.cast(pa.string())
