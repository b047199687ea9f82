"""One way in: a table from any kind of file that its suffix names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import InputError
from .arrays import read_matrix_market, read_npy, read_npz
from .columnar import read_arrow, read_parquet
from .delimited import read_delimited
from .h5ad import read_h5ad
from .table import Table, Wanted, check_ids

Reader = Callable[[Path, Wanted], Table]
READERS: dict[str, Reader] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".csv.gz": read_delimited,
    ".tsv.gz": read_delimited,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".mtx.gz": read_matrix_market,
    ".h5ad": read_h5ad,
}
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ (or another zip)",
    b"\x89HDF": "H5AD (or another HDF5)",
    b"%%MatrixMarket": "MTX",
}
TEXT = (".csv", ".tsv")
TABLES = (*TEXT, ".csv.gz", ".tsv.gz", ".parquet", ".arrow", ".feather")


def read_table(
    path: Path | str,
    *,
    columns: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    rep: str | None = None,
    leading: Callable[[list[str]], list[str]] | None = None,
    of_model: bool = False,
) -> Table:
    """Points and metadata of a file.

    Parameters
    ----------
    path : Path
        CSV, TSV, Parquet, Arrow, NPY, NPZ, MTX or H5AD, as its suffix says; text may be compressed (.gz).
    columns : list of str or None
        The columns of numbers; None for all of them but the label and the id.
    label, id : str or None
        The columns that group and that name the points.
    rep : str or None
        Of an H5AD file, the entry of obsm, or "X".
    leading : callable or None
        Chooses the columns of numbers, given the names of all.
    of_model : bool
        Whether `columns` are those that a model was made of, none of which can be left out.
    """
    path = Path(path)
    suffix = check_input(path)
    if suffix in TEXT:
        _check_text(path)
    wanted = Wanted(columns, label, id, leading, of_model)
    if suffix == ".h5ad":
        table = read_h5ad(path, wanted, rep)
    elif rep is not None:
        raise InputError(f"--rep is for H5AD files; {path} is none.")
    else:
        table = READERS[suffix](path, wanted)
    check_ids(path, table)
    if columns is None and leading is None and suffix in TABLES and len(table.columns) == 1:
        raise InputError(
            f"{path} has one column of numbers, {table.columns[0]!r}; a layout needs at least two. "
            "Name it with --columns if it is all there is."
        )
    return table


def check_input(path: Path) -> str:
    """The suffix of a file that is there, and not empty."""
    suffix = suffix_of(path, tuple(READERS))
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name and the folder.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; there is nothing to lay out.")
    return suffix


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """The suffix among those known, the longest that fits."""
    name = path.name.lower()
    fitting = [suffix for suffix in known if name.endswith(suffix)]
    if not fitting:
        raise InputError(f"{path} must end in one of {', '.join(known)}.")
    return max(fitting, key=len)


def _check_text(path: Path) -> None:
    with open(path, "rb") as file:
        start = file.read(16)
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature):
            raise InputError(f"{path} is not text, as its suffix says: it is {kind}; rename it.")
