"""Filling candidate tables: scores by walking the tree of subsets, then sums over subsets of subsets."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO
from parnidag.kernels.declare import opener, struct_over
from parnidag.kernels.jit import entry, kernel, leaf, make_frame
from parnidag.kernels.local_score import (
    Walk,
    append_parent,
    begin_walk,
    make_walk,
    node_score,
    walk_score,
    walk_score_with,
)
from parnidag.kernels.problem import Problem, ScoreTable
from parnidag.kernels.types import Bytes, Floats, Integers, int64
from parnidag.tables.arrays import DrawArrays, TableArrays, Tables, open_tables, row_of
from parnidag.tables.sums import write_parents

SAFE_LOG, LARGEST_LOG = 600.0, 700.0
"""Log ratios that no sum takes out of range; those whose exponential is a number."""


class FillArrays(NamedTuple):
    frame: Bytes
    walk: Walk
    branch: Integers
    """The bits of the present subset, in order."""
    priors: Floats
    """The log prior weight of the first parents of the branch."""
    family: Integers
    factor: Floats
    """For scores that are not walked: the parents of a set, and scratch."""


@struct_over
class Filling(Problem, FillArrays):  # type: ignore[misc]
    """Scores and prior, and where the walk through the subsets stands."""


open_filling = opener(Filling)


def make_filling(arrays: TableArrays, table: ScoreTable, max_parents: int) -> FillArrays:
    depth = int((arrays.candidate_count + arrays.required_count).max())
    walk = make_walk(len(arrays.candidate_count), depth if table.walks else 0)
    rows = 1 if table.walks else (max_parents + 1) * table.widest + 1
    return FillArrays(
        make_frame(),
        walk,
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1),
        np.zeros(depth + 2, np.int64),
        np.zeros((rows, rows)),
    )


@leaf
def walks(filling: Filling) -> bool:
    """Can sets be scored by walking through them?"""
    return filling.factor.shape[0] == 1


@entry
def fill_scores_of(
    problem: Problem, arrays: TableArrays, draws: DrawArrays, own: FillArrays, first: int, end: int
) -> None:
    tables, filling = open_tables(arrays, draws), open_filling(problem, own)
    for j in range(first, end):
        fill_scores(tables, filling, int64(j))


@entry
def fill_sums_of(arrays: TableArrays, draws: DrawArrays, first: int, end: int) -> None:
    tables = open_tables(arrays, draws)
    for j in range(first, end):
        fill_sums(tables, int64(j))


@kernel
def fill_scores(tables: Tables, filling: Filling, j: int) -> None:
    """Walk the subsets of j's candidates depth-first, below its required parents."""
    if walks(filling):
        begin_walk(filling.table, j, filling.walk)
    depth = ZERO
    for k in range(tables.required_count[j]):
        depth = descend(filling, j, int64(tables.required[j, k]), depth, ZERO)
    least, subset, bit = depth, ZERO, ZERO
    fill_row(tables, filling, j, subset, depth)
    while True:
        if bit == tables.candidate_count[j] - ONE and nothing_follows(tables, filling, j):
            fill_last(tables, filling, j, subset, depth)
            bit += ONE
        elif bit < tables.candidate_count[j]:
            filling.branch[depth - least] = bit
            subset |= ONE << bit
            parent = int64(tables.candidates[j, bit])
            depth = descend(filling, j, parent, depth, ZERO if tables.extra_count[j] else parent + ONE)
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
def descend(filling: Filling, j: int, parent: int, depth: int, later: int) -> int:
    """Append a parent to the branch, below which nodes from `later` on may follow, and return the new depth.

    Sets that are too large are not factorised.
    """
    if depth < filling.max_parents and walks(filling):
        append_parent(filling.table, j, parent, depth, filling.walk, later)
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
        if walks(filling):
            scores[start] = prior + walk_score(filling.table, j, depth, filling.walk)
        else:
            scores[start] = prior + score_set(tables, filling, j, subset, ZERO)
    for e in range(ONE, width):
        scores[start + e] = -math.inf
        if depth < filling.max_parents:
            extra = int64(tables.extras[j, e - ONE])
            if walks(filling):
                local = walk_score_with(filling.table, j, extra, depth, filling.walk)
            else:
                local = score_set(tables, filling, j, subset, int64(e))
            scores[start + e] = prior + filling.log_odds[extra, j] + local


@kernel
def nothing_follows(tables: Tables, filling: Filling, j: int) -> bool:
    return tables.extra_count[j] == 0 and walks(filling)


@kernel
def fill_last(tables: Tables, filling: Filling, j: int, subset: int, depth: int) -> None:
    """Score one subset with the last candidate added, below which there is nothing: half of all subsets are such."""
    bit = tables.candidate_count[j] - ONE
    start, parent = row_of(tables, j, subset | ONE << bit), int64(tables.candidates[j, bit])
    tables.scores[start] = -math.inf
    if depth < filling.max_parents:
        prior = filling.priors[depth] + filling.log_odds[parent, j]
        tables.scores[start] = prior + walk_score_with(filling.table, j, parent, depth, filling.walk)


@kernel
def score_set(tables: Tables, filling: Filling, j: int, subset: int, column: int) -> float:
    count = write_parents(tables, j, subset, column, filling.family)
    return node_score(filling.table, j, filling.family, count, filling.factor)


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
    top, low = max(a, b), min(a, b)
    return top + math.log1p(math.exp(low - top)) if low > -math.inf else top
