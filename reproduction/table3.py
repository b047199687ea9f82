"""Table 3: silhouette and trustworthiness of layouts from the paper's protocol, our defaults and other packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from harness.data_sets import title
from harness.experiment import SEPARATOR, Cases, Experiment, Plan, Settings, data_sets_in, finished
from harness.peers import LAYOUTS as PEERS
from harness.peers import SEEDLESS, peer_layout
from harness.results_page import ABSENT, PENDING, table
from snekhorn.datasets import CUMIDA

from .layout_protocols import OUR_COLUMNS, PAPER, PAPER_COLUMNS, SCORES, our_layouts, paper_layout, scores
from .paper import EMBEDDINGS, SPREADS
from .paper_data import FEW_POINTS, LARGE_POINTS, MICROARRAYS, chosen, grid, points, points_for
from .verdicts import OTHERWISE, difference, hundredths, verdict

Found: TypeAlias = Mapping[tuple[str, str, str], Mapping[int, float]]  # data, column, score -> mean by perplexity

# Fastest data sets first, so that an interrupted run has complete rows.
SETS = (
    *("scgem", *MICROARRAYS, *CUMIDA),
    *("olivetti", "umist", "snareseq", "snareseq, unit rows", "coil20", "cifar", "cifar_resnet56"),
)
LARGE = ("cifar", "cifar_resnet56")  # one seed
BRIEF = ("snareseq, unit rows", *LARGE)  # fewer perplexities: not in the paper, or slow
BRIEF_GRID = [10, 30, 100, 300]
BRIEF_PEERS = (*BRIEF, "coil20")  # other packages take minutes per perplexity
OURS = "t-SNEkhorn"
COLUMNS = (*OUR_COLUMNS, *PAPER_COLUMNS, *PEERS)
PLACES = {"t-SNE, paper's protocol": 1, "t-SNEkhorn, paper's protocol": 2}  # in the paper's triples
NEAR = {"silhouette": 1.0, "trustworthiness": 0.2}  # hundredths that count as the same; the second varies less
WORDS = {"better": "higher", "worse": "lower", "the same": "as in the paper"}
EXPLAINED = {"snareseq": "#snareseq-what-makes-the-difference"}  # sections on scores below the paper's


def plan(settings: Settings) -> Plan:
    names = chosen(SETS, settings)
    cases: Plan = {}
    for part in ([name for name in names if name not in LARGE], [name for name in names if name in LARGE]):
        for name in part:  # our columns first: they take minutes, the others hours
            for column in OUR_COLUMNS:
                cases[SEPARATOR.join((name, column))] = partial(swept, name, column, settings)
        for name in part:
            for column in (*PAPER_COLUMNS, *PEERS):
                for xi in _grid(name, settings, column):
                    cases[SEPARATOR.join((name, column, str(xi)))] = partial(seeded, name, column, xi, settings)
    return cases


def _grid(name: str, settings: Settings, column: str = OURS) -> list[int]:
    if settings.quick:
        return grid(LARGE_POINTS, quick=True)
    brief = name in (BRIEF_PEERS if column in PEERS else BRIEF)
    return BRIEF_GRID if brief else grid(FEW_POINTS.get(name, LARGE_POINTS))


def swept(name: str, column: str, settings: Settings) -> dict[str, Any]:
    """Return the scores of our method at all perplexities, without seeds: its initial layout is not random."""
    X, y = points(name, settings)
    perplexities = [xi for xi in _grid(name, settings) if xi < len(X)]
    rows = [{"perplexity": xi, **scores(X, y, Z)} for xi, Z in our_layouts(column, X, perplexities)]
    return {"data": name, "column": column, "rows": rows}


def seeded(name: str, column: str, perplexity: int, settings: Settings) -> dict[str, Any]:
    """Return the scores of another method at one perplexity, for every seed."""
    X, y = points_for(name, perplexity, settings)
    layout = paper_layout if column in PAPER_COLUMNS else peer_layout
    seeds = range(1) if name in LARGE or column in SEEDLESS else settings.seeds
    found = [scores(X, y, layout(column, X, perplexity, seed)) for seed in seeds]
    return {"data": name, "column": column, "rows": [{"perplexity": perplexity, **row} for row in found]}


def means(cases: Cases) -> dict[tuple[str, str, str], dict[int, float]]:
    """Return the mean over seeds by perplexity, for every data set, column and score."""
    values: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for case in cases.values():
        for row in case["rows"]:
            for score in SCORES:
                key = (case["data"], case["column"], score)
                values.setdefault(key, {}).setdefault(row["perplexity"], []).append(row[score])
    return {key: {xi: float(np.mean(found)) for xi, found in rows.items()} for key, rows in values.items()}


def best(values: Mapping[int, float] | None) -> tuple[float, int] | None:
    """Return the largest mean and its perplexity."""
    if not values:
        return None
    at = max(values, key=lambda xi: values[xi])
    return values[at], at


def best_hundredths(found: Found, name: str, column: str, score: str) -> float | None:
    top = best(found.get((name, column, score)))
    return None if top is None else 100.0 * top[0]


def report(cases: Cases) -> str:
    found = means(finished(cases))
    whole = {key: values for key, values in found.items() if not _progress(cases, key[0], key[1], found)}
    same = " and ".join(f"{near} in {score}" for score, near in NEAR.items())
    note = (
        "The tables show the best mean over the seeds among the perplexities computed, × 100, with the best "
        "perplexity in brackets. The highest value of each row, rounded to one decimal, is in bold type. The first "
        "column shows t-SNEkhorn with its defaults, for which one run is enough, because the initial layout is not "
        "random. The last three columns show the paper's own numbers and compare the first column with the paper's "
        f't-SNEkhorn; "the same" means a difference of at most {same} before rounding. openTSNE, umap-learn and '
        "scikit-learn run with their own defaults, not with the paper's protocol; scikit-learn gives the same layout "
        f"for all seeds. {_brief(cases)}"
    )
    tables = [f"**{score.capitalize()}**\n\n{_table(score, cases, found)}" for score in SCORES]
    summaries = (against_paper(whole), headline(whole), against_packages(whole), by_protocol(whole))
    return "\n\n".join(filter(None, [note, *tables, *summaries]))


def _brief(cases: Cases) -> str:
    """List the data sets with fewer perplexities or seeds than the others."""
    names = data_sets_in(cases)
    said = {
        f"Data sets with only the perplexities {', '.join(map(str, BRIEF_GRID[:-1]))} and {BRIEF_GRID[-1]}": BRIEF,
        "Data sets with only these perplexities for the other packages": set(BRIEF_PEERS) - set(BRIEF),
        "Data sets with only one seed": LARGE,
    }
    found = {what: "; ".join(title(name) for name in names if name in some) for what, some in said.items()}
    return " ".join(f"{what}: {which}." for what, which in found.items() if which)


def _table(score: str, cases: Cases, found: Found) -> str:
    columns = [column for column in COLUMNS if any(key[1] == column for key in found)] or list(COLUMNS)
    head = ["data", *columns, "the paper's UMAP / t-SNE / t-SNEkhorn", "difference", "verdict"]
    return table(head, [_row(name, score, columns, cases, found) for name in data_sets_in(cases)])


def _row(name: str, score: str, columns: list[str], cases: Cases, found: Found) -> list[Any]:
    tops = {column: best(found.get((name, column, score))) for column in columns}
    top = max((value for value, _ in filter(None, tops.values())), default=None)
    shown = [
        _entry(b, top) + _progress(cases, name, column, found) if b else _absence(cases, name, column)
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


def _progress(cases: Cases, name: str, column: str, found: Found) -> str:
    """Return how many perplexities of a column have been tried, or nothing if all have been."""
    whole = len(found.get((name, OURS, SCORES[0]), ()))  # our column runs first and has all perplexities at once
    if column in PEERS and name in BRIEF_PEERS:
        whole = min(whole, len(BRIEF_GRID))
    tried = sum(key.startswith(SEPARATOR.join((name, column, ""))) for key in cases)
    return f", {tried} of {whole} perplexities" if 0 < tried < whole else ""


def _absence(cases: Cases, name: str, column: str) -> str:
    """Return whether a case could not be computed or has not been computed yet."""
    start = SEPARATOR.join((name, column))
    return ABSENT if any(key == start or key.startswith(start + SEPARATOR) for key in cases) else PENDING


def against_paper(found: Found) -> str:
    """Count the data sets on which ours is at least as good as the paper's, and name those on which it is worse."""
    names = [name for name in _paper_names(found) if (name, OURS, SCORES[0]) in found]
    if not names:
        return ""
    counts, below = [], ""
    for i, score in enumerate(SCORES):
        worse = []
        for name in names:
            judged = verdict(best_hundredths(found, name, OURS, score), EMBEDDINGS[name][i][2], near=NEAR[score])
            why = f"see [what was tried]({EXPLAINED[name]})" if name in EXPLAINED else "not investigated"
            worse += [f"{title(name)} ({why})"] if judged == "worse" else []
        number = len(names) - len(worse)
        counts.append(f"our {score} {'is the same or better ' * (i == 0)}on {'all ' * (not worse)}{number}")
        below += f" Our {score} is worse on {_listed(worse)}." if worse else ""
    return f"Of the {len(names)} data sets that are also in the paper, {', and '.join(counts)}.{below}"


