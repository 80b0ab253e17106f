"""Compiled: tables of probabilities drawn for graphs, and what all classes are when some of them are set.

Nodes are taken one after the other, parents first. A joint table of the frontier, the nodes whose children are not all
taken yet, is multiplied by each node's own table (truncated factorisation: a node that is set has none, and its level
is a constant in those of its children), and a node is summed out when its last child has been taken. The probabilities
of every node come on the way. Where the frontier would be too large, rows are simulated instead.

Every product of one entry of each table has each table once, and tables of different nodes are independent given the
graph: so posterior means of the tables in place of draws give the exact posterior mean of every probability.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.effects.kernels import Laid
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState, log_gamma, uniform
from parnidag.kernels.types import Flags, Floats, Integers, int64
from parnidag.scores.bdeu_counts import count_rows

ONE = int64(1)


class Counted(NamedTuple):
    """Rows in each cell of the different families of the graphs."""

    of: Integers
    """The family of each node in each graph (graphs × n)."""
    first: Integers
    """The cells of family f are first[f] … first[f + 1] − 1, levels of the node fastest."""
    counts: Integers
    arity: Integers
    """Levels of each node (n)."""
    level: Integers
    """Where the levels of each node begin among those of all (n + 1)."""


class Plan(NamedTuple):
    """In which order the nodes of each graph are taken, and how many cells that needs at most."""

    order: Integers
    cells: Floats


class Room(NamedTuple):
    """Scratch for one graph."""

    place: Integers
    """Where the table of each node begins (n)."""
    tables: Floats
    joint: Floats
    other: Floats
    front: Integers
    left: Integers
    """Children that are not taken yet (n)."""
    strides: Integers
    weights: Integers
    levels: Integers
    """Of one simulated row (n)."""


@entry
def count_families(
    codes: Integers,
    arity: Integers,
    weights: Integers,
    pattern: Integers,
    nodes: Integers,
    first: Integers,
    parents: Integers,
    first_cell: Integers,
    counts: Integers,
) -> None:
    """Count the rows in the cells of every family; `weights` has how often each row counts for each group of nodes."""
    for family in range(nodes.size):
        members = np.append(parents[first[family] : first[family + 1]], nodes[family])
        cells = counts[first_cell[family] : first_cell[family + 1]]
        count_rows(codes, arity, members, weights[pattern[nodes[family]]], cells)


@entry
def make_plan(laid: Laid, arity: Integers) -> Plan:
    """Order the nodes of each graph so that the frontier stays small: always the one that leaves it smallest."""
    graphs, n = laid.order.shape
    plan = Plan(np.zeros((graphs, n), np.int64), np.ones(graphs))
    taken, left = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    for graph in range(graphs):
        taken[:] = False
        count_children(laid, graph, left)
        size = 1.0
        for step in range(n):
            best, least = int64(-1), np.inf
            for j in range(n):
                if not taken[j]:
                    after = frontier_after(laid, graph, j, arity, taken, left, size)
                    if best < 0 or after < least:
                        best, least = int64(j), after
            plan.order[graph, step] = best
            plan.cells[graph] = max(plan.cells[graph], size * arity[best])
            taken[best] = True
            for slot in range(laid.first[graph, best], laid.first[graph, best + 1]):
                left[laid.parents[slot]] -= ONE
            size = least
    return plan


@kernel
def count_children(laid: Laid, graph: int, left: Integers) -> None:
    left[:] = 0
    for slot in range(laid.first[graph, 0], laid.first[graph, left.size]):
        left[laid.parents[slot]] += ONE


@kernel
def frontier_after(laid: Laid, graph: int, j: int, arity: Integers, taken: Flags, left: Integers, size: float) -> float:
    """Return the cells of the frontier once j is taken and what it completes is summed out; infinite if it cannot."""
    after = size * arity[j] if left[j] > 0 else size
    for slot in range(laid.first[graph, j], laid.first[graph, j + 1]):
        parent = laid.parents[slot]
        if not taken[parent]:
            return np.inf
        if left[parent] == ONE:
            after /= arity[parent]
    return after


@entry
def mark_changed(laid: Laid, fixed: Integers, changed: Flags, found: Flags) -> None:
    """Mark for each graph the nodes that depend on those that are `changed`, where those that are set follow nobody."""
    for graph in range(laid.order.shape[0]):
        for j in laid.order[graph]:
            there = changed[j]
            if fixed[j] < 0:
                for slot in range(laid.first[graph, j], laid.first[graph, j + 1]):
                    there |= found[graph, laid.parents[slot]]
            found[graph, j] = there


@entry
def make_room(n: int, table_cells: int, joint_cells: int) -> Room:
    whole = np.zeros((5, n), np.int64)
    return Room(
        whole[0],
        np.zeros(table_cells),
        np.zeros(joint_cells),
        np.zeros(joint_cells),
        whole[1],
        whole[2],
        np.zeros(n, np.int64),
        whole[3],
        whole[4],
    )


@entry
def probabilities(
    laid: Laid,
    plan: Plan,
    counted: Counted,
    graph_of: Integers,
    ess: Floats,
    drawn: bool,
    fixed: Integers,
    rows: int,
    rng: RandomState,
    row_rng: RandomState,
    room: Room,
    found: Floats,
) -> None:
    """Find the probability of every level of every node in every draw (draws × levels), if some nodes are set.

    `fixed` has the level that each node is set to, −1 if it is not; `ess` what the prior of each draw is worth. Tables
    are drawn, or else their means. Where the joint table has no room, so many rows are simulated.
    """
    for draw in range(graph_of.size):
        graph = graph_of[draw]
        fill_tables(counted, graph, ess[draw], drawn, rng, room)
        if plan.cells[graph] <= room.joint.size:
            eliminate(laid, plan.order[graph], graph, counted, fixed, room, found[draw])
        else:
            simulate_rows(laid, graph, counted, fixed, rows, row_rng, room, found[draw])


@kernel
def fill_tables(counted: Counted, graph: int, ess: float, drawn: bool, rng: RandomState, room: Room) -> None:
    """Draw the table of every node from its Dirichlet posterior: a row for each combination of its parents' levels."""
    place = int64(0)
    for j in range(counted.arity.size):
        family, levels = counted.of[graph, j], counted.arity[j]
        begin, end = counted.first[family], counted.first[family + 1]
        room.place[j] = place
        prior = ess / (end - begin)
        for row in range(begin, end, levels):
            if drawn:
                draw_row(counted.counts[row : row + levels], prior, rng, room.tables[place : place + levels])
            else:
                total = levels * prior + counted.counts[row : row + levels].sum()
                for k in range(levels):
                    room.tables[place + k] = (counted.counts[row + k] + prior) / total
            place += levels


