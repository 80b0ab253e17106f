"""What is kept of a batch of rows: counts, ranges, moments and, of classes, the different rows; and how two become one.

A summary is small and can be pickled, and merging is the same in any grouping of batches that keeps their order, up
to rounding. So batches may come one after the other from a file, or be summed up on the machines of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.data.counts import RowCounts, smallest_codes
from parnidag.data.gram import Moments, Spread, merge, moments_of
from parnidag.data.interventions import read_interventions
from parnidag.data.levels import Codings, forget_unseen
from parnidag.data.reading import Table
from parnidag.data.seen import SeenColumn, may_be_discrete, merge_column, most_followed, see_column
from parnidag.errors import DataError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_ROW_MEMORY = 4 * 10**9
"""Bytes that the different rows of a table of classes, and the words for its levels, may take when it is read in
batches; scores and tests take a few times as much while they work."""
_LABEL_BYTES = 100  # of a level: its text and its place in the tables that look it up


@dataclass(frozen=True)
class Options:
    """How a table is to be read, in a form that can be sent."""

    missing: str = "raise"
    names: Sequence[str] | None = None
    kind: str | None = None
    targets: str | None = None
    """The column of targets of interventions."""


class MismatchError(DataError):
    """Columns that hold something else than in the batches before."""

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = columns

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.columns)


@dataclass
class Summary:
    """What is kept of some batches."""

    batch: int
    """Number of the first one, from 1."""
    names: tuple[str, ...]
    columns: list[SeenColumn]
    n_read: int
    """Rows, those with missing values among them."""
    n_rows: int
    """Rows without missing values; everything below is of these."""
    missing: NDArray[np.int64]
    infinite: NDArray[np.int64]
    spread: Spread | None
    """Of all columns, without meaning for those that have levels; None without rows."""
    groups: dict[bytes, int]
    """Number of rows for each set of nodes that was set in some; the nodes as bits."""
    moments: dict[bytes, Moments] | None
    """The same, their moments; None if there are none, since a column holds no numbers or infinite ones."""
    rows: RowCounts | None
    """Codes of the different rows and, in a last column, of their group; None if the table cannot be discrete."""

    @property
    def dropped_rows(self) -> int:
        """How many rows were left out for missing values."""
        return self.n_read - self.n_rows

    def add(self, other: Summary, kind: str | None) -> None:
        """Take the batches of another summary in, which follow those of this one."""
        _refuse_other_columns(self, other)
        beside_text = any(column.coding for column in self.columns + other.columns)
        most = most_followed(kind, beside_text)
        renamed = [merge_column(*pair, most) for pair in zip(self.columns, other.columns, strict=True)]
        self.n_read += other.n_read
        self.n_rows += other.n_rows
        self.missing += other.missing
        self.infinite += other.infinite
        self.spread = _merged_spread(self.spread, other.spread)
        if not may_be_discrete(self.columns, kind):
            self.rows = None
        for key, rows in other.groups.items():
            self.groups[key] = self.groups.get(key, 0) + rows
        places = {key: place for place, key in enumerate(self.groups)}
        if self.rows is not None and other.rows is not None:
            other.rows.rename([*renamed, np.array([places[key] for key in other.groups], np.int64)])
            self.rows.add(other.rows)
            self._refuse_memory()
        else:
            self.rows = None
        self._add_moments(other)

    def _add_moments(self, other: Summary) -> None:
        if self.moments is None or other.moments is None or any(column.coding for column in self.columns):
            self.moments = None
            return
        for key, moments in other.moments.items():
            self.moments[key] = merge(self.moments[key], moments) if key in self.moments else moments

    def _refuse_memory(self) -> None:
        assert self.rows is not None
        words = _LABEL_BYTES * sum(len(column.levels or ()) for column in self.columns)
        if self.rows.n_bytes + words > MOST_ROW_MEMORY:
            self.rows.compact()
        if self.rows.n_bytes + words > MOST_ROW_MEMORY:
            taken = (self.rows.n_bytes + words) / 1e9
            measured = "" if any(column.coding for column in self.columns) else " (or kind='continuous')"
            raise DataError(
                f"the different rows of this discrete table take {taken:.3g} GB after {self.n_rows} rows, about "
                f"{1e9 * taken / self.n_rows:.3g} bytes a row, and at most {MOST_ROW_MEMORY / 1e9:.3g} GB are kept",
                remedy=f"leave out columns with many levels, merge levels, or take a part of the rows{measured}",
            )


def summarise(table: Table, batch: int, options: Options) -> Summary:
    """Sum a batch up."""
    names, values, codings, targets = table
    _refuse_like_labels(names, codings)
    columns = [see_column(column, coding) for column, coding in zip(values.T, codings, strict=True)]
    mask = read_interventions(options.targets, names, len(values), targets)
    n_read, missing = len(values), np.zeros(len(names), np.int64)
    spread = _spread(values)
    if spread is not None and np.isnan(spread.low).any():
        absent = np.isnan(values)
        missing += absent.sum(axis=0)
        # Without leave to drop rows the table will be refused, with the counts of all batches.
        complete = ~absent.any(axis=1) if options.missing == "drop" else np.zeros(len(values), bool)
        values, mask = values[complete], None if mask is None else mask[complete]
        codings, spread = forget_unseen(values, codings), _spread(values)
    finite = spread is None or bool(np.isfinite(spread).all())
    group_of_row, groups = _groups(mask, len(values), len(names))
    codes = _follow(columns, values, codings, options.kind) if finite else None
    rows = None
    if codes is not None:
        most = max([len(groups), *(len(column.levels or ()) for column in columns)])
        rows = RowCounts(smallest_codes([*codes, group_of_row], most))
    summable = finite and all(coding is None for coding in codings)
    return Summary(
        batch,
        names,
        columns,
        n_read,
        n_rows=len(values),
        missing=missing,
        infinite=np.isinf(values).sum(axis=0) if not finite else np.zeros(len(names), np.int64),
        spread=spread,
        groups=groups,
        moments=_moments(values, group_of_row, list(groups)) if summable else None,
        rows=rows,
    )


def _spread(values: Floats) -> Spread | None:
    with np.errstate(invalid="ignore"):  # NaN among the ends says that a value is missing
        return Spread(values.min(axis=0), values.max(axis=0)) if len(values) else None


def _follow(columns: Sequence[SeenColumn], values: Floats, codings: Codings, kind: str | None) -> list[Any] | None:
    """Note what the columns hold; return their codes, None if the table cannot be discrete."""
    most = most_followed(kind, any(coding is not None for coding in codings))
    codes = [column.follow(values[:, j], codings[j], kind, most) for j, column in enumerate(columns)]
    return codes if may_be_discrete(columns, kind) else None


def _groups(mask: Mask | None, n_rows: int, n_nodes: int) -> tuple[NDArray[np.int64], dict[bytes, int]]:
    """Group rows in which the same nodes were set: the group of each row, and how many rows each group has."""
    if mask is None or not mask.any():
        nothing = np.packbits(np.zeros(n_nodes, bool)).tobytes()
        return np.zeros(n_rows, np.int64), {nothing: n_rows} if n_rows else {}
    bits, place = np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)
    place = place.reshape(n_rows)
    return place, dict(zip((row.tobytes() for row in bits), np.bincount(place).tolist(), strict=True))


def _moments(values: Floats, group_of_row: NDArray[np.int64], keys: list[bytes]) -> dict[bytes, Moments]:
    if len(keys) == 1:
        return {keys[0]: moments_of(values, binary_units=True)}
    return {key: moments_of(values[group_of_row == k], binary_units=True) for k, key in enumerate(keys)}


def _merged_spread(one: Spread | None, other: Spread | None) -> Spread | None:
    if one is None or other is None:
        return other if one is None else one
    return Spread(np.minimum(one.low, other.low), np.maximum(one.high, other.high))


def _refuse_like_labels(names: Sequence[str], codings: Codings) -> None:
    """Refuse categories that only their types tell apart: batches are put together by what levels are called."""
    alike = [
        name
        for name, coding in zip(names, codings, strict=True)
        if coding and len({*coding.labels}) < len(coding.labels)
    ]
    if alike:
        raise DataError(f"different categories that are written alike, in {shorten(alike)}; rename one of them")


def _refuse_other_columns(one: Summary, other: Summary) -> None:
    """Refuse a batch whose columns have other names, another order, or hold something else."""
    where, first = f"batch {other.batch}", "the first batch" if one.batch == 1 else f"batch {one.batch}"
    if one.names != other.names:
        new = [name for name in other.names if name not in one.names]
        lost = [name for name in one.names if name not in other.names]
        parts = [f"has {shorten(new)}, which {first} has not"] if new else []
        parts += [f"lacks {shorten(lost)}"] if lost else []
        if not parts:
            parts = [f"has its columns in another order ({shorten(other.names)}) than {first} ({shorten(one.names)})"]
        raise MismatchError(f"{where} {' and '.join(parts)}; all batches need the same columns in the same order")
    changed = [
        (name, old.sort, new.sort)
        for name, old, new in zip(one.names, one.columns, other.columns, strict=True)
        if old.sort and new.sort and old.sort != new.sort
    ]
    if changed:
        listed = shorten([f"{name} ({new}, before {old})" for name, old, new in changed])
        raise MismatchError(
            f"{where} holds something else than the batches before it in {listed}; make each column all numbers or "
            "all text",
            [name for name, _, _ in changed],
        )
