"""Candidate tables: the local scores of all parent sets that a search space holds, and sums over them.

A node's parent sets are every subset of its candidates, and each of these with one more parent from outside, its extra
("plus one": Kuipers, Suter and Moffa 2022). Required parents belong to every set, forbidden ones to none, and sets with
more than `max_parents` weigh nothing. A row is a subset of the candidates, as a bit set; its first entry is the subset
alone, the others have one extra each.

Two tables of this shape are kept. `scores` holds the local log target. `ratios` answers the question that orders and
partitions ask all the time, what the sets inside a given subset weigh together:

    ratios[S, e] = Σ_{m ⊆ S} exp(score(m ∪ e)) / Σ_{m ⊆ S} exp(score(m)),    log_alone[S] = log Σ_{m ⊆ S} exp(score(m)).

Weighing the extras against the sets without one keeps all numbers in range: a sum is never below 1.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from parnidag._jit import entry, kernel, make_frame, struct
from parnidag._types import Bytes, Codes, Floats, Integers, int64
from parnidag.errors import ParnidagError
from parnidag.net import ONE, ZERO, Problem
from parnidag.prior import FREE, REQUIRED
from parnidag.scores.gaussian import (
    GaussianTable,
    Walk,
    append_parent,
    begin_walk,
    make_walk,
    walk_score,
    walk_score_with,
)
from parnidag.space.layout import NEVER, SUBSET, DrawArrays, TableArrays, Tables, draw_arrays, open_tables, row_of
from parnidag.target import Target

DEFAULT_MEMORY = 2e9
"""Bytes that tables may take unless the user says otherwise."""
MOST_MEMORY = 2.0**60
"""No user may ask for more: a subset must fit into 63 bits."""
PLACES = 8
"""Bytes of a number."""
SAFE_LOG, LARGEST_LOG = 600.0, 700.0
"""Log ratios that no sum takes out of range; those whose exponential is a number."""


@dataclass(frozen=True, eq=False, repr=False)
class CandidateTables:
    """Filled tables, with what they were filled from: on another machine they are made again rather than sent."""

    target: Target
    considered: NDArray[np.bool_]
    """Which parents each node's subsets are made of (parent × child)."""
    plus_one: bool
    arrays: TableArrays
    seconds: float = 0.0
    key: str = field(default="")

    @property
    def nbytes(self) -> int:
        """Memory taken."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def has_sums(self) -> bool:
        """Are there sums, or scores alone?"""
        return self.arrays.ratios.size > 0

    @property
    def covers_everything(self) -> bool:
        """Do the tables hold every parent set that the prior allows?"""
        free = (self.target.problem.status == FREE).sum(axis=0)
        outside = free - self.arrays.candidate_count
        room = self.target.max_parents - self.arrays.required_count
        return bool(((outside == 0) | (room == 0) | (self.plus_one & ((outside == 1) | (room == 1)))).all())

    def __reduce__(self) -> tuple[Any, ...]:
        return _known_or_rebuilt, (self.key, self.target, self.considered, self.plus_one, self.has_sums)

    def __repr__(self) -> str:
        counts = self.arrays.candidate_count
        extra = " and one extra" if self.plus_one else ""
        return (
            f"CandidateTables({len(counts)} nodes, {counts.mean():.1f} candidates on average, at most {counts.max()}"
            f"{extra}; {self.nbytes / 1e6:,.1f} MB in {self.seconds:.3g} s)"
        )


def build_tables(
    target: Target,
    considered: NDArray[np.bool_],
    *,
    plus_one: bool | None = None,
    memory: float = DEFAULT_MEMORY,
    sums: bool = True,
) -> CandidateTables:
    """Fill the tables of a search space, or refuse before allocating anything if they are too large.

    Parameters
    ----------
    target
        Scores and prior.
    considered
        Which parents each node's subsets are made of (parent × child); those that are not free are left out.
    plus_one
        Whether every subset may take one parent from outside; None means if there is memory for it.
    memory
        Bytes that the tables may take; a search on them takes as much as their scores again, for a while.
    sums
        Whether sums are wanted too, or scores alone, which do for a search.
    """
    began = time.perf_counter()
    considered = considered & (target.problem.status == FREE)
    plus_one = fitting_plus_one(target, considered, plus_one, memory, sums)
    try:
        arrays = _empty_tables(target, considered, plus_one, sums=sums)
    except MemoryError as error:
        needed = in_words(table_bytes(target, considered, plus_one))
        raise ParnidagError(f"space: this machine has no room for tables of {needed}; use fewer candidates") from error
    draws = draw_arrays(arrays)
    fill_all_scores(target.problem, arrays, draws, make_filling(arrays))
    if sums:
        fill_all_sums(arrays, draws)
    key = _digest(target, considered, plus_one, sums)
    tables = CandidateTables(target, considered, plus_one, arrays, time.perf_counter() - began, key)
    _KNOWN[tables.key] = tables
    return tables


def make_draws(tables: CandidateTables, peaks: Floats | None = None) -> DrawArrays:
    """Return a chain's working memory."""
    return draw_arrays(tables.arrays, peaks)


