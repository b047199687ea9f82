"""Group the options of every command in its help."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

PANELS = {
    "Input": (
        *("label", "id", "metadata", "columns", "exclude", "vector", "transpose", "rep", "coordinates"),
        *("missing", "pca", "standardize", "metric"),
    ),
    "Method": (
        "kind",
        "perplexity",
        "method",
        "exaggeration",
        "dimensions",
        "balance",
        "self_loops",
        "max_iter",
        "tol",
        "init",
        "neighbors",
        "seed",
    ),
    "Results": (
        "out",
        "plot",
        "html",
        "save_model",
        "color",
        "image",
        "title",
        "dpi",
        "show",
        "scores",
        "sample",
        "escape_formulas",
        "force",
    ),
    "Running": ("jobs", "workers", "dask", "max_memory", "checkpoint", "as_json", "quiet", "debug"),
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class GroupedCommand(TyperCommand):
    """Command whose help shows its options in the panels listed above, in the order of these lists."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        order = list(PANEL_OF)
        self.params.sort(key=lambda each: order.index(str(each.name)) if each.name in PANEL_OF else -1)
        for parameter in self.params:
            if isinstance(parameter, TyperOption):
                parameter.rich_help_panel = PANEL_OF.get(str(parameter.name))

    def get_help_option(self, ctx: Any) -> Any:
        """Show --help in the last panel, so that it does not get a panel of its own."""
        option: Any = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = list(PANELS)[-1]
        return option
