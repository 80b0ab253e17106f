"""Completed tables under BDeu: the empty cells of a table of classes, and what one chain has put there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parnidag.cells.class_sweep import ClassArrays, draw_first_classes, fill_codes, sweep_classes
from parnidag.cells.filled import EmptyCells, forget_draws, note_draw
from parnidag.cells.worlds import MOST_NUMBERS, World, forget_worlds, make_worlds, note_world
from parnidag.kernels.by_address import pack_arrays
from parnidag.kernels.problem import ScoreTable, function_table
from parnidag.kernels.random import RandomState
from parnidag.kernels.types import Bytes, Integers
from parnidag.scores.bdeu import BDeu, as_bits, level_sets

FIRST_SWEEPS = 20
"""Sweeps before a chain begins, over graphs in which every node has the parents it has most to do with."""
MOST_FIRST_PARENTS = 2


@dataclass(frozen=True, eq=False)
class ClassCells:
    """The empty cells of a table of classes, and the values of BDeu's ess that complete it."""

    codes: Integers
    """Levels (n × rows), −1 in empty cells."""
    arity: Integers
    ess: tuple[float, ...]

    @property
    def columns(self) -> int:
        return len(self.codes)

    @cached_property
    def empty(self) -> EmptyCells:
        """Where the empty cells are."""
        nodes, rows = np.nonzero(self.codes < 0)
        first = np.searchsorted(nodes, np.arange(self.columns + 1))
        return EmptyCells(first, rows, self.arity, np.zeros(self.columns), np.ones(self.columns))

    def describe(self) -> dict[str, float]:
        drawn = int((self.codes < 0).sum())
        return {"drawn": drawn, "share": drawn / self.codes.size}

    @property
    def sweep_seconds(self) -> float:
        """About how long one draw of the cells takes, by their number."""
        return 2.5e-6 * self.empty.rows.size

    @property
    def bytes_of_a_chain(self) -> float:
        """How much memory a completed table takes."""
        return 8.0 * (self.codes.size + self.empty.rows.size)

    def completed(self) -> CompletedClasses:
        """Return a table that is still to be completed."""
        classes = np.zeros(int((self.codes < 0).sum()), np.int64)
        return CompletedClasses(self, ClassArrays(classes, np.maximum(self.codes, 0).astype(np.int64)))

    def begin(self, rng: RandomState) -> CompletedClasses:
        """Return a table that is completed at random, by what the columns say of each other."""
        made = self.completed()
        shares = [np.bincount(row[row >= 0], minlength=self.arity.max()) for row in self.codes]
        draw_first_classes(made.arrays, np.array(shares, float), self.empty.first, rng)
        made.settle()
        parents, degree = self._leaning()
        for _ in range(FIRST_SWEEPS):
            made.draw(len(self.ess) // 2, parents, degree, rng)
        return made

    def _leaning(self) -> tuple[Integers, Integers]:
        """Let every node depend on those before it that share most information with it in the rows that have both."""
        n = self.columns
        parents, degree = np.zeros((n, MOST_FIRST_PARENTS), np.int32), np.zeros(n, np.int64)
        for j in range(n):
            shared = np.array([self._information(i, j) for i in range(j)])
            near = np.sort(np.argsort(-shared, kind="stable")[:MOST_FIRST_PARENTS])
            parents[j, : near.size], degree[j] = near, near.size
        return parents, degree

    def _information(self, i: int, j: int) -> float:
        both = (self.codes[i] >= 0) & (self.codes[j] >= 0)
        counts = np.zeros((self.arity[i], self.arity[j]))
        np.add.at(counts, (self.codes[i, both], self.codes[j, both]), 1.0)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / max(counts.sum(), 1.0)
        some = counts > 0
        return float((counts[some] * np.log(counts[some] / expected[some])).sum())


class CompletedClasses:
    """One chain's completed table and its scores, one table for each value that is learned; changed in place."""

    def __init__(self, cells: ClassCells, arrays: ClassArrays) -> None:
        self.cells, self.arrays = cells, arrays
        self._first_empty, self._empty_rows = cells.empty.first, cells.empty.rows
        self.filled = cells.empty.sums()
        self.worlds = make_worlds(MOST_NUMBERS)
        function = BDeu().function()
        self.tables: tuple[ScoreTable, ...] = tuple(
            function_table(cells.columns, function, content) for content in self._contents()
        )
        """For each value the score of a node given its parents."""

    def draw(self, value: int, parents: Integers, degree: Integers, rng: RandomState) -> None:
        """Draw the empty cells given a graph, under one of the learned values; then count anew."""
        cells = self.cells
        ess = cells.ess[value]
        sweep_classes(self.arrays, cells.arity, self._first_empty, self._empty_rows, ess, parents, degree, rng)
        self._recount()

    def settle(self) -> None:
        """Make the rest fit the levels in empty cells, which have been written from outside."""
        fill_codes(self.arrays, self._first_empty, self._empty_rows)
        self._recount()

    def note(self, value: int, parents: Integers, degree: Integers) -> None:
        """Add what was just drawn, given this graph and under this value, to what the chain has drawn."""
        note_world(self.worlds, lambda: self._world(value, parents, degree))
        note_draw(self.cells.empty, self.filled, self.arrays.classes.astype(float), np.zeros(0))

    def forget(self) -> None:
        """Forget what was drawn, when tuning ends."""
        forget_draws(self.filled)
        forget_worlds(self.worlds)

    def _world(self, value: int, parents: Integers, degree: Integers) -> World | None:
        """Return the graph; the counts of its families, node by node, with the node's own levels fastest; the value."""
        codes, arity, n = self.arrays.codes, self.cells.arity, self.cells.columns
        families = [np.append(np.sort(parents[j, : degree[j]]), j) for j in range(n)]
        if sum(float(np.prod(arity[family].astype(float))) for family in families) > MOST_NUMBERS:
            return None
        edges = np.concatenate([family[:-1] * n + j for j, family in enumerate(families)]).astype(np.int32)
        counts = [
            np.bincount(np.ravel_multi_index(tuple(codes[family]), arity[family]), minlength=np.prod(arity[family]))
            for family in families
        ]
        return edges, np.concatenate([*counts, [value]]).astype(float)

    def _recount(self) -> None:
        for table, content in zip(self.tables, self._contents(), strict=True):
            table.content[:] = content

    def _contents(self) -> list[Bytes]:
        """Return what BDeu reads, in the one of its forms whose length does not depend on what the cells are."""
        codes, arity = self.arrays.codes, self.cells.arity
        first, bits = level_sets(codes, arity)
        used = as_bits(np.ones(codes.shape[1], bool))[None]
        same, every = np.zeros(len(arity), np.int64), np.full(1, -1, np.int64)
        weights, small = np.zeros((0, codes.shape[1]), np.int32), codes.astype(np.uint16)
        return [
            pack_arrays(np.array([ess]), arity, same, every, first, bits, used, weights, small)
            for ess in self.cells.ess
        ]


def class_cells(codes: Integers, labels: Sequence[Sequence[str]], ess: Sequence[float]) -> ClassCells:
    return ClassCells(codes, np.array([len(names) for names in labels], np.int64), tuple(ess))
