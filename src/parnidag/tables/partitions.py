"""Ordered partitions of the nodes: their state, and what each is worth by the candidate tables.

The value of a partition is a sum over nodes: the log of the summed weights of the parent sets that it permits. Nodes of
part 0 have no parents; those of part p ≥ 1 have all theirs in earlier parts and at least one in part p − 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, odds
from parnidag.kernels.declare import closer, first_numbers, keeps, opener, size_of, struct_over
from parnidag.kernels.jit import kernel, make_frame
from parnidag.kernels.types import Bytes, Flags, Floats, Integers, int64
from parnidag.tables.arrays import NEVER, SUBSET, Tables, row_of
from parnidag.tables.sums import HUGE, KEPT_DIGITS, counted, log_sum_hitting, share_of, subset_below, sum_of_ratios_at

NOBODY = int64(-1)
SUM_ERROR = 1e-12
"""A difference of sums is known up to this share of them."""
LARGEST_SCALE = 600.0
"""A log weight this far below that of the sets without extra is not corrected but computed again."""


@keeps("order", "starts", "level", "values", "tried", "accepted", "integers")
class PartitionArrays(NamedTuple):
    """A partition, what it is worth, a proposal, and counters of the moves."""

    frame: Bytes
    order: Integers
    """The nodes, part by part; within a part it means nothing, but that parents-only nodes come first."""
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
    ranked: Integers
    """The nodes, those that are parents only first: these stay in part 0."""
    integers: Integers
    """The numbers that `Partition` keeps."""


@struct_over
class Partition(PartitionArrays):
    """The same as a struct, and what a proposal says of itself (see `propose`)."""

    parts: int
    """Number of parts."""
    still: int
    """Number of nodes that are parents only."""
    n: int = size_of("order")
    next_parts: int = ZERO
    low: int = ZERO
    high: int = ZERO
    log_ratio: float = 0.0
    first: int = NOBODY
    second: int = NOBODY
    was_alone: bool = False
    is_alone: bool = False


open_partition, close_partition = opener(Partition), closer(Partition)


def make_partition(
    level: Integers, move_weights: Sequence[float], parents_only: Flags | None = None
) -> PartitionArrays:
    """Return the arrays of a walk that begins at the given partition; its values follow in compiled code."""
    n, parts = len(level), int(level.max()) + 1
    still = np.zeros(n, np.bool_) if parents_only is None else parents_only
    ranked = np.argsort(~still, kind="stable").astype(np.int64)
    starts = np.full(n + 1, n, np.int64)
    starts[:parts] = np.searchsorted(np.sort(level), np.arange(parts))
    return PartitionArrays(
        frame=make_frame(),
        order=ranked[np.argsort(level[ranked], kind="stable")],
        starts=starts,
        level=level.astype(np.int64),
        values=np.zeros(n),
        next_order=np.zeros(n, np.int64),
        next_starts=np.zeros(n + 1, np.int64),
        next_level=np.zeros(n, np.int64),
        next_values=np.zeros(n),
        changed=np.zeros(n, np.int64),
        doubtful=np.zeros(n, np.int64),
        tried=np.zeros(len(move_weights), np.int64),
        accepted=np.zeros(len(move_weights), np.int64),
        move_weights=np.array(move_weights, np.float64),
        ranked=ranked,
        **first_numbers(Partition, parts=parts, still=int(still.sum())),
    )


@kernel
def value_all(tables: Tables, run: Partition) -> None:
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
            doubt = SUM_ERROR * (100.0 + abs(alone)) * whole
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
    for k in range(run.n):
        j = run.ranked[k]
        run.order[run.next_starts[run.level[j]]] = j
        run.next_starts[run.level[j]] += ONE
