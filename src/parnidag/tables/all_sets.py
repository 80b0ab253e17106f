"""The weights of all parent sets of few nodes, summed over subsets, for exact sums and for walks over partitions.

Sets of nodes are bitmasks. Row j of a table holds the parent sets of node j: the column of a set is its bitmask with
bit j taken out, the bits above j moving down by one. Numbers are logs; −inf marks a set that the prior does not allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parnidag._util.cores import side_by_side, worth_threads
from parnidag.errors import ParnidagError
from parnidag.kernels.jit import entry, kernel, leaf
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import RandomState, choose
from parnidag.kernels.types import Floats, Integers, int64
from parnidag.tables.arrays import TableArrays, draw_arrays
from parnidag.tables.build import build_tables, fill_tables
from parnidag.tables.fill import log_add
from parnidag.target import Target

UNIT = 2.0**937
LOG_UNIT, LEAST_LOG, SAFE_LOG = math.log(UNIT), -1300.0, -700.0
"""Weights whose logs are at least the second can be added up as multiples of 1/UNIT, without going out of range; those
above the third are numbers by themselves, and go through the unit, a power of two, without rounding."""
MOST_KEPT = 2.5e9
"""Bytes of the sums at levels that chains return to."""
Int = int | np.int64
NodeSet = int | np.int64
"""A set of nodes as a bitmask."""


class SetSums(NamedTuple):
    """What the parent sets of every node weigh, alone and together (each n × 2ⁿ⁻¹)."""

    largest: Floats
    """The log weight of each node's best set, of which all others are a share."""
    weights: Floats
    low_sums: Floats
    """The weights summed over the subsets of the lower half of the bits: half-way to `sums`, for draws of parents."""
    sums: Floats
    """Log α_j(U) at [j, column of U]: the weights of all parent sets within U together."""


