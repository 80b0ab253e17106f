"""A weighted mixture of moves on one state.

Every iteration chooses one kind of move, with probabilities that never depend on the graph. Each kind leaves the
posterior invariant, so the mixture does too.

An iteration is about the same work whatever its kind: PARNI evaluates some ten neighbourhoods, so a move that tries one
change is made ten times. Then weights are shares of the time, and averages over iterations do not count a state again
and again that a cheap move has merely failed to change (twice the error on the protein data, docs/adr/0010).
"""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from parnidag._util.checks import number
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import ONE, Dag
from parnidag.kernels.declare import keeps, named, opener
from parnidag.kernels.jit import entry, kernel, leaf, make_frame
from parnidag.kernels.random import choose
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Bytes, Floats, Integers, int64
from parnidag.moves import MOVES as OTHER_MOVES
from parnidag.moves.move import Move
from parnidag.samplers.base import Chain, move_totals
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
from parnidag.tables.arrays import TableArrays, draw_arrays, no_tables, open_tables
from parnidag.tables.build import CandidateTables
from parnidag.target import Target


@leaf
def parni_step(dag: Dag, run: Parni) -> bool:
    """Make one iteration of PARNI, which counts its own tries, and adapt ω."""
    parni_iteration(dag, run)
    adapt_omega(dag, run)
    return False


MOVES: tuple[Move, ...] = (
    Move("parni", "PARNI's own blocks", parni_step, open=open_parni, burst=False, reaches_all=True),
    *OTHER_MOVES,
)
KINDS = tuple(move.name for move in MOVES)
"""Moves that users give weights to, by number."""
COUNT = int64(len(MOVES))
TABLED = frozenset(move.name for move in MOVES if move.needs_tables)
"""Moves that draw parents from candidate tables."""
MOST_WEIGHT = 1e9
PRESETS: dict[str, dict[str, float]] = {
    "paper": {"parni": 1.0},
    "mixed": {"parni": 0.5, "adr": 0.15, "exchange": 0.2, "swap_parent": 0.05, "regroup": 0.1},
}
MIXED_FOR_FEW = {"parni": 0.1, "edge_reversal": 0.45, "regroup": 0.45}
"""The default up to `space.default.FEW_NODES` nodes: tables hold nearly all parents there, so moves that draw whole
parent sets from them cross between modes; PARNI's blocks reach the rest (docs/adr/0010)."""
MIXED_ON_CELLS = {"parni": 0.5, "adr": 0.2, "exchange": 0.25, "swap_parent": 0.05}
"""The default where a chain draws cells: tables of parent sets would be out of date after every draw."""


@keeps("tried", "accepted")
class Mixture(NamedTuple):
    """Weights and counters, in the order of `MOVES`."""

    frame: Bytes
    weights: Floats
    tried: Integers
    accepted: Integers
    """Steps made, and steps that changed the graph. PARNI counts its changes by itself."""
    burst: Integers
    """How often a move that tries one change is made in an iteration (1 entry)."""


open_mixture = opener(Mixture)

MixedArrays: Any = keeps()(namedtuple("MixedArrays", ("mixture", "draws", *KINDS)))
"""A chain's arrays: the mixture's, those for draws from tables (or None), and each move's own (or None)."""


def move_weights(moves: object, n_nodes: int | None = None) -> dict[str, float]:
    """Return the probability of each kind of move, or refuse what the user gave; by default for many nodes."""
    if isinstance(moves, str):
        if moves not in PRESETS:
            message = f"moves must be one of {tuple(PRESETS)} or weights by move, got {moves!r}"
            raise ParnidagError(message, argument="moves")
        moves = MIXED_FOR_FEW if moves == "mixed" and n_nodes is not None and n_nodes <= FEW_NODES else PRESETS[moves]
    if not isinstance(moves, Mapping):
        raise ParnidagError(f'moves must be a name or weights by move, such as {{"parni": 0.5, "adr": 0.5}}: {moves!r}')
    for name, weight in moves.items():
        if name not in KINDS:
            raise ParnidagError(f"moves has {name!r}; known moves are {', '.join(KINDS)}", argument="moves")
        number(weight, f"moves[{name!r}]", least=0, most=MOST_WEIGHT)
    plain = {name: weight.item() if isinstance(weight, np.generic) else weight for name, weight in moves.items()}
    given = {name: Fraction(plain[name]) for name in KINDS if plain.get(name, 0) > 0}
    scaled = {name: float(weight / max(given.values())) for name, weight in given.items()}
    total = math.fsum(scaled.values())
    weights = {name: weight / total for name, weight in scaled.items() if weight / total > 0.0}
    if not any(move.reaches_all for move in MOVES if move.name in weights):
        needed = " or ".join(f'"{move.name}"' for move in MOVES if move.reaches_all)
        message = f"moves needs a weight of {needed} (no others reach every graph), got {moves!r}"
        raise ParnidagError(message, argument="moves")
    return weights


def make_mixture(
    target: Target, weights: Mapping[str, float], parni: ParniArrays, tables: CandidateTables | None
) -> Any:
    """Return the `MixedArrays` of one chain; moves on tables have arrays if they have a weight, all others always."""
    if tables is None and TABLED & weights.keys():
        listed = " and ".join(sorted(TABLED & weights.keys()))
        raise ParnidagError(f"moves: {listed} need tables of a search space, and there are none")
    pairs = target.n_nodes * (target.n_nodes - 1) // 2
    mixture = Mixture(
        frame=make_frame(),
        weights=np.array([weights.get(kind, 0.0) for kind in KINDS]),
        tried=np.zeros(len(KINDS), np.int64),
        accepted=np.zeros(len(KINDS), np.int64),
        burst=np.array([max(1, round(min(named(parni).target_evaluations, pairs)))], np.int64),
    )
    own: list[Any] = [mixture, None if tables is None else draw_arrays(tables.arrays), parni]
    for move in OTHER_MOVES:
        wanted = move.name in weights or not move.needs_tables
        own.append(move.make(target, parni.warm) if move.make and wanted else None)
    return MixedArrays._make(own)


