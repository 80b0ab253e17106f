"""Markov equivalence: which edges the data could orient, and which could as well point the other way.

DAGs are equivalent if they have the same edges up to direction and the same v-structures (i → k ← j without an edge
between i and j; Verma and Pearl 1990); many scores cannot tell them apart. An edge is compelled if it has the same
direction in all of them, else reversible. The CPDAG shows a whole class: the compelled edges as arrows, the reversible
ones as lines. Two DAGs are equivalent if and only if their CPDAGs are equal.

References
----------
Chickering (1995), "A transformational characterization of equivalent Bayesian network structures", UAI: the algorithm
that labels edges. Verma and Pearl (1990), "Equivalence and synthesis of causal models", UAI.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.adjacency import Adjacency, edge_codes
from parnidag.graphs.ancestors import Unpacked, make_unpacked, sort_nodes, unpack
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Codes, Flags, Integers, int64


def cpdag(adjacency: Adjacency) -> Adjacency:
    """Return the CPDAG of a DAG, the picture of its equivalence class.

    A compelled edge i → j has only [i, j] set, a reversible one both [i, j] and [j, i].

    Examples
    --------
    The chain 0 → 1 → 2 could point the other way, the collider 0 → 1 ← 2 could not:

    >>> cpdag(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> cpdag(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    """
    graph = np.array(adjacency, dtype=bool)
    codes = edge_codes(graph)
    reversible = codes[~compelled_edges(len(graph), np.array([0, codes.size]), codes)]
    graph.T.flat[reversible] = True
    return graph


def cpdag_codes(
    n_nodes: int, graph_offsets: NDArray[np.int64], graph_edges: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the CPDAGs of many packed DAGs as edge codes, a reversible edge in both directions.

    The DAGs come as in `RunRecord`. The codes of one CPDAG follow those of the other, in no order within a CPDAG; the
    second array says where each ends, for `packing.pack_graphs` to find the unique ones.
    """
    n = np.int32(n_nodes)
    reversible = ~compelled_edges(n_nodes, graph_offsets, graph_edges)
    graph = np.repeat(np.arange(len(graph_offsets) - 1), np.diff(graph_offsets))
    turned = graph_edges[reversible] % n * n + graph_edges[reversible] // n
    order = np.argsort(np.concatenate([graph, graph[reversible]]), kind="stable")
    lengths = np.diff(graph_offsets) + np.bincount(graph[reversible], minlength=len(graph_offsets) - 1)
    return np.concatenate([graph_edges, turned])[order], np.cumsum(lengths)


@entry
def compelled_edges(n: int, offsets: Integers, codes: Codes) -> Flags:
    """Say of each edge of packed DAGs whether it is compelled, in O(n + edges × parents) at worst for each graph."""
    compelled = np.zeros(codes.size, np.bool_)
    unpacked = make_unpacked(n, offsets)
    by_slot = np.zeros(unpacked.parents.size, np.bool_)
    rank, slot_of = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for graph in range(offsets.size - 1):
        unpack(codes[offsets[graph] : offsets[graph + 1]], unpacked)
        known = sort_nodes(unpacked)
        for step in range(known):
            rank[unpacked.order[step]] = step
        by_slot[:] = False
        for step in range(known):
            label_parents(unpacked.order[step], unpacked, rank, slot_of, by_slot)
        for slot in range(offsets[graph + 1] - offsets[graph]):
            compelled[offsets[graph] + unpacked.place[slot]] = by_slot[slot]
    return compelled


@kernel
def label_parents(y: int, unpacked: Unpacked, rank: Integers, slot_of: Integers, compelled: Flags) -> None:
    """Label the edges into y; those into earlier nodes are labelled.

    This is Chickering's step for the edge x → y from the last parent x of y in the order; he proves that it settles all
    edges into y at once. They are all compelled if there is a compelled edge w → x from a w that is no parent of y
    (w → x ← y would be a new v-structure), or if y has a parent that x has not. Otherwise w → y is compelled wherever
    w → x is, and all other edges into y are reversible.
    """
    start, end = unpacked.first_parent[y], unpacked.first_parent[y + 1]
    if start == end:
        return
    x = unpacked.parents[start]
    for slot in range(start, end):
        parent = unpacked.parents[slot]
        slot_of[parent] = slot
        if rank[parent] > rank[x]:
            x = parent
    all_compelled, shared = False, int64(0)
    for slot in range(unpacked.first_parent[x], unpacked.first_parent[x + 1]):
        into_y = slot_of[unpacked.parents[slot]]  # never left from another graph: parents of x got theirs when x came
        if start <= into_y < end:
            shared += int64(1)
            compelled[into_y] = compelled[slot]
        elif compelled[slot]:
            all_compelled = True
    if all_compelled or shared < end - start - 1:
        compelled[start:end] = True
