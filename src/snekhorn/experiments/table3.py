"""Table 3: silhouette and trustworthiness of layouts, by the paper's protocol, by ours and by other packages."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..datasets import CUMIDA
from .data import FEW_POINTS, LARGE_POINTS, MICROARRAYS, chosen, grid, points, points_for, title
from .experiment import SEPARATOR, Cells, Experiment, Plan, Settings, data_sets, finished
from .layouts import OUR_COLUMNS, PAPER_COLUMNS, PEERS, SCORES, SEEDLESS, our_layouts, paper_layout, peer_layout, scores
from .markdown import ABSENT, OTHERWISE, PENDING, difference, hundredths, table, verdict
from .paper import EMBEDDINGS
from .verdicts import NEAR, OURS, Found, against_packages, against_paper, best, best_hundredths, by_protocol, headline

# From the quickest: an interrupted run has whole rows.
SETS = (
    *("scgem", *MICROARRAYS, *CUMIDA),
    *("olivetti", "umist", "snareseq", "snareseq, unit rows", "coil20", "cifar", "cifar_resnet56"),
)
LARGE = ("cifar", "cifar_resnet56")  # one seed
BRIEF = ("snareseq, unit rows", *LARGE)  # which is no row of the paper's, or takes long
BRIEF_GRID = [10, 30, 100, 300]
BRIEF_PEERS = (*BRIEF, "coil20")  # where other packages take minutes a perplexity
COLUMNS = (*OUR_COLUMNS, *PAPER_COLUMNS, *PEERS)


def plan(settings: Settings) -> Plan:
    names = chosen(SETS, settings)
    cells: Plan = {}
    for part in ([name for name in names if name not in LARGE], [name for name in names if name in LARGE]):
        for name in part:  # ours first: they take minutes, the others hours
            for column in OUR_COLUMNS:
                cells[SEPARATOR.join((name, column))] = partial(swept, name, column, settings)
        for name in part:
            for column in (*PAPER_COLUMNS, *PEERS):
                for xi in _grid(name, settings, column):
                    cells[SEPARATOR.join((name, column, str(xi)))] = partial(seeded, name, column, xi, settings)
    return cells


def _grid(name: str, settings: Settings, column: str = OURS) -> list[int]:
    if settings.quick:
        return grid(LARGE_POINTS, quick=True)
    brief = name in (BRIEF_PEERS if column in PEERS else BRIEF)
    return BRIEF_GRID if brief else grid(FEW_POINTS.get(name, LARGE_POINTS))


def swept(name: str, column: str, settings: Settings) -> dict[str, Any]:
    """Scores of our method over all perplexities; it has no random start."""
    X, y = points(name, settings)
    perplexities = [xi for xi in _grid(name, settings) if xi < len(X)]
    rows = [{"perplexity": xi, **scores(X, y, Z)} for xi, Z in our_layouts(column, X, perplexities)]
    return {"data": name, "column": column, "rows": rows}


def seeded(name: str, column: str, perplexity: int, settings: Settings) -> dict[str, Any]:
    """Scores of the others at one perplexity, for every seed."""
    X, y = points_for(name, perplexity, settings)
    run = paper_layout if column in PAPER_COLUMNS else peer_layout
    seeds = range(1) if name in LARGE or column in SEEDLESS else settings.seeds
    found = [scores(X, y, run(column, X, perplexity, seed)) for seed in seeds]
    return {"data": name, "column": column, "rows": [{"perplexity": perplexity, **row} for row in found]}


def means(cells: Cells) -> dict[tuple[str, str, str], dict[int, float]]:
    """Mean over seeds by perplexity, of every data set, column and score."""
    values: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for cell in cells.values():
        for row in cell["rows"]:
            for score in SCORES:
                key = (cell["data"], cell["column"], score)
                values.setdefault(key, {}).setdefault(row["perplexity"], []).append(row[score])
    return {key: {xi: float(np.mean(found)) for xi, found in rows.items()} for key, rows in values.items()}


def draw(cells: Cells) -> Figure | None:
    return None


def report(cells: Cells) -> str:
    found = means(finished(cells))
    whole = {key: values for key, values in found.items() if not _progress(cells, key[0], key[1], found)}
    parts = [f"**{score}**\n\n{_table(score, cells, found)}" for score in SCORES]
    same = " and ".join(f"{near} in {score}" for score, near in NEAR.items())
    return (
        "Best mean over seeds among the perplexities computed, x 100, the perplexity in brackets. Ours is t-SNEkhorn "
        "at its defaults (one run: its start is not random); the paper's own figures are in the last columns, and "
        f"difference and verdict compare ours with the paper's t-SNEkhorn (the same: within {same}). openTSNE, "
        "umap-learn and scikit-learn run with their own defaults, not by the paper's protocol; scikit-learn gives one "
        f"layout for all seeds. {_brief(cells)}\n\n"
        + "\n\n".join(
            filter(None, [*parts, against_paper(whole), headline(whole), against_packages(whole), by_protocol(whole)])
        )
    )


def _brief(cells: Cells) -> str:
    """Which sets have fewer perplexities and seeds than the others."""
    sets = ("; ".join(title(name) for name in data_sets(cells) if name in some) for some in (BRIEF, BRIEF_PEERS, LARGE))
    brief, peers, large = sets
    said = [f"Perplexities {', '.join(map(str, BRIEF_GRID))} only: {brief}."] if brief else []
    said += [f"The other packages have only these on {peers}."] if peers != brief else []
    return " ".join(said + ([f"One seed: {large}."] if large else []))


def _table(score: str, cells: Cells, found: Found) -> str:
    columns = [column for column in COLUMNS if any(key[1] == column for key in found)] or list(COLUMNS)
    head = ["data", *columns, "the paper's UMAP / t-SNE / t-SNEkhorn", "difference", "verdict"]
    return table(head, [_row(name, score, columns, cells, found) for name in data_sets(cells)])


def _row(name: str, score: str, columns: list[str], cells: Cells, found: Found) -> list[Any]:
    tops = {column: best(found.get((name, column, score))) for column in columns}
    top = max((value for value, _ in filter(None, tops.values())), default=None)
    shown = [
        _entry(b, top) + _progress(cells, name, column, found) if b else _absence(cells, name, column)
        for column, b in tops.items()
    ]
    theirs = EMBEDDINGS.get(name.split(", ")[0], (None, None))[SCORES.index(score)]
    ours, paper = best_hundredths(found, name, OURS, score), None if theirs is None else theirs[2]
    said = "" if theirs is None else " / ".join(map(str, theirs))
    judged = verdict(ours, paper, near=NEAR[score]) or "not in the paper"
    if theirs is not None and name not in EMBEDDINGS:
        judged = OTHERWISE
    return [title(name), *shown, said, difference(ours, paper), judged]


def _entry(found: tuple[float, int], top: float | None) -> str:
    text = f"{hundredths(found[0])} ({found[1]})"
    return f"**{text}**" if hundredths(found[0]) == hundredths(top) else text


def _progress(cells: Cells, name: str, column: str, found: Found) -> str:
    """How many perplexities of a column have been tried, while they are not all."""
    whole = len(found.get((name, OURS, SCORES[0]), ()))  # ours, the first to run, has all perplexities at once
    if column in PEERS and name in BRIEF_PEERS:
        whole = min(whole, len(BRIEF_GRID))
    tried = sum(key.startswith(SEPARATOR.join((name, column, ""))) for key in cells)
    return f", {tried} of {whole} perplexities" if 0 < tried < whole else ""


def _absence(cells: Cells, name: str, column: str) -> str:
    """Whether a cell could not be computed, or has not been yet."""
    start = SEPARATOR.join((name, column))
    return ABSENT if any(key == start or key.startswith(start + SEPARATOR) for key in cells) else PENDING


EXPERIMENT = Experiment("table3", "Table 3: scores of the layouts", plan, draw, report)
