"""The memory estimated before a fit is about what the process takes."""

import json
import subprocess
import sys

import pytest

FIT = """
import json
import numpy as np
from pathlib import Path
from snekhorn import TSNEkhorn
from snekhorn.estimators import resources
from snekhorn.runtime.memory import used_bytes

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 10))[rng.integers(100, size={n})] * 3.0 + rng.normal(size=({n}, 10))
X = (X @ rng.normal(size=(10, 50))).astype(np.float32) + 0.1 * rng.normal(size=({n}, 50)).astype(np.float32)
TSNEkhorn(max_iter=1, method="fft", n_neighbors=45).fit(X[:4000])  # imports and compiled code do not count
estimates, require = [], resources.require_memory
resources.require_memory = lambda needed, *args: (estimates.append(used_bytes() + needed), require(needed, *args))
Path("/proc/self/clear_refs").write_text("5")  # what was the peak so far no longer counts
model = TSNEkhorn(max_iter=110, max_memory={max_memory!r}).fit(X)
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
print(json.dumps([estimates[0], peak, model.kl_divergence_]))
"""


def _fit(n, max_memory=None):
    command = [sys.executable, "-W", "ignore", "-c", FIT.format(n=n, max_memory=max_memory)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the peak")
def test_the_estimate_is_about_the_peak_and_less_memory_gives_the_same_layout():
    estimate, peak, divergence = _fit(100_000)
    assert estimate == pytest.approx(peak, rel=0.15)
    limit = int(0.9 * estimate)  # too little for the weights of edges
    lower_estimate, lower_peak, same = _fit(100_000, limit)
    assert lower_estimate == pytest.approx(lower_peak, rel=0.15)
    assert lower_peak < min(1.1 * limit, peak)
    assert same == divergence
