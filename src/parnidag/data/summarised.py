"""The statistics of a table that was read in batches: what scores need, made from sums; its rows are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from parnidag.data.checks import refuse_constant, refuse_few_rows, refuse_infinite, refuse_missing
from parnidag.data.columns import Coding
from parnidag.data.gram import Moments, Spread, merge
from parnidag.data.interventions import group_by_rows
from parnidag.data.levels import Contents, Levels, decide_kind, refuse_fractions
from parnidag.data.statistics import Checked, Mask, Pattern, RowGroup, Rows
from parnidag.data.summary import Summary
from parnidag.errors import DataError

MOST_COUNTED = 2**31 - 1
"""Rows of a table of classes: more would not fit the counts of compiled code."""


def finish(summary: Summary, missing: str, kind: str | None) -> Checked:
    """Check all that was summed up, as a table in memory is checked."""
    names, columns = summary.names, summary.columns
    refuse_missing(names, summary.missing.tolist(), summary.n_read, missing)
    refuse_few_rows(summary.n_rows, summary.dropped_rows)
    refuse_infinite(names, summary.infinite.tolist())
    new_codes = [_sorted_codes(column) for column in columns]
    codings = tuple(column.coding for column in columns)
    refuse_constant(_final_spread(summary), names, codings)
    kind = decide_kind(kind, names, columns, codings)
    levels, row_counts, group_of_code = None, None, None
    if kind == "discrete":
        if summary.n_rows > MOST_COUNTED:
            raise DataError(f"{summary.n_rows} rows of classes are more than {MOST_COUNTED}; take a part of the rows")
        assert summary.rows is not None
        summary.rows.rename([*new_codes, np.arange(len(summary.groups))])
        codes, row_counts = summary.rows.collect()
        codes.flags.writeable = False
        levels, group_of_code = Levels(codes[:-1], tuple(column.labels() for column in columns)), codes[-1]
    statistics = Summarised(summary, codings, levels, row_counts, group_of_code)
    return Checked(names, statistics, kind, summary.dropped_rows)


def _sorted_codes(column: Any) -> NDArray[np.int64]:
    return np.zeros(0, np.int64) if column.levels is None else column.sort_levels()


def _final_spread(summary: Summary) -> Spread:
    """Give the range of each column, of its codes if it has levels."""
    assert summary.spread is not None
    low, high = summary.spread.low.copy(), summary.spread.high.copy()
    for j, column in enumerate(summary.columns):
        if column.coding is not None:
            occurring = np.flatnonzero(column.counts)
            low[j], high[j] = occurring[0], occurring[-1]
    return Spread(low, high)


class Summarised:
    """Statistics without rows; see `Statistics` for what each is."""

    kept: Mask | None = None

    def __init__(
        self,
        summary: Summary,
        codings: tuple[Coding | None, ...],
        levels: Levels | None,
        row_counts: NDArray[np.int64] | None,
        group_of_code: NDArray[Any] | None,
    ) -> None:
        self._names, self._n_rows, self.codings = summary.names, summary.n_rows, codings
        self.contents: Sequence[Contents] = summary.columns
        self._groups = list(summary.groups)
        self._group_rows = np.array(list(summary.groups.values()), np.int64)
        self._moments = summary.moments
        self._levels, self._row_counts, self._group_of_code = levels, row_counts, group_of_code

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return self._n_rows

    @property
    def values(self) -> NoReturn:
        """Refuse: they were not kept."""
        self._refuse_rows("values")

    @property
    def intervened(self) -> Mask | None:
        """Refuse, unless no column was ever set."""
        if self.set_rows is None:
            return None
        self._refuse_rows("intervened")

    @property
    def set_rows(self) -> NDArray[np.int64] | None:
        """In how many rows each column was set, None if no column ever was."""
        targets = self._targets()
        return np.asarray(self._group_rows @ targets) if targets.any() else None

    @property
    def rows_with_targets(self) -> int:
        """In how many rows some column was set."""
        return int(self._group_rows[self._targets().any(axis=1)].sum())

    def require_rows(self, what: str) -> None:
        """Refuse: there are none."""
        self._refuse_rows(what)

    def checked_rows(self, rows: Any) -> Rows:
        """Refuse anything but a group of `patterns`."""
        if not isinstance(rows, RowGroup):
            self._refuse_rows("an array of truth values for them")
        return rows

    def count(self, rows: Rows) -> int:
        """Count some rows."""
        return _group(rows).n_rows

    def spread(self, rows: Rows | None = None) -> Spread:
        """Give the range of each column, over all rows or some."""
        return self.moments(rows).spread

    def moments(self, rows: Rows | None = None) -> Moments:
        """Merge the moments of the groups of rows."""
        assert self._moments is not None  # columns without numbers were refused before
        targets = np.ones(len(self._groups), bool) if rows is None else _group(rows).targets
        return reduce(merge, [self._moments[key] for key, wanted in zip(self._groups, targets, strict=True) if wanted])

    def patterns(self) -> tuple[Pattern, list[Rows | None]]:
        """Group nodes that can use the same rows."""
        targets = self._targets()
        pattern, masks = group_by_rows(targets if targets.any() else None, len(self._names))
        return pattern, [None if mask is None else RowGroup(mask, int(self._group_rows[mask].sum())) for mask in masks]

    def levels(self) -> Levels:
        """Give the different rows as codes of their levels."""
        if self._levels is None:
            refuse_fractions(self._names, self.contents, self.codings, "levels")
            self._refuse_rows("discrete() of a continuous table", "; kind='discrete' keeps what it needs")
        return self._levels

    def row_counts(self) -> NDArray[np.int64] | None:
        """Say for how many rows each column of the codes stands, None if for one."""
        return self._row_counts

    def codes_used(self, rows: Rows) -> Mask:
        """Mark the different rows that belong to some rows."""
        assert self._group_of_code is not None
        return np.asarray(_group(rows).targets[self._group_of_code])

    def fingerprint(self) -> Iterator[NDArray[Any]]:
        """Give arrays that tell this table from any other: its different rows, or ranges and moments to nine digits.

        The last digits of sums depend on how the table was cut into batches, and on the machine.
        """
        yield self._targets()
        yield self._group_rows
        if self._levels is not None:
            counts = np.ones(self._levels.codes.shape[1], int) if self._row_counts is None else self._row_counts
            codes = np.vstack([self._levels.codes, counts]).astype(np.int64)
            yield codes[:, np.lexsort(codes)]
        for moments in (self._moments or {}).values():
            yield from moments.spread
            half = np.where(moments.spread.half_range > 0, moments.spread.half_range, 1.0) / moments.unit
            yield np.round(moments.gram / np.outer(half, half) / moments.rows, 9) + 0.0

    def _targets(self) -> Mask:
        """Return which nodes were set in each group (groups × nodes)."""
        bits = np.frombuffer(b"".join(self._groups), np.uint8).reshape(len(self._groups), -1)
        return np.unpackbits(bits, axis=1, count=len(self._names)).astype(bool)

    def _refuse_rows(self, what: str, instead: str = "") -> NoReturn:
        raise DataError(
            f"the rows of this table were not kept, since it was read in batches; {what} needs them{instead}: a table "
            "that fits into memory can be read, for example with pandas, and passed as it is"
        )


def _group(rows: Rows) -> RowGroup:
    assert isinstance(rows, RowGroup)  # they come from `checked_rows` or `patterns` of this very table
    return rows
