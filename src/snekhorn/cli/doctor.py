"""snekhorn doctor: is everything in order?"""

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
from .session import session

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "pyarrow", "matplotlib", "typer", "tqdm")
EXTRAS = ("anndata", "scanpy", "pandas", "polars")


def doctor(*, as_json: options.Json = False, quiet: options.Quiet = False) -> None:
    """Show versions, threads and the state of the compiled code, and lay out a few points as a test."""
    with session(as_json=as_json, quiet=quiet) as run:
        from ..runtime.execution import count_threads
        from ..runtime.memory import GIB, available_bytes

        memory = available_bytes()
        facts: dict[str, Any] = {
            "snekhorn": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: _version(name) for name in (*PACKAGES, *EXTRAS)},
            "threads": count_threads(None),
            "memory_available_gib": None if memory is None else round(memory / GIB, 1),
            "compiled": compiled(),
        }
        with run.stage("test", "laying out 400 points"):
            facts["test"] = _self_test()
        run.result(facts, _text(facts))
        if not facts["test"]["passed"]:
            raise typer.Exit(1)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def compiled() -> dict[str, Any]:
    """Where numba keeps compiled code, and how much there is."""
    from ..kernels import symmetric_sums as symmetric

    kernel: Any = symmetric.dense_terms
    folder = Path(kernel._cache.cache_path)  # beside the package, or where NUMBA_CACHE_DIR says
    files = list(folder.glob("*.nbc"))
    return {"folder": str(folder), "functions": len(files), "megabytes": round(_size(files) / 1e6, 1)}


def _size(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _self_test() -> dict[str, Any]:
    """Three clusters in ten dimensions: the layout must keep them, twice the same."""
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
    return "\n".join(
        [
            f"snekhorn {facts['snekhorn']}, Python {facts['python']} ({sys.executable}), {facts['platform']}",
            *packages,
            f"threads: {facts['threads']}; memory available: {facts['memory_available_gib']} GiB",
            f"compiled code: {state} in {compiled['folder']}",
            f"test: {'passed' if test['passed'] else 'FAILED'} in {test['seconds']} s "
            f"(accuracy {test['knn_accuracy']:.3f}, same bits twice: {'yes' if test['same_twice'] else 'no'})",
        ]
    )
