"""Parent-set exchange: turn an edge round and let its two nodes trade their other parents.

1. Choose one of the d(G) edges that moves may touch, a → b, uniformly. Let X = pa(b) ∖ {a} and Y = pa(a).
2. Propose pa(a) = X ∪ {b} and pa(b) = Y; the children of both stay.
3. Accept G′ with probability min{1, π(G′)/π(G)}, a ratio of four local scores.

Why this is exact: a removed edge is replaced by one added, so d(G′) = d(G), and choosing b → a in G′ leads back to G.

Where it leads: when two nodes are strongly tied, whichever comes first takes the causes that both share. Turning only
the edge between them leaves both with the wrong parents, which traps chains that change one edge at a time.

Only one search for cycles is needed. A cycle of G′ passes through an edge into a or b. A path from b to a node of Y
would close a cycle in G already, through Y, a and b. So the only way to close one is a path from a to a node of X, that
is, a path from a to b besides the edge itself. No node has more parents than before the other had, so `max_parents`
holds.
"""

from __future__ import annotations

import math

from parnidag.kernels.dag import (
    ABSENT,
    FIXED,
    ONE,
    ZERO,
    Dag,
    add_edge,
    child_of,
    has_detour,
    parent_of,
    remove_edge,
    turned_round,
)
from parnidag.kernels.jit import kernel
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import below, happens
from parnidag.kernels.score_cache import NOBODY, family_score, write_family
from parnidag.kernels.types import int64
from parnidag.moves.move import Move


@kernel
def exchange_move(dag: Dag) -> bool:
    if dag.edge_count == 0:
        return False
    code = int64(dag.edges[below(dag.rng, dag.edge_count)])
    a, b = parent_of(code), child_of(code)
    if dag.status[b, a] != FREE or not may_trade(dag, a, b) or not may_trade(dag, b, a):
        return False
    write_family(dag, b, a, b)
    score_a = family_score(dag, a, dag.degree[b])
    write_family(dag, a, NOBODY, NOBODY)
    score_b = family_score(dag, b, dag.degree[a])
    gain = score_a - dag.local[a] + score_b - dag.local[b] + turned_round(dag, a, b)
    if not happens(dag.rng, math.exp(min(0.0, gain))) or has_detour(dag, a, b):
        return False
    trade_parents(dag, a, b, score_a, score_b)
    return True


@kernel
def may_trade(dag: Dag, giver: int, taker: int) -> bool:
    """Does the prior let `taker` have the parents that only `giver` has, and `giver` do without them?"""
    for k in range(dag.degree[giver]):
        parent = int64(dag.parents[giver, k])
        if parent == taker or dag.position[parent, taker] != ABSENT:
            continue
        if dag.position[parent, giver] == FIXED or dag.status[parent, taker] != FREE:
            return False
    return True


@kernel
def trade_parents(dag: Dag, a: int, b: int, score_a: float, score_b: float) -> None:
    """Carry the exchange out: everything is removed before anything is added, so the list of edges never overflows."""
    own, count = ZERO, ZERO
    for k in range(dag.degree[b]):
        parent = int64(dag.parents[b, k])
        if parent != a and dag.position[parent, a] == ABSENT:
            dag.stack[own] = parent
            own += ONE
    count = own
    for k in range(dag.degree[a]):
        parent = int64(dag.parents[a, k])
        if dag.position[parent, b] == ABSENT:
            dag.stack[count] = parent
            count += ONE
    remove_edge(dag, a, b, score_b)
    for k in range(own):
        remove_edge(dag, dag.stack[k], b, score_b)
    for k in range(own, count):
        remove_edge(dag, dag.stack[k], a, score_a)
    add_edge(dag, b, a, score_a)
    for k in range(own):
        add_edge(dag, dag.stack[k], a, score_a)
    for k in range(own, count):
        add_edge(dag, dag.stack[k], b, score_b)


MOVE = Move("exchange", "turn an edge round and exchange the parents of its nodes", exchange_move)
