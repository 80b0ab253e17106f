"""The expected structural Hamming distance (SHD) to a graph, and the DAG that minimises it, from edge probabilities.

The expectation is a sum over pairs of nodes, so the probabilities of single edges are all it needs. With a reversed
edge counted once, a pair costs one minus the probability of the state that the graph gives it: i → j, j → i or no edge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from parnidag.graphs.adjacency import Adjacency
from parnidag.graphs.ordering import best_order

Floats = NDArray[np.float64]

GAIN_UNIT = 2.0**-36
"""Probabilities closer than about 10⁻¹¹ count as equal, and sums of gains in this unit are exact whole numbers."""


def expected_shd(probabilities: Floats, adjacency: Adjacency, reversal: int = 1, *, undirected: bool = True) -> float:
    """Return the posterior expectation of the structural Hamming distance (SHD) to a graph.

    The SHD counts the edges to add, remove or turn to make one graph the other, as `metrics.shd` does.

    An edge that points the wrong way counts `reversal`: 1, or 2 for a missing and an extra edge. The graph may have
    cycles; a pair that it joins both ways is one edge if `undirected`, always one step away from what a DAG can have,
    else two edges: then it is two steps away from no edge.

    Examples
    --------
    >>> probabilities = np.array([[0.0, 0.7], [0.2, 0.0]])
    >>> graph = np.array([[False, True], [False, False]])
    >>> round(expected_shd(probabilities, graph), 2), round(expected_shd(probabilities, graph, reversal=2), 2)
    (0.3, 0.5)
    """
    adjacency = adjacency.astype(bool)
    steps = np.where(adjacency, 1.0 - probabilities, probabilities).sum()
    if reversal == 1:
        steps -= probabilities.T[adjacency & ~adjacency.T].sum()
    if undirected:
        steps -= np.triu(adjacency & adjacency.T).ravel() @ (1.0 - probabilities - probabilities.T).ravel()
    return float(steps)


def consensus(probabilities: Floats) -> Adjacency:
    """Return the DAG with the smallest expected SHD (a reversed edge counted once).

    Each pair of nodes takes the likeliest of its three states i → j, j → i and no edge: the pairwise mode. Where that
    has cycles, edges within them are dropped or turned at the least total cost, a pair's cost being one minus the
    probability of its state. This is exact as long as no more than 20 nodes are entangled in cycles with each other. In
    a larger tangle a local search takes over (`ordering.best_order`): the result is then a DAG whose expected SHD is
    low, but may not be the lowest. The rest of the graph stays exact.

    Ties go to no edge, then to the node that comes first as parent.

    Examples
    --------
    A cycle 0 → 1 → 2 → 0, its last edge nearly as likely the other way round. It is turned rather than dropped:

    >>> consensus(np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.8], [0.5, 0.0, 0.0]])).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    gains = _gains(probabilities)
    lower_first = np.triu(gains >= gains.T) | np.tril(gains > gains.T)
    chosen = (gains > 0) & lower_first
    # Each strongly connected component of the mode can be made acyclic on its own. No DAG costs less than the mode does
    # between components, plus the cheapest DAG on each component (any DAG is a DAG on each of them). The cheapest
    # ones together with the mode's edges in between cost just that, and have no cycle: it would have to leave a
    # component and come back to it over edges of the mode, and all nodes on the way would be of that component. Turned
    # edges do not matter to this, as they stay within their component.
    count, component = connected_components(csr_array(chosen), connection="strong")
    for tangle in np.flatnonzero(np.bincount(component, minlength=count) > 1):
        nodes = np.ix_(component == tangle, component == tangle)
        chosen[nodes] = _best_dag(gains[nodes])
    return chosen


def _gains(edges: Floats) -> NDArray[np.int64]:
    """Return by how much an edge is likelier than no edge between its nodes; 0 if it is not. In units."""
    gains = np.rint((edges - np.maximum(1.0 - edges - edges.T, 0.0)) / GAIN_UNIT).astype(np.int64)
    np.fill_diagonal(gains, 0)
    return np.maximum(gains, 0)


def _best_dag(gains: NDArray[np.int64]) -> Adjacency:
    """Return the DAG with the largest sum of gains.

    A DAG has an order of its nodes, and the best DAG of an order has all edges along it that gain anything. So the best
    order gives the best DAG.
    """
    position = np.argsort(best_order(gains))
    return (position[:, None] < position) & (gains > 0)
