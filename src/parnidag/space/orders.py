"""A walk over orders of the nodes, by what the candidate tables say of each.

The value of an order is a sum over nodes: the log of the summed weights of the parent sets that it permits
(`OrderMCMC` samples in proportion to exp(value)), or the best score among them (the search for a good graph maximises
it). A move only revalues the nodes whose predecessors it changes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag._jit import kernel, leaf, make_frame, struct
from parnidag._random import RandomState, below, choose, happens
from parnidag._types import Bytes, Floats, Integers, int64
from parnidag.net import ONE, ZERO
from parnidag.space.sums import Tables, log_sum, peak

LOCAL, GLOBAL, RELOCATE = int64(0), int64(1), int64(2)
MOVES = ("local_swap", "global_swap", "relocate")
KINDS = int64(3)


class OrderArrays(NamedTuple):
    """An order, what it is worth, and counters of the moves."""

    frame: Bytes
    order: Integers
    """The nodes, first to last."""
    level: Integers
    """The place of each node in the order."""
    values: Floats
    """What each node adds to the value of the order."""
    other: Floats
    """The same for a proposal."""
    slots: Floats
    """Values of the places that one node could be put in, relative to the others of the order."""
    tried: Integers
    accepted: Integers
    move_weights: Floats
    settings: Floats
    """Whether the best score counts and not the sum; the temperature."""


@struct
class Order:
    """The mutable struct over `OrderArrays`."""

    frame: Bytes
    order: Integers
    level: Integers
    values: Floats
    other: Floats
    slots: Floats
    tried: Integers
    accepted: Integers
    move_weights: Floats
    maximise: bool
    temperature: float
    total: float
    """Value of the order, from `value_all` on."""


def make_order(order: list[int], maximise: bool = False) -> OrderArrays:
    """Return the arrays of a walk that begins at the given order; its values follow in compiled code.

    Moves that revalue many nodes are the rarer the more nodes there are, so that all kinds cost about the same.
    """
    n = len(order)
    swaps, relocations = min(0.3, 5.0 / n), min(0.3, 2.0 / n)
    level = np.empty(n, np.int64)
    level[order] = np.arange(n)
    return OrderArrays(
        frame=make_frame(),
        order=np.array(order, np.int64),
        level=level,
        values=np.zeros(n),
        other=np.zeros(n),
        slots=np.zeros(n),
        tried=np.zeros(3, np.int64),
        accepted=np.zeros(3, np.int64),
        move_weights=np.array([1.0 - swaps - relocations, swaps, relocations]),
        settings=np.array([float(maximise), 1.0]),
    )


@kernel
def open_order(arrays: OrderArrays) -> Order:
    """Build the struct on top of the arrays."""
    return Order(
        arrays.frame,
        arrays.order,
        arrays.level,
        arrays.values,
        arrays.other,
        arrays.slots,
        arrays.tried,
        arrays.accepted,
        arrays.move_weights,
        arrays.settings[0] > 0.0,
        arrays.settings[1],
        0.0,
    )


@kernel
def value_of(tables: Tables, run: Order, j: int, place: int) -> float:
    """Return what node j is worth at its place in the order."""
    return peak(tables, j, run.level, place) if run.maximise else log_sum(tables, j, run.level, place)


@kernel
def value_all(tables: Tables, run: Order) -> None:
    """Value every node afresh."""
    run.total = 0.0
    for j in range(run.order.size):
        run.values[j] = value_of(tables, run, int64(j), run.level[j])
        run.total += run.values[j]


@kernel
def order_step(rng: RandomState, tables: Tables, run: Order) -> None:
    """Try one move."""
    move = choose(rng, run.move_weights, KINDS)
    run.tried[move] += ONE
    if move == RELOCATE:
        run.accepted[move] += relocate(rng, tables, run)
    else:
        n = run.order.size
        first = below(rng, n - ONE if move == LOCAL else n)
        second = first + ONE if move == LOCAL else below(rng, n)
        run.accepted[move] += swap(rng, tables, run, min(first, second), max(first, second))


@kernel
def swap(rng: RandomState, tables: Tables, run: Order, first: int, last: int) -> bool:
    """Exchange the nodes at two places: symmetric, so α = min{1, R(≺′)/R(≺)}; those between are revalued too."""
    if first == last:
        return False
    exchange(run, first, last)
    gain = 0.0
    for place in range(first, last + ONE):
        j = run.order[place]
        run.other[j] = value_of(tables, run, j, int64(place))
        gain += run.other[j] - run.values[j]
        if gain == -math.inf:
            break
    if not happens(rng, math.exp(min(0.0, gain / run.temperature))):
        exchange(run, first, last)
        return False
    for place in range(first, last + ONE):
        revalue(run, run.order[place], run.other[run.order[place]])
    return True


@leaf
def revalue(run: Order, j: int, value: float) -> None:
    """Set what a node is worth and keep the total in step."""
    run.total += value - run.values[j]
    run.values[j] = value


@kernel
def exchange(run: Order, first: int, last: int) -> None:
    """Exchange the nodes at two places."""
    a, b = run.order[first], run.order[last]
    run.order[first], run.order[last] = b, a
    run.level[a], run.level[b] = last, first


@kernel
def relocate(rng: RandomState, tables: Tables, run: Order) -> bool:
    """Take a random node out and put it at a place drawn in proportion to R: a Gibbs step, never rejected.

    The node is carried to the front and to the back by steps of one place, each of which changes two sums.
    """
    n = int64(run.order.size)
    start = below(rng, n)
    v = run.order[start]
    run.slots[start] = run.values[v]
    offset = 0.0
    for place in range(start - ONE, -1, -1):
        offset += pass_node(tables, run, int64(place), int64(place + 1), int64(place))
        run.slots[place] = offset + value_of(tables, run, v, int64(place))
    carry(run, ZERO, start)
    offset = 0.0
    for place in range(start + ONE, n):
        offset += pass_node(tables, run, int64(place - 1), int64(place), int64(place))
        run.slots[place] = offset + value_of(tables, run, v, int64(place))
    chosen = choose_slot(rng, run)
    carry(run, n - ONE, chosen)
    run.other[v] = value_of(tables, run, v, chosen)
    for place in range(min(start, chosen), max(start, chosen) + ONE):
        revalue(run, run.order[place], run.other[run.order[place]])
    return chosen != start


@kernel
def pass_node(tables: Tables, run: Order, first: int, second: int, target: int) -> float:
    """Exchange two neighbours, one of which is being carried to `target`; return what the passed one gains."""
    exchange(run, first, second)
    passed = run.order[first + second - target]
    run.other[passed] = value_of(tables, run, passed, run.level[passed])
    return run.other[passed] - run.values[passed]


@kernel
def carry(run: Order, start: int, end: int) -> None:
    """Move the node at one place to another, those between closing up."""
    step = ONE if end > start else -ONE
    place = start
    while place != end:
        exchange(run, place, place + step)
        place += step


@kernel
def choose_slot(rng: RandomState, run: Order) -> int:
    """Draw a place in proportion to its weight."""
    slots, n = run.slots, int64(run.order.size)
    top = slots[0]
    for place in range(n):
        top = max(top, slots[place])
    for place in range(n):
        slots[place] = math.exp((slots[place] - top) / run.temperature)
    return choose(rng, slots, n)