def fitting_plus_one(
    target: Target, considered: NDArray[np.bool_], plus_one: bool | None, memory: float, sums: bool = True
) -> bool:
    """Return whether extras are stored, or refuse tables that do not fit."""
    memory = min(memory, MOST_MEMORY)
    with_extras, without = (table_bytes(target, considered, extras, sums) for extras in (True, False))
    if plus_one is None:
        plus_one = with_extras <= memory
    needed = with_extras if plus_one else without
    if needed > memory:
        counts = (considered & (target.problem.status == FREE)).sum(axis=0)
        node = target.names[int(counts.argmax())]
        advice = "a sparser skeleton (a smaller alpha), an EdgePrior that forbids edges"
        if plus_one and without <= memory:
            advice = f"plus_one=False ({in_words(without)}), " + advice
        raise ParnidagError(
            f"space: {node} has {counts.max()} candidate parents, and the tables of all nodes would take "
            f"{in_words(needed)}, more than the {in_words(memory)} allowed; use {advice}, or a larger memory="
        )
    return plus_one


def table_bytes(target: Target, considered: NDArray[np.bool_], plus_one: bool, sums: bool = True) -> float:
    """Return the bytes that the tables of a search space would take, with sums or scores alone."""
    free = target.problem.status == FREE
    candidates = (considered & free).sum(axis=0)
    extras = (free & ~considered).sum(axis=0) * plus_one
    numbers = 3.0 + 2.0 * extras if sums else 1.0 + extras
    # beyond 2⁹⁰⁰ one more candidate makes no difference but an overflow
    return float((2.0 ** np.minimum(candidates, 900) * numbers).sum()) * PLACES


