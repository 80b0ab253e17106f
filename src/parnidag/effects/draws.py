"""Draws of graphs with draws of their parameters, for scores of linear relations.

Values that were learned along with the graph are drawn anew for every stored graph, from their law given the graph and
the data: graph and value together then have their joint posterior, as they had in the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from parnidag.effects import kernels
from parnidag.effects.source import Scales, Source, scales_of
from parnidag.errors import ParnidagError
from parnidag.kernels.random import random_state
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.results.packing import fingerprints, number_graphs
from parnidag.results.record import RunRecord

MOST_DRAWS = 20_000
"""Of longer runs so many draws are used, evenly spaced: more would hardly lower Monte-Carlo errors."""
NEGLIGIBLE = 1e-14
"""Learned values with less weight given a graph are left out of its posterior mean."""
STREAM = 0x9A12
"""Random numbers of effects are none of the chains'."""


@dataclass(frozen=True, eq=False)
class DrawnGraphs:
    """The graphs of the draws that are used, each different one once."""

    index: Integers
    """Which graph each draw is (chain, draw)."""
    laid: kernels.Laid

    @property
    def graph_of(self) -> Integers:
        return self.index.ravel()

    @property
    def edges(self) -> Integers:
        """The number of edges of each graph."""
        return np.asarray(self.laid.first[:, -1] - self.laid.first[:, 0])

    @cached_property
    def children(self) -> Integers:
        """The child of every slot."""
        n = self.laid.order.shape[1]
        return np.repeat(np.tile(np.arange(n), len(self.laid.first)), np.diff(self.laid.first, axis=1).ravel())


