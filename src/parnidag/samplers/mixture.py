"""A weighted mixture of moves on one state.

Every iteration chooses one kind of move, with probabilities that never depend on the graph. Each kind leaves the
posterior invariant, so the mixture does too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from parnidag._jit import entry, kernel
from parnidag._random import choose
from parnidag._types import Floats, Integers, int64, is_number
from parnidag.errors import ParnidagError
from parnidag.moves.exchange import exchange_move
from parnidag.moves.node_swap import NodeSwap, NodeSwapArrays, make_node_swap, node_swap_move, open_node_swap
from parnidag.moves.reversal import ReversalArrays, make_reversal, open_reversal, reversal_move
from parnidag.moves.single_edge import single_edge_step
from parnidag.moves.swap_parent import swap_parent_move
from parnidag.net import ONE, GraphArrays, Net, Problem, Scratch, close_net, open_net
from parnidag.samplers.base import Chain
from parnidag.samplers.blocks import parni_iteration
from parnidag.samplers.tuning import (
    Parni,
    ParniArrays,
    adapt_eta,
    adapt_omega,
    close_parni,
    first_eta,
    open_parni,
)
from parnidag.space.layout import DrawArrays, TableArrays, open_tables
from parnidag.space.tables import CandidateTables, make_draws
from parnidag.target import Target
from parnidag.trace import TraceArrays, begin_segment, close_trace, observe, open_trace

KINDS = ("parni", "adr", "exchange", "swap_parent", "node_swap", "edge_reversal")
"""Moves that users give weights to; "adr" is a third each of adding, deleting and reversing an edge."""
COUNTED = ("parni", "add", "delete", "reverse", "exchange", "swap_parent", "node_swap", "edge_reversal")
"""The same as they are chosen and counted. Adding, deleting and reversing have the numbers of `single_edge`."""
PARNI, EXCHANGE, SWAP_PARENT, NODE_SWAP, EDGE_REVERSAL = int64(0), int64(4), int64(5), int64(6), int64(7)
COUNT = int64(len(COUNTED))
COST_STEPS = 2000
PRESETS: dict[str, dict[str, float]] = {
    "paper": {"parni": 1.0},
    "mixed": {"parni": 0.2, "adr": 0.3, "exchange": 0.2, "swap_parent": 0.1, "edge_reversal": 0.2},
}


class MixtureArrays(NamedTuple):
    """Weights and counters."""

    weights: Floats
    """Probability of each kind, in the order of `COUNTED`."""
    tried: Integers
    accepted: Integers
    """Of PARNI's iterations nothing is counted here: it counts its own blocks."""


class MixedArrays(NamedTuple):
    """The sampler's own arrays of a chain."""

    parni: ParniArrays
    mixture: MixtureArrays
    node_swap: NodeSwapArrays


class TabledArrays(NamedTuple):
    """The same for a chain that also reverses edges, by the tables of a search space."""

    parni: ParniArrays
    mixture: MixtureArrays
    node_swap: NodeSwapArrays
    draws: DrawArrays
    reversal: ReversalArrays


def move_weights(moves: object) -> dict[str, float]:
    """Return the probability of each kind of move, or refuse what the user gave."""
    if isinstance(moves, str):
        if moves not in PRESETS:
            raise ParnidagError(f"moves must be one of {tuple(PRESETS)} or weights by move, got {moves!r}")
        moves = PRESETS[moves]
    if not isinstance(moves, Mapping):
        raise ParnidagError(f'moves must be a name or weights by move, such as {{"parni": 0.5, "adr": 0.5}}: {moves!r}')
    for name, weight in moves.items():
        if name not in KINDS:
            raise ParnidagError(f"moves has {name!r}; known moves are {', '.join(KINDS)}")
        if not is_number(weight) or not 0.0 <= weight < math.inf:
            raise ParnidagError(f"moves[{name!r}] must be a number, 0 or more, got {weight!r}")
    if moves.get("parni", 0.0) + moves.get("adr", 0.0) <= 0.0:
        raise ParnidagError(f'moves needs a weight of "parni" or "adr" (no others reach every graph), got {moves!r}')
    total = math.fsum(float(weight) for weight in moves.values())
    return {name: float(moves[name]) / total for name in KINDS if moves.get(name, 0.0) > 0.0}


