"""Determine which perplexity a neighbour graph can support, and add edges if it cannot.

Hubs are neighbours of many points, but in a doubly stochastic matrix each hub has a total mass of one to share. Points
whose neighbours are all hubs are starved: they cannot place their own mass. The Metropolis matrix

    M_ij = 1 / max(degree_i, degree_j) on the edges,    M_ii = 1 - sum_j M_ij,

is symmetric and doubly stochastic, so all rows can have the entropies of its rows at the same time. With degrees of at
least 2 in the formula, two points that have only each other share their mass with their self-loops.
"""

from __future__ import annotations

import numpy as np

from ..geometry.costs import Array, Cost, DenseCost, NeighborGraph
from ..kernels import RowLoop
from ..kernels.graph_rows import metropolis_rows

ROUNDS = 2  # of `feed_starved`; added edges can create new hubs, so repeat once


def metropolis_entropies(graph: NeighborGraph, least_degree: int = 1) -> Array:
    """Compute -sum_j M_ij log M_ij for every row: an entropy that the graph with self-loops is certain to support."""
    entropies = np.empty(graph.n_points)
    graph.over_rows(RowLoop(graph=metropolis_rows), np.maximum(graph.degrees, least_degree), entropies)
    return entropies


def typical_degree(cost: Cost) -> int:
    """Return the median number of neighbours, the number of edges that starved points get."""
    return int(np.median(cost.degrees))


def feed_starved(graph: Cost, log_perplexity: float, degree: int) -> Cost:
    """Connect starved points to their `degree` nearest neighbours among the starved points.

    In a full matrix, no point starves, and a precomputed graph cannot be searched, so both are returned unchanged.
    """
    if isinstance(graph, DenseCost) or graph.search_among is None:
        return graph
    starved = np.flatnonzero(metropolis_entropies(graph) < log_perplexity)
    return graph if starved.size < 2 else graph.with_more_edges(starved, min(degree, starved.size - 1))
