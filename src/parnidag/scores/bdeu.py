"""The BDeu score of discrete data: every node has a table of probabilities for each combination of its parents' levels.

The score is a function of the counts of a family (a node and its parents), and so of two terms of the same kind:

    score = T(node and parents) − T(parents),   T(S) = Σ_cells lnΓ(a + count) − lnΓ(a),   a = ess / (all cells of S),

where a cell is one combination of levels. Cells without rows add nothing. Since T depends on a set alone, graphs that
imply the same independences have the same score.

What compiled code reads is one block of bytes (see `pack`). A table whose rows repeat a lot is kept as its different
rows with their numbers; any other one as level codes and, for small families, bit sets (see `bdeu_counts`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import number
from parnidag.data.counts import different_rows
from parnidag.data.table import Data
from parnidag.errors import DataError
from parnidag.kernels.by_address import external, pack_arrays, packed, packed_shape, pointed
from parnidag.kernels.jit import kernel
from parnidag.kernels.problem import ScoreTable, function_table
from parnidag.kernels.types import Bytes, Integers, Words, int64
from parnidag.scores.base import Patterns, Score, check_learnable
from parnidag.scores.bdeu_counts import (
    append_level,
    count_numbers,
    count_rows,
    count_sets,
    make_places,
    number_combinations,
    renumber,
    sum_neighbours,
)

LEAST_ESS, MOST_ESS = 1e-6, 1e6
"""Equivalent sample sizes between which the arithmetic is sound."""
LEARNED_ESS = tuple(2.0**k for k in range(-2, 7))
MOST_LEVELS = 2**16
"""Levels of a column that fit their codes."""
MOST_SET_CELLS = 128
"""Up to so many cells, bit sets count faster than going through the rows."""
TABLE_CELLS, TABLE_SHARE = 256, 4
"""So many cells, and so many for each row, may be counted in a table of all of them."""
COUNTS_PER_KEPT, MOST_KEPT = 4, 64
"""One rising factorial is kept for so many counts, and so many at most."""
SHORTER = 8
"""Different rows are kept with their numbers if there are fewer of them by this factor."""


@dataclass(frozen=True)
class BDeu(Score):
    """The Bayesian Dirichlet equivalent uniform score, for discrete data (Heckerman, Geiger and Chickering 1995).

    A node has probabilities of its levels for each combination of its parents' levels. Their Dirichlet priors are worth
    `ess` rows in all, spread evenly over all combinations; the probabilities are integrated out. Levels that a table
    declares count whether or not they occur. Graphs that imply the same independences have the same score.

    Parameters
    ----------
    ess
        Equivalent sample size; with more, denser graphs score better. ``"learn"`` learns it along with the graph, from
        ¼ to 64; a tuple gives the values to choose from, which are equally probable beforehand.
    """

    joint: ClassVar[bool] = True
    learns: ClassVar[str] = "ess"

    ess: float | tuple[float, ...] | Literal["learn"] = 1.0

    def __post_init__(self) -> None:
        words = "a positive number (the equivalent sample size)"
        check_learnable(self, lambda ess: number(ess, "ess", least=LEAST_ESS, most=MOST_ESS, what=words), words)

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        return LEARNED_ESS

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        levels = data.discrete()
        arity = np.array([len(labels) for labels in levels.labels], np.int64)
        if arity.max() > MOST_LEVELS:
            name = data.names[int(arity.argmax())]
            raise DataError(
                f"{name} has {arity.max()} levels, more than the {MOST_LEVELS} of BDeu; leave it out or merge levels"
            )
        masks = [None if rows is None else data.codes_used(rows) for rows in patterns.rows]
        ess = float(self.ess)  # type: ignore[arg-type]
        content = pack(levels.codes, arity, patterns.of_node, masks, ess, data.row_counts())
        return function_table(data.n_nodes, self.function(), content)

    def function(self) -> int:
        return bdeu_score.address()


# ---------------------------------------------------------------------------------------------------------------------
# The content


class Table(NamedTuple):
    """A content, taken apart."""

    ess: float
    arity: Integers
    """Levels of each column (n)."""
    pattern: Integers
    """The group of each node: nodes of one group may use the same rows (n)."""
    weight_row: Integers
    """For each group its row of `weights`, −1 if all weights are 1."""
    first: Integers
    """Row of `bits` for the first level of each column; columns with many levels have none, which is −1 (n)."""
    bits: Words
    """For every level the set of rows that have it (levels × words); no words at all if rows have numbers."""
    used: Words
    """For each group the set of rows that it may use (groups × words)."""
    weights: Integers
    """How often each row counts (int32)."""
    codes: Integers
    """Level codes (n × rows, uint16)."""


def pack(
    codes: Integers,
    arity: Integers,
    pattern: Integers,
    masks: Sequence[NDArray[np.bool_] | None],
    ess: float,
    row_counts: Integers | None = None,
) -> Bytes:
    """Return the content for level codes (columns × rows), numbers of levels, and the rows of each group of nodes.

    With `row_counts`, a row of codes stands for so many rows.
    """
    whole = [np.ones(codes.shape[1], bool) if mask is None else np.asarray(mask, bool) for mask in masks]
    if row_counts is not None and 2 * codes.shape[1] >= row_counts.sum():  # bit sets of single rows count faster
        codes, whole = np.repeat(codes, row_counts, axis=1), [np.repeat(mask, row_counts) for mask in whole]
        row_counts = None
    rows = codes.shape[1]
    members, place = different_rows(codes) if row_counts is None else (np.arange(rows), np.arange(rows))
    if row_counts is not None or SHORTER * len(members) <= rows:
        codes = codes[:, members]
        weights = [np.bincount(place, mask if row_counts is None else mask * row_counts) for mask in whole]
        weight_row = np.arange(len(masks))
        first, bits, used = np.full(len(arity), -1), np.zeros((0, 0), np.uint64), np.zeros((len(masks), 0), np.uint64)
    else:
        weights = [mask for mask in whole if not mask.all()]
        weight_row = np.array([-1 if mask.all() else 0 for mask in whole])
        weight_row[weight_row == 0] = np.arange(len(weights))
        first, bits = level_sets(codes, arity)
        used = np.array([as_bits(mask) for mask in whole])
    return pack_arrays(
        np.array([ess]),
        *(np.asarray(numbers, np.int64) for numbers in (arity, pattern, weight_row, first)),
        bits,
        used,
        np.array(weights, np.int32).reshape(len(weights), codes.shape[1]),
        codes.astype(np.uint16),
    )


def level_sets(codes: Integers, arity: Integers) -> tuple[Integers, Words]:
    """Return the set of rows of every level, and where those of each column begin, −1 for columns with too many."""
    small = arity <= MOST_SET_CELLS
    ends = np.cumsum(np.where(small, arity, 0))
    sets = [as_bits(codes[j] == level) for j in np.flatnonzero(small) for level in range(arity[j])]
    words = len(as_bits(codes[0] == 0))
    return np.where(small, ends - arity, -1), np.array(sets, np.uint64).reshape(len(sets), words)


def as_bits(rows: NDArray[np.bool_]) -> Words:
    """Return a set of rows as words of 64 bits; a multiple of 8 words, which processors take together."""
    return np.packbits(np.pad(rows, (0, -len(rows) % 512)), bitorder="little").view(np.uint64)


@kernel
def unpack(content: Bytes) -> Table:
    """Take a content apart, without copying it."""
    return Table(
        packed(content, 0).view(np.float64)[0],
        packed(content, 1).view(np.int64),
        packed(content, 2).view(np.int64),
        packed(content, 3).view(np.int64),
        packed(content, 4).view(np.int64),
        packed(content, 5).view(np.uint64).reshape(packed_shape(content, 5)),
        packed(content, 6).view(np.uint64).reshape(packed_shape(content, 6)),
        packed(content, 7).view(np.int32).reshape(packed_shape(content, 7)),
        packed(content, 8).view(np.uint16).reshape(packed_shape(content, 8)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# The score


@external
def bdeu_score(node: int, parents: Any, count: int, content: Any) -> float:
    table = unpack(content)
    given = pointed(parents, count)
    family = np.full(count + 1, node)
    combinations, log_combinations = 1.0, 0.0
    for k in range(count):
        family[k] = given[k]
        combinations *= table.arity[given[k]]
        log_combinations += math.log(table.arity[given[k]])
    arity = table.arity[node]
    counts, parent_counts = count_family(table, family, combinations)
    log_whole = math.log(table.ess) - log_combinations
    cells = log_rises(counts, table.ess / combinations / arity, log_whole - math.log(arity))
    return cells - log_rises(parent_counts, table.ess / combinations, log_whole)


@kernel
def count_family(table: Table, family: Integers, combinations: float) -> tuple[Integers, Integers]:
    """Return the counts of the cells of a family and of its parents, its last member being the node.

    Cells without rows may be left out: they add nothing to the score.
    """
    node, rows = family[-1], table.codes.shape[1]
    arity, group = table.arity[node], table.pattern[node]
    if not fits_table(combinations * arity, rows):
        return count_combinations(table, family, weights_of(table, group))
    counts = np.zeros(int64(combinations) * arity, np.int32)
    if table.bits.size > 0 and counts.size <= MOST_SET_CELLS:
        count_sets(table.bits, table.used[group], table.first, table.arity, family, counts)
    else:
        count_rows(table.codes, table.arity, family, weights_of(table, group), counts)
    return counts, sum_neighbours(counts, arity)


@kernel
def count_combinations(table: Table, family: Integers, weights: Integers) -> tuple[Integers, Integers]:
    """Return the same counts when there could be very many cells: only those that occur are numbered."""
    node, rows = family[-1], table.codes.shape[1]
    arity, places = table.arity[node], make_places(rows)
    numbers, found = number_combinations(table.codes, table.arity, family[:-1], places)
    parent_counts = count_numbers(numbers, found, weights)
    append_level(numbers, arity, table.codes[node])
    cells = found * arity
    if not fits_table(float(cells), rows):
        cells = renumber(numbers, float(cells), places)
    return count_numbers(numbers, cells, weights), parent_counts


@kernel
def fits_table(cells: float, rows: int) -> bool:
    return cells <= TABLE_CELLS + TABLE_SHARE * rows


@kernel
def weights_of(table: Table, group: int) -> Integers:
    """Return how often each row counts for a group of nodes; nothing if every row counts once."""
    row = table.weight_row[group]
    return table.weights[row] if row >= 0 else table.weights[0:0].ravel()


@kernel
def log_rises(counts: Integers, pseudo: float, log_pseudo: float) -> float:
    """Return T, the sum of lnΓ(pseudo + count) − lnΓ(pseudo); `pseudo` may be too small for a number of its own.

    When there are many counts, most are small, so the logarithms of the first rising factorials are kept.
    """
    kept = np.empty(min(counts.size // COUNTS_PER_KEPT, MOST_KEPT) + 1)
    kept[0] = 0.0
    for count in range(1, kept.size):
        kept[count] = kept[count - 1] + (math.log(pseudo + (count - 1)) if count > 1 else log_pseudo)
    empty = math.lgamma(1.0 + pseudo) - log_pseudo
    total = 0.0
    for count in counts:
        total += kept[count] if count < kept.size else math.lgamma(pseudo + count) - empty
    return total
