"""Judge every claim of the paper by the stored results: reproduced, partly, not, or not testable here.

A claim about many cases is reproduced if it holds for more than four fifths of those at hand, and partly if it holds
for half or more, as in `verdicts.most`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from harness.data_sets import title
from harness.experiment import SEPARATOR, Cases, finished
from harness.results_page import PENDING, table

from . import figure3, figure6, sensitivity, table1, table3
from .clustering import KINDS, best
from .figure4 import steps_to
from .figure5 import MISLED
from .paper import CLUSTERING, EMBEDDINGS, PROPERTIES
from .snareseq import CONVERGED, SCRIPT
from .table2 import OURS as SYMMETRIC
from .verdicts import NEAR, most

REPRODUCED, PARTLY, NOT, UNTESTABLE = "reproduced", "partly", "not reproduced", "not testable here"
VERDICTS = {"as in the paper": REPRODUCED, "mixed": PARTLY, "differs": NOT}
SYMMETRISED = "symmetrised entropic"
PROTOCOL = ", paper's protocol"
HOWS = {PROTOCOL: "by the paper's protocol", "": "by our defaults"}
OTHERS = tuple(kind for kind in KINDS if not kind.startswith(SYMMETRIC))
Outcome: TypeAlias = tuple[str, str]  # verdict, numbers


class Claim(NamedTuple):
    """Claim of the paper, where it is made, the experiment that tests it, and how its cases are judged."""

    text: str
    place: str
    experiment: str
    judge: Callable[[Cases], Outcome]


def summary(results: Mapping[str, Cases]) -> str:
    """Return the table of all claims; `results` has the cases of every experiment by name."""
    rows = [[claim.text, claim.place, *_outcome(claim, results)] for claim in CLAIMS]
    counts = [row[2] for row in rows]
    said = ", ".join(f"{counts.count(v)} {v}" for v in (REPRODUCED, PARTLY, NOT, UNTESTABLE, PENDING) if v in counts)
    note = (
        f"The table shows every claim of the paper that can be measured, and what we found: {said}. A claim about many "
        "cases is reproduced if it holds for more than four fifths of the cases at hand, and partly if it holds for "
        "half or more; a claim about several comparisons, if it holds in all, or in some. The sections below give the "
        "details. The propositions of the paper are proved there; our tests compare the solver with an independent one."
    )
    return f"## The claims of the paper\n\n{table(['claim', 'in the paper', 'verdict', 'numbers'], rows, note)}"


def _outcome(claim: Claim, results: Mapping[str, Cases]) -> Outcome:
    """Return the verdict on a claim; cases that are still missing make it pending."""
    if not results.get(claim.experiment):
        return PENDING, ""
    try:
        return claim.judge(finished(results[claim.experiment]))
    except (KeyError, ValueError, ZeroDivisionError):
        return PENDING, ""


def _holds(*conditions: bool) -> str:
    """Return whether all conditions hold, some, or none."""
    return REPRODUCED if all(conditions) else PARTLY if any(conditions) else NOT


def _most(count: int, total: int) -> str:
    return VERDICTS[most(count, total)] if total else UNTESTABLE


def _properties(cases: Cases) -> Outcome:
    right = [
        {key: cases[name][key] < table1.HOLDS for key in expected} == expected for name, expected in PROPERTIES.items()
    ]
    gap = max(cases[SYMMETRIC][key] for key in PROPERTIES[SYMMETRIC])
    return _holds(*right), f"largest violation of the symmetric entropic affinity: {gap:.1e}"


def _row_perplexities(cases: Cases) -> Outcome:
    rows = [cases[kind]["perplexities"] for kind in (SYMMETRISED, SYMMETRIC)]
    wide, narrow = (max(row) / min(row) for row in rows)
    said = " and ".join(f"{min(row):.1f} to {max(row):.1f}" for row in rows)
    return _holds(wide > 2.0 > 1.01 > narrow), f"symmetrised and symmetric entropic: {said}"


def _separation(cases: Cases, rows: str = "") -> Outcome:
    """Compare the silhouettes of t-SNEkhorn and t-SNE, by the paper's protocol and by our defaults."""
    pairs = [[cases[f"{method}{how}{rows}"]["silhouette"] for method in ("t-SNEkhorn", "t-SNE")] for how in HOWS]
    said = "; ".join(f"{mine:.2f} and {its:.2f} {how}" for (mine, its), how in zip(pairs, HOWS.values(), strict=True))
    return _holds(*(mine - its > NEAR / 100.0 for mine, its in pairs)), f"silhouettes of t-SNEkhorn and t-SNE: {said}"


