"""Hash the results of the library, to check that a change of the code leaves every bit unchanged.

    python -m benchmarks.fingerprints --out before.json
    python -m benchmarks.fingerprints --compare before.json after.json

Only the public interface is used, so the same script runs on two versions of the code. Hashes are comparable only on
the same machine with the same dependencies.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

import snekhorn
from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn, affinities, metrics

METHODS = (TSNEkhorn, SNEkhorn, TSNE, SymmetricSNE, SNE)
AFFINITIES = {
    "gaussian": lambda **p: affinities.GaussianAffinity(perplexity=12.0, **p),
    "self-tuning": lambda **p: affinities.SelfTuningAffinity(**p),
    "entropic": lambda **p: affinities.EntropicAffinity(12.0, **p),
    "symmetrized": lambda **p: affinities.EntropicAffinity(12.0, symmetrize=True, **p),
    "doubly-stochastic": lambda **p: affinities.DoublyStochasticAffinity(perplexity=12.0, **p),
    "symmetric-entropic": lambda **p: affinities.SymmetricEntropicAffinity(12.0, **p),
    "multiscale": lambda **p: affinities.MultiscaleSymmetricEntropicAffinity((8.0, 16.0), **p),
}
Case = Callable[[], Any]


def groups(n: int, p: int = 6, seed: int = 0) -> np.ndarray:
    """Draw three Gaussians whose spreads differ by a factor of 15."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 3
    return np.array([0.2, 1.0, 3.0])[label, None] * rng.normal(size=(n, p)) + 4.0 * label[:, None]


def hubs(n: int) -> np.ndarray:
    """Draw heavy-tailed points in many dimensions, some of which are neighbours of many others."""
    return np.random.default_rng(1).standard_t(3, size=(n, 40))


def digest(value: Any) -> str:
    """Return a hash of arrays, sparse matrices and numbers, including their types and shapes."""
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()[:16]


