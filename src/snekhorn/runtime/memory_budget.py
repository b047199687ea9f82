"""Bytes that the stages of a fit take per point and per edge, to estimate its peak memory before it starts.

All sizes are in addition to X. Arrays with a value per edge are listed stage by stage below. Arrays with a value per
point are summed up in one number per stage, as measured by `python -m benchmarks memory`.
"""

from __future__ import annotations

from dataclasses import dataclass

INDEX, LARGE_INDEX = 4, 8  # bytes of the number of a point, and of one in a graph with many edges
MANY_EDGES = 2**31
SINGLE, DOUBLE = 4, 8  # bytes of a float32 and of a float64
EDGES_PER_NEIGHBOR = (
    1.75  # entries of a symmetric graph per neighbour found: 1.57 for images of digits, 2 with strong hubs
)
EDGES_PER_BLOCK = 2**24  # of a union of graphs; more take more memory for each thread, fewer are slower

WEIGHTS = 2  # per edge, of the type of a cost, kept by the solver of the symmetric entropic affinity if they fit
WEIGHTS_SHARE = 0.5  # of the memory that the solver leaves, up to which weights are kept; more leaves too little

GIVEN_EDGE = 130  # per edge of a graph that the user supplies: SciPy sorts it, and compares both directions of edges
UNSORTED = 2 * DOUBLE  # per neighbour that scikit-learn's distances find, in addition to the lists

# Bytes per point, apart from edges, at the peak of each stage.
SEARCH_POINT = 60  # clusters: members, labels, norms
GRAPH_POINT = 60  # beginnings and lengths of rows
ORDER_POINT = 120  # permutations, and the rows of the entropic affinity
SOLVER_POINT = 600  # dual variables, gradients, and the vectors of conjugate gradients
LAYOUT_POINT = 200  # positions, momenta, charges and fields
GRID_POINT = 300  # the grid of the layout, which grows with the layout up to a limit
GRID_NODE = 10  # the same per node of the padded grid, whose number is limited
SUM_ENTRY, ENTRIES_AT_ONCE = 24, 2**22  # entries of P are summed in blocks; larger ones take more memory
WORKER = 250e6  # process of a worker of a cluster, before it has any data
LAYOUT_POSITION = 24  # position and charge of a point in the plane, of which every worker of a cluster has all
CLIENT_POINT = 610  # vectors of the solver in the client of a cluster, whose process may contain the scheduler as well
FREED_POINT, MOST_FREED = 500, 2e8  # arrays that were freed, but whose memory the C library keeps if they are small


@dataclass(frozen=True)
class GraphSize:
    """Size of a neighbour graph.

    Parameters
    ----------
    n_points : int
    n_neighbors : float
        Number of neighbours found per point.
    item : int
        Bytes of a cost.
    """

    n_points: int
    n_neighbors: float
    item: int

    @property
    def index(self) -> int:
        """Bytes of the number of a point in the graph."""
        return INDEX if self.n_edges < MANY_EDGES else LARGE_INDEX

    @property
    def lists(self) -> float:
        """Bytes of the neighbours found and their costs."""
        return self.n_points * self.n_neighbors * (self.index + self.item)

    @property
    def n_edges(self) -> float:
        """Number of entries of the symmetric graph."""
        return min(EDGES_PER_NEIGHBOR * self.n_neighbors, self.n_points - 1.0) * self.n_points

    @property
    def edges(self) -> float:
        """Bytes of the symmetric graph, and of an affinity on it."""
        return self.n_edges * (self.index + self.item)


def affinity_stages(graph: GraphSize, n_threads: int, left: float | None) -> dict[str, float]:
    """Return the peak memory of every stage from lists of neighbours to an affinity, if this memory is left."""
    n, freed = graph.n_points, freed_bytes(graph.n_points)
    blocks = min(graph.lists, n_threads * EDGES_PER_BLOCK * (graph.index + graph.item))
    solver = graph.edges + SOLVER_POINT * n + freed
    if keeps_weights(n, graph.n_edges, graph.item, None if left is None else left - graph.edges - freed):
        solver += WEIGHTS * graph.item * graph.n_edges
    return {
        "graph": graph.lists + graph.edges + blocks + GRAPH_POINT * n + freed,
        "order": 2.0 * graph.edges + ORDER_POINT * n + freed,  # before and after, also when edges are added
        "solver": solver,
    }


def keeps_weights(n_points: int, n_edges: float, item: int, left: float | None) -> bool:
    """Return whether the solver keeps the weights of edges, which saves time, if this memory is left to it."""
    return left is None or WEIGHTS * item * n_edges <= WEIGHTS_SHARE * (left - SOLVER_POINT * n_points)


def layout_stage(n_points: int, n_entries: float, item: int, most_nodes: int, extra: float = 0.0) -> float:
    """Return the peak memory of the layout: a copy of P with entries of `item` bytes, and `extra` bytes per entry.

    The padded grid has at most `most_nodes` nodes.
    """
    points = LAYOUT_POINT * n_points + min(GRID_POINT * n_points, GRID_NODE * most_nodes)
    copy = max(n_entries * (INDEX + item) + points, SUM_ENTRY * min(n_entries, ENTRIES_AT_ONCE))
    return copy + n_entries * extra + freed_bytes(n_points)


def freed_bytes(n_points: int) -> float:
    """Return the memory of arrays that have been freed, but that the process still has."""
    return min(FREED_POINT * n_points, MOST_FREED)
