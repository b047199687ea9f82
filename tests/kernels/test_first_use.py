"""A first use compiles each kernel once, and no kernel that it does not need."""

import json
import os
import subprocess
import sys

import pytest

FIRST_USE = """
import json
import numpy as np
from numba.core.registry import CPUDispatcher
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.kernels import bandwidth_search, row_masses, squared_distances, symmetric_sums

X = np.random.default_rng(0).normal(size=(1000, 20))
for self_loops in (True, False):
    for affinity in (SymmetricEntropicAffinity, EntropicAffinity):
        affinity(n_neighbors="auto", self_loops=self_loops, n_jobs=1).fit(X)
modules = (bandwidth_search, row_masses, squared_distances, symmetric_sums)
kernels = [k for module in modules for k in vars(module).items()]
signatures = {name: len(k.signatures) for name, k in kernels if isinstance(k, CPUDispatcher)}
print(json.dumps(signatures))
"""


@pytest.mark.slow
def test_a_first_sparse_use_compiles_every_kernel_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", FIRST_USE], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    used = {name: count for name, count in found.items() if count}
    assert {"graph_rows", "graph_terms", "graph_weights", "graph_product", "graph_affinity", "graph_masses"} <= set(
        used
    )
    assert max(used.values()) == 1, used
    assert not any(name.startswith("dense") for name in used)
