"""Graphs on the Python side: checks and conversions of adjacency matrices. `graph[i, j]` means i → j, everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError

Adjacency = NDArray[np.bool_]


def topological_order(adjacency: Adjacency, rng: np.random.Generator | None = None) -> list[int] | None:
    """Return the nodes with every parent before its children, or None when there is a cycle.

    With a generator it is a random one of these orders, though not each is equally likely.

    Examples
    --------
    >>> topological_order(np.array([[0, 0], [1, 0]], bool))
    [1, 0]
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
    """Return a random order of the nodes of a DAG with every parent before its children."""
    order = topological_order(adjacency, rng)
    assert order is not None
    return order


def check_adjacency(adjacency: object, n_nodes: int, argument: str) -> Adjacency:
    """Return a boolean n × n copy of `adjacency`, or say what is wrong with the argument it came from."""
    try:
        array = np.array(adjacency)
    except ValueError as error:
        raise ParnidagError(f"{argument} cannot be read as a square matrix: {error}") from error
    if array.shape != (n_nodes, n_nodes):
        raise ParnidagError(f"{argument} must be a {n_nodes} × {n_nodes} matrix, got shape {array.shape}")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise ParnidagError(f"{argument} must hold only 0 and 1 (graph[i, j] = 1 means i → j)")
    graph = array.astype(bool)
    if topological_order(graph) is None:
        raise ParnidagError(f"{argument} has a directed cycle, so it is not a DAG")
    return graph


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
    """Return the matrix of a graph given by its edge codes."""
    graph = np.zeros(n_nodes * n_nodes, bool)
    graph[codes] = True
    return graph.reshape(n_nodes, n_nodes)
