"""Say what was fitted below the diagram that notebooks show of an estimator."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE = "margin: 6px 0 0 4px; font-size: 0.9em; border-collapse: collapse"


class FittedRepresentation:
    """Add the facts about a fit to the HTML representation of scikit-learn."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + fitted_html(self)  # type: ignore[misc,no-any-return]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle


def fitted_html(model: Any) -> str:
    """Return a table of what was fitted; empty if the model is not fitted."""
    if not hasattr(model, "embedding_"):
        return ""
    rows = "".join(
        f'<tr><td style="text-align: left; opacity: 0.7">{escape(name)}</td>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in fitted_facts(model).items()
    )
    return f'<table style="{STYLE}"><caption style="text-align: left">Fitted layout</caption>{rows}</table>'


def fitted_facts(model: Any) -> dict[str, str]:
    """Return the facts about a fitted model, by name."""
    n, d = model.embedding_.shape
    facts = {"points": f"{n:,}"}
    if not (model.takes_affinity or model.cost_metric == "precomputed"):
        facts["features"] = f"{model.n_features_in_:,}"
    facts["dimensions"] = str(d)
    if hasattr(model, "perplexity_"):
        used, asked = f"{model.perplexity_:g}", f"{model.perplexity:g}"
        own = model.affinity is not None  # its perplexity is not the parameter of the model
        facts["perplexity"] = used if own or used == asked else f"{used} ({asked} requested)"
    balance = getattr(getattr(model, "affinity_report_", None), "balance", None)
    if balance is not None:
        facts["balance"] = f"{balance:.2g}"
    facts["descent"] = str(model.report_)
    return facts
