"""Reading tables: a data frame, an array or a file becomes column names and float64 numbers or codes of levels.

What cannot be read as such a table is refused with a `DataError` that names the file or the columns. Whether the
numbers and levels themselves can be used is asked later (`table`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from parnidag._util.text import did_you_mean, one_line, shorten
from parnidag.data.columns import (
    Coding,
    Column,
    UnreadableError,
    checked_names,
    is_row_name,
    read_column,
    refuse_duplicate_names,
)
from parnidag.data.files import read_file
from parnidag.data.notation import understood
from parnidag.errors import DataError

Floats = NDArray[np.float64]


class Wanted(NamedTuple):
    """Which columns are read, and how."""

    columns: tuple[str, ...] | None = None
    """The only ones that are read, None for all."""
    drop: tuple[str, ...] = ()
    """Those that are left out."""
    classes: frozenset[str] = frozenset()
    """Those whose text was told to be classes, whatever it looks like."""
    is_part: bool = False
    """Are there other batches of rows? Then numbers with a word among them may be classes."""
    told: frozenset[str] | None = None
    """Columns of which something was said. Others that can be no node are left out; None refuses them all."""

    def chosen(self, names: Sequence[str], aside: str | None) -> frozenset[str]:
        for argument, given in (("columns", self.columns or ()), ("drop", self.drop)):
            unknown = next((name for name in given if name not in names), None)
            if unknown is not None:
                raise DataError(
                    f"{argument}: {unknown!r} is no column; {did_you_mean(unknown, names)}", argument=argument
                )
        left = set(names if self.columns is None else self.columns).difference(self.drop)
        return frozenset(left if aside is None else {*left, aside})


EVERYTHING = Wanted()


class Table(NamedTuple):
    """A table as read: what its columns are called and what they hold."""

    names: tuple[str, ...]
    values: Floats
    """A new array (rows, columns): numbers, or codes in a column that has a coding; NaN where a value is missing."""
    codings: tuple[Coding | None, ...]
    """For each column what its codes stand for, None for a column of numbers."""
    aside: Column | None = None
    """The column that was asked to be kept apart; it is not among the others."""
    notes: tuple[str, ...] = ()
    """What should be known of how it was read."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """Columns that can be no node, and what they are."""


def read_table(
    table: object,
    names: Sequence[str] | None = None,
    aside: str | None = None,
    fewest_rows: int = 1,
    wanted: Wanted = EVERYTHING,
) -> Table:
    """Read whatever was given as a table; the column `aside` says something about the rows and is no node."""
    if isinstance(table, (str, os.PathLike)):
        refuse_names(names, "a file")
        path = Path(table).expanduser()
        return read_frame(read_file(path), aside, f"{path.name}: ", fewest_rows, wanted)
    frame = as_frame(table)
    if isinstance(frame, nw.Series):
        raise DataError("the data must be a table with at least 2 columns; got a single column (a Series)")
    if isinstance(frame, nw.DataFrame):
        refuse_names(names, "a table that has its own")
        return read_frame(frame, aside, "", fewest_rows, wanted)
    return _from_array(as_array(table), names, aside, fewest_rows, wanted)


def as_frame(table: object, source: str = "") -> nw.DataFrame[Any] | nw.Series[Any] | object:
    """Wrap a data frame or a column of any library; whatever is neither comes back as it is."""
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=True)
    except DuplicateError:
        # Only pyarrow has `column_names`; what it calls `columns` are the columns themselves.
        names_given = getattr(table, "column_names", getattr(table, "columns", ()))
        refuse_duplicate_names([str(name) for name in names_given], source)
        raise
    if isinstance(frame, nw.LazyFrame):
        try:
            return frame.collect()
        except Exception as error:  # whatever the lazy engine found wrong while it ran
            raise DataError(f"{source}the lazy table could not be collected: {one_line(error)}") from error
    return frame


def read_frame(
    frame: nw.DataFrame[Any], aside: str | None, source: str, fewest_rows: int, wanted: Wanted = EVERYTHING
) -> Table:
    given = frame.columns
    every = wanted.told is None and wanted.columns is None
    named = [name for name in given if every or not is_row_name(str(name))]
    names = checked_names(named if len(named) > 1 else given, source)
    chosen = wanted.chosen(names, aside)
    kept = [name for name in names if name in chosen]
    _check_shape(kept, aside, len(frame), fewest_rows, source)
    columns = (column for name, column in zip(given, frame.iter_columns(), strict=True) if str(name) in chosen)
    table = _assemble(kept, len(frame), columns, aside, wanted)
    if len(names) < len(given) and wanted.told is not None:
        nameless = {"a column without a name": "row names that were saved"}
        return table._replace(left_out={**nameless, **table.left_out})
    return table


def _from_array(
    array: NDArray[Any], names: Sequence[str] | None, aside: str | None, fewest_rows: int, wanted: Wanted
) -> Table:
    if array.ndim != 2:
        raise DataError(f"an array must be 2-D (rows × columns); got {array.ndim}-D with shape {array.shape}")
    n_rows, n_columns = array.shape
    if isinstance(names, str):
        raise DataError(f"names={names!r} must be a list of {n_columns} column names, not one string")
    given = [f"X{j}" for j in range(n_columns)] if names is None else list(names)
    if len(given) != n_columns:
        raise DataError(f"names has {len(given)} entries, but the array has {n_columns} columns")
    labels = checked_names(given)
    chosen = wanted.chosen(labels, aside)
    kept = [name for name in labels if name in chosen]
    if len(kept) < n_columns:
        array = array[:, [name in chosen for name in labels]]
    _check_shape(kept, aside, n_rows, fewest_rows)
    if array.dtype.kind in "fiu" and aside is None:  # one copy instead of one for each column
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite, or is no number, is refused later
            return Table(tuple(kept), np.array(array, dtype=np.float64, order="C"), (None,) * len(kept))
    return _assemble(kept, n_rows, array.T, aside, wanted)


def as_array(table: object) -> NDArray[Any]:
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


def refuse_names(names: Sequence[str] | None, what: str) -> None:
    if names is not None:
        raise DataError(f"names= is for arrays only; it was given together with {what}")


def _check_shape(names: Sequence[str], aside: str | None, n_rows: int, fewest_rows: int, source: str = "") -> None:
    if aside is not None and aside not in names:
        message = f"interventions={aside!r} is not a column; {did_you_mean(aside, names)}"
        raise DataError(message, argument="interventions")
    n_columns = len(names) - (aside is not None)
    if n_columns == 0:
        raise DataError(f"{source}the table is empty: it has no columns")
    if n_rows < fewest_rows:
        raise DataError(f"{source}the table is empty: it has no rows")
    if n_columns == 1:
        raise DataError(f"{source}the table has only 1 column; at least 2 are needed")


# ---------------------------------------------------------------------------------------------------------------------
# Columns put together

_LEAVE_OUT = "leave them out: drop={names}"
_REFUSALS = {
    "mixed": ("columns that mix numbers, text or truth values", "make each column all numbers or all text"),
    "complex": ("complex columns are not supported", "pass real numbers"),
    "half": ("text with half a character in it (a lone surrogate)", "correct it"),
    "other": ("not numeric", f"turn these columns into numbers or {_LEAVE_OUT}"),
    "strays": (
        "columns of numbers with something else among them",
        "correct such cells or leave them empty (missing='drop' then drops their rows, else they are drawn); if they "
        "are classes, say kinds={{'{first}': 'class'}}",
    ),
    "limits": (
        "columns with limits of detection among their numbers",
        "put a number in their place (half the limit is usual), or leave such cells empty",
    ),
    "dates": ("columns of dates or times", f"turn them into numbers, such as days since the first, or {_LEAVE_OUT}"),
    "units": (
        "numbers with something written around them",
        "take it out, so that numbers are left; if they are classes, say kinds={{'{first}': 'class'}}",
    ),
    "names": ("text that is another one in almost every row, like names of rows or remarks", _LEAVE_OUT),
    "notations": ("numbers that are written in different ways", "write them alike, with a decimal point"),
    "ambiguous": (
        "numbers that can be read in two ways",
        "write them with a decimal point and nothing between thousands, or read them as you know them to be, with "
        "pandas.read_csv(path, decimal=',') or pandas.read_csv(path, thousands=',')",
    ),
}
"""What is wrong with columns, and what can be done; `names` are theirs, `first` is one of them."""
_NO_NODES = {"dates": "dates or times", "names": "another text in almost every row"}
"""What of these can be left out, in words."""


def _assemble(
    names: Sequence[str],
    n_rows: int,
    columns: Iterable[nw.Series[Any] | NDArray[Any]],
    aside: str | None,
    wanted: Wanted,
) -> Table:
    nodes = tuple(name for name in names if name != aside)
    values = np.empty((n_rows, len(nodes)))
    codings: list[Coding | None] = []
    notes: list[str] = []
    apart: Column | None = None
    refused: dict[str, dict[str, str]] = {kind: {} for kind in _REFUSALS}
    left_out: dict[str, str] = {}
    for name, column in zip(names, columns, strict=True):
        try:
            read = read_column(column)
            if name == aside:
                apart = read
                continue
            read = understood(read, name in wanted.classes, wanted.is_part)
        except UnreadableError as refusal:
            refused[refusal.kind][name] = f"{name} ({refusal.detail})"
            if refusal.kind in _NO_NODES and wanted.told is not None and name not in wanted.told:
                left_out[name] = _NO_NODES[refusal.kind]
            read = Column(np.full(n_rows, np.nan))
        else:
            if wanted.told is not None and name not in wanted.told and (said := _says_nothing(read)):
                left_out[name] = said
        values[:, len(codings)] = read.values
        codings.append(read.coding)
        notes += [f"{name}: {read.note}"] if read.note else []
    if len(nodes) < len(left_out) + 2:  # there would be no table: what is wrong is said of each column
        left_out = {}
    refuse_columns(
        {kind: {name: said for name, said in found.items() if name not in left_out} for kind, found in refused.items()}
    )
    kept = [name not in left_out for name in nodes]
    if left_out:
        values, nodes = values[:, kept], tuple(compress(nodes, kept))
    return Table(nodes, values, tuple(compress(codings, kept)), apart, tuple(notes), left_out)


def _says_nothing(column: Column) -> str:
    """Say what a column is that has the same value in all rows, or none; nothing if it varies."""
    low, high = np.fmin.reduce(column.values, initial=np.nan), np.fmax.reduce(column.values, initial=np.nan)
    if np.isnan(low):
        return "empty"
    if low < high:
        return ""
    return f"always {low:.6g}" if column.coding is None else f"always {column.coding.labels[int(low)]!r}"


def refuse_columns(refused: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse columns, if there are any: for each kind of refusal their names and what to show of them."""
    for kind, found in refused.items():
        if found:
            what, remedy = _REFUSALS[kind]
            names = list(found)
            raise DataError(
                f"{what}: {shorten(list(found.values()))}", remedy=remedy.format(names=names, first=names[0])
            )
