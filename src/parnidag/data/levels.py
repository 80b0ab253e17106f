"""Discrete data: what columns hold, whether a table is discrete, and its columns as codes of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.data import notation
from parnidag.data.columns import Coding, Floats, Integers, UnreadableError, number_label
from parnidag.data.reading import refuse_columns
from parnidag.errors import DataError

Codings = Sequence[Coding | None]

KINDS = ("continuous", "discrete", "mixed")
MOST_LEVELS_BY_DEFAULT = 10
"""A table of whole numbers counts as discrete by itself if no column has more different values than this."""
MOST_FOLLOWED = 10_000
"""Different whole numbers of a column in memory that are counted."""
_GLANCE = 1000  # rows that settle for most measurements that they are no classes
_NARROW = 1 << 16  # whole numbers in so small a range are looked up rather than sorted


class Levels(NamedTuple):
    """A table as levels: column j has in row r the level `labels[j][codes[j, r]]`."""

    codes: NDArray[Any]
    """Columns × rows, read-only; columns × different rows, for a table that was read in batches."""
    labels: tuple[tuple[str, ...], ...]
    """The levels of each column, in order; some may never occur."""


@dataclass
class SeenColumn:
    """What was seen of a column in the rows so far. Codes are numbered as levels appear, until `sort_levels`."""

    holds: str = "numbers"
    """Numbers, text, truth values or categories; nothing if no value was seen yet."""
    coding: Coding | None = None
    levels: dict[Any, int] | None = field(default_factory=dict)
    """The code of each level; None for numbers that are no classes: fractions, or too many."""
    counts: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of each level."""
    fraction: float | None = None
    """The first number that is not whole."""

    def follow(self, values: Floats, coding: Coding | None, kind: str | None, most: float) -> Integers | None:
        """Look at complete rows, the first ones; return their codes, None if the column is measured."""
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
        self.counts = np.bincount(codes, minlength=len(numbers))
        return codes

    def merge(self, other: SeenColumn, most: float) -> Integers:
        """Take in what was seen in later rows; return the codes here of the levels there."""
        self.holds = self.holds or other.holds
        self.coding = self.coding or other.coding
        self.fraction = other.fraction if self.fraction is None else self.fraction
        if self.levels is None or other.levels is None:
            self.levels = None
            return np.zeros(0, np.int64)
        new_codes = np.array([self.levels.setdefault(level, len(self.levels)) for level in other.levels], np.int64)
        if self.coding is None and len(self.levels) > most:
            self.levels = None
            return new_codes
        self.counts = np.pad(self.counts, (0, len(self.levels) - len(self.counts)))
        self.counts[new_codes] += other.counts
        return new_codes

    def sort_levels(self) -> Integers:
        """Number the levels as in memory: numbers and text sorted, declared ones as declared; return the new codes."""
        if self.levels is None:
            return np.zeros(0, np.int64)
        known = list(self.levels)
        kept = known if self.coding is not None and self.coding.declared else sorted(known)
        self.levels = {level: code for code, level in enumerate(kept)}
        new_codes = np.array([self.levels[level] for level in known], np.int64)
        self.counts = self.counts[np.argsort(new_codes)]
        if self.coding is not None:
            self.coding = self.coding._replace(labels=tuple(kept))
        return new_codes

    def labels(self) -> tuple[str, ...]:
        return self.coding.labels if self.coding is not None else tuple(map(number_label, self.levels or ()))


def see_column(values: Floats, coding: Coding | None) -> SeenColumn:
    """Say what a column of a batch holds, whether or not its rows are complete."""
    if coding is None:
        absent = len(values) == 0 or (np.isnan(values[0]) and np.isnan(values).all())
        return SeenColumn("" if absent else "numbers")
    return SeenColumn("truth values" if coding.is_truth else "categories" if coding.declared else "text", coding)


def _numbered(values: Floats) -> tuple[Floats, Integers]:
    """Return the different whole numbers, sorted, and the place of each value among them."""
    if len(values) and values.max() < values.min() + _NARROW:
        low = values.min()
        shifted = (values - low).astype(np.int64)
        occurs = np.bincount(shifted) > 0
        return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[shifted]
    numbers, codes = np.unique(values, return_inverse=True)
    return numbers, codes


