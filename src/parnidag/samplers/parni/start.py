"""The initialiser: a good graph for every chain to start at, found by searches of its own.

1. Each chain grows the search space from random orders of its own: order-Gibbs search, iterative expansion, and closing
   (`space.expansion`).
2. The candidates of all chains are closed together, and each chain searches again from random orders.
3. From the best graph found, it runs the mixture of moves for a short while, which reaches what no search space holds,
   and then climbs greedily.
4. Every second chain is then sent away: it walks where the likelihood is almost flat, and cools slowly to a place of
   its own. All searches may end in one mode; chains that were driven out of it show whether there are others.

Chains use different random numbers throughout, so that their agreement means something; what they share is the skeleton
and, from step 2 on, what to consider. The candidates of all of them together become the search space of the run. The
work is bounded by the number of nodes, not by a clock, so that a seed gives the same start on any machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from parnidag._util.cores import side_by_side
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import ABSENT
from parnidag.kernels.declare import named
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import random_state
from parnidag.kernels.types import Floats
from parnidag.samplers.base import Chain, new_chain
from parnidag.samplers.parni.adaptation import make_parni
from parnidag.samplers.parni.mixture import advance_chain, make_mixture
from parnidag.scores.custom import OwnScore
from parnidag.space.expansion import (
    STREAMS,
    candidate_limit,
    closed,
    closed_sets,
    expand,
    most_closed,
    restarted,
    strongest,
)
from parnidag.space.search import SEARCH_KEY, best_inside
from parnidag.space.search_space import SearchSpace
from parnidag.tables.build import CandidateTables, build_tables
from parnidag.target import Target

MIXED_STEPS_A_NODE, FEWEST_MIXED_STEPS = 80, 5_000
GREEDY_STEPS_A_NODE = 50
"""Iterations of about ten tries each."""
MAYBE_DENSE, MANY_NODES = 60, 200
"""Below the first, shared tables may hold more sets; above the second, chains share one expansion."""
OFTEN = 0.02
"""An edge that was there in this share of the iterations becomes a candidate."""
COLD = 0.02
"""Temperature of the greedy climb."""
HOTTEST, HOT_STAGES, COOLING_STAGES = 0.1, 3, 16
"""Power of the likelihood where chains are driven out of a mode, for so many stages, and the stages back to 1."""
STAGE_STEPS_A_NODE = 80
MIXED = {"adr": 0.4, "exchange": 0.2, "swap_parent": 0.1, "node_swap": 0.2, "regroup": 0.1}
GREEDY = {"adr": 0.6, "exchange": 0.2, "swap_parent": 0.1, "node_swap": 0.1}
ANNEALED = {"adr": 0.4, "exchange": 0.3, "swap_parent": 0.1, "node_swap": 0.2}
"""Climbing and cooling do without regrouping: its tables know nothing of temperatures."""
CLIMB_KEY = 4
"""Keeps the random numbers of climbs apart from those of searches."""


@dataclass(frozen=True)
class Initial:
    graphs: list[Adjacency]
    """For every chain the best graph that it found."""
    starts: list[Adjacency]
    """Where it starts: there, or where it was sent to."""
    space: SearchSpace | None = None
    """The candidates of all chains together, with the best graph of all."""
    seen: tuple[Adjacency, ...] = ()
    """Edges that the mixture met often."""


@dataclass(frozen=True)
class Climb:
    graph: Adjacency
    score: float
    seen: Floats
    """How often each edge was there while the mixture ran."""


def initialise(target: Target, considered: Adjacency, seed: int, chains: int) -> Initial:
    """Find a start for each chain, beginning at the candidates of a skeleton or of a given space.

    When every parent is considered from the beginning, a search on the tables is all there is to do. With many nodes
    chains share one expansion, and each searches its tables from random orders of its own.
    """
    began = time.perf_counter()
    everything = holds_everything(target, considered)

    def apart(graphs: list[Adjacency], tables: CandidateTables) -> list[Adjacency]:
        """Send every second chain away; the others stay at the best that is known."""
        return side_by_side(
            lambda chain: annealed(target, tables, graphs[chain], seed, chain) if chain % 2 else graphs[chain], chains
        )

    def grow(chain: int) -> SearchSpace:
        return expand(target, considered, seed=seed, closing=not everything, stream=chain)

    alone = everything or (target.n_nodes <= MANY_NODES and target.problem.table.walks)
    spaces = side_by_side(grow, chains if alone else 1)
    graphs = [space.best for space in spaces if space.best is not None]
    if everything:
        best_space = max(spaces, key=lambda space: -np.inf if space.log_posterior is None else space.log_posterior)
        return Initial(graphs, apart(graphs, build_tables(target, considered, plus_one=False)), best_space)
    tables = build_tables(target, shared_candidates(target, considered, graphs), plus_one=False)
    peaks = best_inside(tables)

    def improve(chain: int) -> Climb:
        start, score = restarted(tables, peaks, seed, STREAMS**2 * chain + STREAMS - 1)
        own = spaces[chain] if alone else None
        if own is not None and own.best is not None and own.log_posterior is not None and own.log_posterior > score:
            start = own.best
        return climb(target, tables, start, seed, chain)

    improved = side_by_side(improve, chains)
    graphs = [found.graph for found in improved]
    best = max(improved, key=lambda found: found.score)
    together = np.logical_or.reduce([space.considered for space in spaces])
    seen = np.mean([found.seen for found in improved], axis=0) >= OFTEN
    used = np.logical_or.reduce([graph | graph.T for graph in graphs]) | seen | seen.T
    wider = strongest(target, (together | used) & (target.problem.status == FREE), used, candidate_limit(target))
    return Initial(
        graphs,
        apart(graphs, tables),
        SearchSpace(target.names, wider, best.graph, best.score, spaces[0].rounds, time.perf_counter() - began),
        (seen,),
    )


def holds_everything(target: Target, considered: Adjacency) -> bool:
    return bool((considered | (target.problem.status != FREE)).all())


def shared_candidates(target: Target, considered: Adjacency, graphs: list[Adjacency]) -> Adjacency:
    """Return the candidates of tables that all chains share.

    Graphs of few nodes can be dense: then there is more room for each node, and it is filled up, if tables are cheap.
    """
    n = target.n_nodes
    if n >= MAYBE_DENSE or not target.problem.table.walks:
        return closed(target, considered, graphs)
    sets = closed_sets(target) * MAYBE_DENSE / n
    close = closed(target, considered, graphs, sets)
    return strongest(target, np.asarray(target.problem.status == FREE), close, most_closed(sets, n))


def climb(target: Target, tables: CandidateTables, graph: Adjacency, seed: int, chain: int) -> Climb:
    """Run the mixture from a graph, then climb from the best graph met."""
    n = target.n_nodes
    walker = walker_at(target, graph, tables, MIXED, (seed, chain, 0))
    advance_chain(target, walker, max(MIXED_STEPS_A_NODE * n, FEWEST_MIXED_STEPS))
    met = best_of(target, walker)
    cold = target.tempered(COLD)
    climber = walker_at(cold, met, tables, GREEDY, (seed, chain, 1))
    advance_chain(cold, climber, GREEDY_STEPS_A_NODE * n)
    top = np.asarray(climber.graph.position != ABSENT)
    seen = walker.graph.visits / walker.iteration
    return max((Climb(found, target.log_posterior(found), seen) for found in (met, top)), key=lambda one: one.score)


def annealed(target: Target, tables: CandidateTables, graph: Adjacency, seed: int, chain: int) -> Adjacency:
    """Drive a graph out of its mode by a likelihood that is almost flat, and let it cool to a place of its own."""
    if target.n_nodes > MANY_NODES or isinstance(target.score, OwnScore):
        return graph  # that would take long
    cooling = np.geomspace(HOTTEST, 1.0, COOLING_STAGES)
    for part, power in enumerate([*[HOTTEST] * HOT_STAGES, *cooling], start=2):
        warmer = target.with_likelihood_to_the(float(power))
        walker = walker_at(warmer, graph, tables, ANNEALED, (seed, chain, part))
        advance_chain(warmer, walker, STAGE_STEPS_A_NODE * target.n_nodes)
        graph = np.asarray(walker.graph.position != ABSENT)
    return graph


def walker_at(
    target: Target, graph: Adjacency, tables: CandidateTables, weights: dict[str, float], key: tuple[int, int, int]
) -> Chain:
    """Return a chain at a graph that makes the given moves, not PARNI's own, with random numbers of its own."""
    seed, chain, part = key
    walker = new_chain(target, graph, seed, chain)
    walker.graph.rng[:] = random_state(seed, SEARCH_KEY, chain, CLIMB_KEY, part)
    likely = np.where(tables.considered, 0.1, 0.0)
    walker.own = make_mixture(target, weights, make_parni(likely, tune=0), tables)
    walker.tables = tables
    return walker


def best_of(target: Target, walker: Chain) -> Adjacency:
    graph = target.required.copy()
    arcs = walker.recorder.best_codes[: named(walker.recorder).best_count]
    graph[arcs >> 16, arcs & 0xFFFF] = True
    return graph
