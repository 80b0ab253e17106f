"""The score of one node given its parents when relations are linear and noise is Gaussian.

All Gaussian scores share one shape. With M the Gram matrix plus what the prior adds, P the parents of node j, L the
Cholesky factor of M_PP and s the part of M_jj that the parents leave unexplained (the Schur complement),

    score = A[q] + B[q] · log det M_PP + C[q] · log((1 − mix) · m_jj + mix · s),   q = |P|.

A score is therefore a `GaussianTable`: M, the m_jj, and three rows of coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag._jit import kernel
from parnidag._types import Floats, Integers, is_number
from parnidag.data import Data
from parnidag.errors import ParnidagError

LEAST_G, MOST_G = 1e-8, 1e12
"""Slab variances between which the arithmetic is sound."""


class GaussianTable(NamedTuple):
    """What a Gaussian score leaves of the data: all that kernels need, independent of the number of rows."""

    gram: Floats
    """M, the matrix that is factorised (n × n)."""
    own: Floats
    """m_jj as it enters the residual of node j (n)."""
    coefficients: Floats
    """A, B and C for 0 … n − 1 parents (3 × n)."""
    mix: float
    """Weight of the explained part."""


@dataclass(frozen=True)
class Gaussian:
    """The paper's score: spike-and-slab linear regression of each node on its parents (Appendix A).

    Coefficients have the prior Normal(0, g σ²), noise variances p(σ²) ∝ 1/σ²; both are integrated out. The columns are
    centred and divided by their standard deviation first. Every constant of the marginal likelihood is included.
    This score is not score-equivalent: graphs that imply the same independences can score differently.

    Parameters
    ----------
    g
        Prior variance of a coefficient relative to the noise variance; 10 in the paper.

    Examples
    --------
    >>> from parnidag import scores
    >>> scores.Gaussian(g=10)
    Gaussian(g=10)
    """

    g: float = 10.0

    def __post_init__(self) -> None:
        if not is_number(self.g) or not LEAST_G <= self.g <= MOST_G:
            raise ParnidagError(
                f"g must be a positive number (the slab variance), from {LEAST_G:g} to {MOST_G:g}, got {self.g!r}"
            )

    def table(self, data: Data) -> GaussianTable:
        """Reduce the data to the matrices and coefficients of this score."""
        gram = data.standardised_gram()
        n_rows, n_nodes = data.n_rows, data.n_nodes
        parents = np.arange(n_nodes)
        constant = math.lgamma(n_rows / 2) - n_rows / 2 * math.log(math.pi)
        coefficients = np.empty((3, n_nodes))
        coefficients[0] = constant - parents / 2 * math.log(float(self.g))
        coefficients[1] = -0.5
        coefficients[2] = -n_rows / 2
        shifted = gram + np.eye(n_nodes) / float(self.g)
        return GaussianTable(shifted, np.ascontiguousarray(np.diag(gram)), coefficients, 1.0)

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        return {"name": "Gaussian", "g": float(self.g)}


@kernel
def gaussian_score(table: GaussianTable, node: int, parents: Integers, count: int, factor: Floats) -> float:
    """Score `node` given its first `count` `parents`; `factor` is scratch of at least (count + 1) × (count + 1)."""
    for row in range(count):
        append_row(table.gram, parents[row], parents, row, factor)
    return score_from_factor(table, node, parents, count, factor)


@kernel
def append_row(gram: Floats, new: int, parents: Integers, row: int, factor: Floats) -> None:
    """Append row `row` to the Cholesky factor of the first `row` parents, for the node `new`."""
    residual = gram[new, new]
    for column in range(row):
        value = gram[new, parents[column]]
        for k in range(column):
            value -= factor[row, k] * factor[column, k]
        value /= factor[column, column]
        factor[row, column] = value
        residual -= value * value
    factor[row, row] = math.sqrt(sound(residual, gram[new, new]))


@kernel
def score_from_factor(table: GaussianTable, node: int, parents: Integers, count: int, factor: Floats) -> float:
    """Score `node` given parents whose Cholesky factor stands in the first `count` rows of `factor`."""
    own = table.own[node]
    explained = 0.0
    log_determinant = 0.0
    for column in range(count):
        value = table.gram[node, parents[column]]
        for k in range(column):
            value -= factor[count, k] * factor[column, k]
        value /= factor[column, column]
        factor[count, column] = value
        explained += value * value
        log_determinant += math.log(factor[column, column])
    residual = sound(own - table.mix * explained, own)
    a, b, c = table.coefficients[0, count], table.coefficients[1, count], table.coefficients[2, count]
    return a + b * 2.0 * log_determinant + c * math.log(residual)


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
    """Return working memory for branches of at most `depth` parents."""
    shape = (depth + 1, n_nodes)
    return Walk(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((depth + 1, 2)))


@kernel
def begin_walk(table: GaussianTable, node: int, walk: Walk) -> None:
    """Stand at the empty parent set of `node`."""
    for l in range(table.own.size):
        walk.left[0, l] = table.gram[l, l]
        walk.shared[0, l] = table.gram[node, l]
    walk.sums[0, 0] = 0.0
    walk.sums[0, 1] = 0.0


@kernel
def append_parent(table: GaussianTable, node: int, parent: int, depth: int, walk: Walk) -> None:
    """Append `parent` to the first `depth` parents of the branch, O(depth · n) for all next parents together."""
    row, left, shared = walk.solved[depth], walk.left, walk.shared
    for l in range(row.size):
        row[l] = table.gram[parent, l]
    for k in range(depth):
        above = walk.solved[k]
        factor = above[parent]
        for l in range(row.size):
            row[l] -= factor * above[l]
    pivot = math.sqrt(sound(left[depth, parent], table.gram[parent, parent]))
    for l in range(row.size):
        row[l] /= pivot
    own = row[node]
    for l in range(row.size):
        left[depth + 1, l] = left[depth, l] - row[l] * row[l]
        shared[depth + 1, l] = shared[depth, l] - own * row[l]
    walk.sums[depth + 1, 0] = walk.sums[depth, 0] + 2.0 * math.log(pivot)
    walk.sums[depth + 1, 1] = walk.sums[depth, 1] + own * own


@kernel
def walk_score(table: GaussianTable, node: int, depth: int, walk: Walk) -> float:
    """Score `node` given the first `depth` parents of the branch."""
    own = table.own[node]
    residual = sound(own - table.mix * walk.sums[depth, 1], own)
    a, b, c = table.coefficients[0, depth], table.coefficients[1, depth], table.coefficients[2, depth]
    return a + b * walk.sums[depth, 0] + c * math.log(residual)


@kernel
def walk_score_with(table: GaussianTable, node: int, extra: int, depth: int, walk: Walk) -> float:
    """Score `node` given the first `depth` parents of the branch and one more."""
    own = table.own[node]
    pivot = sound(walk.left[depth, extra], table.gram[extra, extra])
    shared = walk.shared[depth, extra]
    residual = sound(own - table.mix * (walk.sums[depth, 1] + shared * shared / pivot), own)
    q = depth + 1
    a, b, c = table.coefficients[0, q], table.coefficients[1, q], table.coefficients[2, q]
    return a + b * (walk.sums[depth, 0] + math.log(pivot)) + c * math.log(residual)


@kernel
def sound(left: float, whole: float) -> float:
    """Return what is left of a variance; rounding may push that of a nearly collinear set to zero or below."""
    return max(left, 1e-15 * whole)