@dataclass(frozen=True, eq=False, repr=False)
class AllSets:
    """The sums of a target, which another machine makes again rather than have them sent."""

    target: Target
    sums: SetSums

    @staticmethod
    def of(target: Target) -> AllSets:
        if "set_sums" not in target.__dict__:
            scores = all_local_scores(target)
            target.check_score()
            target.__dict__["set_sums"] = set_sums(scores)
        return AllSets(target, target.__dict__["set_sums"])

    def at(self, target: Target, level: int) -> AllSets:
        """Return the sums at another level of what is learned along with the graph; the last few are kept."""
        if level == self.target.level:
            return self
        known: dict[int, AllSets] = target.__dict__.setdefault("known_sets", {})
        found = known.pop(level, None)
        if found is None:
            there = target.at(level)
            found = AllSets.of(there)
            there.__dict__.pop("set_sums", None)
        known[level] = found
        size = sum(array.nbytes for array in found.sums)
        for old in list(known)[: -max(int(MOST_KEPT // size), 1)]:
            known.pop(old, None)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return AllSets.of, (self.target,)


def set_sums(log_weights: Floats) -> SetSums:
    """Sum log weights (n × 2ⁿ⁻¹), which become shares of the largest, over subsets of parent sets.

    Refused if some node has no possible parents, or a weight is no number.
    """
    largest = log_weights.max(axis=1)
    if np.isnan(largest).any() or (largest == np.inf).any():
        raise ParnidagError("log_weights must hold finite numbers or −inf, got NaN or +inf.")
    if (largest == -np.inf).any():
        raise no_graph_allowed()
    weights = log_weights
    weights -= largest[:, None]
    low_sums, sums = np.empty_like(weights), np.empty_like(weights)
    if worth_threads(weights.size):
        side_by_side(lambda j: _sum_subsets(weights, low_sums, sums, j, j + 1), len(weights))
    else:
        _sum_subsets(weights, low_sums, sums, 0, len(weights))
    return SetSums(largest, weights, low_sums, sums)


def no_graph_allowed() -> ParnidagError:
    return ParnidagError(
        "no graph is possible: by the score and the prior every DAG has weight 0",
        remedy="relax the required edges, the forbidden edges or max_parents",
    )


def all_local_scores(target: Target) -> Floats:
    """Return the local log target of every node for every parent set.

    A chain that asks again, since its cells have changed, has them written over those it got before.
    """
    n = target.n_nodes
    tables: TableArrays | None = target.__dict__.get("all_tables")
    if tables is None:
        every = target.problem.status == FREE
        tables = build_tables(target, every, plus_one=False, sums=False, memory=math.inf).arrays
        if target.redrawn:
            target.__dict__["all_tables"] = tables
    else:
        fill_tables(target, tables, draw_arrays(tables))
    if tables.scores.size == n * 2 ** (n - 1):
        return tables.scores.reshape(n, -1)
    scores = np.full((n, 2 ** (n - 1)), -math.inf)
    for j in range(n):
        required = tables.required[j, : tables.required_count[j]]
        columns = np.array([_bits(required, j).sum()])
        for bit in _bits(tables.candidates[j, : tables.candidate_count[j]], j):
            columns = np.append(columns, columns | bit)
        scores[j, columns] = tables.scores[tables.first_entry[j] : tables.first_entry[j + 1]]
    return scores


def _bits(parents: Integers, j: int) -> Integers:
    return np.left_shift(1, parents - (parents > j), dtype=np.int64)


@leaf
def column_of(nodes: NodeSet, j: Int) -> Int:
    """Bitmask with bit j taken out: where the parent set `nodes` of j stands in its row."""
    return (nodes & ((np.int64(1) << j) - 1)) | ((nodes >> (j + 1)) << j)


@kernel
def low_bits(n: Int) -> Int:
    """How many of the n − 1 bits of a column the first half of the subset sums runs over."""
    return np.int64((n - 1) // 2)


@entry
def _sum_subsets(weights: Floats, low_sums: Floats, sums: Floats, first: Int, end: Int) -> None:
    """Row j, column U: the log of the summed weights of all parent sets within U; and the same half-way."""
    n = np.int64(weights.shape[0])
    for j in range(first, end):
        row, in_logs = sums[j], _smallest(weights[j]) < LEAST_LOG
        for subset in range(row.size):
            row[subset] = weights[j, subset] if in_logs else _in_units(weights[j, subset])
        _add_subsets(row, in_logs, np.int64(0), low_bits(n))
        _take_logs(row, in_logs, low_sums[j])
        _add_subsets(row, in_logs, low_bits(n), n - 1)
        _take_logs(row, in_logs, row)


@kernel
def _smallest(logs: Floats) -> float:
    """The smallest that is not −∞."""
    least = 0.0
    for log in logs:
        if log > -math.inf:
            least = min(least, log)
    return least


@kernel
def _add_subsets(row: Floats, in_logs: bool, first: Int, end: Int) -> None:
    for bit in range(first, end):
        element = np.int64(1) << bit
        for block in range(0, row.size, 2 * element):
            for subset in range(block, block + element):
                if in_logs:
                    row[subset + element] = log_add(row[subset + element], row[subset])
                else:
                    row[subset + element] += row[subset]


@kernel
def _take_logs(row: Floats, in_logs: bool, logs: Floats) -> None:
    for subset in range(row.size):
        logs[subset] = row[subset] if in_logs else _log_of_units(row[subset])


@kernel
def _in_units(log: float) -> float:
    return math.exp(log) * UNIT if log > SAFE_LOG else math.exp(log + LOG_UNIT)


@kernel
def _log_of_units(number: float) -> float:
    if number > 1.0:
        return math.log(number / UNIT)
    return math.log(number) - LOG_UNIT if number > 0.0 else -math.inf


@kernel
def draw_parents(rng: RandomState, sets: SetSums, j: Int, state: tuple[NodeSet, NodeSet], weights: Floats) -> NodeSet:
    """Draw parents of j within a set U that are not all in its subset W, as a bitmask; no parents if U is empty.

    First the upper half of the bits, by the sums over the lower half, then the lower half: 2ⁿᐟ² weights each.
    """
    closed, below = state
    if closed == 0:
        return np.int64(0)
    within, forbidden = column_of(closed, j), column_of(below, j)
    lower = (np.int64(1) << low_bits(np.int64(sets.sums.shape[0]))) - 1
    log_all = sets.sums[j, within]
    upper: NodeSet = np.int64(0)
    count: int = int64(0)
    while True:
        weights[count] = math.exp(sets.low_sums[j, upper | (within & lower)] - log_all)
        if upper & ~forbidden == 0:
            weights[count] -= math.exp(sets.low_sums[j, upper | (forbidden & lower)] - log_all)
            weights[count] = max(0.0, weights[count])
        count += 1
        upper = (upper - (within & ~lower)) & within & ~lower
        if upper == 0:
            break
    upper = nth_subset(choose(rng, weights, count), within & ~lower)
    subset, count = np.int64(0), int64(0)
    while True:
        permitted = (upper | subset) & ~forbidden != 0
        weights[count] = math.exp(sets.weights[j, upper | subset] - log_all) if permitted else 0.0
        count += 1
        subset = (subset - (within & lower)) & within & lower
        if subset == 0:
            break
    column = upper | nth_subset(choose(rng, weights, count), within & lower)
    return (column & ((np.int64(1) << j) - 1)) | ((column >> j) << (j + 1))


@kernel
def nth_subset(t: Int, nodes: NodeSet) -> NodeSet:
    """Spread the bits of t over the bits of `nodes`: its t-th subset in increasing order."""
    subset, remaining, element = np.int64(0), np.int64(t), np.int64(1)
    while element <= nodes:
        if nodes & element:
            if remaining & 1:
                subset |= element
            remaining >>= 1
        element <<= 1
    return subset
