"""Discrete data: whether a table is discrete, and its columns as codes of levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import is_number_text, shorten
from parnidag.data.columns import Coding, number_label
from parnidag.errors import DataError

Floats = NDArray[np.float64]
Codings = Sequence[Coding | None]

KINDS = ("continuous", "discrete")
MOST_LEVELS_BY_DEFAULT = 10
"""A table of whole numbers counts as discrete by itself if no column has more different values than this."""
MOST_LEVELS_BESIDE_TEXT = 100
"""Beside columns of text, whole numbers with more different values than this are taken for measurements."""
_GLANCE = 1000  # rows that settle the question for most columns of measurements


class Levels(NamedTuple):
    """A table as levels: column j has in row r the level `labels[j][codes[j, r]]`."""

    codes: NDArray[Any]
    """Columns × rows, read-only; columns × different rows, for a table that was read in batches."""
    labels: tuple[tuple[str, ...], ...]
    """The levels of each column, in order; some may never occur."""


class Contents(Protocol):
    """What a column holds, as far as the kind of a table depends on it."""

    def is_whole(self) -> bool:
        """Are all numbers whole?"""
        ...

    def has_few_levels(self, most: int) -> bool:
        """Are all numbers whole, and at most so many different ones?"""
        ...

    def different(self) -> str:
        """Say how many different numbers there are."""
        ...

    def first_fraction(self) -> float:
        """Give the first number that is not whole."""
        ...

    def level_counts(self) -> NDArray[Any]:
        """Count the rows of each level of a column that has a coding."""
        ...


class ColumnContents:
    """The contents of a column in memory."""

    def __init__(self, column: Floats) -> None:
        self._column = column

    def is_whole(self) -> bool:
        """Compare with what rounding down gives."""
        return _is_whole(self._column)

    def has_few_levels(self, most: int) -> bool:
        """Look at a few rows first: for measurements these settle it."""
        parts = (self._column[:_GLANCE], self._column)
        return all(_is_whole(part) and len(np.unique(part)) <= most for part in parts)

    def different(self) -> str:
        """Count the different numbers."""
        return str(len(np.unique(self._column)))

    def first_fraction(self) -> float:
        """Give the first number that is not whole."""
        return float(self._column[np.argmax(self._column != np.floor(self._column))])

    def level_counts(self) -> NDArray[Any]:
        """Count the codes."""
        return np.bincount(self._column.astype(np.int64))


def decide_kind(asked: str | None, names: Sequence[str], columns: Sequence[Contents], codings: Codings) -> str:
    """Say whether a table without missing values is "continuous" or "discrete", refusing what it cannot be."""
    coded = _coded_columns(names, codings)
    if asked == "continuous" and coded:
        raise DataError(
            f"kind='continuous' needs numbers: {shorten(coded)}; leave these columns out or code them as numbers",
            argument="kind",
        )
    if asked == "discrete":
        refuse_fractions(names, columns, codings, "kind='discrete'")
    if asked is not None:
        return asked
    most = most_levels(bool(coded))
    numbers = [j for j, coding in enumerate(codings) if coding is None]
    if not coded:
        return "discrete" if all(columns[j].has_few_levels(most) for j in numbers) else "continuous"
    measured = [_describe_numbers(names[j], columns[j]) for j in numbers if not columns[j].has_few_levels(most)]
    if measured:
        _refuse_strays(names, columns, codings)
        raise DataError(
            f"the table mixes classes, in {shorten(coded)}, with measurements, in {shorten(measured)}: leave out the "
            "ones or the others, code the classes as numbers (0 and 1) for a Gaussian score, or cut the measurements "
            "into classes (for example with pandas.cut) for a discrete one"
        )
    return "discrete"


def most_levels(beside_text: bool) -> int:
    """Say up to how many different whole numbers a column counts as classes by itself."""
    return MOST_LEVELS_BESIDE_TEXT if beside_text else MOST_LEVELS_BY_DEFAULT


def _refuse_strays(names: Sequence[str], columns: Sequence[Contents], codings: Codings) -> None:
    """Refuse columns that hold numbers but for a few words, such as "n.d.": they were hardly meant as classes."""
    strays = []
    for name, column, coding in zip(names, columns, codings, strict=True):
        if coding is None:
            continue
        words = [k for k, label in enumerate(coding.labels) if not is_number_text(label)]
        counts = np.zeros(len(coding.labels), np.int64)
        found = column.level_counts()
        counts[: len(found)] = found
        rows, all_rows = int(counts[words].sum()), int(counts.sum())
        if words and 2 * rows < all_rows:
            strays.append(f"{name} ({rows} of {all_rows} rows, for example {coding.labels[words[0]]!r})")
    if strays:
        raise DataError(
            f"columns of numbers with something else among them: {shorten(strays)}",
            remedy="correct such cells, or empty them and use missing='drop'",
        )


def refuse_coded(names: Sequence[str], codings: Codings) -> None:
    """Refuse columns that hold no numbers, for whoever is about to calculate with them."""
    coded = _coded_columns(names, codings)
    if coded:
        raise DataError(
            f"a Gram matrix, and so a Gaussian score, needs numbers: {shorten(coded)}; use scores.BDeu for discrete "
            "data, or code these columns as numbers"
        )


def forget_unseen(values: Floats, codings: Codings) -> tuple[Coding | None, ...]:
    """Take levels that do not occur, and were not declared, out of the codings and, in place, out of the codes."""
    return tuple(None if coding is None else _without_unseen(values[:, j], coding) for j, coding in enumerate(codings))


def make_levels(names: Sequence[str], values: Floats, codings: Codings) -> Levels:
    """Code each column by its levels; numbers have to be whole."""
    refuse_fractions(names, [ColumnContents(column) for column in values.T], codings, "levels")
    codes = np.empty(values.shape[::-1], dtype=np.int32)
    labels: list[tuple[str, ...]] = []
    for j, coding in enumerate(codings):
        if coding is not None:
            codes[j] = values[:, j]
            labels.append(coding.labels)
        else:
            numbers = np.unique(values[:, j])
            codes[j] = np.searchsorted(numbers, values[:, j])
            labels.append(tuple(map(number_label, numbers.tolist())))
    codes.flags.writeable = False
    return Levels(codes, tuple(labels))


def _coded_columns(names: Sequence[str], codings: Codings) -> list[str]:
    return [f"{name} ({coding.shown})" for name, coding in zip(names, codings, strict=True) if coding is not None]


def _without_unseen(codes: Floats, coding: Coding) -> Coding:
    seen = np.unique(codes)
    if coding.declared or len(seen) == len(coding.labels):
        return coding
    codes[:] = np.searchsorted(seen, codes)
    return coding._replace(labels=tuple(coding.labels[int(code)] for code in seen))


def _is_whole(column: Floats) -> bool:
    return all(bool((part == np.floor(part)).all()) for part in (column[:_GLANCE], column))


def _describe_numbers(name: str, column: Contents) -> str:
    if column.is_whole():
        return f"{name} ({column.different()} different whole numbers)"
    return f"{name} (fractions, for example {column.first_fraction():.6g})"


def refuse_fractions(names: Sequence[str], columns: Sequence[Contents], codings: Codings, what: str) -> None:
    """Refuse numbers that are no classes."""
    fractions = [
        f"{name} (for example {column.first_fraction():.6g})"
        for name, column, coding in zip(names, columns, codings, strict=True)
        if coding is None and not column.is_whole()
    ]
    if fractions:
        raise DataError(
            f"{what} needs classes or whole numbers, not fractions: {shorten(fractions)}; cut such columns into "
            "classes first, for example with pandas.cut",
            argument=what.partition("=")[0],
        )
