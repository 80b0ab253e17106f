"""Whose row is it, and when: units and times of a table by number, so that the past of a row can be found."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import did_you_mean, one_line, shorten
from parnidag.data.columns import Floats, Integers, UnreadableError, read_column
from parnidag.errors import DataError

EVEN = 1e-6
"""Times that are off the steps by more than this share of one are not evenly spaced."""
DAY = np.timedelta64(1, "D")


def column_of(frame: nw.DataFrame[Any], name: str, argument: str) -> nw.Series[Any]:
    if name not in frame.columns:
        raise DataError(
            f"{argument}={name!r} is not a column; {did_you_mean(str(name), frame.columns)}", argument=argument
        )
    column = frame[name]
    missing = column.is_null().to_numpy() | _not_numbers(column)
    if missing.any():
        raise DataError(
            f"{argument}={name!r} is empty in {int(missing.sum())} rows; fill it in, or leave these rows out"
        )
    return column


def numbered_units(frame: nw.DataFrame[Any], unit: str | None) -> Integers:
    """Number the units of the rows from 0, in the order of what they are called."""
    if unit is None:
        return np.zeros(len(frame), np.int64)
    try:
        values = read_column(column_of(frame, unit, "unit")).values
    except UnreadableError:
        values = np.array([str(value) for value in frame[unit].to_list()])
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def numbered_times(frame: nw.DataFrame[Any], time: str | None, units: Integers) -> Integers:
    """Number the times of each unit in steps, from 0 where it begins; without a column, in the order of the rows."""
    order = np.argsort(units, kind="stable")
    first = np.flatnonzero(np.diff(units[order], prepend=-1))
    if time is None:
        places = np.empty(len(units), np.int64)
        places[order] = np.arange(len(units)) - np.repeat(first, np.diff(np.append(first, len(units))))
        return places
    moments = _moments(column_of(frame, time, "time"), time)
    begins = np.full(int(units.max(initial=0)) + 1, np.inf)
    np.minimum.at(begins, units, moments)
    since = moments - begins[units]
    return _in_steps(since, _step(since, units), time)


def _step(since: Floats, units: Integers) -> float:
    """Return the largest step that leads from every time of a unit to its next."""
    order = np.lexsort((since, units))
    apart = np.diff(since[order])[np.diff(units[order]) == 0]
    apart = apart[apart > 0]
    if not apart.size:
        return 1.0
    if (apart == np.round(apart)).all():
        return float(np.gcd.reduce(apart.astype(np.int64)))
    return float(apart.min())


def _in_steps(since: Floats, step: float, time: str) -> Integers:
    places = np.round(since / step)
    if (np.abs(since / step - places) > EVEN * np.maximum(places, 1.0)).any():
        raise DataError(
            f"time={time!r} has no even steps: the smallest is {step:g}, and not all distances are multiples of it; "
            "number the times 0, 1, 2, …",
            argument="time",
        )
    return places.astype(np.int64)


def _moments(column: nw.Series[Any], name: str) -> Floats:
    """Return times as numbers; dates in months if they are whole months apart to the day, else in microseconds."""
    dtype = column.dtype
    if dtype.is_temporal() and dtype not in (nw.Duration, nw.Time):
        return _of_dates(np.asarray(column.to_numpy(), "datetime64[us]"))
    if dtype.is_numeric():
        return np.asarray(column.to_numpy(), np.float64)
    try:
        return _of_dates(np.array(column.to_list(), "datetime64[us]"))
    except (ValueError, TypeError):
        shown = one_line(shorten([str(value) for value in column.to_list()[:3]]), 60)
        raise DataError(
            f"time={name!r} must hold numbers or dates such as 2024-03-31, got {shown}", argument="time"
        ) from None


def _of_dates(dates: NDArray[np.datetime64]) -> Floats:
    for shift in (0 * DAY, DAY):  # the same day of every month, or the last
        months = (dates + shift).astype("datetime64[M]")
        beyond = dates + shift - months
        if (beyond == beyond[0]).all() and len(np.unique(months)) > 1:
            return np.asarray(months.astype(np.int64), np.float64)
    return np.asarray((dates - dates.min()).astype(np.int64), np.float64)


def _not_numbers(column: nw.Series[Any]) -> NDArray[np.bool_]:
    values = column.to_numpy()
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_))
