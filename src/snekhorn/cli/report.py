"""What was done, how well, and where the files are: as facts and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .options import CLASSES
from .outputs import Outputs
from .session import Session, in_options

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..io import Table
    from .points import Points

MEANINGS = {
    "neighbor_recall": "of a point's 15 nearest neighbours, the share that is still near in the layout",
    "trustworthiness": "1 where no point is shown near that is far in the data",
    "continuity": "1 where no point is shown far that is near in the data",
    "distance_correlation": "of distances in the data and in the layout; low: do not read large ones off the picture",
    "knn_accuracy": "of guessing a point's label from its 15 nearest in the layout",
    "silhouette": "of the labels in the layout: 1 for tight groups far apart, 0 for mixed ones",
}
OF_LABELS, FEWEST_LABELLED = ("knn_accuracy", "silhouette"), 3
NAMES = {name: name.replace("_", " ").replace("neighbor", "neighbour").replace("knn", "kNN") for name in MEANINGS}


@dataclass
class Report:
    """One run of embed."""

    input: Path
    method: str
    n_points: int
    n_columns: int
    n_components: int | None
    kept: list[str]
    layouts: list[dict[str, Any]]
    scores: list[dict[str, float]] = field(default_factory=list)
    _layouts: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, input: Path, method: str, points: Points, fitted: list[NeighborEmbedding]) -> Report:
        n, p = points.table.X.shape
        reduced = None if points.X.shape[1] == p else points.X.shape[1]
        layouts = [_layout_facts(model) for model in fitted]
        kept = points.table.metadata.column_names
        return cls(input, method, n, p, reduced, kept, layouts, _layouts=[model.embedding_ for model in fitted])

    def measure(self, run: Session, points: Points, metric: str, jobs: int | None) -> None:
        """Score every layout against the points it was made of."""
        metric = "euclidean" if metric == "sqeuclidean" else metric
        self.scores = measure(run, points.X, self._layouts, points.table, metric=metric, n_jobs=jobs)

    def facts(self, outputs: Outputs) -> dict[str, Any]:
        """As JSON."""
        scores = self.scores or [{}] * len(self.layouts)
        return {
            "input": str(self.input),
            "method": self.method,
            "n_points": self.n_points,
            "n_columns": self.n_columns,
            "n_principal_components": self.n_components,
            "kept": self.kept,
            "layouts": [{**layout, "scores": score} for layout, score in zip(self.layouts, scores, strict=True)],
            "files": {name: str(path) for name, path in outputs.paths.items()},
        }

    def text(self, outputs: Outputs, run: Session) -> str:
        """For people."""
        reduced = f", reduced to {self.n_components} principal components" if self.n_components else ""
        lines = [f"{self.input}: {self.n_points:,} points, {self.n_columns:,} columns{reduced}"]
        if self.kept:
            lines.append(f"kept beside the coordinates: {', '.join(self.kept)}")
        for layout in self.layouts:
            lines.append(f"{CLASSES[self.method]}, perplexity {_perplexity_text(layout)}: {layout['summary']}")
        if self.scores:
            lines += ["", *score_lines(self.scores, [f"{layout['perplexity']:g}" for layout in self.layouts])]
        lines += ["", *(f"{name + ':':7} {path}" for name, path in outputs.paths.items())]
        lines += [f"note:   {warning}" for warning in run.warnings]
        total = sum(run.seconds.values())
        lines.append(f"done in {total:.1f} s" if not run.interrupted else "interrupted; what was done is kept")
        return "\n".join(lines)

    def summary(self, at: int) -> dict[str, str]:
        """Of one layout, for the page."""
        layout = self.layouts[at]
        facts = {
            "method": CLASSES[self.method],
            "perplexity": _perplexity_text(layout),
            "points": f"{self.n_points:,}",
            "descent": layout["summary"],
        }
        scores = self.scores[at] if self.scores else {}
        return {**facts, **{NAMES[name]: f"{value:.3f}" for name, value in scores.items() if name in NAMES}}


def score_lines(scores: list[dict[str, float]], heads: list[str]) -> list[str]:
    """A table of scores, a column a layout, with what each means."""
    names = [name for name in MEANINGS if any(name in found for found in scores)]
    width = max(map(len, NAMES.values()))
    lines = [f"{'perplexity':{width}}" + "".join(f"{head:>8}" for head in heads)] if len(scores) > 1 else []
    for name in names:
        cells = "".join(f"{found[name]:8.3f}" if name in found else f"{'':8}" for found in scores)
        lines.append(f"{NAMES[name]:{width}}{cells}   {MEANINGS[name]}")
    n_sampled = int(scores[0]["n_sampled"])
    return [*lines, f"(looked at from {n_sampled:,} points)"]


def measure(run: Session, X: Any, layouts: list[Any], table: Table, **how: Any) -> list[dict[str, float]]:
    """Scores of the layouts of X; those that need labels are of the points that have one."""
    from ..metrics import evaluate

    if table.label is None:
        return [evaluate(X, Z, **how) for Z in layouts]
    values = table.values(table.label)
    known = np.array([value is not None and value == value for value in values])
    y = np.asarray(values).astype(str)
    if known.all():
        return [evaluate(X, Z, y, **how) for Z in layouts]
    n_known = np.count_nonzero(known)
    run.note(f"{n_known:,} of {len(known):,} points have a {table.label!r}; scores that need one are of these")
    scores = [evaluate(X, Z, **how) for Z in layouts]
    if n_known >= FEWEST_LABELLED:
        for Z, of_all in zip(layouts, scores, strict=True):
            found = evaluate(Z[known], Z[known], y[known], **{**how, "metric": "euclidean"})  # labels do not see X
            of_all |= {name: found[name] for name in OF_LABELS if name in found}
    return scores


def _perplexity_text(layout: dict[str, Any]) -> str:
    asked, used = (f"{layout[name]:g}" for name in ("perplexity", "perplexity_used"))
    return asked if asked == used else f"{used} ({asked} asked for)"


def _layout_facts(model: NeighborEmbedding) -> dict[str, Any]:
    report = asdict(model.report_)
    history = {name: report.pop(name) for name in ("iterations", "losses")}
    facts = {
        "perplexity": model.perplexity,
        "perplexity_used": model.perplexity_,
        "summary": in_options(str(model.report_)),
        **report,
    }
    affinity = model.affinity_report_
    return {
        **facts,
        "divergence": model.kl_divergence_,
        "loss_history": history,
        "affinity": {
            "converged": affinity.converged,
            "reason": affinity.reason,
            "n_passes": affinity.n_passes,
            "marginal_gap": affinity.marginal_gap,
            "entropy_gap": affinity.entropy_gap,
            "n_floor_rows": affinity.n_floor_rows,
            "n_unreachable_rows": int(affinity.unreachable_rows.size),
            "n_unsolved_rows": int(affinity.unsolved_rows.size),
            "neighbor_recall": affinity.neighbor_recall,
        },
    }
