"""The classical structure samplers: MC3 flips one edge at a time, ADR adds, deletes or reverses one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from parnidag._util.checks import number
from parnidag.errors import ParnidagError
from parnidag.kernels.dag import ONE, Dag
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, leaf
from parnidag.kernels.random import happens
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Integers, int64
from parnidag.moves.exchange import exchange_move
from parnidag.moves.single_edge import FLIP, MOVES, adr_move, single_edge_step
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler, move_totals
from parnidag.target import Target

EXCHANGE = int64(len(MOVES))
"""Counts after the moves of one edge."""
COUNTED = (*MOVES, "exchange")


@keeps("tried", "accepted")
class MoveCounts(NamedTuple):
    tried: Integers
    accepted: Integers


@dataclass(frozen=True)
class _StructureSampler(Sampler):
    """What MC3 and ADR share: everything but the proposal."""

    exchange: float = 0.0

    _reversals: ClassVar[bool]

    def __post_init__(self) -> None:
        why = "since exchanges alone do not reach every graph"
        number(self.exchange, "exchange", least=0, below=1, what="a probability", note=why)

    @property
    def draws_cells(self) -> bool:
        return True

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        """Prepare nothing: these samplers propose every edge, and start without any but those required."""
        if asked.considered is not None:
            raise ParnidagError(f"space is not used by {self.name}, which proposes every edge: leave it out")
        return Prepared(starts=[target.required] * asked.chains)

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        chain.own = MoveCounts(*np.zeros((2, len(COUNTED)), np.int64))

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        settings = self._reversals, float(self.exchange)
        return int(advance_structure(chain.parts(target), chain.own, *settings, int64(steps)))

    def totals(self, chain: Chain) -> dict[str, float]:
        return move_totals(COUNTED, *chain.own)

    def describe(self) -> dict[str, object]:
        return {"name": self.name, "exchange": float(self.exchange)}


@dataclass(frozen=True)
class MC3(_StructureSampler):
    """MCMC model composition: flip one random edge indicator (Madigan and York 1995).

    An ordered pair of nodes is chosen uniformly and its edge added or removed. The proposal is symmetric, so
    α = min{1, π(γ′)/π(γ)}.

    Parameters
    ----------
    exchange
        Probability that an iteration turns an edge round and exchanges the parents of its nodes instead.
    """

    _reversals: ClassVar[bool] = False


@dataclass(frozen=True)
class ADR(_StructureSampler):
    """Add, delete or reverse one random edge (Giudici and Castelo 2003; Appendix E of the paper).

    Each kind of move is tried with probability 1/3. Its neighbourhood counts the graphs with cycles too, so sizes are
    known without a search: with d edges, additions number n(n − 1) − 2d, deletions d, reversals d.

    Parameters
    ----------
    exchange
        Probability that an iteration turns an edge round and exchanges the parents of its nodes instead: 0.1 frees
        chains that single edges trap.
    """

    _reversals: ClassVar[bool] = True


@entry
def advance_structure(parts: ChainArrays, counts: MoveCounts, reversals: bool, exchange: float, steps: int) -> int:
    dag, recorder = open_chain(parts)
    going = begin_segment(dag, recorder, steps)
    while going:
        move = next_move(dag, reversals, exchange)
        accepted = exchange_move(dag) if move == EXCHANGE else single_edge_step(dag, move)
        counts.tried[move] += ONE
        counts.accepted[move] += accepted
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)


@leaf
def next_move(dag: Dag, reversals: bool, exchange: float) -> int:
    if exchange > 0.0 and happens(dag.rng, exchange):
        return EXCHANGE
    return adr_move(dag) if reversals else FLIP
