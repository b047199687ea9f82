"""Beside the peers: TorchDR for the symmetric entropic affinity, openTSNE and scikit-learn for the ordinary one."""

import time
from importlib.util import find_spec

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.affinities.affinity import row_entropies
from snekhorn.geometry.neighbor_search import find_neighbors

from .data import load
from .measure import N_THREADS, best_of, figure, floor_rows, fresh, gaps, markdown, recall, say

PERPLEXITY = 30
N_NEIGHBORS = 90
REPEATS = 5

DATA = ("SNAREseq", "COIL-20", "scGEM")
SETTINGS = {
    "Adam, rate 0.1, 500 iterations": {},  # its defaults
    "Adam, rate 0.03, 5,000 iterations": {"lr": 0.03, "max_iter": 5000},
    "Adam, rate 0.01, 5,000 iterations": {"lr": 0.01, "max_iter": 5000},
    "L-BFGS, at most 500 iterations": {"optimizer": "LBFGS", "lr": 1.0, "max_iter": 500},
}
DEFAULTS = ("Adam, rate 0.1, 500 iterations",)
LONG_CASE = ("SNAREseq", True)  # where every setting is tried: 5,000 iterations take minutes
QUICK_DATA = ("scGEM",)


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """Symmetric entropic affinities on three sets, entropic ones on MNIST."""
    symmetric = []
    for name in QUICK_DATA if quick else DATA:
        for self_loops in (True, False):
            case = {"data": name, "self_loops": self_loops}
            symmetric.append({**case, "tool": "snekhorn", **fresh(solve_ours, **case)})
            whole = not quick and (name, self_loops) == LONG_CASE
            for setting in (SETTINGS if whole else DEFAULTS) if find_spec("torchdr") else ():
                result = fresh(solve_torchdr, **case, setting=setting)
                symmetric.append({**case, "tool": f"TorchDR, {setting}", **result})
            say(f"peers: {name}, self-loops {self_loops}")
    entropic = []
    for tool in TOOLS if find_spec("openTSNE") else ("snekhorn", "scikit-learn"):
        entropic.append({"tool": tool, **fresh(solve_entropic, tool=tool, n=5000 if quick else None)})
        say(f"peers: entropic, {tool}")
    installed = {tool: find_spec(module) is not None for tool, module in (("TorchDR", "torchdr"), ("openTSNE",) * 2)}
    return {"installed": installed, "symmetric": symmetric, "entropic": entropic}


def solve_ours(data: str, *, self_loops: bool) -> dict:
    """Our symmetric entropic affinity with default parameters, compiled code warm."""
    X = load(data)
    affinity = SymmetricEntropicAffinity(PERPLEXITY, self_loops=self_loops, n_jobs=N_THREADS)
    affinity.fit(X)
    seconds, _ = best_of(REPEATS, lambda: affinity.fit(X))
    report = affinity.report_
    at_floor = floor_rows(report, affinity.entropy_dual_)
    return {
        "n": X.shape[0],
        "seconds": seconds,
        "passes": report.n_passes,
        **gaps(affinity.affinity_, PERPLEXITY, at_floor),
        "floor_rows": int(at_floor.sum()),
        "outcome": report.reason,
    }


def solve_torchdr(data: str, *, self_loops: bool, setting: str) -> dict:
    """TorchDR's: the same data in the same precision, the gaps from the matrix that it returns."""
    import torch
    import torchdr

    torch.set_num_threads(N_THREADS)
    X = load(data)
    affinity = torchdr.SymmetricEntropicAffinity(PERPLEXITY, zero_diag=not self_loops, **SETTINGS[setting])
    start = time.perf_counter()
    try:
        P = affinity(X).detach().numpy() * X.shape[0]  # it divides by n
    except ValueError as error:
        if "NaN" not in str(error):
            raise
        return {"n": X.shape[0], "seconds": time.perf_counter() - start, "outcome": "NaN, raised as an error"}
    seconds = time.perf_counter() - start
    worst = gaps(P, PERPLEXITY, np.zeros(X.shape[0], dtype=bool))
    passes = int(affinity.n_iter_) + 1 if affinity.optimizer == "Adam" else None  # L-BFGS does not tell
    reached = all(gap <= affinity.tol for gap in worst.values())
    outcome = f"below its tolerance, {affinity.tol:g}" if reached else "not converged"
    return {"n": X.shape[0], "seconds": seconds, "passes": passes, **worst, "outcome": outcome}


def solve_entropic(tool: str, n: int | None) -> dict:
    """Entropic affinity symmetrised as t-SNE does, on the exact neighbours and end to end."""
    X = load("MNIST", n, dtype=np.float32)
    exact = find_neighbors(X, N_NEIGHBORS, "sqeuclidean", N_THREADS, approximate=False)
    same, everything = TOOLS[tool]
    seconds, entropies = same(exact)
    gap = float(np.abs(entropies - np.log(PERPLEXITY) - 1.0).max())
    end_to_end, found = everything(X)
    cell = {"n": X.shape[0], "seconds": seconds, "entropy_gap": gap}
    return {**cell, "end_to_end": end_to_end, "recall": recall(found, exact.indices)}


def _ours_same(exact):
    pair = (exact.indices, exact.costs)
    rows, joint = (
        EntropicAffinity(PERPLEXITY, symmetrize=s, self_loops=False, metric="precomputed", n_jobs=N_THREADS)
        for s in (False, True)
    )
    entropies = row_entropies(rows.fit(pair).affinity_.astype(float))
    return best_of(REPEATS, lambda: joint.fit(pair))[0], entropies


