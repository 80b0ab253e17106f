"""Series and panels: a table of (unit, time) rows becomes one whose rows hold the present and the past side by side.

Rows of one series depend on each other, but given the past that the graph uses they do not: that is what turns a table
of times into one of independent rows. Columns of the past, and those that never change, are parents only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import narwhals as nw
import numpy as np

from parnidag._util.checks import one_of, whole
from parnidag._util.text import did_you_mean, number_of, shorten
from parnidag.data.autocorrelation import SURE, autocorrelation, dependent
from parnidag.data.columns import Floats, Integers, Mask, UnreadableError, checked_names, read_column
from parnidag.data.edge_rules import EdgeRules
from parnidag.data.files import file_name
from parnidag.data.interventions import read_interventions
from parnidag.data.kinds import MOST_LEVELS, look_at
from parnidag.data.notation import understood
from parnidag.data.slices import TIME, UNIT, Frame, frame_of_times, frame_of_wide
from parnidag.data.summary import FEWEST_ROWS
from parnidag.data.table import Data
from parnidag.data.times import column_of, numbered_times, numbered_units
from parnidag.errors import DataError, MoreLagsWarning

WITHIN, AUTOREGRESSION = ("allowed", "none"), ("allowed", "required", "forbidden")
MOST_LAGS = 50


class Places(NamedTuple):
    """The columns of a table of the present and the past, by number."""

    variables: int
    lags: int
    static: int

    @property
    def n_nodes(self) -> int:
        return self.variables * (1 + self.lags) + self.static

    def lagged(self, lag: int) -> Integers:
        return np.arange(self.variables) + lag * self.variables

    def rules(self, within: str, autoregression: str) -> EdgeRules:
        """Return what follows for edges: none into the past, and what is said of those within a time and to itself."""
        parents_only = np.arange(self.n_nodes) >= self.variables
        forbidden, required = np.zeros((2, self.n_nodes, self.n_nodes), np.bool_)
        forbidden[:, parents_only] = True
        if within == "none":
            forbidden[: self.variables, : self.variables] = True
        now = np.arange(self.variables)
        for lag in range(1, self.lags + 1):
            forbidden[self.lagged(lag), now] |= autoregression == "forbidden"
            required[self.lagged(lag), now] |= lag == 1 and autoregression == "required"
        return EdgeRules(parents_only, forbidden, required)


def lag_label(name: str, lag: int) -> str:
    """Return what a column is called so many steps before the present."""
    return name if lag == 0 else f"{name}[t-{lag}]"


class Panel(Data):
    """A table of one or many series: its nodes are the variables now, at each lag, and what never changes.

    Every row of a `Panel` is one unit at one time, with the values at earlier times beside those of the present. The
    columns of the past, such as ``glucose[t-1]``, and static ones are parents only: no edge leads into them, and they
    have no score. Everything that takes a table takes a panel. The dynamic network is stationary: the same graph and
    parameters hold at all times and for all units, and the past matters through the lags alone.

    Parameters
    ----------
    table
        A data frame, a 2-D array or the path of a file, as `Data` takes them, with a row for each unit and time; or an
        array unit × time × variable, in which what was not observed is NaN.
    time
        The column that says when: whole numbers, dates, periods, durations, or other numbers in even steps. Rows may
        come in any order. By default they follow each other as they are in the table.
    unit
        The column that says whose series a row belongs to; by default there is one series.
    lags
        How many earlier times may act on the present, at least 1.
    static
        Columns that do not change within a unit: parents of anything, children of nothing.
    within
        ``"allowed"`` lets variables act on each other at the same time, ``"none"`` leaves edges from the past only.
    autoregression
        Whether a variable acts on itself one step later: ``"allowed"``, ``"required"`` or ``"forbidden"`` (at all
        lags).
    missing
        ``"drop"``, the default, leaves out every row that has an empty cell, and those whose past has one; ``"refuse"``
        refuses the table.
    names
        Names of the columns of an array.
    kind
        ``"continuous"`` or ``"discrete"``. By default a panel is discrete if all its columns can be classes, as for
        `Data`; else counts and columns of two values count as numbers, too.
    interventions
        As for `Data`, with rows of the table as given: they are interventions on the variables now.

    Attributes
    ----------
    variables, static_columns : tuple of str
        The columns that have a past, and those that do not.
    lags : int
        Number of lags.
    units : int
        Number of series.
    first_rows, gap_rows : int
        How many rows of the table have no complete past, and so only are the past of others: because their series
        begins, and because there is a gap before them.
    rows : array of int
        For each row of the panel its row in the table as given, if none was left out for missing values.

    Examples
    --------
    >>> import parnidag
    >>> table = {"day": [1, 2, 3, 5, 6], "sleep": [7.1, 6.2, 8.0, 7.7, 6.9], "mood": [3.0, 4.5, 2.0, 5.0, 4.0]}
    >>> import pandas
    >>> panel = parnidag.Panel(pandas.DataFrame(table), time="day", lags=1)
    >>> panel
    Panel(3 rows × 2 variables, 1 lag: sleep, mood; 1 row begins the series, 1 follows a gap)
    >>> panel.names
    ('sleep', 'mood', 'sleep[t-1]', 'mood[t-1]')
    >>> panel.values[0]
    array([6.2, 4.5, 7.1, 3. ])
    """

    _rows_are_times: ClassVar[bool] = True

    def __init__(
        self,
        table: object,
        *,
        time: str | None = None,
        unit: str | None = None,
        lags: int = 1,
        static: Sequence[str] = (),
        within: str = "allowed",
        autoregression: str = "allowed",
        missing: str | None = None,
        names: Sequence[str] | None = None,
        kind: str | None = None,
        interventions: object = None,
    ) -> None:
        self.lags = whole(lags, "lags", 1, MOST_LAGS)
        one_of(within, "within", WITHIN, DataError)
        one_of(autoregression, "autoregression", AUTOREGRESSION, DataError)
        one_of(missing, "missing", (None, "drop", "refuse"), DataError)
        one_of(kind, "kind", (None, "continuous", "discrete"), DataError)
        if isinstance(table, Data):
            raise DataError("a Panel is made from the table itself, whose rows have times, and not from a Data")
        frame, time, unit = frame_of_times(table, names, time, unit)
        self.static_columns = _static(static, frame)
        aside = [name for name in (time, unit, interventions) if isinstance(name, str)]
        self.variables = tuple(
            name for name in checked_names(frame.columns) if name not in (*aside, *self.static_columns)
        )
        if not self.variables:
            raise DataError("no column is left that changes with time: all are times, units or static")
        series = Series.of(frame, time, unit, self.lags)
        series.refuse_changing(frame, self.static_columns, unit)
        series.refuse_lasting(frame, self.variables)
        _refuse_taken(self.variables, self.lags, self.static_columns)
        places = Places(len(self.variables), self.lags, len(self.static_columns))
        self.rules = places.rules(within, autoregression)
        self._told_of_time = time, unit, within, autoregression
        self._series, self._missing = series, missing or "drop"
        self._kind = kind or _kind_of(frame, self.variables, self.static_columns)
        self._frame = _with_numbers(frame, self.static_columns) if self._kind == "continuous" else frame
        self.units, self.first_rows, self.gap_rows = series.units, series.first_rows, series.gap_rows
        mask = self._interventions(interventions, places.n_nodes)
        super().__init__(self._side_by_side(), missing=self._missing, kind=self._kind, interventions=mask)
        self.source = file_name(table)
        self._warn()

    @classmethod
    def from_wide(
        cls, table: object, slices: int | Mapping[str, Sequence[str]], *, static: Sequence[str] = (), **options: Any
    ) -> Panel:
        """Make a panel of a table with one row for each unit and the times side by side.

        Parameters
        ----------
        table
            A data frame or the path of a file.
        slices
            The number of times, if the columns that are not static are the variables at the first time, then the same
            variables at the second, and so on; else, for each variable, its columns in the order of time.
        static, options
            As for `Panel`.

        Examples
        --------
        >>> import pandas, parnidag
        >>> wide = {"sex": [0, 1, 1], "x1": [1.0, 2.5, 2.0], "y1": [5, 7, 4], "x2": [3.0, 1.0, 2.0], "y2": [6, 2, 9]}
        >>> parnidag.Panel.from_wide(pandas.DataFrame(wide), {"x": ["x1", "x2"], "y": ["y1", "y2"]}, static=["sex"])
        Panel(3 rows × 2 variables, 1 lag: x, y; static: sex; 3 units; 3 rows begin a series)
        """
        frame = frame_of_wide(table, slices, static, options.pop("names", None))
        if "time" in options or "unit" in options:
            raise DataError("time= and unit= are for tables with a row for each time; here a row is a unit")
        return cls(frame, time=TIME, unit=UNIT, static=static, **options)

    def initial(self) -> Data:
        """Return the table of the first times alone: a row for each unit, its variables and static columns.

        What holds at the first time may differ from what holds later, since there is no past: this table has a graph
        of its own, ``parnidag.sample(panel.initial())``. Static columns are parents only.
        """
        if self.units < FEWEST_ROWS:
            raise DataError(f"a panel of {number_of(self.units, 'unit')} has too few first times to learn from")
        rows = self._frame[self._series.begins.tolist()].select([*self.variables, *self.static_columns])
        first = Data(nw.maybe_reset_index(rows), missing=self._missing, kind=self._kind)
        if self.static_columns:
            first.rules = Places(len(self.variables), 0, len(self.static_columns)).rules("allowed", "allowed")
        return first

    @property
    def rows(self) -> Integers:
        """For each row of the panel its row in the table as given."""
        return self._series.rows[0] if self._kept is None else self._series.rows[0][self._kept]

    def autocorrelation(self) -> dict[str, tuple[float, float]] | None:
        """Ask of every variable whether what the past does not explain depends on what it did not explain before.

        Each variable is regressed on the whole past and all static columns, and its residual once more with the
        residual of the step before beside them (the test of Breusch and Godfrey): a dependence means that more lags are
        needed, or that units differ in more than the static columns say.

        Returns
        -------
        dict or None
            For every variable the correlation of residuals that follow each other, and p by the t test, times the
            number of variables. None for classes, and where there are too few rows.
        """
        return self._autocorrelation

    @cached_property
    def _autocorrelation(self) -> dict[str, tuple[float, float]] | None:
        if self.kind != "continuous" or self._values is None:
            return None
        units, times = self._series.unit[self.rows], self._series.time[self.rows]
        found = autocorrelation(self.values, len(self.variables), units, times)
        if found is None:
            return None
        return {name: (float(r), float(p)) for name, r, p in zip(self.variables, *found, strict=True)}

    def describe(self) -> dict[str, Any]:
        time, unit, within, autoregression = self._told_of_time
        found = self._autocorrelation
        past = {
            "variables": list(self.variables),
            "lags": self.lags,
            "static": list(self.static_columns),
            "units": self.units,
            "first_rows": self.first_rows,
            "gap_rows": self.gap_rows,
            "time": time,
            "unit": unit,
            "within": within,
            "autoregression": autoregression,
            "autocorrelated": None if found is None else dependent(found),
        }
        return super().describe() | {"panel": past}

    def __repr__(self) -> str:
        kind = ", discrete" if self.kind == "discrete" else ""
        static = f"; static: {shorten(self.static_columns)}" if self.static_columns else ""
        lost = [f"{self.units} units"] if self.units > 1 else []
        lost.append(self._without_past())
        text = f"Panel({self.n_rows} rows × {number_of(len(self.variables), 'variable')}, {number_of(self.lags, 'lag')}"
        text += f"{kind}: {shorten(self.variables)}{static}; {'; '.join(lost)}"
        if self.dropped_rows:
            text += f"; {self.dropped_rows} dropped for missing values"
        return text + ")"

    def in_words(self) -> str:
        """Say in one line what the rows are, and how many were left out.

        Examples
        --------
        >>> import pandas
        >>> table = {"day": [1, 2, 3, 5, 6], "sleep": [7.1, 6.2, 8.0, 7.7, 6.9], "mood": [3.0, 4.5, 2.0, 5.0, 4.0]}
        >>> Panel(pandas.DataFrame(table), time="day").in_words()
        'panel: 2 variables (numbers) at 1 lag, 1 unit: 3 rows; 1 row begins the series, 1 follows a gap'
        """
        what = "classes" if self.kind == "discrete" else "numbers"
        parts = [f"{number_of(len(self.variables), 'variable')} ({what}) at {number_of(self.lags, 'lag')}"]
        if self.static_columns:
            parts.append(number_of(len(self.static_columns), "static column"))
        parts.append(number_of(self.units, "unit"))
        steps = "" if self._series.step == "1" else f" in steps of {self._series.step}"
        text = f"panel: {', '.join(parts)}{steps}: {number_of(self.n_rows, 'row')}; {self._without_past()}"
        if self.dropped_rows:
            text += f"; {number_of(self.dropped_rows, 'row')} left out for empty cells, in the row or in its past"
        return text

    def _without_past(self) -> str:
        """Say how many rows have no complete past."""
        begin = "begin" if self.first_rows != 1 else "begins"
        text = f"{number_of(self.first_rows, 'row')} {begin} {'the' if self.units == 1 else 'a'} series"
        if self.gap_rows:
            text += f", {self.gap_rows} follow{'s' * (self.gap_rows == 1)} a gap"
        return text

    def _side_by_side(self) -> Frame:
        """Put the columns of the present, of each lag and the static ones beside each other."""
        parts = []
        for lag, rows in enumerate(self._series.rows):
            part = self._frame.select(self.variables)[rows.tolist()]
            parts.append(part.rename({name: lag_label(name, lag) for name in self.variables}))
        if self.static_columns:
            parts.append(self._frame.select(self.static_columns)[self._series.rows[0].tolist()])
        return nw.concat([nw.maybe_reset_index(part) for part in parts], how="horizontal")

    def _interventions(self, given: object, n_nodes: int) -> Mask | None:
        """Return where the variables of the present were set, by rows of the panel."""
        targets = read_column(column_of(self._frame, given, "interventions")) if isinstance(given, str) else None
        mask = read_interventions(given, self.variables, len(self._frame), targets)
        if mask is None:
            return None
        now = mask[self._series.rows[0]]
        return np.hstack([now, np.zeros((len(now), n_nodes - len(self.variables)), np.bool_)])

    def doubts(self) -> tuple[str, ...]:
        """List what the model cannot carry, as `Data.doubts` does; first of all that more lags are needed."""
        return (*self._too_few_lags(), *self._mostly_gaps(), *super().doubts())

    def _too_few_lags(self) -> list[str]:
        found = self._autocorrelation
        names = [] if found is None else dependent(found)
        line = (
            f"what {number_of(self.lags, 'lag')} leave{'s' * (self.lags == 1)} unexplained in {shorten(names)} still "
            f"depends on the step before (p < {SURE:g}): try lags={self.lags + 1}, or static columns if units differ"
        )
        return [line] * bool(names)

    def _mostly_gaps(self) -> list[str]:
        later = self.n_rows + self.dropped_rows + self.gap_rows
        line = (
            f"{self.gap_rows} of {number_of(later, 'row')} that have others of their series before them follow a gap, "
            f"counted in steps of {self._series.step}: if times are not meant to be so fine, round them, or number them"
        )
        return [line] * (2 * self.gap_rows > later)

    def _warn(self) -> None:
        for line in self._too_few_lags():
            warnings.warn(line, MoreLagsWarning, stacklevel=3)


class Series(NamedTuple):
    """Which rows are the past of which."""

    unit: Integers
    """Of every row of the table as given, and its time in steps since its unit began."""
    time: Integers
    rows: tuple[Integers, ...]
    """The rows that have a complete past; and for each lag the rows so many steps before them."""
    begins: Integers
    """The first row of every unit."""
    first_rows: int
    gap_rows: int
    step: str
    """How long a step is, in words."""

    @property
    def units(self) -> int:
        return len(self.begins)

    @staticmethod
    def of(frame: Frame, time: str | None, unit: str | None, lags: int) -> Series:
        units = numbered_units(frame, unit)
        times, step = numbered_times(frame, time, units)
        span = int(times.max(initial=0)) + 1 + lags  # a step before the beginning is no other unit's time
        keys = units * span + times + lags
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        _refuse_twice(frame, order[np.flatnonzero(np.diff(ordered) == 0) + 1], time, unit)
        found = [np.arange(len(keys))]
        complete = np.ones(len(keys), np.bool_)
        for lag in range(1, lags + 1):
            place = np.minimum(np.searchsorted(ordered, keys - lag), max(len(keys) - 1, 0))
            complete &= ordered[place] == keys - lag
            found.append(order[place])
        kept = order[complete[order]]
        first = int((times < lags).sum())
        if kept.size < FEWEST_ROWS:
            raise DataError(
                f"{number_of(kept.size, 'row')} of {len(keys):,} with {number_of(lags, 'step')} of its series before "
                f"it, each of {step}: at least {FEWEST_ROWS} are needed; are the times even, and is unit= the column "
                "that says whose they are?",
                argument="lags",
            )
        begins = order[np.flatnonzero(np.diff(units[order], prepend=-1))]
        gaps = len(keys) - kept.size - first
        return Series(units, times, tuple(rows[kept] for rows in found), begins, first, gaps, step)

    def lasts(self, column: Floats) -> bool:
        """Is a column the same at all times of a unit?"""
        return np.array_equal(column, column[self.begins][self.unit], equal_nan=True)

    def refuse_lasting(self, frame: Frame, variables: Sequence[str]) -> None:
        """Refuse variables that only tell units apart: they would be their own past."""
        lasting = []
        for name in variables:
            with suppress(UnreadableError):  # what is wrong with it is said where the table is read
                column = read_column(frame[name]).values
                if self.lasts(column) and np.unique(column).size > 1:
                    lasting.append(name)
        if lasting:
            raise DataError(
                f"{shorten(lasting)}: the same at all times of a unit", argument="static", remedy=f"static={lasting}"
            )

    def refuse_changing(self, frame: Frame, static: Sequence[str], unit: str | None) -> None:
        """Refuse static columns that change within a unit."""
        for name in static:
            if not self.lasts(read_column(frame[name]).values):
                owner = "the series" if unit is None else f"a {unit}"
                raise DataError(
                    f"static: {name} changes within {owner}, or is empty in some of its rows",
                    argument="static",
                    remedy="leave it out of static=, or fill it in",
                )


def _static(static: Sequence[str], frame: Frame) -> tuple[str, ...]:
    if isinstance(static, str):
        raise DataError(f"static={static!r} must be a list of columns, such as [{static!r}]", argument="static")
    names = tuple(dict.fromkeys(str(name) for name in static))
    for name in names:
        if name not in frame.columns:
            message = f"static: {name!r} is not a column; {did_you_mean(name, frame.columns)}"
            raise DataError(message, argument="static")
    return names


def _refuse_taken(variables: Sequence[str], lags: int, static: Sequence[str]) -> None:
    """Refuse columns whose names are those of the past of others."""
    past = {lag_label(name, lag) for name in variables for lag in range(1, lags + 1)}
    taken = [name for name in (*variables, *static) if name in past]
    if taken:
        raise DataError(
            f"{shorten(taken)}: so the past of another column is called in a panel; rename it, or leave it out, since "
            "a Panel looks up the past itself"
        )


def _kind_of(frame: Frame, variables: Sequence[str], static: Sequence[str]) -> str:
    """Say what a panel is: all classes, or all numbers."""
    words, classes = [], True
    for name in (*variables, *static):
        try:
            seen = look_at(*understood(read_column(frame[name]), False)[:2])
        except UnreadableError:
            return "continuous"  # what is wrong with it is said where the table is read
        if seen.coding is not None and (name in variables or len(seen.coding.labels) != 2):
            words.append(f"{name} ({seen.coding.shown})")
        classes &= seen.coding is not None or (seen.levels is not None and len(seen.levels) <= MOST_LEVELS)
    if words and not classes:
        raise DataError(
            f"a panel holds classes alone, or numbers alone, and here are words among numbers: {shorten(words)}; give "
            "two levels as 0 and 1, more as a column of 0 and 1 for each, cut the numbers into classes, or leave such "
            "columns out"
        )
    return "discrete" if classes else "continuous"


def _with_numbers(frame: Frame, static: Sequence[str]) -> Frame:
    """Return the table with 0 and 1 for static text of two levels, such as a sex; it has no score of its own."""
    for name in static:
        values, coding = read_column(frame[name])[:2]
        if coding is not None and len(coding.labels) == 2:
            frame = frame.with_columns(nw.new_series(name, values, backend=frame.implementation))
    return frame


def _refuse_twice(frame: Frame, rows: Integers, time: str | None, unit: str | None) -> None:
    if time is None or not rows.size:
        return
    row = int(rows[0])
    owner = f"{unit} {frame[unit][row]} has " if unit is not None else "there are "
    more = f", and {number_of(rows.size - 1, 'more row')} like this" if rows.size > 1 else ""
    whose = "" if unit is not None else "; if they are of several units, say which column tells whose they are: unit="
    raise DataError(
        f"{owner}two rows at {time} {frame[time][row]}{more}: a unit has one row at each time{whose}",
        argument="time" if unit is not None else "unit",
    )
