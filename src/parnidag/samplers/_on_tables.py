"""What samplers on a search space have in common: tables, starting graphs, and what to tell the reader.

Those that walk over orders or partitions also draw graphs from them, in which every node chooses its parents
independently of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from parnidag._util.checks import number, whole
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import Dag, drop_parents, take_parents
from parnidag.kernels.declare import keeps
from parnidag.kernels.jit import kernel
from parnidag.kernels.types import Codes, Floats, Integers, int64
from parnidag.samplers.base import Asked, Prepared, Sampler
from parnidag.space.search import starting_graphs
from parnidag.tables.arrays import Tables
from parnidag.tables.build import DEFAULT_MEMORY, build_tables
from parnidag.tables.sums import draw_parents, write_parents
from parnidag.target import Target


@dataclass(frozen=True)
class SamplerOnTables(Sampler):
    """A sampler with tables of a search space: every node's parents are candidates, and at most one other."""

    plus_one: bool | None = None
    memory: float = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        if self.plus_one not in (None, True, False):
            raise ParnidagError(f"plus_one must be True, False or None, got {self.plus_one!r}")
        number(self.memory, "memory", above=0, most=float("inf"), what="a number of bytes")

    default_space: ClassVar[Literal["skeleton", "grown"]] = "grown"
    restricted: ClassVar[bool] = True

    @property
    def table_memory(self) -> float:
        return float(self.memory)

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        """Fill the tables of the search space; each chain starts at the best graph of a search of its own."""
        candidates = self.candidates(asked.considered)
        with asked.stages("tables"):
            tables = build_tables(target, candidates, plus_one=self.plus_one, memory=self.table_memory)
        if not asked.chains:
            return Prepared(candidates, tables)
        with asked.stages("starting graphs"):
            return Prepared(candidates, tables, starts=starting_graphs(tables, asked.seed, asked.chains))

    def candidates(self, considered: Adjacency | None) -> Adjacency:
        """Return the candidates, or say that they are missing."""
        if considered is None:
            raise ParnidagError(f"{self.name} needs a search space")
        return considered

    def _leaves_graphs_out(self, prepared: Prepared) -> bool:
        assert prepared.tables is not None
        return self.restricted and not prepared.tables.covers_everything

    def law_of(self, prepared: Prepared) -> str:
        """Name the law, and say so where it knows nothing of graphs outside the search space."""
        if not self._leaves_graphs_out(prepared):
            return self.law
        return f"{self.law or 'the posterior'}, within its search space alone"

    def caveats(self, prepared: Prepared) -> list[str]:
        """Say which graphs the result is about; nothing if that is all of them."""
        if not self._leaves_graphs_out(prepared):
            return []
        other = " and at most one other" if prepared.tables is not None and prepared.tables.plus_one else ""
        return [
            f"only graphs of the search space were sampled: every node's parents are among its candidates{other}. "
            "Where the space lacks a good graph, edges inside it can be far too probable too: compare with a grown "
            "space, space.iterative, or with PARNI, REV, ADR or MC3, which sample all graphs"
        ]


@dataclass(frozen=True)
class DrawingSampler(SamplerOnTables):
    """A sampler that walks over something else, orders or partitions, and draws graphs from it at regular intervals."""

    graph_every: int | None = None

    walks_on_tables: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.graph_every is not None:
            whole(self.graph_every, "graph_every", 1, note="or None")

    def default_thin(self, n_nodes: int) -> int:
        return max(500, 10 * n_nodes)

    def steps_a_level(self, target: Target) -> int:
        """Values that are learned depend on the graph drawn last, so they are drawn right after it."""
        every = int(self.interval(target))
        return math.ceil(super().steps_a_level(target) / every) * every

    def interval(self, target: Target) -> int:
        """Return the iterations between drawn graphs."""
        return int64(target.n_nodes if self.graph_every is None else self.graph_every)


@keeps()
class GraphDraw(NamedTuple):
    """Working memory for a drawn graph."""

    drawn: Codes
    """The parents of each node, sorted (n × the most parents allowed)."""
    degrees: Integers
    scores: Floats


def make_graph_draw(target: Target) -> GraphDraw:
    n = target.n_nodes
    return GraphDraw(np.zeros((n, max(target.max_parents, 1)), np.int32), np.zeros(n, np.int64), np.zeros(n))


@kernel
def draw_graph(dag: Dag, tables: Tables, level: Integers, own: GraphDraw, hitting: bool) -> None:
    """Replace the graph by one drawn in proportion to its weight among those that the levels permit.

    Parents lie below their children's level. With `hitting` (a partition) every node above level 0 has at least one
    parent just one level below.
    """
    for k in range(level.size):
        j = int64(k)
        needs = hitting and level[j] > 0
        own.scores[j] = draw_parents(tables, dag.rng, j, level, level[j], needs)
        own.degrees[j] = write_parents(tables, j, tables.drawn_subset, tables.drawn_column, own.drawn[j])
        drop_parents(dag, j, own.drawn[j], own.degrees[j], own.scores[j])
    for k in range(level.size):
        j = int64(k)
        take_parents(dag, j, own.drawn[j], own.degrees[j], own.scores[j])