def advance_chain(target: Target, chain: Chain, steps: int) -> int:
    """Advance a chain by at most `steps` iterations, and return how many were made.

    Stand-ins take the place of missing arrays, so that one compiled loop serves all weights, with tables or without.
    """
    own, weights = chain.own, chain.own.mixture.weights
    for move, arrays, weight in zip(MOVES, own[-len(MOVES) :], weights, strict=True):
        if weight > 0.0 and ((move.open and arrays is None) or (move.needs_tables and chain.tables is None)):
            raise RuntimeError(f"a move that this chain was not set up for: {move.name}")
    tables = no_tables() if chain.tables is None else chain.tables.arrays
    return int(advance_mixture(chain.parts(target), tables, no_gaps(own), int64(steps)))


def no_gaps(own: Any) -> Any:
    """Return a chain's `MixedArrays` with something in every place."""
    return MixedArrays._make(
        there if there is not None else spare for there, spare in zip(own, stand_ins(), strict=True)
    )


class _OneNode(NamedTuple):
    """All that moves ask of a target when they make their arrays."""

    n_nodes: int = 1
    max_parents: int = 1
    most_edges: int = 1
    required: Adjacency = np.zeros((1, 1), np.bool_)


@functools.cache
def stand_ins() -> Any:
    """Return arrays, for a single node, of all that a chain may lack: they are never read."""
    nobody: Any = _OneNode()
    made = [move.make(nobody, np.zeros((1, 1))) if move.make else None for move in OTHER_MOVES]
    return MixedArrays._make([None, draw_arrays(no_tables()), None, *made])  # no chain lacks the others


def mixture_totals(own: Any) -> dict[str, float]:
    """Return how often moves were tried and accepted, in all and by kind, and iterations of PARNI's own.

    Of PARNI every block counts (gibbs), or a whole iteration as one try (printed).
    """
    parni, iterations = named(own.parni), own.mixture.tried[0]
    counted: list[tuple[str, int, int]] = [(MOVES[0].name, parni.tried, parni.accepted)]
    for move, steps, changes in zip(OTHER_MOVES, own.mixture.tried[1:], own.mixture.accepted[1:], strict=True):
        if move.parts:
            parts = getattr(own, move.name)
            counted += zip(move.parts, parts.tried, parts.accepted, strict=True)
        else:
            counted.append((move.name, steps, changes))
    names, tried, accepted = zip(*counted, strict=True)
    totals = move_totals(names, np.array(tried), np.array(accepted))
    if iterations:
        totals |= {"parni_iterations": float(iterations), "evaluations": float(parni.evaluations)}
    for move in OTHER_MOVES:
        if move.needs_tables and f"{move.name}_tried" in totals:
            totals[f"{move.name}_outside"] = float(getattr(own, move.name).outside[0])
    return totals


# ---------------------------------------------------------------------------------------------------------------------
# Compiled code


@leaf
def count_step(mixture: Mixture, kind: int, changed: bool) -> None:
    mixture.tried[kind] += ONE
    mixture.accepted[kind] += changed


def choice_among(moves: tuple[Move, ...]) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return kernels that open the moves' own arrays, and that make an iteration of one kind.

    They are written out from the list of moves, one branch each, since compiled code cannot go through a list of
    functions.
    """
    owning = [move for move in moves if move.open]
    openings = ", ".join(f"open_{move.name}(own.{move.name})" for move in owning)
    names = ", ".join(move.name for move in owning)
    lines = ["def open_moves(own):", f"    return {openings}"]
    lines += [f"def mixture_iteration(dag, tables, mixture, kind, {names}):"]
    for kind, move in enumerate(moves):
        lines += [
            f"    if kind == {kind}:",
            f"        for _ in range({'mixture.burst[0]' if move.burst else '1'}):",
            f"            count_step(mixture, {kind}, {move.name}_step({move.arguments}))",
            "        return",
        ]
    lines += ["    raise RuntimeError('a move that this chain was not set up for')"]
    scope: dict[str, Any] = {"__name__": __name__, "count_step": count_step}
    scope |= {f"{move.name}_step": move.step for move in moves}
    for move in owning:
        assert move.open is not None
        scope[f"open_{move.name}"] = move.open
    exec("\n".join(lines), scope)
    return leaf(scope["open_moves"]), kernel(scope["mixture_iteration"])


open_moves, mixture_iteration = choice_among(MOVES)


@kernel
def next_kind(dag: Dag, mixture: Mixture) -> int:
    return choose(dag.rng, mixture.weights, COUNT)


@entry
def advance_mixture(parts: ChainArrays, table_arrays: TableArrays, own: Any, steps: int) -> int:
    """Run PARNI and the moves mixed with it for at most `steps` iterations."""
    dag, recorder = open_chain(parts)
    tables = open_tables(table_arrays, own.draws)
    opened = open_moves(own)
    run, mixture = opened[0], open_mixture(own.mixture)
    first_eta(dag, run)
    going = begin_segment(dag, recorder, steps)
    while going:
        mixture_iteration(dag, tables, mixture, next_kind(dag, mixture), *opened)
        adapt_eta(dag, run)
        going = observe(dag, recorder)
    close_parni(run, own.parni)
    return close_chain(dag, recorder, parts)
