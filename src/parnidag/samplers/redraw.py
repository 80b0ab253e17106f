"""Whole graphs drawn anew, exactly, given all else that a chain draws: empty cells and learned values, for few nodes.

Where a table has cells that are not known no sum over all graphs answers at once, but given the completed table it
does. So the walk is a Gibbs sampler of two blocks: the cells (and learned values) given the graph, and the graph given
them, drawn in one go from all graphs there are. Nothing can trap the graph. What is left to mix are the cells, which
depend on a graph only through the parameters that it leaves free.

Where a sum takes longer than drawing cells, there are more draws of cells than sums: in between single edges are added,
deleted and reversed, which leaves the same law as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from parnidag._util.cores import WORTH_A_TURN
from parnidag.errors import ParnidagError
from parnidag.exact_solver.affordable import seconds_of_a_sum
from parnidag.exact_solver.draws import draw_layers, make_room
from parnidag.exact_solver.sums import Completions, bounded, complete
from parnidag.kernels.dag import ONE, ZERO, Dag, drop_parents, take_parents
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import Flags, Integers, int64
from parnidag.moves.single_edge import adr_move, single_edge_step
from parnidag.samplers._on_tables import GraphDraw, make_graph_draw
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler, move_totals
from parnidag.tables.all_sets import SetSums, all_local_scores, column_of, set_sums
from parnidag.target import Target

MOST_NODES = 18
"""Beyond, one sum takes seconds."""
USUAL_THIN = 5
MOST_A_SUM = 128
"""Iterations from sum to sum, beyond which a run of default length, 6250 in every chain, has too few of them."""
SECONDS_AN_ITERATION = 0.0016
"""What an iteration's share of a sum may take, and of drawing cells: a default run takes less than a minute."""
TRIES_A_NODE = 2
"""Single edges tried in an iteration without a sum."""
MOVES = ("redraw", "single_edge")
REDRAWN, SINGLE = int64(0), int64(1)


@keeps("tried", "accepted")
class RedrawState(NamedTuple):
    graph: GraphDraw
    tried: Integers
    """Of `MOVES`."""
    accepted: Integers


@dataclass(frozen=True)
class Redraw(Sampler):
    """Draw the whole graph anew from all graphs there are, given the cells and values that are drawn along with it.

    For tables of up to 18 nodes with cells that are not known. Each chain sums over all graphs of its completed table
    and draws one from that, then cells and learned values given the graph; single edges are changed where the next sum
    has to wait, since sums take longer than drawing cells.
    """

    walks_on_tables: ClassVar[bool] = True

    @property
    def alternatives(self) -> list[str]:
        return ["samplers.PARNI()"]

    @property
    def draws_cells(self) -> bool:
        return True

    def default_thin(self, n_nodes: int) -> int:
        return USUAL_THIN

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        if target.n_nodes > MOST_NODES:
            raise ParnidagError(
                f"Redraw adds up all graphs again and again, for at most {MOST_NODES} nodes, got {target.n_nodes}",
                remedy="use samplers.PARNI(), which has no such limit",
            )
        if asked.considered is not None:
            raise ParnidagError("space: Redraw draws from all graphs and has no use for a search space; leave it out")
        return Prepared(starts=[target.required] * asked.chains)

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        chain.own = RedrawState(make_graph_draw(target), *np.zeros((2, len(MOVES)), np.int64))

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run on, with the same cells and values throughout: all iterations draw from one sum, or none does."""
        parts, alone = chain.parts(target), target.cells is None and target.levels is None
        if not alone and chain.iteration % iterations_a_sum(target) >= self.steps_a_sweep(target):
            return int(advance_edges(parts, chain.own, int64(TRIES_A_NODE * target.n_nodes), int64(steps)))
        sets = set_sums(all_local_scores(target.at(chain.level)))
        completions = bounded(sets)
        complete(completions)
        return int(advance_redrawn(parts, sets, completions, chain.own, int64(steps)))

    def works_long(self, target: Target) -> bool:
        return seconds_of_a_sum(target) >= WORTH_A_TURN

    def steps_a_level(self, target: Target) -> int:
        return self.steps_a_sweep(target)

    def steps_a_sweep(self, target: Target) -> int:
        return iterations_a_sweep(target)

    def seconds_with_cells(self, target: Target, iterations: int) -> float:
        seconds = super().seconds_with_cells(target, iterations)
        return seconds + iterations * seconds_of_a_sum(target) / iterations_a_sum(target)

    def totals(self, chain: Chain) -> dict[str, float]:
        return move_totals(MOVES, chain.own.tried, chain.own.accepted)


def iterations_a_sweep(target: Target) -> int:
    """Return how many iterations there are from one draw of cells to the next: more, the longer it takes."""
    return _iterations(0.0 if target.cells is None else target.cells.sweep_seconds)


def iterations_a_sum(target: Target) -> int:
    """Return how many iterations there are from one sum to the next: a multiple of those between draws of cells."""
    return max(_iterations(seconds_of_a_sum(target)), iterations_a_sweep(target))


def _iterations(seconds: float) -> int:
    """Return a power of two."""
    return 1 << max(0, math.ceil(math.log2(max(seconds, 1e-9) / SECONDS_AN_ITERATION)))


def is_quick(target: Target) -> bool:
    """Are there sums often enough in a run of default length?"""
    has_sums = target.n_nodes <= MOST_NODES and not target.problem.by_children.size
    return has_sums and iterations_a_sum(target) <= MOST_A_SUM


@entry
def advance_redrawn(parts: ChainArrays, sets: SetSums, completions: Completions, state: RedrawState, steps: int) -> int:
    dag, recorder = open_chain(parts)
    going = begin_segment(dag, recorder, steps)
    room = make_room(dag.n)
    graphs = np.zeros((1, dag.n, dag.n), np.bool_)
    while going:
        draw_layers(sets, completions, room, dag.rng.reshape((1, 4)), graphs)
        take_graph(dag, sets, graphs[0], state.graph)
        state.tried[REDRAWN] += ONE
        state.accepted[REDRAWN] += ONE
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)


@entry
def advance_edges(parts: ChainArrays, state: RedrawState, tries: int, steps: int) -> int:
    dag, recorder = open_chain(parts)
    going = begin_segment(dag, recorder, steps)
    while going:
        for _ in range(tries):
            state.tried[SINGLE] += ONE
            state.accepted[SINGLE] += single_edge_step(dag, adr_move(dag))
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)


@kernel
def take_graph(dag: Dag, sets: SetSums, graph: Flags, own: GraphDraw) -> None:
    """Replace the graph by another, whose scores are known."""
    for k in range(dag.n):
        j = int64(k)
        nodes, count = ZERO, ZERO
        for i in range(dag.n):
            if graph[i, j]:
                nodes |= ONE << i
                own.drawn[j, count] = i
                count += ONE
        own.degrees[j] = count
        own.scores[j] = sets.largest[j] + sets.weights[j, column_of(nodes, j)]
        drop_parents(dag, j, own.drawn[j], count, own.scores[j])
    for k in range(dag.n):
        take_parents(dag, int64(k), own.drawn[k], own.degrees[k], own.scores[k])
