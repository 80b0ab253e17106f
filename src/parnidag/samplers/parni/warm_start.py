"""The warm start of Appendix C: a first guess π̃ of every edge's posterior probability, made before sampling.

Without the acyclicity constraint the nodes separate, and the probability u_ij that i is a parent of j is a sum over
parent sets of j. The sum runs over all subsets of its candidates, and over each of them with one more parent from
outside (h₊, Appendix C). Then the two directions of each pair are made exclusive (equation 12).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parnidag.kernels.dag import ONE
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.problem import FREE, Problem
from parnidag.kernels.types import Floats, int64
from parnidag.tables.arrays import DrawArrays, TableArrays, Tables, draw_arrays, open_tables
from parnidag.tables.build import DEFAULT_MEMORY, one_node_tables
from parnidag.tables.fill import FillArrays, fill_scores, make_filling, open_filling
from parnidag.target import Target


def warm_start(target: Target, kappa: float, considered: NDArray[np.bool_], memory: float = DEFAULT_MEMORY) -> Floats:
    """Return π̃ (n × n): inside (0, 1) at free positions, zero elsewhere; `considered` are the candidates hʲ."""
    n = target.n_nodes
    arrays = one_node_tables(target, considered, memory)
    unconstrained = np.zeros((n, n))
    filling = make_filling(arrays, target.problem.table, target.max_parents)
    unconstrained_probabilities(target.problem, arrays, draw_arrays(arrays), filling, unconstrained)
    return exclusive_directions(unconstrained, target.problem.status == FREE, kappa)


def exclusive_directions(unconstrained: Floats, free: NDArray[np.bool_], kappa: float) -> Floats:
    """Equation 12 in its stable form u_ij (1 − u_ji)/(1 − u_ij u_ji), with u shrunk into (κ, 1 − κ) first."""
    u = np.where(free, kappa + (1.0 - 2.0 * kappa) * unconstrained, 0.0)
    return np.asarray(u * (1.0 - u.T) / (1.0 - u * u.T))


@entry
def unconstrained_probabilities(
    problem: Problem, arrays: TableArrays, draws: DrawArrays, own: FillArrays, probabilities: Floats
) -> None:
    """Fill `probabilities` with u_ij, the chance of i among the parents of j under h₊ without acyclicity."""
    tables, filling = open_tables(arrays, draws), open_filling(problem, own)
    for k in range(arrays.candidate_count.size):
        j = int64(k)
        fill_scores(tables, filling, j)
        sum_over_sets(tables, j, probabilities)


@kernel
def sum_over_sets(tables: Tables, j: int, probabilities: Floats) -> None:
    """Add up the normalised weights of j's parent sets that hold each node."""
    width, rows = ONE + tables.extra_count[j], ONE << tables.candidate_count[j]
    start, top = tables.first_entry[j], -math.inf
    for place in range(start, start + rows * width):
        top = max(top, tables.scores[place])
    total = 0.0
    for subset in range(rows):
        row_total = 0.0
        for column in range(width):
            weight = math.exp(tables.scores[start + subset * width + column] - top)
            row_total += weight
            if column > 0:
                probabilities[tables.extras[j, column - ONE], j] += weight
        total += row_total
        for k in range(tables.candidate_count[j]):
            if subset >> k & ONE:
                probabilities[tables.candidates[j, k], j] += row_total
    for i in range(probabilities.shape[0]):
        probabilities[i, j] /= total
