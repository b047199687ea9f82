"""Report the results of `embed`: scores, a readable summary, and facts for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import METHODS
from ..runtime.checks import is_missing
from .input_points import columns_text
from .layout_names import layout_settings
from .output_files import Outputs
from .session import Session, with_option_names

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..io import Table
    from ..io.missing_values import MissingValues
    from .input_points import Points

MEANINGS = {
    "neighbor_recall": "fraction of each point's 15 nearest neighbours that the layout preserves",
    "trustworthiness": "1 = no false neighbours in the layout",
    "continuity": "1 = no neighbours lost in the layout",
    "distance_correlation": "between distances in data and layout; if low, do not trust large distances in the picture",
    "knn_accuracy": "accuracy of predicting a point's label from its 15 nearest neighbours in the layout",
    "silhouette": "how well the labels separate in the layout: 1 = tight groups far apart, 0 = mixed groups",
}
ALL = 1.0 - 1e-9  # share of the variance that counts as all of it; less is never shown as 100%
MOST_NAMES, FIRST_NAMES = 12, 4  # features that are listed in full; of more, only the first and the last
SCORES_OF_LABELS, FEWEST_LABELLED = ("knn_accuracy", "silhouette"), 3
NAMES = {name: name.replace("_", " ").replace("neighbor", "neighbour").replace("knn", "kNN") for name in MEANINGS}


@dataclass
class LayoutReport:
    """Report of one run of `embed`.

    Attributes
    ----------
    n_components : int or None
        Number of principal components, if the columns were reduced.
    variance_kept : float or None
        Share of the variance that the principal components keep.
    columns : list of str or None
        Names of the features, if they have names.
    missing : MissingValues or None
        Missing features, if there were any.
    scored_by : str
        What the scores compare the layout with, if it is not the input as it is.
    caution : str
        What to keep in mind about the scores, if anything.
    kept : list of str
        Metadata columns.
    keys : list of str
        Keys of the layouts, such as "e1.5" among several exaggerations; "" if there is only one layout.
    layouts : list of dict
        Facts about each layout.
    scores : list of dict
        Scores of each layout; empty if they were not measured.
    """

    input: Path
    method: str
    n_points: int
    n_columns: int
    n_components: int | None
    variance_kept: float | None
    columns: list[str] | None
    missing: MissingValues | None
    scored_by: str
    caution: str
    kept: list[str]
    keys: list[str]
    layouts: list[dict[str, Any]]
    scores: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def of(cls, input: Path, method: str, points: Points, fitted: dict[str, NeighborEmbedding]) -> LayoutReport:
        """Collect the facts about fitted layouts of the points, given by key."""
        table, preprocessing = points.table, points.preprocessing
        scored_by = "the principal components" if points.scored_by_components else ""
        if preprocessing is not None and preprocessing.standardize and not scored_by:
            scored_by = "the standardised columns"
        return cls(
            input=input,
            method=method,
            n_points=table.X.shape[0],
            n_columns=table.X.shape[1],
            n_components=points.n_components,
            variance_kept=points.variance_kept,
            columns=points.source.column_names(table),
            missing=table.missing,
            scored_by=scored_by,
            caution=points.caution,
            kept=table.metadata.column_names,
            keys=list(fitted),
            layouts=[_layout_facts(model) for model in fitted.values()],
        )

    def facts(self, outputs: Outputs) -> dict[str, Any]:
        """Return all facts, for JSON."""
        scores = self.scores or [{}] * len(self.layouts)
        return {
            "input": str(self.input),
            "method": self.method,
            "n_points": self.n_points,
            "n_columns": self.n_columns,
            "columns": self.columns,
            "n_principal_components": self.n_components,
            "variance_kept": self.variance_kept,
            "missing": None if self.missing is None else asdict(self.missing),
            "kept": self.kept,
            "layouts": [{**layout, "scores": score} for layout, score in zip(self.layouts, scores, strict=True)],
            "files": {name: str(path) for name, path in outputs.paths.items()},
        }

    def text(self, outputs: Outputs, run: Session) -> str:
        """Return a readable summary."""
        lines = [f"{self.input}: {self.n_points:,} points, {columns_text(self.n_columns)}{self._reduced}"]
        if self.columns is not None:
            lines.append(f"features: {_shortened(self.columns)}")
        if self.kept:
            lines.append(f"metadata: {', '.join(self.kept)}")
        for layout in self.layouts:
            settings = ", ".join(f"{name} {value}" for name, value in self._settings(layout).items())
            lines.append(f"{self._class_name}, {settings}: {layout['summary']}")
        if self.scores:
            lines += ["", *score_lines(self.scores, self.keys, scored_by=self.scored_by)]
            lines += [f"note: {self.caution}"] if self.caution else []
        lines += ["", *(f"{name + ':':7} {path}" for name, path in outputs.paths.items())]
        lines.append(
            f"done in {run.elapsed:.1f} s" if not run.interrupted else "interrupted; the results so far are kept"
        )
        return "\n".join(lines)

    def summary(self, at: int) -> dict[str, str]:
        """Return the facts about one layout that the page shows."""
        layout = self.layouts[at]
        facts = {
            "method": self._class_name,
            **self._settings(layout),
            "points": f"{self.n_points:,}",
            "descent": layout["summary"],
        }
        scores = self.scores[at] if self.scores else {}
        return {**facts, **{NAMES[name]: f"{value:.3f}" for name, value in scores.items() if name in NAMES}}

    def heading(self) -> str:
        """Return what all layouts of a picture have in common: the method, and the settings if there is one layout."""
        settings = self._settings(self.layouts[0]) if len(self.layouts) == 1 else {}
        settings.pop("balance", None)  # which the summary reports
        return ", ".join([self._class_name, *(f"{name} {value}" for name, value in settings.items())])

    def subtitles(self) -> dict[str, str]:
        """Return, by key, the scores to compare in a picture of several layouts: of neighbours and of groups."""
        compared = ("neighbor_recall", "silhouette")
        texts = [
            ", ".join(f"{NAMES[name]} {found[name]:.2f}" for name in compared if name in found) for found in self.scores
        ]
        return dict(zip(self.keys, texts, strict=True)) if texts else {}

    def _settings(self, layout: dict[str, Any]) -> dict[str, str]:
        """Return the settings to report: perplexity, balance, and the exaggeration unless it is 1 for every layout."""
        settings = {"perplexity": _perplexity_text(layout)}
        if any(each["exaggeration"] != 1.0 for each in self.layouts):
            settings["exaggeration"] = f"{layout['exaggeration']:g}"
        if (balance := layout["affinity"]["balance"]) is not None:
            settings["balance"] = f"{balance:.3g}"
        return settings

    @property
    def _reduced(self) -> str:
        if self.n_components is None:
            return ""
        text = f", reduced to {self.n_components} principal components"
        if self.variance_kept is None:
            return text
        percent = min(100.0 * self.variance_kept, 99.9) if self.variance_kept < ALL else 100.0
        return f"{text}, which keep {percent:.3g}% of the variance"

    @property
    def _class_name(self) -> str:
        return METHODS[self.method].class_name


def _shortened(names: list[str]) -> str:
    """List names, only the first and the last if there are many."""
    return ", ".join(names if len(names) <= MOST_NAMES else [*names[:FIRST_NAMES], "...", names[-1]])


def score_lines(scores: list[dict[str, float]], keys: list[str], *, scored_by: str = "") -> list[str]:
    """Format scores as a table with one column per layout, its settings on top, and a description of each score."""
    names = [name for name in MEANINGS if any(name in found for found in scores)]
    first = max(map(len, NAMES.values()))
    settings = [layout_settings(key) for key in keys] if len(keys) > 1 else []
    width = max([8, *(len(value) + 2 for each in settings for value in each.values())])
    lines = []
    for setting in dict.fromkeys(name for each in settings for name in each):
        lines.append(f"{setting:{first}}" + "".join(f"{each.get(setting, ''):>{width}}" for each in settings))
    for name in names:
        values = "".join(f"{found[name]:{width}.3f}" if name in found else f"{'':{width}}" for found in scores)
        lines.append(f"{NAMES[name]:{first}}{values}   {MEANINGS[name]}")
    compared = f", compared with {scored_by}" if scored_by else ""
    return [*lines, f"(measured on {int(scores[0]['n_sampled']):,} points{compared})"]


def measure(run: Session, X: Any, layouts: list[Any], table: Table, **how: Any) -> list[dict[str, float]]:
    """Score layouts of X; scores that need labels use only the labelled points."""
    from ..metrics import evaluate

    if table.label is None:
        return [evaluate(X, Z, **how) for Z in layouts]
    values = table.values(table.label)
    known = np.array([not is_missing(value) for value in values])
    y = np.asarray(values).astype(str)
    n_classes, n_known = len(np.unique(y[known])), np.count_nonzero(known)
    if n_classes < 2 or n_classes == n_known:
        problem = ("no values", "one class")[n_classes] if n_classes < 2 else "a different value for every point"
        run.note(f"the label column {table.label!r} has {problem}, so scores that need labels are left out")
        return [evaluate(X, Z, **how) for Z in layouts]
    if known.all():
        return [evaluate(X, Z, y, **how) for Z in layouts]
    run.note(
        f"the label column {table.label!r} has a value for {n_known:,} of {len(known):,} points; "
        "scores that need labels use only these points"
    )
    scores = [evaluate(X, Z, **how) for Z in layouts]
    if n_known >= FEWEST_LABELLED:
        for Z, of_all in zip(layouts, scores, strict=True):
            # Label scores do not depend on X, so pass the layout in its place.
            found = evaluate(Z[known], Z[known], y[known], **{**how, "metric": "euclidean"})
            of_all |= {name: found[name] for name in SCORES_OF_LABELS if name in found}
    return scores


def _perplexity_text(layout: dict[str, Any]) -> str:
    asked, used = (f"{layout[name]:g}" for name in ("perplexity", "perplexity_used"))
    return asked if asked == used else f"{used} ({asked} requested)"


def _layout_facts(model: NeighborEmbedding) -> dict[str, Any]:
    report = asdict(model.report_)
    history = {name: report.pop(name) for name in ("iterations", "losses")}
    affinity = model.affinity_report_
    return {
        "perplexity": model.perplexity,
        "perplexity_used": model.perplexity_,
        "exaggeration": model.exaggeration,
        "summary": with_option_names(str(model.report_)),
        **report,
        "divergence": model.kl_divergence_,
        "loss_history": history,
        "affinity": {
            "converged": affinity.converged,
            "reason": with_option_names(affinity.reason),
            "n_passes": affinity.n_passes,
            "marginal_gap": affinity.marginal_gap,
            "entropy_gap": affinity.entropy_gap,
            "n_floor_rows": affinity.n_floor_rows,
            "n_unreachable_rows": int(affinity.unreachable_rows.size),
            "n_unsolved_rows": int(affinity.unsolved_rows.size),
            "neighbor_recall": affinity.neighbor_recall,
            "balance": affinity.balance,
            "inequality": affinity.inequality,
        },
    }
