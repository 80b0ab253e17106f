"""Completed tables under BGe: the cells of a table that are not known, and what one chain has put there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parnidag.cells.arrays import CellArrays, CellLayout, make_arrays
from parnidag.cells.columns import ANYTHING, KNOWN, ColumnCells
from parnidag.cells.filled import EmptyCells, Meaning, forget_draws, note_draw
from parnidag.cells.margins import Margin
from parnidag.cells.rescale import CellPrior
from parnidag.cells.sums import add_up, fill_matrices, fill_table
from parnidag.cells.sweep import between, describe_world, sweep
from parnidag.cells.worlds import World, forget_worlds, make_worlds, note_world
from parnidag.kernels.jit import entry
from parnidag.kernels.problem import ScoreTable, gaussian_table
from parnidag.kernels.random import RandomState, below, normal
from parnidag.kernels.types import Floats, Integers, int64
from parnidag.scores.gaussian import bge_coefficients, bge_prior_scale

FIRST_SWEEPS = 30
"""Sweeps before a chain begins, over graphs that leave no relation out."""
MOST_FIRST_PARENTS = 30
"""Columns that a column depends on in these graphs, at most: those before it that it has most to do with."""


@dataclass(frozen=True, eq=False)
class GaussianCells:
    """The cells of a table, and the BGe scores, one for each value that is learned, that complete it."""

    layout: CellLayout
    fixed: Floats
    """The table, with anything in latent cells (columns × rows)."""
    alpha_mu: float
    alpha_w: tuple[float, ...]
    empty: EmptyCells
    meanings: tuple[Meaning | None, ...]
    """What the numbers of each node are in the table."""
    margins: tuple[Margin, ...] = ()
    """The same as effects need it; none if nobody asks."""

    @staticmethod
    def of(nodes: Sequence[ColumnCells], alpha_mu: float, alpha_w: Sequence[float]) -> GaussianCells:
        layout, fixed = lay_out(nodes), np.concatenate([node.fixed for node in nodes])
        meanings = tuple(node.meaning for node in nodes)
        margins = tuple(node.margin for node in nodes if node.margin is not None)
        return GaussianCells(layout, fixed, alpha_mu, tuple(alpha_w), _empty_cells(nodes, layout), meanings, margins)

    @property
    def columns(self) -> int:
        return self.layout.columns

    @cached_property
    def scales(self) -> Floats:
        return np.array([bge_prior_scale(self.columns, self.alpha_mu, one) for one in self.alpha_w])

    @cached_property
    def coefficients(self) -> list[Floats]:
        rows = np.array([float(self.fixed.shape[1])])
        return [bge_coefficients(rows, self.columns, self.alpha_mu, one) for one in self.alpha_w]

    @cached_property
    def curved(self) -> Integers:
        """The nodes with empty cells whose numbers are no straight line of those in the table."""
        straight = np.array([meaning is None or meaning.endless for meaning in self.meanings])
        return np.asarray(self.empty.nodes[~straight[self.empty.nodes]])

    @cached_property
    def slopes(self) -> Floats:
        """How many units of the table one of the model is; 1 for curved nodes."""
        return np.array([one.values[1] - one.values[0] if one and one.endless else 1.0 for one in self.meanings])

    @cached_property
    def offsets(self) -> Floats:
        """Which number of the table 0 is; 0 for curved nodes."""
        return np.array([one.values[0] if one and one.endless else 0.0 for one in self.meanings])

    @property
    def sweep_seconds(self) -> float:
        """About how long one draw of the cells takes, by their number."""
        varying = float(self.layout.varies.sum())
        return float(7e-8 * self.layout.rows.size + 1e-10 * self.fixed.shape[1] * self.columns * varying)

    @property
    def bytes_of_a_chain(self) -> float:
        """How much memory a completed table takes, with what its parents leave of it."""
        return 8.0 * (2 * self.fixed.size + self.layout.rows.size + 3 * self.columns**2)

    def prior(self, value: int) -> CellPrior:
        """Return the prior of parameters under one of the values that are learned."""
        return CellPrior(float(self.alpha_mu), float(self.alpha_w[value]), float(self.scales[value]))

    def describe(self) -> dict[str, float]:
        """Return how many cells of the model's table are drawn, and their share, in a form that JSON can hold."""
        drawn = self.layout.rows.size + self.layout.empty_rows.size
        nodes = len(self.layout.first_column) - 1
        return {"drawn": drawn, "share": drawn / (nodes * self.fixed.shape[1])}

    def completed(self) -> Completed:
        """Return a table that is still to be completed."""
        return Completed(self, make_arrays(self.layout, self.fixed))

    def begin(self, rng: RandomState) -> Completed:
        """Return a table that is completed at random, by what all columns say of each other.

        Cells that were drawn from margins, or under a graph that lacks an edge, would hide relations from a search.
        """
        made = self.completed()
        draw_first(self.layout, made.arrays, rng)
        made.settle()
        value = len(self.alpha_w) // 2
        for k in range(FIRST_SWEEPS):
            if k in (0, FIRST_SWEEPS // 2):
                parents, degree = self._leaning(made.arrays.products)
            made.draw(value, parents, degree, rng)
        return made

    def _leaning(self, products: Floats) -> tuple[Integers, Integers]:
        """Let every node depend on those before it: on all, or the ones it has most to do with."""
        first, n = self.layout.first_column, len(self.layout.first_column) - 1
        root = np.sqrt(np.maximum(np.diagonal(products), 1e-300))
        alike = np.abs(products / root[:, None] / root)
        between_nodes = np.maximum.reduceat(np.maximum.reduceat(alike, first[:-1], axis=0), first[:-1], axis=1)
        parents, degree = np.zeros((n, min(n, MOST_FIRST_PARENTS)), np.int32), np.zeros(n, np.int64)
        for j in range(n):
            near = np.sort(np.argsort(-between_nodes[:j, j], kind="stable")[:MOST_FIRST_PARENTS])
            parents[j, : near.size], degree[j] = near, near.size
        return parents, degree


class Completed:
    """One chain's completed table and its scores, one table for each value that is learned; changed in place."""

    def __init__(self, cells: GaussianCells, arrays: CellArrays) -> None:
        layout, values = cells.layout, len(cells.alpha_w)
        columns, n = layout.columns, len(layout.first_column) - 1
        self.cells, self.arrays = cells, arrays
        self._grams = np.zeros((values, 1, columns, columns))
        self._owns, self._nodes = np.zeros((values, columns)), np.zeros((values, n))
        self.filled = cells.empty.sums()
        self.worlds = make_worlds(columns * (columns - 1) + 3 * columns)
        self._by_column = [self._table(k, columns) for k in range(values)]
        self.tables = tuple(self._table(k, n) for k in range(values))
        """For each value the score of a node given its parents."""

    def _table(self, k: int, children: int) -> ScoreTable:
        """Return the score with a node for each column, or with the nodes there are."""
        layout = self.cells.layout
        single = children == layout.columns
        plain = gaussian_table(self._grams[k], self._owns[k], self.cells.coefficients[k], np.zeros(children, np.int64))
        if single:
            return plain
        first = layout.first_column
        return plain._replace(
            own=self._nodes[k], first_column=first, child_column=first[:-1].copy(), child_width=np.diff(first)
        )

    def draw(self, value: int, parents: Integers, degree: Integers, rng: RandomState) -> None:
        """Draw parameters and latent cells given a graph, under one of the learned values; then sum up anew."""
        cells = self.cells
        sweep(cells.layout, self.arrays, self._by_column[value], cells.prior(value), parents, degree, rng)
        self._sum_up(False)

    def settle(self) -> None:
        """Make the rest fit the latent cells, which have been written from outside."""
        fill_table(self.cells.layout, self.arrays)
        self._sum_up(True)

    def note(self, value: int, parents: Integers, degree: Integers) -> None:
        """Add what was just drawn, given this graph and under this value, to what the chain has drawn."""
        note_world(self.worlds, lambda: self._world(value))
        cells, empty = self.cells, self.cells.empty
        drawn = self.arrays.table[cells.layout.first_column[empty.node_of_cell], empty.rows]
        drawn = cells.offsets[empty.node_of_cell] + cells.slopes[empty.node_of_cell] * drawn
        for j in cells.curved.tolist():
            drawn[empty.first[j] : empty.first[j + 1]] = self._in_table(j, drawn[empty.first[j] : empty.first[j + 1]])
        note_draw(empty, self.filled, drawn, self._correlations()[cells.layout.varies])

    def forget(self) -> None:
        """Forget what was drawn, when tuning ends."""
        forget_draws(self.filled)
        forget_worlds(self.worlds)

    def _world(self, value: int) -> World:
        own = self.arrays
        edges = int(own.member_count.sum())
        codes, numbers = np.zeros(edges, np.int32), np.zeros(2 * edges + 3 * own.totals.size)
        describe_world(own, self._by_column[value], float(self.cells.alpha_mu), codes, numbers)
        return codes, numbers

    def _in_table(self, j: int, drawn: Floats) -> Floats:
        """Return what stands in the empty cells of a node, in the units of the table or as codes."""
        layout, meaning = self.cells.layout, self.cells.meanings[j]
        if layout.first_vector[j + 1] > layout.first_vector[j]:
            return self.arrays.classes[layout.first_empty[j] : layout.first_empty[j + 1]].astype(float)
        assert meaning is not None
        return meaning.of(drawn)

    def _correlations(self) -> Floats:
        """Return how much each column has to do with the others: the root mean square of its correlations.

        They do not depend on the scale of a latent column, of which ordered classes say nothing.
        """
        own = self.arrays
        spread = own.products - np.outer(own.totals, own.totals / own.table.shape[1])
        units = np.sqrt(np.maximum(np.diagonal(spread), 1e-300))
        squares = (spread / np.outer(units, units)) ** 2
        np.fill_diagonal(squares, 0.0)
        return np.asarray(np.sqrt(squares.sum(axis=1) / max(len(squares) - 1, 1)))

    def _sum_up(self, everything: bool) -> None:
        cells = self.cells
        add_up(cells.layout, self.arrays, everything)
        first = cells.layout.first_column
        fill_matrices(self.arrays, cells.alpha_mu, cells.scales, first, self._grams, self._owns, self._nodes)


def lay_out(nodes: Sequence[ColumnCells]) -> CellLayout:
    """Put the cells of all nodes into one layout."""
    widths = [len(node.fixed) for node in nodes]
    widest = max(widths)
    latent = [np.flatnonzero(node.bound != KNOWN) for node in nodes]
    empty = [np.flatnonzero(node.empty) if len(node.vectors) else np.zeros(0, np.int64) for node in nodes]
    shifts = np.cumsum([0, *(max(node.low.size - 1, 0) for node in nodes)])
    bounds = [
        np.where(node.bound[rows] == ANYTHING, ANYTHING, node.bound[rows] + shift)
        for node, rows, shift in zip(nodes, latent, shifts, strict=False)
    ]
    counts = np.concatenate([[rows.size] + [0] * (width - 1) for rows, width in zip(latent, widths, strict=True)])
    varies = np.repeat([rows.size + cells.size > 0 for rows, cells in zip(latent, empty, strict=True)], widths)
    vectors = [np.pad(node.vectors, ((0, 0), (0, widest - node.vectors.shape[1]))) for node in nodes]
    return CellLayout(
        first_column=_ends(widths),
        first_cell=_ends(counts),
        rows=np.concatenate(latent),
        bound=np.concatenate(bounds).astype(np.int64),
        low=np.concatenate([[-np.inf], *(node.low[1:] for node in nodes)]),
        high=np.concatenate([[np.inf], *(node.high[1:] for node in nodes)]),
        first_vector=_ends([len(node.vectors) for node in nodes]),
        vectors=np.ascontiguousarray(np.concatenate(vectors)),
        first_empty=_ends([rows.size for rows in empty]),
        empty_rows=np.concatenate(empty),
        varies=varies,
        cut=np.concatenate([[_only_cut(node)] * width for node, width in zip(nodes, widths, strict=True)]),
    )


def _empty_cells(nodes: Sequence[ColumnCells], layout: CellLayout) -> EmptyCells:
    rows = [np.flatnonzero(node.empty) for node in nodes]
    meanings = [node.meaning or Meaning(np.zeros(1), np.zeros(1)) for node in nodes]
    numbers = [not meaning.levels for meaning in meanings]
    spread = [meaning.values.std() if number else 0.0 for meaning, number in zip(meanings, numbers, strict=True)]
    return EmptyCells(
        _ends([one.size for one in rows]),
        np.concatenate(rows),
        np.array([meaning.levels for meaning in meanings]),
        np.array([meaning.values.mean() if number else 0.0 for meaning, number in zip(meanings, numbers, strict=True)]),
        np.array([one if one > 0.0 else 1.0 for one in spread]),
        int(layout.varies.sum()),
    )


def _only_cut(node: ColumnCells) -> float:
    """Return the cut of a column if that is all that is known of its numbers."""
    bounds = np.concatenate([node.low, node.high])
    cuts = np.unique(bounds[np.isfinite(bounds)])
    return float(cuts[0]) if cuts.size == 1 and (node.bound != KNOWN).all() else np.nan


def _ends(sizes: Sequence[int] | Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@entry
def draw_first(layout: CellLayout, own: CellArrays, rng: RandomState) -> None:
    """Draw every latent cell from what its column alone says."""
    for cell in range(layout.rows.size):
        bound = layout.bound[cell]
        if bound == 0:
            own.latent[cell] = normal(rng)
        else:
            own.latent[cell] = between(rng, 0.0, 1.0, layout.low[bound], layout.high[bound])
    for j in range(layout.first_empty.size - 1):
        count = int64(layout.first_vector[j + 1] - layout.first_vector[j])
        for cell in range(layout.first_empty[j], layout.first_empty[j + 1]):
            own.classes[cell] = below(rng, count)
