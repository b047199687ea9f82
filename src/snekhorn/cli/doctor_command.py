"""snekhorn doctor: check the installation."""

from __future__ import annotations

import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from .. import __version__
from . import options
from .session import BUG, session

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "matplotlib", "typer", "tqdm")
EXTRAS = ("anndata", "scanpy", "pandas", "polars")
TEST_POINTS = 400
FEW_TEST_POINTS = 36  # if the code is not compiled; more take minutes


def doctor(*, printing: options.PrintOptions) -> None:
    """Check the installation.

    The command shows versions, threads, memory and the state of the compiled
    code, and computes a small layout as a test.
    """
    with session(**vars(printing)) as run:
        from ..runtime.execution import choose_execution
        from ..runtime.memory import GIB, memory_limits

        limits = {name: round(left / GIB, 1) for name, left in memory_limits().items()}
        facts: dict[str, Any] = {
            "snekhorn": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: _version(name) for name in (*PACKAGES, *EXTRAS)},
            "threads": choose_execution(None).n_threads,
            "memory_available_gib": min(limits.values(), default=None),
            "memory_limits_gib": limits,
            "compiled": compiled_code(),
        }
        n = TEST_POINTS if facts["compiled"]["enabled"] else FEW_TEST_POINTS
        with run.stage("test", f"computing the layout of {n} points"):
            facts["test"] = _self_test(n)
        run.result(facts, _text(facts))
        if not facts["test"]["passed"]:
            raise typer.Exit(BUG)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def compiled_code() -> dict[str, Any]:
    """Return whether the code is compiled, the folder in which it is kept, and how much the folder contains."""
    from ..kernels.compilation import CACHE_FOLDER, IS_COMPILED

    files = [] if CACHE_FOLDER is None else list(Path(CACHE_FOLDER).glob("*.nbc"))
    size = sum(file.stat().st_size for file in files)
    return {
        "enabled": IS_COMPILED,
        "folder": CACHE_FOLDER,
        "functions": len(files),
        "megabytes": round(size / 1e6, 1),
    }


def _self_test(n: int) -> dict[str, Any]:
    """Lay out three ten-dimensional clusters twice: they must stay apart, and the layouts must be identical."""
    import numpy as np

    from .. import TSNEkhorn
    from ..metrics import evaluate

    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 10)) + 8.0 * np.eye(10)[y]
    start = time.perf_counter()
    model = TSNEkhorn(max_iter=300, tol=1e-3)
    Z = model.fit_transform(X)
    seconds = time.perf_counter() - start
    scores = evaluate(X, Z, y)
    same = bool(np.array_equal(Z, model.fit_transform(X)))
    passed = same and scores["knn_accuracy"] > 0.99
    return {"passed": passed, "seconds": round(seconds, 2), "same_twice": same, "knn_accuracy": scores["knn_accuracy"]}


def _text(facts: dict[str, Any]) -> str:
    packages = [f"  {name:14}{found or 'not installed'}" for name, found in facts["packages"].items()]
    test = facts["test"]
    memory = ", ".join(f"{left} GiB ({name})" for name, left in facts["memory_limits_gib"].items())
    return "\n".join(
        [
            f"snekhorn {facts['snekhorn']}, Python {facts['python']} ({sys.executable}), {facts['platform']}",
            *packages,
            f"threads: {facts['threads']}; available memory: {memory or 'unknown'}",
            f"compiled code: {_state(facts['compiled'])}",
            f"test: {'passed' if test['passed'] else 'FAILED'} in {test['seconds']} s "
            f"(accuracy {test['knn_accuracy']:.3f}, reproducible: {'yes' if test['same_twice'] else 'no'})",
        ]
    )


def _state(compiled: dict[str, Any]) -> str:
    if not compiled["enabled"]:
        return "none, because NUMBA_DISABLE_JIT is set; unset it"
    if compiled["folder"] is None:
        return "not kept, because no folder for it is writable; set NUMBA_CACHE_DIR to a writable folder"
    amount = f"{compiled['functions']} functions, {compiled['megabytes']} MB" if compiled["functions"] else "none yet"
    return f"{amount} in {compiled['folder']}"
