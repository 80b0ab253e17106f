"""Whose row is it, and when: units and times of a table by number, so that the past of a row can be found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import did_you_mean, is_number_text, number_of, one_line, shorten
from parnidag.data.columns import Floats, Integers, UnreadableError, read_column
from parnidag.errors import DataError

EVEN = 1e-6
"""Times that are off the steps by more than this share of one are not evenly spaced."""
DAY = np.timedelta64(1, "D")
_LENGTHS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
"""Microseconds."""


class Times(NamedTuple):
    """Times as numbers of one kind."""

    values: Floats
    counted_in: str = ""
    """"month", "microsecond", or nothing if they were numbers."""

    def in_words(self, step: float) -> str:
        """Say how long a step is: 1, 2 months, 7 days."""
        if not self.counted_in:
            return f"{step:g}"
        if self.counted_in == "month":
            return number_of(int(step), "month")
        for unit, length in _LENGTHS.items():
            if step % length == 0:
                return number_of(int(step // length), unit)
        return f"{step / _LENGTHS['second']:g} seconds"


def column_of(frame: nw.DataFrame[Any], name: str, argument: str) -> nw.Series[Any]:
    if name not in frame.columns:
        raise DataError(
            f"{argument}={name!r} is not a column; {did_you_mean(str(name), frame.columns)}", argument=argument
        )
    column = frame[name]
    missing = column.is_null().to_numpy() | _not_numbers(column)
    if missing.any():
        raise DataError(
            f"{argument}={name!r} is empty or infinite in {number_of(int(missing.sum()), 'row')}; fill it in, or leave "
            "these rows out"
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


def numbered_times(frame: nw.DataFrame[Any], time: str | None, units: Integers) -> tuple[Integers, str]:
    """Number the times of each unit in steps, from 0 where it begins, and say how long a step is.

    Without a column they are numbered in the order of the rows.
    """
    order = np.argsort(units, kind="stable")
    first = np.flatnonzero(np.diff(units[order], prepend=-1))
    if time is None:
        places = np.empty(len(units), np.int64)
        places[order] = np.arange(len(units)) - np.repeat(first, np.diff(np.append(first, len(units))))
        return places, "1"
    times = _times(column_of(frame, time, "time"), time)
    begins = np.full(int(units.max(initial=0)) + 1, np.inf)
    np.minimum.at(begins, units, times.values)
    since = times.values - begins[units]
    step = _step(since, units)
    return _in_steps(since, step, time, times.in_words(step)), times.in_words(step)


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


def _in_steps(since: Floats, step: float, time: str, said: str) -> Integers:
    places = np.round(since / step)
    if (np.abs(since / step - places) > EVEN * np.maximum(places, 1.0)).any():
        raise DataError(
            f"time={time!r} has no even steps: the smallest is {said}, and not all distances are multiples of it; "
            "number the times 0, 1, 2, …",
            argument="time",
        )
    return places.astype(np.int64)


def _times(column: nw.Series[Any], name: str) -> Times:
    """Return times as numbers; dates in months if they are whole months apart to the day, else in microseconds."""
    dtype, values = column.dtype, column.to_numpy()
    if dtype == nw.Boolean:
        raise DataError(f"time={name!r} must hold numbers or dates, got truth values", argument="time")
    if dtype == nw.Duration:
        return Times(values.astype("timedelta64[us]").astype(np.float64), "microsecond")
    if dtype == nw.Datetime and getattr(dtype, "time_zone", None):
        return _of_dates(column.dt.replace_time_zone(None).to_numpy(), values)
    if dtype.is_temporal() and dtype != nw.Time:
        return _of_dates(values, values)
    if dtype.is_numeric():  # large numbers in fine steps are whole only before they are floats
        return Times(np.asarray(values if values.dtype.kind == "f" else values - values.min(), np.float64))
    listed = column.to_list()
    if all(isinstance(value, str) and is_number_text(value) for value in listed):
        return Times(np.array(listed, np.float64))
    try:
        return _of_objects([_moment(value) for value in listed])
    except (ValueError, TypeError):
        shown = one_line(shorten([str(value) for value in listed[:3]]), 60)
        raise DataError(
            f"time={name!r} must hold numbers or dates such as 2024-03-31, got {shown}", argument="time"
        ) from None


def _moment(value: Any) -> Any:
    """Read a period of pandas as when it begins, and text with a zone as the moment that it is."""
    if hasattr(value, "to_timestamp"):
        return value.to_timestamp()
    if isinstance(value, str) and len(value) > len("2024-03-31"):
        return datetime.fromisoformat(value)
    return value


def _of_objects(moments: list[Any]) -> Times:
    zoned = [isinstance(one, datetime) and one.tzinfo is not None for one in moments]
    if any(zoned) and not all(zoned):
        raise ValueError("some times have a zone, and others none")
    if not any(zoned):
        return _of_dates(*[np.array(moments, "datetime64[us]")] * 2)
    return _of_dates(
        np.array([one.replace(tzinfo=None) for one in moments], "datetime64[us]"),
        np.array([one.astimezone(UTC).replace(tzinfo=None) for one in moments], "datetime64[us]"),
    )


def _of_dates(local: NDArray[Any], moments: NDArray[Any]) -> Times:
    """Count dates; those of days are told by the clock on the wall, since some days of it have 23 hours."""
    dates, moments = np.asarray(local, "datetime64[us]"), np.asarray(moments, "datetime64[us]")
    if len(np.unique(dates - dates.astype("datetime64[D]"))) > 1:
        dates = moments
    for shift in (0 * DAY, DAY):  # the same day of every month, or the last
        months = (dates + shift).astype("datetime64[M]")
        beyond = dates + shift - months
        if (beyond == beyond[0]).all() and len(np.unique(months)) > 1:
            return Times(np.asarray(months.astype(np.int64), np.float64), "month")
    return Times(np.asarray((dates - dates.min()).astype(np.int64), np.float64), "microsecond")


def _not_numbers(column: nw.Series[Any]) -> NDArray[np.bool_]:
    values = column.to_numpy()
    return np.asarray(~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_))
