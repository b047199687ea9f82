"""Turn X into costs: input checks, dense costs, neighbour graphs and neighbour search."""
