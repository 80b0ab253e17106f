"""Graphs drawn from an order or a partition: every node chooses its parents independently of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag._util.checks import whole
from parnidag.kernels.dag import Dag, drop_parents, take_parents
from parnidag.kernels.jit import kernel
from parnidag.kernels.kept import keeps
from parnidag.kernels.types import Codes, Floats, Integers, int64
from parnidag.samplers._on_tables import RestrictedSampler
from parnidag.tables.arrays import Tables
from parnidag.tables.sums import draw_parents, write_parents
from parnidag.target import Target


@dataclass(frozen=True)
class DrawingSampler(RestrictedSampler):
    """A sampler that walks over something else, orders or partitions, and draws graphs from it at regular intervals."""

    graph_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.graph_every is not None:
            whole(self.graph_every, "graph_every", 1, note="or None")

    def default_thin(self, n_nodes: int) -> int:
        """Return the default number of iterations between draws: 10 a node, at least 500."""
        return max(500, 10 * n_nodes)

    def interval(self, target: Target) -> Integers:
        """Return the iterations between drawn graphs, as an array of one."""
        return np.array([target.n_nodes if self.graph_every is None else int(self.graph_every)])


@keeps()
class GraphDraw(NamedTuple):
    """Working memory for a drawn graph."""

    drawn: Codes
    """The parents of each node, sorted (n × the most parents allowed)."""
    degrees: Integers
    scores: Floats


def make_graph_draw(target: Target) -> GraphDraw:
    """Return room for one graph."""
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
