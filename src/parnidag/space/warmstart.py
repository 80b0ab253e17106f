"""The warm start of Appendix C: a first guess π̃ of every edge's posterior probability, made before sampling.

Without the acyclicity constraint the nodes separate, and the probability u_ij that i is a parent of j is a sum over
parent sets of j. The sum runs over all subsets of a few candidates, and over each of them with one more parent from
outside (h₊, Appendix C). Then the two directions of each pair are made exclusive (equation 12).
"""

from __future__ import annotations

import math

import numpy as np

from parnidag._jit import entry, kernel
from parnidag._types import Codes, Floats, Integers
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency
from parnidag.memo import make_scratch
from parnidag.net import ONE, ZERO, Problem, Scratch
from parnidag.prior import FREE, REQUIRED
from parnidag.scores.gaussian import append_row, score_from_factor
from parnidag.target import Target

MOST_CANDIDATES = 12
FEWEST_CANDIDATES = 5
SCORES_BUDGET = 3e6
"""Local scores the warm start may compute before candidates get fewer; about 0.3 s."""
SCORES_BYTES = 5e8
"""Memory that the parent sets of one node may take."""
NOT_A_NODE = np.int32(-1)


def warm_start(target: Target, kappa: float, skeleton: Adjacency | None = None) -> Floats:
    """Return π̃ (n × n): inside (0, 1) at free positions, zero elsewhere.

    The candidates hʲ of a node are its neighbours in the skeleton, or without one the nodes most correlated with it.
    """
    n, problem = target.n_nodes, target.problem
    if skeleton is None:
        candidates = marginal_candidates(problem, candidate_count(n))
    else:
        candidates = skeleton_candidates(target, skeleton)
    scratch = make_scratch(n, n - 1, 2)
    scores = np.empty((2 ** candidates.shape[1], n + 1))
    unconstrained = np.zeros((n, n))
    unconstrained_probabilities(problem, scratch, candidates, scores, unconstrained)
    return exclusive_directions(unconstrained, problem.status == FREE, kappa)


def candidate_count(n_nodes: int) -> int:
    """Return how many candidate parents a node gets: all when there are few nodes, fewer the more nodes there are.

    Examples
    --------
    >>> [candidate_count(n) for n in (2, 11, 100, 1000)]
    [1, 10, 8, 5]
    """
    affordable = int(math.log2(SCORES_BUDGET / n_nodes**2))
    return min(n_nodes - 1, max(FEWEST_CANDIDATES, min(MOST_CANDIDATES, affordable)))


def marginal_candidates(problem: Problem, count: int) -> Codes:
    """Return for each node the free parents most correlated with it, in increasing order, padded with −1."""
    gram = problem.table.gram
    scale = np.sqrt(np.diag(gram))
    association = np.where(problem.status == FREE, np.abs(gram / np.outer(scale, scale)), -1.0)
    strongest = np.argsort(-association, axis=0, kind="stable")[:count]
    usable = np.take_along_axis(association, strongest, axis=0) >= 0.0
    padded = np.where(usable, strongest, problem.status.shape[0])
    ordered = np.sort(padded, axis=0).T
    return np.where(ordered == problem.status.shape[0], NOT_A_NODE, ordered).astype(np.int32)


def skeleton_candidates(target: Target, skeleton: Adjacency) -> Codes:
    """Return for each node its free neighbours in the skeleton, in increasing order, padded with −1.

    Refuses a skeleton whose parent sets would not fit in memory, before allocating anything.
    """
    n = target.n_nodes
    usable = skeleton & (target.problem.status == FREE)
    most = int(usable.sum(axis=0).max())
    needed = 2.0**most * (n + 1) * 8
    if needed > SCORES_BYTES:
        crowded = target.names[int(usable.sum(axis=0).argmax())]
        raise ParnidagError(
            f"space: {crowded} has {most} candidate parents, whose parent sets would take {needed / 1e9:,.1f} GB; "
            "use a sparser skeleton (a smaller alpha)"
        )
    candidates = np.full((n, most), NOT_A_NODE)
    for j in range(n):
        chosen = np.flatnonzero(usable[:, j])
        candidates[j, : chosen.size] = chosen
    return candidates


