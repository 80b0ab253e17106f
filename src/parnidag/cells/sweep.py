"""One sweep over the latent cells of a Gaussian table, given a graph: compiled.

The law is that of BGe: Z given the graph with coefficients, variances and means integrated out. A sweep draws

    1. of every column c, given the columns that it depends on, σ²_c and β_c (`kernels.parameters`), and its intercept,
       Normal((Σ_r z_rc − Σ_i β_ic Σ_r z_ri) / (N + α_μ), σ²_c / (N + α_μ)): the prior mean counts as α_μ rows of zeros;
    2. the scale of every column of yes or no, with its parameters (`cells.rescale`);
    3. every latent cell from its law given these and all other cells: normal, with the precision
       1/σ²_c + Σ_d β²_cd/σ²_d over the columns d that depend on c, cut off where the cell has bounds.

All leave the joint law of parameters and cells as it is, and so the law of the cells given the graph. Columns of a
node of classes depend on those of its parents and on those before them: by the chain rule that is the law of the block.
An empty cell of such a node is one of its classes, with probability in proportion to the density at its vector.

Residuals are kept up to date, so that a cell costs as many operations as its column has columns depending on it.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag.cells.arrays import CellArrays, CellLayout
from parnidag.cells.rescale import CellPrior, rescale_columns
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.parameters import draw_node, mean_node
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.random import RandomState, choose, normal
from parnidag.kernels.truncated import normal_between
from parnidag.kernels.types import Codes, Floats, Integers, int64

ONE = int64(1)


@entry
def sweep(
    layout: CellLayout,
    own: CellArrays,
    table: ScoreTable,
    prior: CellPrior,
    parents: Integers,
    degree: Integers,
    rng: RandomState,
) -> None:
    """Draw parameters of every column, then every latent cell; `table` has a node for each column of the layout."""
    list_members(layout, own, parents, degree)
    for c in range(own.totals.size):
        draw_column(own, table, prior.alpha_mu, int64(c), rng)
        find_residuals(own, int64(c))
    rescale_columns(layout, own, prior, rng)
    for c in range(own.totals.size):
        draw_numbers(layout, own, int64(c), rng)
    for j in range(layout.first_empty.size - 1):
        if layout.first_empty[j + 1] > layout.first_empty[j]:
            draw_classes(layout, own, int64(j), rng)


@kernel
def list_members(layout: CellLayout, own: CellArrays, parents: Integers, degree: Integers) -> None:
    """Write down which columns each column depends on, and the other way round."""
    first = layout.first_column
    own.child_count[:] = 0
    for j in range(degree.size):
        for c in range(first[j], first[j + 1]):
            count = int64(0)
            for k in range(degree[j] + 1):
                begin = first[parents[j, k]] if k < degree[j] else first[j]
                end = first[parents[j, k] + 1] if k < degree[j] else c
                for member in range(begin, end):
                    own.members[c, count] = member
                    own.children[member, own.child_count[member]] = c
                    own.child_count[member] += ONE
                    count += ONE
            own.member_count[c] = count


@kernel
def draw_column(own: CellArrays, table: ScoreTable, alpha_mu: float, c: int, rng: RandomState) -> None:
    """Draw coefficients, variance and intercept of a column."""
    members, count = own.members[c], own.member_count[c]
    variance = draw_node(table, c, members, count, own.factor, rng, own.drawn)
    rest = own.totals[c]
    for k in range(count):
        rest -= own.drawn[members[k], c] * own.totals[members[k]]
    worth = own.table.shape[1] + alpha_mu
    own.noise[c] = variance
    own.intercepts[c] = rest / worth + math.sqrt(variance / worth) * normal(rng)


@kernel
def find_residuals(own: CellArrays, c: int) -> None:
    left, column = own.residuals[c], own.table[c]
    for r in range(left.size):
        left[r] = column[r] - own.intercepts[c]
    for k in range(own.member_count[c]):
        member = own.members[c, k]
        coefficient, other = own.drawn[member, c], own.table[member]
        for r in range(left.size):
            left[r] -= coefficient * other[r]


@kernel
def draw_numbers(layout: CellLayout, own: CellArrays, c: int, rng: RandomState) -> None:
    """Draw the latent numbers of a column."""
    precision = 1.0 / own.noise[c]
    for k in range(own.child_count[c]):
        child = own.children[c, k]
        precision += own.drawn[c, child] ** 2 / own.noise[child]
    spread = 1.0 / math.sqrt(precision)
    for cell in range(layout.first_cell[c], layout.first_cell[c + 1]):
        row = layout.rows[cell]
        before = own.table[c, row]
        pull = -own.residuals[c, row] / own.noise[c]
        for k in range(own.child_count[c]):
            child = own.children[c, k]
            pull += own.drawn[c, child] * own.residuals[child, row] / own.noise[child]
        mean = before + pull / precision
        bound = layout.bound[cell]
        if bound == 0:
            after = mean + spread * normal(rng)
        else:
            after = between(rng, mean, spread, layout.low[bound], layout.high[bound])
        own.latent[cell] = after
        put(own, c, row, after - before)
        own.table[c, row] = after


@kernel
def between(rng: RandomState, mean: float, spread: float, low: float, high: float) -> float:
    """Return a normal number between bounds."""
    found = mean + spread * normal_between(rng, (low - mean) / spread, (high - mean) / spread)
    return min(max(found, low), high)


@kernel
def put(own: CellArrays, c: int, row: int, change: float) -> None:
    """Let the residuals follow a change of one cell."""
    own.residuals[c, row] += change
    for k in range(own.child_count[c]):
        child = own.children[c, k]
        own.residuals[child, row] -= own.drawn[c, child] * change


@kernel
def draw_classes(layout: CellLayout, own: CellArrays, j: int, rng: RandomState) -> None:
    """Draw the classes in the empty cells of a node."""
    first, end = layout.first_column[j], layout.first_column[j + 1]
    vectors = layout.vectors[layout.first_vector[j] : layout.first_vector[j + 1]]
    for cell in range(layout.first_empty[j], layout.first_empty[j + 1]):
        row, before = layout.empty_rows[cell], own.classes[cell]
        least = math.inf
        for level in range(len(vectors)):
            own.weights[level] = distance(own, vectors, before, level, first, end, row)
            least = min(least, own.weights[level])
        for level in range(len(vectors)):
            own.weights[level] = math.exp(-0.5 * (own.weights[level] - least))
        after = choose(rng, own.weights, int64(len(vectors)))
        own.classes[cell] = after
        for c in range(first, end):
            put(own, int64(c), row, vectors[after, c - first] - vectors[before, c - first])
            own.table[c, row] = vectors[after, c - first]


@kernel
def distance(own: CellArrays, vectors: Floats, before: int, after: int, first: int, end: int, row: int) -> float:
    """Return the squared residuals, in units of their variances, that depend on a cell of classes, were it another."""
    total = 0.0
    for c in range(first, end):
        total += squared(own, vectors, before, after, first, end, int64(c), row)
    for k in range(own.child_count[first]):
        child = own.children[first, k]
        if child < first or child >= end:
            total += squared(own, vectors, before, after, first, end, child, row)
    return total


@kernel
def squared(own: CellArrays, vectors: Floats, before: int, after: int, first: int, end: int, c: int, row: int) -> float:
    """Return the squared residual of a column of the block, or of one that depends on it, under another class."""
    left = own.residuals[c, row]
    for other in range(first, end):
        change = vectors[after, other - first] - vectors[before, other - first]
        if other == c:
            left += change
        elif c < first or c >= end or other < c:
            left -= own.drawn[other, c] * change
    found: float = left * left / own.noise[c]
    return found


@entry
def describe_world(own: CellArrays, table: ScoreTable, alpha_mu: float, codes: Codes, numbers: Floats) -> None:
    """Write down the graph and the parameters that the last sweep drew, and what parameters are on average.

    Numbers are the coefficients of all edges between columns, as drawn and their posterior means given the graph and
    the table as it is now; then of every column the intercept, its posterior mean, and the variance of the noise.
    """
    columns, edges, place = own.totals.size, codes.size, int64(0)
    means = np.zeros((columns, columns))
    worth = own.table.shape[1] + alpha_mu
    for c in range(columns):
        members, count = own.members[c], own.member_count[c]
        mean_node(table, int64(c), members, int64(count), own.factor, means)
        rest = own.totals[c]
        for k in range(count):
            member = members[k]
            codes[place] = member * columns + c
            numbers[place], numbers[edges + place] = own.drawn[member, c], means[member, c]
            rest -= means[member, c] * own.totals[member]
            place += ONE
        numbers[2 * edges + c] = own.intercepts[c]
        numbers[2 * edges + columns + c] = rest / worth
        numbers[2 * edges + 2 * columns + c] = own.noise[c]
