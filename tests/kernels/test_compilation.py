"""Compiled code does not depend on which process compiled it."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys

import pytest
from numba.core.registry import CPUDispatcher

from snekhorn import kernels

MODULES = [
    importlib.import_module(f"{kernels.__name__}.{found.name}") for found in pkgutil.iter_modules(kernels.__path__)
]
FUNCTIONS = {f"{module.__name__}.{name}": f for module in MODULES for name, f in vars(module).items()}
COMPILED = {name: f for name, f in FUNCTIONS.items() if isinstance(f, CPUDispatcher)}

LAYOUTS = """
import hashlib, json, sys
import numpy as np
from snekhorn import SNEkhorn, TSNEkhorn

X = np.random.default_rng(0).normal(size=(400, 8))
graph = {"n_neighbors": 30, "method": "fft"}
cases = {
    "graph": (TSNEkhorn, X, graph),
    "dense": (SNEkhorn, X, {"n_neighbors": None, "method": "exact"}),
    "float32": (TSNEkhorn, X.astype(np.float32), graph),
}
names = sorted(cases, reverse="reversed" in sys.argv)
hashes = {}
for name in names:
    kind, points, parameters = cases[name]
    model = kind(perplexity=10.0, max_iter=30, n_jobs=1, **parameters).fit(points)
    P, placed = model.affinity_, model.transform(points[:20] + np.float32(0.1))
    results = [P.toarray() if hasattr(P, "toarray") else P, model.embedding_, placed]
    hashes[name] = [hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest() for result in results]
print(json.dumps(hashes))
"""


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


@pytest.mark.slow
def test_the_process_that_compiles_gives_the_same_bits_as_later_ones(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    found = []
    for order in ("sorted", "sorted", "reversed"):
        command = [sys.executable, "-c", LAYOUTS, order]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(run.stdout.splitlines()[-1]))
    compiling, loading, reverse = found
    assert compiling == loading
    assert compiling == reverse
