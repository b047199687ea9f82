"""Issue warnings that point to the user's line of code, not to a line inside the package."""

import inspect
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the first caller outside the package and outside the modules that wrap it."""
    # scikit-learn wraps the methods of estimators, and `contextlib` wraps `fit` to keep libraries on one thread.
    inside = (__name__.split(".")[0], "sklearn", "importlib", "contextlib")
    frame = inspect.currentframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in inside:
        level += "importlib._bootstrap" not in frame.f_code.co_filename  # `warnings` does not count these frames
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
