"""Numbers that README and pages quote from the results of the benchmarks.

``python docs/quoted_numbers.py`` writes the present numbers into the sentences below, wherever they are on the pages; a
test checks that the pages have them. After a change of the words, change the sentence here as well.
"""

import json
import re
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
FIELD = re.compile(r"\{([^{}]+)\}")
NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"
COMMIT = r"([0-9a-f]{7,}(?:-dirty)?)"

COLUMNS = ("ours", "exaggerated", "opentsne", "umap")  # of the table of "Why snekhorn, and when not"


class Quote(NamedTuple):
    """Sentence of a page, with fields for the values of `values()`."""

    page: str
    sentence: str

    def text(self) -> str:
        """Return the sentence with the present numbers."""
        return self.sentence.format(**values())

    def pattern(self) -> re.Pattern[str]:
        """Return a pattern that finds the sentence with any numbers, however its lines are wrapped."""
        parts = FIELD.split(self.sentence)
        literal = [re.sub(r"(?:\\\s|\s)+", r"\\s+", re.escape(part)) for part in parts[::2]]
        fields = [COMMIT if name.startswith("commit_") else NUMBER for name in parts[1::2]]
        return re.compile("".join(a + b for a, b in zip(literal, [*fields, ""], strict=True)))

    def update(self, page: str) -> str:
        """Return the text of the page with the present numbers in the sentence."""
        matches = list(self.pattern().finditer(page))
        if len(matches) != 1:
            raise ValueError(f"{self.page} has {len(matches)} sentences {self.sentence!r}, not one")
        (found,) = matches
        numbers = [f"{{{field}}}".format(**values()) for field in FIELD.findall(self.sentence)]
        for at in range(len(numbers), 0, -1):  # from the end, so that earlier positions stay valid
            start, end = found.span(at)
            page = page[:start] + numbers[at - 1] + page[end:]
        return page


QUOTES = (
    Quote(
        "README.md",
        "the rows of t-SNE's affinity have perplexities from {coil_least:.0f} to {coil_most:.0f}. All rows of the "
        "symmetric entropic affinity have a perplexity of {coil_symmetric:.2f}.",
    ),
    Quote(
        "README.md",
        "t-SNEkhorn takes {seconds_ours:.1f} s at its defaults, including the affinity. umap-learn takes "
        "{seconds_umap:.1f} s and openTSNE {seconds_opentsne:.1f} s.",
    ),
    Quote("README.md", "as umap-learn does, t-SNEkhorn takes {seconds_exaggerated:.1f} s."),
    Quote("README.md", "A million points take {million_minutes:.1f} minutes and {million_gb:.1f} GB of memory"),
    Quote(
        "README.md",
        "separates known classes better (mean silhouette {silhouette_ours:.3f} against {silhouette_opentsne:.3f}) and "
        "preserves more nearest neighbours ({neighbor_recall_ours:.3f} against {neighbor_recall_opentsne:.3f}), but a "
        "classifier that uses the layout is slightly less accurate ({knn_accuracy_ours:.3f} against "
        "{knn_accuracy_opentsne:.3f}). umap-learn separates classes better than our defaults "
        "({silhouette_umap:.3f}), but preserves fewer neighbours ({neighbor_recall_umap:.3f}). With an exaggeration of "
        "1.5, t-SNEkhorn is ahead of umap-learn in both ({silhouette_exaggerated:.3f} and "
        "{neighbor_recall_exaggerated:.3f}).",
    ),
    Quote(
        "README.md",
        "the speed with commit {commit_speed}, the scale with commit {commit_growth}, and the quality with commit "
        "{commit_defaults}.",
    ),
    Quote(
        "docs/why.md",
        "the quality with commit {commit_defaults}, the time with commit {commit_speed}, and a million points with "
        "commit {commit_growth}.",
    ),
    *(
        Quote("docs/why.md", f"| {name} | " + " | ".join(f"{{{score}_{short}:.3f}}" for short in COLUMNS) + " |")
        for name, score in {
            "neighbour recall": "neighbor_recall",
            "silhouette of the classes": "silhouette",
            "trustworthiness": "trustworthiness",
            "accuracy of a classifier": "knn_accuracy",
        }.items()
    ),
    Quote("docs/why.md", "| t-SNEkhorn, exaggeration 1.5 | {seconds_exaggerated:.1f} | {gb_exaggerated:.1f} GB |"),
    Quote("docs/why.md", "| t-SNEkhorn | {seconds_ours:.1f} | {gb_ours:.1f} GB |"),
    Quote("docs/why.md", "| umap-learn | {seconds_umap:.1f} | {gb_umap:.1f} GB |"),
    Quote("docs/why.md", "| umap-learn, with a seed | {seconds_seeded:.1f} | {gb_seeded:.1f} GB |"),
    Quote("docs/why.md", "| openTSNE | {seconds_opentsne:.1f} | {gb_opentsne:.1f} GB |"),
    Quote("docs/why.md", "takes {seconds_seeded:.1f} s instead of {seconds_umap:.1f} s above."),
    Quote(
        "docs/why.md", "A million points take {million_minutes:.1f} minutes and {million_gb:.1f} GB (750 iterations)."
    ),
    Quote(
        "docs/why.md",
        "places {new_per_second:,.0f} images per second, and predicts the digit of {new_accuracy:.1f}% of 10,000",
    ),
    Quote(
        "docs/choices.md",
        "mean silhouette is {best_silhouette_defaults:.3f} without self-loops in P and {best_silhouette_loops:.3f} "
        "with them",
    ),
    Quote("docs/choices.md", "**Without self-loops in P or Q**, the silhouette is {best_silhouette_no_loops:.3f}."),
    Quote("docs/choices.md", "with a silhouette of {best_silhouette_loops_in_p:.3f}."),
    Quote(
        "docs/choices.md",
        "the highest silhouette of all, {best_silhouette_tighter:.3f}, but the recall falls from "
        "{best_neighbor_recall_defaults:.3f} to {best_neighbor_recall_tighter:.3f}. Averaged over the perplexities, it "
        "has no advantage: the silhouette is {average_silhouette_tighter:.3f} instead of "
        "{average_silhouette_defaults:.3f}, the trustworthiness is {average_trustworthiness_tighter:.3f} instead of "
        "{average_trustworthiness_defaults:.3f}, and the recall is {average_neighbor_recall_tighter:.3f} instead of "
        "{average_neighbor_recall_defaults:.3f}.",
    ),
    Quote(
        "docs/choices.md",
        "is ahead of openTSNE** in silhouette ({silhouette_ours:.3f} against {silhouette_opentsne:.3f}), recall "
        "({neighbor_recall_ours:.3f} against {neighbor_recall_opentsne:.3f}) and trustworthiness "
        "({trustworthiness_ours:.3f} against {trustworthiness_opentsne:.3f}).",
    ),
    Quote(
        "docs/choices.md",
        "is ahead of umap-learn** in silhouette ({silhouette_exaggerated:.3f} against {silhouette_umap:.3f}), recall "
        "({neighbor_recall_exaggerated:.3f} against {neighbor_recall_umap:.3f}) and trustworthiness "
        "({trustworthiness_exaggerated:.3f} against {trustworthiness_umap:.3f}).",
    ),
)
TOOLS = {  # short names, and names in the benchmarks of quality and of speed
    "ours": ("t-SNEkhorn", "t-SNEkhorn, defaults"),
    "exaggerated": ("t-SNEkhorn, exaggeration 1.5", "t-SNEkhorn, exaggeration 1.5"),
    "opentsne": ("openTSNE", "openTSNE"),
    "umap": ("umap-learn", "umap-learn"),
    "seeded": ("", "umap-learn, seeded"),
}
VARIANTS = {  # short names, and names in the study of design choices
    "defaults": "defaults",
    "loops": "self-loops in P and Q (as in the paper)",
    "loops_in_p": "self-loops in P only",
    "no_loops": "self-loops in neither",
    "tighter": "exaggeration 1.5",
}
SCORES = ("silhouette", "neighbor_recall", "trustworthiness", "knn_accuracy")


