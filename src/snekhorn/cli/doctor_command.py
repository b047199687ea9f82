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

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "pyarrow", "matplotlib", "typer", "tqdm")
EXTRAS = ("anndata", "scanpy", "pandas", "polars")


def doctor(*, as_json: options.Json = False, quiet: options.Quiet = False, debug: options.Debug = False) -> None:
    """Show versions, threads, memory and the state of the compiled code, and compute a small layout as a test."""
    with session(as_json=as_json, quiet=quiet, debug=debug) as run:
        from ..runtime.execution import choose_execution
        from ..runtime.memory import GIB, available_bytes

        memory = available_bytes()
        facts: dict[str, Any] = {
            "snekhorn": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: _version(name) for name in (*PACKAGES, *EXTRAS)},
            "threads": choose_execution(None).n_threads,
            "memory_available_gib": None if memory is None else round(memory / GIB, 1),
            "compiled": compiled_code(),
        }
        with run.stage("test", "computing the layout of 400 points"):
            facts["test"] = _self_test()
        run.result(facts, _text(facts))
        if not facts["test"]["passed"]:
            raise typer.Exit(BUG)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def compiled_code() -> dict[str, Any]:
    """Return the folder in which Numba caches compiled code, and how much it contains."""
    from ..kernels.arithmetic import fast_exp

    folder = fast_exp.stats.cache_path  # next to the package, or in NUMBA_CACHE_DIR; None if neither is writable
    files = [] if folder is None else list(Path(folder).glob("*.nbc"))
    size = sum(file.stat().st_size for file in files)
    return {"folder": folder, "functions": len(files), "megabytes": round(size / 1e6, 1)}


def _self_test() -> dict[str, Any]:
    """Lay out three ten-dimensional clusters twice: they must stay apart, and the layouts must be identical."""
    import numpy as np

    from .. import TSNEkhorn
    from ..metrics import evaluate

    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 10)) + 8.0 * np.eye(10)[y]
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
    compiled, test = facts["compiled"], facts["test"]
    state = f"{compiled['functions']} functions, {compiled['megabytes']} MB" if compiled["functions"] else "none yet"
    memory = facts["memory_available_gib"]
    return "\n".join(
        [
            f"snekhorn {facts['snekhorn']}, Python {facts['python']} ({sys.executable}), {facts['platform']}",
            *packages,
            f"threads: {facts['threads']}; available memory: {'unknown' if memory is None else f'{memory} GiB'}",
            f"compiled code: {state} in {compiled['folder']}",
            f"test: {'passed' if test['passed'] else 'FAILED'} in {test['seconds']} s "
            f"(accuracy {test['knn_accuracy']:.3f}, reproducible: {'yes' if test['same_twice'] else 'no'})",
        ]
    )
