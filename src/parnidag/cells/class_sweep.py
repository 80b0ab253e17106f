"""One sweep over the empty cells of a table of classes, given a graph: compiled.

The law is that of BDeu, with the probabilities of every node given its parents integrated out. An empty cell of node j
is level v, given the graph and all other cells, with probability in proportion to

    (a_j + n_j(v)) ∏_c (a_c + n_c(v)) / (A_c + N_c(v)),

where n_j(v) counts the other rows with the parents' levels of this one and v, and for each child c of j, n_c(v) those
with the levels that c and its parents have here if the cell is v, N_c(v) those with the parents' levels; a and A are
what the prior counts for each. Counts are kept in hash tables, one for each node, and follow every change of a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState, choose
from parnidag.kernels.types import Floats, Integers, int64
from parnidag.scores.bdeu_counts import scatter

ONE = int64(1)
FREE = int64(-1)
HASHED = int64(2**61 - 1)


@keeps("classes")
class ClassArrays(NamedTuple):
    """One chain's completed table of classes."""

    classes: Integers
    """The levels in empty cells."""
    codes: Integers
    """The completed table (n × rows)."""


class Counts(NamedTuple):
    """How often the levels of a node and of its parents occur together: an open hash table for each node."""

    first: Integers
    """The slots of node j are first[j] … first[j + 1] − 1, a power of two of them (n + 1)."""
    keys: Integers
    counts: Integers


@entry
def sweep_classes(
    own: ClassArrays,
    arity: Integers,
    first_empty: Integers,
    empty_rows: Integers,
    ess: float,
    parents: Integers,
    degree: Integers,
    rng: RandomState,
) -> None:
    """Draw every empty cell; those of node j are first_empty[j] … first_empty[j + 1] − 1."""
    counts = count_all(own.codes, arity, first_empty, parents, degree)
    weights = np.empty(arity.max())
    children = np.zeros(degree.size, np.int64)
    for j in range(degree.size):
        count = list_children(int64(j), parents, degree, children)
        for cell in range(first_empty[j], first_empty[j + 1]):
            row = empty_rows[cell]
            change_counts(counts, own.codes, arity, parents, degree, int64(j), row, children[:count], -ONE)
            for level in range(arity[j]):
                own.codes[j, row] = level
                weights[level] = weight_of(
                    counts, own.codes, arity, parents, degree, int64(j), row, children[:count], ess
                )
            own.classes[cell] = choose(rng, weights, int64(arity[j]))
            own.codes[j, row] = own.classes[cell]
            change_counts(counts, own.codes, arity, parents, degree, int64(j), row, children[:count], ONE)


@kernel
def count_all(codes: Integers, arity: Integers, first_empty: Integers, parents: Integers, degree: Integers) -> Counts:
    """Count the families of all nodes; every change of a cell may add two keys to a table, and room is left for all."""
    n, rows = codes.shape
    first = np.zeros(n + 1, np.int64)
    for j in range(n):
        changes = first_empty[j + 1] - first_empty[j]
        for k in range(degree[j]):
            changes += first_empty[parents[j, k] + 1] - first_empty[parents[j, k]]
        slots = int64(2)
        while slots < 4 * (rows + changes):
            slots *= 2
        first[j + 1] = first[j] + slots
    counts = Counts(first, np.full(first[n], FREE), np.zeros(first[n], np.int64))
    for j in range(n):
        for row in range(rows):
            change_family(counts, codes, arity, parents, degree, int64(j), int64(row), ONE)
    return counts


@kernel
def list_children(j: int, parents: Integers, degree: Integers, children: Integers) -> int:
    count = int64(0)
    for c in range(degree.size):
        for k in range(degree[c]):
            if parents[c, k] == j:
                children[count] = c
                count += ONE
    return count


