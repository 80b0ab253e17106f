"""Normal scores: what a column says beside its margin, as numbers that no monotone transform of it changes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from parnidag.kernels.types import Flags, Floats, Integers

HEAVY = 0.05
"""A value that a larger share of the rows has than this has no score: it is an interval (see `cells`)."""


class Ranked(NamedTuple):
    """The different values of a column, from the least to the largest."""

    place: Integers
    """Which of them each row has."""
    scores: Floats
    """The normal quantile of the share of rows below, and of half of those that have it."""
    low: Floats
    """That of the share of rows below."""
    high: Floats
    """That of the share of rows below or equal."""
    shares: Floats


def ranked(values: Floats) -> Ranked:
    """Rank a column without empty cells; in units in which the scores of as many different values have variance 1."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    rows, up_to = values.size, np.cumsum(counts)
    unit = math.sqrt(float((ndtri((np.arange(rows) + 0.5) / rows) ** 2).sum()) / (rows - 1))
    scores, low, high = ndtri(np.stack([up_to - counts / 2, up_to - counts, up_to]) / rows) / unit
    return Ranked(place, scores, low, high, counts / rows)


def normal_scores(values: Floats) -> Floats:
    """Return the normal scores of every column of a complete table; rows with one value share a score."""
    columns = [ranked(column) for column in values.T]
    return np.stack([column.scores[column.place] for column in columns], axis=1)


def has_heavy_ties(values: Floats, parents_only: Flags | None) -> bool:
    """Does a column that has a score of its own hold values that many rows share? Those of a parent are no matter."""
    scored = values if parents_only is None else values[:, ~parents_only]
    return any(bool(ranked(column).shares.max() > HEAVY) for column in scored.T)
