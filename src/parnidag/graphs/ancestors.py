"""Packed graphs in compiled code: their parents and children, a topological order, and counts over many of them.

A record stores its unique graphs as one flat array of edge codes (`RunRecord.graph_edges`). Compiled code unpacks one
graph at a time into the same memory, so that counting over any number of graphs takes O(n²) of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Bytes, Codes, Integers, int64


class Unpacked(NamedTuple):
    """One graph, unpacked. A slot is a place in `parents`; those of one node are consecutive."""

    first_parent: Integers
    """(n + 1,) The slots of node j start at its entry and end before the next."""
    parents: Integers
    """(slot,) A parent each."""
    place: Integers
    """(slot,) Where the edge stands among the packed codes of its graph."""
    first_child: Integers
    """(n + 1,) The same for the children."""
    children: Integers
    ends: Integers
    """(2, edge) Parents and children in the order of the packed codes."""
    order: Integers
    """(n,) The nodes, every parent before its children."""
    waiting: Integers
    """(n,) Scratch."""


@kernel
def make_unpacked(n: int, offsets: Integers) -> Unpacked:
    """Return memory for the largest of the packed graphs."""
    most = int64(0)
    for graph in range(offsets.size - 1):
        most = max(most, offsets[graph + 1] - offsets[graph])
    return Unpacked(
        np.zeros(n + 1, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(most, np.int64),
        np.zeros((2, most), np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


@kernel
def unpack(codes: Codes, unpacked: Unpacked) -> None:
    """Sort the edges of one graph by child and by parent, in O(n + edges)."""
    n = int64(unpacked.order.size)
    tails, heads = unpacked.ends[0], unpacked.ends[1]
    unpacked.first_parent[:] = 0
    unpacked.first_child[:] = 0
    for place in range(codes.size):
        tails[place] = codes[place] // n
        heads[place] = codes[place] - tails[place] * n
        unpacked.first_parent[heads[place] + 1] += 1
        unpacked.first_child[tails[place] + 1] += 1
    for j in range(n):
        unpacked.first_parent[j + 1] += unpacked.first_parent[j]
        unpacked.first_child[j + 1] += unpacked.first_child[j]
        unpacked.waiting[j] = unpacked.first_parent[j]
    for place in range(codes.size):
        slot = unpacked.waiting[heads[place]]
        unpacked.parents[slot] = tails[place]
        unpacked.place[slot] = place
        unpacked.waiting[heads[place]] += 1
    for j in range(n):
        unpacked.waiting[j] = unpacked.first_child[j]
    for place in range(codes.size):
        unpacked.children[unpacked.waiting[tails[place]]] = heads[place]
        unpacked.waiting[tails[place]] += 1


@kernel
def sort_nodes(unpacked: Unpacked) -> int:
    """Fill `order` and return how many nodes it has: all of them, unless there is a cycle."""
    n = int64(unpacked.order.size)
    known, done = int64(0), int64(0)
    for j in range(n):
        unpacked.waiting[j] = unpacked.first_parent[j + 1] - unpacked.first_parent[j]
        if unpacked.waiting[j] == 0:
            unpacked.order[known] = j
            known += int64(1)
    while done < known:
        node = unpacked.order[done]
        done += int64(1)
        for slot in range(unpacked.first_child[node], unpacked.first_child[node + 1]):
            child = unpacked.children[slot]
            unpacked.waiting[child] -= 1
            if unpacked.waiting[child] == 0:
                unpacked.order[known] = child
                known += int64(1)
    return known


@entry
def count_ancestors(n: int, offsets: Integers, codes: Codes, times: Integers) -> Integers:
    """Count for all (i, j) in how many draws i is an ancestor of j; graph g was drawn times[g] times."""
    counts = np.zeros((n, n), np.int64)
    # Bit i of row j: is i an ancestor of j? Parents come first, so each row is the union of finished ones.
    above = np.zeros((n, (n + 7) // 8), np.uint8)
    unpacked = make_unpacked(n, offsets)
    for graph in range(offsets.size - 1):
        unpack(codes[offsets[graph] : offsets[graph + 1]], unpacked)
        for step in range(sort_nodes(unpacked)):
            j = unpacked.order[step]
            above[j] = 0
            for slot in range(unpacked.first_parent[j], unpacked.first_parent[j + 1]):
                parent = unpacked.parents[slot]
                for byte in range(above.shape[1]):
                    above[j, byte] |= above[parent, byte]
                above[j, parent >> 3] |= int64(1) << (parent & 7)
            add_bits(above[j], times[graph], counts[j])
    return counts.T


@kernel
def add_bits(bits: Bytes, amount: int, totals: Integers) -> None:
    """Add the amount to the total of every bit that is set."""
    for byte in range(bits.size):
        left, place = int64(bits[byte]), int64(byte) << 3
        while left:
            totals[place] += amount * (left & 1)
            left >>= 1
            place += int64(1)


@entry
def count_blankets(n: int, offsets: Integers, codes: Codes, times: Integers) -> Integers:
    """Count for all (i, j) in how many draws j is in the Markov blanket of i: a parent, a child or a child's parent."""
    counts = np.zeros((n, n), np.int64)
    counted_by = np.zeros(n, np.int64)
    unpacked = make_unpacked(n, offsets)
    for graph in range(offsets.size - 1):
        unpack(codes[offsets[graph] : offsets[graph + 1]], unpacked)
        counted_by[:] = -1
        for i in range(n):
            counted_by[i] = i  # a node is not in its own blanket
            add_once(unpacked.parents, unpacked.first_parent, i, i, times[graph], counts, counted_by)
            add_once(unpacked.children, unpacked.first_child, i, i, times[graph], counts, counted_by)
            for slot in range(unpacked.first_child[i], unpacked.first_child[i + 1]):
                child = unpacked.children[slot]
                add_once(unpacked.parents, unpacked.first_parent, child, i, times[graph], counts, counted_by)
    return counts


@kernel
def add_once(
    nodes: Integers, first: Integers, of: int, i: int, amount: int, counts: Integers, counted_by: Integers
) -> None:
    """Add the amount for each of the listed nodes that has not been counted for i before."""
    for slot in range(first[of], first[of + 1]):
        j = nodes[slot]
        if counted_by[j] != i:
            counted_by[j] = i
            counts[i, j] += amount
