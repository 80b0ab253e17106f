"""The score of one node given its parents when relations are linear and noise is Gaussian: the shared kernel.

What the members of the family leave of the data is a `ScoreTable`; `scores.gaussian` and
`scores.spline` make it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.by_address import NO_FUNCTION, call_score
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.problem import UNSCORED, ScoreTable
from parnidag.kernels.types import Floats, Integers, int64

ONE = int64(1)
LEAST_PRODUCT, MOST_PRODUCT = 1e-100, 1e100
"""A product of pivots beyond these is put into the logarithm, before it leaves the range of numbers."""


@kernel
def node_score(table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats) -> float:
    """Score `node` given its first `count` `parents`, sorted; `factor` is scratch of (their columns + 1) squared."""
    if is_of_columns(table):
        return score_of_columns(table, node, parents, count, factor)
    return score_of_others(table, node, parents, count, factor)


@kernel
def score_of_others(table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats) -> float:
    """Score `node` where the score is a function, or some nodes are several columns."""
    if table.function != NO_FUNCTION:
        if table.pattern[node] == UNSCORED:
            return 0.0
        return table.scale * call_score(table.function, node, parents, count, table.content)
    gram = table.gram[table.pattern[node]]
    first = table.first_column
    own, child = table.own[node], table.child_column[node]
    rows = int64(0)
    explained = 0.0
    log_determinant = 0.0
    for k in range(count):
        for column in range(first[parents[k]], first[parents[k] + 1]):
            append_row(table, gram, parents, k, column, rows, factor)
            value = gram[child, column]
            for earlier in range(rows):
                value -= factor[rows, earlier] * factor[earlier, factor.shape[1] - 1]
            value /= factor[rows, rows]
            factor[rows, factor.shape[1] - 1] = value
            explained += value * value
            log_determinant += math.log(factor[rows, rows])
            rows += ONE
    residual = sound(own - table.mix * explained, own)
    a, b, c = coefficients_of(table, node, rows)
    score = a + b * 2.0 * log_determinant + c * math.log(residual)
    if table.child_width[node] > ONE:
        score += further_columns(table, node, parents, count, rows, 2.0 * log_determinant, factor)
    return score


@leaf
def is_of_columns(table: ScoreTable) -> bool:
    """Is every node one column of a Gaussian score?"""
    return table.function == NO_FUNCTION and table.gram.shape[1] == table.own.size


@leaf
def score_of_columns(table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats) -> float:
    """Score `node` where every node is one column.

    This is most of what chains on such tables do. So M_PP = L D Lᵀ takes the place of the Cholesky factor: it needs no
    roots, one division for each parent, and one logarithm for the product of all pivots.
    """
    pattern = table.pattern[node]
    gram, own, last = table.gram[pattern], table.own[node], factor.shape[1] - 1
    explained, pivots, log_determinant = 0.0, 1.0, 0.0
    for k in range(count):
        row, mine = gram[parents[k]], factor[k]
        for other in range(k):
            value, above = row[parents[other]], factor[other]
            for earlier in range(other):
                value -= mine[earlier] * above[earlier]
            mine[other] = value
        left, shared = row[parents[k]], row[node]
        for other in range(k):
            value = mine[other]
            mine[other] = value * factor[other, other]
            left -= value * mine[other]
            shared -= mine[other] * factor[other, last]
        left = sound(left, row[parents[k]])
        mine[k] = 1.0 / left
        mine[last] = shared
        explained += shared * shared * mine[k]
        pivots *= left
        if not LEAST_PRODUCT < pivots < MOST_PRODUCT:
            log_determinant += math.log(pivots)
            pivots = 1.0
    if count > 0:
        log_determinant += math.log(pivots)
    residual = sound(own - table.mix * explained, own)
    a, b, c = coefficients_of(table, node, count)
    return a + b * log_determinant + c * math.log(residual)


@kernel
def further_columns(
    table: ScoreTable, node: int, parents: Integers, count: int, rows: int, log_determinant: float, factor: Floats
) -> float:
    """Score the second and all later columns of a child, each given the parents' columns and the child's before it.

    By the chain rule that is the score of all columns together, whatever their order.
    """
    gram, first = table.gram[table.pattern[node]], table.child_column[node]
    score = 0.0
    for k in range(table.child_width[node]):
        residual = append_own_column(table, gram, parents, count, rows, first, k, factor)
        if k > 0:
            a, b, c = coefficients_of(table, node, rows + k)
            score += a + b * log_determinant + c * math.log(residual)
        log_determinant += math.log(residual)
    return score


@kernel
def append_own_column(
    table: ScoreTable, gram: Floats, parents: Integers, count: int, rows: int, first: int, k: int, factor: Floats
) -> float:
    """Append the k-th column of a child to the Cholesky factor of its parents' columns and its own; return its pivot.

    The pivot is what those leave of the column.
    """
    row, residual, column = rows + k, gram[first + k, first + k], int64(0)
    for member in range(count + 1):
        begin = first if member == count else table.first_column[parents[member]]
        end = first + k if member == count else table.first_column[parents[member] + 1]
        for other in range(begin, end):
            value = gram[first + k, other]
            for earlier in range(column):
                value -= factor[row, earlier] * factor[column, earlier]
            value /= factor[column, column]
            factor[row, column] = value
            residual -= value * value
            column += ONE
    residual = sound(residual, gram[first + k, first + k])
    factor[row, row] = math.sqrt(residual)
    return residual


@kernel
def append_row(
    table: ScoreTable, gram: Floats, parents: Integers, last: int, new: int, row: int, factor: Floats
) -> None:
    """Append row `row` to the Cholesky factor of the columns before `new`, the last of which may be its node's own."""
    first = table.first_column
    residual = gram[new, new]
    column = int64(0)
    for k in range(last + 1):
        for other in range(first[parents[k]], first[parents[k] + 1]):
            if other == new:
                break
            value = gram[new, other]
            for earlier in range(column):
                value -= factor[row, earlier] * factor[column, earlier]
            value /= factor[column, column]
            factor[row, column] = value
            residual -= value * value
            column += ONE
    factor[row, row] = math.sqrt(sound(residual, gram[new, new]))


