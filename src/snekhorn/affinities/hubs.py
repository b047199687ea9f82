"""What perplexity a neighbour graph can carry, and more edges where it cannot.

Hubs are the neighbours of many points, but a doubly stochastic matrix lets each give away a mass of one.
Points whose neighbours are all hubs starve: they cannot spread their own mass. The Metropolis matrix

    M_ij = 1 / max(degree_i, degree_j) on the edges,    M_ii = 1 - sum_j M_ij,

is symmetric and doubly stochastic, so the entropies of its rows can be had all at once.
"""

from __future__ import annotations

import numpy as np

from ..geometry.costs import Array, GraphCost
from ..kernels.graph_rows import metropolis_rows
from ..runtime.execution import run_rows

ROUNDS = 2  # the starved of the first round may crowd a few of themselves


def metropolis_entropies(graph: GraphCost) -> Array:
    """-sum_j M_ij log M_ij of every row: an entropy that the graph, with self-loops, is sure to carry."""
    entropies = np.empty(graph.n_points)
    arrays = (graph.indptr, graph.indices, graph.degrees, entropies)
    run_rows(metropolis_rows, graph.n_points, graph.n_pairs, graph.n_threads, *arrays)
    return entropies


def feed_starved(graph: GraphCost, log_perplexity: float) -> GraphCost:
    """The graph with edges between the points that starve: each gets its nearest neighbours among them.

    A precomputed graph knows no more neighbours and stays as it is.
    """
    if graph.among is None:
        return graph
    k = int(np.median(graph.degrees))
    for _ in range(ROUNDS):
        starved = np.flatnonzero(metropolis_entropies(graph) < log_perplexity)
        if starved.size < 2:
            break
        found = graph.among(starved, min(k, starved.size - 1))
        degrees = np.zeros(graph.n_points, dtype=np.intp)
        degrees[starved] = found.indices.shape[1]
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        extra = GraphCost(
            indptr, starved[found.indices].ravel(), found.costs.ravel(), graph.n_threads, recall=graph.recall
        )
        graph = graph.joined(extra.symmetrized())
    return graph
