"""Columns of any type: their names, and their numbers, or levels if they hold text, truth values or categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from datetime import time as clock
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import is_number_text, one_line, shorten
from parnidag.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_COLUMNS = 50_000
"""Every matrix over the nodes would have 20 GB with more."""
_PIECE = 1 << 16  # values of a column that are lists at a time
# What pandas calls a column without a name, in a CSV file and in a Parquet file: almost always saved row names.
_ROW_NAMES = re.compile(r"\s*|Unnamed: \d+(\.\d+)?|__index_level_\d+__")
_HALF = re.compile("[\ud800-\udfff]")  # a lone surrogate: no file can hold it


class Coding(NamedTuple):
    """What the codes of a column without numbers stand for: code k is the level `labels[k]`."""

    labels: tuple[str, ...]
    declared: bool
    """Whether the levels were declared with the column; then those that never occur are levels all the same."""
    type: str
    """As its library calls it."""
    ordered: bool = False
    """Whether the levels have an order, in which they are listed."""

    @property
    def is_truth(self) -> bool:
        return self.declared and self.labels == ("False", "True")

    @property
    def shown(self) -> str:
        """The type and, as an example, the first level that is no number: the cell to mend if numbers were meant."""
        if self.is_truth:
            return self.type
        example = next((label for label in self.labels if not is_number_text(label)), self.labels[0])
        return f"{self.type}, for example {one_line(repr(example), 40)}"


class Column(NamedTuple):
    """A column as float64: numbers, or codes if there is a `coding`; NaN where a value is missing."""

    values: Floats
    coding: Coding | None = None
    note: str = ""
    """What should be known of how it was read."""


class UnreadableError(Exception):
    """A column that holds neither numbers nor levels: the kind of refusal and what to show of the column."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


def read_column(column: nw.Series[Any] | NDArray[Any]) -> Column:
    return _from_series(column) if isinstance(column, nw.Series) else _from_array(column)


def number_label(number: float) -> str:
    """Write a number as a level, a whole one without ".0"."""
    return str(int(number)) if float(number).is_integer() else str(float(number))


# ---------------------------------------------------------------------------------------------------------------------
# Columns of data frames


def _from_series(series: nw.Series[Any]) -> Column:
    dtype = series.dtype
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # numpy has no such types
        series = series.cast(nw.Float64)
    elif not dtype.is_numeric() and dtype not in (nw.Object, nw.Unknown):  # those two show what they are as arrays
        if series.null_count() == len(series):  # a column without any value has whatever type its library chose
            return Column(np.full(len(series), np.nan))
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return _from_text(series)
        if dtype == nw.Boolean:
            return _from_truth(series.fill_null(False).to_numpy(), series.is_null().to_numpy(), "Boolean")
        is_time = dtype.is_temporal() and dtype != nw.Duration
        raise UnreadableError("dates", str(series.drop_nulls()[0])) if is_time else UnreadableError("other", str(dtype))
    return _from_array(np.asarray(series.to_numpy()))


def _from_text(series: nw.Series[Any]) -> Column:
    """Read text or categories, with the levels that they declare.

    Narwhals knows the declared levels of an Enum only, so pandas and pyarrow are asked themselves. A Categorical of
    polars declares nothing: all such columns share one growing list of levels.
    """
    native, dtype, type_ = series.to_native(), series.dtype, type(series.dtype).__name__
    pandas: Any = getattr(native, "cat", None)
    if hasattr(pandas, "codes") and hasattr(pandas, "categories"):
        codes = np.asarray(pandas.codes, dtype=np.float64)
        coded = _coded(np.where(codes < 0, np.nan, codes), list(pandas.categories), True, type_)
        return _in_order(coded) if pandas.ordered else coded
    declared = dtype.categories if isinstance(dtype, nw.Enum) else None
    ordered = False
    if hasattr(native, "unify_dictionaries") and dtype == nw.Categorical:  # pyarrow
        declared, ordered = native.unify_dictionaries().chunk(0).dictionary.drop_null().to_pylist(), native.type.ordered
    read = _from_levels(series, declared, type_)
    return _in_order(read) if ordered else read


def _in_order(column: Column) -> Column:
    return column if column.coding is None else column._replace(coding=column.coding._replace(ordered=True))


# ---------------------------------------------------------------------------------------------------------------------
# Columns of arrays


