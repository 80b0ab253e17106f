"""Reading tables: a data frame, an array or a file becomes column names and float64 numbers or codes of levels.

What cannot be read as such a table is refused with a `DataError` that names the file or the columns. Whether the
numbers and levels themselves can be used is not asked here but in `checks.py`.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from parnidag._util.files import unescaped, why_not_readable
from parnidag._util.text import did_you_mean, is_number_text, one_line, shorten
from parnidag.data.columns import Coding, Column, UnreadableError, is_text, read_column
from parnidag.data.parquet import read_parquet
from parnidag.errors import DataError

Floats = NDArray[np.float64]

MOST_COLUMNS = 50_000
"""Every matrix over the nodes would have 20 GB with more."""
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_GLANCE = 1 << 16  # bytes that tell a text from something else
# What pandas calls a column without a name, in a CSV file and in a Parquet file: almost always saved row names.
_ROW_NAMES = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")


class Table(NamedTuple):
    """A table as read: what its columns are called and what they hold."""

    names: tuple[str, ...]
    values: Floats
    """A new array (rows, columns): numbers, or codes in a column that has a coding; NaN where a value is missing."""
    codings: tuple[Coding | None, ...]
    """For each column what its codes stand for, None for a column of numbers."""
    aside: Column | None = None
    """The column that was asked to be kept apart; it is not among the others."""


def read_table(
    table: object, names: Sequence[str] | None = None, aside: str | None = None, fewest_rows: int = 1
) -> Table:
    """Read whatever was given as a table into column names and a new array of its numbers and codes.

    Parameters
    ----------
    table
        Any table that `parnidag.Data` takes, other than a `Data`.
    names
        Column names, for an array only; X0, X1, … by default.
    aside
        A column to keep apart: it says something about the rows and is no node.
    fewest_rows
        1, or 0 for a part of a table, which may be empty.

    Examples
    --------
    >>> read = read_table([[1, "a"], [3, None], [2, "b"]])
    >>> read.values
    array([[ 1.,  0.],
           [ 3., nan],
           [ 2.,  1.]])
    >>> read.codings[0], read.codings[1].labels
    (None, ('a', 'b'))
    """
    if isinstance(table, (str, os.PathLike)):
        refuse_names(names, "a file")
        path = Path(table).expanduser()
        return read_frame(_read_file(path), aside, f"{path.name}: ", fewest_rows)
    frame = as_frame(table)
    if isinstance(frame, nw.Series):
        raise DataError("the data must be a table with at least 2 columns; got a single column (a Series)")
    if isinstance(frame, nw.DataFrame):
        refuse_names(names, "a table that has its own")
        return read_frame(frame, aside, "", fewest_rows)
    return _from_array(_as_array(table), names, aside, fewest_rows)


def as_frame(table: object, source: str = "") -> nw.DataFrame[Any] | nw.Series[Any] | object:
    """Wrap a data frame or a column of any library; whatever is neither comes back as it is."""
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=True)
    except DuplicateError:
        # Only pyarrow has `column_names`; what it calls `columns` are the columns themselves.
        names_given = getattr(table, "column_names", getattr(table, "columns", ()))
        _refuse_duplicate_names([str(name) for name in names_given], source)
        raise
    if isinstance(frame, nw.LazyFrame):
        try:
            return frame.collect()
        except Exception as error:  # whatever the lazy engine found wrong while it ran
            raise DataError(f"{source}the lazy table could not be collected: {one_line(error)}") from error
    return frame


def read_frame(frame: nw.DataFrame[Any], aside: str | None, source: str, fewest_rows: int) -> Table:
    """Read a data frame; `source` begins messages."""
    _refuse_too_wide(len(frame.columns), source)
    names = _checked_names(frame.columns, source)
    _refuse_unknown(aside, names, source)
    _refuse_empty(len(frame), len(names) - (aside is not None), source, fewest_rows)
    return _assemble(names, len(frame), frame.iter_columns(), aside)


def _from_array(array: NDArray[Any], names: Sequence[str] | None, aside: str | None, fewest_rows: int) -> Table:
    if array.ndim != 2:
        raise DataError(f"an array must be 2-D (rows × columns); got {array.ndim}-D with shape {array.shape}")
    n_rows, n_columns = array.shape
    _refuse_too_wide(n_columns)
    if isinstance(names, str):
        raise DataError(f"names={names!r} must be a list of {n_columns} column names, not one string")
    given = [f"X{j}" for j in range(n_columns)] if names is None else list(names)
    if len(given) != n_columns:
        raise DataError(f"names has {len(given)} entries, but the array has {n_columns} columns")
    labels = _checked_names(given)
    _refuse_unknown(aside, labels)
    _refuse_empty(n_rows, n_columns - (aside is not None), "", fewest_rows)
    if array.dtype.kind in "fiu" and aside is None:  # one copy instead of one for each column
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite, or is no number, is refused later
            return Table(labels, np.array(array, dtype=np.float64, order="C"), (None,) * n_columns)
    return _assemble(labels, n_rows, array.T, aside)


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
        raise DataError(f"the data could not be read as a 2-D array: {one_line(error)}") from error
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
    unwritable = [ascii(name) for name in names if not is_text(name) or "\0" in name]
    if unwritable:
        raise DataError(
            f"{source}column names with a zero character or half a character (a lone surrogate), which no file can "
            f"hold: {shorten(unwritable)}; rename them"
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


def _refuse_unknown(aside: str | None, names: Sequence[str], source: str = "") -> None:
    if aside is not None and aside not in names:
        raise DataError(f"{source}interventions={aside!r} is not a column; {did_you_mean(aside, names)}")


def _refuse_too_wide(n_columns: int, source: str = "") -> None:
    if n_columns > MOST_COLUMNS:
        raise DataError(f"{source}the table has {n_columns} columns, more than the {MOST_COLUMNS} that can be nodes")


def _refuse_empty(n_rows: int, n_columns: int, source: str, fewest_rows: int) -> None:
    if n_columns == 0:
        raise DataError(f"{source}the table is empty: it has no columns")
    if n_rows < fewest_rows:
        raise DataError(f"{source}the table is empty: it has no rows")
    if n_columns == 1:
        raise DataError(f"{source}the table has only 1 column; at least 2 are needed")


# ---------------------------------------------------------------------------------------------------------------------
# Files


def _read_file(path: Path) -> nw.DataFrame[Any]:
    is_parquet = check_path(path)
    with readable(path):
        return read_parquet(path) if is_parquet else _read_text(path)


def check_path(path: Path) -> bool:
    """Refuse what is no file of a known kind; return whether it is a Parquet file rather than text."""
    suffix = path.suffix.lower()
    if suffix not in _TEXT_SUFFIXES + _PARQUET_SUFFIXES:
        known = ", ".join(_TEXT_SUFFIXES + _PARQUET_SUFFIXES)
        raise DataError(f"{path}: unknown kind of file {suffix or '(no suffix)'!r}; known are {known}")
    problem = why_not_readable(path)
    if problem is not None:
        raise DataError(f"{path}: {problem}")
    return suffix in _PARQUET_SUFFIXES


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the errors of whoever reads a file into a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not readable as UTF-8 text, so save it as such: {one_line(error)}") from error
    except MemoryError as error:
        raise DataError(f"{path}: the table needs more memory than there is") from error
    except Exception as error:  # each reader has errors of its own
        raise DataError(f"{path}: not readable: {one_line(error) or type(error).__name__}") from error


def _read_text(path: Path) -> nw.DataFrame[Any]:
    text = text_form(path)
    frame = nw.read_csv(path.absolute(), backend="pandas", separator=text.separator, **text.options)
    return text.named(frame)


class TextForm(NamedTuple):
    """How a text file is read by pandas, and what its columns are called."""

    path: Path
    separator: str
    options: dict[str, Any]
    header: list[str]
    names: tuple[str, ...]

    def named(self, frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
        """Give the columns of what pandas has read their names, if it has read the first line as it stands."""
        if frame.columns != self.header:
            source = self.path.name
            raise DataError(f"{source}: the first line can be read in two ways; put quotes around all column names")
        renamed = {old: new for old, new in zip(self.header, self.names, strict=True) if old != new}
        return frame.rename(renamed) if renamed else frame


def text_form(path: Path) -> TextForm:
    """Check the first lines of a text file, and say how it is to be read."""
    with path.open("rb") as bytes_:
        if b"\0" in bytes_.read(_GLANCE):
            raise DataError(f"{path}: not readable as UTF-8 text (it has zero bytes), so save it as such")
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = (line for line in file if line.strip())
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: the file is empty")
        separator = _SEPARATORS.get(path.suffix.lower()) or _guess_separator(first)
        header, row = _first_records(first, lines, separator)
    names = _check_header(path, header, row, separator)
    # index_col=False: pandas must never turn a column into row labels on its own. Whoever reads gives the whole path,
    # since it takes a relative one such as "http:/x.csv" for an address. No compression: nothing is ever unpacked.
    options: dict[str, Any] = {
        "index_col": False,
        "low_memory": False,
        "encoding": "utf-8-sig",
        "compression": None,
    }
    return TextForm(path, r"\s+" if separator == " " else separator, options, header, names)


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


def _check_header(path: Path, header: list[str], row: list[str], separator: str) -> tuple[str, ...]:
    """Return the names, refusing what pandas would quietly repair: repeated names, row names, no header, no columns."""
    source = f"{path.name}: "
    if len(header) == 1:
        other = next((mark for mark in ";\t|, " if mark != separator and mark in header[0]), None)
        seen = f"; the header contains {other!r}" if other else ""
        raise DataError(
            f"{source}only 1 column when split at {separator!r}{seen}: check the separator "
            "(.csv is split at commas, .tsv at tabs; named .txt, the separator is guessed)"
        )
    _refuse_too_wide(len(header), source)
    if len(row) > len(header):
        raise DataError(
            f"{source}the first row has {len(row)} fields, the header {len(header)}: remove the unnamed column "
            "(saved row names?) or name it in the header"
        )
    _refuse_duplicate_names(header, source)
    names = _checked_names(map(unescaped, header), source)
    if all(map(is_number_text, names)) and not all(name.strip().isdigit() for name in names):
        raise DataError(f"{source}the first line holds numbers ({shorten(names)}): it must hold the column names")
    return names


# ---------------------------------------------------------------------------------------------------------------------
# Columns put together

_REFUSALS = {
    "mixed": "columns that mix numbers, text or truth values: {}; make each column all numbers or all text",
    "complex": "complex columns are not supported: {}; pass real numbers",
    "half": "text with half a character in it (a lone surrogate): {}; correct it",
    "other": "not numeric: {}; leave these columns out or turn them into numbers",
}


def _assemble(
    names: Sequence[str], n_rows: int, columns: Iterable[nw.Series[Any] | NDArray[Any]], aside: str | None
) -> Table:
    nodes = tuple(name for name in names if name != aside)
    values = np.empty((n_rows, len(nodes)))
    codings: list[Coding | None] = []
    apart: Column | None = None
    refused: dict[str, list[str]] = {kind: [] for kind in _REFUSALS}
    for name, column in zip(names, columns, strict=True):
        try:
            read = read_column(column)
        except UnreadableError as refusal:
            refused[refusal.kind].append(f"{name} ({refusal.detail})")
            continue
        if name == aside:
            apart = read
        elif not any(refused.values()):
            values[:, len(codings)] = read.values
            codings.append(read.coding)
    for kind, columns_refused in refused.items():
        if columns_refused:
            raise DataError(_REFUSALS[kind].format(shorten(columns_refused)))
    return Table(nodes, values, tuple(codings), apart)
