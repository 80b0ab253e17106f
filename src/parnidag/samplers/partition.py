"""Partition MCMC: a walk over ordered partitions of the nodes, from which graphs are drawn (Kuipers and Moffa 2017).

Every DAG belongs to exactly one ordered partition into parts λ₀, λ₁, …: a node's part is the length of the longest path
that ends in it. So the nodes of part 0 have no parents, and those of part p ≥ 1 have all their parents in earlier parts
and at least one in part p − 1. Given the partition nodes choose their parents independently, so that the summed weight
of its graphs is a product of sums that follow from the candidate tables:

    R(Λ) = ∏_j Σ_{Pa permitted to j by Λ} exp(score(j, Pa)).

The chain walks over partitions with probability ∝ R(Λ) and draws a graph from the present one at regular intervals.
Where order MCMC counts a graph once for every order that agrees with it, a partition counts each of its graphs once:
the drawn graphs follow the posterior, restricted to the graphs of the search space.

A node that is to change its part takes along all whose longest path leads through it, so partitions alone mix slowly.
As the article proposes, the walk is therefore combined with edge reversals (`reversal`): they are tried on each drawn
graph, of which the chain then takes the partition. Since a graph drawn from Λ ~ R follows the posterior, and edge
reversals keep it there, the partition of the result again follows R.
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
from parnidag.net import ABSENT, ONE, ZERO, GraphArrays, Net, Problem, Scratch, close_net, odds, open_net
from parnidag.samplers.base import Chain, Prepared, move_totals
from parnidag.samplers.drawing import GraphDraw, draw_graph, make_graph_draw
from parnidag.samplers.order import check_graph_every
from parnidag.samplers.restricted import RestrictedSampler
from parnidag.samplers.reversal import Reversal, ReversalArrays, make_reversal, open_reversal, reversal_move
from parnidag.space.layout import NEVER, SUBSET, DrawArrays, TableArrays, Tables, open_tables, row_of
from parnidag.space.sums import HUGE, KEPT_DIGITS, counted, log_sum_hitting, share_of, subset_below, sum_of_ratios_at
from parnidag.space.tables import CandidateTables, make_draws
from parnidag.target import Target
from parnidag.trace import TraceArrays, begin_segment, close_trace, observe, open_trace

SWAP, ADJACENT_SWAP, SPLIT_JOIN, MOVE_NODE, EDGE_REVERSAL = int64(0), int64(1), int64(2), int64(3), int64(4)
MOVES = ("swap", "adjacent_swap", "split_join", "move_node", "edge_reversal")
KINDS = int64(4)
"""Moves in the space of partitions, the first ones."""
MOVE_WEIGHTS = (0.1, 0.4, 0.2, 0.3)
"""How often each is tried: those that touch few parts cost least."""
NOBODY = int64(-1)
ROUNDING = 1e-14
"""A sum is known up to this share of it for each unit of its logarithm, since logarithms are what the tables hold."""
LARGEST_SCALE = 600.0
"""A log weight this far below that of the sets without extra is not corrected but computed again."""


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
    changed: Integers
    """The nodes whose permitted parent sets a proposal changes."""
    doubtful: Integers
    """Those of them of whose value only an upper bound is known."""
    tried: Integers
    accepted: Integers
    move_weights: Floats
    integers: Integers
    """Number of parts, iterations between drawn graphs."""


@struct
class Partition:
    """The mutable struct over `PartitionArrays`, and what a proposal says of itself (see `propose`)."""

    frame: Bytes
    order: Integers
    starts: Integers
    level: Integers
    values: Floats
    next_order: Integers
    next_starts: Integers
    next_level: Integers
    next_values: Floats
    changed: Integers
    doubtful: Integers
    tried: Integers
    accepted: Integers
    move_weights: Floats
    n: int
    parts: int
    next_parts: int
    low: int
    high: int
    log_ratio: float
    first: int
    second: int
    was_alone: bool
    is_alone: bool


class PartitionState(NamedTuple):
    """One chain's arrays."""

    walk: PartitionArrays
    draws: DrawArrays
    graph: GraphDraw
    reversal: ReversalArrays


