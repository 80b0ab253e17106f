"""Order MCMC: a walk over orders of the nodes, from which graphs are drawn (Friedman and Koller 2003).

Given an order ≺ the parents of each node are among those before it, and nodes choose theirs independently, so that
the summed weight of all graphs that agree with an order is a product of sums that stand in the candidate tables:

    R(≺) = ∏_j Σ_{Pa ⊆ {i : i ≺ j}} exp(score(j, Pa)).

The chain walks over orders with probability ∝ R(≺) and draws a graph from the present order at regular intervals. A
graph that agrees with many orders is drawn that much more often than its posterior probability says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from parnidag.graphs.adjacency import random_topological_order
from parnidag.kernels.dag import ABSENT, ONE, ZERO
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import entry
from parnidag.kernels.recorder import ChainArrays, begin_segment, close_chain, observe, open_chain
from parnidag.kernels.types import int64
from parnidag.samplers._on_tables import DrawingSampler, GraphDraw, draw_graph, make_graph_draw
from parnidag.samplers.base import Asked, Chain, Prepared, move_totals
from parnidag.space.expansion import check_expansion, expand
from parnidag.tables.arrays import DrawArrays, TableArrays, draw_arrays, open_tables
from parnidag.tables.orders import MOVES, OrderArrays, make_order, open_order, order_step, value_all
from parnidag.target import Target

SWAPS, RELOCATIONS = 5.0, 2.0
"""How often the larger moves are tried, see `make_order`."""
BIAS = (
    "order MCMC weighs every graph by the number of orders that agree with it, so these are not posterior "
    "probabilities: sparse graphs and edges that leave the order open are favoured. PartitionMCMC has no such bias"
)


@keeps()
class OrderState(NamedTuple):
    walk: OrderArrays
    draws: DrawArrays
    graph: GraphDraw


@dataclass(frozen=True)
class OrderMCMC(DrawingSampler):
    """Order MCMC on a search space (Friedman and Koller 2003; Kuipers, Suter and Moffa 2022).

    Walks over orders of the nodes by exchanging two neighbours, exchanging any two nodes, and taking a node out to put
    it where it fits best (drawn in proportion to the order's weight). Graphs are drawn from the present order.

    **Its law is not the posterior.** A graph that agrees with many orders is drawn that many times as often as its
    posterior probability says, so that sparse graphs come up too often. `PartitionMCMC` and the structure samplers have
    no such bias.

    Parameters
    ----------
    plus_one
        Whether a node may take one parent from outside its candidates. None: if the tables then fit into `memory`.
    memory
        Bytes that the tables may take.
    graph_every
        Iterations between drawn graphs, over which edge probabilities are averaged; None: as many as there are nodes.
    """

    law: ClassVar[str] = "the law of orders, not the posterior"

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Put a new chain at a random order that agrees with its graph."""
        assert prepared.tables is not None
        chain.tables = prepared.tables
        rng = np.random.default_rng(chain.graph.rng)
        order = random_topological_order(chain.graph.position != ABSENT, rng)
        chain.own = OrderState(
            make_order(order, SWAPS, RELOCATIONS, parents_only=target.parents_only),
            draw_arrays(prepared.tables.arrays),
            make_graph_draw(target),
        )

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        assert chain.tables is not None
        every = self.interval(target)
        return int(advance_order(chain.parts(target), chain.tables.arrays, chain.own, every, int64(steps)))

    def on_new_tables(self, chain: Chain) -> None:
        assert chain.tables is not None
        value_order(chain.tables.arrays, chain.own)

    def totals(self, chain: Chain) -> dict[str, float]:
        return move_totals(MOVES, chain.own.walk.tried, chain.own.walk.accepted)

    def caveats(self, prepared: Prepared) -> list[str]:
        return [BIAS, *super().caveats(prepared)]


@dataclass(frozen=True)
class IterativeMCMC(OrderMCMC):
    """Iterative MCMC: grow the search space, then sample orders on it (Kuipers, Suter and Moffa 2022).

    The search alternates between finding the best graph, in which every node may take one parent from outside its
    candidates, and making the edges found candidates. The result has the best graph as `best` and the grown space as
    `space`; its edge probabilities are those of `OrderMCMC` on that space, with the same bias.

    Parameters
    ----------
    plus_one, memory, graph_every
        As for `OrderMCMC`.
    by, threshold, max_candidates
        As for `space.iterative`.
    """

    by: Literal["best", "sampled"] = "best"
    threshold: float = 0.5
    max_candidates: int | None = None

    default_space: ClassVar[Literal["skeleton", "grown"]] = "skeleton"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_expansion(self.by, self.threshold, self.max_candidates)

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        """Grow the search space and fill its tables; the first chain starts at the best graph found."""
        with asked.stages("search space"):
            space = expand(
                target,
                self.candidates(asked.considered),
                seed=asked.seed,
                by=self.by,
                threshold=float(self.threshold),
                most_candidates=None if self.max_candidates is None else int(self.max_candidates),
                memory=self.table_memory,
            )
        prepared = super().prepare(target, replace(asked, considered=space.considered))
        assert space.best is not None
        starts = [space.best, *prepared.starts[1:]] if prepared.starts else None
        return replace(prepared, space=space, starts=starts)


@entry
def value_order(table_arrays: TableArrays, state: OrderState) -> None:
    value_all(open_tables(table_arrays, state.draws), open_order(state.walk))


@entry
def advance_order(parts: ChainArrays, table_arrays: TableArrays, state: OrderState, every: int, steps: int) -> int:
    dag, recorder = open_chain(parts)
    tables = open_tables(table_arrays, state.draws)
    run = open_order(state.walk)
    going = begin_segment(dag, recorder, steps)
    if going and dag.now == ZERO:
        value_all(tables, run)
        draw_graph(dag, tables, run.level, state.graph, False)
    while going:
        order_step(dag.rng, tables, run)
        if (dag.now + ONE) % every == ZERO:
            value_all(tables, run)  # so that rounding does not pile up over millions of moves
            draw_graph(dag, tables, run.level, state.graph, False)
        going = observe(dag, recorder)
    return close_chain(dag, recorder, parts)