def exclusive_directions(unconstrained: Floats, free: np.ndarray, kappa: float) -> Floats:
    """Equation 12 in its stable form u_ij (1 − u_ji)/(1 − u_ij u_ji), with u shrunk into (κ, 1 − κ) first."""
    u = np.where(free, kappa + (1.0 - 2.0 * kappa) * unconstrained, 0.0)
    return np.asarray(u * (1.0 - u.T) / (1.0 - u * u.T))


@entry
def unconstrained_probabilities(
    problem: Problem, scratch: Scratch, candidates: Codes, scores: Floats, probabilities: Floats
) -> None:
    """Fill `probabilities` with u_ij, the chance of i among the parents of j under h₊ without acyclicity."""
    for j in range(candidates.shape[0]):
        count = ZERO
        while count < candidates.shape[1] and candidates[j, count] != NOT_A_NODE:
            count += ONE
        chosen, rows = candidates[j, :count], scores[: ONE << count]
        fixed = write_required(problem, scratch.family, j)
        score_extended_sets(problem, scratch, j, fixed, chosen, rows)
        sum_over_sets(chosen, rows, probabilities[:, j])


@kernel
def write_required(problem: Problem, family: Integers, j: int) -> int:
    """Write the required parents of j to the front of `family` and return their number."""
    count = ZERO
    for i in range(problem.status.shape[0]):
        if problem.status[i, j] == REQUIRED:
            family[count] = i
            count += ONE
    return count


@kernel
def score_extended_sets(
    problem: Problem, scratch: Scratch, j: int, fixed: int, candidates: Codes, scores: Floats
) -> None:
    """Score node j for every subset of its candidates: alone (last column) and with each outside parent."""
    n = problem.status.shape[0]
    family, factor = scratch.family, scratch.factor
    scores[:] = -math.inf
    for subset in range(scores.shape[0]):
        count = append_subset(family, fixed, candidates, subset)
        if count > problem.max_parents:
            continue
        prior = 0.0
        for k in range(count):
            append_row(problem.table.gram, family[k], family, k, factor)
            prior += problem.log_odds[family[k], j]
        scores[subset, n] = prior + score_from_factor(problem.table, j, family, count, factor)
        if count == problem.max_parents:
            continue
        for extra in range(n):
            if problem.status[extra, j] != FREE or contains(candidates, extra):
                continue
            family[count] = extra
            append_row(problem.table.gram, extra, family, count, factor)
            local = score_from_factor(problem.table, j, family, count + ONE, factor)
            scores[subset, extra] = prior + problem.log_odds[extra, j] + local


@kernel
def append_subset(family: Integers, fixed: int, candidates: Codes, subset: int) -> int:
    """Write the candidates in the bit set `subset` behind the fixed parents and return how many parents that makes."""
    count = fixed
    for k in range(candidates.size):
        if subset >> k & 1:
            family[count] = candidates[k]
            count += ONE
    return count


@kernel
def contains(candidates: Codes, node: int) -> bool:
    """Is the node among the candidates?"""
    found = False
    for k in range(candidates.size):
        found |= candidates[k] == node
    return found


@kernel
def sum_over_sets(candidates: Codes, scores: Floats, probabilities: Floats) -> None:
    """Add up the normalised weights of the parent sets that hold each node."""
    top = scores.max()
    total = 0.0
    for subset in range(scores.shape[0]):
        row_total = 0.0
        for extra in range(scores.shape[1]):
            weight = math.exp(scores[subset, extra] - top)
            row_total += weight
            if extra < probabilities.size:
                probabilities[extra] += weight
        total += row_total
        for k in range(candidates.size):
            if subset >> k & 1:
                probabilities[candidates[k]] += row_total
    for i in range(probabilities.size):
        probabilities[i] /= total
