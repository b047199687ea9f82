"""Layouts to files: table, picture, page, model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io import InputError, Layouts, write_layouts
from .outputs import Outputs, write_each
from .session import Session

if TYPE_CHECKING:
    import pyarrow as pa

    from ..estimators import NeighborEmbedding
    from .points import Points
    from .report import Report


SECONDS_PER_YEAR = 365.2425 * 86400.0  # dates are coloured by their year, with decimals


def write_outputs(
    run: Session,
    outputs: Outputs,
    report: Report,
    points: Points,
    fitted: list[NeighborEmbedding],
    *,
    asked: list[float],
    color: str | None,
    title: str,
) -> None:
    """All files that were asked for; `asked` are the perplexities, of which an interrupt may have left some out."""
    several = len(asked) > 1
    layouts = {f"{model.perplexity:g}" if several else "": model.embedding_ for model in fitted}
    found = Layouts(layouts, points.table.metadata)
    page_title = f"{title}, perplexity {fitted[0].perplexity:g}" if several else title
    writers: dict[Path, Callable[[Path], None]] = {}
    if outputs.table:
        writers[outputs.table] = lambda file: write_layouts(found, file)
    if outputs.plot:
        writers[outputs.plot] = lambda file: draw(found, file, color=color, title=title)
    if outputs.html:
        writers[outputs.html] = lambda file: write_pages(
            found, file, color=color, title=page_title, ids=points.table.id, summary=report.summary(0)
        )
    if outputs.model:
        writers[outputs.model] = lambda file: save_model(fitted[0], points, file)
    write_each(run, writers)


def draw(found: Layouts, file: Path, *, color: str | None, title: str, dpi: int = 200) -> None:
    """A picture of a layout, or a sheet of several."""
    from .. import plots

    values = None if color is None else column(found.metadata, color)
    if len(found.layouts) > 1:
        named = {f"perplexity {key}": Z for key, Z in found.layouts.items()}
        figure: Any = plots.sheet(named, values, label=color or "")
        figure.suptitle(title, x=0.01, ha="left", fontsize="xx-large", parse_math=False)
    else:
        figure = plots.scatter(found.only, values, title=title, label=color or "").figure
    plots.save(figure, file, format=file.suffix[1:], dpi=dpi)


def write_pages(
    found: Layouts,
    file: Path,
    *,
    color: str | None,
    title: str,
    ids: str | None = None,
    summary: dict[str, str] | None = None,
) -> None:
    """A page of the first layout."""
    from ..page import write_page

    write_page(file, found.only, found.metadata, color=color, ids=ids, title=title, summary=summary)


def check_plane(path: Path, found: Layouts) -> None:
    """Raise for a layout that a page cannot show."""
    if (d := found.only.shape[1]) != 2:
        raise InputError(f"{path} has {d} coordinate(s), a page shows 2; 'snekhorn plot' draws it.")


def save_model(model: NeighborEmbedding, points: Points, file: Path) -> None:
    """The model and what a new file must have for it."""
    from ..estimators.saved_models import save

    notes: dict[str, Any] = {"columns": points.table.columns}
    if points.table.rep is not None:
        notes["rep"] = points.table.rep
    if points.reduction is not None:
        notes |= {"mean": points.reduction.mean, "components": points.reduction.components}
    save(model, file, notes)


def column(metadata: pa.Table, name: str) -> Any:
    """Values of a column, by its name in the input."""
    import pyarrow as pa

    from ..io.table import column_values

    values = column_values(metadata, name)
    if not pa.types.is_temporal(metadata.schema.field(name).type):
        return values
    return values.astype("datetime64[s]").astype(float) / SECONDS_PER_YEAR + 1970.0
