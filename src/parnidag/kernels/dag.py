"""The state that every structure sampler shares: a DAG that can be edited fast, and what it scores.

A `Dag` holds the graph as sorted parent lists, the local score of every node, the list of edges, how long each edge has
been there, and the cache of local scores. It is a compiled struct, built inside each entry from plain arrays
(`GraphArrays`, `Scratch`, and the target's `Problem`), so that a chain's state is nothing but arrays that can be sent
anywhere. All times are counted in finished iterations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.declare import closer, opener, size_of, struct_over
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.problem import FREE, Problem
from parnidag.kernels.random import RandomState
from parnidag.kernels.types import Bytes, Codes, Floats, Integers, Records, Words, int64

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
"""Parent sets up to this size are cached; a record then fills one 64-byte cache line. Its owner is node + 1."""
CACHE_RECORD = np.dtype(
    [("score", "f8"), ("tag", "u4"), ("owner", "u2"), ("degree", "u2"), ("parents", "u2", (LONGEST_KEY,))]
)


class GraphArrays(NamedTuple):
    """One chain's graph, scores and edge counts: what must survive between segments."""

    parents: Codes
    """Sorted parents of each node (n × the most parents allowed)."""
    degree: Integers
    children: Integers
    """How many children each node has."""
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
    floats: Floats
    """The numbers that `Dag` declares."""


class Scratch(NamedTuple):
    """Working memory of one chain: contents never change a result, so it is remade wherever the chain goes."""

    frame: Bytes
    cache: Records
    direct: Floats
    """A score for every node and set of parents, NaN while unknown; empty when there are too many."""
    marks: Integers
    stack: Integers
    family: Integers
    factor: Floats


@struct_over
class Dag(Problem, GraphArrays, Scratch):  # type: ignore[misc]
    """All of these in one mutable struct."""

    edge_count: int
    addable: int
    """Free edges between nodes that are not adjacent."""
    now: int
    """Finished iterations."""
    hits: int
    misses: int
    """Scores found in the cache, and computed."""
    log_posterior: float
    n: int = size_of("degree")


open_dag, keep_numbers = opener(Dag), closer(Dag)


@kernel
def close_dag(dag: Dag, graph: GraphArrays) -> None:
    """Write back what the struct holds by value, and bring the edge counts up to date."""
    settle_counts(dag)
    keep_numbers(dag, graph)


@leaf
def arc(i: int, j: int) -> int:
    """Return the edge i → j as one integer, i in the upper and j in the lower 16 bits: no division to take it apart."""
    return i << ARC_BITS | j


@leaf
def parent_of(code: int) -> int:
    return code >> ARC_BITS


@leaf
def child_of(code: int) -> int:
    return code & CHILD_MASK


@leaf
def odds(log_odds: float) -> float:
    """Return exp(log_odds) without overflow.

    Two alternatives that are both more than e⁷⁰⁰ times as likely as the present state count as equally likely, which
    only a chain far out in the tail, on its way in, can meet.
    """
    return math.exp(min(log_odds, 700.0))


@leaf
def present(dag: Dag, i: int, j: int) -> bool:
    return dag.position[i, j] != ABSENT


@leaf
def adjacent(dag: Dag, i: int, j: int) -> bool:
    return dag.position[i, j] != ABSENT or dag.position[j, i] != ABSENT


@kernel
def add_edge(dag: Dag, i: int, j: int, score: float) -> None:
    """Put i → j into the graph; `score` is the local score of j with its new parents."""
    row = dag.parents[j]
    place = dag.degree[j]
    while place > 0 and row[place - 1] > i:
        row[place] = row[place - 1]
        place -= ONE
    row[place] = i
    dag.degree[j] += ONE
    dag.key[j] ^= dag.words[0, i]
    replace_local(dag, j, score)
    slot = dag.edge_count
    dag.edges[slot] = arc(i, j)
    dag.since[slot] = dag.now
    dag.position[i, j] = slot
    dag.edge_count = slot + ONE
    dag.addable -= addable_between(dag, i, j)
    dag.log_posterior += more_children(dag, i, ONE)
    dag.children[i] += ONE


