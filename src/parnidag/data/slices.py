"""The forms that series come in, all made into one: a data frame with a row for each unit and time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from parnidag._util.checks import whole
from parnidag._util.text import did_you_mean, shorten
from parnidag.data.columns import checked_names
from parnidag.data.files import read_file
from parnidag.data.reading import as_array, as_frame, refuse_names
from parnidag.errors import DataError

Frame = nw.DataFrame[Any]
UNIT, TIME = "unit", "time"


def frame_of_table(table: object, names: Sequence[str] | None) -> Frame:
    """Return any table as a data frame whose rows are numbered from 0."""
    if isinstance(table, (str, os.PathLike)):
        refuse_names(names, "a file")
        return read_file(Path(table).expanduser())
    frame = as_frame(table)
    if isinstance(frame, nw.DataFrame):
        refuse_names(names, "a table that has its own")
        return nw.maybe_reset_index(frame)
    if isinstance(frame, nw.Series):
        raise DataError("the data must be a table with at least 2 columns; got a single column (a Series)")
    array = as_array(table)
    if array.ndim != 2:
        raise DataError(f"an array must be rows × columns, or unit × time × variable; got {array.ndim}-D")
    return _frame(array, names)


def frame_of_array(array: np.ndarray[Any, Any], names: Sequence[str] | None) -> Frame:
    """Return an array unit × time × variable as a data frame, without the times at which nothing was observed."""
    units, times, variables = array.shape
    frame = _frame(array.reshape(units * times, variables), names)
    unit, time = np.divmod(np.arange(units * times), times)
    for name in (UNIT, TIME):
        if name in frame.columns:
            raise DataError(f"names: {name!r} cannot be the name of a variable of such an array", argument="names")
    if array.dtype.kind not in "fiu":
        raise DataError(f"an array unit × time × variable must hold numbers, got {array.dtype}; pass a table instead")
    numbers = {name: nw.new_series(name, values, backend="pandas") for name, values in ((UNIT, unit), (TIME, time))}
    seen = np.flatnonzero(~np.isnan(np.asarray(array, np.float64)).all(axis=2).ravel())
    return nw.maybe_reset_index(frame.with_columns(**numbers)[seen.tolist()])


def frame_of_wide(table: object, slices: int | Mapping[str, Sequence[str]], static: Sequence[str]) -> Frame:
    """Return a table of one row a unit, with the times side by side, as one with a row for each unit and time."""
    wide = frame_of_table(table, None)
    by_variable = _columns_of_variables(wide.columns, slices, static)
    lengths = {len(columns) for columns in by_variable.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise DataError(
            f"slices: all variables need as many columns as others, got {sorted(lengths)}", argument="slices"
        )
    parts = []
    for time in range(lengths.pop()):
        taken = {columns[time]: name for name, columns in by_variable.items()}
        part = wide.select([*static, *taken]).rename(taken)
        number = nw.new_series(UNIT, list(range(len(wide))), backend=wide.implementation)
        parts.append(part.with_columns(number, nw.lit(time).alias(TIME)))
    return nw.maybe_reset_index(nw.concat(parts))


def _refuse_later_times(variables: Sequence[str], count: int) -> None:
    """Refuse v1 and v1.2 as two variables: they look like one, at two times, of a table cut at the wrong places."""
    for name in variables:
        stem, separator, number = name.rpartition(next((sign for sign in "._-" if sign in name), "."))
        if separator and number.isdecimal() and stem in variables:
            raise DataError(
                f"slices={count}: {stem} and {name} would be two variables, and look like one at two times: is the "
                "number of times right? If they are two, give a mapping from variables to their columns",
                argument="slices",
            )


def _columns_of_variables(
    names: Sequence[str], slices: int | Mapping[str, Sequence[str]], static: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """Return for each variable its columns in the order of time."""
    if not isinstance(slices, Mapping):
        count = whole(slices, "slices", 2, note="or a mapping from variables to their columns in time")
        rest = [name for name in names if name not in static]
        if len(rest) % count:
            raise DataError(
                f"slices={count}: {len(rest)} columns that are not static cannot be cut into {count} times of the same "
                "variables",
                argument="slices",
            )
        size = len(rest) // count
        _refuse_later_times(rest[:size], count)
        slices = {name: rest[place::size] for place, name in enumerate(rest[:size])}
    listed = [name for columns in slices.values() for name in columns] + list(static)
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise DataError(f"slices: {unknown[0]!r} is not a column; {did_you_mean(unknown[0], names)}", argument="slices")
    taken = [name for name in slices if name in (UNIT, TIME, *static)]
    if taken:
        raise DataError(f"slices: {shorten(taken)} cannot be the name of a variable", argument="slices")
    return slices


def _frame(array: np.ndarray[Any, Any], names: Sequence[str] | None) -> Frame:
    if isinstance(names, str):
        raise DataError(f"names={names!r} must be a list of {array.shape[1]} column names, not one string")
    given = [f"X{j}" for j in range(array.shape[1])] if names is None else list(names)
    if len(given) != array.shape[1]:
        raise DataError(f"names has {len(given)} entries, but the array has {array.shape[1]} columns")
    return nw.from_dict(dict(zip(checked_names(given), array.T, strict=True)), backend="pandas")
