"""Node swap: exchange the roles of two nodes in the graph.

1. Choose a pair {a, b} uniformly from a list that does not change while the chain runs.
2. Propose G′, which is G with the names of a and b exchanged. Relabelling keeps a DAG a DAG.
3. Accept G′ with probability min{1, π(G′)/π(G)}: a ratio of the local scores of a, b and all their children.

Why this is exact: the pair is chosen with the same probability in G′, and exchanging the names again leads back.

Where it leads: between graphs in which one of two nearly equal columns takes the part of the other. Pairs that touch a
required edge are not on the list; a proposal with an edge that the prior forbids means staying.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.graphs.adjacency import arcs_of
from parnidag.kernels.dag import ONE, ZERO, Dag, add_edge, child_of, parent_of, present, remove_edge
from parnidag.kernels.declare import keeps, opener
from parnidag.kernels.jit import kernel, make_frame
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import below, happens
from parnidag.kernels.score_cache import NOBODY, family_score, write_family
from parnidag.kernels.types import Bytes, Codes, Floats, int64
from parnidag.moves.move import Move
from parnidag.target import Target

PAIRS_A_NODE = 2
"""Length of the list of pairs: the likeliest neighbours."""


@keeps()
class NodeSwap(NamedTuple):
    frame: Bytes
    pairs: Codes
    arcs: Codes
    """The edges that the exchange moves."""
    scores: Floats
    """New local score of each node whose parents change."""


open_node_swap = opener(NodeSwap)


def make_node_swap(target: Target, likely: Floats) -> NodeSwap:
    n = target.n_nodes
    required = target.required.any(axis=0) | target.required.any(axis=1)
    together = np.triu(likely + likely.T, 1)
    together[required, :] = together[:, required] = 0.0
    ranked = np.sort(together[together > 0.0])[::-1]
    least = ranked[min(PAIRS_A_NODE * n, ranked.size) - 1] if ranked.size else np.inf
    return NodeSwap(
        frame=make_frame(),
        pairs=arcs_of(together >= least) if ranked.size else np.zeros(0, np.int32),
        arcs=np.zeros(max(2 * n, 1), np.int32),
        scores=np.zeros(n),
    )


@kernel
def node_swap_move(dag: Dag, swap: NodeSwap) -> bool:
    if swap.pairs.size == 0:
        return False
    code = int64(swap.pairs[below(dag.rng, swap.pairs.size)])
    a, b = parent_of(code), child_of(code)
    count = moved_arcs(dag, swap, a, b)
    if count <= 0:
        return False
    gain = score_swap(dag, swap, a, b, count)
    if not happens(dag.rng, math.exp(min(0.0, gain))):
        return False
    for k in range(count):
        i, j = parent_of(int64(swap.arcs[k])), child_of(int64(swap.arcs[k]))
        remove_edge(dag, i, j, swap.scores[j])
    for k in range(count):
        i, j = image_of(a, b, parent_of(int64(swap.arcs[k]))), image_of(a, b, child_of(int64(swap.arcs[k])))
        add_edge(dag, i, j, swap.scores[j])
    return True


@kernel
def image_of(a: int, b: int, node: int) -> int:
    """Return the node that takes the part of `node`."""
    if node == a:
        return b
    return a if node == b else node


@kernel
def moved_arcs(dag: Dag, swap: NodeSwap, a: int, b: int) -> int:
    """Note the edges whose image is not in the graph, and count them; −1 if the prior does not allow an image."""
    count = ZERO
    for slot in range(dag.edge_count):
        code = int64(dag.edges[slot])
        i, j = parent_of(code), child_of(code)
        to_i, to_j = image_of(a, b, i), image_of(a, b, j)
        if (to_i == i and to_j == j) or present(dag, to_i, to_j):
            continue
        if dag.status[to_i, to_j] != FREE:
            return -ONE
        swap.arcs[count] = code
        count += ONE
    return count


@kernel
def score_swap(dag: Dag, swap: NodeSwap, a: int, b: int, count: int) -> float:
    """Score every node whose parents change, and return what is gained."""
    gain = score_in_place(dag, swap, a, b) + score_in_place(dag, swap, b, a)
    for k in range(count):
        code = int64(swap.arcs[k])
        i, j = parent_of(code), child_of(code)
        if j in (a, b):
            continue
        write_family(dag, j, i, image_of(a, b, i))
        swap.scores[j] = family_score(dag, j, dag.degree[j])
        gain += swap.scores[j] - dag.local[j]
    return gain


@kernel
def score_in_place(dag: Dag, swap: NodeSwap, node: int, other: int) -> float:
    """Score `node` with the parents of `other`, and return what it gains; an edge between the two turns round."""
    if present(dag, node, other):
        write_family(dag, other, node, other)
    else:
        write_family(dag, other, NOBODY, NOBODY)
    swap.scores[node] = family_score(dag, node, dag.degree[other])
    return swap.scores[node] - dag.local[node]


MOVE = Move("node_swap", "let two nodes exchange their roles", node_swap_move, make_node_swap, open_node_swap)
