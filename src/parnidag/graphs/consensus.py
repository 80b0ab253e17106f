"""The expected structural Hamming distance (SHD) to a graph, and the DAG that minimises it, from edge probabilities.

The expectation is a sum over pairs of nodes, so the probabilities of single edges are all it needs. With a reversed
edge counted once, a pair costs one minus the probability of the state that the graph gives it: i → j, j → i or no edge.

Where the likeliest edges have cycles, this is the linear ordering problem: put nodes in the order that gains most from
who comes before whom. It is NP-hard. Up to `EXACT_UP_TO` nodes it is solved exactly, by the dynamic programme of Held
and Karp over sets of nodes, in O(2ᵏ k); beyond that by local search from several starts, which may miss the best order.

References
----------
Held and Karp (1962), "A dynamic programming approach to sequencing problems". Martí and Reinelt (2011), "The linear
ordering problem", chapter 2: insertion moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Integers, int64

Floats = NDArray[np.float64]

GAIN_UNIT = 2.0**-36
"""Probabilities closer than about 10⁻¹¹ count as equal, and sums of gains in this unit are exact whole numbers."""

EXACT_UP_TO = 20
"""Nodes up to which the best order is found for certain; 2²⁰ sets take 17 MB and a tenth of a second."""
START_NODES = 40_000
"""Nodes in all starting orders of the local searches together: 1900 starts for 21 nodes, 40 for 1000, a few seconds."""


def expected_shd(probabilities: Floats, adjacency: Adjacency, reversal: int = 1, *, undirected: bool = True) -> float:
    """Return the posterior expectation of the SHD to a graph: the edges to add, remove or turn, as in `metrics.shd`.

    An edge that points the wrong way counts `reversal`: 1, or 2 for a missing and an extra edge. The graph may have
    cycles; a pair that it joins both ways is one edge if `undirected`, always one step away from what a DAG can have,
    else two edges: then it is two steps away from no edge.
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
    a larger tangle a local search takes over (`best_order`): the result is then a DAG whose expected SHD is
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
        # The best DAG of an order has all edges along it that gain anything, so the best order gives the best DAG.
        position = np.argsort(best_order(gains[nodes]))
        chosen[nodes] = (position[:, None] < position) & (gains[nodes] > 0)
    return chosen


def _gains(edges: Floats) -> NDArray[np.int64]:
    """Return by how much an edge is likelier than no edge between its nodes; 0 if it is not. In units."""
    gains = np.rint((edges - np.maximum(1.0 - edges - edges.T, 0.0)) / GAIN_UNIT).astype(np.int64)
    np.fill_diagonal(gains, 0)
    return np.maximum(gains, 0)


# ── orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def best_order(gains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order nodes so that the sum of gains[i, j] over all i before j is largest, or nearly so for many nodes.

    Gains are not negative, and whole numbers, so that sums are exact and equally good orders are told by index, not by
    rounding; the diagonal is zero. Up to 20 nodes the order is a best one; of more, the best of some that cannot be
    improved by moving one node. The same gains always give the same order.
    """
    k = len(gains)
    if k <= EXACT_UP_TO:
        return exact_order(gains)
    rng = np.random.default_rng(k)
    by_balance = np.argsort((gains.T - gains).sum(axis=1), kind="stable")  # who gains most from coming first
    starts = [by_balance] + [rng.permutation(k) for _ in range(START_NODES // k)]
    orders = [improve_order(gains, start.astype(np.int64)) for start in starts]
    return max(orders, key=lambda order: total_gain(gains, order))


def total_gain(gains: NDArray[np.int64], order: NDArray[np.int64]) -> int:
    return int(np.triu(gains[np.ix_(order, order)]).sum())


@entry
def exact_order(gains: Integers) -> Integers:
    """Find a best order: the best one of each set of nodes ends with some node, after a best one of the others."""
    k = int64(gains.shape[0])
    most = np.zeros(int64(1) << k, np.int64)
    last = np.zeros(int64(1) << k, np.int8)
    incoming = np.zeros(k, np.int64)  # what each node gains from coming after all nodes of the set
    for chosen in range(int64(1), int64(1) << k):
        changed = chosen ^ (chosen - 1)
        for i in range(k):
            if (changed >> i) & 1:
                sign = int64(1) if (chosen >> i) & 1 else int64(-1)
                for j in range(k):
                    incoming[j] += sign * gains[i, j]
        top = int64(-1)
        for j in range(k):
            if (chosen >> j) & 1:
                total = most[chosen ^ (int64(1) << j)] + incoming[j]
                if total >= top:  # among equals the lower index comes first, so the higher one last
                    top = total
                    last[chosen] = j
        most[chosen] = top
    order, left = np.zeros(k, np.int64), (int64(1) << k) - 1
    for position in range(k - 1, -1, -1):
        order[position] = last[left]
        left ^= int64(1) << order[position]
    return order


@entry
def improve_order(gains: Integers, start: Integers) -> Integers:
    """Move single nodes to where they gain most, until none gains any more."""
    order, k = start.copy(), int64(start.size)
    moved = True
    while moved:
        moved = False
        for node in range(k):
            here = int64(0)
            while order[here] != node:
                here += int64(1)
            there = best_place(gains, order, here)
            if there != here:
                step = int64(1) if there > here else int64(-1)
                for position in range(here, there, step):
                    order[position] = order[position + step]
                order[there] = node
                moved = True
    return order


@kernel
def best_place(gains: Integers, order: Integers, here: int) -> int:
    """Return the position to which the node at `here` is best moved; `here` itself unless another is truly better."""
    node, best, change, most = order[here], here, int64(0), int64(0)
    for position in range(here + 1, order.size):
        passed = order[position]
        change += gains[passed, node] - gains[node, passed]
        if change > most:
            best, most = int64(position), change
    change = int64(0)
    for position in range(here - 1, -1, -1):
        passed = order[position]
        change += gains[node, passed] - gains[passed, node]
        if change > most:
            best, most = int64(position), change
    return best