@kernel
def coefficients_of(table: ScoreTable, node: int, columns: int) -> tuple[float, float, float]:
    """Return A, B and C of a node for so many columns of parents."""
    row = table.coefficients[table.pattern[node]]
    return row[0, columns], row[1, columns], row[2, columns]


class Walk(NamedTuple):
    """Factors along one branch of a tree of parent sets, for every node that might be the next parent.

    Row d belongs to the first d parents of the branch. With it, scoring one more parent takes a few operations.
    """

    solved: Floats
    """The rows of L⁻¹ M, for all nodes (depth × n)."""
    left: Floats
    """What the parents leave of each M_ll (depth + 1 × n)."""
    shared: Floats
    """What they leave of each M_jl, for the child j (depth + 1 × n)."""
    sums: Floats
    """log det M_PP and the explained part of M_jj (depth + 1 × 2)."""


def make_walk(n_nodes: int, depth: int) -> Walk:
    shape = (depth + 1, n_nodes)
    return Walk(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((depth + 1, 2)))


@kernel
def begin_walk(table: ScoreTable, node: int, walk: Walk) -> None:
    """Stand at the empty parent set of `node`."""
    gram = table.gram[table.pattern[node]]
    for l in range(table.own.size):
        walk.left[0, l] = gram[l, l]
        walk.shared[0, l] = gram[node, l]
    walk.sums[0, 0] = 0.0
    walk.sums[0, 1] = 0.0


@kernel
def append_parent(table: ScoreTable, node: int, parent: int, depth: int, walk: Walk, later: int) -> None:
    """Append `parent` to the first `depth` parents of the branch, for all next parents together.

    These are the nodes from `later` on: half of all subsets hold the last candidate, and need nothing but the child.
    """
    gram = table.gram[table.pattern[node]]
    row, left, shared = walk.solved[depth], walk.left, walk.shared
    own = gram[parent, node]
    for k in range(depth):
        own -= walk.solved[k, parent] * walk.solved[k, node]
    for l in range(later, row.size):
        row[l] = gram[parent, l]
    for k in range(depth):
        above = walk.solved[k]
        factor = above[parent]
        for l in range(later, row.size):
            row[l] -= factor * above[l]
    square = sound(left[depth, parent], gram[parent, parent])
    pivot = math.sqrt(square)
    own /= pivot
    for l in range(later, row.size):
        row[l] /= pivot
        left[depth + 1, l] = left[depth, l] - row[l] * row[l]
        shared[depth + 1, l] = shared[depth, l] - own * row[l]
    row[node] = own
    walk.sums[depth + 1, 0] = walk.sums[depth, 0] + math.log(square)
    walk.sums[depth + 1, 1] = walk.sums[depth, 1] + own * own


@kernel
def walk_score(table: ScoreTable, node: int, depth: int, walk: Walk) -> float:
    own = table.own[node]
    residual = sound(own - table.mix * walk.sums[depth, 1], own)
    a, b, c = coefficients_of(table, node, depth)
    return a + b * walk.sums[depth, 0] + c * math.log(residual)


@kernel
def walk_score_with(table: ScoreTable, node: int, extra: int, depth: int, walk: Walk) -> float:
    """Score `node` given the first `depth` parents of the branch and one more."""
    own = table.own[node]
    gram = table.gram[table.pattern[node]]
    pivot = sound(walk.left[depth, extra], gram[extra, extra])
    shared = walk.shared[depth, extra]
    residual = sound(own - table.mix * (walk.sums[depth, 1] + shared * shared / pivot), own)
    a, b, c = coefficients_of(table, node, depth + 1)
    return a + b * (walk.sums[depth, 0] + math.log(pivot)) + c * math.log(residual)


@kernel
def sound(left: float, whole: float) -> float:
    """Return what is left of a variance; rounding may push that of a nearly collinear set to zero or below."""
    return max(left, 1e-15 * whole)
