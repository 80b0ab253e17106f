"""Partition MCMC: a walk over ordered partitions of the nodes, from which graphs are drawn (Kuipers and Moffa 2017).

Every DAG belongs to exactly one ordered partition into parts λ₀, λ₁, …: a node's part is the length of the longest path
that ends in it. So the nodes of part 0 have no parents, and those of part p ≥ 1 have all their parents in earlier parts
and at least one in part p − 1. Given the partition nodes choose their parents independently, so that the summed weight
of its graphs is a product of sums that follow from the candidate tables:

    R(Λ) = ∏_j Σ_{Pa permitted to j by Λ} exp(score(j, Pa)).

The chain walks over partitions with probability ∝ R(Λ) and draws a graph from the present one at regular intervals.
Where order MCMC counts a graph once for every order that agrees with it, a partition counts each of its graphs once:
the drawn graphs follow the posterior, restricted to the graphs of the search space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag._jit import entry, kernel, make_frame, struct
from parnidag._random import RandomState, below, choose, happens
from parnidag._types import Bytes, Floats, Integers, int64
from parnidag.graph import Adjacency, topological_order
from parnidag.net import ABSENT, ONE, ZERO, GraphArrays, Net, Problem, Scratch, close_net, open_net
from parnidag.samplers.base import Chain, Prepared, move_totals
from parnidag.samplers.drawing import GraphDraw, draw_graph, make_graph_draw
from parnidag.samplers.order import check_graph_every
from parnidag.samplers.restricted import RestrictedSampler
from parnidag.space.sums import DrawArrays, Tables, log_sum, log_sum_hitting, make_draws, open_tables
from parnidag.space.tables import CandidateTables, TableArrays
from parnidag.target import Target
from parnidag.trace import TraceArrays, begin_segment, close_trace, observe, open_trace

SWAP, ADJACENT_SWAP, SPLIT_JOIN, MOVE_NODE = int64(0), int64(1), int64(2), int64(3)
MOVES = ("swap", "adjacent_swap", "split_join", "move_node")
KINDS = int64(4)


class PartitionArrays(NamedTuple):
    """A partition, what it is worth, a proposal, and counters of the moves."""

    frame: Bytes
    order: Integers
    """The nodes, part by part; the order within a part means nothing."""
    starts: Integers
    """Where each part begins in `order`; after the last part follows the number of nodes."""
    level: Integers
    """The part of each node."""
    values: Floats
    """Log of the summed weights of each node's permitted parent sets."""
    next_order: Integers
    next_starts: Integers
    next_level: Integers
    next_values: Floats
    slots: Floats
    """Weights of the places that one node could be put in."""
    changed: Integers
    """The nodes whose permitted parent sets a proposal changes."""
    tried: Integers
    accepted: Integers
    move_weights: Floats
    integers: Integers
    """Number of parts, iterations between drawn graphs."""


@struct
class Partition:
    """The mutable struct over `PartitionArrays`."""

    frame: Bytes
    order: Integers
    starts: Integers
    level: Integers
    values: Floats
    next_order: Integers
    next_starts: Integers
    next_level: Integers
    next_values: Floats
    slots: Floats
    changed: Integers
    tried: Integers
    accepted: Integers
    move_weights: Floats
    n: int
    parts: int
    next_parts: int
    low: int
    high: int
    log_ratio: float


class PartitionState(NamedTuple):
    """One chain's arrays."""

    walk: PartitionArrays
    draws: DrawArrays
    graph: GraphDraw


