"""The data of a problem: named columns whose numbers can be scored, and their standardised Gram matrix.

Everything a user can get wrong with the numbers of a table is refused here (and with its form in `reading.py`), with a
`DataError` that names the columns, so that the rest of the library can trust its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import DataError
from parnidag.reading import read_table, refuse_names, shorten

Floats = NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 64 * _EPSILON  # a spread (or a distance of a correlation from 1) this small is rounding, not information
_BLOCK = 1 << 19  # numbers worked on at a time (4 MB): statistics of a table of any length need no second copy of it
_FEWEST_ROWS = 3
_MISSING = ("raise", "drop")


class Data:
    """A table of numbers, checked and ready to be scored.

    Parameters
    ----------
    table
        A pandas or polars data frame, a pyarrow table, a 2-D array or nested sequence (rows × columns), the path of a
        ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, or another `Data`. Columns are the nodes of the graphs.
    missing
        ``"raise"`` (default) refuses missing values (NaN or null); ``"drop"`` leaves out every row that has one.
    names
        Column names for an array; X0, X1, … by default. Every other table brings its own.

    Attributes
    ----------
    names : tuple of str
        Column names, in the order of the table.
    values : array (rows, columns) of float64
        The numbers as given, read-only.
    dropped_rows : int
        How many rows were left out for missing values.

    Raises
    ------
    DataError
        The table cannot be used as it is; the message names the columns and says what to do.

    Examples
    --------
    >>> data = Data([[1.0, 5.0], [2.0, 7.0], [4.0, 6.0]], names=["dose", "response"])
    >>> data
    Data(3 rows × 2 columns: dose, response)
    >>> data.standardised_gram().round(3)
    array([[2.   , 0.655],
           [0.655, 2.   ]])
    """

    names: tuple[str, ...]
    values: Floats
    dropped_rows: int
    _gram: Floats

    def __init__(self, table: object, *, missing: str = "raise", names: Sequence[str] | None = None) -> None:
        if missing not in _MISSING:
            raise DataError(f"missing={missing!r} is not known: use 'raise' or 'drop'")
        if isinstance(table, Data):
            refuse_names(names, "a Data")
            self.names, self.values, self.dropped_rows = table.names, table.values, table.dropped_rows
            self._gram = table._gram
            return
        self.names, values = read_table(table, names)
        rows_given = len(values)
        values = _without_missing(values, self.names, missing)
        self.dropped_rows = rows_given - len(values)
        if len(values) < _FEWEST_ROWS:
            dropped = f" after {self.dropped_rows} with missing values were dropped" if self.dropped_rows else ""
            raise DataError(f"too few rows: {len(values)} left{dropped}, at least {_FEWEST_ROWS} are needed")
        self._gram = _checked_gram(values, self.names)
        values.flags.writeable = False
        self.values = values

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return int(self.values.shape[0])

    @property
    def n_nodes(self) -> int:
        """Number of columns, each a node."""
        return int(self.values.shape[1])

    def standardised_gram(self) -> Floats:
        """Give ZᵀZ, with the columns of Z centred and divided by their standard deviation (with N−1).

        Its diagonal is N−1 and, off it, N−1 times the correlations. Computed once; each call gives a fresh copy.

        Examples
        --------
        >>> Data([[0, 0], [1, 2], [2, 1], [3, 3]]).standardised_gram()
        array([[3. , 2.4],
               [2.4, 3. ]])
        """
        return self._gram.copy()

    def __repr__(self) -> str:
        dropped = f"; {self.dropped_rows} dropped for missing values" if self.dropped_rows else ""
        return f"Data({self.n_rows} rows × {self.n_nodes} columns: {shorten(self.names)}{dropped})"


def as_data(table: object, missing: str = "raise") -> Data:
    """Give `table` as a `Data`; one that already is comes back unchanged.

    Examples
    --------
    >>> data = Data([[0, 0], [1, 2], [2, 1]])
    >>> as_data(data) is data
    True
    """
    return table if isinstance(table, Data) and missing in _MISSING else Data(table, missing=missing)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of the numbers, and the Gram matrix


def _row_blocks(values: Floats) -> Iterator[Floats]:
    rows = max(1, _BLOCK // values.shape[1])
    for start in range(0, len(values), rows):
        yield values[start : start + rows]


def _without_missing(values: Floats, names: Sequence[str], missing: str) -> Floats:
    counts = [int(count) for count in sum(np.isnan(block).sum(axis=0) for block in _row_blocks(values))]
    if not any(counts):
        return values
    if missing == "raise":
        raise DataError(f"missing values in {_with_counts(names, counts)}; missing='drop' leaves out such rows")
    empty = [name for name, count in zip(names, counts, strict=True) if count == len(values)]
    if empty:
        raise DataError(f"columns without any value: {shorten(empty)}; remove them")
    kept = 0
    for block in _row_blocks(values):  # moves the complete rows up in place: a copy would double the memory
        complete = block[~np.isnan(block).any(axis=1)]
        values[kept : kept + len(complete)] = complete
        kept += len(complete)
    return values[:kept]


def _checked_gram(values: Floats, names: Sequence[str]) -> Floats:
    """Give the standardised Gram matrix, refusing infinite and constant columns and copies of columns."""
    infinite = [int(count) for count in sum(np.isinf(block).sum(axis=0) for block in _row_blocks(values))]
    if any(infinite):
        listed = _with_counts(names, infinite)
        raise DataError(f"infinite values (or too large for double precision) in {listed}; remove or replace them")
    low, high = values.min(axis=0), values.max(axis=0)
    magnitude = np.maximum(np.abs(low), np.abs(high))
    centre, half_range = low / 2 + high / 2, high / 2 - low / 2  # halved first: the sums cannot overflow
    constant = np.flatnonzero(half_range <= _ROUNDING / 2 * magnitude)
    if constant.size:
        listed = shorten([_describe_constant(names[j], low[j], high[j]) for j in constant.tolist()])
        raise DataError(f"constant columns: {listed}; they carry no information, remove them")
    gram = _centred_gram(values, centre, half_range)
    n_rows = len(values)
    deviation = np.sqrt(np.diagonal(gram))
    correlation = gram / np.outer(deviation, deviation)
    correlation = np.clip((correlation + correlation.T) / 2, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    stored_error = _EPSILON * (magnitude / half_range) * np.sqrt(n_rows - 1) / deviation  # in standard deviations
    _refuse_copies(correlation, stored_error, names, n_rows)
    return np.ascontiguousarray(correlation * (n_rows - 1))


def _centred_gram(values: Floats, centre: Floats, half_range: Floats) -> Floats:
    """Give the Gram matrix of the columns, centred and in units of their half-range.

    These units keep squares of huge and tiny numbers within the range of floating point. The mid-range goes first
    because subtracting it is exact when the spread is small beside the mean; the mean of the rest follows.
    """
    n_rows, n = values.shape
    mean = np.zeros(n)
    for block in _row_blocks(values):
        mean += ((block - centre) / half_range).sum(axis=0) / n_rows
    gram = np.zeros((n, n))
    for block in _row_blocks(values):
        centred = block - centre
        centred /= half_range
        centred -= mean
        gram += centred.T @ centred
    return gram


def _describe_constant(name: str, low: float, high: float) -> str:
    return f"{name} (always {low:.6g})" if low == high else f"{name} ({low:.6g} up to rounding)"


def _refuse_copies(correlation: Floats, stored_error: Floats, names: Sequence[str], n_rows: int) -> None:
    """Refuse pairs whose correlation is ±1 up to the rounding of the stored numbers and of the sums over rows."""
    tolerance = _ROUNDING + _EPSILON * np.sqrt(n_rows) + np.add.outer(stored_error**2, stored_error**2)
    pairs = np.argwhere(np.triu(1.0 - np.abs(correlation) <= tolerance, k=1))
    if len(pairs):
        listed = shorten([f"{names[i]} and {names[j]}" for i, j in pairs.tolist()])
        raise DataError(f"duplicate columns (equal, mirrored or rescaled): {listed}; keep one of each pair")


def _with_counts(names: Sequence[str], counts: Sequence[int]) -> str:
    return shorten([f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count])
