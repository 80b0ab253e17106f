"""A weighted mixture of moves on one state.

Every iteration chooses one kind of move, with probabilities that never depend on the graph. Each kind leaves the
posterior invariant, so the mixture does too.

An iteration is about the same work whatever its kind: PARNI evaluates some ten neighbourhoods, so a move that tries one
change is made ten times. Then weights are shares of the time, and averages over iterations do not count a state again
and again that a cheap move has merely failed to change (twice the error on the protein data, docs/adr/0010).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from parnidag._util.checks import number
from parnidag.errors import ParnidagError
from parnidag.kernels.dag import ONE, Dag, GraphArrays, Scratch, close_dag, open_dag
from parnidag.kernels.jit import entry, kernel, leaf
from parnidag.kernels.kept import keeps
from parnidag.kernels.problem import Problem
from parnidag.kernels.random import choose
from parnidag.kernels.recorder import RecorderArrays, begin_segment, close_recorder, observe, open_recorder
from parnidag.kernels.types import Floats, Integers, int64
from parnidag.moves.exchange import exchange_move
from parnidag.moves.node_swap import NodeSwap, NodeSwapArrays, make_node_swap, node_swap_move, open_node_swap
from parnidag.moves.regroup import RegroupArrays, make_regroup, open_regroup, regroup_move
from parnidag.moves.reversal import ReversalArrays, make_reversal, open_reversal, reversal_move
from parnidag.moves.single_edge import adr_move, single_edge_step
from parnidag.moves.swap_parent import swap_parent_move
from parnidag.samplers.base import Chain
from parnidag.samplers.parni.adaptation import (
    Parni,
    ParniArrays,
    adapt_eta,
    adapt_omega,
    close_parni,
    first_eta,
    open_parni,
)
from parnidag.samplers.parni.algorithm1 import parni_iteration
from parnidag.space.default import FEW_NODES
from parnidag.tables.arrays import DrawArrays, TableArrays, open_tables
from parnidag.tables.build import CandidateTables, make_draws
from parnidag.target import Target

KINDS = ("parni", "adr", "exchange", "swap_parent", "node_swap", "edge_reversal", "regroup")
"""Moves that users give weights to; "adr" is a third each of adding, deleting and reversing an edge."""
PARNI, ADR, EXCHANGE, SWAP_PARENT, NODE_SWAP, EDGE_REVERSAL, REGROUP = (int64(kind) for kind in range(7))
COUNT = int64(len(KINDS))
COUNTED = ("parni", "add", "delete", "reverse", "exchange", "swap_parent", "node_swap", "edge_reversal", "regroup")
"""The same as they are counted. Adding, deleting and reversing have the numbers of `single_edge`."""
TABLED = frozenset({"edge_reversal", "regroup"})
"""Moves that draw parents from candidate tables."""
AFTER_ADR = int64(2)
"""How much later a kind after "adr" is counted than chosen."""
COST_STEPS = 500
MOST_WEIGHT = 1e9
PRESETS: dict[str, dict[str, float]] = {
    "paper": {"parni": 1.0},
    "mixed": {"parni": 0.5, "adr": 0.15, "exchange": 0.2, "swap_parent": 0.05, "regroup": 0.1},
}
MIXED_FOR_FEW = {"parni": 0.9, "exchange": 0.1}
"""The default up to `space.default.FEW_NODES` nodes: little traps chains there, and PARNI's blocks are worth most."""


@keeps("tried", "accepted")
class MixtureArrays(NamedTuple):
    """Weights and counters."""

    weights: Floats
    """Probability of each kind, in the order of `KINDS`."""
    tried: Integers
    accepted: Integers
    """In the order of `COUNTED`. Of PARNI iterations are counted as tried; it counts its own blocks."""
    burst: Integers
    """How often a move that tries one change is made in an iteration (1 entry)."""


