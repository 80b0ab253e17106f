"""Partition MCMC: a walk over ordered partitions of the nodes, from which graphs are drawn (Kuipers and Moffa 2017).

Every DAG belongs to exactly one ordered partition into parts λ₀, λ₁, …: a node's part is the length of the longest path
that ends in it. So the nodes of part 0 have no parents, and those of part p ≥ 1 have all their parents in earlier parts
and at least one in part p − 1. Given the partition nodes choose their parents independently, so that the summed weight
of its graphs is a product of sums that follow from the candidate tables:

    R(Λ) = ∏_j Σ_{Pa permitted to j by Λ} exp(score(j, Pa)).

The chain walks over partitions with probability ∝ R(Λ) and draws a graph from the present one at regular intervals.
Where order MCMC counts a graph once for every order that agrees with it, a partition counts each of its graphs once:
the drawn graphs follow the posterior, restricted to the graphs of the search space.

A node that is to change its part takes along all whose longest path leads through it, so partitions alone mix slowly.
As the article proposes, the walk is therefore combined with edge reversals (`reversal`): they are tried on each drawn
graph, of which the chain then takes the partition. Since a graph drawn from Λ ~ R follows the posterior, and edge
reversals keep it there, the partition of the result again follows R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag.graphs.adjacency import Adjacency, layers
from parnidag.kernels.dag import ABSENT, ONE, ZERO, Dag
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Integers, int64
from parnidag.moves.reversal import Reversal, make_reversal, open_reversal, reversal_move
from parnidag.samplers._on_tables import DrawingSampler, GraphDraw, draw_graph, make_graph_draw
from parnidag.samplers.base import Chain, Prepared, move_totals
from parnidag.tables.arrays import DrawArrays, TableArrays, Tables, draw_arrays, open_tables
from parnidag.tables.build import CandidateTables
from parnidag.tables.partition_moves import MOVE_WEIGHTS, MOVES, partition_step
from parnidag.tables.partitions import (
    Partition,
    PartitionArrays,
    close_partition,
    make_partition,
    open_partition,
    sort_levels,
    value_all,
)
from parnidag.target import Target


@keeps("reversals")
class PartitionState(NamedTuple):
    walk: PartitionArrays
    draws: DrawArrays
    graph: GraphDraw
    reversal: Reversal
    reversals: Integers
    """Edge reversals tried and accepted."""


@dataclass(frozen=True)
class PartitionMCMC(DrawingSampler):
    """Partition MCMC on a search space (Kuipers and Moffa 2017; Kuipers, Suter and Moffa 2022).

    Walks over ordered partitions of the nodes by exchanging two nodes of neighbouring or of any parts, splitting and
    joining parts, and moving a node to another part or to one of its own. Graphs are drawn from the present partition,
    and edges of each drawn graph are reversed (see `REV`), as many tries as there were iterations since the last one.
    Unlike those of `OrderMCMC` the graphs follow the posterior over the graphs of the search space.

    Parameters
    ----------
    plus_one, memory, graph_every
        As for `OrderMCMC`.
    """

    @property
    def alternatives(self) -> list[str]:
        return ["samplers.PARNI()"]

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Put a new chain at the partition of its graph, less parents that the tables do not hold."""
        assert prepared.tables is not None
        chain.tables = prepared.tables
        level = layers(held_graph(prepared.tables, chain.graph.position != ABSENT))
        chain.own = PartitionState(
            make_partition(level, MOVE_WEIGHTS, target.parents_only),
            draw_arrays(prepared.tables.arrays),
            make_graph_draw(target),
            make_reversal(target),
            np.zeros(2, np.int64),
        )

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        assert chain.tables is not None
        every = self.interval(target)
        return int(advance_partition(chain.parts(target), chain.tables.arrays, chain.own, every, int64(steps)))

    def on_new_tables(self, chain: Chain) -> None:
        assert chain.tables is not None
        value_partition(chain.tables.arrays, chain.own)

    def totals(self, chain: Chain) -> dict[str, float]:
        walk, (tried, accepted) = chain.own.walk, chain.own.reversals
        counters = np.append(walk.tried, tried), np.append(walk.accepted, accepted)
        outside = float(chain.own.reversal.outside[0])
        return move_totals((*MOVES, "edge_reversal"), *counters) | {"edge_reversal_outside": outside}


def held_graph(tables: CandidateTables, graph: Adjacency) -> Adjacency:
    """Return the graph without parents that the tables do not hold; of several extras a node keeps the first."""
    inside = graph & (tables.considered | tables.target.required)
    outside = graph & ~inside
    first = outside & (np.cumsum(outside, axis=0) == 1)
    return np.asarray(inside | (first & tables.plus_one))


@entry
def value_partition(table_arrays: TableArrays, state: PartitionState) -> None:
    run = open_partition(state.walk)
    value_all(open_tables(table_arrays, state.draws), run)
    close_partition(run, state.walk)


@entry
def advance_partition(
    parts: ChainArrays, table_arrays: TableArrays, state: PartitionState, every: int, steps: int
) -> int:
    dag, recorder = open_chain(parts)
    tables = open_tables(table_arrays, state.draws)
    run = open_partition(state.walk)
    reversal = open_reversal(state.reversal)
    going = begin_segment(dag, recorder, steps)
    if going and dag.now == ZERO:
        value_all(tables, run)
        draw_graph(dag, tables, run.level, state.graph, True)
    while going:
        partition_step(dag.rng, tables, run)
        if (dag.now + ONE) % every == ZERO:
            draw_graph(dag, tables, run.level, state.graph, True)
            reverse_edges(dag, tables, run, reversal, every, state.reversals)
        going = observe(dag, recorder)
    close_partition(run, state.walk)
    return close_chain(dag, recorder, parts)


@kernel
def reverse_edges(dag: Dag, tables: Tables, run: Partition, reversal: Reversal, tries: int, counts: Integers) -> None:
    """Try to reverse edges of the drawn graph, and take over the partition of the result."""
    for _ in range(tries):
        counts[0] += ONE
        counts[1] += reversal_move(dag, tables, reversal)
    read_levels(dag, run)
    sort_levels(run)
    value_all(tables, run)


@kernel
def read_levels(dag: Dag, run: Partition) -> None:
    """Write the length of the longest path that ends in each node of the graph to `level`.

    Sweeps until nothing changes; the nodes are visited in the order of the last partition, mostly parents first.
    """
    for j in range(run.n):
        run.level[j] = ZERO
    is_rising = True
    while is_rising:
        is_rising = False
        for place in range(run.n):
            j = run.order[place]
            height = ZERO
            for k in range(dag.degree[j]):
                height = max(height, run.level[dag.parents[j, k]] + ONE)
            is_rising |= height > run.level[j]
            run.level[j] = height
