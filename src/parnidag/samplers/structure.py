"""The classical structure samplers: MC3 flips one edge at a time, ADR adds, deletes or reverses one.

Both test the score first and acyclicity second: most proposals fail on the score, and a score from the memo costs far
less than a search for cycles. A proposal that closes a cycle, like one that the prior forbids, means staying.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from parnidag._jit import entry, kernel
from parnidag._random import below, happens
from parnidag._types import Integers, int64
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency
from parnidag.memo import flipped_score
from parnidag.net import (
    ABSENT,
    ONE,
    GraphArrays,
    Net,
    Problem,
    Scratch,
    add_edge,
    adjacent,
    child_of,
    close_net,
    has_detour,
    is_ancestor,
    odds,
    open_net,
    parent_of,
    places,
    present,
    remove_edge,
)
from parnidag.prior import FREE
from parnidag.samplers.base import Chain, Prepared, Stages, move_totals, silent_stage
from parnidag.target import Target
from parnidag.trace import TraceArrays, begin_segment, close_trace, observe, open_trace

FLIP, ADD, DELETE, REVERSE = int64(0), int64(1), int64(2), int64(3)
MOVES = ("flip", "add", "delete", "reverse")
THREE = int64(3)


class MoveCounts(NamedTuple):
    """How often each move was tried and accepted."""

    tried: Integers
    accepted: Integers


@dataclass(frozen=True)
class _StructureSampler:
    """What MC3 and ADR share: everything but the proposal."""

    _reversals: ClassVar[bool]
    default_space: ClassVar[Literal["none"]] = "none"

    @property
    def name(self) -> str:
        """Name for people."""
        return type(self).__name__

    def default_thin(self, n_nodes: int) -> int:
        """Return the default number of iterations between draws: 100 a node, at least 5000."""
        return max(5000, 100 * n_nodes)

    def prepare(
        self, target: Target, considered: Adjacency | None = None, seed: int = 0, stages: Stages = silent_stage
    ) -> Prepared:
        """Prepare nothing: these samplers propose every edge and need no set-up."""
        if considered is not None:
            raise ParnidagError(f"space is not used by {self.name}, which proposes every edge: leave it out")
        return Prepared()

    def starts(self, target: Target, prepared: Prepared, seed: int, chains: int, stages: Stages) -> list[Adjacency]:
        """Start at the graph without edges, but those required."""
        return [target.required] * chains

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Give a new chain its move counters."""
        chain.own = MoveCounts(np.zeros(4, np.int64), np.zeros(4, np.int64))

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run at most `steps` iterations in place and return how many were made."""
        scratch = chain.scratch(target)
        return int(
            advance_structure(
                target.problem, chain.graph, scratch, chain.trace, chain.own, self._reversals, int64(steps)
            )
        )

    def totals(self, chain: Chain) -> dict[str, float]:
        """Return how often moves were tried and accepted, in all and by kind."""
        return move_totals(MOVES, *chain.own)

    def gauges(self, chain: Chain) -> dict[str, float]:
        """Return nothing: there is nothing to tune."""
        return {}

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        return {"name": self.name}

    def caveats(self, prepared: Prepared) -> list[str]:
        """Return nothing: the law is the posterior over all graphs."""
        return []


@dataclass(frozen=True)
class MC3(_StructureSampler):
    """MCMC model composition: flip one random edge indicator (Madigan and York 1995).

    An ordered pair of nodes is chosen uniformly and its edge added or removed. The proposal is symmetric, so
    α = min{1, π(γ′)/π(γ)}.

    Examples
    --------
    >>> from parnidag import samplers
    >>> samplers.MC3()
    MC3()
    """

    _reversals: ClassVar[bool] = False


@dataclass(frozen=True)
class ADR(_StructureSampler):
    """Add, delete or reverse one random edge (Giudici and Castelo 2003; Appendix E of the paper).

    Each kind of move is tried with probability 1/3. Its neighbourhood counts the graphs with cycles too, so sizes are
    known without a search: with d edges, additions number n(n − 1) − 2d, deletions d, reversals d.

    Examples
    --------
    >>> from parnidag import samplers
    >>> samplers.ADR()
    ADR()
    """

    _reversals: ClassVar[bool] = True


@entry
def advance_structure(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    counts: MoveCounts,
    reversals: bool,
    steps: int,
) -> int:
    """Run MC3 or ADR for at most `steps` iterations."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    done = int64(0)
    if begin_segment(net, trace):
        while done < steps:
            move = adr_move(net) if reversals else FLIP
            accepted = structure_step(net, move)
            counts.tried[move] += ONE
            counts.accepted[move] += accepted
            done += ONE
            if not observe(net, trace):
                break
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    return done


@kernel
def adr_move(net: Net) -> int:
    """Choose addition, deletion or reversal, each always with probability 1/3."""
    return ADD + below(net.rng, THREE)


@kernel
def structure_step(net: Net, move: int) -> bool:
    """Try one move; True when the graph changed."""
    if move == FLIP:
        return flip_any(net)
    if move == ADD:
        return add_any(net)
    if move == DELETE:
        return delete_any(net)
    return reverse_any(net)


@kernel
def flip_any(net: Net) -> bool:
    """MC3: α = min{1, π(γ′)/π(γ)}."""
    if net.free.size == 0:
        return False
    code = int64(net.free[below(net.rng, net.free.size)])
    i, j = parent_of(code), child_of(code)
    if net.position[j, i] != ABSENT:
        return False
    score = flipped_score(net, j, i)
    if not happens(net.rng, math.exp(min(0.0, score - net.local[j]))):
        return False
    if present(net, i, j):
        remove_edge(net, i, j, score)
        return True
    if is_ancestor(net, j, i):
        return False
    add_edge(net, i, j, score)
    return True


@kernel
def add_any(net: Net) -> bool:
    """Addition: α = min{1, π(γ′)/π(γ) · room/(d + 1)}, where room counts the pairs that could take an edge."""
    if net.room == 0:
        return False
    code = random_absent(net)
    i, j = parent_of(code), child_of(code)
    score = flipped_score(net, j, i)
    ratio = odds(score - net.local[j]) * (net.room / (net.edge_count + 1.0))
    if not happens(net.rng, min(1.0, ratio)) or is_ancestor(net, j, i):
        return False
    add_edge(net, i, j, score)
    return True


@kernel
def delete_any(net: Net) -> bool:
    """Deletion: α = min{1, π(γ′)/π(γ) · d/room′}."""
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    score = flipped_score(net, j, i)
    ratio = odds(score - net.local[j]) * (net.edge_count / (net.room + places(net, i, j)))
    if not happens(net.rng, min(1.0, ratio)):
        return False
    remove_edge(net, i, j, score)
    return True


@kernel
def reverse_any(net: Net) -> bool:
    """Reversal: α = min{1, π(γ′)/π(γ)}, the number of edges stays."""
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    if net.status[j, i] != FREE:
        return False
    without = flipped_score(net, j, i)
    turned = flipped_score(net, i, j)
    gain = without - net.local[j] + turned - net.local[i]
    if not happens(net.rng, math.exp(min(0.0, gain))) or has_detour(net, i, j):
        return False
    remove_edge(net, i, j, without)
    add_edge(net, j, i, turned)
    return True


@kernel
def random_absent(net: Net) -> int:
    """Return the code of a free edge, uniform among those whose two nodes are not adjacent."""
    while True:
        code = int64(net.free[below(net.rng, net.free.size)])
        if not adjacent(net, parent_of(code), child_of(code)):
            return code
