"""Draws of graphs with draws of their tables of probabilities, for the score of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from parnidag.effects import elimination
from parnidag.effects.draws import STREAM, DrawnGraphs, Families, draw_values, families_of, value_weights
from parnidag.effects.source import Source, variants_of
from parnidag.effects.worlds import DAMAGED, lay_worlds, refuse_without_worlds, world_sizes
from parnidag.errors import ParnidagError
from parnidag.kernels.random import random_state
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.results.record import RunRecord
from parnidag.scores.bdeu import BDeu
from parnidag.scores.by_name import described_score

MOST_CELLS = 2**13
"""Joint tables of the frontier up to this size are exact; else rows are simulated."""
SIMULATED_ROWS = 2000
MOST_TABLE_CELLS = 2.0**20
"""Cells of a node's own table; a node with more has more parents than any table of rows could tell anything of."""


@dataclass(frozen=True, eq=False)
class TableDraws:
    """Graphs, counts of their families, and how much the prior of each draw is worth."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    graphs: DrawnGraphs
    counted: elimination.Counted
    plan: elimination.Plan
    ess: Floats
    """Learned values, or the one that was given (values)."""
    weights: Floats
    """How probable each is, given the graph and the data (graphs × values)."""
    value: Integers
    """Which of them each draw has (draws)."""
    rows: Integers
    """Rows of the data that have each level (levels)."""
    seed: int

    def rows_of(self, name: str, level: str) -> int:
        """Return how many rows of the data have a level."""
        node = self.names.index(name)
        return int(self.rows[self.counted.level[node] + self.labels[node].index(level)])

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws."""
        chains, draws = self.graphs.index.shape
        return chains, draws

    @cached_property
    def exact_share(self) -> float:
        """For which share of the draws probabilities are sums over all rows there could be, not over simulated ones."""
        return float((self.plan.cells <= MOST_CELLS)[self.graphs.graph_of].mean())

    @property
    def method(self) -> str:
        """How probabilities are found from the tables, in words."""
        if self.exact_share == 1.0:
            return "exact sums (variable elimination)"
        simulated = f"{SIMULATED_ROWS} simulated rows a draw"
        if self.exact_share == 0.0:
            return simulated
        return f"exact sums (variable elimination) for {self.exact_share:.0%} of the draws, {simulated} for the others"

    def _room(self) -> elimination.Room:
        sizes = np.diff(self.counted.first)[self.counted.of].sum(axis=1)
        joint = int(min(self.plan.cells.max(), MOST_CELLS))
        return elimination.make_room(len(self.names), int(sizes.max()), joint)

    def set_nodes(self, fixed: Integers) -> Floats:
        """Return the probability of every level in every draw, if some nodes are set to levels (draws × levels)."""
        found = np.empty((self.graphs.index.size, self.counted.level[-1]))
        rngs = random_state(self.seed, STREAM, 1), random_state(self.seed, STREAM, 2)
        ess = self.ess[self.value]
        laid, graph_of = self.graphs.laid, self.graphs.graph_of
        args = (laid, self.plan, self.counted, graph_of, ess, True, fixed, SIMULATED_ROWS, *rngs, self._room(), found)
        elimination.probabilities(*args)
        return found

    def mean_given_graphs(self, fixed: Integers) -> Floats:
        """Return the posterior mean of these probabilities given each different graph (graphs × levels)."""
        graphs = np.arange(len(self.plan.order))
        total = np.zeros((len(graphs), self.counted.level[-1]))
        found = np.empty_like(total)
        for ess, weight in zip(self.ess, self.weights.T, strict=True):
            rngs = random_state(self.seed, STREAM, 1), random_state(self.seed, STREAM, 3)
            values, room = np.full(len(graphs), ess), self._room()
            args = (self.plan, self.counted, graphs, values, False, fixed, SIMULATED_ROWS, *rngs, room, found)
            elimination.probabilities(self.graphs.laid, *args)
            total += weight[:, None] * found
        return total

    def changed(self, one: Integers, other: Integers) -> Flags:
        """Mark for each different graph the nodes that two interventions can make differ (graphs × n)."""
        found = np.zeros((2, *self.plan.order.shape), bool)
        for fixed, marks in zip((one, other), found, strict=True):
            elimination.mark_changed(self.graphs.laid, fixed, one != other, marks)
        return np.asarray(found[0] | found[1])


def table_draws(source: Source, graphs: DrawnGraphs, seed: int) -> TableDraws:
    """Count the families of the graphs; tables themselves are drawn anew, and alike, for each question."""
    levels = source.data.discrete()
    arity = np.array([len(labels) for labels in levels.labels], np.int64)
    families = families_of(graphs)
    counted = elimination.Counted(
        families.of, *_count(source, families, arity), arity, np.append(np.int64(0), np.cumsum(arity))
    )
    ess = np.array([float(score.ess) for score in source.variants])  # type: ignore[attr-defined]
    weights = value_weights(np.array([_scores(counted, families, arity, one) for one in ess]), families, source.scored)
    plan = elimination.make_plan(graphs.laid, arity)
    values = draw_values(weights, graphs, seed)
    counts = source.data.row_counts()
    rows = np.concatenate([np.bincount(c, counts, k) for c, k in zip(levels.codes, arity, strict=True)])
    return TableDraws(source.names, levels.labels, graphs, counted, plan, ess, weights, values, rows, seed)


