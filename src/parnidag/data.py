"""Tables in: a data frame, an array or a file becomes named float64 columns and their standardised Gram matrix.

Everything a user can get wrong with a table is refused here, with a `DataError` that names the columns, so that
the rest of the library can trust its numbers.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from numbers import Complex, Real
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from parnidag.errors import DataError

Floats = NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 64 * _EPSILON  # a spread (or a distance of a correlation from 1) this small is rounding, not information
_BLOCK = 1 << 19  # numbers worked on at a time (4 MB): statistics of a table of any length need no second copy of it
_FEWEST_ROWS = 3
_MISSING = ("raise", "drop")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
# What pandas calls a column without a name, in a CSV file and in a Parquet file: almost always saved row names.
_ROW_NAMES = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")


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
            _refuse_names(names, "a Data")
            self.names, self.values, self.dropped_rows = table.names, table.values, table.dropped_rows
            self._gram = table._gram
            return
        self.names, values = _load(table, names)
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
        return f"Data({self.n_rows} rows × {self.n_nodes} columns: {_shorten(self.names)}{dropped})"


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
# From whatever was given to names and raw numbers


def _load(table: object, names: Sequence[str] | None) -> tuple[tuple[str, ...], Floats]:
    if isinstance(table, (str, os.PathLike)):
        _refuse_names(names, "a file")
        path = Path(table).expanduser()
        return _from_frame(_read_file(path), source=f"{path.name}: ")
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=True)
    except DuplicateError:
        # Only pyarrow has `column_names`; what it calls `columns` are the columns themselves.
        names_given = getattr(table, "column_names", getattr(table, "columns", ()))
        _refuse_duplicate_names([str(name) for name in names_given])
        raise
    if isinstance(frame, nw.Series):
        raise DataError("the data must be a table with at least 2 columns; got a single column (a Series)")
    if isinstance(frame, nw.LazyFrame):
        try:
            frame = frame.collect()
        except Exception as error:  # whatever the lazy engine found wrong while it ran
            raise DataError(f"the lazy table could not be collected: {_one_line(error)}") from error
    if isinstance(frame, nw.DataFrame):
        _refuse_names(names, "a table that has its own")
        return _from_frame(frame)
    return _from_array(_as_array(table), names)


def _from_frame(frame: nw.DataFrame[Any], source: str = "") -> tuple[tuple[str, ...], Floats]:
    names = _checked_names(frame.columns, source)
    _refuse_empty(len(frame), len(names), source)
    return names, _assemble(names, len(frame), frame.iter_columns())


def _from_array(array: NDArray[Any], names: Sequence[str] | None) -> tuple[tuple[str, ...], Floats]:
    if array.ndim != 2:
        raise DataError(f"an array must be 2-D (rows × columns); got {array.ndim}-D with shape {array.shape}")
    n_rows, n_columns = array.shape
    if isinstance(names, str):
        raise DataError(f"names={names!r} must be a list of {n_columns} column names, not one string")
    given = [f"X{j}" for j in range(n_columns)] if names is None else list(names)
    if len(given) != n_columns:
        raise DataError(f"names has {len(given)} entries, but the array has {n_columns} columns")
    labels = _checked_names(given)
    _refuse_empty(n_rows, n_columns)
    if array.dtype.kind in "fiu":
        with np.errstate(over="ignore"):  # a longer float beyond the range becomes infinite, which is refused later
            return labels, np.array(array, dtype=np.float64, order="C")
    return labels, _assemble(labels, n_rows, array.T)


def _as_array(table: object) -> NDArray[Any]:
    """Make an array of an array-like, keeping masked and absent entries as missing values."""
    if isinstance(table, np.ma.MaskedArray):
        numeric = table.dtype.kind in "fiu"
        filled = np.array(table.data, dtype=np.float64 if numeric else object)
        filled[np.ma.getmaskarray(table)] = np.nan if numeric else None
        return filled
    try:
        array = np.asarray(table)
        if array.dtype.kind in "US" and not isinstance(table, np.ndarray):
            array = np.array(table, dtype=object)  # numpy turned the numbers of a mixed list into text
    except Exception as error:  # ragged rows, or an object whose own conversion fails
        raise DataError(f"the data could not be read as a 2-D array: {_one_line(error)}") from error
    if array.ndim == 0:
        raise DataError(
            f"data of type {type(table).__name__} are not supported: pass a pandas, polars or pyarrow table, "
            "a 2-D array, or the path of a CSV or Parquet file"
        )
    return array


def _checked_names(given: Iterable[Any], source: str = "") -> tuple[str, ...]:
    names = tuple(str(name) for name in given)
    row_names = [repr(name) for name in names if _ROW_NAMES.fullmatch(name)]
    if row_names:
        raise DataError(
            f"{source}columns without a name ({_shorten(row_names)}), which look like saved row names: "
            "remove them or give them a name"
        )
    _refuse_duplicate_names(names, source)
    return names


def _refuse_duplicate_names(names: Iterable[str], source: str = "") -> None:
    repeated = [f"{name} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{source}duplicate column names: {_shorten(repeated)}; every column needs a name of its own")


def _refuse_names(names: Sequence[str] | None, what: str) -> None:
    if names is not None:
        raise DataError(f"names= is for arrays only; it was given together with {what}")


def _refuse_empty(n_rows: int, n_columns: int, source: str = "") -> None:
    if n_columns == 0:
        raise DataError(f"{source}the table is empty: it has no columns")
    if n_rows == 0:
        raise DataError(f"{source}the table is empty: it has no rows")
    if n_columns == 1:
        raise DataError(f"{source}the table has only 1 column; at least 2 are needed")


# ---------------------------------------------------------------------------------------------------------------------
# Files


def _read_file(path: Path) -> nw.DataFrame[Any]:
    suffix = path.suffix.lower()
    if suffix not in _TEXT_SUFFIXES + _PARQUET_SUFFIXES:
        known = ", ".join(_TEXT_SUFFIXES + _PARQUET_SUFFIXES)
        raise DataError(f"{path}: unknown kind of file {suffix or '(no suffix)'!r}; known are {known}")
    if not path.exists():
        raise DataError(f"{path}: file not found")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder, not a file")
    try:
        return _read_parquet(path) if suffix in _PARQUET_SUFFIXES else _read_text(path)
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not readable as UTF-8 text: {_one_line(error)}") from error
    except Exception as error:  # each reader has errors of its own
        raise DataError(f"{path}: not readable: {_one_line(error)}") from error


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    for backend in ("pyarrow", "polars"):
        if importlib.util.find_spec(backend) is not None:
            return nw.read_parquet(path, backend=backend)
    raise DataError(f"{path}: reading Parquet needs pyarrow or polars: pip install parnidag[parquet]")


def _read_text(path: Path) -> nw.DataFrame[Any]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = (line for line in file if line.strip())
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: the file is empty")
        separator = _SEPARATORS.get(path.suffix.lower()) or _guess_separator(first)
        header, row = _first_records(first, lines, separator)
    _check_header(path, header, row, separator)
    # index_col=False: pandas must never turn a column into row labels on its own.
    options: dict[str, Any] = {"index_col": False, "low_memory": False, "encoding": "utf-8-sig"}
    return nw.read_csv(path, backend="pandas", separator=r"\s+" if separator == " " else separator, **options)


def _guess_separator(header: str) -> str:
    return next((separator for separator in "\t,;" if separator in header), " ")


def _first_records(first: str, rest: Iterator[str], separator: str) -> tuple[list[str], list[str]]:
    """Split the header and the first row; any run of blanks is one separator when the separator is a blank."""

    def lines() -> Iterator[str]:
        yield first
        yield from rest

    text = (line.strip() for line in lines()) if separator == " " else lines()
    records = csv.reader(text, delimiter=separator, skipinitialspace=separator == " ")
    return next(records), next(records, [])


def _check_header(path: Path, header: list[str], row: list[str], separator: str) -> None:
    """Refuse what pandas would quietly repair: repeated names, row names, a missing header, an unsuitable separator."""
    source = f"{path.name}: "
    if len(header) == 1:
        other = next((mark for mark in ";\t|, " if mark != separator and mark in header[0]), None)
        seen = f"; the header contains {other!r}" if other else ""
        raise DataError(
            f"{source}only 1 column when split at {separator!r}{seen}: check the separator "
            "(.csv is split at commas, .tsv at tabs)"
        )
    if len(row) > len(header):
        raise DataError(
            f"{source}the first row has {len(row)} fields, the header {len(header)}: remove the unnamed column "
            "(saved row names?) or name it in the header"
        )
    names = _checked_names(header, source)
    if all(map(_is_number, names)) and not all(name.strip().isdigit() for name in names):
        raise DataError(f"{source}the first line holds numbers ({_shorten(names)}): it must hold the column names")


# ---------------------------------------------------------------------------------------------------------------------
# From columns of any type to float64


class _NotNumericError(Exception):
    """A column that holds no real numbers: the kind of refusal and what to show of the column."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


