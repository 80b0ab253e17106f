"""A walk over ordered partitions: exchange two nodes, split or join parts, move a node (Kuipers and Moffa 2017).

A move writes a proposal beside the partition; only the nodes whose permitted parent sets it changes are revalued.
Nodes that are parents only stay in the first part, and no move touches them.
"""

from __future__ import annotations

import math

from parnidag.kernels.dag import ONE, ZERO
from parnidag.kernels.jit import kernel
from parnidag.kernels.random import RandomState, below, choose, happens
from parnidag.kernels.types import int64
from parnidag.tables.arrays import Tables
from parnidag.tables.partitions import NOBODY, Partition, exact_value, value_after
from parnidag.tables.sums import log_sum_hitting

SWAP, ADJACENT_SWAP, SPLIT_JOIN, MOVE_NODE = int64(0), int64(1), int64(2), int64(3)
MOVES = ("swap", "adjacent_swap", "split_join", "move_node")
MOVE_WEIGHTS = (0.1, 0.4, 0.2, 0.3)
"""How often each is tried: those that touch few parts cost least."""
KINDS = int64(4)


@kernel
def partition_step(rng: RandomState, tables: Tables, run: Partition) -> None:
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
        return exchange(run, any_place(rng, run), any_place(rng, run))  # symmetric
    if move == ADJACENT_SWAP:
        return propose_adjacent_swap(rng, run)
    if move == SPLIT_JOIN:
        return propose_split(rng, run) if happens(rng, 0.5) else propose_join(rng, run)
    return propose_node_move(rng, run)


@kernel
def any_place(rng: RandomState, run: Partition) -> int:
    """Choose the place of any node that may move."""
    return run.still + below(rng, run.n - run.still)


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


@kernel
def begin_proposal(run: Partition, low: int, high: int, log_ratio: float) -> None:
    for k in range(run.n):
        run.next_order[k], run.next_level[k], run.next_starts[k] = run.order[k], run.level[k], run.starts[k]
    run.next_starts[run.n] = run.n
    run.next_parts = run.parts
    run.low, run.high, run.log_ratio = low, high, log_ratio
    run.first, run.second = NOBODY, NOBODY
    run.was_alone, run.is_alone = False, False


@kernel
def propose_adjacent_swap(rng: RandomState, run: Partition) -> bool:
    """Exchange a node with one of the next part: symmetric, since the sizes of parts stay."""
    first = any_place(rng, run)
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
    undoes it with probability 1/m, since there are then m + 1 parts. Nodes that stay do not count, and where there are
    some, c may be 0: with probability 1/m · 1/k · 1/C(k, c).
    """
    part = below(rng, run.parts)
    start, end = moving_start(run, part), run.starts[part + ONE]
    fewest = fewest_first(run, part)
    if end - start <= fewest:
        return False
    first = fewest + below(rng, end - start - fewest)
    begin_proposal(run, start, end, log_splits(end - start, first, fewest))
    for place in range(start, start + first):
        other = place + below(rng, end - place)
        run.next_order[place], run.next_order[other] = run.next_order[other], run.next_order[place]
    insert_start(run, part + ONE, start + first)
    for place in range(start + first, run.n):
        run.next_level[run.next_order[place]] += ONE
    return True


@kernel
def propose_join(rng: RandomState, run: Partition) -> bool:
    if run.parts == ONE:
        return False
    part = below(rng, run.parts - ONE)
    start, middle, end = moving_start(run, part), run.starts[part + ONE], run.starts[part + 2]
    begin_proposal(run, start, end, -log_splits(end - start, middle - start, fewest_first(run, part)))
    remove_start(run, part + ONE)
    for place in range(middle, run.n):
        run.next_level[run.next_order[place]] -= ONE
    return True


@kernel
def moving_start(run: Partition, part: int) -> int:
    return run.still if part == ZERO else run.starts[part]


@kernel
def fewest_first(run: Partition, part: int) -> int:
    """Return how many nodes that may move a split leaves in front at least."""
    return ZERO if part == ZERO and run.still > ZERO else ONE


@kernel
def log_splits(size: int, first: int, fewest: int) -> float:
    """Log of the number of ways, (k − 1) · C(k, c), against which one split of k nodes into c and k − c is chosen.

    It is k · C(k, c) where c may be 0.
    """
    rest = size - first
    return math.log(size - fewest) + math.lgamma(size + 1.0) - math.lgamma(first + 1.0) - math.lgamma(rest + 1.0)


@kernel
def propose_node_move(rng: RandomState, run: Partition) -> bool:
    """Take a random node out and put it into any part of the others, or between any two as a part of its own.

    The places depend on the others alone, so a uniform choice is symmetric. Even numbers are gaps, odd ones parts; no
    gap comes before nodes that stay.
    """
    place = any_place(rng, run)
    v = run.order[place]
    part = run.level[v]
    was_alone = run.starts[part + ONE] - run.starts[part] == ONE
    lowest = int64(run.still > ZERO)
    slot = lowest + below(rng, 2 * (run.parts - int64(was_alone)) + ONE - lowest)
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
    for k in range(run.next_parts, part - ONE, -1):
        run.next_starts[k + ONE] = run.next_starts[k]
    run.next_starts[part] = start
    run.next_parts += ONE


@kernel
def remove_start(run: Partition, part: int) -> None:
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
