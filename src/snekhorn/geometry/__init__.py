"""From X to costs: checked inputs, dense costs, neighbour graphs, and the search for neighbours."""
