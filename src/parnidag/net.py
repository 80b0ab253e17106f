"""The state that every structure sampler shares: a DAG that can be edited fast, and what it scores.

A `Net` holds the graph as sorted parent lists, the local score of every node, the list of edges, how long each edge has
been there, and the memo of local scores. It is a compiled struct, built inside each entry from plain arrays
(`GraphArrays`, `Scratch`, and the target's `Problem`), so that a chain's state is nothing but arrays that can be sent
anywhere. All times are counted in finished iterations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag._jit import kernel, leaf, struct
from parnidag._random import RandomState
from parnidag._types import Bytes, Codes, Floats, Integers, Records, Words, int64
from parnidag.prior import FREE
from parnidag.scores.table import ScoreTable

ABSENT = int64(-1)
"""`position` of an edge that is not in the graph."""
FIXED = int64(-2)
"""`position` of a required edge: present, but not among the edges that moves may touch."""
ARC_BITS = int64(16)
CHILD_MASK = int64(2**16 - 1)
MOST_NODES = 2**15 - 1
ONE = int64(1)
ZERO = int64(0)

LONGEST_KEY = 24
"""Parent sets up to this size are memoised; a record then fills one 64-byte cache line. Its owner is node + 1."""
MEMO_RECORD = np.dtype(
    [("score", "f8"), ("tag", "u4"), ("owner", "u2"), ("degree", "u2"), ("parents", "u2", (LONGEST_KEY,))]
)


class Problem(NamedTuple):
    """The target as kernels see it: the same for all chains, never written to."""

    table: ScoreTable
    log_odds: Floats
    """Log prior odds of each edge (n × n)."""
    status: Bytes
    """Whether each edge is forbidden, free or required (n × n)."""
    free: Codes
    """The free edges, as arcs."""
    words: Words
    """Words that hash a node (row 1) and its set of parents (row 0), see `memo.hash_words`."""
    max_parents: int


class GraphArrays(NamedTuple):
    """One chain's graph, scores and edge counts: what must survive between segments."""

    parents: Codes
    """Sorted parents of each node (n × the most parents allowed)."""
    degree: Integers
    """Number of parents."""
    local: Floats
    """Local log target of each node given its parents."""
    key: Words
    """Hash of each node with its parents."""
    edges: Codes
    """The present edges that moves may touch, as arcs, in no particular order."""
    since: Integers
    """Iteration at which the edge in the same place of `edges` was last counted."""
    position: Codes
    """Place of each edge in `edges`, or ABSENT or FIXED (n × n)."""
    visits: Integers
    """In how many iterations each edge was present, up to `since` (n × n)."""
    rng: RandomState
    integers: Integers
    """edge_count, room, now, memo hits, memo misses."""
    floats: Floats
    """log posterior."""


class Scratch(NamedTuple):
    """Working memory of one chain: contents never change a result, so it is remade wherever the chain goes."""

    frame: Bytes
    """Where the `Net` itself lives."""
    memo: Records
    direct: Floats
    """A score for every node and set of parents, NaN while unknown; empty when there are too many."""
    marks: Integers
    stack: Integers
    family: Integers
    factor: Floats


@struct
class Net:
    """The fields of `Problem`, `GraphArrays` and `Scratch` in one mutable struct."""

    frame: Bytes
    table: ScoreTable
    log_odds: Floats
    status: Bytes
    free: Codes
    words: Words
    max_parents: int
    n: int
    parents: Codes
    degree: Integers
    local: Floats
    key: Words
    edges: Codes
    since: Integers
    position: Codes
    visits: Integers
    rng: RandomState
    memo: Records
    direct: Floats
    marks: Integers
    stack: Integers
    family: Integers
    factor: Floats
    edge_count: int
    room: int
    now: int
    hits: int
    misses: int
    log_posterior: float


@kernel
def open_net(problem: Problem, graph: GraphArrays, scratch: Scratch) -> Net:
    """Build the struct on top of the arrays."""
    return Net(
        scratch.frame,
        problem.table,
        problem.log_odds,
        problem.status,
        problem.free,
        problem.words,
        problem.max_parents,
        int64(graph.degree.size),
        graph.parents,
        graph.degree,
        graph.local,
        graph.key,
        graph.edges,
        graph.since,
        graph.position,
        graph.visits,
        graph.rng,
        scratch.memo,
        scratch.direct,
        scratch.marks,
        scratch.stack,
        scratch.family,
        scratch.factor,
        graph.integers[0],
        graph.integers[1],
        graph.integers[2],
        graph.integers[3],
        graph.integers[4],
        graph.floats[0],
    )


@kernel
def close_net(net: Net, graph: GraphArrays) -> None:
    """Write back what the struct holds by value, and bring the edge counts up to date."""
    settle_counts(net)
    graph.integers[0] = net.edge_count
    graph.integers[1] = net.room
    graph.integers[2] = net.now
    graph.integers[3] = net.hits
    graph.integers[4] = net.misses
    graph.floats[0] = net.log_posterior


@leaf
def arc(i: int, j: int) -> int:
    """Return the edge i → j as one integer, i in the upper and j in the lower 16 bits: no division to take it apart."""
    return i << ARC_BITS | j


@leaf
def parent_of(code: int) -> int:
    """Return i of the arc i → j."""
    return code >> ARC_BITS


@leaf
def child_of(code: int) -> int:
    """Return j of the arc i → j."""
    return code & CHILD_MASK