def _eigenvalues(cases: Cases) -> Outcome:
    many, three = (cases[kind]["vanishing"] for kind in ("doubly stochastic", SYMMETRIC))
    said = f"{min(many)} to {max(many)} and {min(three)} to {max(three)} vanishing eigenvalues in {len(many)} samples"
    return _holds(min(many) > 3, set(three) == {3}), said


def _spreads(cases: Cases) -> Outcome:
    first, second = (figure3.means(cases)[kind] for kind in figure3.KINDS)
    gaps = [second[sigma] - first[sigma] for sigma in first if sigma in second]
    said = f"differences in ARI from {min(gaps):+.3f} to {max(gaps):+.3f}"
    return _most(sum(gap >= -figure3.NEAR for gap in gaps), len(gaps)), said


def _ring(cases: Cases) -> Outcome:
    circle, free = (cases[name]["radius_spread"] for name in ("globally normalised", "SNEkhorn"))
    return _holds(free > 1.5 * circle), f"relative spread of the radii: {circle:.2f} and {free:.2f}"


def _sinkhorn(cases: Cases) -> Outcome:
    steps = steps_to(cases["SNEkhorn"]["sinkhorn_errors"], 1e-3)
    return _holds(steps is not None and steps <= 10), f"{steps} iterations for an error of 0.001"


def _mass(cases: Cases) -> Outcome:
    ratios = [cases[kind]["to_p2_low_noise"] / cases[kind]["to_p2"] for kind in (SYMMETRISED, SYMMETRIC)]
    said = f"the batch with less noise gets {ratios[0]:.1f} and {ratios[1]:.1f} times the mass of the other"
    return _holds(ratios[0] > MISLED > ratios[1]), said


def _batches(cases: Cases) -> Outcome:
    pairs = [[abs(cases[f"{method}{how}"]["batches"]) for method in ("SNEkhorn", "symmetric SNE")] for how in HOWS]
    said = "; ".join(f"{mine:.2f} and {its:.2f} {how}" for (mine, its), how in zip(pairs, HOWS.values(), strict=True))
    return _holds(*(mine < its for mine, its in pairs)), f"silhouettes of the batches, SNEkhorn and SNE: {said}"


def _ascent(cases: Cases) -> Outcome:
    ours, theirs = (
        max(case["row_sum_gap"] for case in cases.values() if case.get("solver") == solver)
        for solver in (CONVERGED, SCRIPT)
    )
    said = f"row sums differ from 1 by up to {theirs:.1e} after 5,000 steps of the authors' script; by {ours:.1e} here"
    return _holds(theirs < 1e-3), said


def _clustering(cases: Cases, *, rivals: tuple[str, ...]) -> Outcome:
    """Count the data sets of the paper on which the symmetric entropic affinity is better than others."""
    wins, losses = [], []
    for name in (name for name in CLUSTERING if SEPARATOR.join((name, SYMMETRIC)) in cases):
        found = {kind: best(cases[SEPARATOR.join((name, kind))]) for kind in (SYMMETRIC, *rivals)}
        others = [value for kind, value in found.items() if kind != SYMMETRIC and value is not None]
        (wins if (found[SYMMETRIC] or 0.0) > max(others) else losses).append(name)
    total = len(wins) + len(losses)
    where = f"; not on {', '.join(map(title, losses))}" if losses else ""
    return _most(len(wins), total), f"on {len(wins)} of the {total} data sets at hand{where}"


def _gain_on_snareseq(cases: Cases) -> Outcome:
    mine, its = (100.0 * (best(cases[SEPARATOR.join(("snareseq", kind))]) or 0.0) for kind in (SYMMETRIC, SYMMETRISED))
    paper = dict(zip((SYMMETRISED, SYMMETRIC), CLUSTERING["snareseq"][-2:], strict=True))
    said = f"ARI × 100 of {mine:.1f} and {its:.1f}; in the paper, {paper[SYMMETRIC]} and {paper[SYMMETRISED]}"
    return _holds(mine - its > NEAR, abs(mine - paper[SYMMETRIC]) < 5.0), said


def _every_perplexity(cases: Cases) -> Outcome:
    above = total = 0
    for name, lines in figure6.means(cases).items():
        first, second = (lines[kind] for kind in (SYMMETRISED, SYMMETRIC))
        if name in EMBEDDINGS:
            above += sum(second[xi] > first[xi] for xi in first if xi in second)
            total += len(set(first) & set(second))
    return _holds(above == total, above > total / 2), f"at {above} of {total} perplexities of the data sets at hand"


