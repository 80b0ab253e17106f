"""Classes that other classes determine: a column of which every level of another has one level only."""

from __future__ import annotations

import numpy as np

from parnidag.data.columns import Floats, Integers

MOST_ROWS, MOST_COLUMNS = 5_000, 60
"""What is looked at of larger tables: every pair of columns is counted once."""
BY_CHANCE = 1e-6
"""Columns that have nothing to do with each other look like this with a smaller probability."""


def determined(columns: list[Floats]) -> list[tuple[int, int]]:
    """Find pairs (i, j) of which column i determines column j, one for each j: the i with the fewest levels.

    Rows in which one of the two is empty do not count.
    """
    coded = [_codes(column[:MOST_ROWS]) for column in columns[:MOST_COLUMNS]]
    by_levels = sorted(range(len(coded)), key=lambda i: int(coded[i].max(initial=0)))
    found = []
    for j, codes in enumerate(coded):
        used = (i for i in by_levels if i != j and _determines(coded[i], codes))
        if (i := next(used, None)) is not None and (j, i) not in found:
            found.append((i, j))
    return found


def _codes(column: Floats) -> Integers:
    """Number the values of a column; −1 where it is empty."""
    codes = np.full(column.size, -1)
    known = ~np.isnan(column)
    codes[known] = np.unique(column[known], return_inverse=True)[1]
    return codes


def _determines(one: Integers, other: Integers) -> bool:
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return False
    levels = int(other.max()) + 1
    counts = np.bincount(one[both] * levels + other[both], minlength=levels)
    counts = np.append(counts, np.zeros(-counts.size % levels, np.int64)).reshape(-1, levels)
    rows = counts.sum(axis=1)
    if (counts.max(axis=1) < rows).any():
        return False
    shares = counts.sum(axis=0) / rows.sum()
    by_chance = np.log((shares[None, :] ** rows[:, None].astype(float)).sum(axis=1))
    return bool(by_chance.sum() < np.log(BY_CHANCE))