_REFUSALS = {
    "discrete": "discrete columns are not supported yet: {}; leave them out or code them as numbers",
    "complex": "complex columns are not supported: {}; pass real numbers",
    "other": "not numeric: {}; leave these columns out or turn them into numbers",
}


def _assemble(names: Sequence[str], n_rows: int, columns: Iterable[nw.Series[Any] | NDArray[Any]]) -> Floats:
    values = np.empty((n_rows, len(names)))
    refused: dict[str, list[str]] = {kind: [] for kind in _REFUSALS}
    for j, column in enumerate(columns):
        try:
            array = _series_array(column) if isinstance(column, nw.Series) else column
            values[:, j] = _real_numbers(array)
        except _NotNumericError as refusal:
            refused[refusal.kind].append(f"{names[j]} ({refusal.detail})")
    for kind, columns_refused in refused.items():
        if columns_refused:
            raise DataError(_REFUSALS[kind].format(_shorten(columns_refused)))
    return values


def _series_array(series: nw.Series[Any]) -> NDArray[Any]:
    dtype = series.dtype
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # numpy has no such types
        series = series.cast(nw.Float64)
    elif not dtype.is_numeric() and dtype not in (nw.Object, nw.Unknown):  # those two show what they are as arrays
        if series.null_count() == len(series):  # a column without any value has whatever type its library chose
            return np.full(len(series), np.nan)
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            raise _NotNumericError("discrete", f"{dtype}, for example {_telling_example(series)}")
        if dtype == nw.Boolean:
            raise _NotNumericError("discrete", str(dtype))
        raise _NotNumericError("other", str(dtype))
    return np.asarray(series.to_numpy())