@leaf
def odds(log_odds: float) -> float:
    """Return exp(log_odds) without overflow.

    Two alternatives that are both more than e⁷⁰⁰ times as likely as the present state count as equally likely, which
    only a chain far out in the tail, on its way in, can meet.
    """
    return math.exp(min(log_odds, 700.0))


@leaf
def present(net: Net, i: int, j: int) -> bool:
    """Is the edge i → j in the graph?"""
    return net.position[i, j] != ABSENT


@leaf
def adjacent(net: Net, i: int, j: int) -> bool:
    """Is there an edge between i and j, in either direction?"""
    return net.position[i, j] != ABSENT or net.position[j, i] != ABSENT


@kernel
def add_edge(net: Net, i: int, j: int, score: float) -> None:
    """Put i → j into the graph; `score` is the local score of j with its new parents."""
    row = net.parents[j]
    place = net.degree[j]
    while place > 0 and row[place - 1] > i:
        row[place] = row[place - 1]
        place -= ONE
    row[place] = i
    net.degree[j] += ONE
    net.key[j] ^= net.words[0, i]
    replace_local(net, j, score)
    slot = net.edge_count
    net.edges[slot] = arc(i, j)
    net.since[slot] = net.now
    net.position[i, j] = slot
    net.edge_count = slot + ONE
    net.room -= places(net, i, j)


@kernel
def remove_edge(net: Net, i: int, j: int, score: float) -> None:
    """Take i → j out of the graph; `score` is the local score of j with the parents that remain."""
    row = net.parents[j]
    last = net.degree[j] - ONE
    place = last
    while row[place] != i:
        place -= ONE
    for k in range(place, last):
        row[k] = row[k + 1]
    net.degree[j] = last
    net.key[j] ^= net.words[0, i]
    replace_local(net, j, score)
    slot = int64(net.position[i, j])
    net.visits[i, j] += net.now - net.since[slot]
    net.position[i, j] = ABSENT
    final = net.edge_count - ONE
    moved = int64(net.edges[final])
    if slot != final:
        net.edges[slot] = moved
        net.since[slot] = net.since[final]
        net.position[parent_of(moved), child_of(moved)] = slot
    net.edge_count = final
    net.room += places(net, i, j)


@kernel
def drop_parents(net: Net, j: int, family: Codes, degree: int, score: float) -> None:
    """Take out the parents of j that are not among the first `degree` of the sorted `family`, whose score it is."""
    k = net.degree[j] - ONE
    place = degree - ONE
    while k >= 0:
        parent = int64(net.parents[j, k])
        while place >= 0 and family[place] > parent:
            place -= ONE
        if (place < 0 or family[place] != parent) and net.position[parent, j] != FIXED:
            remove_edge(net, parent, j, score)
        k -= ONE


@kernel
def take_parents(net: Net, j: int, family: Codes, degree: int, score: float) -> None:
    """Put in the members of `family` that are not parents of j yet; a replaced set first drops, then takes.

    When several nodes change at once, all must drop before any takes: the list of edges has no room for more than a
    DAG can hold.
    """
    for k in range(degree):
        parent = int64(family[k])
        if net.position[parent, j] == ABSENT:
            add_edge(net, parent, j, score)
    replace_local(net, j, score)


@leaf
def places(net: Net, i: int, j: int) -> int:
    """Count the free ordered pairs between i and j when i → j is free; `room` is their sum over non-adjacent pairs."""
    return ONE + ONE if net.status[j, i] == FREE else ONE


@leaf
def replace_local(net: Net, j: int, score: float) -> None:
    """Set the local score of j and keep the total in step."""
    net.log_posterior += score - net.local[j]
    net.local[j] = score


@kernel
def is_ancestor(net: Net, source: int, node: int) -> bool:
    """Does a directed path lead from `source` to `node`?

    Depth-first over parent lists; the last mark counts the searches, so nothing is ever cleared.
    """
    if source == node:
        return True
    if net.degree[node] == 0:
        return False
    marks = net.marks
    marks[net.n] += ONE
    net.stack[0] = node
    return climb(net, source, ONE)


@kernel
def has_detour(net: Net, i: int, j: int) -> bool:
    """Does a path from i to j exist besides the edge i → j itself? Then that edge cannot be turned round."""
    degree = net.degree[j]
    if degree == 1:
        return False
    marks, stack, row = net.marks, net.stack, net.parents[j]
    marks[net.n] += ONE
    stamp = marks[net.n]
    top = ZERO
    for k in range(degree):
        parent = int64(row[k])
        if parent != i:
            marks[parent] = stamp
            stack[top] = parent
            top += ONE
    return climb(net, i, top)


@kernel
def climb(net: Net, source: int, top: int) -> bool:
    """Search upwards from the first `top` nodes on the stack for `source`."""
    parents, degree, marks, stack = net.parents, net.degree, net.marks, net.stack
    stamp = marks[net.n]
    while top > 0:
        top -= ONE
        current = stack[top]
        for k in range(degree[current]):
            parent = int64(parents[current, k])
            if parent == source:
                return True
            if marks[parent] != stamp:
                marks[parent] = stamp
                stack[top] = parent
                top += ONE
    return False


@leaf
def settle_counts(net: Net) -> None:
    """Credit every present edge with the iterations since it was last counted."""
    now = net.now
    for slot in range(net.edge_count):
        code = int64(net.edges[slot])
        net.visits[parent_of(code), child_of(code)] += now - net.since[slot]
        net.since[slot] = now


@kernel
def recompute_log_posterior(net: Net) -> None:
    """Sum the local scores afresh, so that rounding does not pile up over millions of moves."""
    total = 0.0
    for j in range(net.n):
        total += net.local[j]
    net.log_posterior = total