@dataclass(frozen=True)
class PartitionMCMC(RestrictedSampler):
    """Partition MCMC on a search space (Kuipers and Moffa 2017; Kuipers, Suter and Moffa 2022).

    Walks over ordered partitions of the nodes by exchanging two nodes of neighbouring or of any parts, splitting and
    joining parts, and moving a node to another part or to one of its own. Graphs are drawn from the present partition,
    and edges of each drawn graph are reversed (see `REV`), as many tries as there were iterations since the last one.
    Unlike those of `OrderMCMC` the graphs follow the posterior over the graphs of the search space.

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
        """Put a new chain at the partition of its graph, less parents that the tables do not hold."""
        assert prepared.tables is not None
        chain.tables = prepared.tables
        level = layers(held_graph(prepared.tables, chain.graph.position != ABSENT))
        every = target.n_nodes if self.graph_every is None else int(self.graph_every)
        chain.own = PartitionState(
            make_partition(level, every), make_draws(prepared.tables), make_graph_draw(target), make_reversal(target)
        )

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
    n, parts = len(level), int(level.max()) + 1
    starts = np.full(n + 1, n, np.int64)
    starts[:parts] = np.searchsorted(np.sort(level), np.arange(parts))
    return PartitionArrays(
        frame=make_frame(),
        order=np.argsort(level, kind="stable").astype(np.int64),
        starts=starts,
        level=level.astype(np.int64),
        values=np.zeros(n),
        next_order=np.zeros(n, np.int64),
        next_starts=np.zeros(n + 1, np.int64),
        next_level=np.zeros(n, np.int64),
        next_values=np.zeros(n),
        changed=np.zeros(n, np.int64),
        doubtful=np.zeros(n, np.int64),
        tried=np.zeros(len(MOVES), np.int64),
        accepted=np.zeros(len(MOVES), np.int64),
        move_weights=np.array(MOVE_WEIGHTS),
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
        arrays.changed,
        arrays.doubtful,
        arrays.tried,
        arrays.accepted,
        arrays.move_weights,
        int64(arrays.order.size),
        arrays.integers[0],
        ZERO,
        ZERO,
        ZERO,
        0.0,
        NOBODY,
        NOBODY,
        False,
        False,
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
    reversal = open_reversal(state.reversal)
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
                reverse_edges(net, tables, run, reversal, every)
            done += ONE
            if not observe(net, trace):
                break
    state.walk.integers[0] = run.parts
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    return done


# ---------------------------------------------------------------------------------------------------------------------
# What a partition is worth


@kernel
def value_all(tables: Tables, run: Partition) -> None:
    """Value every node afresh."""
    for k in range(run.n):
        run.values[k] = exact_value(tables, int64(k), run.level)


@kernel
def exact_value(tables: Tables, j: int, level: Integers) -> float:
    """Return the log of the summed weights of the parent sets that a partition permits to j."""
    value, is_exact = value_of(tables, j, level)
    return value if is_exact else log_sum_hitting(tables, j, level, level[j])


@kernel
def value_of(tables: Tables, j: int, level: Integers) -> tuple[float, bool]:
    """Return the same and True, or an upper bound and False where a difference of sums would lose digits.

    Summing one by one can then wait: most proposals are refused for the bound alone.
    """
    bound, has_required = level[j], tables.required_count[j] > ZERO
    if bound == ZERO:
        return -math.inf if has_required else tables.log_alone[tables.first_row[j]], True
    if not has_required:
        subset, lower = subset_below(tables, j, level, bound), subset_below(tables, j, level, bound - ONE)
        alone = tables.log_alone[tables.first_row[j] + subset]
        whole, total = weights_of_hitting(tables, j, subset, lower, level)
        if max(KEPT_DIGITS * whole, 1.0 / HUGE) < total < HUGE:
            return alone + math.log(total), True
        if whole > 0.0 and total < HUGE:
            doubt = ROUNDING * (100.0 + abs(alone)) * whole
            return alone + math.log(max(total, 0.0) + doubt), False
    return log_sum_hitting(tables, j, level, bound), True


@kernel
def weights_of_hitting(tables: Tables, j: int, subset: int, lower: int, level: Integers) -> tuple[float, float]:
    """Return what the sets before the part of j weigh, and those of them that have a parent in the last part.

    `subset` and `lower` are the candidates before the part of j and before the last. When they are the same, only sets
    with an extra in the last part count: no difference is taken, and the first figure is 0. Both are relative to the
    sets without extra.
    """
    if subset == lower:
        return 0.0, sum_of_ratios_at(tables, j, subset, level, level[j] - ONE)
    start, lower_start = row_of(tables, j, subset) + ONE, row_of(tables, j, lower) + ONE
    extras, ratios, bound = tables.extras[j], tables.ratios, level[j]
    a, b, c, d = 1.0, 0.0, 1.0, 0.0
    e, count = ZERO, tables.extra_count[j]
    while e + 2 <= count:
        first, second = level[extras[e]], level[extras[e + 1]]
        a += counted(ratios[start + e], first, bound)
        b += counted(ratios[start + e + 1], second, bound)
        c += counted(ratios[lower_start + e], first, bound - ONE)
        d += counted(ratios[lower_start + e + 1], second, bound - ONE)
        e += int64(2)
    if e < count:
        a += counted(ratios[start + e], level[extras[e]], bound)
        c += counted(ratios[lower_start + e], level[extras[e]], bound - ONE)
    return a + b, a + b - share_of(tables, j, subset, lower) * (c + d)


@kernel
def value_after(tables: Tables, run: Partition, j: int) -> tuple[float, bool]:
    """Return the value of j in the proposal and True, or an upper bound and False.

    When nothing changes for j but where one or two extras stand, a few look-ups correct its old value.
    """
    if only_extras_moved(tables, run, j):
        subset = subset_below(tables, j, run.level, run.level[j])
        lower = subset_below(tables, j, run.level, run.level[j] - ONE)
        log_scale = tables.log_alone[tables.first_row[j] + subset] - run.values[j]
        gain, largest = gain_from(tables, run, j, run.first, subset, lower)
        if run.second != run.first:
            other_gain, other_largest = gain_from(tables, run, j, run.second, subset, lower)
            gain += other_gain
            largest += other_largest
        scale = odds(log_scale)
        total = 1.0 + scale * gain
        if log_scale < LARGEST_SCALE and KEPT_DIGITS * (1.0 + scale * largest) < total < HUGE:
            return run.values[j] + math.log(total), True
    return value_of(tables, j, run.next_level)


@kernel
def only_extras_moved(tables: Tables, run: Partition, j: int) -> bool:
    """Is all that changes for j where one or two extras stand?

    Not if the node that moved was or becomes the whole part before that of j: then another part is its neighbour.
    """
    a, b = run.first, run.second
    if a == NOBODY or j in (a, b) or tables.required_count[j] > ZERO:
        return False
    if run.was_alone and run.level[j] - run.level[a] == ONE:
        return False
    if run.is_alone and run.next_level[j] - run.next_level[a] == ONE:
        return False
    return tables.column[j, a] != SUBSET and tables.column[j, b] != SUBSET


@kernel
def gain_from(tables: Tables, run: Partition, j: int, extra: int, subset: int, lower: int) -> tuple[float, float]:
    """Return how much more the permitted sets with an extra weigh since it moved, and what all sets with it weigh.

    An extra in the part before that of j is itself the parent which the partition asks for; of the sets with an earlier
    one, only those with a candidate there are permitted. Both are relative to the sets without extra.
    """
    column = int64(tables.column[j, extra])
    if column == NEVER:
        return 0.0, 0.0
    whole = tables.ratios[row_of(tables, j, subset) + column]
    hitting = whole - share_of(tables, j, subset, lower) * tables.ratios[row_of(tables, j, lower) + column]
    ahead, next_ahead = run.level[j] - run.level[extra], run.next_level[j] - run.next_level[extra]
    before = whole if ahead == ONE else (hitting if ahead > ONE else 0.0)
    after = whole if next_ahead == ONE else (hitting if next_ahead > ONE else 0.0)
    return after - before, whole


# ---------------------------------------------------------------------------------------------------------------------
# One iteration


@kernel
def partition_step(rng: RandomState, tables: Tables, run: Partition) -> None:
    """Try one move."""
    move = choose(rng, run.move_weights, KINDS)
    run.tried[move] += ONE
    if propose(rng, run, move) and decide(rng, tables, run):
        run.accepted[move] += ONE


@kernel
def propose(rng: RandomState, run: Partition, move: int) -> bool:
    """Write another partition to `next_order`, `next_starts` and `next_level`; False if the move leads nowhere.

    `low` and `high` bound the places of `order` that the move touches; `log_ratio` is the log of the chance to come
    back over the chance to come here. `first` and `second` are the nodes that moved while all others stayed together,
    both the same if it was only one, NOBODY if this cannot be said. A single one may have been or become a part.
    """
    if move == SWAP:
        return propose_swap(rng, run)
    if move == ADJACENT_SWAP:
        return propose_adjacent_swap(rng, run)
    if move == SPLIT_JOIN:
        return propose_split(rng, run) if happens(rng, 0.5) else propose_join(rng, run)
    return propose_node_move(rng, run)


@kernel
def decide(rng: RandomState, tables: Tables, run: Partition) -> bool:
    """Value the proposal and take it with probability min{1, R(Λ′)/R(Λ) · exp(log_ratio)}.

    The first decision takes upper bounds for what is hard to compute, so that few proposals need it.
    """
    count, doubtful = list_changed(run), ZERO
    gain = run.log_ratio
    for k in range(count):
        j = run.changed[k]
        run.next_values[j], is_exact = value_after(tables, run, j)
        gain += run.next_values[j] - run.values[j]
        if gain == -math.inf:
            break
        if not is_exact:
            run.doubtful[doubtful] = j
            doubtful += ONE
    if not happens(rng, math.exp(min(0.0, gain))):
        return False
    if doubtful > ZERO and not confirm(rng, tables, run, doubtful, gain):
        return False
    for k in range(run.n):
        run.order[k], run.level[k], run.starts[k] = run.next_order[k], run.next_level[k], run.next_starts[k]
    run.parts = run.next_parts
    for k in range(count):  # corrected values were good enough to decide; to keep them would let rounding pile up
        run.values[run.changed[k]] = exact_value(tables, run.changed[k], run.level)
    return True


@kernel
def confirm(rng: RandomState, tables: Tables, run: Partition, doubtful: int, gain: float) -> bool:
    """Replace the upper bounds in `gain` by values, and make up for what was too generous in the first decision."""
    prospect = min(0.0, gain)
    for k in range(doubtful):
        j = run.doubtful[k]
        gain += log_sum_hitting(tables, j, run.next_level, run.next_level[j]) - run.next_values[j]
    return happens(rng, math.exp(min(0.0, min(0.0, gain) - prospect)))


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
    run.first, run.second = NOBODY, NOBODY
    run.was_alone, run.is_alone = False, False


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
    run.first, run.second = a, b
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
def propose_node_move(rng: RandomState, run: Partition) -> bool:
    """Take a random node out and put it into any part of the others, or between any two as a part of its own.

    The places depend on the others alone, so a uniform choice is symmetric. Even numbers are gaps, odd ones parts.
    """
    place = below(rng, run.n)
    v = run.order[place]
    part = run.level[v]
    was_alone = run.starts[part + ONE] - run.starts[part] == ONE
    slot = below(rng, 2 * (run.parts - int64(was_alone)) + ONE)
    if slot == 2 * part + int64(not was_alone):
        return False
    begin_proposal(run, ZERO, ZERO, 0.0)
    run.first, run.second = v, v
    run.was_alone, run.is_alone = was_alone, slot & ONE == ZERO
    if was_alone:
        remove_start(run, part)
    shift_starts(run, part + int64(not was_alone), -ONE)
    into = slot >> ONE
    if run.is_alone:
        insert_start(run, into, run.next_starts[into])
    shift_starts(run, into + ONE, ONE)
    carry(run, place, run.next_starts[into + ONE] - ONE)
    for k in range(run.next_parts):
        for at in range(run.next_starts[k], run.next_starts[k + ONE]):
            run.next_level[run.next_order[at]] = k
    return True


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


# ---------------------------------------------------------------------------------------------------------------------
# Edge reversals


@kernel
def reverse_edges(net: Net, tables: Tables, run: Partition, reversal: Reversal, tries: int) -> None:
    """Try to reverse edges of the drawn graph, and take over the partition of the result."""
    for _ in range(tries):
        run.tried[EDGE_REVERSAL] += ONE
        run.accepted[EDGE_REVERSAL] += reversal_move(net, tables, reversal)
    read_levels(net, run)
    sort_levels(run)
    value_all(tables, run)


@kernel
def read_levels(net: Net, run: Partition) -> None:
    """Write the length of the longest path that ends in each node of the graph to `level`.

    Sweeps until nothing changes; the nodes are visited in the order of the last partition, mostly parents first.
    """
    for j in range(run.n):
        run.level[j] = ZERO
    is_rising = True
    while is_rising:
        is_rising = False
        for place in range(run.n):
            j = run.order[place]
            height = ZERO
            for k in range(net.degree[j]):
                height = max(height, run.level[net.parents[j, k]] + ONE)
            is_rising |= height > run.level[j]
            run.level[j] = height


@kernel
def sort_levels(run: Partition) -> None:
    """Write `order` and `starts` from `level`, by counting."""
    for k in range(run.n + ONE):
        run.starts[k] = ZERO
    run.parts = ONE
    for j in range(run.n):
        run.starts[run.level[j] + ONE] += ONE
        run.parts = max(run.parts, run.level[j] + ONE)
    for part in range(run.parts):
        run.starts[part + ONE] += run.starts[part]
        run.next_starts[part] = run.starts[part]
    run.starts[run.n] = run.n
    for j in range(run.n):
        run.order[run.next_starts[run.level[j]]] = j
        run.next_starts[run.level[j]] += ONE
