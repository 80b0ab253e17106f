"""Tempered partition MCMC: a ladder of walks over ordered partitions that crosses from mode to mode, for few nodes.

Partition MCMC (`partition.py`) with three things more. Its tables hold *all* parent sets, so that no edge is left out.
A step moves a node to a place drawn from all there are, rather than to one proposed and perhaps refused. And the walk
stands on the first rung of a ladder (`tables.ladder`), whose other rungs walk on flatter versions of the posterior and
pass on what they find. A graph is drawn from the partition of the first rung after every iteration, single edges of it
are changed, and the walk goes on from its partition. The graphs follow the posterior over all graphs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from parnidag._util.checks import number, whole
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import layers
from parnidag.kernels.dag import ABSENT, ONE, ZERO, Dag, drop_parents, take_parents
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Codes, Floats, Integers, int64
from parnidag.moves.single_edge import adr_move, single_edge_step
from parnidag.samplers._on_tables import GraphDraw, make_graph_draw
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler, move_totals
from parnidag.tables.all_sets import AllSets, NodeSet, SetSums, column_of, draw_parents
from parnidag.tables.ladder import (
    Ladder,
    LadderArrays,
    exchange_rungs,
    make_ladder,
    open_ladder,
    relocate,
    space_anew,
    take_layers,
    value_of_rung,
)
from parnidag.target import Target

MOST_NODES = 22
"""Beyond, the tables of all parent sets take more than 2 GB."""
SCATTERING = 20
"""Steps per node to a random partition."""
ALMOST_FLAT = 1e-9
"""A power at which all partitions weigh the same, but for those that are impossible."""


@keeps("scattering")
class TemperedState(NamedTuple):
    ladder: LadderArrays
    graph: GraphDraw
    room: Floats
    """For the weights of parent sets to draw from."""
    spacings: Integers
    """The iterations, all of them in the tuning, at which the ladder is spaced anew."""
    scattering: Integers
    """Steps by which every rung leaves the partition of the first graph."""


STEPS_A_LEVEL = 50
"""Iterations between draws of what is learned along with the graph, each as long as some hundred of other samplers."""
MOST_NODES_OF_ODDS = 16
"""Learned odds have many values, and tables of all parent sets for each must not take long."""


@dataclass(frozen=True)
class Tempered(Sampler):
    """Partition MCMC on a ladder of temperatures, with tables of all parent sets; for up to 22 nodes.

    Walks over ordered partitions of the nodes on several rungs: the first on the posterior, the others on powers of it,
    where nothing traps a walk. A step puts one node at a place drawn from all there are, and neighbouring rungs
    exchange their partitions (parallel tempering, Geyer 1991, over the partitions of Kuipers and Moffa 2017). An
    iteration makes n/3 steps on every rung, one round of exchanges, and draws a graph. The powers are spaced during
    tuning so that all neighbours exchange equally often.

    Values of a score that are learned along with the graph have tables of all parent sets each, made when they are
    first drawn. Edge odds with a `Beta` prior, which have some fifty values, are possible up to 16 nodes.

    Parameters
    ----------
    rungs
        Number of rungs.
    hottest
        Power of the last rung.
    """

    walks_on_tables: ClassVar[bool] = True

    rungs: int = 8
    hottest: float = 0.1

    def __post_init__(self) -> None:
        whole(self.rungs, "rungs", 1)
        number(self.hottest, "hottest", above=0, most=1)

    @property
    def alternatives(self) -> list[str]:
        return ["parnidag.exact()", "samplers.PARNI()"]

    def default_thin(self, n_nodes: int) -> int:
        return max(10, n_nodes)

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        if target.n_nodes > MOST_NODES:
            raise ParnidagError(
                f"Tempered has tables of all parent sets, for at most {MOST_NODES} nodes, got {target.n_nodes}",
                remedy="use samplers.PARNI(), which has no such limit",
            )
        if target.levels is not None and target.levels.shifts.size > 1 and target.n_nodes > MOST_NODES_OF_ODDS:
            raise ParnidagError(
                f"Tempered learns edge odds up to {MOST_NODES_OF_ODDS} nodes, got {target.n_nodes}",
                remedy="give the prior one number, such as EdgePrior(h=0.1), or use samplers.PARNI()",
            )
        if asked.considered is not None:
            raise ParnidagError("space: Tempered samples all graphs and has no use for a search space; leave it out")
        with asked.stages("tables"):
            sets = AllSets.of(target)
        return Prepared(sets=sets, starts=[target.required] * asked.chains)

    def restored(self, target: Target, prepared: Prepared) -> Prepared:
        return self.prepare(target, Asked())

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Put all rungs at the partition of the chain's graph, from where they scatter unless the user chose it."""
        chain.sets = prepared.sets
        powers = np.geomspace(1.0, float(self.hottest), int(self.rungs))
        chain.own = TemperedState(
            make_ladder(layers(chain.graph.position != ABSENT), powers),
            make_graph_draw(target),
            np.zeros(1 << (target.n_nodes + 1) // 2),
            np.array([tune // 8, tune // 4, tune // 2]),
            np.array([0 if prepared.starts is None else SCATTERING * target.n_nodes]),
        )

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        assert chain.sets is not None
        rest, own = chain.sets, chain.sets.at(target, chain.level)
        return int(
            advance_ladder(chain.parts(target), own.sums, rest.sums, chain.own, int64(steps), own.sums is not rest.sums)
        )

    def steps_a_level(self, target: Target) -> int:
        return STEPS_A_LEVEL

    def on_new_tables(self, chain: Chain) -> None:
        chain.own.ladder.values[0] = np.nan  # of the partition under other tables: to be computed anew

    def totals(self, chain: Chain) -> dict[str, float]:
        ladder = chain.own.ladder
        tried, accepted = (np.array([ladder.moves[k], ladder.trips[k + 1]]) for k in range(2))
        return move_totals(("relocation", "exchange"), tried, accepted)

    def gauges(self, chain: Chain) -> dict[str, float]:
        return {"round_trips": float(chain.own.ladder.trips[0])}


@entry
def advance_ladder(
    parts: ChainArrays, sets: SetSums, rest: SetSums, state: TemperedState, steps: int, apart: bool
) -> int:
    """Walk on; `sets` are those of the first rung, `rest` those of all others, `apart` if they differ."""
    dag, recorder = open_chain(parts)
    ladder = open_ladder(state.ladder)
    going = begin_segment(dag, recorder, steps)
    if going and dag.now == ZERO:
        scatter(dag.rng, sets, rest, ladder, state.scattering[0])
    if math.isnan(ladder.values[0]):
        ladder.values[0] = value_of_rung(sets, ladder, ZERO)
    moves = max(ONE, ladder.n // 3)
    while going:
        for rung in range(ladder.rungs):
            for _ in range(moves):
                relocate(dag.rng, sets if rung == ZERO else rest, ladder, int64(rung), ladder.powers[rung])
        exchange_rungs(dag.rng, sets, rest, ladder, dag.now & ONE, apart)
        draw_graph_of_first(dag, sets, ladder, state.graph, state.room)
        change_edges(dag, sets, ladder, ladder.n)
        for k in range(state.spacings.size):
            if dag.now + ONE == state.spacings[k]:
                space_anew(ladder)
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)


@kernel
def scatter(rng: RandomState, sets: SetSums, rest: SetSums, ladder: Ladder, moves: int) -> None:
    """Move every rung to a random partition: a walk on which all that are possible weigh almost the same."""
    for rung in range(ladder.rungs):
        own = sets if rung == ZERO else rest
        ladder.values[rung] = value_of_rung(own, ladder, int64(rung))
        for _ in range(moves):
            relocate(rng, own, ladder, int64(rung), ALMOST_FLAT)


@kernel
def draw_graph_of_first(dag: Dag, sets: SetSums, ladder: Ladder, own: GraphDraw, room: Floats) -> None:
    """Replace the graph by one drawn in proportion to its weight among those of the first rung's partition."""
    before, closed = ZERO, ZERO
    for k in range(ladder.counts[0]):
        part = ladder.parts[0, k]
        for j in range(ladder.n):
            if part >> j & ONE:
                parents = draw_parents(dag.rng, sets, int64(j), (closed, before), room)
                own.scores[j] = sets.largest[j] + sets.weights[j, column_of(parents, int64(j))]
                own.degrees[j] = list_nodes(parents, own.drawn[j])
                drop_parents(dag, int64(j), own.drawn[j], own.degrees[j], own.scores[j])
        before, closed = closed, closed | part
    for j in range(ladder.n):
        take_parents(dag, int64(j), own.drawn[j], own.degrees[j], own.scores[j])


@kernel
def change_edges(dag: Dag, sets: SetSums, ladder: Ladder, tries: int) -> None:
    """Try to add, delete or reverse edges of the drawn graph, and take over its partition.

    A graph drawn from the first rung follows the posterior, and such moves keep it there. Where edges are required two
    nodes may have to change their part together, which no relocation does: edges reach every graph.
    """
    for _ in range(tries):
        single_edge_step(dag, adr_move(dag))
    take_layers(sets, ladder, dag)


@kernel
def list_nodes(nodes: NodeSet, into: Codes) -> int:
    """Write the members of a bitmask in increasing order, and return how many there are."""
    count, node = ZERO, ZERO
    while nodes >> node:
        if nodes >> node & ONE:
            into[count] = node
            count += ONE
        node += ONE
    return count
