"""Compiled code does not depend on which process compiled it; nothing needs a cache, or even a compiler."""

import ast
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn, kernels, metrics

MODULES = [
    importlib.import_module(f"{kernels.__name__}.{found.name}") for found in pkgutil.iter_modules(kernels.__path__)
]
FUNCTIONS = {f"{module.__name__}.{name}": f for module in MODULES for name, f in vars(module).items()}
COMPILED = {name: f for name, f in FUNCTIONS.items() if isinstance(f, CPUDispatcher)}

LAYOUTS = """
import hashlib, json
import numpy as np
from snekhorn import TSNE, SNEkhorn, TSNEkhorn

X = np.random.default_rng(0).normal(size=(400, 8))
graph = {"n_neighbors": 30, "method": "fft"}
cases = {
    "graph": (TSNEkhorn, X, graph),
    "dense": (SNEkhorn, X, {"n_neighbors": None, "method": "exact"}),
    "float32": (TSNEkhorn, X.astype(np.float32), graph),
    "line": (TSNE, X, {"n_components": 1, **graph}),
    "space": (TSNEkhorn, X, {"n_components": 3, **graph}),
}
hashes = {}
for name, (kind, points, parameters) in cases.items():
    model = kind(perplexity=10.0, max_iter=30, n_jobs=1, **parameters).fit(points)
    P, placed = model.affinity_, model.transform(points[:20] + np.float32(0.1))
    results = [P.toarray() if hasattr(P, "toarray") else P, model.embedding_, placed]
    hashes[name] = [hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest() for result in results]
print(json.dumps(hashes))
"""

# What Numba has compiled for each function; the file is the first argument.
STORE_SIGNATURES = """
import pickle, sys
from tests.kernels.test_compilation import COMPILED
with open(sys.argv[1], "wb") as file:
    pickle.dump({name: function.signatures for name, function in COMPILED.items()}, file)
"""

COMPILE_BACKWARDS = """
import pickle, sys
from tests.kernels.test_compilation import COMPILED
with open(sys.argv[1], "rb") as file:
    stored = pickle.load(file)
for name in reversed(stored):
    for signature in reversed(stored[name]):
        COMPILED[name].compile(signature)
"""

NO_FOLDER = """
import tempfile

def refuse(*args, **kwargs):
    raise PermissionError("read-only file system")

tempfile.TemporaryFile = refuse  # with which Numba tests whether it may write
"""

IMPORT_AND_RUN = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import snekhorn.metrics
    from snekhorn import TSNEkhorn
from snekhorn.kernels.compilation import CACHE_FOLDER
from snekhorn.kernels.graph_rows import longest_row
assert CACHE_FOLDER is None
assert longest_row(0, 2, np.array([0, 3, 4])) == 3
print(*(f"{warning.filename}: {warning.message}" for warning in caught), sep="\\n")
"""

UNCOMPILED = """
import sys
import numpy as np
from tests.kernels.test_compilation import small_layouts
np.savez(sys.argv[1], **small_layouts())
"""


def small_layouts():
    """Compute affinities, layouts and scores that need every kind of loop, on few points."""
    X = np.random.default_rng(0).normal(size=(24, 4))
    results = {}
    for kind, parameters in (
        (TSNEkhorn, {"n_neighbors": 10, "method": "fft"}),
        (SNEkhorn, {"n_neighbors": None, "method": "exact", "self_loops": True}),
        (TSNE, {"n_components": 1, "method": "fft"}),
        (SNE, {"n_components": 3}),
    ):
        model = kind(perplexity=5.0, max_iter=10, n_jobs=1, **parameters).fit(X)
        P = model.affinity_
        results[f"{kind.__name__} P"] = P.toarray() if hasattr(P, "toarray") else P
        results[f"{kind.__name__} Z"] = model.embedding_
        results[f"{kind.__name__} new"] = model.transform(X[:4] + 0.1)
    results["extended Z"] = TSNEkhorn(perplexity=5.0, max_iter=10).fit(X[:20]).extend(X[20:], max_iter=5).embedding_
    results["scores"] = np.array(list(metrics.evaluate(X, X[:, :2], np.arange(24) % 3).values()), dtype=float)
    return results


def _python(code, *args, **variables):
    """Run code in a new process and return what it prints."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **variables}
    command = [sys.executable, "-c", code, *map(str, args)]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_function_contains_all_that_it_calls(name):
    function = COMPILED[name].py_func
    called = {other: function.__globals__.get(other) for other in function.__code__.co_names}
    outside = [
        other
        for other, callee in called.items()
        if isinstance(callee, CPUDispatcher) and not callee.targetoptions.get("forceinline")
    ]
    assert not outside, "calls that are not inlined use whichever copy the process has loaded first; use @inlined"


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_function_inherits_no_option(name):
    function = COMPILED[name]
    assert "fastmath" in function.targetoptions, "the first caller would decide; use the decorators of compilation.py"
    used = {type(node) for node in ast.walk(ast.parse(inspect.getsource(function.py_func)))}
    assert ast.Pow not in used, (
        "Numba compiles ** with the options of the function that uses it first; multiply instead"
    )


@pytest.mark.slow
def test_the_process_that_compiles_gives_the_same_bits_as_later_ones_in_any_order(tmp_path):
    signatures, folder = tmp_path / "signatures.pkl", {"NUMBA_CACHE_DIR": str(tmp_path / "forwards")}
    compiling = json.loads(_python(LAYOUTS + STORE_SIGNATURES, signatures, **folder))
    loading = json.loads(_python(LAYOUTS, **folder))
    folder = {"NUMBA_CACHE_DIR": str(tmp_path / "backwards")}
    backwards = json.loads(_python(COMPILE_BACKWARDS + LAYOUTS, signatures, **folder))
    assert compiling == loading == backwards


def test_without_a_writable_folder_code_is_compiled_but_not_kept():
    said = _python(NO_FOLDER + IMPORT_AND_RUN).splitlines()
    assert len(said) == 1
    assert said[0].startswith("<string>: compiled code cannot be kept")
    assert "set NUMBA_CACHE_DIR to a writable folder" in said[0]


def test_without_the_compiler_functions_run_slowly():
    said = _python(IMPORT_AND_RUN, NUMBA_DISABLE_JIT="1").splitlines()
    assert len(said) == 1
    assert said[0].startswith("<string>: NUMBA_DISABLE_JIT is set")


@pytest.mark.filterwarnings("ignore")
def test_uncompiled_functions_compute_the_same(tmp_path):
    _python(UNCOMPILED, tmp_path / "found.npz", NUMBA_DISABLE_JIT="1")
    found = np.load(tmp_path / "found.npz")
    for name, wanted in small_layouts().items():
        tolerance = 1e-3 if name.endswith(("Z", "new")) else 1e-9  # fields on the grid are in single precision
        np.testing.assert_allclose(found[name], wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max(), err_msg=name)
