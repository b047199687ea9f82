"""What the scores of Table 3 come to: the paper's protocol against the paper, ours against both and other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from .data import title
from .layouts import PAPER, PEERS, SCORES
from .markdown import table, verdict
from .paper import EMBEDDINGS, SPREADS

Found: TypeAlias = Mapping[tuple[str, str, str], Mapping[int, float]]  # data, column, score -> mean by perplexity

OURS = "t-SNEkhorn"
PLACES = {"t-SNE, paper's protocol": 1, "t-SNEkhorn, paper's protocol": 2}  # in the paper's triples
NEAR = {"silhouette": 1.0, "trustworthiness": 0.2}  # hundredths that count as the same; the second varies less
WORDS = {"better": "higher", "worse": "lower", "the same": "as in the paper"}
# Where the page looks into why ours is below the paper's.
EXPLAINED = {"snareseq": "#snareseq-what-makes-the-difference"}


def best(values: Mapping[int, float] | None) -> tuple[float, int] | None:
    """The largest mean, and its perplexity."""
    if not values:
        return None
    at = max(values, key=lambda xi: values[xi])
    return values[at], at


def best_hundredths(found: Found, name: str, column: str, score: str) -> float | None:
    top = best(found.get((name, column, score)))
    return None if top is None else 100.0 * top[0]


def beside_paper(value: float | None, name: str, score: str, place: int) -> tuple[str, str]:
    """The paper's figure with its deviation, and how a value by its protocol compares."""
    i = SCORES.index(score)
    paper, spread = EMBEDDINGS[name][i][place], SPREADS[name][i][place]
    return f"{paper} ± {spread}", WORDS.get(verdict(value, paper, near=max(NEAR[score], spread)), "")


def by_protocol(found: Found) -> str:
    """The paper's t-SNE and t-SNEkhorn, run as it says, against its figures."""
    rows, counts = [], dict.fromkeys(WORDS.values(), 0)
    for name in _names(found):
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
    return (
        "**The paper's protocol against the paper**\n\n"
        f"Adam with steps of {PAPER['learning_rate']}, at most {PAPER['max_iter']} of them, from the same random "
        "starts for both methods; as in the paper is what is within its standard deviation, or the tolerance above. "
        f"Of these figures: {said}. See [what the protocol leaves open](#what-the-papers-protocol-leaves-open)."
        f"\n\n{table(head, rows)}"
    )


def against_paper(found: Found) -> str:
    """How often ours is at least as good as the paper's, and where it is not."""
    names = [name for name in _names(found) if (name, OURS, SCORES[0]) in found]
    if not names:
        return ""
    counts, worse = dict.fromkeys(SCORES, 0), []
    for name in names:
        for i, score in enumerate(SCORES):
            judged = verdict(best_hundredths(found, name, OURS, score), EMBEDDINGS[name][i][2], near=NEAR[score])
            counts[score] += judged != "worse"
            why = f"; [what was tried]({EXPLAINED[name]})" if name in EXPLAINED else "; not looked into"
            worse += [f"{title(name)} ({score}{why})"] if judged == "worse" else []
    said = " and ".join(f"{counts[score]} in {score}" for score in SCORES)
    below = f" Below it: {', '.join(worse)}." if worse else ""
    where = f"on {len(names)} set{'s' * (len(names) > 1)}: within the tolerance of its figure, or above, on {said}"
    return f"Ours against the paper's t-SNEkhorn, {where}.{below}"


def headline(found: Found) -> str:
    """On how many sets t-SNEkhorn is above t-SNE run in the same way, as the paper has it of nearly all."""
    said = []
    for how, suffix in (("by the paper's protocol", ", paper's protocol"), ("at our defaults", "")):
        counts = [_counted(score, OURS + suffix, ["t-SNE" + suffix], found)[0] for score in SCORES]
        said += [f"{how}, {' and '.join(filter(None, counts))}"] if any(counts) else []
    if not said:
        return ""
    return (
        "The paper: t-SNEkhorn has the highest silhouette on 15 of its 16 sets, and the highest trustworthiness on 12. "
        f"Here, against t-SNE run in the same way: {'; '.join(said)}."
    )


def against_packages(found: Found) -> str:
    """Ours against the best of the other packages, set by set."""
    ran = [peer for peer in PEERS if any(column == peer for _, column, _ in found)]
    said = []
    for score in SCORES:
        counts, lost = _counted(score, OURS, ran, found)
        said += [f"{counts}{': ' * bool(lost)}{', '.join(lost)}"] if counts else []
    return f"Ours against the best of {', '.join(ran)}: {'; '.join(said)}." if said else ""


def _counted(score: str, ours: str, others: list[str], found: Found) -> tuple[str, list[str]]:
    """On how many sets one column is better than the best of others, the same or worse, in words; and where worse."""
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
            lost.append(f"{title(name)} ({mine:.1f} against {theirs[other]:.1f} of {other})")
    said = ", ".join(f"{word} on {count}" for word, count in counts.items())
    return (f"{score} {said}" if any(counts.values()) else ""), lost


def _names(found: Found) -> list[str]:
    """Sets with results that are in the paper, as it has them."""
    return [name for name in dict.fromkeys(name for name, _, _ in found) if name in EMBEDDINGS]