def most_followed(kind: str | None) -> float:
    """Say up to how many different whole numbers of a column in batches are worth remembering."""
    return math.inf if kind == "discrete" else MOST_LEVELS_BY_DEFAULT


# ---------------------------------------------------------------------------------------------------------------------
# A table


def follow_columns(
    values: Floats, codings: Codings, kind: str | None, columns: Sequence[SeenColumn]
) -> list[Integers] | None:
    """Let `columns` see the complete rows of a batch; return their codes, None if the table cannot be discrete."""
    most = most_followed(kind)
    codes = [column.follow(values[:, j], codings[j], kind, most) for j, column in enumerate(columns)]
    return [found for found in codes if found is not None] if may_be_discrete(columns, kind) else None


def make_levels(names: Sequence[str], values: Floats, codings: Codings) -> Levels:
    """Code each column of a table in memory by its levels; numbers have to be whole."""
    codes = np.empty(values.shape[::-1], dtype=np.int32)
    columns = [SeenColumn() for _ in names]
    for j, column in enumerate(columns):
        found = column.follow(values[:, j], codings[j], "discrete", math.inf)
        codes[j] = 0 if found is None else found
    refuse_fractions(names, columns, "a discrete score")
    codes.flags.writeable = False
    return Levels(codes, tuple(column.labels() for column in columns))


def may_be_discrete(columns: Sequence[SeenColumn], kind: str | None) -> bool:
    return kind != "continuous" and all(column.levels is not None for column in columns)


def refuse_kind(asked: str | None, names: Sequence[str], columns: Sequence[SeenColumn]) -> None:
    """Refuse a kind of table that its columns cannot have."""
    coded = _coded_columns(names, [column.coding for column in columns])
    if asked == "continuous" and coded:
        raise DataError(
            f"kind='continuous' needs numbers: {shorten(coded)}; leave these columns out or code them as numbers",
            argument="kind",
        )
    if asked == "discrete":
        refuse_fractions(names, columns, "kind='discrete'")


def refuse_strays(names: Sequence[str], columns: Sequence[SeenColumn]) -> None:
    """Refuse columns that hold numbers but for a few words, such as "n.d.": they were hardly meant as classes."""
    refused: dict[str, dict[str, str]] = {"strays": {}, "limits": {}}
    for name, column in zip(names, columns, strict=True):
        if column.coding is None or column.coding.declared:
            continue
        try:
            notation.refuse_strays(column.coding, column.counts)
        except UnreadableError as refusal:
            refused[refusal.kind][name] = f"{name} ({refusal.detail})"
    refuse_columns(refused)


def refuse_fractions(names: Sequence[str], columns: Sequence[SeenColumn], what: str) -> None:
    examples = {name: column.fraction for name, column in zip(names, columns, strict=True)}
    fractions = [f"{name} (for example {value:.6g})" for name, value in examples.items() if value is not None]
    if fractions:
        raise DataError(
            f"{what} needs classes or whole numbers, not fractions: {shorten(fractions)}; cut such columns into "
            "classes first, for example with pandas.cut",
            argument=what.partition("=")[0],
        )


def refuse_coded(names: Sequence[str], codings: Codings) -> None:
    coded = _coded_columns(names, codings)
    if coded:
        raise DataError(
            f"a Gram matrix, and so a Gaussian score, needs numbers: {shorten(coded)}; use scores.BDeu for discrete "
            "data, or code these columns as numbers"
        )


def _coded_columns(names: Sequence[str], codings: Codings) -> list[str]:
    return [f"{name} ({coding.shown})" for name, coding in zip(names, codings, strict=True) if coding is not None]


def forget_unseen(values: Floats, codings: Codings) -> tuple[Coding | None, ...]:
    """Take levels that do not occur, and were not declared, out of the codings and, in place, out of the codes."""
    left = list(codings)
    for j, coding in enumerate(codings):
        if coding is not None and not coding.declared:
            seen, values[:, j] = np.unique(values[:, j], return_inverse=True)
            left[j] = coding._replace(labels=tuple(coding.labels[int(code)] for code in seen))
    return tuple(left)
