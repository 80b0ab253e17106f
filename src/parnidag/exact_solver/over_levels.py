"""The exact posterior where values are learned along with the graph: a sum over all graphs for each of the values.

Every level (see `target.Levels`) has an evidence, the sum over all graphs; levels are weighed by it and by what they
had beforehand, and edge probabilities averaged. Evidence falls off quickly around the best values, so the sum begins at
one level and goes on to the neighbours of those that matter: what is more than a factor of `NEGLIGIBLE` below the best,
and everything behind it, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parnidag.exact_solver.draws import BoolArray, draw_graphs
from parnidag.exact_solver.sums import Solution, add_up, bounded
from parnidag.kernels.types import Floats, Integers
from parnidag.tables.all_sets import AllSets
from parnidag.target import Target

NEGLIGIBLE = 1e-6
Place = tuple[int, int]
"""A value of the score's field and one of the odds, by number."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What the sums over all graphs give together."""

    log_total: float
    """Log evidence."""
    edge_probabilities: Floats
    cancellation: float
    level_probabilities: Floats
    """Of every level; a single 1 if nothing is learned."""
    solutions: dict[int, Solution]
    """Of the levels that are not negligible."""

    def draw(self, draws: int, seed: int | None) -> tuple[BoolArray, Integers]:
        """Draw graphs exactly and independently, each with the level that it was drawn at."""
        if len(self.solutions) == 1:
            level, only = next(iter(self.solutions.items()))
            return draw_graphs(only, draws, seed), np.full(draws, level)
        rng = np.random.default_rng(seed)
        known = np.array(list(self.solutions))
        weights = self.level_probabilities[known]
        levels = rng.choice(known, draws, p=weights / weights.sum())
        graphs = np.zeros((draws, *self.edge_probabilities.shape), np.bool_)
        for level in np.unique(levels):
            places = np.flatnonzero(levels == level)
            graphs[places] = draw_graphs(self.solutions[level], places.size, int(rng.integers(2**63)))
        return graphs, levels


def add_up_levels(target: Target, solve_at: Callable[[Target], Solution | None] | None = None) -> Answer | None:
    """Add up all graphs at every level that matters; None as soon as `solve_at` gives none for one of them."""
    shape = (1, 1) if target.levels is None else target.levels.offsets.shape
    solutions: dict[Place, Solution] = {}
    logs: dict[Place, float] = {}
    wanted = [(target.level // shape[1], target.level % shape[1])]
    while wanted:
        for place in wanted:
            at = target.at(place[0] * shape[1] + place[1])
            solution = (solve_target if solve_at is None else solve_at)(at)
            if solution is None:
                return None
            solutions[place], logs[place] = solution, solution.log_total + at.problem.offset
        matter = [place for place in logs if logs[place] >= max(logs.values()) + math.log(NEGLIGIBLE)]
        solutions = {place: solutions[place] for place in matter}
        unknown = {place: [near for near in _neighbours(place, shape) if near not in logs] for place in matter}
        wanted = max(unknown.items(), key=lambda one: (bool(one[1]), logs[one[0]]))[1]
    places = list(solutions)
    weights = np.exp([logs[place] - max(logs.values()) for place in places])
    shares = weights / weights.sum()
    by_level = np.zeros(shape)
    for place, share in zip(places, shares, strict=True):
        by_level[place] = share
    return Answer(
        log_total=max(logs.values()) + math.log(weights.sum()),
        edge_probabilities=np.sum(
            [share * solutions[place].edge_probabilities for place, share in zip(places, shares, strict=True)], axis=0
        ),
        cancellation=max(solution.cancellation for solution in solutions.values()),
        level_probabilities=by_level.ravel(),
        solutions={place[0] * shape[1] + place[1]: solutions[place] for place in places},
    )


def solve_target(target: Target) -> Solution:
    """Add up all graphs at one level."""
    sets = AllSets.of(target).sums
    if target.levels is not None:  # nobody else will ask for these
        target.__dict__.pop("set_sums", None)
    return add_up(sets, bounded(sets))


def _neighbours(place: Place, shape: tuple[int, ...]) -> list[Place]:
    near = [(place[0] + k, place[1] + l) for k, l in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return [(k, l) for k, l in near if 0 <= k < shape[0] and 0 <= l < shape[1]]
