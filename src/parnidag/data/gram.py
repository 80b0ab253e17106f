"""Gram matrices of tables of any length and any magnitude, over all rows or over some of them.

Columns are worked on in units of half their range, which keeps squares of huge and tiny numbers within the range of
floating point, and in blocks of rows, so that no second copy of the table is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import DataError
from parnidag.wording import shorten

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_EPSILON = float(np.finfo(np.float64).eps)
_SMALLEST = float(np.finfo(np.float64).tiny)  # below it numbers lose digits
_ROUNDING = 64 * _EPSILON  # a spread (or a distance of a correlation from 1) this small is rounding, not information
_BLOCK = 1 << 19  # numbers worked on at a time (4 MB)


def row_blocks(values: Floats, rows: Mask | None = None) -> Iterator[Floats]:
    """Go through a table some rows at a time; with `rows`, through the rows it marks."""
    size = max(1, _BLOCK // values.shape[1])
    for start in range(0, len(values), size):
        block = values[start : start + size]
        yield block if rows is None else block[rows[start : start + size]]


class Spread(NamedTuple):
    """The least and the greatest value of each column."""

    low: Floats
    high: Floats

    @property
    def centre(self) -> Floats:
        """The middle of each range; halved first, so that the sum cannot overflow."""
        return self.low / 2 + self.high / 2

    @property
    def half_range(self) -> Floats:
        """Half of each range."""
        return self.high / 2 - self.low / 2

    @property
    def magnitude(self) -> Floats:
        """The greatest absolute value of each column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def constant(self) -> Mask:
        """The columns that do not vary, or by no more than rounding."""
        return np.asarray(self.half_range <= _ROUNDING / 2 * self.magnitude)


def spread_of(values: Floats, rows: Mask | None = None) -> Spread:
    """Find the range of each column, over the rows marked (at least one) if `rows` is given."""
    blocks = [(block.min(axis=0), block.max(axis=0)) for block in row_blocks(values, rows) if len(block)]
    low, high = (np.array(ends) for ends in zip(*blocks, strict=True))
    return Spread(low.min(axis=0), high.max(axis=0))


class Centred(NamedTuple):
    """Cross-products of centred columns, and the units they are in."""

    gram: Floats
    """In units of `unit`, columns centred on their mean."""
    mean: Floats
    unit: Floats
    """Half the range of each column; 1 for a column that does not vary."""


def centred(values: Floats, spread: Spread, rows: Mask | None = None) -> Centred:
    """Give the Gram matrix of the columns, centred and in units of their half-range, over the rows marked.

    The mid-range goes first because subtracting it is exact when the spread is small beside the mean; the mean of the
    rest follows.
    """
    n = values.shape[1]
    n_rows = len(values) if rows is None else int(rows.sum())
    centre, half_range = spread.centre, spread.half_range
    unit = np.where(half_range > 0, half_range, 1.0)
    mean = np.zeros(n)
    for block in row_blocks(values, rows):
        mean += ((block - centre) / unit).sum(axis=0) / n_rows
    gram = np.zeros((n, n))
    for block in row_blocks(values, rows):
        left = block - centre
        left /= unit
        left -= mean
        gram += left.T @ left
    return Centred(gram, np.clip(centre + unit * mean, spread.low, spread.high), unit)


class Standardised(NamedTuple):
    """The Gram matrix of columns divided by their standard deviation, and what a standard deviation is."""

    gram: Floats
    unit: Floats
    """Half the range of each column."""
    deviation: Floats
    """The standard deviation of each column in these units, so that it neither overflows nor underflows."""


def standardise(values: Floats, names: Sequence[str], spread: Spread) -> Standardised:
    """Give the standardised Gram matrix over all rows, refusing copies of columns; no column may be constant."""
    n_rows = len(values)
    gram, _, unit = centred(values, spread)
    root = np.sqrt(np.diagonal(gram))
    correlation = gram / np.outer(root, root)
    correlation = np.clip((correlation + correlation.T) / 2, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    stored_error = _EPSILON * (spread.magnitude / unit) * np.sqrt(n_rows - 1) / root  # in standard deviations
    _refuse_copies(correlation, stored_error, names, n_rows)
    return Standardised(np.ascontiguousarray(correlation * (n_rows - 1)), unit, root / np.sqrt(n_rows - 1))


def standard_values(values: Floats, spread: Spread) -> Floats:
    """Give the columns, centred and divided by their standard deviations; no column may be constant."""
    left = (values - spread.centre) / spread.half_range
    left -= left.mean(axis=0)
    return np.asarray(left / np.sqrt((left**2).sum(axis=0) / (len(values) - 1)))


def scaled(values: Floats, rows: Mask, whole: Standardised) -> Floats:
    """Give the Gram matrix of some rows, centred on them, in units of the standard deviations over all rows."""
    part = centred(values, spread_of(values, rows), rows)
    factor = part.unit / whole.unit / whole.deviation
    return _symmetric(part.gram, factor)


def unscaled(values: Floats, names: Sequence[str], rows: Mask | None) -> tuple[Floats, Floats]:
    """Give the Gram matrix and the means in the units of the table, refusing what floating point cannot hold."""
    part = centred(values, spread_of(values, rows), rows)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        gram = _symmetric(part.gram, part.unit)
    squares = np.diagonal(gram)
    lost = ~np.isfinite(squares) | ((squares < _SMALLEST) & (np.diagonal(part.gram) > 0))
    if lost.any():
        listed = shorten([names[j] for j in np.flatnonzero(lost).tolist()])
        raise DataError(f"numbers too large or too small to be squared in {listed}; rescale these columns")
    return gram, part.mean


def _symmetric(gram: Floats, factor: Floats) -> Floats:
    product = gram * factor[:, None] * factor  # one after the other: the product of two tiny factors would lose digits
    return product / 2 + product.T / 2


def _refuse_copies(correlation: Floats, stored_error: Floats, names: Sequence[str], n_rows: int) -> None:
    """Refuse pairs whose correlation is ±1 up to the rounding of the stored numbers and of the sums over rows."""
    tolerance = _ROUNDING + _EPSILON * np.sqrt(n_rows) + np.add.outer(stored_error**2, stored_error**2)
    pairs = np.argwhere(np.triu(1.0 - np.abs(correlation) <= tolerance, k=1))
    if len(pairs):
        listed = shorten([f"{names[i]} and {names[j]}" for i, j in pairs.tolist()])
        raise DataError(f"duplicate columns (equal, mirrored or rescaled): {listed}; keep one of each pair")
