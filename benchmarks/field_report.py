"""Write the section on the field: who is first on how many sets, ranks, means, and where ours is behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.data_sets import title
from harness.experiment import Case
from harness.results_page import table

from .field_methods import DEFAULTS, METHODS, OURS, PEERS, PERPLEXITY
from .layout_measures import GLOBAL, LABELS, LOCAL, MEASURES
from .measure import LAYOUT_DATA
from .rankings import MARGIN, Scores, ahead_and_behind, best_of, leaders, rank, rivals, sets_of, summarize

Table = Mapping[str, Scores]  # by score
RULE = (
    f"Differences of at most {MARGIN}, or of at most the larger of the two standard deviations over the subsamples, "
    "count as none. Every row of ours is compared with the other packages only, so that ours has one entry in each "
    "comparison."
)
SELDOM = 0.25  # of the scores; a set on which ours leads in fewer is listed


def sets_text(cases: Sequence[Case]) -> str:
    """Return the tables of the methods at one setting each, and say where ours is not the method to take."""
    cases = [case for case in cases if case["factor"] == 1.0]
    found = {score: summarize(cases, score) for score in MEASURES}
    sizes = [case["n"] for case in cases]
    about = (
        f"**One setting per method.** Every method runs at its own defaults on {len(_sets(cases))} data sets, on "
        f"random subsamples of {min(sizes):,} to {max(sizes):,} points; methods with a perplexity run at "
        f"{PERPLEXITY:g}, or at a third of the number of points if that is less. {RULE}"
    )
    parts = [about, _setting_table(cases), *_ranking_tables(found), _means_table(found), _fresh_table(cases)]
    return "\n\n".join(filter(None, [*parts, where_not(found)]))


def grid_text(cases: Sequence[Case]) -> str:
    """Return the tables of the methods at the best of three neighbourhood sizes; empty if there is only one."""
    several = {case["data"] for case in cases if case["factor"] != 1.0}
    cases = [case for case in cases if case["data"] in several]
    if not several:
        return ""
    found = {score: best_of(cases, score) for score in MEASURES}
    about = (
        f"**The best of three settings.** On {len(several)} of these sets, every method also runs with a neighbourhood "
        "a third as large and three times as large. The tables show each score at the best of the three settings, "
        "which is chosen by that score: they say what a method can do, not what it does for someone who cannot see "
        "the classes."
    )
    return "\n\n".join([about, *_ranking_tables(found), where_not(found)])


def whole_text(cases: Sequence[Case]) -> str:
    """Return the table of all of MNIST, for the methods that need only minutes."""
    rows = [
        [case["method"], f"{case['layout_seconds']:.0f}", *(_number(case.get(score)) for score in MEASURES)]
        for case in cases
    ]
    note = (
        f"The table shows one layout of {cases[0]['n']:,} points of MNIST by every method that needs only minutes, on "
        "one thread."
    )
    return table(["method", "seconds", *MEASURES.values()], rows, note)


def _ranking_tables(found: Table) -> list[str]:
    """Return on how many sets every method is first, and its mean rank."""
    methods = _methods(found)
    firsts = [[method, *(_firsts(scores, method) for scores in found.values())] for method in methods]
    ranks = [[method, *_group_ranks(found, method)] for method in methods]
    head = [f"{name} ({_count_sets(found[score])})" for score, name in MEASURES.items()]
    groups = [f"{name} scores" for name in GROUPS]
    return [
        table(
            ["method", *head],
            firsts,
            "The table shows on how many data sets a method is first or tied with the first, and in brackets on how "
            "many it is first alone. The heading has the number of sets that define the score.",
        ),
        table(
            ["method", *groups, *MEASURES.values()],
            ranks,
            "The table shows the mean rank over the data sets, where 1 is best; methods that are tied share a rank.",
        ),
    ]


GROUPS = {"local": LOCAL, "label": LABELS, "global": GLOBAL}


def _firsts(scores: Scores, method: str) -> str:
    heads = [leaders(scores, data, rivals(method)) for data in sets_of(scores, method)]
    return f"{sum(method in tied for tied in heads)} ({heads.count([method])})"


def _group_ranks(found: Table, method: str) -> list[str]:
    """Return the mean ranks in every group of scores, then in every score."""
    ranks = {
        score: [rank(scores, data, method, rivals(method)) for data in sets_of(scores, method)]
        for score, scores in found.items()
    }
    grouped = [[one for score in group for one in ranks[score]] for group in GROUPS.values()]
    return [f"{np.mean(values):.1f}" if values else "–" for values in (*grouped, *ranks.values())]


def _means_table(found: Table) -> str:
    """Return the mean of every score over the sets on which all methods have it, except those with few sets."""
    methods = [method for method in _methods(found) if METHODS[method].most_points is None]
    rows = []
    for method in methods:
        shown = []
        for scores in found.values():
            common = _common_sets(scores, methods)
            shown.append(_number(float(np.mean([scores[data, method].mean for data in common])) if common else None))
        rows.append([method, *shown])
    note = "The table shows the mean score over the data sets on which all these methods have a layout."
    return table(["method", *MEASURES.values()], rows, note)


def _fresh_table(cases: Sequence[Case]) -> str:
    """Return the ranks on the sets on which our defaults were not chosen; empty if there are none."""
    fresh = [case for case in cases if case["data"] not in LAYOUT_DATA]
    found = {score: summarize(fresh, score) for score in MEASURES}
    rows = [[method, *_group_ranks(found, method)[: len(GROUPS)]] for method in _methods(found)]
    note = (
        f"The defaults of t-SNEkhorn were chosen with the scores of {len(_sets(cases)) - len(_sets(fresh))} of these "
        f"sets in view. The table shows the mean ranks on the other {len(_sets(fresh))} alone."
    )
    return table(["method", *(f"{name} scores" for name in GROUPS)], rows, note) if fresh else ""


def _common_sets(scores: Scores, methods: Sequence[str]) -> list[str]:
    """Return the data sets on which all methods have a score."""
    return [data for data in dict.fromkeys(data for data, _ in scores) if all((data, m) in scores for m in methods)]


def _setting_table(cases: Sequence[Case]) -> str:
    """Return package, version, setting and time of every method."""
    rows = []
    for method in dict.fromkeys(case["method"] for case in cases):
        own = [case for case in cases if case["method"] == method]
        known, seconds = METHODS[method], [case["layout_seconds"] for case in own]
        versions = " and ".join(sorted({case["version"] for case in own if case["version"]}))
        most = max(case["n"] for case in own)
        longest = [case["layout_seconds"] for case in own if case["n"] == most]
        rows.append(
            [
                method,
                f"{known.package} {versions}".strip(),
                ", ".join(filter(None, (f"{known.parameter} {known.default:g}", known.remark))),
                str(len(_sets(own))),
                f"{np.median(seconds):.1f}",
                f"{np.median(longest):.1f} ({most:,} points)",
            ]
        )
    note = "The table shows the methods, and their times on one thread."
    head = ["method", "package", "setting", "data sets", "median seconds", "median seconds for the most points"]
    return table(head, rows, note)


def where_not(found: Table, method: str = DEFAULTS) -> str:
    """Say in words which peers are ahead of ours in which scores, and on which sets ours is seldom first."""
    lines = []
    for peer in PEERS:
        counts = {score: ahead_and_behind(scores, method, peer) for score, scores in found.items()}
        better = [
            f"{MEASURES[score]} ({ahead} : {behind})" for score, (ahead, behind) in counts.items() if ahead > behind
        ]
        if better:
            lines.append(f"- **{peer}** is ahead in {_listed(better)}.")
    seldom = _seldom_first(found, method)
    if seldom:
        lines.append(f"- {method} is first or tied in fewer than {SELDOM:.0%} of the scores on {_listed(seldom)}.")
    if not lines:
        return f"No method is ahead of {method} on more sets than behind, in any score."
    heading = (
        f"Where {method} is not the method to take. A ratio 9 : 2 means that the other method is ahead on 9 sets, and "
        "behind on 2:"
    )
    return heading + "\n\n" + "\n".join(lines)


def _seldom_first(found: Table, method: str) -> list[str]:
    """Return the titles of the sets on which a method leads in few scores, with the number of scores."""
    seldom = []
    for data in dict.fromkeys(data for scores in found.values() for data in sets_of(scores, method)):
        heads = [leaders(scores, data, rivals(method)) for scores in found.values() if (data, method) in scores]
        wins = sum(method in tied for tied in heads)
        if wins < SELDOM * len(heads):
            seldom.append(f"{title(data)} ({wins} of {len(heads)})")
    return seldom


def _methods(found: Table) -> list[str]:
    """Return the methods with results, ours first."""
    present = {method for scores in found.values() for _, method in scores}
    return [method for method in (*OURS, *PEERS) if method in present]


def _sets(cases: Sequence[Case]) -> list[str]:
    return list(dict.fromkeys(case["data"] for case in cases))


def _count_sets(scores: Scores) -> int:
    return len({data for data, _ in scores})


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
