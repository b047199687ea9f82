"""Write the files of a layout: table, plot, page and model. Each is written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..colors import palette_of
from ..errors import InputError
from ..io import Layouts, check_output, replacing
from ..io.h5ad_layouts import H5AD, check_anndata
from ..io.layout_files import LAYOUT_SUFFIXES
from ..io.layout_files import TABLE_SUFFIXES as TABLES
from ..io.table import column_values
from ..io.table_files import READERS
from .input_points import Points, Source
from .layout_names import layout_title, sheet_columns
from .session import USER_ERRORS, Session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..io import Table
    from ..page import Thumbnails

PLOTS = (".png", ".svg", ".pdf")
PAGES = (".html",)
MODELS = (".npz",)
MAX_COMPARED = 200_000  # points of a page with neighbours in the data, which would make larger pages slow to open


@dataclass(frozen=True)
class Outputs:
    """Files to write; None if a file was not requested."""

    table: Path | None = None
    plot: Path | None = None
    html: Path | None = None
    model: Path | None = None
    tables: tuple[str, ...] = LAYOUT_SUFFIXES  # suffixes of the table

    @property
    def paths(self) -> dict[str, Path]:
        """The requested files, by kind."""
        named = {"table": self.table, "plot": self.plot, "html": self.html, "model": self.model}
        return {name: path for name, path in named.items() if path is not None}

    def check(self, inputs: list[Path], *, force: bool, several: bool) -> None:
        """Raise before any work is done if one of the files cannot be written."""
        kinds = {"table": self.tables, "plot": PLOTS, "html": PAGES, "model": MODELS}
        check_files([(path, kinds[name]) for name, path in self.paths.items()], inputs, force=force)
        if self.table is not None:
            check_anndata(self.table)
        if several and self.table is not None and self.table.suffix.lower() not in (*TABLES, H5AD):
            raise InputError(
                f"{self.table} can hold only one layout, but several were requested; use {', '.join(TABLES)}."
            )
        if several and self.model is not None:
            raise InputError(
                "--save-model saves one layout, but several were requested; pass one --perplexity and one "
                "--exaggeration."
            )


def check_files(outputs: list[tuple[Path, tuple[str, ...]]], inputs: list[Path], *, force: bool) -> None:
    """Raise if a file cannot be written, is given twice, or is an input."""
    taken = {path.resolve() for path in inputs}
    folders = {path for path in taken if path.is_dir()}
    for path, suffixes in outputs:
        check_output(path, suffixes, force=force)
        if path.resolve() in taken:
            raise InputError(f"{path} is given twice, or is also an input; choose another name.")
        if path.resolve().parent in folders:
            raise InputError(f"{path} would be written among the blocks of the input; choose another folder.")
        taken.add(path.resolve())


def default_outputs(input: Path, method: str) -> Outputs:
    """Name a table, a plot and a page after the input, in the current folder."""
    name = input.name or input.resolve().name  # the folder "." has no name
    suffix = next((suffix for suffix in sorted(READERS, key=len)[::-1] if name.lower().endswith(suffix)), "")
    stem = f"{name[: len(name) - len(suffix)]}.{method}"
    return Outputs(Path(f"{stem}.parquet"), Path(f"{stem}.png"), Path(f"{stem}.html"))


def note_page(run: Session, n: int, *, data: bool, n_new: int = 0) -> None:
    """Print notes if the page does not show everything: a sample of n points, or no neighbours in the data."""
    from ..page import sample_note

    if (note := sample_note(n, n_new=n_new)) is not None:
        run.note(note)
    elif data and n > MAX_COMPARED:
        run.note(f"the page shows no neighbours in the data, because there are more than {MAX_COMPARED:,} points")


def read_images(table: Table, column: str | None, source: Source) -> Thumbnails | None:
    """Read the images in a column, before any long work; relative paths start from the folder of the column's file."""
    if column is None:
        return None
    from ..page import read_thumbnails

    table.values(column)  # raises if there is no such column
    file = source.metadata if source.metadata is not None and column in table.elsewhere else source.path
    return read_thumbnails(table.metadata, column, folder=file.parent)


def titled(found: Layouts) -> dict[str, Any]:
    """Return the layouts by title, for the page."""
    several = len(found.layouts) > 1
    return {layout_title(key) if key or several else "": Z for key, Z in found.layouts.items()}


def write_each(run: Session, writers: dict[Path, Callable[[Path], None]]) -> None:
    """Write every file; if one fails, still write the others."""
    failures, written = [], []
    for path, write in writers.items():
        try:
            with run.stage("write", f"writing {path}"), replacing(path) as file:
                write(file)
            written.append(str(path))
        except InputError as error:
            failures.append(str(error))
        except (*USER_ERRORS, pa.ArrowException) as error:  # Arrow cannot write some types in some formats
            failures.append(f"{path} could not be written ({str(error) or type(error).__name__}).")
        except KeyboardInterrupt:
            run.interrupted = True
            failures.append(f"{path} was not written because of the interrupt.")
            break
        except Exception as error:
            run.postpone(error)
    if failures:
        others = f" Written: {', '.join(written)}." if written else ""
        raise InputError(" ".join(failures) + others)


def draw(
    found: Layouts,
    file: Path,
    *,
    color: str | None,
    title: str,
    heading: str = "",
    subtitles: Mapping[str, str] | None = None,
    background: Any = None,
    dpi: int = 200,
) -> None:
    """Draw one layout, or a sheet of several with their settings and, by the key of the layout, their subtitles.

    The heading, below or after the title, says how all layouts were computed. A single layout can have further points
    as its background.
    """
    from .. import plots

    values = None if color is None else color_values(found.metadata, color)
    palette = None if color is None else palette_of(found.metadata, color)
    if len(found.layouts) > 1:
        titles = {key: layout_title(key) for key in found.layouts}
        figure: Any = plots.sheet(
            {titles[key]: Z for key, Z in found.layouts.items()},
            values,
            subtitles={titles[key]: text for key, text in (subtitles or {}).items()},
            columns=sheet_columns(found.layouts) or "auto",
            palette=palette,
            label=color or "",
        )
        left = figure.get_layout_engine().get()["w_pad"] / figure.get_figwidth()  # where the panels start
        above = ": ".join(filter(None, (title, heading)))
        figure.suptitle(above, x=left, ha="left", fontsize="xx-large", parse_math=False)
    else:
        figure = plots.scatter(
            found.only,
            values,
            background=background,
            title=title,
            subtitle=heading,
            palette=palette,
            label=color or "",
        ).figure
    with file.open("wb") as picture:
        plots.save(figure, picture, format=file.suffix[1:].lower(), dpi=dpi)  # type: ignore[arg-type]


def color_values(metadata: pa.Table, name: str) -> Any:
    """Return the values of a column to colour by; times of day become durations since midnight."""
    values = column_values(metadata, name)
    if not pa.types.is_time(metadata.schema.field(name).type):
        return values
    nanoseconds = metadata.column(name).cast(pa.time64("ns")).cast(pa.int64())
    return nanoseconds.cast(pa.duration("ns")).to_numpy()


def save_model(model: NeighborEmbedding, points: Points, file: Path) -> None:
    """Save the fitted model, with the preprocessing to apply to new points if there is any."""
    from sklearn.pipeline import Pipeline

    from ..estimators.saved_models import write_model

    steps = [("preprocessing", points.preprocessing), ("layout", model)]
    whole = model if points.preprocessing is None else Pipeline(steps)
    write_model(whole, file, source=points.source.facts(points.table))