def record(folder: str, name: str) -> dict[str, Any]:
    """Return the stored results of an experiment."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def values() -> dict[str, Any]:
    """Return all values that sentences may quote."""
    found = {f"commit_{name}": record("benchmarks", name)["machine"]["commit"] for name in ("speed", "growth")}
    found["commit_defaults"] = record("benchmarks", "defaults")["machine"]["commit"]
    return {**found, **_qualities(), **_times(), **_row_perplexities(), **_study()}


def _qualities() -> dict[str, float]:
    """Return the mean scores over the data sets and subsamples."""
    cases = [case for case in record("benchmarks", "defaults")["cases"].values() if case.get("part") == "sets"]
    return {
        f"{score}_{short}": mean(case[score] for case in cases if case["tool"] == tool)
        for short, (tool, _) in TOOLS.items()
        if tool
        for score in SCORES
    }


def _study() -> dict[str, float]:
    """Return the scores of design choices, at the best perplexity and averaged over perplexities."""
    cases = [case for case in record("benchmarks", "study")["cases"].values() if case.get("part") == "variants"]
    names = dict.fromkeys(case["data"] for case in cases)
    found = {}
    for short, variant in VARIANTS.items():
        for score in SCORES[:3]:
            own = [[c[score] for c in cases if (c["data"], c["variant"]) == (name, variant)] for name in names]
            found[f"best_{score}_{short}"] = mean(max(values) for values in own)
            found[f"average_{score}_{short}"] = mean(mean(values) for values in own)
    return found


def _times() -> dict[str, float]:
    """Return the times of MNIST, of new points, and of a million points."""
    speed, growth = (record("benchmarks", name)["cases"] for name in ("speed", "growth"))
    found = {}
    for short, (_, tool) in TOOLS.items():
        best = min((c for c in speed.values() if c.get("tool") == tool), key=lambda case: case["total_seconds"])
        found |= {f"seconds_{short}": best["total_seconds"], f"gb_{short}": best["peak_gb"]}
    million, new = growth["1,000,000 points"], speed["new points"]
    found |= {"million_minutes": million["total_seconds"] / 60, "million_gb": million["peak_gb"]}
    return {**found, "new_per_second": new["per_second"], "new_accuracy": 100 * new["accuracy"]}


def _row_perplexities() -> dict[str, float]:
    cases = record("results", "figure1")["cases"]
    plain, symmetric = (cases[f"{kind} entropic"]["perplexities"] for kind in ("symmetrised", "symmetric"))
    return {"coil_least": min(plain), "coil_most": max(plain), "coil_symmetric": mean(symmetric)}


def main() -> None:
    for quote in QUOTES:
        path = ROOT / quote.page
        path.write_text(quote.update(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
