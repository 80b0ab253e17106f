"""What scores and tests ask of a table, answered from its rows or, if it was read in batches, from sums over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.data.columns import Coding
from parnidag.data.gram import Moments, Spread, merge, moments_of, row_blocks, spread_of
from parnidag.data.interventions import group_by_rows
from parnidag.data.levels import Levels, SeenColumn, decide_kind, make_levels, refuse_fractions, seen_columns
from parnidag.data.summary import Cleaned, Options, Summary
from parnidag.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_COUNTED = 2**31 - 1
"""Rows of a table of classes that is read in batches: more would not fit the counts of compiled code."""


class RowGroup(NamedTuple):
    """Some rows of a table whose rows were not kept: all those with certain targets of interventions."""

    targets: Mask
    """Which of the targets that occur."""
    n_rows: int


Rows = Mask | RowGroup
"""Some rows of a table: truth values for them, if they were kept."""


class Statistics:
    """A checked table. Of rows that were not kept there are moments for each group of rows with the same targets."""

    def __init__(
        self, names: tuple[str, ...], codings: tuple[Coding | None, ...], n_rows: int, targets: Mask | None
    ) -> None:
        self.names, self.codings, self.n_rows = names, codings, n_rows
        self.dropped_rows = 0
        self.kept: Mask | None = None
        """Which rows of the table as given are used, None if all are or nobody knows."""
        self._values: Floats | None = None
        self._targets = targets
        """Which nodes were set in each row, or in each group of rows (rows or groups × nodes), None if none was."""
        self._group_rows: Integers | None = None
        self._columns: Sequence[SeenColumn] = ()
        self._moments: list[Moments] | None = None
        self._levels: Levels | None = None
        self._row_counts: Integers | None = None
        self._group_of_code: Integers | None = None

    @classmethod
    def of_rows(cls, table: Cleaned, options: Options) -> tuple[Statistics, str]:
        """Check a table in memory; return its statistics and its kind."""
        names, values, codings, intervened, kept, tally = table
        tally.refuse(names, options.missing)
        statistics = cls(names, codings, len(values), intervened)
        statistics.dropped_rows, statistics.kept = tally.dropped_rows, kept
        statistics._keep(values)
        _refuse_constant(tally.spread, names, codings)
        return statistics, statistics.decide_kind(options.kind)

    @classmethod
    def of_batches(cls, summary: Summary, options: Options) -> tuple[Statistics, str]:
        """Check all that was summed up, as a table in memory is checked."""
        names, columns, tally = summary.names, summary.columns, summary.tally
        tally.refuse(names, options.missing)
        new_codes = [column.sort_levels() for column in columns]
        bits = np.frombuffer(b"".join(summary.groups), np.uint8).reshape(len(summary.groups), -1)
        targets = np.unpackbits(bits, axis=1, count=len(names)).astype(bool)
        statistics = cls(names, tuple(column.coding for column in columns), tally.n_rows, targets)
        statistics.dropped_rows, statistics._columns = tally.dropped_rows, columns
        statistics._group_rows = np.array(list(summary.groups.values()), np.int64)
        if summary.moments is not None:
            statistics._moments = [summary.moments[key] for key in summary.groups]
        _refuse_constant(_spread_of_codes(tally.spread, columns), names, statistics.codings)
        kind = statistics.decide_kind(options.kind)
        if kind == "discrete":
            if tally.n_rows > MOST_COUNTED:
                raise DataError(f"{tally.n_rows} rows of classes are more than {MOST_COUNTED}; take a part of the rows")
            assert summary.rows is not None
            summary.rows.rename([*new_codes, np.arange(len(targets))])
            codes, statistics._row_counts = summary.rows.collect()
            codes.flags.writeable = False
            statistics._levels = Levels(codes[:-1], tuple(column.labels() for column in columns))
            statistics._group_of_code = codes[-1]
        return statistics, kind

    def with_interventions(self, intervened: Mask | None) -> Statistics:
        """Return the same table in memory, with columns set where they were not."""
        changed = Statistics(self.names, self.codings, self.n_rows, intervened)
        changed.dropped_rows, changed.kept = self.dropped_rows, self.kept
        changed._keep(self.values)
        return changed

    def _keep(self, values: Floats) -> None:
        values.flags.writeable = False
        if self._targets is not None:
            self._targets.flags.writeable = False
        self._values = values

    # -----------------------------------------------------------------------------------------------------------------
    # Rows

    @property
    def values(self) -> Floats:
        self.require_rows("values")
        assert self._values is not None
        return self._values

    @property
    def intervened(self) -> Mask | None:
        """Where columns were set (rows × columns), None if they never were."""
        if self.set_rows is None:
            return None
        self.require_rows("intervened")
        return self._targets

    @property
    def set_rows(self) -> Integers | None:
        """In how many rows each column was set, None if no column ever was."""
        if self._targets is None or not self._targets.any():
            return None
        if self._group_rows is None:
            return np.asarray(self._targets.sum(axis=0))
        return np.asarray(self._group_rows @ self._targets)

    @property
    def rows_with_targets(self) -> int:
        if self._targets is None:
            return 0
        some = self._targets.any(axis=1)
        return int(some.sum() if self._group_rows is None else self._group_rows[some].sum())

    def patterns(self) -> tuple[Integers, list[Rows | None]]:
        pattern, masks = group_by_rows(self._targets if self.set_rows is not None else None, len(self.names))
        if self._group_rows is None:
            return pattern, list(masks)
        counts = self._group_rows
        return pattern, [None if mask is None else RowGroup(mask, int(counts[mask].sum())) for mask in masks]

    def require_rows(self, what: str, instead: str = "") -> None:
        """Refuse what needs the rows, if they were not kept."""
        if self._values is None:
            self._refuse_rows(what, instead)

    def _refuse_rows(self, what: str, instead: str = "") -> NoReturn:
        raise DataError(
            f"the rows of this table were not kept, since it was read in batches; {what} needs them{instead}: a table "
            "that fits into memory can be read, for example with pandas, and passed as it is"
        )

    def checked_rows(self, rows: Any) -> Rows:
        """Refuse anything but a group of `patterns` or, if the rows were kept, truth values for them."""
        if self._values is None:
            if not isinstance(rows, RowGroup):
                self._refuse_rows("an array of truth values for them")
            return rows
        rows = np.asarray(rows)
        if rows.dtype != np.bool_ or rows.shape != (self.n_rows,) or not rows.any():
            raise DataError(
                f"rows must be {self.n_rows} truth values, at least one of them True; "
                f"got {rows.dtype} of shape {rows.shape}, {np.count_nonzero(rows)} of them True"
            )
        return np.asarray(rows)

    # -----------------------------------------------------------------------------------------------------------------
    # Numbers

    def spread(self, rows: Rows | None = None) -> Spread:
        """Give the range of each column, over all rows or some."""
        if self._values is None or isinstance(rows, RowGroup):
            return self.moments(rows).spread
        spread = spread_of(self._values, rows)
        assert spread is not None
        return spread

    def moments(self, rows: Rows | None = None) -> Moments:
        if self._values is not None and not isinstance(rows, RowGroup):
            return moments_of(self._values, rows)
        assert self._moments is not None  # columns without numbers were refused before
        if not isinstance(rows, RowGroup):
            return reduce(merge, self._moments)
        return reduce(merge, [part for part, wanted in zip(self._moments, rows.targets, strict=True) if wanted])

    # -----------------------------------------------------------------------------------------------------------------
    # Classes

    def decide_kind(self, asked: str | None) -> str:
        """Say whether the table is "continuous" or "discrete", refusing what it cannot be."""
        columns = self._columns if self._values is None else seen_columns(self._values, self.codings, asked)
        return decide_kind(asked, self.names, columns, self.codings)

    def levels(self) -> Levels:
        """Give each column as codes of its levels; each different row once if the rows were not kept."""
        if self._levels is None:
            if self._values is None:
                refuse_fractions(self.names, self._columns, "levels")
                self._refuse_rows("discrete() of a continuous table", "; kind='discrete' keeps what it needs")
            self._levels = make_levels(self.names, self._values, self.codings)
        return self._levels

    def row_counts(self) -> Integers | None:
        """Say for how many rows each column of the codes stands, None if for one."""
        return self._row_counts

    def codes_used(self, rows: Rows) -> Mask:
        return np.asarray(rows.targets[self._group_of_code]) if isinstance(rows, RowGroup) else rows

    # -----------------------------------------------------------------------------------------------------------------
    # The table as a whole

    def fingerprint(self) -> Iterator[NDArray[Any]]:
        """Give arrays that tell this table from any other: its rows, its different rows, or ranges and moments.

        Moments are given to nine digits: the last digits of sums depend on how the table was cut into batches, and on
        the machine.
        """
        if self._values is not None:
            yield from row_blocks(self._values)
            if self._targets is not None:
                yield np.packbits(self._targets)
            return
        assert self._targets is not None
        assert self._group_rows is not None
        yield self._targets
        yield self._group_rows
        if self._levels is not None:
            counts = np.ones(self._levels.codes.shape[1], int) if self._row_counts is None else self._row_counts
            codes = np.vstack([self._levels.codes, counts]).astype(np.int64)
            yield codes[:, np.lexsort(codes)]
        for moments in self._moments or ():
            yield from moments.spread
            half = np.where(moments.spread.half_range > 0, moments.spread.half_range, 1.0) / moments.unit
            yield np.round(moments.gram / np.outer(half, half) / moments.rows, 9) + 0.0


def _spread_of_codes(spread: Spread | None, columns: Sequence[SeenColumn]) -> Spread:
    """Give the range of each column, of its codes if it has levels."""
    assert spread is not None
    low, high = spread.low.copy(), spread.high.copy()
    for j, column in enumerate(columns):
        if column.coding is not None:
            occurring = np.flatnonzero(column.counts)
            low[j], high[j] = occurring[0], occurring[-1]
    return Spread(low, high)


def _refuse_constant(spread: Spread | None, names: Sequence[str], codings: Sequence[Coding | None]) -> None:
    assert spread is not None  # there are rows
    constant = spread.constant.nonzero()[0].tolist()
    if constant:
        listed = shorten([_describe_constant(names[j], spread.low[j], spread.high[j], codings[j]) for j in constant])
        raise DataError(f"constant columns: {listed}; they carry no information, remove them")


def _describe_constant(name: str, low: float, high: float, coding: Coding | None) -> str:
    if coding is not None:
        return f"{name} (always {coding.labels[int(low)]!r})"
    return f"{name} (always {low:.6g})" if low == high else f"{name} ({low:.6g} up to rounding)"
