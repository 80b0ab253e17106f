"""One edge at a time: flip an indicator (MC3), or add, delete or reverse an edge (ADR).

All of them test the score first and acyclicity second: most proposals fail on the score, and a score from the cache
costs far less than a search for cycles. A proposal that closes a cycle, like one that the prior forbids, means staying.

The neighbourhood counts graphs with cycles too, so its sizes are known without a search: with d edges, additions number
`addable` = n(n − 1) − 2d (fewer where the prior forbids edges), deletions d, reversals d.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import (
    ABSENT,
    ONE,
    Dag,
    add_edge,
    addable_between,
    adjacent,
    child_of,
    has_detour,
    is_ancestor,
    more_children,
    odds,
    parent_of,
    present,
    remove_edge,
    turned_round,
)
from parnidag.kernels.declare import keeps, opener
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import below, happens
from parnidag.kernels.score_cache import flipped_score
from parnidag.kernels.types import Bytes, Floats, Integers, int64
from parnidag.moves.move import Move
from parnidag.target import Target

FLIP, ADD, DELETE, REVERSE = int64(0), int64(1), int64(2), int64(3)
MOVES = ("flip", "add", "delete", "reverse")
THREE = int64(3)


@keeps("tried", "accepted")
class Counts(NamedTuple):
    frame: Bytes
    tried: Integers
    accepted: Integers


open_counts = opener(Counts)


def make_counts(target: Target, likely: Floats) -> Counts:
    return Counts(make_frame(), *np.zeros((2, len(MOVES)), np.int64))


@kernel
def adr_move(dag: Dag) -> int:
    """Choose addition, deletion or reversal, each always with probability 1/3."""
    return ADD + below(dag.rng, THREE)


@kernel
def single_edge_step(dag: Dag, move: int) -> bool:
    if move == FLIP:
        return flip_any(dag)
    if move == ADD:
        return add_any(dag)
    if move == DELETE:
        return delete_any(dag)
    return reverse_any(dag)


@kernel
def flip_any(dag: Dag) -> bool:
    """MC3: α = min{1, π(γ′)/π(γ)}."""
    if dag.free.size == 0:
        return False
    code = int64(dag.free[below(dag.rng, dag.free.size)])
    i, j = parent_of(code), child_of(code)
    if dag.position[j, i] != ABSENT:
        return False
    score = flipped_score(dag, j, i)
    here = present(dag, i, j)
    gain = score - dag.local[j] + more_children(dag, i, -ONE if here else ONE)
    if not happens(dag.rng, math.exp(min(0.0, gain))):
        return False
    if here:
        remove_edge(dag, i, j, score)
        return True
    if is_ancestor(dag, j, i):
        return False
    add_edge(dag, i, j, score)
    return True


@kernel
def add_any(dag: Dag) -> bool:
    """Addition: α = min{1, π(γ′)/π(γ) · addable/(d + 1)}, where addable counts the pairs that could take an edge."""
    if dag.addable == 0:
        return False
    code = random_absent(dag)
    i, j = parent_of(code), child_of(code)
    score = flipped_score(dag, j, i)
    gain = score - dag.local[j] + more_children(dag, i, ONE)
    ratio = odds(gain) * (dag.addable / (dag.edge_count + 1.0))
    if not happens(dag.rng, min(1.0, ratio)) or is_ancestor(dag, j, i):
        return False
    add_edge(dag, i, j, score)
    return True


@kernel
def delete_any(dag: Dag) -> bool:
    """Deletion: α = min{1, π(γ′)/π(γ) · d/addable′}."""
    if dag.edge_count == 0:
        return False
    code = int64(dag.edges[below(dag.rng, dag.edge_count)])
    i, j = parent_of(code), child_of(code)
    score = flipped_score(dag, j, i)
    gain = score - dag.local[j] + more_children(dag, i, -ONE)
    ratio = odds(gain) * (dag.edge_count / (dag.addable + addable_between(dag, i, j)))
    if not happens(dag.rng, min(1.0, ratio)):
        return False
    remove_edge(dag, i, j, score)
    return True


@kernel
def reverse_any(dag: Dag) -> bool:
    """Reversal: α = min{1, π(γ′)/π(γ)}, the number of edges stays."""
    if dag.edge_count == 0:
        return False
    code = int64(dag.edges[below(dag.rng, dag.edge_count)])
    i, j = parent_of(code), child_of(code)
    if dag.status[j, i] != FREE:
        return False
    without = flipped_score(dag, j, i)
    turned = flipped_score(dag, i, j)
    gain = without - dag.local[j] + turned - dag.local[i] + turned_round(dag, i, j)
    if not happens(dag.rng, math.exp(min(0.0, gain))) or has_detour(dag, i, j):
        return False
    remove_edge(dag, i, j, without)
    add_edge(dag, j, i, turned)
    return True


@kernel
def random_absent(dag: Dag) -> int:
    """Return the code of a free edge, uniform among those whose two nodes are not adjacent."""
    while True:
        code = int64(dag.free[below(dag.rng, dag.free.size)])
        if not adjacent(dag, parent_of(code), child_of(code)):
            return code


@leaf
def adr_step(dag: Dag, counts: Counts) -> bool:
    move = adr_move(dag)
    changed = single_edge_step(dag, move)
    counts.tried[move] += ONE
    counts.accepted[move] += changed
    return changed


MOVE = Move("adr", "add, delete or reverse an edge", adr_step, make_counts, open_counts, reaches_all=True, parts=MOVES)