@kernel
def draw_row(counts: Integers, prior: float, rng: RandomState, row: Floats) -> None:
    """Draw probabilities from a Dirichlet distribution; in logarithms, since prior counts may be tiny."""
    most = -np.inf
    for k in range(counts.size):
        row[k] = log_gamma(rng, counts[k] + prior)
        most = max(most, row[k])
    total = 0.0
    for k in range(counts.size):
        row[k] = math.exp(row[k] - most)
        total += row[k]
    for k in range(counts.size):
        row[k] /= total


@kernel
def eliminate(
    laid: Laid, order: Integers, graph: int, counted: Counted, fixed: Integers, room: Room, found: Floats
) -> None:
    arity, joint, other = counted.arity, room.joint, room.other
    room.left[:] = 0
    for j in range(fixed.size):
        if fixed[j] < 0:
            for slot in range(laid.first[graph, j], laid.first[graph, j + 1]):
                room.left[laid.parents[slot]] += ONE
    found[:] = 0.0
    joint[0] = 1.0
    size, width = ONE, int64(0)
    for j in order:
        if fixed[j] >= 0:
            found[counted.level[j] + fixed[j]] = 1.0
            continue
        parents = laid.parents[laid.first[graph, j] : laid.first[graph, j + 1]]
        begin = room.place[j] + read_parents(parents, arity[j], arity, fixed, width, room)
        multiply(joint, size, width, begin, arity[j], arity, room, other, found[counted.level[j] :])
        if room.left[j] > 0:
            joint, other = other, joint
            room.front[width] = j
            width += ONE
            size *= arity[j]
        for parent in parents:
            if fixed[parent] < 0:
                room.left[parent] -= ONE
                if room.left[parent] == 0:
                    size = sum_out(joint, size, width, parent, arity, room.front, other)
                    joint, other = other, joint
                    width -= ONE


