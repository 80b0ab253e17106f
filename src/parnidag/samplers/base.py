"""The contract of every sampler, and the state of one chain.

A sampler is a frozen dataclass of settings. `prepare` does once what all chains share, `begin` gives a chain its own
arrays, `advance` runs it in place. The run needs nothing else, so a new sampler is one file. A chain is arrays alone:
cut into segments of any length, on any worker, it makes the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from parnidag._random import random_state
from parnidag.graph import Adjacency
from parnidag.net import GraphArrays, Scratch
from parnidag.target import Target, lay_graph
from parnidag.trace import TraceArrays, make_trace

BUFFERED_DRAWS = 256
"""Most draws a chain keeps before the run collects them."""


@dataclass
class Chain:
    """Everything one chain is made of."""

    index: int
    graph: GraphArrays
    trace: TraceArrays
    own: Any = None
    """The sampler's own arrays (a NamedTuple)."""
    _scratch: Scratch | None = field(default=None, repr=False, compare=False)

    def scratch(self, target: Target) -> Scratch:
        """Return the working memory, made when first needed on this worker."""
        if self._scratch is None:
            self._scratch = target.scratch()
        return self._scratch

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": None}

    @property
    def iteration(self) -> int:
        """Finished iterations."""
        return int(self.graph.integers[2])

    @property
    def edge_count(self) -> int:
        """Edges of the present graph, required ones included."""
        return int(self.graph.degree.sum())

    @property
    def log_posterior(self) -> float:
        """Log posterior of the present graph."""
        return float(self.graph.floats[0])

    @property
    def memo_hit_rate(self) -> float:
        """Share of local scores that were remembered."""
        hits, misses = self.graph.integers[3:5]
        return float(hits / max(hits + misses, 1))


class Sampler(Protocol):
    """What `run` asks of a sampler."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    def default_thin(self, n_nodes: int) -> int:
        """Return the iterations between stored draws when the user gives none."""
        ...

    def prepare(self, target: Target, skeleton: Adjacency | None = None) -> Any:
        """Compute once what all chains share; refuse a skeleton that the sampler has no use for."""
        ...

    def begin(self, target: Target, prepared: Any, chain: Chain, tune: int) -> None:
        """Give a new chain the sampler's own arrays."""
        ...

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run at most `steps` iterations in place; return how many were made, fewer when the draw buffer is full."""
        ...

    def totals(self, chain: Chain) -> dict[str, float]:
        """Return counters that only grow: at least `tried` and `accepted`."""
        ...

    def gauges(self, chain: Chain) -> dict[str, float]:
        """Return present values worth showing, such as ω."""
        ...

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        ...


def new_chain(target: Target, graph: Adjacency, seed: int, index: int) -> Chain:
    """Return a chain that stands at `graph`, with its own random stream."""
    arrays = target.empty_graph()
    arrays.rng[:] = random_state(seed, index)
    most = arrays.edges.size
    buffer_codes = max(BUFFERED_DRAWS * 4 * target.n_nodes, 2 * most)
    chain = Chain(index, arrays, make_trace(most, buffer_codes, BUFFERED_DRAWS))
    lay_graph(target.problem, arrays, chain.scratch(target), np.ascontiguousarray(graph))
    return chain