def in_words(size: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> in_words(2.5e9), in_words(3e6), in_words(1200), in_words(2e21)
    ('2.5 GB', '3 MB', '2 kB', '2e+12 GB')
    """
    if size >= 1e15:
        return f"{size / 1e9:.0e} GB"
    if size >= 1e9:
        return f"{size / 1e9:,.1f} GB"
    return f"{math.ceil(size / 1e6):,} MB" if size >= 1e6 else f"{math.ceil(size / 1e3):,} kB"


def one_node_tables(target: Target, considered: NDArray[np.bool_], memory: float) -> TableArrays:
    """Return room for the scores of one node at a time, with every extra: nodes overwrite one another."""
    considered = considered & (target.problem.status == FREE)
    counts = considered.sum(axis=0)
    extras = (target.problem.status == FREE).sum(axis=0) - counts
    needed = float((2.0**counts * (1.0 + extras)).max()) * PLACES
    if needed > memory:
        node = target.names[int(counts.argmax())]
        raise ParnidagError(
            f"space: {node} has {counts.max()} candidate parents, whose parent sets would take {in_words(needed)}, "
            f"more than {in_words(memory)}; use a sparser skeleton (a smaller alpha)"
        )
    layout = _empty_tables(target, considered, plus_one=True, sums=False, entries=int(needed) // PLACES)
    return layout._replace(first_entry=np.zeros_like(layout.first_entry))


def _empty_tables(
    target: Target, considered: NDArray[np.bool_], plus_one: bool, sums: bool, entries: int | None = None
) -> TableArrays:
    """Lay out the tables of all nodes; with a number of `entries`, there is room for so many scores only."""
    status = target.problem.status
    extras = (status == FREE) & ~considered & plus_one
    listed = [_listed(mask) for mask in (considered, extras, status == REQUIRED)]
    (candidates, candidate_count), (extra, extra_count), (required, required_count) = listed
    rows = np.left_shift(1, candidate_count)
    first_row = np.concatenate([[0], np.cumsum(rows)])
    first_entry = np.concatenate([[0], np.cumsum(rows * (1 + extra_count))])
    return TableArrays(
        candidates=candidates,
        extras=extra,
        required=required,
        column=_columns(considered | (status == REQUIRED), extras),
        candidate_count=candidate_count,
        extra_count=extra_count,
        required_count=required_count,
        first_entry=first_entry,
        first_row=first_row,
        scores=np.empty(int(first_entry[-1]) if entries is None else entries),
        ratios=np.empty(int(first_entry[-1]) if sums else 0),
        log_alone=np.empty(int(first_row[-1]) if sums else 0),
    )


def _columns(inside: NDArray[np.bool_], extras: NDArray[np.bool_]) -> Codes:
    """Return the column of every extra, [child, parent]."""
    columns = np.where(extras.T, np.cumsum(extras.T, axis=1), NEVER)
    return np.ascontiguousarray(np.where(inside.T, SUBSET, columns), np.int32)


def _listed(mask: NDArray[np.bool_]) -> tuple[Codes, Integers]:
    """Return the marked parents of each node as rows padded with −1, and how many there are."""
    counts = mask.sum(axis=0).astype(np.int64)
    rows = np.full((len(mask), max(int(counts.max()), 1)), -1, np.int32)
    for j in range(len(mask)):
        rows[j, : counts[j]] = np.flatnonzero(mask[:, j])
    return rows, counts


# ---------------------------------------------------------------------------------------------------------------------
# Tables in other processes: a worker fills its own once, and finds them again for the next segment

_KNOWN: WeakValueDictionary[str, CandidateTables] = WeakValueDictionary()
_HELD: list[CandidateTables] = []
"""The last tables made for an unpickled copy: nobody else may hold them between two segments."""


def _digest(target: Target, considered: NDArray[np.bool_], plus_one: bool, sums: bool) -> str:
    numbers = f"{plus_one} {sums} {target.max_parents} {target.problem.table.mix}"
    digest = hashlib.sha256(np.packbits(considered).tobytes() + numbers.encode())
    for array in (*target.problem.table[:3], target.problem.log_odds, target.problem.status):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _known_or_rebuilt(
    key: str, target: Target, considered: NDArray[np.bool_], plus_one: bool, sums: bool
) -> CandidateTables:
    known = _KNOWN.get(key)
    if known is None:
        known = build_tables(target, considered, plus_one=plus_one, memory=math.inf, sums=sums)
        _HELD[:] = [known]
    return known


# ---------------------------------------------------------------------------------------------------------------------
# Filling


class FillArrays(NamedTuple):
    """Working memory for filling."""

    frame: Bytes
    walk: Walk
    branch: Integers
    """The bits of the present subset, in order."""
    priors: Floats
    """The log prior weight of the first parents of the branch."""


@struct
class Filling:
    """Scores and prior, and where the walk through the subsets stands."""

    frame: Bytes
    table: GaussianTable
    log_odds: Floats
    max_parents: int
    walk: Walk
    branch: Integers
    priors: Floats


def make_filling(arrays: TableArrays) -> FillArrays:
    """Return working memory for tables of this layout."""
    depth = int((arrays.candidate_count + arrays.required_count).max())
    walk = make_walk(len(arrays.candidate_count), depth)
    return FillArrays(make_frame(), walk, np.zeros(depth + 1, np.int64), np.zeros(depth + 1))


@kernel
def open_filling(problem: Problem, own: FillArrays) -> Filling:
    """Build the struct on top of the arrays."""
    return Filling(own.frame, problem.table, problem.log_odds, problem.max_parents, own.walk, own.branch, own.priors)


@entry
def fill_all_scores(problem: Problem, arrays: TableArrays, draws: DrawArrays, own: FillArrays) -> None:
    """Fill the scores of every node."""
    tables, filling = open_tables(arrays, draws), open_filling(problem, own)
    for j in range(arrays.candidate_count.size):
        fill_scores(tables, filling, int64(j))


@entry
def fill_all_sums(arrays: TableArrays, draws: DrawArrays) -> None:
    """Fill the sums of every node from its scores."""
    tables = open_tables(arrays, draws)
    for j in range(arrays.candidate_count.size):
        fill_sums(tables, int64(j))


@kernel
def fill_scores(tables: Tables, filling: Filling, j: int) -> None:
    """Walk the subsets of j's candidates depth-first, below its required parents."""
    begin_walk(filling.table, j, filling.walk)
    depth = ZERO
    for k in range(tables.required_count[j]):
        depth = descend(filling, j, int64(tables.required[j, k]), depth)
    least, subset, bit = depth, ZERO, ZERO
    fill_row(tables, filling, j, subset, depth)
    while True:
        if bit < tables.candidate_count[j]:
            filling.branch[depth - least] = bit
            subset |= ONE << bit
            depth = descend(filling, j, int64(tables.candidates[j, bit]), depth)
            fill_row(tables, filling, j, subset, depth)
            bit += ONE
        elif depth == least:
            return
        else:
            depth -= ONE
            bit = filling.branch[depth - least]
            subset ^= ONE << bit
            bit += ONE


@kernel
def descend(filling: Filling, j: int, parent: int, depth: int) -> int:
    """Append a parent to the branch and return the new depth; sets that are too large are not factorised."""
    if depth < filling.max_parents:
        append_parent(filling.table, j, parent, depth, filling.walk)
    filling.priors[depth + ONE] = filling.priors[depth] + filling.log_odds[parent, j]
    return depth + ONE


@kernel
def fill_row(tables: Tables, filling: Filling, j: int, subset: int, depth: int) -> None:
    """Score one subset alone and with each extra; −inf where that makes too many parents."""
    width = ONE + tables.extra_count[j]
    start = row_of(tables, j, subset)
    scores, prior = tables.scores, filling.priors[depth]
    scores[start] = -math.inf
    if depth <= filling.max_parents:
        scores[start] = prior + walk_score(filling.table, j, depth, filling.walk)
    for e in range(ONE, width):
        scores[start + e] = -math.inf
        if depth < filling.max_parents:
            extra = int64(tables.extras[j, e - ONE])
            local = walk_score_with(filling.table, j, extra, depth, filling.walk)
            scores[start + e] = prior + filling.log_odds[extra, j] + local


@kernel
def fill_sums(tables: Tables, j: int) -> None:
    """Sum over subsets of subsets, one candidate at a time (the fast zeta transform)."""
    width, rows = ONE + tables.extra_count[j], ONE << tables.candidate_count[j]
    start, first = tables.first_entry[j], tables.first_row[j]
    if largest_log_ratio(tables, j) > SAFE_LOG:
        fill_sums_in_logs(tables, j)
        return
    for subset in range(rows):
        row = start + subset * width
        alone = tables.scores[row]
        tables.log_alone[first + subset] = alone
        for e in range(width):
            tables.ratios[row + e] = math.exp(tables.scores[row + e] - alone) if alone > -math.inf else 0.0
    for bit in range(tables.candidate_count[j]):
        for subset in range(rows):
            if subset >> bit & ONE:
                add_smaller(tables, first + subset, first + (subset ^ (ONE << bit)), start - first * width, width)


@kernel
def largest_log_ratio(tables: Tables, j: int) -> float:
    """Return how much an extra can improve a subset of j's candidates."""
    width, start = ONE + tables.extra_count[j], tables.first_entry[j]
    largest = -math.inf
    for subset in range(ONE << tables.candidate_count[j]):
        row = start + subset * width
        for e in range(width):
            if tables.scores[row] > -math.inf:
                largest = max(largest, tables.scores[row + e] - tables.scores[row])
    return largest


@kernel
def add_smaller(tables: Tables, row: int, smaller: int, offset: int, width: int) -> None:
    """Add the sums of the subset `smaller` to those of `row`, keeping both relative to the sets without extra."""
    larger_log, smaller_log = tables.log_alone[row], tables.log_alone[smaller]
    if smaller_log == -math.inf:
        return  # all sets so far are too large, those of `row` too: −inf − (−inf) would be undefined
    total = log_add(larger_log, smaller_log)
    tables.log_alone[row] = total
    own, other = math.exp(larger_log - total), math.exp(smaller_log - total)
    into, source = offset + row * width, offset + smaller * width
    tables.ratios[into] = 1.0
    for e in range(ONE, width):
        tables.ratios[into + e] = own * tables.ratios[into + e] + other * tables.ratios[source + e]


@kernel
def fill_sums_in_logs(tables: Tables, j: int) -> None:
    """Do the same where some ratios are out of range: slower, but no huge ratio spoils a sum that it hardly enters.

    A sum that is itself out of range becomes infinite; whoever reads it then adds up the scores one by one.
    """
    width, rows = ONE + tables.extra_count[j], ONE << tables.candidate_count[j]
    start, first = tables.first_entry[j], tables.first_row[j]
    for place in range(start, start + rows * width):
        tables.ratios[place] = tables.scores[place]
    for bit in range(tables.candidate_count[j]):
        for subset in range(rows):
            if subset >> bit & ONE:
                into, source = start + subset * width, start + (subset ^ (ONE << bit)) * width
                for e in range(width):
                    tables.ratios[into + e] = log_add(tables.ratios[into + e], tables.ratios[source + e])
    for subset in range(rows):
        row = start + subset * width
        alone = tables.ratios[row]
        tables.log_alone[first + subset] = alone
        for e in range(width):
            log_ratio = tables.ratios[row + e] - alone
            tables.ratios[row + e] = math.exp(log_ratio) if log_ratio < LARGEST_LOG else math.inf


@kernel
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    top, low = max(a, b), min(a, b)
    return top + math.log1p(math.exp(low - top)) if low > -math.inf else top