def _ours_all(X):
    rows, joint = (
        EntropicAffinity(PERPLEXITY, symmetrize=s, self_loops=False, n_neighbors=N_NEIGHBORS, n_jobs=N_THREADS)
        for s in (False, True)
    )
    found = rows.fit(X).affinity_.indices.reshape(X.shape[0], N_NEIGHBORS)
    return best_of(2, lambda: joint.fit(X))[0], found


def _sklearn_same(exact):
    from sklearn.manifold._t_sne import _joint_probabilities_nn
    from sklearn.manifold._utils import _binary_search_perplexity

    n, k = exact.indices.shape
    parts = (exact.costs.ravel(), exact.indices.ravel(), np.arange(0, n * k + 1, k))
    graph = sparse.csr_array(parts, shape=(n, n))
    seconds, _ = best_of(2, lambda: _joint_probabilities_nn(graph, PERPLEXITY, 0))
    return seconds, row_entropies(np.asarray(_binary_search_perplexity(exact.costs, PERPLEXITY, 0)))


def _sklearn_all(X):
    """The steps of TSNE before its optimisation."""
    from sklearn.manifold._t_sne import _joint_probabilities_nn

    def compute():
        graph = NearestNeighbors(n_neighbors=N_NEIGHBORS, n_jobs=N_THREADS).fit(X).kneighbors_graph(mode="distance")
        graph.data **= 2
        found = graph.indices.reshape(X.shape[0], N_NEIGHBORS).copy()
        _joint_probabilities_nn(graph, PERPLEXITY, 0)
        return found

    return best_of(1, compute)


def _opentsne_same(exact):
    from openTSNE import _tsne
    from openTSNE.affinity import joint_probabilities_nn

    distances = np.sqrt(exact.costs.astype(float))
    args = (exact.indices, distances, [PERPLEXITY])
    seconds, _ = best_of(2, lambda: joint_probabilities_nn(*args, n_jobs=N_THREADS))
    rows = _tsne.compute_gaussian_perplexity(distances, np.array([PERPLEXITY], dtype=float), num_threads=N_THREADS)
    return seconds, row_entropies(np.asarray(rows))


def _opentsne_all(X):
    """The steps of PerplexityBasedNN, which does not give its neighbours away."""
    from openTSNE.affinity import get_knn_index, joint_probabilities_nn

    def compute():
        index = get_knn_index(X, "auto", N_NEIGHBORS, "euclidean", n_jobs=N_THREADS, random_state=0)
        found, distances = index.build()
        joint_probabilities_nn(found, distances, [PERPLEXITY], n_jobs=N_THREADS)
        return found

    return best_of(1, compute)


TOOLS = {
    "snekhorn": (_ours_same, _ours_all),
    "openTSNE": (_opentsne_same, _opentsne_all),
    "scikit-learn": (_sklearn_same, _sklearn_all),
}


def table(results: dict) -> str:
    """Seconds, how many times ours, and the quality beside them."""
    missing = [name for name, there in results["installed"].items() if not there]
    notes = "".join(f"\n\n{name}: not installed." for name in missing)
    return _symmetric_table(results["symmetric"]) + "\n\n" + _entropic_table(results["entropic"]) + notes


def _symmetric_table(cells):
    caption = (
        f"Symmetric entropic affinity at perplexity {PERPLEXITY}, float64, {N_THREADS} threads, gaps taken from the "
        f"returned matrices; ours is the best of {REPEATS} with compiled code warm, TorchDR (Adam at rate 0.1, "
        "500 iterations and no self-loops are its defaults) ran once."
    )
    ours = {(c["data"], c["self_loops"]): c for c in cells if c["tool"] == "snekhorn"}
    rows = []
    for c in cells:
        floor = f", {c['floor_rows']} rows at the floor" if c.get("floor_rows") else ""
        rows.append(
            [
                f"{c['data']} ({c.get('n', '–')})",
                "yes" if c["self_loops"] else "no",
                c["tool"],
                figure(c, "seconds", ".3g"),
                times_ours(c, ours[c["data"], c["self_loops"]], "seconds"),
                figure(c, "passes", "d"),
                figure(c, "marginal_gap", ".1e"),
                figure(c, "entropy_gap", ".1e"),
                c.get("outcome", "failed: " + c.get("failed", "")) + floor,
            ]
        )
    header = ["data (n)", "self-loops", "solver", "seconds", "times ours", "passes"]
    return markdown(caption, [*header, "worst marginal gap", "worst entropy gap", "outcome"], rows)


def _entropic_table(cells):
    ours = cells[0]
    caption = (
        f"Entropic affinity of t-SNE (no self-loops, symmetrised), MNIST, {figure(ours, 'n', ',d')} points, "
        f"{N_NEIGHBORS} neighbours, perplexity {PERPLEXITY}, {N_THREADS} threads (scikit-learn's search for bandwidths "
        "has one): seconds on the same exact neighbours, and end to end with each tool's own neighbours."
    )
    rows = [
        [
            c["tool"] + (f" (failed: {c['failed']})" if "failed" in c else ""),
            figure(c, "seconds", ".2f"),
            times_ours(c, ours, "seconds"),
            figure(c, "entropy_gap", ".1e"),
            figure(c, "end_to_end", ".1f"),
            times_ours(c, ours, "end_to_end"),
            figure(c, "recall", ".3f"),
        ]
        for c in cells
    ]
    header = ["tool", "same neighbours, s", "times ours", "worst entropy gap", "end to end, s", "times ours", "recall"]
    return markdown(caption, header, rows)


def times_ours(cell: dict, ours: dict, key: str) -> str:
    """How many times as long as ours, as text."""
    if key not in cell or key not in ours:
        return "–"
    times = cell[key] / ours[key]
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