@dataclass(frozen=True)
class PartitionMCMC(RestrictedSampler):
    """Partition MCMC on a search space (Kuipers and Moffa 2017; Kuipers, Suter and Moffa 2022).

    Walks over ordered partitions of the nodes by exchanging two nodes of neighbouring or of any parts, splitting and
    joining parts, and moving a node to another part or to one of its own. Graphs are drawn from the present partition.
    Unlike those of `OrderMCMC` they follow the posterior over the graphs of the search space.

    Parameters
    ----------
    plus_one
        Whether a node may take one parent from outside its candidates. None: if the tables then fit into `memory`.
    memory
        Bytes that the tables may take.
    graph_every
        Iterations between drawn graphs, over which edge probabilities are averaged; None: as many as there are nodes.

    Examples
    --------
    >>> from parnidag import samplers
    >>> samplers.PartitionMCMC(graph_every=50).graph_every
    50
    """

    graph_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_graph_every(self.graph_every)

    def default_thin(self, n_nodes: int) -> int:
        """Return the default number of iterations between draws: 10 a node, at least 500."""
        return max(500, 10 * n_nodes)

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Put a new chain at the partition of its graph, or of the part of its graph that the tables hold."""
        assert prepared.tables is not None
        chain.tables = prepared.tables
        level = layers(held_graph(prepared.tables, chain.graph.position != ABSENT))
        every = target.n_nodes if self.graph_every is None else int(self.graph_every)
        chain.own = PartitionState(make_partition(level, every), make_draws(prepared.tables), make_graph_draw(target))

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run at most `steps` iterations in place and return how many were made."""
        assert chain.tables is not None
        scratch = chain.scratch(target)
        return int(
            advance_partition(
                target.problem, chain.graph, scratch, chain.trace, chain.tables.arrays, chain.own, int64(steps)
            )
        )

    def totals(self, chain: Chain) -> dict[str, float]:
        """Return how often moves were tried and accepted, in all and by kind."""
        return move_totals(MOVES, chain.own.walk.tried, chain.own.walk.accepted)


def layers(graph: Adjacency) -> Integers:
    """Return the length of the longest path that ends in each node; the graph must be a DAG.

    Examples
    --------
    >>> layers(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)).tolist()
    [0, 1, 2]
    """
    order = topological_order(graph)
    assert order is not None
    level = np.zeros(len(graph), np.int64)
    for j in order:
        level[j] = (level[graph[:, j]] + 1).max(initial=0)
    return level


def held_graph(tables: CandidateTables, graph: Adjacency) -> Adjacency:
    """Return the graph without parents that the tables do not hold; of several extras a node keeps the first."""
    inside = graph & (tables.considered | tables.target.required)
    outside = graph & ~inside
    first = outside & (np.cumsum(outside, axis=0) == 1)
    return np.asarray(inside | (first & tables.plus_one))


def make_partition(level: Integers, graph_every: int) -> PartitionArrays:
    """Return the arrays of a walk that begins at the given partition; its values follow in compiled code."""
    n = len(level)
    parts = int(level.max()) + 1
    starts = np.full(n + 1, n, np.int64)
    starts[:parts] = np.searchsorted(np.sort(level), np.arange(parts))
    order = np.argsort(level, kind="stable").astype(np.int64)
    return PartitionArrays(
        frame=make_frame(),
        order=order,
        starts=starts,
        level=level.astype(np.int64),
        values=np.zeros(n),
        next_order=order.copy(),
        next_starts=starts.copy(),
        next_level=np.zeros(n, np.int64),
        next_values=np.zeros(n),
        slots=np.zeros(2 * n + 2),
        changed=np.zeros(n, np.int64),
        tried=np.zeros(len(MOVES), np.int64),
        accepted=np.zeros(len(MOVES), np.int64),
        move_weights=np.array([0.1, 0.4, 0.3, 0.2]),
        integers=np.array([parts, graph_every]),
    )


@kernel
def open_partition(arrays: PartitionArrays) -> Partition:
    """Build the struct on top of the arrays."""
    return Partition(
        arrays.frame,
        arrays.order,
        arrays.starts,
        arrays.level,
        arrays.values,
        arrays.next_order,
        arrays.next_starts,
        arrays.next_level,
        arrays.next_values,
        arrays.slots,
        arrays.changed,
        arrays.tried,
        arrays.accepted,
        arrays.move_weights,
        int64(arrays.order.size),
        arrays.integers[0],
        arrays.integers[0],
        ZERO,
        ZERO,
        0.0,
    )