def _layouts(cases: Cases, *, score: str) -> Outcome:
    """Count the data sets of the paper on which t-SNEkhorn has the highest score, by the paper's protocol."""
    found, counts = table3.means(cases), []
    columns = (f"t-SNEkhorn{PROTOCOL}", f"t-SNE{PROTOCOL}", "umap-learn")
    for name in EMBEDDINGS:
        mine, *others = (table3.best_hundredths(found, name, column, score) for column in columns)
        if mine is not None and None not in others:
            counts.append(mine >= max(other for other in others if other is not None))
    return _most(sum(counts), len(counts)), f"on {sum(counts)} of the {len(counts)} data sets at hand"


def _wide_range(cases: Cases) -> Outcome:
    found, sums = table3.means(cases), np.zeros(2, int)
    for name in EMBEDDINGS:
        sums += np.sum([sensitivity.count_above(found, name, sensitivity.PAIRS[1], s) for s in table3.SCORES], axis=0)
    above, total = (int(number) for number in sums)
    return _most(above, total), f"at {above} of {total} perplexities, both scores, by the paper's protocol"


def _missing(cases: Cases) -> Outcome:
    """Report the data sets of the paper without any result."""
    tried = {key.split(SEPARATOR)[0] for key in cases}
    missing = [name for name in EMBEDDINGS if name not in tried]
    return UNTESTABLE if missing else REPRODUCED, f"{len(missing)} of {len(EMBEDDINGS)} data sets could not be obtained"


CLAIMS = (
    Claim(
        "The symmetric entropic affinity is symmetric, doubly stochastic and has equal entropies",
        "Table 1",
        "table1",
        _properties,
    ),
    Claim("Symmetrising the entropic affinity spoils its row perplexities", "Figure 1", "figure1", _row_perplexities),
    Claim("t-SNEkhorn separates the classes of COIL-20 better than t-SNE", "Figure 1", "figure1", _separation),
    Claim("Dual ascent with Adam solves the problem", "Section 3", "snareseq", _ascent),
    Claim(
        "The doubly stochastic affinity breaks up into unwanted clusters, the symmetric entropic one has exactly three",
        "Figure 2",
        "figure2",
        _eigenvalues,
    ),
    Claim(
        "The symmetric entropic affinity clusters better than the doubly stochastic affinity as the spread grows",
        "Figure 3",
        "figure3",
        _spreads,
    ),
    Claim(
        "A globally normalised Q puts the points on a circle, a doubly stochastic one does not",
        "Figure 4",
        "figure4",
        _ring,
    ),
    Claim("About ten Sinkhorn iterations are enough", "Figure 4", "figure4", _sinkhorn),
    Claim(
        "Unequal noise misleads the symmetrised entropic affinity, but not the symmetric one",
        "Figure 5",
        "figure5",
        _mass,
    ),
    Claim("SNEkhorn mixes the batches of one distribution better than symmetric SNE", "Figure 5", "figure5", _batches),
    Claim(
        "Spectral clustering is better than with the symmetrised entropic affinity",
        "Table 2",
        "table2",
        partial(_clustering, rivals=(SYMMETRISED,)),
    ),
    Claim(
        "Spectral clustering is better than with any other affinity on 8 of 12 data sets",
        "Table 2",
        "table2",
        partial(_clustering, rivals=OTHERS),
    ),
    Claim("The gain on SNAREseq is large", "Table 2", "table2", _gain_on_snareseq),
    Claim("The advantage holds at every perplexity", "Figure 6", "figure6", _every_perplexity),
    Claim(
        "t-SNEkhorn has the highest silhouette on 15 of 16 data sets",
        "Table 3",
        "table3",
        partial(_layouts, score="silhouette"),
    ),
    Claim(
        "t-SNEkhorn has the highest trustworthiness on 12 of 16 data sets",
        "Table 3",
        "table3",
        partial(_layouts, score="trustworthiness"),
    ),
    Claim(
        "t-SNEkhorn separates the classes of SNAREseq better than t-SNE",
        "Figure 7",
        "figure7",
        partial(_separation, rows=", raw"),
    ),
    Claim("t-SNEkhorn is better than t-SNE over a wide range of perplexities", "Appendix", "table3", _wide_range),
    Claim("The scores on ten microarray sets and on the paper's CIFAR-10 features", "Table 3", "table3", _missing),
)
