"""Which columns bend with others? A test that needs no graph, for tables that a model of straight lines would misread.

For each ordered pair of columns the bends of one are added to the straight regression of the other, and an F test asks
whether they help. If all relations are straight and all noise is Gaussian this is exact, and Bonferroni's bound over
all pairs makes the share of tables with any bend at most `LEVEL`. If the noise is not Gaussian, relations can look
curved that are straight, seen from the effect or beside it, but never from a normal column: what is normal is, by
Cramér's theorem, a sum of normal noise alone, and given it the means of all others are straight lines. So only columns
that look normal, or have shorter tails, are looked from. And a bend must explain a share of the variance that matters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from parnidag._util.splines import curves
from parnidag.data.columns import Floats, Mask

LEVEL = 0.01
SHARE = 0.05
"""Of a column's variance, at least so much must be explained by bends: what rounding and short tails do is less."""
BENDS = 3
"""Curved columns of each, as many as `scores.Spline` has by default."""
SKEWED, TAILED = 0.3, 0.6
"""Skewness and excess kurtosis up to which a column looks normal."""
FEWEST_VALUES = 11
"""A column of fewer different numbers is a column of levels, whose ends are no bends."""
MOST_ROWS = 2_000
"""Evenly spaced rows that are enough to see bends that matter."""
MOST_PRODUCTS = 2e9
"""Products of rows and pairs; wide tables are looked at in fewer rows."""


class Bend(NamedTuple):
    """A column that bends with another."""

    column: int
    given: int
    share: float
    """Of the column's variance that the bends explain, beyond a straight line."""


def bends(values: Floats, level: float = LEVEL) -> list[Bend]:
    """Find the columns that bend with another, each with the one it bends with most, the most bent first.

    Empty cells must have been left out; rows are taken to be independent of each other.
    """
    most = int(min(MOST_ROWS, max(MOST_PRODUCTS / (BENDS + 1) / values.shape[1] ** 2, 100)))
    rows = values[:: max(1, -(-len(values) // most))]
    numbers = [j for j, column in enumerate(rows.T) if len(np.unique(column)) >= FEWEST_VALUES]
    if len(numbers) < 2:
        return []
    standard = _standardised(rows[:, numbers])
    found: dict[int, Bend] = {}
    for given in np.flatnonzero(_look_normal(standard)).tolist():
        shares, chances = _tested(standard, given)
        for j in np.flatnonzero((shares > SHARE) & (chances * len(numbers) * (len(numbers) - 1) < level)).tolist():
            bend = Bend(numbers[j], numbers[given], float(shares[j]))
            found[j] = max(found.get(j, bend), bend, key=lambda one: one.share)
    return sorted(found.values(), key=lambda one: -one.share)


def _standardised(rows: Floats) -> Floats:
    """Give columns mean 0 and variance 1, whatever their size."""
    low, high = rows.min(axis=0, initial=np.inf), rows.max(axis=0, initial=-np.inf)
    half = high / 2 - low / 2
    centred = (rows - (high / 2 + low / 2)) / np.where(half > 0, half, 1.0)
    return np.asarray((centred - centred.mean(axis=0)) / np.maximum(centred.std(axis=0), 1e-9))


def _look_normal(standard: Floats) -> Mask:
    """Ask of each column whether all that is straight would look straight from there."""
    skewness, tails = (standard**3).mean(axis=0), (standard**4).mean(axis=0) - 3.0
    return np.asarray((np.abs(skewness) < SKEWED) & (tails < TAILED))


def _tested(standard: Floats, given: int) -> tuple[Floats, Floats]:
    """Give the shares of all columns that bends of one explain, and the chances of as much if there are none."""
    line = standard[:, given]
    bent = curves(line, BENDS)
    bent = bent[:, bent.any(axis=0)]
    rows, count = bent.shape
    straight = (line @ standard) ** 2 / rows
    curved = ((bent.T @ standard) ** 2).sum(axis=0) / (rows - 1)
    curved[given] = 0.0
    left, free = np.maximum(rows - straight - curved, 1e-12 * rows), rows - 2 - count
    return curved / rows, fdtrc(count, free, curved / max(count, 1) / (left / free)) if count else np.ones(len(curved))
