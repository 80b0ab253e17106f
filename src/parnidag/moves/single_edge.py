"""One edge at a time: flip an indicator (MC3), or add, delete or reverse an edge (ADR).

All of them test the score first and acyclicity second: most proposals fail on the score, and a score from the memo
costs far less than a search for cycles. A proposal that closes a cycle, like one that the prior forbids, means staying.

The neighbourhood counts graphs with cycles too, so its sizes are known without a search: with d edges, additions number
`room` = n(n − 1) − 2d (fewer where the prior forbids edges), deletions d, reversals d.
"""

from __future__ import annotations

import math

from parnidag._jit import kernel
from parnidag._random import below, happens
from parnidag._types import int64
from parnidag.memo import flipped_score
from parnidag.net import (
    ABSENT,
    Net,
    add_edge,
    adjacent,
    child_of,
    has_detour,
    is_ancestor,
    odds,
    parent_of,
    places,
    present,
    remove_edge,
)
from parnidag.prior import FREE

FLIP, ADD, DELETE, REVERSE = int64(0), int64(1), int64(2), int64(3)
MOVES = ("flip", "add", "delete", "reverse")
THREE = int64(3)


@kernel
def adr_move(net: Net) -> int:
    """Choose addition, deletion or reversal, each always with probability 1/3."""
    return ADD + below(net.rng, THREE)


@kernel
def single_edge_step(net: Net, move: int) -> bool:
    """Try one move; True when the graph changed."""
    if move == FLIP:
        return flip_any(net)
    if move == ADD:
        return add_any(net)
    if move == DELETE:
        return delete_any(net)
    return reverse_any(net)


@kernel
def flip_any(net: Net) -> bool:
    """MC3: α = min{1, π(γ′)/π(γ)}."""
    if net.free.size == 0:
        return False
    code = int64(net.free[below(net.rng, net.free.size)])
    i, j = parent_of(code), child_of(code)
    if net.position[j, i] != ABSENT:
        return False
    score = flipped_score(net, j, i)
    if not happens(net.rng, math.exp(min(0.0, score - net.local[j]))):
        return False
    if present(net, i, j):
        remove_edge(net, i, j, score)
        return True
    if is_ancestor(net, j, i):
        return False
    add_edge(net, i, j, score)
    return True


@kernel
def add_any(net: Net) -> bool:
    """Addition: α = min{1, π(γ′)/π(γ) · room/(d + 1)}, where room counts the pairs that could take an edge."""
    if net.room == 0:
        return False
    code = random_absent(net)
    i, j = parent_of(code), child_of(code)
    score = flipped_score(net, j, i)
    ratio = odds(score - net.local[j]) * (net.room / (net.edge_count + 1.0))
    if not happens(net.rng, min(1.0, ratio)) or is_ancestor(net, j, i):
        return False
    add_edge(net, i, j, score)
    return True


@kernel
def delete_any(net: Net) -> bool:
    """Deletion: α = min{1, π(γ′)/π(γ) · d/room′}."""
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    score = flipped_score(net, j, i)
    ratio = odds(score - net.local[j]) * (net.edge_count / (net.room + places(net, i, j)))
    if not happens(net.rng, min(1.0, ratio)):
        return False
    remove_edge(net, i, j, score)
    return True


@kernel
def reverse_any(net: Net) -> bool:
    """Reversal: α = min{1, π(γ′)/π(γ)}, the number of edges stays."""
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    if net.status[j, i] != FREE:
        return False
    without = flipped_score(net, j, i)
    turned = flipped_score(net, i, j)
    gain = without - net.local[j] + turned - net.local[i]
    if not happens(net.rng, math.exp(min(0.0, gain))) or has_detour(net, i, j):
        return False
    remove_edge(net, i, j, without)
    add_edge(net, j, i, turned)
    return True


@kernel
def random_absent(net: Net) -> int:
    """Return the code of a free edge, uniform among those whose two nodes are not adjacent."""
    while True:
        code = int64(net.free[below(net.rng, net.free.size)])
        if not adjacent(net, parent_of(code), child_of(code)):
            return code