def headline(found: Found) -> str:
    """Count the data sets on which t-SNEkhorn beats t-SNE under the same protocol; in the paper, on nearly all."""
    said = []
    for how, suffix in (("With the paper's protocol", ", paper's protocol"), ("With our defaults", "")):
        counts = [_counted(score, OURS + suffix, ["t-SNE" + suffix], found)[0] for score in SCORES]
        said += [f"{how}, t-SNEkhorn's {', and its '.join(filter(None, counts))}."] if any(counts) else []
    if not said:
        return ""
    return (
        "In the paper, t-SNEkhorn has the highest silhouette on 15 of 16 data sets, and the highest trustworthiness on "
        f"12. Here, we compare t-SNEkhorn with t-SNE under the same protocol. {' '.join(said)}"
    )


def against_packages(found: Found) -> str:
    """Compare ours with the best of the other packages on each data set."""
    ran = [peer for peer in PEERS if any(column == peer for _, column, _ in found)]
    said = []
    for score in SCORES:
        counts, lost = _counted(score, OURS, ran, found)
        where = f" It is worse on {_listed(lost)}." if lost else ""
        said += [f"Our {counts}.{where}"] if counts else []
    start = f"Finally, we compare the first column of the tables with the best of {_listed(ran)} on each data set."
    return f"{start} {' '.join(said)}" if said else ""


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _counted(score: str, ours: str, others: list[str], found: Found) -> tuple[str, list[str]]:
    """Count the data sets on which one column is better, the same or worse than the best of others; list the worse."""
    counts, lost = {"better": 0, "the same": 0, "worse": 0}, []
    for name in dict.fromkeys(name for name, _, _ in found):
        mine = best_hundredths(found, name, ours, score)
        theirs = {other: top for other in others if (top := best_hundredths(found, name, other, score)) is not None}
        if mine is None or not theirs:
            continue
        other = max(theirs, key=lambda column: theirs[column])
        judged = verdict(mine, theirs[other], near=NEAR[score])
        counts[judged] += 1
        if judged == "worse":
            lost.append(f"{title(name)} ({mine:.1f} compared with {theirs[other]:.1f} for {other})")
    better, same, worse = counts.values()
    sets = f"{sum(counts.values())} data set{'s' * (sum(counts.values()) > 1)}"
    said = f"{score} is better on {better}, the same on {same} and worse on {worse} of {sets}"
    return (said if any(counts.values()) else ""), lost


