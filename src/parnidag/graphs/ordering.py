"""The linear ordering problem: put nodes in the order that gains most from who comes before whom.

It is NP-hard. Up to `EXACT_UP_TO` nodes it is solved exactly, by the dynamic programme of Held and Karp over sets of
nodes, in O(2ᵏ k); beyond that by local search from several starts, which may miss the best order.

References
----------
Held and Karp (1962), "A dynamic programming approach to sequencing problems". Martí and Reinelt (2011), "The linear
ordering problem", chapter 2: insertion moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Integers, int64

EXACT_UP_TO = 20
"""Nodes up to which the best order is found for certain; 2²⁰ sets take 17 MB and a tenth of a second."""

START_NODES = 40_000
"""Nodes in all starting orders of the local searches together: 1900 starts for 21 nodes, 40 for 1000, a few seconds."""


def best_order(gains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order nodes so that the sum of gains[i, j] over all i before j is largest, or nearly so for many nodes.

    Gains are not negative, and whole numbers, so that sums are exact and equally good orders are told by index, not by
    rounding; the diagonal is zero. Up to 20 nodes the order is a best one; of more, the best of some that cannot be
    improved by moving one node. The same gains always give the same order.

    Examples
    --------
    >>> best_order(np.array([[0, 0, 5], [1, 0, 0], [0, 2, 0]]))
    array([0, 2, 1])
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
    """Return the sum of the gains of an order.

    Examples
    --------
    >>> total_gain(np.array([[0, 3], [4, 0]]), np.array([1, 0]))
    4
    """
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
