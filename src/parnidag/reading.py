"""Reading tables: a data frame, an array or a file becomes column names and float64 numbers.

What cannot be read as a table of real numbers is refused with a `DataError` that names the file or the columns. Whether
the numbers themselves can be used is not asked here but in `data.py`.
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

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
# What pandas calls a column without a name, in a CSV file and in a Parquet file: almost always saved row names.
_ROW_NAMES = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")


def read_table(table: object, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], Floats]:
    """Read whatever was given as a table into column names and a new array of its numbers.

    Parameters
    ----------
    table
        Any table that `parnidag.Data` takes, other than a `Data`.
    names
        Column names, for an array only; X0, X1, … by default.

    Returns
    -------
    names : tuple of str
    values : array (rows, columns) of float64
        NaN where a value is missing.

    Examples
    --------
    >>> read_table([[1, 2], [3, None]])
    (('X0', 'X1'), array([[ 1.,  2.],
           [ 3., nan]]))
    """
    if isinstance(table, (str, os.PathLike)):
        refuse_names(names, "a file")
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
        refuse_names(names, "a table that has its own")
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
            f"{source}columns without a name ({shorten(row_names)}), which look like saved row names: "
            "remove them or give them a name"
        )
    _refuse_duplicate_names(names, source)
    return names


def _refuse_duplicate_names(names: Iterable[str], source: str = "") -> None:
    repeated = [f"{name} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{source}duplicate column names: {shorten(repeated)}; every column needs a name of its own")


def refuse_names(names: Sequence[str] | None, what: str) -> None:
    """Refuse column names given together with a table that brings its own."""
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
        raise DataError(f"{path}: not readable as UTF-8 text, so save it as such: {_one_line(error)}") from error
    except Exception as error:  # each reader has errors of its own
        raise DataError(f"{path}: not readable: {_one_line(error)}") from error


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    for backend in ("pyarrow", "polars"):
        if importlib.util.find_spec(backend) is not None:
            return nw.read_parquet(path, backend=backend)
    raise DataError(f"{path}: reading Parquet needs pyarrow or polars: pip install 'parnidag[parquet]'")


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
            "(.csv is split at commas, .tsv at tabs; named .txt, the separator is guessed)"
        )
    if len(row) > len(header):
        raise DataError(
            f"{source}the first row has {len(row)} fields, the header {len(header)}: remove the unnamed column "
            "(saved row names?) or name it in the header"
        )
    names = _checked_names(header, source)
    if all(map(_is_number, names)) and not all(name.strip().isdigit() for name in names):
        raise DataError(f"{source}the first line holds numbers ({shorten(names)}): it must hold the column names")


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
            raise DataError(_REFUSALS[kind].format(shorten(columns_refused)))
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
# Words


def shorten(items: Sequence[str], shown: int = 5) -> str:
    """Join the first few items of a list for a message, and say how many more there are.

    Examples
    --------
    >>> shorten(["a", "b", "c", "d"], shown=2)
    'a, b and 2 more'
    """
    clipped = [_one_line(item, 80) for item in items[: shown + 1]]
    if len(items) <= shown + 1:
        return ", ".join(clipped)
    return f"{', '.join(clipped[:shown])} and {len(items) - shown} more"


def _one_line(reason: object, longest: int = 300) -> str:
    text = " ".join(str(reason).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
