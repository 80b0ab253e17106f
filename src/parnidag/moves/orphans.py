"""What moves need that choose the parents of some nodes anew: the graph without those parents, G⊙.

The nodes are its orphans; parents that are required are in every graph, so orphans keep them, and so do the paths that
lead through them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.graphs.adjacency import arcs_of
from parnidag.kernels.dag import ONE, ZERO, Dag, child_of, more_children, parent_of
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.score_cache import family_score
from parnidag.kernels.types import Codes, Integers, int64
from parnidag.tables.arrays import Tables, row_of
from parnidag.tables.sums import find_parents
from parnidag.target import Target

NONE = int64(-1)
"""End of a list of children."""


@keeps()
class ChildLists(NamedTuple):
    """The children of every node in G⊙, as linked lists."""

    first_child: Integers
    """Place of each node's first child in `child`, or NONE."""
    child: Codes
    """Children of all nodes, in no particular order."""
    next_child: Codes
    """Place of the next child of the same parent, or NONE."""
    required: Codes
    orphan: Integers
    """1 for the orphans while children are listed, else 0."""


def make_child_lists(target: Target) -> ChildLists:
    n = target.n_nodes
    most = max(target.most_edges, 1)
    return ChildLists(
        first_child=np.zeros(n, np.int64),
        child=lazy_zeros(most, np.int32),
        next_child=lazy_zeros(most, np.int32),
        required=arcs_of(target.required),
        orphan=np.zeros(n, np.int64),
    )


@kernel
def list_children(dag: Dag, lists: ChildLists, orphans: Integers, count: int) -> None:
    """List the children of every node in G⊙: all edges, less those into `count` orphans that are not required."""
    for k in range(count):
        lists.orphan[orphans[k]] = ONE
    for v in range(dag.n):
        lists.first_child[v] = NONE
    place = ZERO
    for k in range(lists.required.size):
        append_child(lists, int64(lists.required[k]), place)
        place += ONE
    for k in range(dag.edge_count):
        code = int64(dag.edges[k])
        if lists.orphan[child_of(code)] == ZERO:
            append_child(lists, code, place)
            place += ONE
    for k in range(count):
        lists.orphan[orphans[k]] = ZERO


@leaf
def append_child(lists: ChildLists, code: int, place: int) -> None:
    """Put an edge into the lists of children, at a place that is still empty."""
    lists.child[place] = child_of(code)
    lists.next_child[place] = lists.first_child[parent_of(code)]
    lists.first_child[parent_of(code)] = place


@kernel
def mark_descendants(dag: Dag, lists: ChildLists, source: int, marks: Integers, bit: int) -> None:
    """Set a bit in the marks of `source` and of its descendants in G⊙."""
    stack = dag.stack
    marks[source] |= bit
    stack[0] = source
    top = ONE
    while top > 0:
        top -= ONE
        place = lists.first_child[stack[top]]
        while place != NONE:
            node = int64(lists.child[place])
            if marks[node] & bit == ZERO:
                marks[node] |= bit
                stack[top] = node
                top += ONE
            place = int64(lists.next_child[place])


@kernel
def holds_parents(dag: Dag, tables: Tables, node: int) -> bool:
    """Could a draw from the tables give the present parents of a node?"""
    if not find_parents(tables, node, dag.parents[node], dag.degree[node]):
        return False
    return tables.scores[row_of(tables, node, tables.drawn_subset) + tables.drawn_column] > -math.inf


@kernel
def drawn_for_gone(dag: Dag, nodes: Integers, size: int, drawn: Codes, degrees: Integers) -> float:
    """Return by how much more the log prior rises than tables know when nodes get the parents drawn for them.

    Tables may lag behind the odds of edges, and know nothing of what a node adds by its number of children.
    """
    more = int64(0)
    for k in range(size):
        more += degrees[k] - dag.degree[nodes[k]]
    gain = dag.shift * more
    if dag.by_children.size == 0:
        return gain
    for k in range(size):
        gain += count_children(dag, dag.parents[nodes[k]], dag.degree[nodes[k]], -ONE)
    for k in range(size):
        gain += count_children(dag, drawn[k], degrees[k], ONE)
    for k in range(size):  # which was only a try
        count_children(dag, drawn[k], degrees[k], -ONE)
        count_children(dag, dag.parents[nodes[k]], dag.degree[nodes[k]], ONE)
    return gain


@kernel
def count_children(dag: Dag, parents: Codes, degree: int, more: int) -> float:
    """Give so many more children to each of a family's parents, and return by how much the log prior rises."""
    gain = 0.0
    for k in range(degree):
        parent = int64(parents[k])
        gain += more_children(dag, parent, more)
        dag.children[parent] += more
    return gain


@kernel
def score_of(dag: Dag, node: int, family: Codes, degree: int) -> float:
    """Return the local log target of a node with other parents.

    It is computed as everywhere else, not taken from the tables, which add up in another order: a chain's local scores
    stay functions of its graph, to the last bit.
    """
    for k in range(degree):
        dag.family[k] = family[k]
    return family_score(dag, node, degree)