@keeps()
class MixedArrays(NamedTuple):
    """The sampler's own arrays of a chain."""

    parni: ParniArrays
    mixture: MixtureArrays
    node_swap: NodeSwapArrays
    draws: DrawArrays | None
    """For draws from the tables of a search space, if some move makes them."""
    regroup: RegroupArrays | None
    """Wherever there are tables."""
    reversal: ReversalArrays | None
    """None unless edges are reversed: then nobody waits for that move to compile."""


class Drawing(NamedTuple):
    """What moves need that draw parents from tables."""

    tables: TableArrays
    draws: DrawArrays
    regroup: RegroupArrays


def move_weights(moves: object, n_nodes: int | None = None) -> dict[str, float]:
    """Return the probability of each kind of move, or refuse what the user gave; by default for many nodes."""
    if isinstance(moves, str):
        if moves not in PRESETS:
            raise ParnidagError(f"moves must be one of {tuple(PRESETS)} or weights by move, got {moves!r}")
        moves = MIXED_FOR_FEW if moves == "mixed" and n_nodes is not None and n_nodes <= FEW_NODES else PRESETS[moves]
    if not isinstance(moves, Mapping):
        raise ParnidagError(f'moves must be a name or weights by move, such as {{"parni": 0.5, "adr": 0.5}}: {moves!r}')
    for name, weight in moves.items():
        if name not in KINDS:
            raise ParnidagError(f"moves has {name!r}; known moves are {', '.join(KINDS)}")
        number(weight, f"moves[{name!r}]", least=0, most=MOST_WEIGHT)
    plain = {name: weight.item() if isinstance(weight, np.generic) else weight for name, weight in moves.items()}
    given = {name: Fraction(plain[name]) for name in KINDS if plain.get(name, 0) > 0}
    scaled = {name: float(weight / max(given.values())) for name, weight in given.items()}
    total = math.fsum(scaled.values())
    weights = {name: weight / total for name, weight in scaled.items() if weight / total > 0.0}
    if not {"parni", "adr"} & weights.keys():
        raise ParnidagError(f'moves needs a weight of "parni" or "adr" (no others reach every graph), got {moves!r}')
    return weights


def make_mixture(
    target: Target, weights: Mapping[str, float], parni: ParniArrays, tables: CandidateTables | None
) -> MixedArrays:
    """Return the arrays of one chain."""
    tried, accepted = np.zeros((2, len(COUNTED)), np.int64)
    chances = np.array([weights.get(kind, 0.0) for kind in KINDS])
    if tables is None and TABLED & weights.keys():
        listed = " and ".join(sorted(TABLED & weights.keys()))
        raise ParnidagError(f"moves: {listed} need tables of a search space, and there are none")
    pairs = target.n_nodes * (target.n_nodes - 1) // 2
    burst = np.array([max(1, round(min(float(parni.floats[3]), pairs)))], np.int64)
    mixture = MixtureArrays(chances, tried, accepted, burst)
    node_swap = make_node_swap(target, parni.warm)
    if tables is None:
        return MixedArrays(parni, mixture, node_swap, None, None, None)
    reversal = make_reversal(target) if "edge_reversal" in weights else None
    return MixedArrays(parni, mixture, node_swap, make_draws(tables), make_regroup(target, parni.warm), reversal)


def advance_chain(target: Target, chain: Chain, steps: int) -> int:
    """Run at most `steps` iterations in place and return how many were made."""
    own: MixedArrays = chain.own
    drawing = None
    if chain.tables is not None:
        assert own.draws is not None
        assert own.regroup is not None
        drawing = Drawing(chain.tables.arrays, own.draws, own.regroup)
    return int(
        advance_mixture(
            target.problem,
            chain.graph,
            chain.scratch(target),
            chain.recorder,
            drawing,
            own.parni,
            own.mixture,
            own.node_swap,
            own.reversal,
            int64(steps),
        )
    )


