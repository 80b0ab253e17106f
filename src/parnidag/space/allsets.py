"""Local scores of all parent sets at once, by walking the tree of subsets.

Going down one level appends one row to a Cholesky factor, O(q²), instead of factorising from scratch.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag._jit import entry, kernel
from parnidag._types import Floats, Integers, int64
from parnidag.memo import make_scratch
from parnidag.net import ONE, ZERO, Problem, Scratch
from parnidag.prior import FORBIDDEN, REQUIRED
from parnidag.scores.gaussian import append_row, score_from_factor
from parnidag.target import Target


def all_local_scores(target: Target) -> Floats:
    """Return the local log target of every node for every parent set, −inf where the prior does not allow it.

    Columns are bit sets over the other nodes: bit b stands for node b below the row's own index, b + 1 from there on.
    """
    n = target.n_nodes
    scores = np.full((n, 2 ** (n - 1)), -math.inf)
    fill_all(target.problem, make_scratch(n, n - 1, 2), np.zeros(n, np.int64), scores)
    return scores


@entry
def fill_all(problem: Problem, scratch: Scratch, branch: Integers, scores: Floats) -> None:
    """Fill the row of each node."""
    for j in range(scores.shape[0]):
        fill_node(problem, scratch, branch, int64(j), scores[j])


@kernel
def fill_node(problem: Problem, scratch: Scratch, branch: Integers, j: int, scores: Floats) -> None:
    """Walk the subsets of the other nodes depth-first; `branch` holds the bits of the present subset, in order."""
    needed = required_bits(problem, j)
    others = int64(problem.status.shape[0]) - ONE
    subset, depth, bit = ZERO, ZERO, ZERO
    if needed == ZERO:
        scores[0] = score_from_factor(problem.table, j, scratch.family, depth, scratch.factor)
    while True:
        if bit < others and depth < problem.max_parents:
            parent = node_of(bit, j)
            if problem.status[parent, j] != FORBIDDEN:
                append_row(problem.table.gram, parent, scratch.family, depth, scratch.factor)
                branch[depth], scratch.family[depth] = bit, parent
                depth += ONE
                subset |= ONE << bit
                if subset & needed == needed:
                    local = score_from_factor(problem.table, j, scratch.family, depth, scratch.factor)
                    scores[subset] = local + log_prior(problem, scratch.family, depth, j)
            bit += ONE
        elif depth == ZERO:
            return
        else:
            depth -= ONE
            bit = branch[depth]
            subset ^= ONE << bit
            bit += ONE


@kernel
def log_prior(problem: Problem, family: Integers, count: int, j: int) -> float:
    """Return the log prior weight of the first `count` parents in `family`."""
    total = 0.0
    for k in range(count):
        total += problem.log_odds[family[k], j]
    return total


@kernel
def node_of(bit: int, j: int) -> int:
    """Return the node that a bit of node j's row stands for."""
    return bit + ONE if bit >= j else bit


@kernel
def required_bits(problem: Problem, j: int) -> int:
    """Return the required parents of j as a bit set."""
    bits = ZERO
    for bit in range(problem.status.shape[0] - 1):
        if problem.status[node_of(bit, j), j] == REQUIRED:
            bits |= ONE << bit
    return bits
