"""What each column of a table lets its cells be, as numbers of a Gaussian model.

Scores are normal scores: the i-th smallest of N numbers is the normal quantile of (i − ½)/N, and a class, or a value
that many rows share, lies between the quantiles of the shares of rows below it and up to it. Margins are thereby taken
from the data, and only what columns have to do with each other is left to the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.cells.filled import Meaning
from parnidag.cells.margins import (
    Margin,
    margin_of_block,
    margin_of_counts,
    margin_of_levels,
    margin_of_line,
    margin_of_numbers,
)
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.scores.normal_scores import HEAVY, Ranked, ranked

KNOWN, ANYTHING = -1, 0
"""Of a cell: it has its number; it may be any number. Else which bounds it has, from 1 on."""


class ColumnCells(NamedTuple):
    """The cells of one node."""

    fixed: Floats
    """What is known, in the units of the model (columns × rows)."""
    bound: Integers
    """Of each cell KNOWN, ANYTHING or a number of bounds (rows)."""
    low: Floats
    high: Floats
    """The bounds; the first are infinite."""
    vectors: Floats
    """What each class is in every column; none for numbers."""
    empty: Flags
    """Where the table is empty (rows)."""
    classes: Integers
    """The classes of the rows, 0 where the table is empty; none for numbers."""
    meaning: Meaning | None = None
    """What its numbers are in the table; None if nobody asks."""
    margin: Margin | None = None
    """The same as effects need it."""


def plain_number(values: Floats, empty: Flags, mean: float, unit: float) -> ColumnCells:
    """Return a column of numbers as they are, less a mean and in given units."""
    fixed = np.where(empty, 0.0, (values - mean) / unit)[None]
    meaning = Meaning(np.array([0.0, 1.0]), np.array([mean, mean + unit]), stepwise=False, endless=True)
    bound = np.where(empty, ANYTHING, KNOWN)
    return _numbers(fixed, bound, [], empty, meaning, margin_of_line(mean, unit))


def scored_number(values: Floats, empty: Flags, most: float = HEAVY) -> ColumnCells:
    """Return the normal scores of a column, but for empty cells and values that more than so many rows share."""
    column = ranked(values[~empty])
    known = np.unique(values[~empty])
    margin = margin_of_numbers(column, known, column.shares > most)
    return _in_order(column, Meaning(column.scores, known, stepwise=False), margin, empty, most)


def scored_count(values: Floats, empty: Flags) -> ColumnCells:
    """Return the same of a count, in whose empty cells only values stand that others have."""
    column = ranked(values[~empty])
    known = np.unique(values[~empty])
    margin = margin_of_counts(column, known, column.shares > HEAVY)
    return _in_order(column, Meaning(column.high, known), margin, empty, HEAVY)


def ordered_class(values: Floats, empty: Flags) -> ColumnCells:
    """Return a column of ordered classes: no cell is known, and each has the bounds of its class."""
    column = ranked(values[~empty])
    levels = column.shares.size
    meaning = Meaning(column.high, np.arange(float(levels)), levels)
    return _in_order(column, meaning, margin_of_levels(column), empty, 0.0)


def _in_order(column: Ranked, meaning: Meaning, margin: Margin, empty: Flags, most: float) -> ColumnCells:
    fixed, bound = np.zeros((1, empty.size)), np.full(empty.size, ANYTHING)
    fixed[0, ~empty] = column.scores[column.place]
    cut = column.shares > most
    bound[~empty] = np.where(cut, np.cumsum(cut), KNOWN)[column.place]
    bounds = zip(column.low[cut].tolist(), column.high[cut].tolist(), strict=True)
    return _numbers(fixed, bound, list(bounds), empty, meaning, margin)


def unordered_class(values: Floats, empty: Flags) -> ColumnCells:
    """Return a column of classes without order: orthogonal contrasts with mean 0 and variance 1 over the rows known.

    Contrast c tells class c from those after it. Any other such contrasts are a rotation of these, which the score does
    not see: neither names nor order of the classes matter.
    """
    _, codes = np.unique(values[~empty], return_inverse=True)
    rows = codes.size
    shares = np.bincount(codes) / rows
    left = np.cumsum(shares[::-1])[::-1]
    scale = math.sqrt((rows - 1) / rows)
    vectors = np.zeros((len(shares), len(shares) - 1))
    for c in range(len(shares) - 1):
        vectors[c, c] = scale * math.sqrt(left[c + 1] / (shares[c] * left[c]))
        vectors[c + 1 :, c] = -scale * math.sqrt(shares[c] / (left[c + 1] * left[c]))
    classes = np.zeros(values.size, np.int64)
    classes[~empty] = codes
    known, none = np.full(values.size, KNOWN), np.zeros(0)
    numbers = np.arange(float(len(shares)))
    meaning = Meaning(numbers, numbers, numbers.size)
    margin = margin_of_block(shares, vectors)
    return ColumnCells(vectors[classes].T, known, none, none, vectors, empty, classes, meaning, margin)


def _numbers(
    fixed: Floats,
    bound: Integers,
    bounds: list[tuple[float, float]],
    empty: Flags,
    meaning: Meaning,
    margin: Margin,
) -> ColumnCells:
    low, high = np.array([(-math.inf, math.inf), *bounds]).T
    return ColumnCells(fixed, bound, low, high, np.zeros((0, 1)), empty, np.zeros(0, np.int64), meaning, margin)