def move_costs(target: Target, chain: Chain) -> dict[str, float]:
    """Return the microseconds that a move of each kind takes, timed one kind at a time on a copy of the chain."""
    costs = {}
    for kind in np.flatnonzero(chain.own.mixture.weights):
        copy = replace(chain, **{part: deepcopy(getattr(chain, part)) for part in ("graph", "recorder", "own")})
        copy.own.mixture.weights[:] = np.arange(len(KINDS)) == kind
        copy.own.parni.integers[0] = 0
        copy.own.parni.flags[2] = False  # nothing adapts
        copy.recorder.integers[:3] = -1, 0, 0  # and nothing is stored
        advance_chain(target, copy, COST_STEPS)  # fills the cache
        before, begun = copy.own.mixture.tried.sum(), time.thread_time()
        advance_chain(target, copy, COST_STEPS)
        seconds, tries = time.thread_time() - begun, int(copy.own.mixture.tried.sum() - before)
        costs[KINDS[kind]] = 1e6 * seconds / tries
    return costs


@kernel
def next_kind(dag: Dag, mixture: MixtureArrays) -> int:
    """Choose the kind of the next iteration."""
    return choose(dag.rng, mixture.weights, COUNT)


@kernel
def mixture_iteration(dag: Dag, run: Parni, swap: NodeSwap, mixture: MixtureArrays, kind: int) -> None:
    """Make one iteration of any kind that needs no tables."""
    if kind == PARNI:
        mixture.tried[PARNI] += ONE
        parni_iteration(dag, run)
        adapt_omega(dag, run)
        return
    for _ in range(mixture.burst[0]):
        if kind == ADR:
            move = adr_move(dag)
            count_move(mixture, move, single_edge_step(dag, move))
        elif kind == EXCHANGE:
            count_move(mixture, kind + AFTER_ADR, exchange_move(dag))
        elif kind == SWAP_PARENT:
            count_move(mixture, kind + AFTER_ADR, swap_parent_move(dag))
        else:
            count_move(mixture, kind + AFTER_ADR, node_swap_move(dag, swap))


@leaf
def count_move(mixture: MixtureArrays, move: int, accepted: bool) -> None:
    """Count a try of a move."""
    mixture.tried[move] += ONE
    mixture.accepted[move] += accepted


@entry
def advance_mixture(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    recorder_arrays: RecorderArrays,
    drawing: Drawing | None,
    parni: ParniArrays,
    mixture: MixtureArrays,
    node_swap: NodeSwapArrays,
    reversal_arrays: ReversalArrays | None,
    steps: int,
) -> int:
    """Run PARNI and the moves mixed with it for at most `steps` iterations.

    Whatever stands behind an argument that is None is never compiled: Numba prunes it.
    """
    dag: Dag = open_dag(problem, graph, scratch)
    recorder = open_recorder(recorder_arrays)
    run = open_parni(parni)
    swap = open_node_swap(node_swap)
    if drawing is not None:
        tables = open_tables(drawing.tables, drawing.draws)
        regroup = open_regroup(drawing.regroup)
    if reversal_arrays is not None:
        reversal = open_reversal(reversal_arrays)
    first_eta(dag, run)
    done = int64(0)
    if begin_segment(dag, recorder):
        while done < steps:
            kind = next_kind(dag, mixture)
            if kind == REGROUP:
                if drawing is not None:
                    count_move(mixture, kind + AFTER_ADR, regroup_move(dag, tables, regroup))
            elif kind == EDGE_REVERSAL:
                if reversal_arrays is not None:
                    count_move(mixture, kind + AFTER_ADR, reversal_move(dag, tables, reversal))
            else:
                mixture_iteration(dag, run, swap, mixture, kind)
            adapt_eta(dag, run)
            done += ONE
            if not observe(dag, recorder):
                break
    close_dag(dag, graph)
    close_recorder(recorder, recorder_arrays)
    close_parni(run, parni)
    return done
