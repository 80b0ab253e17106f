"""A walk over orders of the nodes, by what the candidate tables say of each.

The value of an order is a sum over nodes: the log of the summed weights of the parent sets that it permits
(`OrderMCMC` samples in proportion to exp(value)), or the best score among them (the search for a good graph maximises
it). A move only revalues the nodes whose predecessors it changes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE
from parnidag.kernels.declare import first_numbers, keeps, opener, struct_over
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.random import RandomState, below, choose, happens
from parnidag.kernels.types import Bytes, Flags, Floats, Integers, int64
from parnidag.tables.arrays import NEVER, SUBSET, Tables, row_of
from parnidag.tables.sums import HUGE, log_sum, peak, subset_below

LOCAL, GLOBAL, RELOCATE = int64(0), int64(1), int64(2)
MOVES = ("local_swap", "global_swap", "relocate")
KINDS = int64(3)
LARGEST_SHARE = 0.5
"""A share larger than this is not subtracted from a sum, which would lose digits; the sum is made afresh."""


@keeps("order", "level", "values", "tried", "accepted")
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
    integers: Integers
    flags: Flags
    """The numbers that `Order` declares."""


@struct_over
class Order(OrderArrays):
    """The same as a struct."""

    maximise: bool
    """Does the best score count, and not the sum?"""
    first: int
    """The first place whose node may move: before it stand those that are parents only, which are always there."""
    temperature: float = 1.0
    total: float = 0.0
    """Value of the order, from `value_all` on."""


open_order = opener(Order)


def make_order(
    order: list[int], swaps: float, relocations: float, maximise: bool = False, parents_only: Flags | None = None
) -> OrderArrays:
    """Return the arrays of a walk that begins at the given order; its values follow in compiled code.

    The moves that revalue many nodes, exchanges of any two and relocations, are tried with probability `swaps` / n and
    `relocations` / n, so that all kinds take about the same share of the time however many nodes there are.
    """
    n, first = len(order), 0
    if parents_only is not None:
        order, first = sorted(order, key=lambda j: not parents_only[j]), int(parents_only.sum())
    far, gibbs = (min(0.3, times / (n - first)) for times in (swaps, relocations))
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
        move_weights=np.array([1.0 - far - gibbs, far, gibbs]),
        **first_numbers(Order, maximise=maximise, first=first),
    )


@kernel
def value_of(tables: Tables, run: Order, j: int, place: int) -> float:
    return peak(tables, j, run.level, place) if run.maximise else log_sum(tables, j, run.level, place)


@kernel
def value_all(tables: Tables, run: Order) -> None:
    run.total = 0.0
    for j in range(run.order.size):
        run.values[j] = value_of(tables, run, int64(j), run.level[j])
        run.total += run.values[j]


@kernel
def order_step(rng: RandomState, tables: Tables, run: Order) -> None:
    n = int64(run.order.size) - run.first
    if n < ONE + ONE:
        return
    move = choose(rng, run.move_weights, KINDS)
    run.tried[move] += ONE
    if move == RELOCATE:
        run.accepted[move] += relocate(rng, tables, run)
    else:
        first = run.first + below(rng, n - ONE if move == LOCAL else n)
        second = first + ONE if move == LOCAL else run.first + below(rng, n)
        run.accepted[move] += swap(rng, tables, run, min(first, second), max(first, second))


@kernel
def swap(rng: RandomState, tables: Tables, run: Order, first: int, last: int) -> bool:
    """Exchange the nodes at two places: symmetric, so α = min{1, R(≺′)/R(≺)}; those between are revalued too."""
    if first == last:
        return False
    a, b = run.order[first], run.order[last]
    exchange(run, first, last)
    if last == first + ONE:
        run.other[a] = value_after(tables, run, a, a, b, run.values[a])
        run.other[b] = value_after(tables, run, b, a, b, run.values[b])
    else:
        run.other[a] = value_of(tables, run, a, last)
        run.other[b] = value_of(tables, run, b, first)
    gain = run.other[a] - run.values[a] + run.other[b] - run.values[b]
    for place in range(first + ONE, last):
        j = run.order[place]
        run.other[j] = value_after(tables, run, j, a, b, run.values[j])
        gain += run.other[j] - run.values[j]
        if gain == -math.inf:
            break
    if not happens(rng, math.exp(min(0.0, gain / run.temperature))):
        exchange(run, first, last)
        return False
    for place in range(first, last + ONE):
        revalue(run, run.order[place], run.other[run.order[place]])
    return True


@kernel
def value_after(tables: Tables, run: Order, j: int, lost: int, gained: int, value: float) -> float:
    """Return what j is worth after it lost one predecessor and gained another, when it was worth `value` before.

    j itself stands for nobody. Where both are extras this takes two look-ups; otherwise the sets are counted afresh.
    """
    minus, plus = int64(tables.column[j, lost]), int64(tables.column[j, gained])
    if minus == SUBSET or plus == SUBSET or value == -math.inf:
        return value_of(tables, run, j, run.level[j])
    if minus == NEVER and plus == NEVER:
        return value
    subset = subset_below(tables, j, run.level, run.level[j])
    start = row_of(tables, j, subset)
    if run.maximise:
        if minus != NEVER and tables.peaks[start + minus] >= value:
            return value_of(tables, run, j, run.level[j])
        return max(value, tables.peaks[start + plus]) if plus != NEVER else value
    scale = math.exp(tables.log_alone[tables.first_row[j] + subset] - value)
    share_lost = scale * tables.ratios[start + minus] if minus != NEVER else 0.0
    share_gained = scale * tables.ratios[start + plus] if plus != NEVER else 0.0
    if share_lost < LARGEST_SHARE and share_gained < HUGE:
        return value + math.log1p(share_gained - share_lost)
    return value_of(tables, run, j, run.level[j])


@leaf
def revalue(run: Order, j: int, value: float) -> None:
    """Set what a node is worth and keep the total in step."""
    run.total += value - run.values[j]
    run.values[j] = value


@kernel
def exchange(run: Order, first: int, last: int) -> None:
    a, b = run.order[first], run.order[last]
    run.order[first], run.order[last] = b, a
    run.level[a], run.level[b] = last, first


@kernel
def relocate(rng: RandomState, tables: Tables, run: Order) -> bool:
    """Take a random node out and put it at a place drawn in proportion to R: a Gibbs step, never rejected.

    The node v is carried to the front and then, place by place, to the back. What others are worth only depends on
    whether v precedes them, so each is revalued once; v itself gains one predecessor at a time.
    """
    n, front = int64(run.order.size), run.first
    start = front + below(rng, n - front)
    v = run.order[start]
    carry(run, start, front)
    gain = 0.0
    run.slots[start] = 0.0
    for place in range(start, front, -1):  # the nodes that were before v, last to first, now have it before them
        j = run.order[place]
        run.other[j] = value_after(tables, run, j, j, v, run.values[j])
        gain += run.other[j] - run.values[j]
        run.slots[place - 1] = gain
    worth = value_of(tables, run, v, front)
    run.slots[front] += worth
    gain = 0.0
    for place in range(front + ONE, n):
        exchange(run, int64(place - 1), int64(place))
        passed = run.order[place - 1]
        if place > start:
            run.other[passed] = value_after(tables, run, passed, v, passed, run.values[passed])
            gain += run.other[passed] - run.values[passed]
            run.slots[place] = gain
        worth = value_after(tables, run, v, v, passed, worth)
        run.slots[place] += worth
    chosen = choose_slot(rng, run)
    carry(run, n - ONE, chosen)
    run.other[v] = value_of(tables, run, v, chosen)
    for place in range(min(start, chosen), max(start, chosen) + ONE):
        revalue(run, run.order[place], run.other[run.order[place]])
    return chosen != start


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
    slots, n = run.slots, int64(run.order.size)
    top = slots[run.first]
    for place in range(run.first):
        slots[place] = 0.0
    for place in range(run.first, n):
        top = max(top, slots[place])
    for place in range(run.first, n):
        slots[place] = math.exp((slots[place] - top) / run.temperature)
    return choose(rng, slots, n)