def _feed(found: Any, value: Any) -> None:
    if sparse.issparse(value):
        value = value.tocsr()
        _feed(found, [value.data, value.indices.astype(np.int64), value.indptr.astype(np.int64)])
    elif isinstance(value, np.ndarray):
        found.update(f"{value.dtype}{value.shape}".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        for item in value:
            _feed(found, item)
    elif isinstance(value, dict):
        for key in sorted(value):
            _feed(found, [key, value[key]])
    else:
        found.update(repr(value).encode())


def affinity_cases() -> Iterator[tuple[str, Case]]:
    """Yield every affinity, dense and on a graph, with and without self-loops, in both precisions."""
    X = groups(240)
    for name, make in AFFINITIES.items():
        for form, n_neighbors in (("dense", None), ("graph", 40)):
            for loops in (True, False):
                yield f"P {name}, {form}, loops {loops}", _affinity(make, X, n_neighbors=n_neighbors, self_loops=loops)
    for name in ("entropic", "symmetric-entropic", "doubly-stochastic"):
        for form, n_neighbors in (("dense", None), ("graph", "auto")):
            X32 = X.astype(np.float32)
            yield f"P {name}, {form}, float32", _affinity(AFFINITIES[name], X32, n_neighbors=n_neighbors)
            for jobs in (1, 3):
                many = groups(1500)
                case = _affinity(AFFINITIES[name], many, n_neighbors=n_neighbors, n_jobs=jobs)
                yield f"P {name}, {form}, jobs {jobs}", case
    for metric in ("euclidean", "cosine", "manhattan", "seuclidean", "mahalanobis"):
        for form, n_neighbors in (("dense", None), ("graph", 40)):
            case = _affinity(AFFINITIES["symmetric-entropic"], X + 1.0, metric=metric, n_neighbors=n_neighbors)
            yield f"P metric {metric}, {form}", case
    graph = {"n_neighbors": "auto", "self_loops": True}
    yield "P hubs, graph", _affinity(AFFINITIES["symmetric-entropic"], hubs(3000), **graph)
    yield "P hubs, no loops", _affinity(AFFINITIES["symmetric-entropic"], hubs(800), self_loops=False)
    C = ((X[:, None] - X) ** 2).sum(axis=2)
    for form, n_neighbors in (("dense", None), ("graph", 40)):
        case = _affinity(AFFINITIES["symmetric-entropic"], C, metric="precomputed", n_neighbors=n_neighbors)
        yield f"P precomputed, {form}", case
    near = sparse.csr_matrix(np.where(np.argsort(np.argsort(C, axis=1), axis=1) < 40, C, 0.0))
    yield "P precomputed graph", _affinity(AFFINITIES["symmetric-entropic"], near, metric="precomputed")
    thin = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    yield "P sparse points", _affinity(AFFINITIES["symmetric-entropic"], thin, n_neighbors=40)
    for solver in ("adam", "sgd", "lbfgs"):
        make = affinities.SymmetricEntropicAffinity
        yield f"P solver {solver}", lambda s=solver, m=make: m(12.0, solver=s, max_iter=60).fit_transform(X)
    yield "P large graph", _affinity(AFFINITIES["symmetric-entropic"], groups(110_000, 4), n_neighbors=15)


def _affinity(make: Callable[..., Any], X: Any, **parameters: Any) -> Case:
    def case() -> Any:
        affinity = make(**parameters).fit(X)
        names = ("bandwidths_", "bandwidth_", "marginal_dual_", "entropy_dual_", "potential_", "perplexity_")
        duals = {name: getattr(affinity, name) for name in names if hasattr(affinity, name)}
        return [affinity.affinity_, duals, affinity.report_.n_passes, affinity.report_.converged]

    return case


def layout_cases() -> Iterator[tuple[str, Case]]:
    """Yield every method, exact and on the grid, with different inits, optimisers, dimensions, dtypes and threads."""
    X, digits = groups(240), load_digits().data
    for kind in METHODS:
        for method in ("exact", "fft"):
            yield f"Z {kind.__name__}, {method}", _layout(kind, X, method=method)
        yield f"Z {kind.__name__}, float32", _layout(kind, X.astype(np.float32), n_neighbors=40)
        yield f"Z {kind.__name__}, loops", _layout(kind, X, self_loops=True, latent_self_loops=False)
        yield f"Z {kind.__name__}, adam", _layout(kind, X, optimizer="adam", learning_rate=0.2)
        yield f"Z {kind.__name__}, 1 dimension", _layout(kind, X, n_components=1, method="fft")
    yield "Z 3 dimensions", _layout(TSNEkhorn, X, n_components=3)
    for init in ("random", "spectral"):
        yield f"Z init {init}", _layout(TSNEkhorn, X, init=init, random_state=3)
    yield "Z exaggeration", _layout(TSNEkhorn, X, exaggeration=1.7)
    yield "Z fine rows of Q", _layout(TSNEkhorn, X, marginal_tol=1e-7, method="fft")
    for jobs in (1, 2, 3):
        yield f"Z digits, jobs {jobs}", _layout(TSNEkhorn, digits, perplexity=30.0, max_iter=300, n_jobs=jobs)
    yield "Z large", _layout(TSNEkhorn, groups(24_000, 8), perplexity=10.0, max_iter=120)
    yield "Z clusters", _layout(TSNEkhorn, groups(34_000, 8), perplexity=5.0, max_iter=60, new=50)
    for name in ("gaussian", "symmetrized", "multiscale"):
        yield f"Z of {name}", _layout(TSNEkhorn, X, affinity=AFFINITIES[name]())
    P = AFFINITIES["symmetrized"](n_neighbors=40).fit_transform(X)
    yield "Z precomputed P", lambda: TSNEkhorn(affinity="precomputed", max_iter=100).fit_transform(P)
    for metric in ("cosine", "manhattan", "mahalanobis"):
        yield f"Z metric {metric}", _layout(TSNEkhorn, X + 1.0, metric=metric)
    yield "scores", lambda: metrics.evaluate(X, X[:, :2], np.arange(240) % 3)


def _layout(kind: Any, X: Any, *, new: int = 40, **parameters: Any) -> Case:
    def case() -> Any:
        model = kind(**{"perplexity": 12.0, "max_iter": 150, **parameters}).fit(X)
        placed = model.transform(X[:new] + np.float32(0.05))
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.npz")
            again = snekhorn.load(Path(folder) / "model.npz")
        same = again.transform(X[:new] + np.float32(0.05))
        potential = getattr(model, "potential_", None)
        return [model.embedding_, model.affinity_, potential, model.kl_divergence_, model.report_.losses, placed, same]

    return case


def compute(pattern: str) -> dict[str, str]:
    """Return the hash of every case whose name contains the pattern."""
    found = {}
    for name, case in (*affinity_cases(), *layout_cases()):
        if pattern in name:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found[name] = digest(case())
                except FloatingPointError:  # an error is also an outcome that must not change
                    found[name] = FloatingPointError.__name__
            print(name, found[name], file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fingerprints", description=__doc__)
    parser.add_argument("--out", type=Path, help="file to write the hashes to")
    parser.add_argument("--only", default="", help="compute only the cases whose names contain this text")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"), help="compare two such files")
    arguments = parser.parse_args()
    if arguments.compare:
        before, after = (json.loads(path.read_text()) for path in arguments.compare)
        differing = [name for name in before if after.get(name, before[name]) != before[name]]
        absent = [name for name in before if name not in after]
        print(f"{len(before)} cases, {len(differing)} differ, {len(absent)} absent", *differing, *absent, sep="\n")
        raise SystemExit(bool(differing or absent))
    hashes = compute(arguments.only)
    text = json.dumps(hashes, indent=1) + "\n"
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
