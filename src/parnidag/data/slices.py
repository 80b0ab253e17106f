"""The forms that series come in, all made into one: a data frame with a row for each unit and time."""

from __future__ import annotations

import os
from collections import Counter
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


def frame_of_times(
    table: object, names: Sequence[str] | None, time: object, unit: object
) -> tuple[Frame, str | None, str | None]:
    """Return any table as a data frame with a row for each unit and time, and the columns that say which."""
    found = _frame_or_array(table, names)
    if isinstance(found, nw.DataFrame):
        if not len(found):
            raise DataError("the table is empty: it has no rows")
        return found, None if time is None else str(time), None if unit is None else str(unit)
    if found.ndim != 3:
        raise DataError(f"an array must be rows × columns, or unit × time × variable; got {found.ndim}-D")
    if time is not None or unit is not None:
        raise DataError("time= and unit= name columns of a table; an array unit × time × variable needs neither")
    return _frame_of_array(found, names), TIME, UNIT


def frame_of_table(table: object, names: Sequence[str] | None) -> Frame:
    """Return a table as a data frame whose rows are numbered from 0."""
    found = _frame_or_array(table, names)
    if not isinstance(found, nw.DataFrame):
        raise DataError(f"an array must be rows × columns here; got {found.ndim}-D")
    return found


def _frame_or_array(table: object, names: Sequence[str] | None) -> Frame | np.ndarray[Any, Any]:
    """Return a table as a data frame, or the array that it is if that has not two dimensions."""
    if isinstance(table, (str, os.PathLike)):
        refuse_names(names, "a file")
        return read_file(Path(table).expanduser())
    frame = as_frame(table)
    if isinstance(frame, nw.DataFrame):
        refuse_names(names, "a table that has its own")
        return _with_text_names(nw.maybe_reset_index(frame))
    if isinstance(frame, nw.Series):
        raise DataError("the data must be a table with at least 2 columns; got a single column (a Series)")
    array = as_array(table)
    return _frame(array, names) if array.ndim == 2 else array


def _with_text_names(frame: Frame) -> Frame:
    """Call columns that are numbered by their numbers as text, as everywhere else."""
    names = checked_names(frame.columns)
    if list(names) == list(frame.columns):
        return frame
    return nw.from_dict(dict(zip(names, frame.iter_columns(), strict=True)), backend=frame.implementation)


def _frame_of_array(array: np.ndarray[Any, Any], names: Sequence[str] | None) -> Frame:
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


def frame_of_wide(
    table: object, slices: int | Mapping[str, Sequence[str]], static: Sequence[str], names: Sequence[str] | None
) -> Frame:
    """Return a table of one row a unit, with the times side by side, as one with a row for each unit and time."""
    wide = frame_of_table(table, names)
    static = [static] if isinstance(static, str) else [str(name) for name in static]
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


def _refuse_by_variable(rest: Sequence[str], cut: Sequence[Sequence[str]], count: int) -> None:
    """Refuse x1, x2, y1, y2, whose names say that all times of a variable stand together, and not all of a time."""

    def alike(columns: Sequence[str]) -> bool:
        return len({name.rstrip("0123456789") for name in columns}) == 1

    by_variable = [rest[start : start + count] for start in range(0, len(rest), count)]
    if all(map(alike, by_variable)) and not all(map(alike, cut)):
        raise DataError(
            f"slices={count}: {shorten(by_variable[0])} look like one variable at all times, and not like the first "
            "time of all; give a mapping from variables to their columns",
            argument="slices",
        )


def _refuse_unknown(listed: Sequence[str], names: Sequence[str]) -> None:
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise DataError(f"slices: {unknown[0]!r} is not a column; {did_you_mean(unknown[0], names)}", argument="slices")


def _columns_of_variables(
    names: Sequence[str], slices: int | Mapping[str, Sequence[str]], static: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """Return for each variable its columns in the order of time."""
    if isinstance(slices, Mapping):
        text = [name for name, columns in slices.items() if isinstance(columns, str)]
        if text:
            raise DataError(f"slices: {shorten(text)} needs a list of columns, one for each time", argument="slices")
        slices = {str(name): [str(column) for column in columns] for name, columns in slices.items()}
        _refuse_unknown([*static, *(name for columns in slices.values() for name in columns)], names)
    else:
        _refuse_unknown(static, names)
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
        _refuse_by_variable(rest, list(slices.values()), count)
    listed = [name for columns in slices.values() for name in columns] + list(static)
    twice = [name for name, times in Counter(listed).items() if times > 1]
    if twice:
        raise DataError(f"slices: {shorten(twice)} would be two values of one row", argument="slices")
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