def by_protocol(found: Found) -> str:
    """Compare our runs of t-SNE and t-SNEkhorn under the paper's protocol with the paper's numbers."""
    rows, counts = [], dict.fromkeys(WORDS.values(), 0)
    for name in _paper_names(found):
        for column, place in PLACES.items():
            if (name, column, SCORES[0]) not in found:
                continue
            row = [title(name), column.split(",")[0]]
            for score in SCORES:
                here = best_hundredths(found, name, column, score)
                paper, judged = beside_paper(here, name, score, place)
                row += [f"{here:.1f}", paper, judged]
                counts[judged] += 1
            rows.append(row)
    if not rows:
        return ""
    head = ["data", "method", *(text for score in SCORES for text in (score, "the paper's", "verdict"))]
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    note = (
        f"We ran Adam with a learning rate of {PAPER['learning_rate']} and at most {PAPER['max_iter']:,} iterations, "
        'from the same random initial layouts for both methods. The verdict is "as in the paper" if our score differs '
        "from the paper's by no more than the paper's standard deviation or the tolerance above, whichever is larger. "
        f"Counts of the verdicts: {said}. See also [what the protocol leaves "
        "open](#what-the-papers-protocol-leaves-open)."
    )
    return f"**The paper's protocol, compared with the paper**\n\n{table(head, rows, note)}"


def beside_paper(value: float | None, name: str, score: str, place: int) -> tuple[str, str]:
    """Return the paper's number with its standard deviation, and a verdict on our value under its protocol."""
    i = SCORES.index(score)
    paper, spread = EMBEDDINGS[name][i][place], SPREADS[name][i][place]
    return f"{paper} ± {spread}", WORDS.get(verdict(value, paper, near=max(NEAR[score], spread)), "")


def _paper_names(found: Found) -> list[str]:
    """Return the data sets with results that are also in the paper, with the same preparation."""
    return [name for name in dict.fromkeys(name for name, _, _ in found) if name in EMBEDDINGS]


EXPERIMENT = Experiment("table3", "Table 3: scores of the layouts", plan, report)
