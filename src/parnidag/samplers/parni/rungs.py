"""A ladder of graphs, each walking on a flatter likelihood, that exchange what they have found (Geyer 1991).

The first rung is the chain itself. Rung r walks with the same moves, prior and candidates on the law ∝ p(D | G)^β_r
p(G), from β = 1 down to where modes are low hills. After every round of iterations neighbouring rungs a and b, in
turn the even and the odd pairs, exchange their graphs with probability

    min{1, π_a(G_b) π_b(G_a) / (π_a(G_a) π_b(G_b))},

which leaves the product of all laws as it is, and so the posterior on the first rung. Every rung keeps its own tables
of parent sets, remembered scores, η and ω: graphs travel, not what was made for a temperature. Where values are learned
along with the graph (`samplers.levels`), each rung has its own, and they travel with its graph.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ABSENT, Dag, close_dag, drop_parents, open_dag, recompute_log_posterior, take_parents
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, kernel, leaf
from parnidag.kernels.random import happens, random_state
from parnidag.kernels.recorder import ChainArrays
from parnidag.kernels.types import Codes, Floats, Integers, int64
from parnidag.moves.orphans import score_of
from parnidag.samplers.base import Chain, Heated, Prepared, Rung, Sampler, new_chain
from parnidag.samplers.levels import draw_level, take_level
from parnidag.samplers.parni.mixture import advance_chain
from parnidag.tables.build import build_tables
from parnidag.target import Target

ROUND = 1000
"""Iterations between exchanges."""
RUNG_KEY = 5
"""Keeps the random numbers of rungs apart from those of chains and searches."""


@keeps("tried", "accepted", "walker", "reached", "trips")
class RungCounts(NamedTuple):
    tried: Integers
    """Exchanges tried between each rung and the next."""
    accepted: Integers
    walker: Integers
    """Which of the graphs that the ladder began with has wandered to each rung."""
    reached: Integers
    """Per walker, 1 once it has been on the last rung since it was last on the first."""
    trips: Integers
    """Walkers that came from the last rung to the first (1 entry)."""


class Trade(NamedTuple):
    """Working memory of an exchange: the first graph's parents, and the local scores of both in their new places."""

    parents: Codes
    degree: Integers
    scores: Floats


def heated_targets(target: Target, prepared: Prepared, rungs: int, hottest: float) -> tuple[Heated, ...]:
    """Return the target and the tables of every rung but the first, which all chains share."""
    made = []
    for power in np.geomspace(1.0, hottest, rungs)[1:]:
        warmer = target.with_likelihood_to_the(float(power))
        tables = prepared.tables
        if tables is not None:
            tables = build_tables(warmer, tables.considered, plus_one=tables.plus_one, memory=math.inf)
        made.append(Heated(warmer, tables))
    return tuple(made)


def make_rungs(heated: tuple[Heated, ...], chain: Chain) -> tuple[tuple[Rung, ...], RungCounts]:
    """Return the other rungs of a chain, all at its graph, with random numbers that follow from its own."""
    graph, words = np.asarray(chain.graph.position != ABSENT), [int(word) for word in chain.graph.rng]
    rungs = []
    for k, (target, _) in enumerate(heated):
        rung = new_chain(target, graph, 0, chain.index)
        rung.graph.rng[:] = random_state(*words, RUNG_KEY, k)
        rungs.append(Rung(target, rung))
    count = len(heated)
    counts = RungCounts(
        tried=np.zeros(count, np.int64),
        accepted=np.zeros(count, np.int64),
        walker=np.arange(count + 1),
        reached=np.zeros(count + 1, np.int64),
        trips=np.zeros(1, np.int64),
    )
    return tuple(rungs), counts


def rung_totals(chain: Chain) -> dict[str, float]:
    if not chain.rungs:
        return {}
    tried, accepted = (float(count.sum()) for count in (chain.counts.tried, chain.counts.accepted))
    return {"rungs_tried": tried, "rungs_accepted": accepted} if tried else {}