@entry
def advance_partition(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    table_arrays: TableArrays,
    state: PartitionState,
    steps: int,
) -> int:
    """Run partition MCMC for at most `steps` iterations."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    tables = open_tables(table_arrays, state.draws)
    run = open_partition(state.walk)
    every = state.walk.integers[1]
    done = ZERO
    if begin_segment(net, trace):
        if net.now == ZERO:
            value_all(tables, run)
            draw_graph(net, tables, run.level, state.graph, True)
        while done < steps:
            partition_step(net.rng, tables, run)
            if (net.now + ONE) % every == ZERO:
                draw_graph(net, tables, run.level, state.graph, True)
            done += ONE
            if not observe(net, trace):
                break
    state.walk.integers[0] = run.parts
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    return done


@kernel
def value_of(tables: Tables, j: int, level: Integers) -> float:
    """Return the log of the summed weights of the parent sets that a partition permits to j."""
    if level[j] == ZERO:
        return log_sum(tables, j, level, ZERO)
    return log_sum_hitting(tables, j, level, level[j])


@kernel
def value_all(tables: Tables, run: Partition) -> None:
    """Value every node afresh."""
    for j in range(run.n):
        run.values[j] = value_of(tables, int64(j), run.level)


# ---------------------------------------------------------------------------------------------------------------------
# One iteration


@kernel
def partition_step(rng: RandomState, tables: Tables, run: Partition) -> None:
    """Try one move."""
    move = choose(rng, run.move_weights, KINDS)
    run.tried[move] += ONE
    if move == MOVE_NODE:
        run.accepted[move] += relocate(rng, tables, run)
    elif propose(rng, run, move):
        run.accepted[move] += accepted(rng, tables, run)


@kernel
def propose(rng: RandomState, run: Partition, move: int) -> bool:
    """Write another partition to `next_order`, `next_starts` and `next_level`; False if the move leads nowhere.

    `low` and `high` bound the places of `order` that the move touches; `log_ratio` is the log of the chance to come
    back over the chance to come here.
    """
    if move == SWAP:
        return propose_swap(rng, run)
    if move == ADJACENT_SWAP:
        return propose_adjacent_swap(rng, run)
    if happens(rng, 0.5):
        return propose_split(rng, run)
    return propose_join(rng, run)


@kernel
def accepted(rng: RandomState, tables: Tables, run: Partition) -> bool:
    """Value the proposal and take it with probability min{1, R(Λ′)/R(Λ) · exp(log_ratio)}."""
    count = list_changed(run)
    gain = run.log_ratio
    for k in range(count):
        j = run.changed[k]
        run.next_values[j] = value_of(tables, j, run.next_level)
        gain += run.next_values[j] - run.values[j]
        if gain == -math.inf:
            break
    if not happens(rng, math.exp(min(0.0, gain))):
        return False
    take_proposal(run, count)
    return True


@kernel
def take_proposal(run: Partition, count: int) -> None:
    """Make the proposal the present partition; `count` nodes have another value."""
    for k in range(count):
        run.values[run.changed[k]] = run.next_values[run.changed[k]]
    for k in range(run.n):
        run.order[k], run.level[k], run.starts[k] = run.next_order[k], run.next_level[k], run.next_starts[k]
    run.parts = run.next_parts


@kernel
def list_changed(run: Partition) -> int:
    """List the nodes whose permitted parent sets differ between the partition and the proposal; return their number.

    What a part permits depends on the nodes before it and on those of the part before it: on the first nodes of
    `order`, up to where the part begins and up to where its predecessor begins. Both partitions have the same first
    nodes up to any place outside low … high.
    """
    count, old = ZERO, ZERO
    before, before_is_same = ZERO, True
    for part in range(run.next_parts):
        start, end = run.next_starts[part], run.next_starts[part + ONE]
        while run.starts[old] < start:
            old += ONE
        is_same = run.starts[old] == start and (start <= run.low or start >= run.high)
        permits_same = is_same and before_is_same and (part == ZERO or run.starts[old - ONE] == before)
        if not permits_same or (start < run.high and end > run.low):
            for place in range(start, end):
                j = run.next_order[place]
                if not permits_same or run.level[j] != old:
                    run.changed[count] = j
                    count += ONE
        before, before_is_same = start, is_same
    return count


# ---------------------------------------------------------------------------------------------------------------------
# Moves


@kernel
def begin_proposal(run: Partition, low: int, high: int, log_ratio: float) -> None:
    """Start from a copy of the present partition."""
    for k in range(run.n):
        run.next_order[k], run.next_level[k], run.next_starts[k] = run.order[k], run.level[k], run.starts[k]
    run.next_starts[run.n] = run.n
    run.next_parts = run.parts
    run.low, run.high, run.log_ratio = low, high, log_ratio


@kernel
def propose_swap(rng: RandomState, run: Partition) -> bool:
    """Exchange two nodes of different parts: symmetric."""
    return exchange(run, below(rng, run.n), below(rng, run.n))


@kernel
def propose_adjacent_swap(rng: RandomState, run: Partition) -> bool:
    """Exchange a node with one of the next part: symmetric, since the sizes of parts stay."""
    first = below(rng, run.n)
    following = run.level[run.order[first]] + ONE
    if following == run.parts:
        return False
    start, end = run.starts[following], run.starts[following + ONE]
    return exchange(run, first, start + below(rng, end - start))


@kernel
def exchange(run: Partition, first: int, second: int) -> bool:
    """Propose that the nodes at two places change places, unless they are in the same part."""
    a, b = run.order[first], run.order[second]
    if run.level[a] == run.level[b]:
        return False
    begin_proposal(run, min(first, second), max(first, second) + ONE, 0.0)
    run.next_order[first], run.next_order[second] = b, a
    run.next_level[a], run.next_level[b] = run.level[b], run.level[a]
    return True


@kernel
def propose_split(rng: RandomState, run: Partition) -> bool:
    """Split a random part of size k: a random subset of random size c = 1 … k − 1 comes first.

    This split is proposed with probability 1/m · 1/(k − 1) · 1/C(k, c), where m is the number of parts; the join that
    undoes it with probability 1/m, since there are then m + 1 parts.
    """
    part = below(rng, run.parts)
    start, end = run.starts[part], run.starts[part + ONE]
    size = end - start
    if size == ONE:
        return False
    first = ONE + below(rng, size - ONE)
    begin_proposal(run, start, end, log_splits(size, first))
    for place in range(start, start + first):
        other = place + below(rng, end - place)
        run.next_order[place], run.next_order[other] = run.next_order[other], run.next_order[place]
    insert_start(run, part + ONE, start + first)
    for place in range(start + first, run.n):
        run.next_level[run.next_order[place]] += ONE
    return True


@kernel
def propose_join(rng: RandomState, run: Partition) -> bool:
    """Join two neighbouring parts."""
    if run.parts == ONE:
        return False
    part = below(rng, run.parts - ONE)
    start, middle, end = run.starts[part], run.starts[part + ONE], run.starts[part + 2]
    begin_proposal(run, start, end, -log_splits(end - start, middle - start))
    remove_start(run, part + ONE)
    for place in range(middle, run.n):
        run.next_level[run.next_order[place]] -= ONE
    return True


@kernel
def log_splits(size: int, first: int) -> float:
    """Log of the number of ways, (k − 1) · C(k, c), against which one split of k nodes into c and k − c is chosen."""
    rest = size - first
    return math.log(size - ONE) + math.lgamma(size + 1.0) - math.lgamma(first + 1.0) - math.lgamma(rest + 1.0)


@kernel
def relocate(rng: RandomState, tables: Tables, run: Partition) -> bool:
    """Take a random node out and put it into any part of the others, or between any two as a part of its own.

    These slots depend on the others alone, and one is drawn in proportion to R: a Gibbs step, never rejected.
    """
    place = below(rng, run.n)
    v = run.order[place]
    part = run.level[v]
    is_alone = run.starts[part + ONE] - run.starts[part] == ONE
    weigh_slots(tables, run, v, part, is_alone)
    slot = choose_slot(rng, run.slots, 2 * (run.parts - int64(is_alone)) + ONE)
    if slot == 2 * part + int64(not is_alone):
        return False
    put_node(run, place, part, is_alone, slot)
    count = list_changed(run)
    for k in range(count):
        j = run.changed[k]
        run.next_values[j] = value_of(tables, j, run.next_level)
    take_proposal(run, count)
    return True


@kernel
def put_node(run: Partition, place: int, part: int, is_alone: bool, slot: int) -> None:
    """Propose that the node at a place of this part moves to a slot."""
    begin_proposal(run, ZERO, ZERO, 0.0)
    if is_alone:
        remove_start(run, part)
    shift_starts(run, part + int64(not is_alone), -ONE)
    into = slot >> ONE
    if slot & ONE:
        shift_starts(run, into + ONE, ONE)
        new_place = run.next_starts[into + ONE] - ONE
    else:
        new_place = run.next_starts[into]
        insert_start(run, into, new_place)
        shift_starts(run, into + ONE, ONE)
    carry(run, place, new_place)
    for k in range(run.next_parts):
        for at in range(run.next_starts[k], run.next_starts[k + ONE]):
            run.next_level[run.next_order[at]] = k


@kernel
def weigh_slots(tables: Tables, run: Partition, v: int, part: int, is_alone: bool) -> None:
    """Write log R of the partition with v in each slot to `slots`, up to a constant.

    Slot 2r is the gap before part r of the others, slot 2r + 1 that part itself. Here part r has the level 2r, which
    leaves a level for each gap. To v both slots permit the same; to a node of part r it matters whether v comes later,
    earlier, in the part before, or is the part before.
    """
    level, slots, below_sums = run.next_level, run.slots, run.next_values
    for k in range(run.n):
        level[k] = 2 * (run.level[k] - int64(is_alone and run.level[k] > part))
    rest = run.parts - int64(is_alone)
    for r in range(rest + ONE):
        slots[2 * r] = value_at(tables, v, level, 2 * r - ONE)
        slots[2 * r + ONE] = slots[2 * r]
    later_sum = 0.0
    for r in range(rest):
        old = r + int64(is_alone and r >= part)
        later, earlier, inside, alone = 0.0, 0.0, 0.0, 0.0
        for place in range(run.starts[old], run.starts[old + ONE]):
            j = run.order[place]
            if j != v:
                a, b, c, d = four_values(tables, j, v, level, 2 * int64(r))
                later += a
                earlier += b
                inside += c
                alone += d
        slots[2 * r] += later_sum + alone
        later_sum += later
        slots[2 * r + ONE] += later_sum
        if r > 0:
            slots[2 * r - ONE] += inside
        below_sums[r] = earlier
    slots[2 * rest] += later_sum
    earlier_sum = 0.0
    for r in range(rest - ONE, -1, -1):
        slots[2 * r + ONE] += earlier_sum - (below_sums[r+1] if r + 1 < rest else 0.0)
        slots[2 * r] += earlier_sum
        earlier_sum += below_sums[r]


@kernel
def four_values(tables: Tables, j: int, v: int, level: Integers, height: int) -> tuple[float, float, float, float]:
    """Return the value of j at a level when v comes later, earlier, in the part before, or is the part before."""
    level[v] = height + ONE
    later = value_at(tables, j, level, height - ONE)
    level[v] = int64(-3)
    earlier = value_at(tables, j, level, height - ONE) if height > ZERO else 0.0
    level[v] = height - 2
    inside = value_at(tables, j, level, height - ONE) if height > ZERO else 0.0
    level[v] = height - ONE
    alone = log_sum_hitting(tables, j, level, height)
    return later, earlier, inside, alone


@kernel
def value_at(tables: Tables, j: int, level: Integers, bound: int) -> float:
    """Return the log of the summed weights of the parent sets that a partition permits to j."""
    if bound <= ZERO:
        return log_sum(tables, j, level, int64(-5))
    return log_sum_hitting(tables, j, level, bound)

@kernel
def choose_slot(rng: RandomState, slots: Floats, count: int) -> int:
    """Draw a slot in proportion to its weight."""
    top = -math.inf
    for slot in range(count):
        top = max(top, slots[slot])
    for slot in range(count):
        slots[slot] = math.exp(slots[slot] - top)
    return choose(rng, slots, count)


@kernel
def insert_start(run: Partition, part: int, start: int) -> None:
    """Let a new part begin at a place."""
    for k in range(run.next_parts, part - ONE, -1):
        run.next_starts[k + ONE] = run.next_starts[k]
    run.next_starts[part] = start
    run.next_parts += ONE


@kernel
def remove_start(run: Partition, part: int) -> None:
    """Let a part begin no more."""
    for k in range(part, run.next_parts):
        run.next_starts[k] = run.next_starts[k + ONE]
    run.next_parts -= ONE


@kernel
def shift_starts(run: Partition, part: int, step: int) -> None:
    """Let a part and all after it begin so many places later."""
    for k in range(part, run.next_parts + ONE):
        run.next_starts[k] += step


@kernel
def carry(run: Partition, start: int, end: int) -> None:
    """Move the node at one place of the proposal to another, those between closing up."""
    run.low, run.high = min(start, end), max(start, end) + ONE
    step = ONE if end > start else -ONE
    v = run.next_order[start]
    place = start
    while place != end:
        run.next_order[place] = run.next_order[place + step]
        place += step
    run.next_order[end] = v