def make_mixture(
    target: Target, weights: Mapping[str, float], parni: ParniArrays, tables: CandidateTables | None
) -> MixedArrays | TabledArrays:
    """Return the arrays of one chain."""
    tried, accepted = np.zeros((2, len(COUNTED)), np.int64)
    mixture = MixtureArrays(chances(weights), tried, accepted)
    node_swap = make_node_swap(target, parni.warm)
    if tables is None:
        return MixedArrays(parni, mixture, node_swap)
    return TabledArrays(parni, mixture, node_swap, make_draws(tables), make_reversal(target))


def chances(weights: Mapping[str, float]) -> Floats:
    """Return the probability of each counted kind."""
    spread = dict(weights) | dict.fromkeys(("add", "delete", "reverse"), weights.get("adr", 0.0) / 3.0)
    return np.array([spread.get(name, 0.0) for name in COUNTED])


def advance_chain(target: Target, chain: Chain, steps: int) -> int:
    """Run at most `steps` iterations in place and return how many were made."""
    shared = (target.problem, chain.graph, chain.scratch(target), chain.trace)
    if chain.tables is None:
        return int(advance_mixture(*shared, chain.own, int64(steps)))
    return int(advance_with_tables(*shared, chain.tables.arrays, chain.own, int64(steps)))


def move_costs(target: Target, chain: Chain) -> dict[str, float]:
    """Return the microseconds that a move of each kind takes, timed one kind at a time on a copy of the chain."""
    costs = {}
    for kind in np.flatnonzero(chain.own.mixture.weights):
        copy = deepcopy(chain)
        copy.own.mixture.weights[:] = np.arange(len(COUNTED)) == kind
        copy.own.parni.integers[0] = 0
        copy.own.parni.flags[2] = False  # nothing adapts
        copy.trace.integers[:3] = -1, 0, 0  # and nothing is stored
        advance_chain(target, copy, COST_STEPS)  # fills the memo
        begun = time.thread_time()
        advance_chain(target, copy, COST_STEPS)
        costs[COUNTED[kind]] = 1e6 * (time.thread_time() - begun) / COST_STEPS
    return costs


@kernel
def next_kind(net: Net, mixture: MixtureArrays) -> int:
    """Choose the kind of the next move."""
    kind = choose(net.rng, mixture.weights, COUNT)
    mixture.tried[kind] += ONE
    return kind


@kernel
def mixture_move(net: Net, run: Parni, swap: NodeSwap, kind: int) -> bool:
    """Make one move of any kind that needs no tables; True when it changed the graph, which PARNI counts itself."""
    if kind == PARNI:
        parni_iteration(net, run)
        adapt_omega(net, run)
        return False
    if kind == EXCHANGE:
        return exchange_move(net)
    if kind == SWAP_PARENT:
        return swap_parent_move(net)
    if kind == NODE_SWAP:
        return node_swap_move(net, swap)
    return single_edge_step(net, kind)


@entry
def advance_mixture(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    arrays: MixedArrays,
    steps: int,
) -> int:
    """Run PARNI and the moves mixed with it for at most `steps` iterations."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    run = open_parni(arrays.parni)
    swap = open_node_swap(arrays.node_swap)
    first_eta(net, run)
    done = int64(0)
    if begin_segment(net, trace):
        while done < steps:
            kind = next_kind(net, arrays.mixture)
            arrays.mixture.accepted[kind] += mixture_move(net, run, swap, kind)
            adapt_eta(net, run)
            done += ONE
            if not observe(net, trace):
                break
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    close_parni(run, arrays.parni)
    return done


@entry
def advance_with_tables(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    table_arrays: TableArrays,
    arrays: TabledArrays,
    steps: int,
) -> int:
    """The same with edge reversals among the moves."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    tables = open_tables(table_arrays, arrays.draws)
    reversal = open_reversal(arrays.reversal)
    run = open_parni(arrays.parni)
    swap = open_node_swap(arrays.node_swap)
    first_eta(net, run)
    done = int64(0)
    if begin_segment(net, trace):
        while done < steps:
            kind = next_kind(net, arrays.mixture)
            if kind == EDGE_REVERSAL:
                arrays.mixture.accepted[kind] += reversal_move(net, tables, reversal)
            else:
                arrays.mixture.accepted[kind] += mixture_move(net, run, swap, kind)
            adapt_eta(net, run)
            done += ONE
            if not observe(net, trace):
                break
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    close_parni(run, arrays.parni)
    return done
