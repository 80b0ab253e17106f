"""The new edge reversal move of Grzegorczyk and Husmeier (2008).

Turning one edge of a DAG round usually costs more than it gains, because the parents of its two nodes were chosen for
the old direction. This move turns an edge round and chooses the parents of both nodes afresh. With w_v(S) the weight of
parents S of node v (its exponentiated local score, prior included) and d(G) the number of edges that moves may touch:

1. Choose one of these edges, i → j, uniformly. Let G⊙ be the graph without the parents of i and j, but with those that
   are required: they are in every graph, so they are in G⊙ too, and so are the paths that lead through them.
2. Draw new parents of i, j among them, without descendants of i in G⊙; the weights of the permitted sets sum to
   Z*(i | G⊙, j). The graph is now G⊕.
3. Draw new parents of j without descendants of j in G⊕; the weights sum to Z(j | G⊕). The graph is now G′.
4. Accept G′ with probability min{1, d(G)/d(G′) · Z*(i | G⊙, j)/Z*(j | G⊙, i) · Z(j | G⊕)/Z(i | G̃⊕)}, where G̃⊕ is G⊙
   with the old parents of j.

Why this is exact: the way back from G′ chooses j → i with probability 1/d(G′). It sees the same G⊙, since no other node
changed its parents. It draws the old parents of j, which contain i, with probability w_j/Z*(j | G⊙, i), then the old
parents of i with probability w_i/Z(i | G̃⊕); both are permitted, since G⊙ and G̃⊕ are parts of G, which has no cycle.
The weights cancel against those of π(G′)/π(G), and the ratio of step 4 remains. No other edge leads from G to G′, as
the parents of both i and j differ.

What makes it fast: let D(v) be v and its descendants in G⊙. If j is in D(i), which takes a path from i to a required
parent of j, no permitted set has j in it, and the chain stays. Otherwise G⊕ gives j one more child, i, so that j and
its descendants there are D(i) ∪ D(j); and so are i and its descendants in G̃⊕, where i gains the child j. Hence all four
sums are known before anything is drawn, and a try without prospects ends without a draw.

The sums come from candidate tables. When these do not hold the present parents of i or j, the way back could not draw
them, so the chain stays and the try is counted as "outside".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, Dag, child_of, drop_parents, odds, parent_of, take_parents
from parnidag.kernels.declare import keeps, opener
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import below, happens
from parnidag.kernels.types import Bytes, Codes, Floats, Integers, int64
from parnidag.moves.move import Move
from parnidag.moves.orphans import (
    ChildLists,
    drawn_for_gone,
    holds_parents,
    list_children,
    make_child_lists,
    mark_descendants,
    score_of,
)
from parnidag.tables.arrays import NEVER, Tables
from parnidag.tables.sums import draw_parents, log_sum, log_sum_hitting, write_parents
from parnidag.target import Target

PARTNER, BARRED = int64(1), int64(2)
"""Levels: the other end of the edge, and nodes that would close a cycle. Permitted parents lie below BARRED."""


@keeps("outside")
class Reversal(NamedTuple):
    """What the move needs beside the graph and the tables; only `outside` outlives a move."""

    frame: Bytes
    children: ChildLists
    pair: Integers
    """i and j."""
    under_parent: Integers
    """Levels that permit parents of i: BARRED in D(i), PARTNER at j, else 0."""
    under_child: Integers
    """Levels that permit parents of j in the first step of the way back: BARRED in D(j), PARTNER at i, else 0."""
    under_either: Integers
    """Levels that permit parents in the second step of either way: BARRED in D(i) ∪ D(j), else 0."""
    drawn: Codes
    """New parents of i (row 0) and of j (row 1), sorted."""
    degrees: Integers
    outside: Integers
    """Tries that ended because the tables do not hold a parent set (1 entry)."""


open_reversal = opener(Reversal)


def make_reversal(target: Target, likely: Floats | None = None) -> Reversal:
    n, widest = target.n_nodes, max(target.max_parents, 1)
    return Reversal(
        frame=make_frame(),
        children=make_child_lists(target),
        pair=np.zeros(2, np.int64),
        under_parent=np.zeros(n, np.int64),
        under_child=np.zeros(n, np.int64),
        under_either=np.zeros(n, np.int64),
        drawn=np.zeros((2, widest), np.int32),
        degrees=np.zeros(2, np.int64),
        outside=np.zeros(1, np.int64),
    )


@kernel
def reversal_move(dag: Dag, tables: Tables, rev: Reversal) -> bool:
    """Turn a random edge round and draw new parents of both its nodes; True when the graph changed.

    The first decision takes d(G′) for as small as it can be, so that a try without prospects ends before the draws; the
    second makes up for what was too generous in the first. Together they accept with the probability of step 4.
    """
    if dag.edge_count == 0:
        return False
    code = int64(dag.edges[below(dag.rng, dag.edge_count)])
    i, j = parent_of(code), child_of(code)
    if dag.status[j, i] != FREE:
        return False
    if tables.column[i, j] == NEVER or not holds_parents(dag, tables, i) or not holds_parents(dag, tables, j):
        rev.outside[0] += ONE
        return False
    if not find_levels(dag, rev, i, j):
        return False
    log_gain = log_ratio_of_sums(tables, rev, i, j)
    others = dag.edge_count - free_parents(tables, i, dag.degree[i]) - free_parents(tables, j, dag.degree[j])
    # Where tables lag behind the odds of edges (see `regroup`), a graph may be the likelier, the more edges it has.
    prospect = 1.0
    if dag.shift <= 0.0 and dag.by_children.size == 0:
        least = log_gain + dag.shift * (others + ONE - dag.edge_count)
        prospect = acceptance(least, dag.edge_count, others + ONE)
    if not happens(dag.rng, prospect):
        return False
    draw_families(dag, tables, rev, i, j)
    drawn = free_parents(tables, i, rev.degrees[0]) + free_parents(tables, j, rev.degrees[1])
    log_gain += drawn_for_gone(dag, rev.pair, int64(2), rev.drawn, rev.degrees)
    if not happens(dag.rng, acceptance(log_gain, dag.edge_count, others + drawn) / prospect):
        return False
    replace_families(dag, rev, i, j)
    return True


@leaf
def acceptance(log_gain: float, edges: int, edges_after: int) -> float:
    """Return min{1, d(G)/d(G′) · exp(log_gain)}."""
    return min(1.0, odds(log_gain) * edges / edges_after)


@leaf
def free_parents(tables: Tables, node: int, degree: int) -> int:
    """Return how many of a node's parents are not required."""
    return degree - tables.required_count[node]