def advance_rungs(sampler: Sampler, target: Target, chain: Chain, steps: int) -> int:
    """Advance the first rung by `steps` iterations; whenever it ends a round, the others make theirs, and exchange."""
    done, rounds_a_level = 0, max(sampler.steps_a_level(target) // ROUND, 1)
    while done < steps:
        wanted = min(ROUND - chain.iteration % ROUND, steps - done)
        made = advance_chain(target, chain, wanted)
        done += made
        if made > 0 and chain.iteration % ROUND == 0:
            for rung in chain.rungs:
                advance_chain(rung.target, rung.chain, ROUND)  # never less: a rung has no draws that fill a buffer
            rungs, rounds = [Rung(target, chain), *chain.rungs], chain.iteration // ROUND
            if target.levels is not None and rounds % rounds_a_level == 0:
                for rung in rungs:
                    draw_level(sampler, *rung)
            exchange_neighbours(sampler, rungs, chain.counts, rounds % 2)
        if made < wanted:  # the buffer of draws is full
            break
    return done


def exchange_neighbours(sampler: Sampler, rungs: list[Rung], counts: RungCounts, first: int) -> None:
    """Let every second pair of neighbours, from `first` on, exchange their graphs, and follow the walkers."""
    n, most = rungs[0].chain.graph.parents.shape
    room = Trade(np.zeros((n, most), np.int32), np.zeros(n, np.int64), np.zeros((2, n)))
    for k in range(first, len(rungs) - 1, 2):
        counts.tried[k] += 1
        if exchange(sampler, rungs[k], rungs[k + 1], room):
            counts.accepted[k] += 1
            counts.walker[[k, k + 1]] = counts.walker[[k + 1, k]]
    counts.reached[counts.walker[-1]] = 1
    counts.trips[0] += counts.reached[counts.walker[0]]
    counts.reached[counts.walker[0]] = 0


def exchange(sampler: Sampler, one: Rung, other: Rung, room: Trade) -> bool:
    """Let two rungs exchange their graphs, and the values that were learned with them, or not.

    Values go first: what the rungs lose or gain by that counts in the decision, and if it is "no", they go back.
    """
    levels = one.chain.level, other.chain.level
    before = one.chain.log_posterior + other.chain.log_posterior
    gain = 0.0
    if levels[0] != levels[1]:
        take_level(sampler, *one, levels[1])
        take_level(sampler, *other, levels[0])
        gain = one.chain.log_posterior + other.chain.log_posterior - before
    if exchange_graphs(one.chain.parts(one.target), other.chain.parts(other.target), room, gain):
        return True
    if levels[0] != levels[1]:
        take_level(sampler, *one, levels[0])
        take_level(sampler, *other, levels[1])
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Compiled code


@entry
def exchange_graphs(one: ChainArrays, other: ChainArrays, room: Trade, gain: float) -> bool:
    """Let two rungs exchange their graphs, or not; the first decides with its random numbers.

    `gain` is by how much the log of both laws together has risen by what they exchanged already.
    """
    a, b = open_dag(one.problem, one.graph, one.scratch), open_dag(other.problem, other.graph, other.scratch)
    exchanged = trade(a, b, room, gain)
    close_dag(a, one.graph)
    close_dag(b, other.graph)
    return exchanged


@kernel
def trade(a: Dag, b: Dag, room: Trade, gain: float) -> bool:
    gain += gain_of_graph(a, b, room.scores[0]) + gain_of_graph(b, a, room.scores[1])
    if not happens(a.rng, acceptance(gain)):
        return False
    for j in range(a.n):
        room.degree[j] = a.degree[j]
        for k in range(a.degree[j]):
            room.parents[j, k] = a.parents[j, k]
    take_graph(a, b.parents, b.degree, room.scores[0])
    take_graph(b, room.parents, room.degree, room.scores[1])
    return True


@leaf
def acceptance(gain: float) -> float:
    return math.exp(min(0.0, gain))


@kernel
def gain_of_graph(dag: Dag, other: Dag, scores: Floats) -> float:
    """Write the local scores of the other's graph under this law, and return by how much it is the likelier one."""
    gain = 0.0
    for k in range(dag.n):
        j = int64(k)
        scores[j] = score_of(dag, j, other.parents[j], other.degree[j])
        gain += scores[j] - dag.local[j]
    return gain


@kernel
def take_graph(dag: Dag, parents: Codes, degree: Integers, scores: Floats) -> None:
    for k in range(dag.n):
        drop_parents(dag, int64(k), parents[k], degree[k], scores[k])
    for k in range(dag.n):
        take_parents(dag, int64(k), parents[k], degree[k], scores[k])
    recompute_log_posterior(dag)
