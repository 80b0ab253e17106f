"""One draw of the coefficients and the noise variance of a node given its parents, from their exact posterior.

Every score of the Gaussian family (`kernels.problem`) integrates them out of one conjugate model, so its table has all
that their posterior needs. With M_PP = L Lᵀ the matrix of the parents' columns and s the part of m_jj they leave,

    σ² | D ~ InvGamma(−C[q], ½ ((1 − mix) m_jj + mix · s)),    β | σ², D ~ Normal(mix M_PP⁻¹ M_Pj, mix σ² M_PP⁻¹).

Coefficients of different nodes are independent given the graph (Geiger and Heckerman 2002 for BGe). They are in the
units of the table, and columns are centred.
"""

from __future__ import annotations

import math

from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.local_score import append_row, coefficients_of, sound
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.random import RandomState, gamma, normal
from parnidag.kernels.types import Flags, Floats, Integers, int64

ONE = int64(1)


@entry
def draw_parameters(
    table: ScoreTable, graph: Flags, rng: RandomState, parents: Integers, factor: Floats, drawn: Floats, noise: Floats
) -> None:
    """Draw all parameters of a graph: `drawn`[c, j] is the coefficient of column c in node j, `noise` has variances.

    `parents` and `factor` are scratch: a place for each node, and (most columns of parents + 1) squared.
    """
    drawn[:] = 0.0
    for node in range(graph.shape[1]):
        count = int64(0)
        for i in range(graph.shape[0]):
            if graph[i, node]:
                parents[count] = i
                count += ONE
        noise[node] = draw_node(table, int64(node), parents, count, factor, rng, drawn)


@kernel
def draw_node(
    table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats, rng: RandomState, drawn: Floats
) -> float:
    """Draw the coefficients of one node, into its column of `drawn`; return the variance of its noise."""
    last = factor.shape[1] - 1
    rows, explained = fit_node(table, node, parents, count, factor)
    own = table.own[node]
    shape = -coefficients_of(table, node, rows)[2]
    variance = 0.5 * sound(own - table.mix * explained, own) / gamma(rng, shape)
    spread = math.sqrt(table.mix * variance)
    for row in range(rows):
        factor[row, last] = table.mix * factor[row, last] + spread * normal(rng)
    solve_upwards(table, node, parents, count, factor, rows, drawn)
    return variance


@kernel
def fit_node(table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats) -> tuple[int, float]:
    """Factorise the matrix of the parents, with L⁻¹ M_Pj in the last column; return their columns, and |L⁻¹ M_Pj|²."""
    gram, first = table.gram[table.pattern[node]], table.first_column
    last = factor.shape[1] - 1
    rows, explained = int64(0), 0.0
    for k in range(count):
        for column in range(first[parents[k]], first[parents[k] + 1]):
            append_row(table, gram, parents, k, column, rows, factor)
            value = gram[table.child_column[node], column]
            for earlier in range(rows):
                value -= factor[rows, earlier] * factor[earlier, last]
            factor[rows, last] = value / factor[rows, rows]
            explained += factor[rows, last] ** 2
            rows += ONE
    return rows, explained


@kernel
def mean_node(table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats, means: Floats) -> None:
    """Find the posterior means of the coefficients of one node, in its column of `means`; places as for draws."""
    last = factor.shape[1] - 1
    rows = fit_node(table, node, parents, count, factor)[0]
    for row in range(rows):
        factor[row, last] *= table.mix
    solve_upwards(table, node, parents, count, factor, rows, means)


@kernel
def solve_upwards(
    table: ScoreTable, node: int, parents: Integers, count: int, factor: Floats, rows: int, drawn: Floats
) -> None:
    """Solve Lᵀ β = y, with y in the last column of `factor`, from the last column of parents to the first."""
    first, last, row = table.first_column, factor.shape[1] - 1, rows
    for k in range(count - 1, -1, -1):
        for column in range(first[parents[k] + 1] - 1, first[parents[k]] - 1, -1):
            row -= ONE
            value = factor[row, last]
            for later in range(row + 1, rows):
                value -= factor[later, row] * factor[later, last]
            factor[row, last] = value / factor[row, row]
            drawn[column, node] = factor[row, last]
