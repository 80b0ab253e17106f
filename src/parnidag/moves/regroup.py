"""Regroup: up to four neighbouring nodes choose their parents anew, all at once.

Some modes differ in the parents of three or four nodes that lie along a path, and every way between them that changes
one or two of these nodes at a time leads through graphs that are far too unlikely. With w_v(S) the weight of parents S
of node v (its exponentiated local score, prior included):

1. Choose a group W of nodes, by lists of neighbours that do not change while the chain runs. Let G⊙ be the graph
   without the parents of W, but with those that are required, and D(v) node v and its descendants there.
2. An order of W says who may be above whom. It permits node v all parents outside D(v) and outside D(u) for every u
   that comes later; the weights of the permitted sets sum to Z_v(later). Choose an order in proportion to ∏ Z_v, then
   the parents of every node of W from its permitted sets, in proportion to their weights. The graph is now G′.
3. Accept G′ with probability min{1, ℓ(G)/ℓ(G′)}, where ℓ is the number of orders of W that permit the graph.

Why every G′ is a DAG, and every DAG that differs from G in parents of W alone can be drawn: a directed path from u to
v, both in W and no other of W between them, ends in a parent of v that is in D(u), so u comes before v; going round a
cycle would lead ever later. In a DAG, on the other hand, sort W so that nobody follows a descendant: this order permits
it.

Why this is exact: G′ is drawn with probability ℓ(G′) ∏ w_v(S′_v)/C, where C is the sum of ∏ Z_v over all orders. The
way back has the same W, G⊙ and C, and draws G with probability ℓ(G) ∏ w_v(S_v)/C. The weights cancel against those of
π(G′)/π(G), and ℓ(G)/ℓ(G′) remains.

Where the log odds of edges have moved on from those of the tables by δ (they are learned, see `samplers.levels`),
tables weigh a graph e^δ too little for every edge, and the acceptance gains a factor of e^δ for every edge that is
more.

What makes it fast: Z_v depends on which nodes come later, not on their order, so four nodes need 32 sums for their 24
orders, and C is built up from the end, one node more at a time.

The sums come from candidate tables. When these do not hold the present parents of W, the way back could not draw them,
so the chain stays and the try is counted as "outside".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, Dag, drop_parents, odds, take_parents
from parnidag.kernels.declare import keeps, opener
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.random import below, choose, happens
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
from parnidag.tables.arrays import Tables
from parnidag.tables.sums import draw_parents, log_sum, write_parents
from parnidag.target import Target

LARGEST = int64(4)
"""Nodes of a group."""
TRIES = 8
"""How often a neighbour is looked for before a group stays smaller."""
NEIGHBOURS = 8
"""The likeliest neighbours of each node, from which groups grow."""


@keeps("outside")
class Regroup(NamedTuple):
    """The lists of neighbours, and working memory; only `outside` outlives a move."""

    frame: Bytes
    neighbours: Codes
    """The likeliest neighbours of each node (n × at most NEIGHBOURS)."""
    nearness: Floats
    """How likely a group grows to each of them."""
    group: Integers
    """W."""
    children: ChildLists
    reach: Integers
    """Which nodes of W each node is or descends from in G⊙, as a bit set."""
    level: Integers
    """1 where a parent is not permitted, as `sums` wants it; written only where it is read."""
    log_sums: Floats
    """log Z_v(later), by the place of v in W and the bit set of later nodes."""
    log_orders: Floats
    """For each set of nodes that come last: the log of the sum of ∏ Z_v over their orders."""
    orders: Integers
    """The number of those orders that permit a graph."""
    above: Integers
    """Which nodes of W must come before each of them."""
    chances: Floats
    drawn: Codes
    """New parents of each node of W, sorted."""
    degrees: Integers
    scores: Floats
    outside: Integers
    """Tries that ended because the tables do not hold a parent set (1 entry)."""


open_regroup = opener(Regroup)


def make_regroup(target: Target, likely: Floats) -> Regroup:
    n, widest = target.n_nodes, max(target.max_parents, 1)
    together = np.where(np.eye(n, dtype=bool), 0.0, likely + likely.T)
    nearest = np.argsort(-together, axis=1, kind="stable")[:, : min(NEIGHBOURS, n - 1)]
    subsets = 1 << int(LARGEST)
    return Regroup(
        frame=make_frame(),
        neighbours=np.ascontiguousarray(nearest, np.int32),
        nearness=np.ascontiguousarray(np.take_along_axis(together, nearest, axis=1)),
        group=np.zeros(LARGEST, np.int64),
        children=make_child_lists(target),
        reach=np.zeros(n, np.int64),
        level=np.zeros(n, np.int64),
        log_sums=np.zeros((LARGEST, subsets)),
        log_orders=np.zeros(subsets),
        orders=np.zeros(subsets, np.int64),
        above=np.zeros(LARGEST, np.int64),
        chances=np.zeros(LARGEST),
        drawn=np.zeros((LARGEST, widest), np.int32),
        degrees=np.zeros(LARGEST, np.int64),
        scores=np.zeros(LARGEST),
        outside=np.zeros(1, np.int64),
    )


@kernel
def regroup_move(dag: Dag, tables: Tables, own: Regroup) -> bool:
    size = choose_group(dag, own)
    for k in range(size):
        if not holds_parents(dag, tables, own.group[k]):
            own.outside[0] += ONE
            return False
    find_reach(dag, own, size)
    sum_over_orders(tables, own, size)
    before = orders_of_graph(dag, own, size)
    draw_group(dag, tables, own, size)
    gain = drawn_for_gone(dag, own.group, size, own.drawn, own.degrees)
    if not happens(dag.rng, acceptance(before, orders_of_draw(own, size), gain)):
        return False
    return replace_group(dag, own, size)


@leaf
def acceptance(orders_before: int, orders_after: int, log_gain: float) -> float:
    """Return min{1, ℓ(G)/ℓ(G′) · exp(log_gain)}."""
    return min(1.0, orders_before / orders_after * odds(log_gain))


@kernel
def choose_group(dag: Dag, own: Regroup) -> int:
    """Choose W: a random node, then again and again a likely neighbour of one that is in. Return its size."""
    own.group[0] = below(dag.rng, dag.n)
    size = ONE
    for _ in range(TRIES):
        if size == LARGEST or own.neighbours.shape[1] == 0:
            break
        member = own.group[below(dag.rng, size)]
        near = choose(dag.rng, own.nearness[member], int64(own.neighbours.shape[1]))
        node = int64(own.neighbours[member, near])
        known = False
        for k in range(size):
            known |= own.group[k] == node
        if not known:
            own.group[size] = node
            size += ONE
    return size


@kernel
def find_reach(dag: Dag, own: Regroup, size: int) -> None:
    list_children(dag, own.children, own.group, size)
    for v in range(dag.n):
        own.reach[v] = ZERO
    for k in range(size):
        mark_descendants(dag, own.children, own.group[k], own.reach, ONE << k)


@kernel
def sum_over_orders(tables: Tables, own: Regroup, size: int) -> None:
    """Fill `log_sums`, and `log_orders` from the end: the first of some last nodes has all others of them after it."""
    own.log_orders[0] = 0.0
    for last in range(ONE, ONE << size):
        top, total = -math.inf, 0.0
        for k in range(size):
            if last >> k & ONE:
                later = last ^ (ONE << k)
                permit(tables, own, own.group[k], last)
                own.log_sums[k, later] = log_sum(tables, own.group[k], own.level, ONE)
                term = own.log_sums[k, later] + own.log_orders[later]
                if term > top:
                    total = 1.0 + (total * math.exp(top - term) if total > 0.0 else 0.0)
                    top = term
                elif term > -math.inf:
                    total += math.exp(term - top)
        own.log_orders[last] = top + math.log(total) if total > 0.0 else -math.inf


@kernel
def permit(tables: Tables, own: Regroup, node: int, last: int) -> None:
    """Set the levels of all possible parents of a node: 1 for those in D(u), where u is one of `last`."""
    level, reach = own.level, own.reach
    for k in range(tables.candidate_count[node]):
        parent = tables.candidates[node, k]
        level[parent] = reach[parent] & last != ZERO
    for k in range(tables.required_count[node]):
        parent = tables.required[node, k]
        level[parent] = reach[parent] & last != ZERO
    for k in range(tables.extra_count[node]):
        parent = tables.extras[node, k]
        level[parent] = reach[parent] & last != ZERO


@kernel
def orders_of_graph(dag: Dag, own: Regroup, size: int) -> int:
    """Return ℓ of the present graph."""
    for k in range(size):
        own.above[k] = reached_by(own, dag.parents[own.group[k]], dag.degree[own.group[k]])
    return count_orders(own, size)


@kernel
def orders_of_draw(own: Regroup, size: int) -> int:
    """Return ℓ of the graph that was drawn."""
    for k in range(size):
        own.above[k] = reached_by(own, own.drawn[k], own.degrees[k])
    return count_orders(own, size)


@kernel
def reached_by(own: Regroup, parents: Codes, degree: int) -> int:
    """Return the nodes of W that some parents are or descend from."""
    found = ZERO
    for k in range(degree):
        found |= own.reach[parents[k]]
    return found


@kernel
def count_orders(own: Regroup, size: int) -> int:
    """Count the orders in which every node follows those in its `above`."""
    own.orders[0] = ONE
    for last in range(ONE, ONE << size):
        own.orders[last] = ZERO
        for k in range(size):
            if last >> k & ONE and own.above[k] & last == ZERO:
                own.orders[last] += own.orders[last ^ (ONE << k)]
    return own.orders[(ONE << size) - ONE]


@kernel
def draw_group(dag: Dag, tables: Tables, own: Regroup, size: int) -> None:
    """Draw an order of W, from its first node on, and the parents of every node."""
    last = (ONE << size) - ONE
    while last != ZERO:
        for k in range(size):
            own.chances[k] = 0.0
            if last >> k & ONE:
                later = last ^ (ONE << k)
                own.chances[k] = odds(own.log_sums[k, later] + own.log_orders[later] - own.log_orders[last])
        k = choose(dag.rng, own.chances, size)
        permit(tables, own, own.group[k], last)
        draw_parents(tables, dag.rng, own.group[k], own.level, ONE, False)
        own.degrees[k] = write_parents(tables, own.group[k], tables.drawn_subset, tables.drawn_column, own.drawn[k])
        last ^= ONE << k


@kernel
def replace_group(dag: Dag, own: Regroup, size: int) -> bool:
    """Give the nodes of W their new parents, scored as everywhere else; True when they differ from the old ones."""
    changed = False
    for k in range(size):
        node = own.group[k]
        own.scores[k] = dag.local[node]
        if not same_parents(dag, node, own.drawn[k], own.degrees[k]):
            own.scores[k] = score_of(dag, node, own.drawn[k], own.degrees[k])
            changed = True
    if changed:
        for k in range(size):
            drop_parents(dag, own.group[k], own.drawn[k], own.degrees[k], own.scores[k])
        for k in range(size):
            take_parents(dag, own.group[k], own.drawn[k], own.degrees[k], own.scores[k])
    return changed


@kernel
def same_parents(dag: Dag, node: int, family: Codes, degree: int) -> bool:
    if dag.degree[node] != degree:
        return False
    same = True
    for k in range(degree):
        same &= dag.parents[node, k] == family[k]
    return same


MOVE = Move(
    "regroup",
    "let up to four neighbouring nodes choose their parents anew at once",
    regroup_move,
    make_regroup,
    open_regroup,
    needs_tables=True,
    burst=False,
)