def drawn_graphs(record: RunRecord, most: int = MOST_DRAWS) -> DrawnGraphs:
    """Return the stored draws, or evenly spaced ones if there are very many."""
    index = record.graph_index
    if index.size == 0:
        raise ParnidagError(
            "this result has no stored graphs to draw parameters for: ask for some, with exact(..., draws=1000)"
        )
    chains, draws = index.shape
    kept = min(draws, max(most // chains, 1))
    index = index[:, np.linspace(0, draws - 1, kept).round().astype(np.int64)]
    used, place = np.unique(index, return_inverse=True)
    sizes = record.graph_offsets[used + 1] - record.graph_offsets[used]
    offsets = np.append(np.int64(0), np.cumsum(sizes))
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    codes = np.asarray(record.graph_edges[np.repeat(record.graph_offsets[used], sizes) + within])
    laid = kernels.lay_out(len(record.nodes), offsets, codes)
    if (laid.order[:, -1] < 0).any():
        raise ParnidagError("the result holds graphs with directed cycles, which have no effects")
    return DrawnGraphs(place.reshape(index.shape), laid)


def one_graph(adjacency: Floats) -> DrawnGraphs:
    """Return a given DAG as if it were the only draw."""
    codes = np.flatnonzero(adjacency).astype(np.int32)
    laid = kernels.lay_out(len(adjacency), np.array([0, codes.size]), codes)
    return DrawnGraphs(np.zeros((1, 1), np.int64), laid)


@dataclass(frozen=True, eq=False)
class Families:
    """Different families among graphs, a node with its parents each."""

    of: Integers
    """The family of each node in each graph (graphs × n)."""
    nodes: Integers
    first: Integers
    """The parents of family f are parents[first[f]:first[f + 1]]."""
    parents: Integers
    slots: Integers
    """For each slot of the graphs the place of the same parent in `parents`."""

    @property
    def most_parents(self) -> int:
        return int(np.diff(self.first).max(initial=0))


def families_of(graphs: DrawnGraphs) -> Families:
    """List the different families of the graphs; equal ones are fitted once."""
    laid = graphs.laid
    n = laid.order.shape[1]
    sizes = np.diff(laid.first, axis=1).ravel()
    prints = fingerprints(laid.parents * n + graphs.children, sizes)
    prints = prints + np.tile(fingerprints(n * n + np.arange(n), np.ones(n, np.int32)), len(laid.first))
    of, firsts = number_graphs(prints)
    begins = laid.first[:, :-1].ravel()
    lengths = sizes[firsts]
    first = np.append(np.int64(0), np.cumsum(lengths))
    within = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
    parents = laid.parents[np.repeat(begins[firsts], lengths) + within]
    slot_within = np.arange(len(laid.parents)) - np.repeat(begins, sizes)
    slots = np.repeat(first[of], sizes) + slot_within
    return Families(of.reshape(-1, n), firsts % n, first, parents, slots)


@dataclass(frozen=True)
class Places:
    """What has an effect, and on what there is one: a node, or a level of one."""

    node: Integers
    level: tuple[str, ...]
    """Which level of the node; empty for numbers."""
    versus: tuple[str, ...]
    """The level that it is compared with as a cause: the node's first."""

    @staticmethod
    def of_numbers(n: int) -> Places:
        return Places(np.arange(n), ("",) * n, ("",) * n)

    @property
    def has_levels(self) -> bool:
        return any(self.level)


@dataclass(frozen=True, eq=False)
class LinearDraws:
    """Graphs, the posterior means of their coefficients, and one draw of coefficients for each draw of a graph."""

    names: tuple[str, ...]
    scales: Scales
    graphs: DrawnGraphs
    means: Floats
    """Posterior mean of the coefficient of each slot, in the score's units (values × slots)."""
    weights: Floats
    """How probable each value is, given the graph and the data (graphs × values)."""
    start: Integers
    """Where the coefficients of each draw begin (draws)."""
    drawn: Floats
    """Coefficients in the score's units, the slots of one draw after those of another."""
    noise: Floats
    """Variances of the noise (draws × n)."""
    seed: int

    splits: ClassVar[bool] = True
    """Whether there are posterior means given the graphs, so that variance between them can be told."""

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws."""
        chains, draws = self.graphs.index.shape
        return chains, draws

    @property
    def places(self) -> Places:
        return Places.of_numbers(len(self.names))

    def ratios(self, standardised: bool) -> Floats:
        """Return what an effect of i on j in the score's units is in those of the columns, or in deviations."""
        unit = self.scales.units / (self.scales.deviations if standardised else 1.0)
        return np.asarray(unit[None, :] / unit[:, None])

    def effects_of(self, cause: int) -> Floats:
        """Return the total effects of a cause on every node, in every draw, in the score's units (draws × n)."""
        found = np.empty((self.graphs.index.size, len(self.names)))
        kernels.effects_of(self.graphs.laid, self.graphs.graph_of, self.start, self.drawn, cause, found)
        return found

    def mean_effects_of(self, cause: int) -> Floats:
        """Return their posterior means given each different graph (graphs × n)."""
        n = len(self.names)
        found = np.empty((len(self.weights), n))
        kernels.mean_effects_of(self.graphs.laid, self.means, self.weights, cause, np.empty(n), found)
        return found

    def set_nodes(self, fixed: Flags, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Let an experimenter set nodes to values, in units of the table.

        Returns the expected value of every node in each draw, one new row for each, and posterior means given the graph
        of each, in units of the table (draws × n).
        """
        scales, laid, graphs, n = self.scales, self.graphs.laid, self.graphs, len(self.names)
        levels = (values - scales.means) / scales.units
        rng = random_state(self.seed, STREAM, 2)
        expected, single = np.empty((2, graphs.index.size, n))
        problem = scales.centres, scales.spread, fixed, levels, rng
        kernels.set_nodes(laid, graphs.graph_of, self.start, self.drawn, self.noise, *problem, expected, single)
        numbers, begin = np.arange(len(laid.order)), laid.first[:, 0].copy()
        noiseless, room, mean, total = np.zeros((4, len(numbers), n))
        for weights, coefficients in zip(self.weights.T, self.means, strict=True):
            kernels.set_nodes(laid, numbers, begin, coefficients, noiseless, *problem, mean, room)
            total += weights[:, None] * mean
        found = (expected, single, total[graphs.graph_of])
        return tuple(scales.means + scales.units * one for one in found)  # type: ignore[return-value]


def fitted(source: Source, families: Families) -> tuple[Floats, Floats]:
    """Return the score of every family for each learned value, and the posterior means of its coefficients."""
    tables, n = source.tables(), len(source.names)
    factor, dense = np.zeros((families.most_parents + 1,) * 2), np.zeros((n, n))
    scores = np.empty((len(tables), len(families.nodes)))
    means = np.empty((len(tables), len(families.parents)))
    for table, score, mean in zip(tables, scores, means, strict=True):
        kernels.fit_families(table, families.nodes, families.first, families.parents, factor, dense, score, mean)
    return scores, means


def linear_draws(source: Source, graphs: DrawnGraphs, seed: int) -> LinearDraws:
    """Draw parameters for every draw of a graph."""
    tables, families, laid = source.tables(), families_of(graphs), graphs.laid
    n = len(source.names)
    factor, dense = np.zeros((families.most_parents + 1,) * 2), np.zeros((n, n))
    scores, family_means = fitted(source, families)
    weights = value_weights(scores, families, source.scored)
    start = np.cumsum(graphs.edges[graphs.graph_of]) - graphs.edges[graphs.graph_of]
    draws = graphs.index.size
    drawn, noise = np.empty(int(graphs.edges[graphs.graph_of].sum())), np.empty((draws, n))
    values = draw_values(weights, graphs, seed)
    rng = random_state(seed, STREAM, 1)
    for value, table in enumerate(tables):
        chosen = np.flatnonzero(values == value)
        kernels.draw_coefficients(table, laid, graphs.graph_of, chosen, start, rng, factor, dense, drawn, noise)
    return LinearDraws(
        source.names,
        scales_of(source),
        graphs,
        np.ascontiguousarray(family_means[:, families.slots]),  # one layout, so that one compiled function serves
        weights,
        start,
        drawn,
        noise,
        seed,
    )


def value_weights(scores: Floats, families: Families, scored: Integers) -> Floats:
    """Return how probable each learned value is given each graph (graphs × values), from scores (values × families).

    Values are equally probable beforehand, and edge odds, learned or not, say nothing of them given the graph.
    """
    logs = np.stack([score[families.of[:, scored]].sum(axis=1) for score in scores], axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    weights[weights < NEGLIGIBLE] = 0.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def draw_values(weights: Floats, graphs: DrawnGraphs, seed: int) -> Integers:
    """Draw a learned value, by number, for every draw of a graph."""
    sums = np.cumsum(weights, axis=1)[graphs.graph_of]
    uniform = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(STREAM, 0)))).random(
        len(sums)
    )
    return np.asarray((uniform[:, None] >= sums[:, :-1]).sum(axis=1))
