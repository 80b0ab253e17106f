"""The exact posterior where values are learned along with the graph: a sum over all graphs for each of the values.

Every level (see `target.Levels`) has an evidence, the sum over all graphs; levels are weighed by it and by what they
had beforehand, and edge probabilities averaged. Evidence falls off quickly around the best values, so the sum begins at
one level and goes on to the neighbours of those that matter: what is more than a factor of `NEGLIGIBLE` below the best,
and everything behind it, is left out. Values that a user listed need not be close, so it begins at each of them. Where
a sum takes long, sums over all orders, which are quick and nearly as telling, say which levels matter, and these are
added up side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag._util.cores import side_by_side
from parnidag.exact_solver.draws import BoolArray, draw_graphs
from parnidag.exact_solver.folded import folded_sums, unfolded_draws, unfolded_probabilities
from parnidag.exact_solver.size import bytes_of_sums
from parnidag.exact_solver.sums import Completions, Solution, add_up, bounded
from parnidag.kernels.types import Floats
from parnidag.tables.all_sets import AllSets, SetSums
from parnidag.target import Target

NEGLIGIBLE, NEGLIGIBLE_BY_ORDERS = 1e-6, 1e-5
"""Where sums over orders decide, they were within a factor of 10 of the sums over graphs: 10⁻⁴ in the worst case."""
MANY_NODES = 15
"""From so many nodes on a sum over all graphs takes long."""
MOST_AT_ONCE = 2e9
"""Bytes of the tables of levels that are added up side by side."""
Place = tuple[int, int]
"""A value of the score's field and one of the odds, by number."""


def sums_of_sets(target: Target) -> SetSums:
    """Return the sums of all parent sets; of scored nodes alone where others are parents only."""
    if target.parents_only is None:
        return AllSets.of(target).sums
    if "folded_sums" not in target.__dict__:
        target.__dict__["folded_sums"] = folded_sums(target)
    found: SetSums = target.__dict__["folded_sums"]
    return found


class Bound(NamedTuple):
    """What the sum over all graphs of one level is made from."""

    sets: SetSums
    completions: Completions

    @staticmethod
    def of(target: Target) -> Bound:
        sets = sums_of_sets(target)
        if target.levels is not None:  # nobody else will ask for these
            target.__dict__.pop("set_sums", None)
            target.__dict__.pop("folded_sums", None)
        return Bound(sets, bounded(sets))

    @property
    def log_sum_over_orders(self) -> float:
        """Log of the sum over all orders of what the graphs weigh that agree with each."""
        return float(self.completions.log_after[0] + self.sets.largest.sum())


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
    """Of the levels that are not negligible, over scored nodes."""
    target: Target

    def draw(self, draws: int, seed: int | None) -> BoolArray:
        """Draw graphs exactly and independently."""
        if len(self.solutions) == 1:
            return self._draw_at(next(iter(self.solutions)), draws, seed)
        rng = np.random.default_rng(seed)
        known = np.array(list(self.solutions))
        weights = self.level_probabilities[known]
        levels = rng.choice(known, draws, p=weights / weights.sum())
        graphs = np.zeros((draws, *self.edge_probabilities.shape), np.bool_)
        for level in np.unique(levels):
            places = np.flatnonzero(levels == level)
            graphs[places] = self._draw_at(level, places.size, int(rng.integers(2**63)))
        return graphs

    def _draw_at(self, level: int, draws: int, seed: int | None) -> BoolArray:
        graphs = draw_graphs(self.solutions[level], draws, seed)
        if self.target.parents_only is None:
            return graphs
        return unfolded_draws(self.target.at(level), self.solutions[level], graphs, seed)


