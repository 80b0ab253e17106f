"""Gram matrices of tables of any length and any magnitude, over all rows or over some of them.

Columns are worked on in units of half their range, which keeps squares of huge and tiny numbers within the range of
floating point, and in blocks of rows, so that no second copy of the table is needed. The sums of several tables can be
merged into those of all their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parnidag._util.text import shorten
from parnidag.data.columns import Floats, Mask
from parnidag.errors import DataError

_EPSILON = float(np.finfo(np.float64).eps)
_SMALLEST = float(np.finfo(np.float64).tiny)  # below it numbers lose digits
_SPREAD_ERROR = 64 * _EPSILON  # a spread (or distance of a correlation from 1) this small is rounding, not information
_BLOCK = 1 << 19  # numbers worked on at a time (4 MB)


def row_blocks(values: Floats, rows: Mask | None = None) -> Iterator[Floats]:
    """Go through a table some rows at a time; with `rows`, through the rows it marks."""
    size = max(1, _BLOCK // values.shape[1])
    for start in range(0, len(values), size):
        block = values[start : start + size]
        yield block if rows is None else block[rows[start : start + size]]


class Spread(NamedTuple):
    low: Floats
    high: Floats

    @property
    def centre(self) -> Floats:
        """The middle of each range; halved first, so that the sum cannot overflow."""
        return self.low / 2 + self.high / 2

    @property
    def half_range(self) -> Floats:
        return self.high / 2 - self.low / 2

    @property
    def magnitude(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def merged(self, other: Spread) -> Spread:
        return Spread(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def constant(self) -> Mask:
        """The columns that do not vary, or by no more than rounding."""
        return np.asarray(self.half_range <= _SPREAD_ERROR / 2 * self.magnitude)


def spread_of(values: Floats, rows: Mask | None = None, beside_gaps: bool = False) -> Spread | None:
    """Find the range of each column, over the rows marked if `rows` is given; None if there are no rows.

    Missing values make it NaN, unless it is that of what is `beside_gaps`.
    """
    low, high = (np.fmin, np.fmax) if beside_gaps else (np.minimum, np.maximum)
    with np.errstate(invalid="ignore"):
        parts = [Spread(low.reduce(block), high.reduce(block)) for block in row_blocks(values, rows) if len(block)]
        return (
            Spread(*(end.reduce(part) for end, part in zip((low, high), zip(*parts, strict=True), strict=True)))
            if parts
            else None
        )


class Moments(NamedTuple):
    """Cross-products of centred columns over some rows, in units that let them neither overflow nor underflow.

    The mean is kept as `shift` + `unit` × `offset`: as one number it would lose what it differs from other means by
    when the spread is small beside it.
    """

    rows: int
    spread: Spread
    gram: Floats
    """In units of `unit`, columns centred on their mean."""
    shift: Floats
    """A number amid each column."""
    offset: Floats
    unit: Floats
    """About half the range of each column; 1 for a column that does not vary."""

    @property
    def mean(self) -> Floats:
        return np.clip(self.shift + self.unit * self.offset, *self.spread)

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each column, in units of `unit`."""
        return np.asarray(np.sqrt(np.diagonal(self.gram)) / np.sqrt(self.rows - 1))


def moments_of(values: Floats, rows: Mask | None = None, binary_units: bool = False) -> Moments:
    """Sum over the rows of a table, or over those marked (at least one).

    The mid-range goes first because subtracting it is exact when the spread is small beside the mean; the mean of the
    rest follows. With `binary_units` units are powers of two, so that `merge` changes them without rounding.
    """
    n_rows = len(values) if rows is None else int(rows.sum())
    spread = spread_of(values, rows)
    assert spread is not None
    centre, half_range = spread.centre, spread.half_range
    unit = _powers_of_two(half_range) if binary_units else np.where(half_range > 0, half_range, 1.0)
    offset = np.zeros(values.shape[1])
    for block in row_blocks(values, rows):
        left = block - centre
        left /= unit
        offset += left.sum(axis=0) / n_rows
    gram = np.zeros((values.shape[1], values.shape[1]))
    for block in row_blocks(values, rows):
        left = block - centre
        left /= unit
        left -= offset
        gram += left.T @ left
    return Moments(n_rows, spread, gram, centre, offset, unit)


