"""Graphs on the Python side: orders and conversions of adjacency matrices. `graph[i, j]` means i → j, everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Adjacency = NDArray[np.bool_]


def topological_order(adjacency: Adjacency, rng: np.random.Generator | None = None) -> list[int] | None:
    """Return the nodes with every parent before its children, or None when there is a cycle.

    With a generator it is a random one of these orders, though not each is equally likely.
    """
    waiting = adjacency.sum(axis=0)
    ready = [int(node) for node in np.flatnonzero(waiting == 0)]
    order: list[int] = []
    while ready:
        node = ready.pop(0 if rng is None else int(rng.integers(len(ready))))
        order.append(node)
        for child in np.flatnonzero(adjacency[node]):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(int(child))
    return order if len(order) == len(adjacency) else None


def random_topological_order(adjacency: Adjacency, rng: np.random.Generator) -> list[int]:
    order = topological_order(adjacency, rng)
    assert order is not None
    return order


def arcs_of(adjacency: Adjacency) -> NDArray[np.int32]:
    """Return each edge as kernels hold it: the parent in the upper, the child in the lower 16 bits."""
    parents, children = np.nonzero(adjacency)
    return (parents << 16 | children).astype(np.int32)


def codes_of_arcs(arcs: NDArray[np.int32], n_nodes: int) -> NDArray[np.int32]:
    """Return the edge codes parent · n + child of edges that kernels hold."""
    return (arcs >> 16) * np.int32(n_nodes) + (arcs & np.int32(0xFFFF))


def edge_codes(adjacency: Adjacency) -> NDArray[np.int32]:
    """Return each edge as the integer parent · n + child, in increasing order."""
    return np.flatnonzero(adjacency).astype(np.int32)


def adjacency_from_codes(codes: NDArray[np.int32], n_nodes: int) -> Adjacency:
    graph = np.zeros(n_nodes * n_nodes, bool)
    graph[codes] = True
    return graph.reshape(n_nodes, n_nodes)
