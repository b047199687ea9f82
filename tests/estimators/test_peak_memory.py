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
TSNEkhorn(max_iter=110, max_memory={max_memory!r}).fit(X)
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
print(json.dumps([estimates[0], peak]))
"""


def _fit(max_memory=None):
    """Fit in a new process; return the estimate and the peak, or the error."""
    command = [sys.executable, "-W", "ignore", "-c", FIT.format(n=100_000, max_memory=max_memory)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the peak")
def test_the_estimate_is_about_the_peak_and_a_limit_below_it_is_refused():
    estimate, peak = _fit()
    assert estimate == pytest.approx(peak, rel=0.15)
    assert "GiB in use, but max_memory=" in _fit(int(0.8 * estimate))