def _from_array(column: NDArray[Any]) -> Column:
    kind = column.dtype.kind
    if kind in "fiu":
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite, or is no number, is refused later
            return Column(column.astype(np.float64, copy=False))
    if kind == "b":
        return _from_truth(column, np.zeros(len(column), dtype=bool), "bool")
    if kind in "UT":
        return _from_levels(column, None, "text")
    if kind == "O":
        return _from_objects(column)
    raise UnreadableError("complex" if kind == "c" else "other", str(column.dtype))


def _from_objects(values: NDArray[np.object_]) -> Column:
    absent = np.array([_is_absent(value) for value in values], dtype=bool)
    present = values[~absent]
    if len(present) and all(isinstance(value, str) for value in present):
        return _from_levels(np.where(absent, np.array(None), values), None, "str")
    if len(present) and all(isinstance(value, (bool, np.bool_)) for value in present):
        return _from_truth(np.where(absent, False, values), absent, "bool")
    numbers = np.full(len(values), np.nan)
    numbers[~absent] = [_real_number(value) for value in present]
    return Column(numbers)


def _is_absent(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":  # pandas.NA, without importing pandas
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _real_number(value: object) -> float:
    shown = f"{type(value).__name__}, for example {one_line(repr(value), 40)}"
    if isinstance(value, (bool, np.bool_, str)):
        raise UnreadableError("mixed", shown)
    if isinstance(value, (date, clock)):
        raise UnreadableError("dates", one_line(str(value), 40))
    if isinstance(value, (Real, Decimal)):
        try:
            return float(value)
        except OverflowError:
            return float("inf")
    raise UnreadableError("complex" if isinstance(value, Complex) else "other", shown)


# ---------------------------------------------------------------------------------------------------------------------
# Levels


def _from_truth(truth: NDArray[Any], absent: NDArray[np.bool_], type_: str) -> Column:
    return Column(np.where(absent, np.nan, truth.astype(np.float64)), Coding(("False", "True"), True, type_))


def _from_levels(column: nw.Series[Any] | NDArray[Any], declared: Sequence[Any] | None, type_: str) -> Column:
    """Code values by their place among the levels; whatever is not among them is missing."""
    levels = declared
    if levels is None:
        levels = sorted({value for piece in _pieces(column) for value in piece if isinstance(value, str)})
    places = {level: float(code) for code, level in enumerate(levels)}
    coded = [np.array([places.get(value, np.nan) for value in piece], dtype=np.float64) for piece in _pieces(column)]
    codes = np.concatenate([np.empty(0), *coded])
    return _coded(codes, levels, declared is not None, type_) if places else Column(codes)


def _pieces(column: nw.Series[Any] | NDArray[Any]) -> Iterator[list[Any]]:
    """Give a column as short lists, one after the other: in lists texts take ten times as much memory."""
    for start in range(0, len(column), _PIECE):
        piece = column[start : start + _PIECE]
        yield piece.to_list() if isinstance(piece, nw.Series) else piece.tolist()


def _coded(codes: Floats, levels: Sequence[Any], declared: bool, type_: str) -> Column:
    labels = tuple(number_label(level) if isinstance(level, float) else str(level) for level in levels)
    broken = next(filter(_HALF.search, labels), None)
    if broken is not None:
        raise UnreadableError("half", one_line(ascii(broken), 40))
    return Column(codes, Coding(labels, declared, type_))


def is_row_name(name: str) -> bool:
    """Is this what a column is called that has no name?"""
    return _ROW_NAMES.fullmatch(name) is not None


def refuse_too_many(columns: int, source: str = "") -> None:
    if columns > MOST_COLUMNS:
        raise DataError(f"{source}the table has {columns} columns, more than the {MOST_COLUMNS} that can be nodes")


def checked_names(given: Iterable[Any], source: str = "") -> tuple[str, ...]:
    names = tuple(str(name) for name in given)
    refuse_too_many(len(names), source)
    row_names = [repr(name) for name in names if is_row_name(name)]
    if row_names:
        raise DataError(
            f"{source}columns without a name ({shorten(row_names)}), which look like saved row names: "
            "remove them or give them a name"
        )
    unwritable = [ascii(name) for name in names if _HALF.search(name) or "\0" in name]
    if unwritable:
        raise DataError(
            f"{source}column names with a zero character or a lone surrogate, which no file can hold: "
            f"{shorten(unwritable)}; rename them"
        )
    refuse_duplicate_names(names, source)
    return names


def refuse_duplicate_names(names: Iterable[str], source: str = "") -> None:
    repeated = [f"{name} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{source}duplicate column names: {shorten(repeated)}; every column needs a name of its own")
