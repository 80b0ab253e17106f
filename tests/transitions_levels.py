"""Exact transition matrices of chains that learn values along with the graph, as `transitions.py` has them for others.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_levels.py REV both``; prints figures as JSON, which
`test_learned_transitions.py` judges. The name of one of the BROKEN twins may follow, which must fail.
A state is a graph with the level that the chain stands at; where a sampler walks over orders, the order as well. A step
is an iteration with the draw of the level that follows it, through the functions that production runs.
"""

import copy
import itertools
import json
import math
import sys
from unittest import mock

import numpy as np
import reference
import transitions
import transitions_moves
from transitions import DECISIONS, EXPLORER, deviations, install, total_variation

from parnidag import samplers
from parnidag.data import Data
from parnidag.kernels.declare import named
from parnidag.moves import regroup
from parnidag.priors.edge_prior import EdgePrior
from parnidag.priors.odds import Beta
from parnidag.samplers import base, levels
from parnidag.samplers._on_tables import DrawingSampler
from parnidag.samplers.base import Prepared, Rung, new_chain
from parnidag.samplers.order import RELOCATIONS, SWAPS, value_order
from parnidag.samplers.parni import mixture, rungs
from parnidag.samplers.partition import value_partition
from parnidag.scores import Gaussian
from parnidag.tables.build import build_tables
from parnidag.tables.orders import make_order
from parnidag.target import Target

G = {"both": (0.3, 10.0), "odds": 0.3}
"""The odds alone are learned where there is much to enumerate."""
FEW_ODDS = np.array([0.1, 0.3, 0.6]), np.log([0.3, 0.5, 0.2])
"""Instead of some fifty, so that matrices stay small: values of h, and how probable each is."""
PRIOR = EdgePrior(h=Beta(2.0, 7.0), required=[(0, 1)], forbidden=[(2, 0)])
POWER = 0.4
OMEGA = 0.6
SAMPLERS = {
    "MC3": samplers.MC3(exchange=0.3),
    "ADR": samplers.ADR(exchange=0.3),
    "REV": samplers.REV(probability=0.3),
    "moves": samplers.PARNI(target_evaluations=1, moves=dict.fromkeys(set(mixture.KINDS) - {"parni"}, 1)),
    "PARNI": samplers.PARNI(target_evaluations=1, moves="paper"),
    "printed": samplers.PARNI(target_evaluations=1, moves="paper", kernel="printed"),
    "order": samplers.OrderMCMC(graph_every=1),
    "partition": samplers.PartitionMCMC(graph_every=1),
}


