"""Group the options of every command in its help."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from .usage_errors import UsageError

PANELS = {
    "Input": (
        *("label", "id", "metadata", "columns", "exclude", "vector", "transpose", "rep", "coordinates"),
        *("missing", "pca", "standardize", "metric"),
    ),
    "Method": (
        *("kind", "perplexity", "method", "exaggeration", "dimensions", "balance", "self_loops", "max_iter", "tol"),
        *("init", "neighbors", "seed"),
    ),
    "Results": (
        *("out", "plot", "html", "save_model", "color", "image", "title", "dpi", "show", "scores", "sample"),
        *("escape_formulas", "force"),
    ),
    "Running": ("jobs", "workers", "dask", "max_memory", "checkpoint", "as_json", "quiet", "debug", "help"),
}


class GroupedCommand(TyperCommand):
    """Command whose help shows its options in the panels listed above, in the order of these lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; errors know the command, so that they can name its help."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each panel."""
        parameters = {str(each.name): each for each in self.get_params(ctx)}
        arguments = [name for name, each in parameters.items() if each.param_type_name == "argument"]
        for panel, names in {"Arguments": arguments, **PANELS}.items():
            records = [parameters[name].get_help_record(ctx) for name in names if name in parameters]
            if shown := [record for record in records if record is not None]:
                with formatter.section(panel):
                    formatter.write_dl(shown)