@kernel
def remove_edge(dag: Dag, i: int, j: int, score: float) -> None:
    """Take i → j out of the graph; `score` is the local score of j with the parents that remain."""
    row = dag.parents[j]
    last = dag.degree[j] - ONE
    place = last
    while row[place] != i:
        place -= ONE
    for k in range(place, last):
        row[k] = row[k + 1]
    dag.degree[j] = last
    dag.key[j] ^= dag.words[0, i]
    replace_local(dag, j, score)
    slot = int64(dag.position[i, j])
    dag.visits[i, j] += dag.now - dag.since[slot]
    dag.position[i, j] = ABSENT
    final = dag.edge_count - ONE
    moved = int64(dag.edges[final])
    if slot != final:
        dag.edges[slot] = moved
        dag.since[slot] = dag.since[final]
        dag.position[parent_of(moved), child_of(moved)] = slot
    dag.edge_count = final
    dag.addable += addable_between(dag, i, j)
    dag.log_posterior += more_children(dag, i, -ONE)
    dag.children[i] -= ONE


@kernel
def drop_parents(dag: Dag, j: int, family: Codes, degree: int, score: float) -> None:
    """Take out the parents of j that are not among the first `degree` of the sorted `family`, whose score it is."""
    k = dag.degree[j] - ONE
    place = degree - ONE
    while k >= 0:
        parent = int64(dag.parents[j, k])
        while place >= 0 and family[place] > parent:
            place -= ONE
        if (place < 0 or family[place] != parent) and dag.position[parent, j] != FIXED:
            remove_edge(dag, parent, j, score)
        k -= ONE


@kernel
def take_parents(dag: Dag, j: int, family: Codes, degree: int, score: float) -> None:
    """Put in the members of `family` that are not parents of j yet; a replaced set first drops, then takes.

    When several nodes change at once, all must drop before any takes: the list of edges has no room for more than a
    DAG can hold.
    """
    for k in range(degree):
        parent = int64(family[k])
        if dag.position[parent, j] == ABSENT:
            add_edge(dag, parent, j, score)
    replace_local(dag, j, score)


@leaf
def addable_between(dag: Dag, i: int, j: int) -> int:
    """Return how many edges could be added between i and j, not adjacent: two if both directions are free, else one."""
    return ONE + ONE if dag.status[j, i] == FREE else ONE


@leaf
def replace_local(dag: Dag, j: int, score: float) -> None:
    dag.log_posterior += score - dag.local[j]
    dag.local[j] = score


@leaf
def more_children(dag: Dag, i: int, more: int) -> float:
    """Return by how much the log prior rises when node i has so many more children, beside what local scores say."""
    if dag.by_children.size == 0:
        return 0.0
    return dag.by_children[dag.children[i] + more] - dag.by_children[dag.children[i]]


@leaf
def turned_round(dag: Dag, i: int, j: int) -> float:
    """Return the same for a child that passes from node i to node j."""
    return more_children(dag, i, -ONE) + more_children(dag, j, ONE)


@kernel
def is_ancestor(dag: Dag, source: int, node: int) -> bool:
    """Does a directed path lead from `source` to `node`?

    Depth-first over parent lists; the last mark counts the searches, so nothing is ever cleared.
    """
    if source == node:
        return True
    if dag.degree[node] == 0:
        return False
    marks = dag.marks
    marks[dag.n] += ONE
    dag.stack[0] = node
    return climb(dag, source, ONE)


@kernel
def has_detour(dag: Dag, i: int, j: int) -> bool:
    """Does a path from i to j exist besides the edge i → j itself? Then that edge cannot be turned round."""
    degree = dag.degree[j]
    if degree == 1:
        return False
    marks, stack, row = dag.marks, dag.stack, dag.parents[j]
    marks[dag.n] += ONE
    stamp = marks[dag.n]
    top = ZERO
    for k in range(degree):
        parent = int64(row[k])
        if parent != i:
            marks[parent] = stamp
            stack[top] = parent
            top += ONE
    return climb(dag, i, top)


@kernel
def climb(dag: Dag, source: int, top: int) -> bool:
    """Search upwards from the first `top` nodes on the stack for `source`."""
    parents, degree, marks, stack = dag.parents, dag.degree, dag.marks, dag.stack
    stamp = marks[dag.n]
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
def settle_counts(dag: Dag) -> None:
    """Credit every present edge with the iterations since it was last counted."""
    now = dag.now
    for slot in range(dag.edge_count):
        code = int64(dag.edges[slot])
        dag.visits[parent_of(code), child_of(code)] += now - dag.since[slot]
        dag.since[slot] = now


@kernel
def recompute_log_posterior(dag: Dag) -> None:
    """Sum the local scores afresh, so that rounding does not pile up over millions of moves."""
    total = dag.offset
    for j in range(dag.n):
        total += dag.local[j] + weight_of_children(dag, int64(j))
    dag.log_posterior = total


@leaf
def weight_of_children(dag: Dag, i: int) -> float:
    return dag.by_children[dag.children[i]] if dag.by_children.size else 0.0