@kernel
def read_parents(parents: Integers, levels: int, arity: Integers, fixed: Integers, width: int, room: Room) -> int:
    """Find what a level more of each node of the frontier is in the table of a child, and what set parents are in all.

    The strides of the frontier itself are found with it.
    """
    stride = ONE
    for p in range(width - 1, -1, -1):
        room.strides[p] = stride
        stride *= arity[room.front[p]]
        room.weights[p] = 0
    weight, constant = int64(levels), int64(0)
    for k in range(parents.size - 1, -1, -1):
        if fixed[parents[k]] >= 0:
            constant += weight * fixed[parents[k]]
        else:
            for p in range(width):
                if room.front[p] == parents[k]:
                    room.weights[p] = weight
        weight *= arity[parents[k]]
    return constant


@kernel
def multiply(
    joint: Floats,
    size: int,
    width: int,
    begin: int,
    levels: int,
    arity: Integers,
    room: Room,
    product: Floats,
    found: Floats,
) -> None:
    """Multiply the joint table by that of a node, which varies fastest, and add up the node's probabilities."""
    for cell in range(size):
        row = begin
        for p in range(width):
            if room.weights[p] > 0:
                row += cell // room.strides[p] % arity[room.front[p]] * room.weights[p]
        for k in range(levels):
            value = joint[cell] * room.tables[row + k]
            found[k] += value
            product[cell * levels + k] = value


@kernel
def sum_out(joint: Floats, size: int, width: int, node: int, arity: Integers, front: Integers, sums: Floats) -> int:
    """Sum a node of the frontier out of the joint table, and take it off the frontier; return the cells that remain."""
    inner, place = ONE, int64(width - 1)
    while front[place] != node:
        inner *= arity[front[place]]
        place -= ONE
    levels = arity[node]
    outer = size // (inner * levels)
    for o in range(outer):
        for i in range(inner):
            total = 0.0
            for k in range(levels):
                total += joint[(o * levels + k) * inner + i]
            sums[o * inner + i] = total
    for p in range(place, width - 1):
        front[p] = front[p + 1]
    return int64(outer * inner)


@kernel
def simulate_rows(
    laid: Laid,
    graph: int,
    counted: Counted,
    fixed: Integers,
    rows: int,
    rng: RandomState,
    room: Room,
    found: Floats,
) -> None:
    """Simulate rows; a number is drawn for nodes that are set too, so that two interventions share all others."""
    found[:] = 0.0
    for _ in range(rows):
        for j in laid.order[graph]:
            left = uniform(rng)
            if fixed[j] >= 0:
                level = fixed[j]
            else:
                row = int64(0)
                for slot in range(laid.first[graph, j], laid.first[graph, j + 1]):
                    row = row * counted.arity[laid.parents[slot]] + room.levels[laid.parents[slot]]
                place = room.place[j] + row * counted.arity[j]
                level = int64(0)
                left -= room.tables[place]
                while left >= 0.0 and level < counted.arity[j] - 1:
                    level += ONE
                    left -= room.tables[place + level]
            room.levels[j] = level
            found[counted.level[j] + level] += 1.0 / rows
