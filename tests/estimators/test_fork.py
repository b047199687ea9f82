"""A process that has fitted may fork, as joblib, multiprocessing and test runners do."""

import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, sys, warnings
import numpy as np
from scipy import sparse
from snekhorn import TSNEkhorn
from snekhorn.geometry import neighbor_index, neighbor_search
warnings.simplefilter("ignore")
if sys.argv[1] == "clusters":
    neighbor_index.EXACT_INDEX_LIMIT = neighbor_search.EXACT_SEARCH_LIMIT = 100
X = np.random.default_rng(0).normal(size=(3200, 8))
metric = "manhattan" if sys.argv[1] == "manhattan" else "sqeuclidean"
if metric == "manhattan":
    X = sparse.csr_matrix(X[:800])

def fit():
    model = TSNEkhorn(perplexity=8.0, n_neighbors="auto", metric=metric, max_iter=5, n_jobs=2).fit(X)
    return float(model.embedding_.sum() + model.transform(X[:300] * 1.1).sum())

def child():
    print(fit())

print(fit())
sys.stdout.flush()
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.parametrize("search", ["exact", "clusters", "manhattan"])
def test_a_fit_in_a_fork_after_a_fit(search):
    code = [sys.executable, "-W", "ignore", "-c", SCRIPT, search]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # also ends the fork, which would wait for ever
            pytest.fail("the fit in the fork hangs")
    parent, child = said.split()
    assert parent == child
