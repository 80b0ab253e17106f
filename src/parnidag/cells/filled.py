"""What a chain put into the empty cells of a table, added up over its draws, and whether that has settled.

Of numbers sums and sums of squares are kept, of classes how often each level was drawn. A few summaries of every draw,
such as the mean of what was drawn in each column, are kept as a short series, whose R-hat tells whether chains agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parnidag.kernels.declare import keeps
from parnidag.kernels.types import Flags, Floats, Integers

MOST_BLOCKS = 128
"""Values of a series; when there are more, neighbours are joined."""
MOST_KEPT = 4 * 10**6
"""Numbers that may be kept of all cells of a chain; of larger tables there are only the summaries."""


class Meaning(NamedTuple):
    """What numbers of the model mean in a column of the table."""

    scores: Floats
    """Numbers of the model, rising."""
    values: Floats
    """What each of them is in the table."""
    levels: int = 0
    """How many levels the column has, whose codes the values are; 0 for numbers."""
    stepwise: bool = True
    """Whether a number means the value at the first score that is not below it, or lies between values."""
    endless: bool = False
    """Whether it is a straight line without end instead: the values are those at 0 and at 1."""

    def of(self, drawn: Floats) -> Floats:
        """Return what was drawn in the column's units, or as codes."""
        if self.stepwise:
            return np.asarray(self.values[np.searchsorted(self.scores[:-1], drawn)])
        return np.interp(drawn, self.scores, self.values)


@dataclass(frozen=True, eq=False)
class EmptyCells:
    """Where a table is empty, and what is kept of each cell: all that chains share."""

    first: Integers
    """The cells of node j are first[j] … first[j + 1] − 1 (n + 1)."""
    rows: Integers
    """The row of each."""
    levels: Integers
    """How many levels each node has; 0 for numbers (n)."""
    centres: Floats
    """What numbers are kept as differences from, and in which units (n each)."""
    units: Floats
    columns: int = 0
    """How many columns of latent numbers also have a summary."""

    @cached_property
    def nodes(self) -> Integers:
        """The nodes with empty cells."""
        return np.flatnonzero(np.diff(self.first))

    @cached_property
    def node_of_cell(self) -> Integers:
        return np.repeat(np.arange(self.levels.size), np.diff(self.first))

    @cached_property
    def kept_a_cell(self) -> Integers:
        """How many numbers are kept of each cell of a node: two, or one for each level."""
        return np.where(self.levels > 0, self.levels, 2)

    @cached_property
    def places(self) -> Integers:
        """Where what is kept of each cell begins, and the end (cells + 1)."""
        return np.concatenate([[0], np.cumsum(self.kept_a_cell[self.node_of_cell])])

    @cached_property
    def are_numbers(self) -> Flags:
        """Of each cell whether it is one of numbers."""
        return np.asarray(self.levels[self.node_of_cell] == 0)

    @property
    def keeps_cells(self) -> bool:
        return bool(self.places[-1] <= MOST_KEPT)

    def sums(self) -> FilledSums:
        """Return the sums of a chain that has drawn nothing yet."""
        kept = int(self.places[-1]) if self.keeps_cells else 0
        series = np.zeros((self.nodes.size + self.columns, MOST_BLOCKS))
        return FilledSums(np.array([0, 1, 0]), np.zeros(kept), series)


@keeps("counts", "sums", "series")
class FilledSums(NamedTuple):
    """What one chain has drawn."""

    counts: Integers
    """Draws so far; how many make a block of the series; blocks that have begun."""
    sums: Floats
    """Of each cell of numbers the sum and the sum of squares; of classes how often each level was drawn."""
    series: Floats
    """Sums of each summary over the draws of a block (summaries × blocks)."""


def note_draw(empty: EmptyCells, own: FilledSums, filled: Floats, further: Floats) -> None:
    """Add a draw: what stands in the empty cells, node by node, and the other summaries."""
    if not filled.size:
        _add_to_series(own, further)
        return
    node = empty.node_of_cell
    values = (filled - empty.centres[node]) / empty.units[node]
    begins = empty.first[empty.nodes]
    means = np.add.reduceat(values, begins) / np.diff(empty.first)[empty.nodes]
    _add_to_series(own, np.concatenate([means, further]))
    if empty.keeps_cells:
        numbers, starts = empty.are_numbers, empty.places[:-1]
        places, apart = starts[numbers], values[numbers]
        own.sums[places] += apart
        own.sums[places + 1] += apart * apart
        own.sums[starts[~numbers] + filled[~numbers].astype(np.int64)] += 1.0


def _add_to_series(own: FilledSums, summaries: Floats) -> None:
    draws, width, blocks = own.counts.tolist()
    if draws == width * blocks:
        if blocks == MOST_BLOCKS:
            own.series[:, : MOST_BLOCKS // 2] = own.series[:, ::2] + own.series[:, 1::2]
            own.series[:, MOST_BLOCKS // 2 :] = 0.0
            width, blocks = 2 * width, MOST_BLOCKS // 2
        blocks += 1
    own.series[:, blocks - 1] += summaries
    own.counts[:] = draws + 1, width, blocks


def forget_draws(own: FilledSums) -> None:
    """Begin anew, when tuning ends."""
    own.counts[:] = 0, 1, 0
    own.sums.fill(0.0)
    own.series.fill(0.0)


class Filled(NamedTuple):
    """What all chains have drawn together."""

    mean: Floats
    """Of every empty cell; NaN for classes."""
    deviation: Floats
    shares: Floats
    """How often each level was drawn (cells × most levels); 0 for numbers."""
    series: Floats
    """The summaries, averaged over blocks of draws (chains × summaries × blocks)."""


def filled_of_chains(empty: EmptyCells, chains: Sequence[FilledSums]) -> Filled | None:
    """Put together what the chains have drawn; None if one has drawn nothing."""
    draws = np.array([own.counts[0] for own in chains])
    if not draws.all():
        return None
    cells, most = (int(empty.first[-1]), int(empty.levels.max(initial=0))) if empty.keeps_cells else (0, 0)
    mean, deviation, shares = np.full(cells, np.nan), np.full(cells, np.nan), np.zeros((cells, most))
    # Chains weigh the same, however far each has come.
    sums = sum(own.sums / own.counts[0] for own in chains) / len(chains)
    for j in empty.nodes.tolist() if empty.keeps_cells else []:
        here, levels = slice(empty.first[j], empty.first[j + 1]), int(empty.levels[j])
        begin, end = empty.places[empty.first[[j, j + 1]]]
        kept = np.asarray(sums)[begin:end].reshape(-1, levels or 2)
        if levels:
            shares[here, :levels] = kept
        else:
            mean[here] = empty.centres[j] + empty.units[j] * kept[:, 0]
            deviation[here] = empty.units[j] * np.sqrt(np.maximum(kept[:, 1] - kept[:, 0] ** 2, 0.0))
    return Filled(mean, deviation, shares, _series(chains))


def _series(chains: Sequence[FilledSums]) -> Floats:
    """Return the whole blocks that all chains have, in the widest of their widths."""
    width = max(int(own.counts[1]) for own in chains)
    found = []
    for own in chains:
        draws, narrow, _ = own.counts.tolist()
        joined = width // narrow
        blocks = draws // width
        found.append(own.series[:, : blocks * joined].reshape(len(own.series), blocks, joined).sum(axis=2) / width)
    fewest = min(one.shape[1] for one in found)
    return np.array([one[:, :fewest] for one in found])