@kernel
def log_ratio_of_sums(tables: Tables, rev: Reversal, i: int, j: int) -> float:
    """Return the log of Z*(i | G⊙, j)/Z*(j | G⊙, i) · Z(j | G⊕)/Z(i | G̃⊕).

    The sets of both second steps avoid D(i) ∪ D(j). −inf when a first step has no set to draw: j is among the
    candidates of i, say, but all sets with it are too large.
    """
    there = log_sum_hitting(tables, i, rev.under_parent, BARRED)
    back = log_sum_hitting(tables, j, rev.under_child, BARRED)
    if there == -math.inf or back == -math.inf:
        return -math.inf
    second_j, second_i = log_sum(tables, j, rev.under_either, BARRED), log_sum(tables, i, rev.under_either, BARRED)
    return there - back + second_j - second_i


@leaf
def draw_families(dag: Dag, tables: Tables, rev: Reversal, i: int, j: int) -> None:
    rev.degrees[0] = draw_family(dag, tables, i, j, rev.under_parent, rev.drawn[0])
    rev.degrees[1] = draw_family(dag, tables, j, i, rev.under_either, rev.drawn[1])


@kernel
def draw_family(dag: Dag, tables: Tables, node: int, partner: int, level: Integers, family: Codes) -> int:
    """Draw new parents of a node into `family`; the partner is one if the levels ask for it. Return their number."""
    with_partner = level[partner] == PARTNER
    draw_parents(tables, dag.rng, node, level, BARRED, with_partner)
    return write_parents(tables, node, tables.drawn_subset, tables.drawn_column, family)


@kernel
def replace_families(dag: Dag, rev: Reversal, i: int, j: int) -> None:
    score_i = score_of(dag, i, rev.drawn[0], rev.degrees[0])
    score_j = score_of(dag, j, rev.drawn[1], rev.degrees[1])
    drop_parents(dag, i, rev.drawn[0], rev.degrees[0], score_i)
    drop_parents(dag, j, rev.drawn[1], rev.degrees[1], score_j)
    take_parents(dag, i, rev.drawn[0], rev.degrees[0], score_i)
    take_parents(dag, j, rev.drawn[1], rev.degrees[1], score_j)


@kernel
def find_levels(dag: Dag, rev: Reversal, i: int, j: int) -> bool:
    """Write down which parents each step permits; False when none of i's permitted parent sets can have j."""
    rev.pair[0], rev.pair[1] = i, j
    list_children(dag, rev.children, rev.pair, int64(2))
    for v in range(dag.n):
        rev.under_parent[v] = ZERO
        rev.under_child[v] = ZERO
    mark_descendants(dag, rev.children, i, rev.under_parent, BARRED)
    if rev.under_parent[j] == BARRED:
        return False
    mark_descendants(dag, rev.children, j, rev.under_child, BARRED)
    for v in range(dag.n):
        rev.under_either[v] = rev.under_parent[v] | rev.under_child[v]
    rev.under_parent[j] = PARTNER
    rev.under_child[i] = PARTNER
    return True


MOVE = Move(
    "edge_reversal",
    "turn an edge round and draw new parents of both its nodes, see `REV`",
    reversal_move,
    make_reversal,
    open_reversal,
    needs_tables=True,
    burst=False,
)
