"""Write layouts to H5AD files, as entries of obsm, with descriptions in uns."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .. import __version__
from ..errors import InputError
from ..runtime.settings import settings_of_result

if TYPE_CHECKING:
    from .layout_files import Layouts
    from .table import Table

H5AD = ".h5ad"
RESERVED = ("", ".", "_index")  # of a group of HDF5, and of a data frame of anndata


def check_anndata(path: Path) -> None:
    """Raise if a file is of this format and the package that writes it is missing."""
    if path.suffix.lower() != H5AD:
        return
    try:
        import anndata  # noqa: F401
    except ImportError:
        raise InputError(f"writing {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None


def check_all_kept(path: Path, table: Table, *, source: Path) -> None:
    """Raise if layouts of some of the cells would be added to a copy of a file with all of them."""
    dropped = table.missing is not None and table.missing.rule == "drop"
    if dropped and path.suffix.lower() == H5AD and source.suffix.lower() == H5AD:
        raise InputError(
            f"--missing drop leaves out cells, but {path} is to be a copy of {source}, which has all of them; pass "
            "--missing median, or write the layout to another format, such as .parquet."
        )


def describe_layout(model: Any, **source: Any) -> dict[str, Any]:
    """Describe how a fitted estimator made its layout, for uns, in types that an H5AD file can store.

    `source` says what the layout was made from, such as an entry of obsm; what is None is left out.
    """
    of_affinity = getattr(model, "affinity_report_", None)  # absent if P was precomputed
    settings = {name: _storable(value) for name, value in settings_of_result(model).items()}
    params = {
        **settings,
        "method": type(model).__name__,  # as scanpy has it; not the parameter `method`, how pairs are summed
        "perplexity": getattr(model, "perplexity_", None),
        "balance": getattr(of_affinity, "balance", None),
        **source,
    }
    return {
        "params": {name: value for name, value in params.items() if value is not None},
        "version": __version__,
        "converged": model.report_.converged,
        "reason": model.report_.reason,
        "n_iter": model.report_.n_iter,
        "kl_divergence": float(model.kl_divergence_),
    }


def _storable(value: Any) -> Any:
    """Return a plain value as it is, and anything else as text."""
    if value is None or isinstance(value, str | bool | int | float | np.generic):
        return value
    return str(value) if hasattr(value, "get_params") else type(value).__name__


def write_h5ad(
    found: Layouts, path: Path, *, name: str, source: Path, descriptions: Mapping[str, dict[str, Any]] | None = None
) -> None:
    """Write layouts to obsm["X_" + name], followed by their keys if there are several, and descriptions to uns[name].

    If the points come from an H5AD file, the new file is a copy of it with additional entries. Otherwise, it has the
    metadata as obs.
    """
    names = {key: f"{name}_{key}" if key else name for key in found.layouts}
    obsm = {f"X_{names[key]}": np.asarray(Z) for key, Z in found.layouts.items()}
    uns = {names[key]: described for key, described in (descriptions or {}).items()}
    if source.suffix.lower() != H5AD:
        _new_file(found.metadata, obsm, uns, path)
        return
    import h5py
    from anndata.io import write_elem

    shutil.copyfile(source, path)
    with h5py.File(path, "r+") as file:
        for part, entries in (("obsm", obsm), ("uns", uns)):
            if part not in file:
                write_elem(file, part, {})
            for key, entry in entries.items():
                write_elem(file[part], key, entry)  # replaces an entry of an earlier layout


def _new_file(metadata: pa.Table, obsm: dict[str, Any], uns: dict[str, Any], path: Path) -> None:
    from anndata import AnnData

    obs = pa.table([_plain(column) for column in metadata.columns], names=_names(metadata.column_names)).to_pandas()
    n = len(next(iter(obsm.values())))
    obs = obs.reindex(range(n))  # without columns, pandas does not know the number of rows
    obs.index = obs.index.astype(str)
    AnnData(obs=obs, obsm=obsm, uns=uns, shape=(n, 0)).write_h5ad(path)


def _names(names: list[str]) -> list[str]:
    """Return the names of the columns of obs, which must be names of HDF5, and other than that of the index."""
    found: list[str] = []
    for name in names:
        new = name.replace("/", "_")
        while new in RESERVED or new in found or (new != name and new in names):
            new = f"input_{new}"
        found.append(new)
    return found


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of numbers, booleans or text; anything else, such as dates, becomes text.

    In an H5AD file, only numbers and text can be missing, and text not everywhere.
    """
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.float64())
    if column.null_count and pa.types.is_boolean(column.type):
        return column.cast(pa.string())
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kept = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    return column if any(check(kind) for check in kept) else column.cast(pa.string())