class Case:
    """The joint posterior of graphs and levels, by plain linear algebra, and chains that stand anywhere in it."""

    def __init__(self, sampler, learned, power=1.0):
        values, g = reference.small_values(3), G[learned]
        with mock.patch.object(Beta, "grid", return_value=FEW_ODDS):
            target = Target.build(Data(values), Gaussian(g=g), PRIOR)  # what all graphs weigh together is left out
        self.sampler = sampler
        self.walks, self.orders = (isinstance(sampler, kind) for kind in (DrawingSampler, samplers.OrderMCMC))
        self.target = target if power == 1.0 else target.with_likelihood_to_the(power)
        self.prepared = prepared_for(sampler, target)
        none = np.zeros((3, 3))
        graphs = reference.enumerate_posterior(target, values, 1.0)[0]
        self.law = {}
        for level, graph in itertools.product(range(target.levels.count), graphs):
            own_g = np.ravel(g)[level // len(FEW_ODDS[0])]
            problem = self.target.at(level).problem
            log = power * reference.log_target(values, graph, own_g, none) + problem.log_odds[graph].sum()
            for order in orders_of(graph) if self.orders else [None]:
                self.law[order, graph.tobytes(), level] = log + problem.offset
        most = max(self.law.values())
        total = sum(math.exp(log - most) for log in self.law.values())
        self.law = {state: math.exp(log - most) / total for state, log in self.law.items()}

    def chain_at(self, state):
        order, graph, level = state
        chain = new_chain(self.target, np.frombuffer(graph, bool).reshape(3, 3), 0, 0)
        self.sampler.begin(self.target, self.prepared, chain, 0)
        if order is not None:
            chain.own = chain.own._replace(walk=make_order(np.array(order), SWAPS, RELOCATIONS))
        levels.take_level(self.sampler, self.target, chain, level)
        if self.walks:
            named(chain.graph).now = 1  # at its beginning it would draw a graph first
            value = value_partition if order is None else value_order
            value(chain.tables.arrays, chain.own)
        return chain

    def state_of(self, chain):
        order = tuple(chain.own.walk.order.tolist()) if self.orders else None
        return order, (chain.graph.position != -1).tobytes(), chain.level

    def steps_from(self, state):
        """Yield every outcome of one iteration and the draw of a level."""
        begun = self.chain_at(state)
        if isinstance(self.sampler, samplers.PARNI):
            named(begun.own.parni).omega = OMEGA
            transitions.draw_from(self.blocks(begun))

        def once():
            chain = copy.copy(begun)
            chain.graph = type(begun.graph)(*(array.copy() for array in begun.graph))
            if self.walks:
                chain.own = copy.deepcopy(begun.own)
            assert levels.advance_on_levels(self.sampler, self.target, chain, 1) == 1
            return self.state_of(chain)

        return EXPLORER.outcomes(once)

    def blocks(self, chain):
        """How likely each list of PARNI's blocks is from the chain's graph, whatever the level."""

        def fresh():
            arrays = type(chain.graph)(*(array.copy() for array in chain.graph))
            return transitions.open_dag(chain.parts(self.target).problem, arrays, scratch)

        scratch = chain.scratch(self.target)
        return transitions_moves.known_chances(self.target, fresh, chain.own.parni)


def orders_of(graph):
    """All orders in which parents come first."""
    places = itertools.permutations(range(3))
    return [order for order in places if all(order.index(i) < order.index(j) for i, j in np.argwhere(graph))]


def prepared_for(sampler, target):
    if isinstance(sampler, samplers.PARNI):
        return transitions_moves.prepared_for(sampler, target)
    if isinstance(sampler, samplers.ADR | samplers.MC3):
        return Prepared()
    return Prepared(None, build_tables(target, ~np.eye(3, dtype=bool)))


def figures(sampler, learned):
    case = Case(SAMPLERS[sampler], learned)
    return judged(case.law, case.steps_from)


def judged(law, steps_from):
    index = {state: k for k, state in enumerate(law)}
    matrix = np.zeros((len(law), len(law)))
    for state, k in index.items():
        for weight, reached in steps_from(state):
            if reached in index:
                matrix[k, index[reached]] += weight
    posterior = np.array(list(law.values()))
    return {**deviations(matrix, posterior), "total_variation": float(total_variation(matrix, posterior))}


def exchanges(learned):
    """Two rungs of a ladder, each at a graph and a level of its own, that may exchange both."""
    sampler = samplers.ADR()
    cold, warm = Case(sampler, learned), Case(sampler, learned, POWER)
    law = {(a, b): p * q for a, p in cold.law.items() for b, q in warm.law.items()}
    room = rungs.Trade(np.zeros((3, 3), np.int32), np.zeros(3, np.int64), np.zeros((2, 3)))

    def steps_from(pair):
        def once():
            one, other = (Rung(case.target, case.chain_at(state)) for case, state in zip(cases, pair, strict=True))
            rungs.exchange(sampler, one, other, room)
            return cold.state_of(one.chain), warm.state_of(other.chain)

        return EXPLORER.outcomes(once)

    cases = cold, warm
    return judged(law, steps_from)


def stale_scores(sampler, target, chain, level):
    """Go on with the local scores and the tables of the value before."""
    chain.level = level


def without_the_edges(target, chain):
    """Forget that a graph of many edges speaks for high odds."""
    found = PRODUCTION_LAW(target, chain)
    return found - chain.edge_count * np.tile(target.levels.shifts, len(target.levels.tables))


PRODUCTION_LAW = levels.log_posterior_by_level
BROKEN = {
    "tables lag behind unnoticed": mock.patch.object(Target, "shift_between", return_value=0.0),
    "stale scores": mock.patch.object(levels, "take_level", stale_scores),
    "edges forgotten": mock.patch.object(levels, "log_posterior_by_level", without_the_edges),
    "levels exchanged for nothing": mock.patch.object(
        rungs, "exchange_graphs", lambda a, b, room, gain, own=rungs.exchange_graphs: own(a, b, room, 0.0)
    ),
}


def main(what, learned, twin=""):
    install(DECISIONS)
    regroup.TRIES = 1
    often = mock.patch.multiple(base, STEPS_A_NODE=0, FEWEST_STEPS=1)
    broken = BROKEN[twin] if twin else mock.patch.object(levels, "draw_level", levels.draw_level)
    with often, broken:
        print(json.dumps(exchanges(learned) if what == "exchange" else figures(what, learned)))


if __name__ == "__main__":
    main(*sys.argv[1:])
