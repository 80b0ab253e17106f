"""What has been seen of a column so far: the levels of classes and of few whole numbers, the first fraction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.data.columns import Coding, number_label, relabelled
from parnidag.data.levels import most_levels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_FOLLOWED = 10_000
"""Different whole numbers of a column that are counted, beside text, to name them when a table is refused."""
_GLANCE = 1000  # rows that settle for most measurements that they are no classes
_NARROW = 1 << 16  # whole numbers in so small a range are looked up rather than sorted


@dataclass
class SeenColumn:
    """A column of the batches so far. Codes are numbered as levels appear, until `sort_levels`."""

    sort: str
    """What it holds: numbers, text, truth values or categories; nothing if no value was seen yet."""
    coding: Coding | None = None
    levels: dict[Any, int] | None = field(default_factory=dict)
    """The code of each level; None for numbers that are no classes: fractions, or too many."""
    counts: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of each level, for a column with a coding."""
    fraction: float | None = None
    """The first number that is not whole."""

    def is_whole(self) -> bool:
        """Was no fraction seen?"""
        return self.fraction is None

    def has_few_levels(self, most: int) -> bool:
        """Were only whole numbers seen, and at most so many different ones?"""
        return self.levels is not None and len(self.levels) <= most

    def different(self) -> str:
        """Say how many different numbers were seen."""
        return f"more than {MOST_FOLLOWED}" if self.levels is None else str(len(self.levels))

    def first_fraction(self) -> float:
        """Give the first number that is not whole."""
        assert self.fraction is not None
        return self.fraction

    def level_counts(self) -> Integers:
        """Count the rows of each level."""
        return self.counts

    def follow(self, values: Floats, coding: Coding | None, kind: str | None, most: float) -> Integers | None:
        """Look at the complete rows of the first batch; return their codes, None if the column is measured."""
        if coding is not None:
            self.coding = coding
            codes = values.astype(np.int64)
            self.levels = {label: code for code, label in enumerate(coding.labels)}
            self.counts = np.bincount(codes, minlength=len(coding.labels))
            return codes
        if kind == "continuous":
            self.levels = None
            return None
        for part in (values[:_GLANCE], values):
            fractions = part != np.floor(part)
            if fractions.any():
                self.fraction, self.levels = float(part[np.argmax(fractions)]), None
                return None
            numbers, codes = _numbered(part)
            if len(numbers) > most:
                self.levels = None
                return None
        self.levels = {number: code for code, number in enumerate(numbers.tolist())}
        return codes

    def sort_levels(self) -> Integers:
        """Number the levels as in memory: numbers and text sorted, declared ones as declared; return the new codes."""
        assert self.levels is not None
        known = list(self.levels)
        kept = known if self.coding is not None and self.coding.declared else sorted(known)
        self.levels = {level: code for code, level in enumerate(kept)}
        new_codes = np.array([self.levels[level] for level in known], np.int64)
        if self.coding is not None:
            self.coding = relabelled(self.coding, kept)
            self.counts = self.counts[np.argsort(new_codes)]
        return new_codes

    def labels(self) -> tuple[str, ...]:
        """Write the levels."""
        assert self.levels is not None
        return tuple(self.levels) if self.coding is not None else tuple(map(number_label, self.levels))


def see_column(values: Floats, coding: Coding | None) -> SeenColumn:
    """Say what a column of a batch holds, whether or not its rows are complete."""
    if coding is None:
        absent = len(values) == 0 or (np.isnan(values[0]) and np.isnan(values).all())
        return SeenColumn("" if absent else "numbers")
    if not coding.declared:
        return SeenColumn("text", coding)
    return SeenColumn("truth values" if coding.labels == ("False", "True") else "categories", coding)


def most_followed(kind: str | None, beside_text: bool) -> float:
    """Say up to how many different whole numbers of a column are worth remembering."""
    return math.inf if kind == "discrete" else MOST_FOLLOWED if beside_text else most_levels(False)


def merge_column(one: SeenColumn, other: SeenColumn, most: float) -> Integers:
    """Take what was seen in later batches in; return the codes here of the levels there."""
    one.sort = one.sort or other.sort
    one.coding = one.coding or other.coding
    one.fraction = other.fraction if one.fraction is None else one.fraction
    if one.levels is None or other.levels is None:
        one.levels = None
        return np.zeros(0, np.int64)
    new_codes = np.array([one.levels.setdefault(level, len(one.levels)) for level in other.levels], np.int64)
    if one.coding is None and len(one.levels) > most:
        one.levels = None
    elif one.coding is not None:
        counts = np.zeros(len(one.levels), np.int64)
        counts[: len(one.counts)] = one.counts
        counts[new_codes] += other.counts
        one.counts = counts
    return new_codes


def may_be_discrete(columns: Sequence[SeenColumn], kind: str | None) -> bool:
    """Ask whether a table may still turn out discrete."""
    if kind == "continuous" or any(column.levels is None for column in columns):
        return False
    most = most_levels(any(column.coding is not None for column in columns))
    numbers = [column for column in columns if column.coding is None]
    return kind == "discrete" or all(column.has_few_levels(most) for column in numbers)


def _numbered(values: Floats) -> tuple[Floats, Integers]:
    """Return the different whole numbers, sorted, and the place of each value among them."""
    if len(values) and values.max() - values.min() < _NARROW:
        low = values.min()
        shifted = (values - low).astype(np.int64)
        occurs = np.bincount(shifted) > 0
        return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[shifted]
    numbers, codes = np.unique(values, return_inverse=True)
    return numbers, codes
