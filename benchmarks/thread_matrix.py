"""Check that results are identical bit for bit for any number of threads, and in processes with other BLAS threads.

    python -m benchmarks.thread_matrix             # about an hour on two cores
    python -m benchmarks.thread_matrix --sizes 500

Every method is fitted to count, binary, integer, duplicated, float32 and float64 data with each number of jobs, and
places new points. Only the public interface is used. The exit code is 1 if any results differ.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn

from .fingerprints import digest

METHODS = (TSNEkhorn, SNEkhorn, TSNE, SymmetricSNE, SNE)
JOBS = (1, 2, 3, 4, 7)
SIZES = (500, 5000, 40_000)  # all pairs, exact neighbours, and neighbours in nearby clusters
ENVIRONMENTS = (("1", "1"), ("3", "2"), ("2", "7"))  # numbers of threads of OpenMP and of BLAS
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
NEW_POINTS = 200


def data(n: int) -> dict[str, np.ndarray]:
    """Draw data whose distances tie, nearly tie, or do not."""
    rng = np.random.default_rng(0)
    return {
        "count": rng.poisson(1.0, (n, 30)).astype(float),
        "binary": rng.integers(0, 2, (n, 24)).astype(float),
        "integer": rng.integers(0, 9, (n, 10)).astype(float),
        "duplicated": np.repeat(rng.normal(size=(n // 5, 12)), 5, axis=0),
        "float32": rng.normal(size=(n, 20)).astype(np.float32),
        "float64": rng.normal(size=(n, 20)),
    }


def fingerprint(kind: Any, X: np.ndarray, n_jobs: int) -> str:
    """Return a hash of a layout, of its affinity and of new points placed in it."""
    few = len(X) <= min(SIZES)
    model = kind(perplexity=10.0, max_iter=20 if few else 6, n_neighbors=None if few else "auto", n_jobs=n_jobs).fit(X)
    new = model.transform(np.concatenate([X[:NEW_POINTS] + X.dtype.type(0.1), X[-NEW_POINTS:]]))
    return digest([model.embedding_, model.affinity_, model.kl_divergence_, new])


def compute(sizes: list[int], jobs: list[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of every case, and its hash for each number of jobs."""
    for n in sizes:
        for name, X in data(n).items():
            for kind in METHODS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    yield f"{kind.__name__}, {name}, {n}", [fingerprint(kind, X, n_jobs) for n_jobs in jobs]


def compute_elsewhere(sizes: list[int], openmp: str, blas: str) -> dict[str, str]:
    """Return the hashes from a process whose libraries have these numbers of threads."""
    code = [sys.executable, "-m", __spec__.name, "--print", "--jobs", "2", "--sizes", *map(str, sizes)]
    threads = {"OMP_NUM_THREADS": openmp, **dict.fromkeys(BLAS, blas)}
    done = subprocess.run(code, env={**os.environ, **threads}, stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thread_matrix", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of points")
    parser.add_argument("--jobs", type=int, nargs="+", default=JOBS, help="numbers of threads")
    parser.add_argument("--print", action="store_true", help="only print the hashes for the first number of jobs")
    arguments = parser.parse_args()
    hashes, differing = {}, []
    for name, found in compute(arguments.sizes, arguments.jobs):
        hashes[name] = found[0]
        if len(set(found)) > 1:
            differing.append(f"{name}: jobs")
        print(name, *found, file=sys.stderr, flush=True)
    if arguments.print:
        print(json.dumps(hashes))
        return 0
    for openmp, blas in ENVIRONMENTS:
        elsewhere = compute_elsewhere(arguments.sizes, openmp, blas)
        differing += [f"{name}: OMP {openmp}, BLAS {blas}" for name in hashes if elsewhere[name] != hashes[name]]
    print(f"{len(hashes)} cases, {len(differing)} differ", *differing, sep="\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
