"""A table in memory: read, checked, and its statistics computed from its rows when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.data.checks import refuse_constant, refuse_few_rows, refuse_infinite, refuse_missing
from parnidag.data.columns import Coding
from parnidag.data.gram import Moments, Spread, moments_of, row_blocks, spread_of
from parnidag.data.interventions import group_by_rows, read_interventions
from parnidag.data.levels import ColumnContents, Contents, Levels, decide_kind, forget_unseen, make_levels
from parnidag.data.reading import read_table
from parnidag.data.statistics import Checked, Mask, Pattern, RowGroup, Rows
from parnidag.errors import DataError

Floats = NDArray[np.float64]


def read_rows(
    table: object, missing: str, names: Sequence[str] | None, kind: str | None, interventions: object
) -> Checked:
    """Read a table as a whole and check its contents."""
    read = read_table(table, names, aside=interventions if isinstance(interventions, str) else None)
    nodes, values, codings, targets = read
    intervened = read_interventions(interventions, nodes, len(values), targets)
    complete = _complete_rows(values, nodes, missing)
    dropped_rows = int((~complete).sum())
    if dropped_rows:
        values = _only(values, complete)
        intervened = _any_or_none(None if intervened is None else intervened[complete])
        codings = forget_unseen(values, codings)
    refuse_few_rows(len(values), dropped_rows)
    refuse_infinite(nodes, [int(count) for count in sum(np.isinf(block).sum(axis=0) for block in row_blocks(values))])
    statistics = InMemory(nodes, values, codings, intervened, complete if dropped_rows else None)
    refuse_constant(statistics.spread(), nodes, codings)
    return Checked(nodes, statistics, decide_kind(kind, nodes, statistics.contents, codings), dropped_rows)


class InMemory:
    """The statistics of a table in memory, computed when they are asked for."""

    def __init__(
        self,
        names: Sequence[str],
        values: Floats,
        codings: tuple[Coding | None, ...],
        intervened: Mask | None,
        kept: Mask | None,
    ) -> None:
        values.flags.writeable = False
        if intervened is not None:
            intervened.flags.writeable = False
        self._names, self.values, self.codings, self.intervened = names, values, codings, intervened
        self.kept = kept
        self._levels: Levels | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return len(self.values)

    @property
    def contents(self) -> Sequence[Contents]:
        """What the columns hold."""
        return [ColumnContents(column) for column in self.values.T]

    @property
    def set_rows(self) -> NDArray[np.int64] | None:
        """In how many rows each column was set, None if no column ever was."""
        return None if self.intervened is None else self.intervened.sum(axis=0)

    @property
    def rows_with_targets(self) -> int:
        """In how many rows some column was set."""
        return 0 if self.intervened is None else int(self.intervened.any(axis=1).sum())

    def require_rows(self, what: str) -> None:
        """Say nothing: they are here."""

    def checked_rows(self, rows: Any) -> Rows:
        """Refuse anything but truth values for the rows."""
        rows = np.asarray(rows)
        if rows.dtype != np.bool_ or rows.shape != (self.n_rows,) or not rows.any():
            raise DataError(
                f"rows must be {self.n_rows} truth values, at least one of them True; "
                f"got {rows.dtype} of shape {rows.shape}, {np.count_nonzero(rows)} of them True"
            )
        return np.asarray(rows)

    def count(self, rows: Rows) -> int:
        """Count some rows."""
        return int(_mask(rows).sum())

    def spread(self, rows: Rows | None = None) -> Spread:
        """Give the range of each column, over all rows or some."""
        return spread_of(self.values, None if rows is None else _mask(rows))

    def moments(self, rows: Rows | None = None) -> Moments:
        """Give the moments of the columns, over all rows or some."""
        return moments_of(self.values, None if rows is None else _mask(rows))

    def patterns(self) -> tuple[Pattern, list[Rows | None]]:
        """Group nodes that can use the same rows."""
        pattern, masks = group_by_rows(self.intervened, self.values.shape[1])
        return pattern, list(masks)

    def levels(self) -> Levels:
        """Give each column as codes of its levels."""
        if self._levels is None:
            self._levels = make_levels(self._names, self.values, self.codings)
        return self._levels

    def row_counts(self) -> NDArray[np.int64] | None:
        """Say that every column of the codes is one row."""
        return None

    def fingerprint(self) -> Iterator[NDArray[Any]]:
        """Give arrays that tell this table from any other: its rows."""
        yield from row_blocks(self.values)
        if self.intervened is not None:
            yield np.packbits(self.intervened)

    def codes_used(self, rows: Rows) -> Mask:
        """Mark the rows themselves."""
        return _mask(rows)


def _mask(rows: Rows) -> Mask:
    assert not isinstance(rows, RowGroup)  # they come from `checked_rows` or `patterns` of this very table
    return rows


def _complete_rows(values: Floats, names: Sequence[str], missing: str) -> Mask:
    """Mark the rows without missing values; all of them unless rows may be dropped."""
    counts = [int(count) for count in sum(np.isnan(block).sum(axis=0) for block in row_blocks(values))]
    refuse_missing(names, counts, len(values), missing)
    if not any(counts):
        return np.ones(len(values), dtype=bool)
    return np.concatenate([~np.isnan(block).any(axis=1) for block in row_blocks(values)])


def _only(values: Floats, rows: Mask) -> Floats:
    """Move the marked rows up in place: a copy would double the memory."""
    kept = 0
    for block in row_blocks(values, rows):
        values[kept : kept + len(block)] = block
        kept += len(block)
    return values[:kept]


def _any_or_none(mask: Mask | None) -> Mask | None:
    return mask if mask is not None and mask.any() else None
