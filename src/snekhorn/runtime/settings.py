"""Tell parameters that change a result from those that only decide how it is computed."""

from typing import Any

# Parameters of estimators and affinities that leave the result unchanged, to the last bit.
HOW = frozenset({"callbacks", "checkpoint", "client", "max_memory", "n_jobs", "verbose"})


def settings_of_result(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that determine its result."""
    return {name: value for name, value in model.get_params(deep=False).items() if name not in HOW}