@kernel
def change_counts(
    counts: Counts,
    codes: Integers,
    arity: Integers,
    parents: Integers,
    degree: Integers,
    j: int,
    row: int,
    children: Integers,
    by: int,
) -> None:
    """Count a row more or less in the families of a node and of its children."""
    change_family(counts, codes, arity, parents, degree, j, row, by)
    for child in children:
        change_family(counts, codes, arity, parents, degree, child, row, by)


@kernel
def change_family(
    counts: Counts, codes: Integers, arity: Integers, parents: Integers, degree: Integers, j: int, row: int, by: int
) -> None:
    key = key_of(codes, arity, parents, degree, j, row)
    counts.counts[place_of(counts, j, key + codes[j, row])] += by
    counts.counts[place_of(counts, j, key + arity[j])] += by


@kernel
def key_of(codes: Integers, arity: Integers, parents: Integers, degree: Integers, j: int, row: int) -> int:
    """Number the levels of a node's parents in a row, with room for the levels of the node and one number more.

    Where there are more combinations than numbers they are hashed to them: 62 bits, that never met in practice.
    """
    key, bound = int64(0), 1.0
    for k in range(degree[j]):
        parent = parents[j, k]
        bound *= arity[parent]
        key = key * arity[parent] + codes[parent, row]
    key *= arity[j] + 1
    return key if bound * (arity[j] + 1) < 2.0**62 else scatter(key) & HASHED


@kernel
def place_of(counts: Counts, j: int, key: int) -> int:
    """Return the slot of a key, a new one if it has none."""
    begin = counts.first[j]
    mask = counts.first[j + 1] - begin - ONE
    place = scatter(key) & mask
    while counts.keys[begin + place] != key:
        if counts.keys[begin + place] == FREE:
            counts.keys[begin + place] = key
            break
        place = (place + ONE) & mask
    found: int = begin + place
    return found


@kernel
def number_of(counts: Counts, j: int, key: int) -> int:
    """Return how often a key was counted, without making room for it."""
    begin = counts.first[j]
    mask = counts.first[j + 1] - begin - ONE
    place = scatter(key) & mask
    while counts.keys[begin + place] != key:
        if counts.keys[begin + place] == FREE:
            return int64(0)
        place = (place + ONE) & mask
    found: int = counts.counts[begin + place]
    return found


@kernel
def weight_of(
    counts: Counts,
    codes: Integers,
    arity: Integers,
    parents: Integers,
    degree: Integers,
    j: int,
    row: int,
    children: Integers,
    ess: float,
) -> float:
    """Return how probable the row is, with the level that the cell now has, up to what no level changes."""
    weight: float = ess / combinations(arity, parents, degree, j) / arity[j]
    weight += number_of(counts, j, key_of(codes, arity, parents, degree, j, row) + codes[j, row])
    for child in children:
        key, whole = (
            key_of(codes, arity, parents, degree, child, row),
            ess / combinations(arity, parents, degree, child),
        )
        weight *= whole / arity[child] + number_of(counts, child, key + codes[child, row])
        weight /= whole + number_of(counts, child, key + arity[child])
    return weight


@kernel
def combinations(arity: Integers, parents: Integers, degree: Integers, j: int) -> float:
    found = 1.0
    for k in range(degree[j]):
        found *= arity[parents[j, k]]
    return found


@entry
def fill_codes(own: ClassArrays, first_empty: Integers, empty_rows: Integers) -> None:
    """Write the levels of the empty cells into the table."""
    for j in range(first_empty.size - 1):
        for cell in range(first_empty[j], first_empty[j + 1]):
            own.codes[j, empty_rows[cell]] = own.classes[cell]


@entry
def draw_first_classes(own: ClassArrays, shares: Floats, first_empty: Integers, rng: RandomState) -> None:
    """Draw every empty cell as often as the levels of its column occur (`shares`: n × most levels)."""
    for j in range(first_empty.size - 1):
        for cell in range(first_empty[j], first_empty[j + 1]):
            own.classes[cell] = choose(rng, shares[j], int64(shares.shape[1]))
