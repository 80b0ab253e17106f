"""Exact transition matrix of the exchange of graphs between two rungs, and of a round of both.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_rungs.py free``; the name of one of the BROKEN twins may follow.
Every random decision of the production kernels is enumerated, see `transitions.py`; `test_rungs.py` judges the figures.
A state is a pair of graphs, the first on the posterior, the second where the likelihood has a power.
"""

import json
import math
import sys

import numpy as np
import reference
from transitions import ALL_PRIORS, DECISIONS, G, install, key_of, starting_at
from transitions_partition import judge, outcomes_of

from parnidag.data import Data
from parnidag.samplers.parni import rungs
from parnidag.scores import Gaussian
from parnidag.target import Target

POWER = 0.3


class Case:
    def __init__(self, prior):
        values = reference.small_values(3)
        self.target = Target.build(Data(values), Gaussian(g=G), ALL_PRIORS[prior])
        self.warmer = self.target.with_likelihood_to_the(POWER)
        graphs, posterior, _ = reference.enumerate_posterior(self.target, values, G)
        log_odds = np.where(np.isfinite(self.target.problem.log_odds), self.target.problem.log_odds, 0.0)
        children = [reference.log_weight_of_children(self.target, graph) for graph in graphs]
        self.children = dict(zip(map(bytes, graphs), children, strict=True))
        before = np.array([math.exp(log_odds[g].sum() + more) for g, more in zip(graphs, children, strict=True)])
        hot = np.asarray(posterior) ** POWER * before ** (1.0 - POWER)
        self.laws = [dict(zip(map(bytes, graphs), law / law.sum(), strict=True)) for law in (np.array(posterior), hot)]
        self.at = [
            {bytes(graph): starting_at(target, graph) for graph in graphs} for target in (self.target, self.warmer)
        ]
        self.scores = [
            {bytes(graph): target.log_posterior(graph) for graph in graphs} for target in (self.target, self.warmer)
        ]

    def exchange(self, pair):
        a, b = (at[key]() for at, key in zip(self.at, pair, strict=True))
        rungs.trade(a, b, rungs.Trade(np.zeros((3, 3), np.int32), np.zeros(3, np.int64), np.zeros((2, 3))), 0.0)
        reached = key_of(a), key_of(b)
        stale = max(
            abs(dag.log_posterior - scores[key]) + abs(dag.local.sum() + self.children[key] - scores[key])
            for dag, scores, key in zip((a, b), self.scores, reached, strict=True)
        )
        return reached, stale


def figures(prior):
    case = Case(prior)
    together = {(a, b): p * q for a, p in case.laws[0].items() for b, q in case.laws[1].items()}
    return judge(together, outcomes_of(case.exchange))


def one_sided(a, b, room, gain):
    """Weigh the exchange under the first law alone."""
    gain += rungs.gain_of_graph(a, b, room.scores[0])
    rungs.gain_of_graph(b, a, room.scores[1])
    if not DECISIONS["happens"](None, rungs.acceptance(gain)):
        return False
    parents, degree = a.parents.copy(), a.degree.copy()
    rungs.take_graph(a, b.parents, b.degree, room.scores[0])
    rungs.take_graph(b, parents, degree, room.scores[1])
    return True


BROKEN = {
    "always": {"acceptance": lambda gain: 1.0},
    "wrong way round": {"acceptance": lambda gain: math.exp(min(0.0, -gain))},
    "one law alone": {"trade": one_sided},
}

if __name__ == "__main__":
    install(DECISIONS)
    if len(sys.argv) > 2:
        install(BROKEN[sys.argv[2]], [rungs])
    print(json.dumps(figures(sys.argv[1])))