def _real_numbers(column: NDArray[Any]) -> NDArray[Any]:
    kind = column.dtype.kind
    if kind in "fiu":
        with np.errstate(over="ignore"):
            return column.astype(np.float64, copy=False)
    if kind == "O":
        return np.fromiter((_real_number(value) for value in column), dtype=np.float64, count=len(column))
    if kind in "bUST":
        raise _NotNumericError("discrete", "bool" if kind == "b" else f"text, for example {str(column[0])!r}")
    raise _NotNumericError("complex" if kind == "c" else "other", str(column.dtype))


def _real_number(value: object) -> float:
    if value is None or type(value).__name__ == "NAType":  # pandas.NA, without importing pandas
        return float("nan")
    if isinstance(value, (bool, np.bool_, str)):
        raise _NotNumericError("discrete", f"{type(value).__name__}, for example {_one_line(repr(value), 40)}")
    if isinstance(value, Decimal) and value.is_nan():
        return float("nan")
    if isinstance(value, (Real, Decimal)):
        try:
            return float(value)
        except OverflowError:
            return float("inf")
    kind = "complex" if isinstance(value, Complex) else "other"
    raise _NotNumericError(kind, f"{type(value).__name__}, for example {_one_line(repr(value), 40)}")


def _telling_example(series: nw.Series[Any]) -> str:
    """Show the first value that is no number, which is what the user looks for in a column meant to be numeric."""
    values = [str(value) for value in series.drop_nulls().unique(maintain_order=True).head(1000).to_list()]
    return _one_line(repr(next((value for value in values if not _is_number(value)), values[0])), 40)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        raise DataError(f"columns without any value: {_shorten(empty)}; remove them")
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
        listed = _shorten([_describe_constant(names[j], low[j], high[j]) for j in constant.tolist()])
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
        listed = _shorten([f"{names[i]} and {names[j]}" for i, j in pairs.tolist()])
        raise DataError(f"duplicate columns (equal, mirrored or rescaled): {listed}; keep one of each pair")


# ---------------------------------------------------------------------------------------------------------------------
# Words


def _with_counts(names: Sequence[str], counts: Sequence[int]) -> str:
    return _shorten([f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count])


def _shorten(items: Sequence[str], shown: int = 5) -> str:
    clipped = [_one_line(item, 80) for item in items[: shown + 1]]
    if len(items) <= shown + 1:
        return ", ".join(clipped)
    return f"{', '.join(clipped[:shown])} and {len(items) - shown} more"


def _one_line(reason: object, longest: int = 300) -> str:
    text = " ".join(str(reason).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
