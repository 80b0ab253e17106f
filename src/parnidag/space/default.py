"""The search space that is used when the user gives none, and where search spaces begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.data.table import Data
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.problem import FREE
from parnidag.space.expansion import candidate_limit, expand, strongest
from parnidag.space.pc import FisherTests, pc, thinned
from parnidag.space.search_space import SearchSpace
from parnidag.target import Target

FEW_NODES = 12
"""Up to this many nodes every parent is considered."""
MOST_SETTLING, SETTLING_STREAM = 3, 999
"""Searches for the level to begin at, and the number of their random stream."""
ALPHA, MAX_CONDITIONING = 0.05, 3
"""Of the PC skeleton. Larger conditioning sets take very long around hubs, and expansion mends what they would find."""


def default_skeleton(data: Data, target: Target) -> SearchSpace:
    """Return all parents when there are few nodes, else the neighbours by PC, the strongest where there are many."""
    free = np.asarray(target.problem.status == FREE)
    if target.n_nodes <= FEW_NODES:
        return SearchSpace(target.names, free)
    near = neighbours(data, target, ALPHA, MAX_CONDITIONING) & free
    return SearchSpace(target.names, strongest(target, near, None, candidate_limit(target)))


def grown(target: Target, space: SearchSpace, seed: int) -> SearchSpace:
    """Return the space after iterative expansion; as it is when it already holds every free edge."""
    if space.considered.sum() == (target.problem.status == FREE).sum():
        return space
    return expand(target, space.considered, seed=seed)


def settled(target: Target, considered: NDArray[np.bool_], seed: int) -> Target:
    """Return the target at the level at which a good graph is likeliest, if there are values to be learned.

    Searches and tables are made for one level, and a graph found at another is a poor start.
    """
    if target.levels is None:
        return target
    for _ in range(MOST_SETTLING):
        found = expand(target, considered, seed=seed, stream=SETTLING_STREAM).best
        assert found is not None
        levels = range(target.levels.count)
        best = max(levels, key=lambda level: target.at(level).log_posterior(found))
        if best == target.level:
            break
        target = target.beginning_at(best)
    return target


def at_likeliest(target: Target, data: Data) -> tuple[Target, dict[str, float]]:
    """Return the target with the values that suit the best graph found in place of learned ones, and these values."""
    if target.levels is None:
        return target, {}
    target = settled(target, default_skeleton(data, target).considered, 0)
    lists: dict[str, list[float]] = dict(target.settings["learned"])  # type: ignore[call-overload]
    places = np.unravel_index(target.level, [len(values) for values in lists.values()])
    return target, {name: values[place] for (name, values), place in zip(lists.items(), places, strict=True)}


def pc_fits(data: Data, target: Target) -> bool:
    """Do the tests of PC suit data and score?"""
    whole = data.gaps is None and not data.has_interventions
    return whole and (target.problem.table.walks or data.kind == "discrete")


def neighbours(data: Data, target: Target, alpha: float, max_conditioning: int | None) -> NDArray[np.bool_]:
    """Return a symmetric matrix of pairs: the PC skeleton where its tests suit data and score.

    They test linear relations or tables of counts, in rows that nobody interfered with. Otherwise two nodes are near
    when one of them explains the other better than nothing does. Parents that explain a node only together are near
    each other and the node, whatever tests of pairs say.
    """
    if target.cells is not None and target.problem.table.function == NO_FUNCTION:
        return near_in_completed(data, target, alpha, max_conditioning)
    helps = target.gains > 0.0
    near = np.asarray(helps | helps.T)
    if not pc_fits(data, target):
        return near
    skeleton = pc(data, alpha=alpha, max_conditioning=max_conditioning).adjacency
    return skeleton | near if target.largest_joint > 1 else skeleton


def near_in_completed(data: Data, target: Target, alpha: float, max_conditioning: int | None) -> NDArray[np.bool_]:
    """Return the pairs of nodes that PC leaves in a completed table: those with a pair of columns that it leaves."""
    table = target.problem.table
    root = np.sqrt(np.diagonal(table.gram[0]))
    tests = FisherTests(data.n_rows, table.gram[0] / root[:, None] / root, alpha)
    near = thinned(tests, len(root), max_conditioning)[0]
    begins = table.first_column[:-1]
    between_nodes = np.logical_or.reduceat(np.logical_or.reduceat(near, begins, axis=0), begins, axis=1)
    np.fill_diagonal(between_nodes, False)
    return between_nodes
