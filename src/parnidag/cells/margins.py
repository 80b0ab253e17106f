"""How the numbers of the model and those of a column belong together: what effects need to speak of the column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.types import Flags, Floats
from parnidag.scores.normal_scores import Ranked

LINE, NUMBERS, LEVELS, BLOCK = range(4)
"""A straight line; numbers by their ranks; ordered levels, cut from a normal law; levels without order, a block."""
MOST_KNOTS = 129
"""Of the numbers of a column so many are kept, evenly spaced in their scores."""
MOST_STEPS = 100
"""Counts of more values are taken for numbers between their values."""


class Margin(NamedTuple):
    """What numbers of the model are in one column of the table.

    Of a line the values at 0 and 1. Of numbers values at rising scores, with straight lines in between; a value that
    many rows share has two scores, from which to which the model's number means it. Of ordered levels the upper bound
    of each. Of a block the share of each level; what it is in the model are its `vectors` (levels × columns).
    """

    kind: int
    scores: Floats
    values: Floats
    vectors: Floats = np.zeros((0, 1))


def margin_of_line(mean: float, unit: float) -> Margin:
    return Margin(LINE, np.array([0.0, 1.0]), np.array([mean, mean + unit]))


def margin_of_levels(column: Ranked) -> Margin:
    return Margin(LEVELS, column.high, np.arange(float(column.high.size)))


def margin_of_block(shares: Floats, vectors: Floats) -> Margin:
    return Margin(BLOCK, shares, np.arange(float(shares.size)), vectors)


def margin_of_numbers(column: Ranked, values: Floats, cut: Flags) -> Margin:
    """Return the margin of numbers; those that are `cut` are known between bounds only."""
    known = np.flatnonzero(~cut)
    if known.size > MOST_KNOTS:
        wanted = np.linspace(column.scores[known[0]], column.scores[known[-1]], MOST_KNOTS)
        known = known[np.unique(np.searchsorted(column.scores[known], wanted).clip(max=known.size - 1))]
    both = [(column.low, cut), (column.high, cut)]
    scores = np.concatenate([column.scores[known], *(bound[here] for bound, here in both)])
    shown = np.concatenate([values[known], *(values[here] for _, here in both)])
    order = np.lexsort((shown, scores))
    return Margin(NUMBERS, scores[order], shown[order])


def margin_of_counts(column: Ranked, values: Floats, cut: Flags) -> Margin:
    return margin_of_numbers(column, values, cut | (values.size <= MOST_STEPS))
