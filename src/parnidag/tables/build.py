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
import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from parnidag._util.cores import side_by_side, worth_threads
from parnidag.errors import ParnidagError
from parnidag.kernels.jit import make_frame
from parnidag.kernels.problem import FREE, REQUIRED
from parnidag.kernels.types import Codes, Integers
from parnidag.scores.custom import OwnScore
from parnidag.tables.arrays import NEVER, SUBSET, DrawArrays, TableArrays, draw_arrays
from parnidag.tables.fill import fill_scores_of, fill_sums_of, make_filling
from parnidag.target import Target

DEFAULT_MEMORY = 2e9
"""Bytes that tables may take unless the user says otherwise."""
MOST_MEMORY = 2.0**60
"""No user may ask for more: a subset must fit into 63 bits."""
MOST_LEVELS = 6
"""Levels whose tables are kept, see `samplers.levels`."""
PLACES = 8
"""Bytes of a number."""


@dataclass(frozen=True, eq=False, repr=False)
class CandidateTables:
    """Filled tables, with what they were filled from: on another machine they are made again rather than sent."""

    target: Target
    considered: NDArray[np.bool_]
    """Which parents each node's subsets are made of (parent × child)."""
    plus_one: bool
    arrays: TableArrays

    @cached_property
    def key(self) -> str:
        """A digest of what the tables were filled from."""
        return _digest(self.target, self.considered, self.plus_one, self.has_sums)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    @property
    def has_sums(self) -> bool:
        return self.arrays.ratios.size > 0

    @property
    def covers_everything(self) -> bool:
        """Do the tables hold every parent set that the prior allows?"""
        free = (self.target.problem.status == FREE).sum(axis=0)
        outside = free - self.arrays.candidate_count
        room = self.target.max_parents - self.arrays.required_count
        return bool(((outside == 0) | (room == 0) | (self.plus_one & ((outside == 1) | (room == 1)))).all())

    def __reduce__(self) -> tuple[Any, ...]:
        _KNOWN[self.key] = self
        return _known_or_rebuilt, (self.key, self.target, self.considered, self.plus_one, self.has_sums)


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
    considered = considered & (target.problem.status == FREE)
    plus_one = fitting_plus_one(target, considered, plus_one, memory, sums)
    try:
        arrays = _empty_tables(target, considered, plus_one, sums=sums)
    except MemoryError as error:
        needed = in_words(table_bytes(target, considered, plus_one))
        raise ParnidagError(f"space: this machine has no room for tables of {needed}; use fewer candidates") from error
    fill_tables(target, arrays, draw_arrays(arrays))
    if sums and arrays.ranked.size:
        for first, end in itertools.pairwise(arrays.first_row):
            arrays.ranked[first:end] = np.argsort(-arrays.scores[first:end], kind="stable")
    return CandidateTables(target, considered, plus_one, arrays)


def fill_tables(target: Target, arrays: TableArrays, draws: DrawArrays) -> None:
    """Fill tables that are laid out: the nodes of large ones side by side."""

    def fill_nodes(first: int, end: int) -> None:
        room = draws._replace(frame=make_frame())
        own = make_filling(arrays, target.problem.table, target.max_parents)
        fill_scores_of(target.problem, arrays, room, own, first, end)
        if arrays.ratios.size:
            fill_sums_of(arrays, room, first, end)

    if isinstance(target.score, OwnScore) or not worth_threads(arrays.scores.size):
        fill_nodes(0, target.n_nodes)
    else:
        side_by_side(lambda j: fill_nodes(j, j + 1), target.n_nodes)


def tables_at(target: Target, level: int, tables: CandidateTables) -> CandidateTables:
    """Return the tables of the same parent sets at another level of what is learned; the last few are kept."""
    known: dict[int, CandidateTables] = target.__dict__.setdefault("known_tables", {})
    found = known.pop(level, None)
    if found is None or found.plus_one != tables.plus_one or (found.considered != tables.considered).any():
        wanted = tables.considered
        if tables.target.level == level:
            found = tables
        else:
            found = build_tables(
                target.at(level), wanted, plus_one=tables.plus_one, memory=math.inf, sums=tables.has_sums
            )
    known[level] = found
    for old in list(known)[:-MOST_LEVELS]:
        known.pop(old, None)
    return found


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
            f"{in_words(needed)}, more than the {in_words(memory)} allowed",
            remedy=f"use {advice}, or a larger memory=",
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
    columns = np.where(extras.T, np.cumsum(extras.T, axis=1), NEVER)
    rows = np.left_shift(1, candidate_count)
    first_row = np.concatenate([[0], np.cumsum(rows)])
    first_entry = np.concatenate([[0], np.cumsum(rows * (1 + extra_count))])
    return TableArrays(
        candidates=candidates,
        extras=extra,
        required=required,
        column=np.ascontiguousarray(np.where((considered | (status == REQUIRED)).T, SUBSET, columns), np.int32),
        candidate_count=candidate_count,
        extra_count=extra_count,
        required_count=required_count,
        first_entry=first_entry,
        first_row=first_row,
        scores=np.empty(int(first_entry[-1]) if entries is None else entries),
        ratios=np.empty(int(first_entry[-1]) if sums else 0),
        log_alone=np.empty(int(first_row[-1]) if sums else 0),
        ranked=np.empty(int(first_row[-1]) if sums and not extras.any() else 0, np.int32),
    )


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
    table = target.problem.table
    numbers = f"{plus_one} {sums} {target.max_parents} {table.mix} {table.scale} {target.settings['score']}"
    digest = hashlib.sha256(np.packbits(considered).tobytes() + numbers.encode())
    for array in (*table[:6], table.content, target.problem.log_odds, target.problem.status):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _known_or_rebuilt(
    key: str, target: Target, considered: NDArray[np.bool_], plus_one: bool, sums: bool
) -> CandidateTables:
    known = _KNOWN.get(key)
    if known is None:
        known = build_tables(target, considered, plus_one=plus_one, memory=math.inf, sums=sums)
        known.__dict__["key"] = key
        _KNOWN[key] = known
        _HELD[:] = [known]
    return known