def add_up_levels(
    target: Target, may_add_up: Callable[[Completions, int], bool] | None = None, known: Bound | None = None
) -> Answer | None:
    """Add up all graphs at every level that matters; None if one of them `may` not be, of so many in all if known.

    The bound of the target's own level may be known.
    """
    shape = (1, 1) if target.levels is None else target.levels.offsets.shape
    own = divmod(target.level, shape[1])
    solutions: dict[Place, Solution] = {}
    bounds: dict[Place, Bound] = {} if known is None else {own: known}

    def at(place: Place) -> Target:
        return target.at(place[0] * shape[1] + place[1])

    def evidence(place: Place, count: int = 1) -> float | None:
        bound = bounds.pop(place, None) or Bound.of(at(place))
        if may_add_up is not None and not may_add_up(bound.completions, count):
            return None
        solutions[place] = add_up(bound.sets, bound.completions, target.parents_only is not None)
        return solutions[place].log_total + at(place).problem.offset

    def over_orders(place: Place) -> float:
        bounds[place] = bounds.get(place) or Bound.of(at(place))
        log = bounds[place].log_sum_over_orders + at(place).problem.offset
        if len(bounds) > at_once:  # that of the least promising is made again if need be
            bounds.pop(min(bounds, key=lambda known: bounds[known].log_sum_over_orders + at(known).problem.offset))
        return log

    begin: list[Place] = [own]
    if getattr(target.score, "is_listed", False):
        begin = [(k, own[1]) for k in range(shape[0])]
    at_once = int(MOST_AT_ONCE // bytes_of_sums(target.scored.size))
    if target.scored.size >= MANY_NODES and target.levels is not None:
        wanted = _mattering(_explored(over_orders, begin, shape) or {}, NEGLIGIBLE_BY_ORDERS)
        found = side_by_side(lambda k: evidence(wanted[k], len(wanted)), len(wanted), at_once)
        logs = {place: log for place, log in zip(wanted, found, strict=True) if log is not None}
        if len(logs) < len(wanted):
            return None
    else:
        explored = _explored(evidence, begin, shape)
        if explored is None:
            return None
        logs = explored
    places = _mattering(logs)
    best = max(logs.values())
    weights = np.exp([logs[place] - best for place in places])
    shares = weights / weights.sum()
    by_level = np.zeros(shape)
    for place, share in zip(places, shares, strict=True):
        by_level[place] = share
    return Answer(
        log_total=best + math.log(weights.sum()),
        edge_probabilities=np.minimum(
            sum(share * _edges(at(place), solutions[place]) for place, share in zip(places, shares, strict=True)), 1.0
        ),
        cancellation=max(solutions[place].cancellation for place in places),
        level_probabilities=by_level.ravel(),
        solutions={place[0] * shape[1] + place[1]: solutions[place] for place in places},
        target=target,
    )


def _edges(target: Target, solution: Solution) -> Floats:
    return solution.edge_probabilities if target.parents_only is None else unfolded_probabilities(target, solution)


def _explored(
    log_of: Callable[[Place], float | None], begin: Sequence[Place], shape: Sequence[int]
) -> dict[Place, float] | None:
    """Return a figure for each place from which one goes on: it matters, and so would one that falls off as it does.

    The best place first, in the direction that rises, and with every value to begin with up to the best of its odds;
    None as soon as there is none for a place.
    """
    logs: dict[Place, float] = {}
    wanted = list(begin)
    while wanted:
        for place in wanted:
            found = log_of(place)
            if found is None:
                return None
            logs[place] = found
        least = max(logs.values()) + math.log(NEGLIGIBLE)
        tops = {max((log, place) for place, log in logs.items() if place[0] == k)[1] for k, _ in begin}
        promising = []
        for place, own in logs.items():
            for near in _neighbours(place, shape):
                behind = (2 * place[0] - near[0], 2 * place[1] - near[1])
                expected = 2.0 * own - logs[behind] if behind in logs else own
                climbs = place in tops and near[0] == place[0]
                if near not in logs and (expected >= least or climbs):
                    promising.append((own, expected, near))
        wanted = [max(promising)[2]] if promising else []
    return logs


def _mattering(logs: dict[Place, float], negligible: float = NEGLIGIBLE) -> list[Place]:
    return [place for place, log in logs.items() if log >= max(logs.values()) + math.log(negligible)]


def _neighbours(place: Place, shape: Sequence[int]) -> list[Place]:
    near = [(place[0] + k, place[1] + l) for k, l in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return [(k, l) for k, l in near if 0 <= k < shape[0] and 0 <= l < shape[1]]
