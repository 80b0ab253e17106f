"""Which nodes are reached in packed graphs: along directed paths, and along paths that carry dependence (d-connection).

A path is open given a set C if every collider on it is in C or has a descendant there, and no other node of it is in C.
The search goes over pairs of a node and how it was entered, as in the algorithm of Geiger, Verma and Pearl (1990).
"""

from __future__ import annotations

import numpy as np

from parnidag.graphs.ancestors import Unpacked, make_unpacked, sort_nodes, unpack
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Codes, Flags, Integers, int64

UP, DOWN = 0, 1
"""A node is entered from a child, or from a parent."""


@entry
def reaches(n: int, offsets: Integers, codes: Codes, start: int, end: int) -> Flags:
    """Say of each graph whether a directed path leads from one node to another."""
    found = np.zeros(offsets.size - 1, np.bool_)
    unpacked, seen = make_unpacked(n, offsets), np.zeros(n, np.bool_)
    for graph in range(found.size):
        unpack(codes[offsets[graph] : offsets[graph + 1]], unpacked)
        seen[:] = False
        for step in range(sort_nodes(unpacked)):
            j = unpacked.order[step]
            for slot in range(unpacked.first_parent[j], unpacked.first_parent[j + 1]):
                parent = unpacked.parents[slot]
                seen[j] |= parent == start or seen[parent]
        found[graph] = seen[end]
    return found


@entry
def separates(n: int, offsets: Integers, codes: Codes, one: Flags, other: Flags, given: Flags) -> Flags:
    """Say of each graph whether it d-separates two sets of nodes given a third."""
    found = np.zeros(offsets.size - 1, np.bool_)
    unpacked, above = make_unpacked(n, offsets), np.zeros(n, np.bool_)
    entered, waiting = np.zeros((n, 2), np.bool_), np.zeros(2 * n, np.int64)
    for graph in range(found.size):
        unpack(codes[offsets[graph] : offsets[graph + 1]], unpacked)
        mark_ancestors(unpacked, given, above)
        found[graph] = not connects(unpacked, one, other, given, above, entered, waiting)
    return found


@kernel
def mark_ancestors(unpacked: Unpacked, of: Flags, above: Flags) -> None:
    """Mark the nodes of a set and all their ancestors."""
    for j in range(of.size):
        above[j] = of[j]
    known = sort_nodes(unpacked)
    for step in range(known - 1, -1, -1):
        j = unpacked.order[step]
        if above[j]:
            for slot in range(unpacked.first_parent[j], unpacked.first_parent[j + 1]):
                above[unpacked.parents[slot]] = True


@kernel
def connects(
    unpacked: Unpacked, one: Flags, other: Flags, given: Flags, above: Flags, entered: Flags, waiting: Integers
) -> bool:
    entered[:] = False
    count = int64(0)
    for node in range(one.size):
        if one[node]:
            count = enter(int64(node), UP, entered, waiting, count)
    while count > 0:
        count -= int64(1)
        node, way = waiting[count] >> 1, waiting[count] & 1
        if other[node] and not given[node]:
            return True
        count = go_on(unpacked, node, way, given, above, entered, waiting, count)
    return False


@kernel
def go_on(
    unpacked: Unpacked,
    node: int,
    way: int,
    given: Flags,
    above: Flags,
    entered: Flags,
    waiting: Integers,
    count: int,
) -> int:
    """Put the neighbours on the list that a path may go on to."""
    if (way == UP and not given[node]) or (way == DOWN and above[node]):
        for slot in range(unpacked.first_parent[node], unpacked.first_parent[node + 1]):
            count = enter(unpacked.parents[slot], UP, entered, waiting, count)
    if not given[node]:
        for slot in range(unpacked.first_child[node], unpacked.first_child[node + 1]):
            count = enter(unpacked.children[slot], DOWN, entered, waiting, count)
    return count


@kernel
def enter(node: int, way: int, entered: Flags, waiting: Integers, count: int) -> int:
    if entered[node, way]:
        return count
    entered[node, way] = True
    waiting[count] = node * 2 + way
    return count + int64(1)
