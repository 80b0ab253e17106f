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

from parnidag._jit import kernel, leaf, make_frame, struct
from parnidag._random import below, happens
from parnidag._types import Bytes, Codes, Integers, int64
from parnidag.graph import arcs_of
from parnidag.memo import family_score
from parnidag.net import ONE, ZERO, Net, child_of, drop_parents, odds, parent_of, take_parents
from parnidag.prior import FREE
from parnidag.space.layout import NEVER, Tables, row_of
from parnidag.space.sums import draw_parents, find_parents, log_sum, log_sum_hitting, write_parents
from parnidag.target import Target

NONE = int64(-1)
"""End of a list of children."""
PARTNER, BARRED = int64(1), int64(2)
"""Levels: the other end of the edge, and nodes that would close a cycle. Permitted parents lie below BARRED."""


# ---------------------------------------------------------------------------------------------------------------------
# Working memory


class ReversalArrays(NamedTuple):
    """What the move needs beside the graph and the tables; only `outside` outlives a move."""

    frame: Bytes
    first_child: Integers
    """Place of each node's first child in `child`, or NONE."""
    child: Codes
    """Children of all nodes in G⊙, in no particular order."""
    next_child: Codes
    """Place of the next child of the same parent, or NONE."""
    required: Codes
    """The required edges, as arcs."""
    orphan: Integers
    """1 for i and j while children are listed, else 0."""
    under_parent: Integers
    """Levels that permit parents of i: BARRED in D(i), PARTNER at j, else 0."""
    under_child: Integers
    """Levels that permit parents of j in the first step of the way back: BARRED in D(j), PARTNER at i, else 0."""
    under_either: Integers
    """Levels that permit parents in the second step of either way: BARRED in D(i) ∪ D(j), else 0."""
    drawn: Codes
    """New parents of i (row 0) and of j (row 1), sorted."""
    outside: Integers
    """Tries that ended because the tables do not hold a parent set (1 entry)."""


@struct
class Reversal:
    """The fields of `ReversalArrays` as a struct, and the sizes of the drawn parent sets."""

    frame: Bytes
    first_child: Integers
    child: Codes
    next_child: Codes
    required: Codes
    orphan: Integers
    under_parent: Integers
    under_child: Integers
    under_either: Integers
    drawn: Codes
    outside: Integers
    parent_degree: int
    child_degree: int


