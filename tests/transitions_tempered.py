"""Exact transition matrices of the ladder of walks over partitions, and the law of the graphs drawn from it.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_tempered.py 3 free``; the name of one of the BROKEN twins may
follow. The hot rung stays with another value of g if the prior is called "another g". Every random decision of the
production kernels is enumerated, see `transitions.py`; `test_tempered.py` judges the figures. The ladder has two rungs,
so that its states are pairs of partitions.
"""

import json
import math
import sys

import numpy as np
import reference
from reference_moves import distance
from transitions import DECISIONS, EXPLORER, G, install, key_of, starting_at
from transitions_partition import PRIORS, judge, laws, outcomes_of

from parnidag.data import Data
from parnidag.samplers import tempered
from parnidag.samplers._on_tables import make_graph_draw
from parnidag.scores import Gaussian
from parnidag.tables import ladder as ladders
from parnidag.tables.all_sets import AllSets
from parnidag.target import Target

POWERS = np.array([1.0, 0.35])
HOT_G = 0.3


def heated(law, power):
    weights = {key: chance**power for key, chance in law.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


class Case:
    """One target, and the laws that the rungs of its ladder should have before they are heated."""

    def __init__(self, n, prior):
        values, self.apart = reference.small_values(n), prior == "another g"
        chosen, everything = PRIORS[n]["free" if self.apart else prior], ~np.eye(n, dtype=bool)
        self.target = Target.build(Data(values), Gaussian(g=G), chosen)
        self.graph_law, law = laws(self.target, values, everything, False)
        others = Target.build(Data(values), Gaussian(g=HOT_G), chosen) if self.apart else self.target
        self.sets = [AllSets.of(target).sums for target in (self.target, others)]
        self.laws = [law, laws(others, values, everything, False, HOT_G)[1] if self.apart else law]
        self.fresh = starting_at(self.target, self.target.required)
        self.room = np.zeros(2**n)

    def at(self, levels):
        """A ladder whose rungs stand at the given partitions."""
        ladder = ladders.open_ladder(ladders.make_ladder(np.array(levels[0]), POWERS))
        for rung, level in enumerate(levels):
            ladder.parts[rung] = ladders.make_ladder(np.array(level), POWERS).parts[0]
            ladder.counts[rung] = max(level) + 1
            ladder.values[rung] = ladders.value_of_rung(self.sets[rung], ladder, rung)
        return ladder

    def levels_of(self, ladder):
        n = len(self.sets[0].sums)
        levels = [
            tuple(next(k for k in range(n) if ladder.parts[rung, k] >> j & 1) for j in range(n)) for rung in range(2)
        ]
        for rung, level in enumerate(levels):
            assert max(level) + 1 == ladder.counts[rung]
            assert sum(int(part).bit_count() for part in ladder.parts[rung, : ladder.counts[rung]]) == n
        return tuple(levels)

    def value_error(self, ladder, levels):
        """How far the values that the ladder keeps are from the laws of partitions, up to the constant of each."""
        if any(level not in law for law, level in zip(self.laws, levels, strict=True)):
            return math.inf
        some = next(iter(self.laws[0]))
        values = ladder.values - self.at((some, some)).values
        logs = [math.log(law[level] / law[some]) for law, level in zip(self.laws, levels, strict=True)]
        return float(abs(values - logs).max())

    def relocation(self, rung, level):
        """The rung moves, and the other stands at the same partition."""
        ladder = self.at((level, level))
        ladders.relocate(None, self.sets[rung], ladder, rung, ladder.powers[rung])
        levels = self.levels_of(ladder)
        return levels[rung], self.value_error(ladder, levels)

    def exchange(self, levels):
        ladder = self.at(levels)
        ladders.exchange_rungs(None, *self.sets, ladder, 0, self.apart)
        reached = self.levels_of(ladder)
        return reached, self.value_error(ladder, reached)

    def change(self, level):
        """Draw a graph, try to change an edge, and take over its partition."""
        dag, ladder = self.fresh(), self.at((level, level))
        tempered.draw_graph_of_first(dag, self.sets[0], ladder, make_graph_draw(self.target), self.room)
        tempered.change_edges(dag, self.sets[0], ladder, 1)
        levels = self.levels_of(ladder)
        return levels[0], self.value_error(ladder, levels)

    def draw(self, level):
        dag, ladder = self.fresh(), self.at((level, level))
        tempered.draw_graph_of_first(dag, self.sets[0], ladder, make_graph_draw(self.target), self.room)
        return key_of(dag)


def figures(n, prior):
    case = Case(n, prior)
    laws_of_rungs = [heated(law, power) for law, power in zip(case.laws, POWERS, strict=True)]
    together = {(a, b): p * q for a, p in laws_of_rungs[0].items() for b, q in laws_of_rungs[1].items()}
    drawn = {}
    for level, chance in case.laws[0].items():
        for weight, key in EXPLORER.outcomes(lambda level=level: case.draw(level)):
            drawn[key] = drawn.get(key, 0.0) + chance * weight
    return {
        "cold": judge(laws_of_rungs[0], outcomes_of(case.relocation, 0)),
        "hot": judge(laws_of_rungs[1], outcomes_of(case.relocation, 1)),
        "edges": judge(laws_of_rungs[0], outcomes_of(case.change)),
        "exchange": judge(together, outcomes_of(case.exchange)),
        "partitions": len(case.laws[0]),
        "drawn": distance(drawn, case.graph_law),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Broken twins

PRODUCTION_PLACES = ladders.weigh_places
PRODUCTION_PARTS = ladders.weigh_parts


def parts_that_take_one_in_front_for_one_ahead(sets, ladder, rung, v):
    PRODUCTION_PARTS(sets, ladder, rung, v)
    ladder.in_front[:] = ladder.ahead[: ladder.n]


def places_of_one_alone_forgotten(sets, ladder, rung, v):
    """Alone before the first part is never proposed."""
    PRODUCTION_PLACES(sets, ladder, rung, v)
    ladder.places[0] = -math.inf


PRODUCTION_EXCHANGE = ladders.exchange_rungs


def trade_with_values(ladder):
    ladders.trade(ladder, 0, 1)
    ladder.values[0], ladder.values[1] = ladder.values[1], ladder.values[0]


def exchange_at_any_height(rng, sets, rest, ladder, first, apart):
    trade_with_values(ladder)


def exchange_by_the_wrong_ratio(rng, sets, rest, ladder, first, apart):
    gain = (ladder.powers[0] + ladder.powers[1]) * (ladder.values[1] - ladder.values[0])
    if ladders.happens(rng, math.exp(min(0.0, gain))):
        trade_with_values(ladder)


def exchange_as_if_never_apart(rng, sets, rest, ladder, first, apart):
    PRODUCTION_EXCHANGE(rng, sets, rest, ladder, first, False)


BROKEN = {
    "in front is not ahead": {"weigh_parts": parts_that_take_one_in_front_for_one_ahead},
    "never alone first": {"weigh_places": places_of_one_alone_forgotten},
    "always exchanged": {"exchange_rungs": exchange_at_any_height},
    "wrong ratio": {"exchange_rungs": exchange_by_the_wrong_ratio},
    "never apart": {"exchange_rungs": exchange_as_if_never_apart},
    "edges changed, parts not": {"take_layers": lambda sets, ladder, dag: None},
    "nothing is taken away": {"share_above": lambda log_whole, log_part: 1.0},
}


def main(n, prior, broken=""):
    install(DECISIONS)
    install(BROKEN.get(broken, {}), [ladders, tempered])
    print(json.dumps(figures(int(n), prior)))


if __name__ == "__main__":
    main(*sys.argv[1:])