def merge(one: Moments, other: Moments) -> Moments:
    """Give the moments of the rows of both, by the pairwise formula of Chan, Golub and LeVeque (1983)."""
    spread = one.spread.merged(other.spread)
    unit = _powers_of_two(spread.half_range)
    rows = one.rows + other.rows
    apart = _apart(one, other, unit)
    gram = _in_units(one.gram, _factor(one, unit)) + _in_units(other.gram, _factor(other, unit))
    gram += np.outer(apart, apart * (one.rows / rows * other.rows))
    return Moments(rows, spread, gram, one.shift, one.offset * _factor(one, unit) + apart * (other.rows / rows), unit)


def _apart(one: Moments, other: Moments, unit: Floats) -> Floats:
    """Give by how much the means differ, in units that are powers of two; dividing by these rounds nothing."""
    offsets = other.offset * _factor(other, unit) - one.offset * _factor(one, unit)
    return np.asarray((other.shift / unit - one.shift / unit) + offsets)


def _factor(part: Moments, unit: Floats) -> Floats:
    """Give the units of some moments in other units; 0 where nothing varies, since these have no units to speak of."""
    varies = part.spread.half_range > 0
    return np.divide(part.unit, unit, out=np.zeros(len(unit)), where=varies)


def _powers_of_two(half_range: Floats) -> Floats:
    """Give the power of two at or below each number; 1 for zero."""
    return np.where(half_range > 0, np.ldexp(1.0, np.frexp(half_range)[1] - 1), 1.0)


class Standardised(NamedTuple):
    """The Gram matrix of columns divided by their standard deviation, and the moments it was made from."""

    gram: Floats
    moments: Moments


def standardise(moments: Moments, names: Sequence[str]) -> Standardised:
    """Give the standardised Gram matrix over all rows, refusing copies of columns; no column may be constant."""
    gram, n_rows = moments.gram, moments.rows
    root = np.sqrt(np.diagonal(gram))
    correlation = gram / np.outer(root, root)
    correlation = np.clip((correlation + correlation.T) / 2, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    stored_error = _EPSILON * (moments.spread.magnitude / moments.unit) * np.sqrt(n_rows - 1) / root
    _refuse_copies(correlation, stored_error, names, n_rows)
    return Standardised(np.ascontiguousarray(correlation * (n_rows - 1)), moments)


def standard_values(values: Floats, spread: Spread) -> Floats:
    """Give the columns, centred and divided by their standard deviations; no column may be constant."""
    left = (values - spread.centre) / spread.half_range
    left -= left.mean(axis=0)
    return np.asarray(left / np.sqrt((left**2).sum(axis=0) / (len(values) - 1)))


def scaled(part: Moments, whole: Moments) -> tuple[Floats, Floats]:
    """Give Gram matrix and means of some rows in standard deviations over all, the means from those over all.

    The Gram matrix is centred on the rows themselves; columns that vary there by no more than rounding are zero.
    """
    unit = _powers_of_two(whole.spread.half_range)
    means = _apart(whole, part, unit) * (unit / whole.unit) / whole.deviation
    factor = np.where(part.spread.constant, 0.0, _factor(part, whole.unit) / whole.deviation)
    return _symmetric(part.gram, factor), means


def unscaled(part: Moments, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Give the Gram matrix and the means in the units of the table, refusing what floating point cannot hold."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        gram = _symmetric(part.gram, part.unit)
    squares = np.diagonal(gram)
    lost = ~np.isfinite(squares) | ((squares < _SMALLEST) & (np.diagonal(part.gram) > 0))
    if lost.any():
        listed = shorten([names[j] for j in np.flatnonzero(lost).tolist()])
        raise DataError(f"numbers too large or too small to be squared in {listed}; rescale these columns")
    return gram, part.mean


def _in_units(gram: Floats, factor: Floats) -> Floats:
    return gram * factor[:, None] * factor  # one after the other: the product of two tiny factors would lose digits


def _symmetric(gram: Floats, factor: Floats) -> Floats:
    product = _in_units(gram, factor)
    return product / 2 + product.T / 2


def _refuse_copies(correlation: Floats, stored_error: Floats, names: Sequence[str], n_rows: int) -> None:
    """Refuse pairs whose correlation is ±1 up to the rounding of the stored numbers and of the sums over rows."""
    tolerance = _SPREAD_ERROR + _EPSILON * np.sqrt(n_rows) + np.add.outer(stored_error**2, stored_error**2)
    pairs = np.argwhere(np.triu(1.0 - np.abs(correlation) <= tolerance, k=1))
    if len(pairs):
        listed = shorten([f"{names[i]} and {names[j]}" for i, j in pairs.tolist()])
        raise DataError(f"duplicate columns (equal, mirrored or rescaled): {listed}; keep one of each pair")