def make_reversal(target: Target) -> ReversalArrays:
    """Return one chain's working memory."""
    n, widest = target.n_nodes, max(target.max_parents, 1)
    most = min(n * (n - 1) // 2, n * widest)
    return ReversalArrays(
        frame=make_frame(),
        first_child=np.zeros(n, np.int64),
        child=np.zeros(most, np.int32),
        next_child=np.zeros(most, np.int32),
        required=arcs_of(target.required),
        orphan=np.zeros(n, np.int64),
        under_parent=np.zeros(n, np.int64),
        under_child=np.zeros(n, np.int64),
        under_either=np.zeros(n, np.int64),
        drawn=np.zeros((2, widest), np.int32),
        outside=np.zeros(1, np.int64),
    )


@kernel
def open_reversal(arrays: ReversalArrays) -> Reversal:
    """Build the struct on top of the arrays."""
    return Reversal(
        arrays.frame,
        arrays.first_child,
        arrays.child,
        arrays.next_child,
        arrays.required,
        arrays.orphan,
        arrays.under_parent,
        arrays.under_child,
        arrays.under_either,
        arrays.drawn,
        arrays.outside,
        ZERO,
        ZERO,
    )


# ---------------------------------------------------------------------------------------------------------------------
# The move


@kernel
def reversal_move(net: Net, tables: Tables, rev: Reversal) -> bool:
    """Turn a random edge round and draw new parents of both its nodes; True when the graph changed.

    The first decision takes d(G′) for as small as it can be, so that a try without prospects ends before the draws; the
    second makes up for what was too generous in the first. Together they accept with the probability of step 4.
    """
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    if net.status[j, i] != FREE:
        return False
    if not tables_serve(net, tables, i, j):
        rev.outside[0] += ONE
        return False
    if not find_levels(net, rev, i, j):
        return False
    log_gain = log_ratio_of_sums(tables, rev, i, j)
    others = net.edge_count - free_parents(tables, i, net.degree[i]) - free_parents(tables, j, net.degree[j])
    prospect = acceptance(log_gain, net.edge_count, others + ONE)
    if not happens(net.rng, prospect):
        return False
    draw_families(net, tables, rev, i, j)
    drawn = free_parents(tables, i, rev.parent_degree) + free_parents(tables, j, rev.child_degree)
    if not happens(net.rng, acceptance(log_gain, net.edge_count, others + drawn) / prospect):
        return False
    replace_families(net, rev, i, j)
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
def tables_serve(net: Net, tables: Tables, i: int, j: int) -> bool:
    """Do the tables hold the present parents of i and of j, and sets with j among the parents of i?"""
    return tables.column[i, j] != NEVER and holds_parents(net, tables, i) and holds_parents(net, tables, j)


@kernel
def holds_parents(net: Net, tables: Tables, node: int) -> bool:
    """Could a draw from the tables give the present parents of a node?"""
    if not find_parents(tables, node, net.parents[node], net.degree[node]):
        return False
    return tables.scores[row_of(tables, node, tables.drawn_subset) + tables.drawn_column] > -math.inf


@kernel
def log_ratio_of_sums(tables: Tables, rev: Reversal, i: int, j: int) -> float:
    """Return the log of Z*(i | G⊙, j)/Z*(j | G⊙, i) · Z(j | G⊕)/Z(i | G̃⊕).

    −inf when a first step has no set to draw: j is among the candidates of i, say, but all sets with it are too large.
    """
    there = log_sum_hitting(tables, i, rev.under_parent, BARRED)
    back = log_sum_hitting(tables, j, rev.under_child, BARRED)
    if there == -math.inf or back == -math.inf:
        return -math.inf
    return there - back + log_second_sum(tables, rev, j) - log_second_sum(tables, rev, i)


@leaf
def log_second_sum(tables: Tables, rev: Reversal, node: int) -> float:
    """Return the log of Z(j | G⊕) or of Z(i | G̃⊕): the permitted sets avoid D(i) ∪ D(j) in either graph."""
    return log_sum(tables, node, rev.under_either, BARRED)


@leaf
def draw_families(net: Net, tables: Tables, rev: Reversal, i: int, j: int) -> None:
    """Draw the new parents of i, j among them, and those of j."""
    rev.parent_degree = draw_family(net, tables, i, j, rev.under_parent, rev.drawn[0])
    rev.child_degree = draw_family(net, tables, j, i, rev.under_either, rev.drawn[1])


@kernel
def draw_family(net: Net, tables: Tables, node: int, partner: int, level: Integers, family: Codes) -> int:
    """Draw new parents of a node into `family`; the partner is one if the levels ask for it. Return their number."""
    with_partner = level[partner] == PARTNER
    draw_parents(tables, net.rng, node, level, BARRED, with_partner)
    return write_parents(tables, node, tables.drawn_subset, tables.drawn_column, family)


@kernel
def replace_families(net: Net, rev: Reversal, i: int, j: int) -> None:
    """Give i and j their new parents.

    Scores are computed as everywhere else, not taken from the tables, which add up in another order: a chain's local
    scores stay functions of its graph, to the last bit.
    """
    score_i = score_of(net, i, rev.drawn[0], rev.parent_degree)
    score_j = score_of(net, j, rev.drawn[1], rev.child_degree)
    drop_parents(net, i, rev.drawn[0], rev.parent_degree, score_i)
    drop_parents(net, j, rev.drawn[1], rev.child_degree, score_j)
    take_parents(net, i, rev.drawn[0], rev.parent_degree, score_i)
    take_parents(net, j, rev.drawn[1], rev.child_degree, score_j)


@kernel
def score_of(net: Net, node: int, family: Codes, degree: int) -> float:
    """Return the local log target of a node with other parents."""
    for k in range(degree):
        net.family[k] = family[k]
    return family_score(net, node, degree)


# ---------------------------------------------------------------------------------------------------------------------
# Descendants in G⊙


@kernel
def find_levels(net: Net, rev: Reversal, i: int, j: int) -> bool:
    """Write down which parents each step permits; False when none of i's permitted parent sets can have j."""
    rev.orphan[i] = rev.orphan[j] = ONE
    list_children(net, rev.first_child, rev.child, rev.next_child, rev.required, rev.orphan)
    rev.orphan[i] = rev.orphan[j] = ZERO
    for v in range(net.n):
        rev.under_parent[v] = ZERO
        rev.under_child[v] = ZERO
        rev.under_either[v] = ZERO
    bar_descendants(net, rev, i, rev.under_parent)
    if rev.under_parent[j] == BARRED:
        return False
    bar_descendants(net, rev, j, rev.under_child)
    rev.under_parent[j] = PARTNER
    rev.under_child[i] = PARTNER
    return True


@kernel
def list_children(
    net: Net, first_child: Integers, child: Codes, next_child: Codes, required: Codes, orphan: Integers
) -> None:
    """List the children of every node in G⊙: all edges, less those into orphans that are not required."""
    for v in range(net.n):
        first_child[v] = NONE
    count = ZERO
    for k in range(required.size):
        append_child(first_child, child, next_child, int64(required[k]), count)
        count += ONE
    for k in range(net.edge_count):
        code = int64(net.edges[k])
        if orphan[child_of(code)] == ZERO:
            append_child(first_child, child, next_child, code, count)
            count += ONE


@leaf
def append_child(first_child: Integers, child: Codes, next_child: Codes, code: int, place: int) -> None:
    """Put an edge into the lists of children, at a place that is still empty."""
    child[place] = child_of(code)
    next_child[place] = first_child[parent_of(code)]
    first_child[parent_of(code)] = place


@kernel
def bar_descendants(net: Net, rev: Reversal, source: int, level: Integers) -> None:
    """Bar `source` and its descendants, in `level` and for the second step."""
    first_child, child, next_child, stack = rev.first_child, rev.child, rev.next_child, net.stack
    level[source] = BARRED
    stack[0] = source
    top = ONE
    while top > 0:
        top -= ONE
        node = stack[top]
        rev.under_either[node] = BARRED
        place = first_child[node]
        while place != NONE:
            below_node = int64(child[place])
            if level[below_node] != BARRED:
                level[below_node] = BARRED
                stack[top] = below_node
                top += ONE
            place = int64(next_child[place])