def world_tables(record: RunRecord, seed: int) -> TableDraws:
    """Return the graphs that chains drew beside the cells of a table of classes, with the counts they had then."""
    refuse_without_worlds(record)
    labels = tuple(tuple(record.settings["cells"]["levels"][name]) for name in record.nodes)
    arity, n = np.array([len(one) for one in labels], np.int64), len(labels)
    sizes, numbers = world_sizes(record), np.asarray(record.worlds_numbers)
    laid = lay_worlds(n, sizes[:, 0], np.asarray(record.worlds_codes))[0]
    graphs = DrawnGraphs(np.arange(len(sizes)).reshape(np.asarray(record.worlds_ends).shape[:2]), laid)
    cells = np.tile(arity.astype(float), (len(sizes), 1))
    world = np.repeat(np.arange(len(sizes)), sizes[:, 0])
    np.multiply.at(cells, (world, graphs.children), arity[laid.parents].astype(float))
    if (cells.sum(axis=1) + 1 != sizes[:, 1]).any():
        raise ParnidagError(f"{DAMAGED}: their numbers are not those of their edges")
    ends = np.cumsum(sizes[:, 1])
    first = np.append(np.int64(0), np.cumsum(cells.astype(np.int64)))
    counts = np.delete(numbers, ends - 1).astype(np.int64)
    score = described_score(record.settings["score"])
    assert isinstance(score, BDeu)
    ess = np.array([float(one.ess) for one in variants_of(record, score)])  # type: ignore[attr-defined]
    value = numbers[ends - 1].astype(np.int64)
    if counts.min() < 0 or value.min() < 0 or value.max() >= ess.size:
        raise ParnidagError(f"{DAMAGED}: a count is none")
    level = np.append(np.int64(0), np.cumsum(arity))
    counted = elimination.Counted(np.arange(cells.size).reshape(cells.shape), first, counts, arity, level)
    plan = elimination.make_plan(laid, arity)
    rows = np.zeros(level[-1], np.int64)
    for j, family in enumerate(counted.of[0]):
        rows[level[j] : level[j + 1]] = counts[first[family] : first[family + 1]].reshape(-1, arity[j]).sum(axis=0)
    return TableDraws(record.nodes, labels, graphs, counted, plan, ess, np.eye(ess.size)[value], value, rows, seed)


def _count(source: Source, families: Families, arity: Integers) -> tuple[Integers, Integers]:
    """Return where the cells of each family begin, and the rows in each: those in which its node was not set."""
    data = source.data
    codes = np.ascontiguousarray(data.discrete().codes, np.int64)  # as those from a file lie
    pattern, masks = data.patterns()
    counts = data.row_counts()
    rows = np.ones(codes.shape[1], np.int64) if counts is None else np.asarray(counts, np.int64)
    weights = np.array([rows if mask is None else rows * data.codes_used(mask) for mask in masks])
    sizes = arity[families.nodes].astype(float)
    np.multiply.at(sizes, np.repeat(np.arange(len(sizes)), np.diff(families.first)), arity[families.parents])
    if sizes.max() > MOST_TABLE_CELLS:
        node = source.names[int(families.nodes[sizes.argmax()])]
        raise ParnidagError(
            f"in some stored graphs {node} has so many parents that its table of probabilities would have "
            f"{sizes.max():.3g} cells; at most {MOST_TABLE_CELLS:.0f} can be drawn"
        )
    first = np.append(np.int64(0), np.cumsum(sizes).astype(np.int64))
    found = np.zeros(first[-1], np.int64)
    elimination.count_families(
        codes, arity, weights, pattern, families.nodes, families.first, families.parents, first, found
    )
    return first, found


def _scores(counted: elimination.Counted, families: Families, arity: Integers, ess: float) -> Floats:
    """Return the BDeu score of every family from its counts."""
    sizes = np.diff(counted.first)
    prior = np.repeat(ess / sizes, sizes)
    cells = np.add.reduceat(gammaln(prior + counted.counts) - gammaln(prior), counted.first[:-1])
    levels = np.repeat(arity[families.nodes], sizes // arity[families.nodes])  # of each row of cells
    begins = np.append(np.int64(0), np.cumsum(levels)[:-1])
    totals = np.add.reduceat(counted.counts, begins)
    row_prior = prior[begins] * levels
    of_row = np.append(np.int64(0), np.cumsum(sizes // arity[families.nodes])[:-1])
    return np.asarray(cells - np.add.reduceat(gammaln(row_prior + totals) - gammaln(row_prior), of_row))
