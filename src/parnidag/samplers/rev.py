"""REV: single-edge moves mixed with the edge reversal move (Grzegorczyk and Husmeier 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from parnidag._util.checks import number
from parnidag.kernels.dag import ONE, Dag
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, leaf
from parnidag.kernels.random import happens
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Integers, int64
from parnidag.moves.reversal import Reversal, make_reversal, open_reversal, reversal_move
from parnidag.moves.single_edge import MOVES, adr_move, single_edge_step
from parnidag.samplers._on_tables import SamplerOnTables
from parnidag.samplers.base import Chain, Prepared, move_totals
from parnidag.tables.arrays import DrawArrays, TableArrays, Tables, draw_arrays, open_tables
from parnidag.target import Target

EDGE_REVERSAL = int64(4)
"""Counts after the moves of one edge."""
MIXED_MOVES = (*MOVES, "edge_reversal")


@keeps("tried", "accepted")
class ReversalState(NamedTuple):
    draws: DrawArrays
    reversal: Reversal
    tried: Integers
    accepted: Integers


@dataclass(frozen=True)
class REV(SamplerOnTables):
    """ADR with the new edge reversal move (Grzegorczyk and Husmeier, Machine Learning 71, 2008).

    Most iterations add, delete or reverse one edge, as `ADR` does. The others turn an edge round and draw new parents
    of both its nodes in proportion to their weight, which crosses valleys that single edges do not. What these draws
    propose comes from the tables of a search space, but no graph is out of reach: the law is the posterior over all
    graphs, whatever the space.

    Parameters
    ----------
    plus_one, memory
        As for `OrderMCMC`, for the parent sets that are drawn.
    probability
        How often an iteration is an edge reversal, from 0 up to but not including 1, since reversals alone do not reach
        every graph; 1/15 as in the article.
    """

    probability: float = 1.0 / 15.0

    restricted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "since edge reversals alone do not reach every graph"
        number(self.probability, "probability", least=0, below=1, note=why)

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        assert prepared.tables is not None
        chain.tables = prepared.tables
        tried, accepted = np.zeros((2, len(MIXED_MOVES)), np.int64)
        chain.own = ReversalState(draw_arrays(prepared.tables.arrays), make_reversal(target), tried, accepted)

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        assert chain.tables is not None
        probability = float(self.probability)
        return int(advance_reversal(chain.parts(target), chain.tables.arrays, chain.own, probability, int64(steps)))

    def totals(self, chain: Chain) -> dict[str, float]:
        outside = float(chain.own.reversal.outside[0])
        return move_totals(MIXED_MOVES, chain.own.tried, chain.own.accepted) | {"edge_reversal_outside": outside}


@entry
def advance_reversal(
    parts: ChainArrays, table_arrays: TableArrays, state: ReversalState, probability: float, steps: int
) -> int:
    dag, recorder = open_chain(parts)
    tables = open_tables(table_arrays, state.draws)
    rev = open_reversal(state.reversal)
    going = begin_segment(dag, recorder, steps)
    while going:
        move = mixed_move(dag, probability)
        accepted = mixed_step(dag, tables, rev, move)
        state.tried[move] += ONE
        state.accepted[move] += accepted
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)


@leaf
def mixed_move(dag: Dag, probability: float) -> int:
    if happens(dag.rng, probability):
        return EDGE_REVERSAL
    return adr_move(dag)


@leaf
def mixed_step(dag: Dag, tables: Tables, rev: Reversal, move: int) -> bool:
    if move == EDGE_REVERSAL:
        return reversal_move(dag, tables, rev)
    return single_edge_step(dag, move)
