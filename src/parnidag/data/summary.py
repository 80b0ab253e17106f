"""What is kept of a batch of rows: counts, ranges, moments and, of classes, the different rows; and how two become one.

A summary is small and can be pickled, and merging is the same in any grouping of batches that keeps their order, up
to rounding. So batches may come one after the other from a file, or be summed up on the machines of a cluster. A table
in memory is one batch that is cleaned in the same way, but keeps its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from parnidag._util.text import shorten
from parnidag.data import levels
from parnidag.data.columns import Floats, Integers, Mask
from parnidag.data.counts import RowCounts, smallest_codes
from parnidag.data.gram import Moments, Spread, merge, moments_of, row_blocks, spread_of
from parnidag.data.interventions import read_interventions
from parnidag.data.kinds import check_told
from parnidag.data.reading import Table, Wanted
from parnidag.errors import DataError

FEWEST_ROWS = 3
MISSING = ("impute", "drop", "refuse")
"""What may be done about empty cells: draw them along with the graphs, leave out their rows, refuse the table."""
MOST_ROW_MEMORY = 4 * 10**9
"""Bytes that the different rows of a table of classes, and the words for its levels, may take when it is read in
batches; scores and tests take a few times as much while they work."""
_LABEL_BYTES = 100  # of a level: its text and its place in the tables that look it up


@dataclass(frozen=True)
class Options:
    """How a table is to be read, in a form that can be sent."""

    missing: str = "impute"
    names: Sequence[str] | None = None
    kind: str | None = None
    kinds: Mapping[str, Any] = field(default_factory=dict)
    interventions: object = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()

    @staticmethod
    def checked(
        missing: str | None,
        names: Any,
        kind: str | None,
        kinds: object,
        interventions: object,
        columns: object = None,
        drop: object = None,
    ) -> Options:
        missing = "refuse" if missing == "raise" else missing  # its name of old
        if missing not in (None, *MISSING):
            raise DataError(f"missing={missing!r} is not known: use {', '.join(map(repr, MISSING))}")
        if kind is not None and kind not in levels.KINDS:
            raise DataError(f"kind={kind!r} is not known: use {', '.join(map(repr, levels.KINDS))}, or leave it out")
        if names is not None and not isinstance(names, str):
            names = list(names)  # they are gone through with each batch
        chosen, left_out = _listed(columns, "columns"), _listed(drop, "drop")
        return Options(missing or "impute", names, kind, check_told(kinds), interventions, chosen, left_out or ())

    def wanted(self, as_text: Iterable[str] = (), is_part: bool = False) -> Wanted:
        """Say which columns are read, and which are classes whatever their text looks like."""
        classes = {name for name, kind in self.kinds.items() if kind not in ("number", "count")}
        # A part of a column does not tell what it holds, and masks of interventions have a place for each column.
        may_leave_out = not is_part and self.columns is None and isinstance(self.interventions, str | None)
        told = frozenset(self.kinds) if may_leave_out else None
        return Wanted(self.columns, self.drop, frozenset(classes.union(as_text)), is_part, told)

    def in_batches(self) -> Options:
        """Give what is done about empty cells where rows are let go, and cannot be drawn."""
        return replace(self, missing="refuse") if self.missing == "impute" else self

    @property
    def targets(self) -> str | None:
        """The column of targets of interventions, if they are given by its name."""
        return self.interventions if isinstance(self.interventions, str) else None


def _listed(given: object, argument: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise DataError(f"{argument} must be a list of names of columns, got {given!r}", argument=argument)
    return tuple(str(name) for name in given)


class MismatchError(DataError):
    """Columns that hold something else than in the batches before."""

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = columns


# ---------------------------------------------------------------------------------------------------------------------
# Rows without missing values


@dataclass
class Tally:
    """Numbers of rows and of what no table may hold, and the range of each column."""

    n_read: int
    """Rows, those with missing values among them."""
    n_rows: int
    """Rows without missing values; everything else but `missing` is of these."""
    missing: Integers
    infinite: Integers
    spread: Spread | None
    """None without rows; of levels of several batches without meaning until they are sorted."""

    @property
    def dropped_rows(self) -> int:
        return self.n_read - self.n_rows

    def add(self, other: Tally) -> None:
        self.n_read += other.n_read
        self.n_rows += other.n_rows
        self.missing += other.missing
        self.infinite += other.infinite
        if self.spread is None or other.spread is None:
            self.spread = self.spread or other.spread
        else:
            self.spread = self.spread.merged(other.spread)

    def refuse(self, names: Sequence[str], missing: str, in_batches: bool = False) -> None:
        """Refuse missing and infinite values, columns without any value and too few rows."""
        if (missing == "refuse" or (missing == "impute" and in_batches)) and self.missing.any():
            listed = _with_counts(names, self.missing)
            why = "" if missing == "refuse" else ", which cannot be drawn: the table is read in batches"
            raise DataError(f"missing values in {listed}{why}", remedy="missing='drop' leaves out such rows")
        empty = [name for name, count in zip(names, self.missing, strict=True) if count == self.n_read]
        if empty:
            raise DataError(f"columns without any value: {shorten(empty)}; remove them")
        if missing == "impute":
            left = self.n_read - self.missing
            few = [f"{names[j]} ({left[j]})" for j in np.flatnonzero(left < FEWEST_ROWS).tolist()]
            if few and self.n_read >= FEWEST_ROWS:
                raise DataError(f"columns with fewer than {FEWEST_ROWS} values: {shorten(few)}; remove them")
        if self.n_rows < FEWEST_ROWS:
            dropped = f" left after {self.dropped_rows} with missing values were dropped" if self.dropped_rows else ""
            raise DataError(f"too few rows: {self.n_rows}{dropped}, at least {FEWEST_ROWS} are needed")
        if self.infinite.any():
            listed = _with_counts(names, self.infinite)
            raise DataError(f"infinite values (or too large for double precision) in {listed}; remove or replace them")

    def refuse_constant(self, names: Sequence[str], codings: levels.Codings) -> None:
        assert self.spread is not None  # there are rows
        constant = []
        for j in self.spread.constant.nonzero()[0].tolist():
            low, high, coding = self.spread.low[j], self.spread.high[j], codings[j]
            shown = f"always {low:.6g}" if low == high else f"{low:.6g} up to rounding"
            constant.append(f"{names[j]} ({shown if coding is None else f'always {coding.labels[int(low)]!r}'})")
        if constant:
            raise DataError(f"constant columns: {shorten(constant)}; they carry no information, remove them")


def _with_counts(names: Sequence[str], counts: Integers) -> str:
    return shorten([f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count])


class Cleaned(NamedTuple):
    """A table, or a batch of one, without the rows that have missing values, or that have nothing else."""

    names: tuple[str, ...]
    values: Floats
    codings: tuple[Any, ...]
    intervened: Mask | None
    """Where columns were set, None if they never were."""
    kept: Mask | None
    """Which rows of the table as given these are, None if all."""
    tally: Tally
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = MappingProxyType({})


def clean(table: Table, options: Options) -> Cleaned:
    """Leave out rows with missing values, in place, and count; nothing is refused yet but wrong interventions.

    Where empty cells are to be drawn, rows that hold nothing at all are left out.
    """
    names, values, codings, targets, notes, left_out = table
    intervened = read_interventions(options.interventions, names, len(values), targets)
    none, also_none = np.zeros((2, len(names)), np.int64)
    tally = Tally(len(values), len(values), none, also_none, spread_of(values))
    kept = None
    if tally.spread is not None and np.isnan(tally.spread.low).any():
        tally.missing = sum(np.isnan(block).sum(axis=0) for block in row_blocks(values))
        kept = _usable_rows(values, options.missing)
        if kept.all():
            kept = None
        else:
            values = _moved_up(values, kept)
        tally.n_rows, tally.spread = len(values), spread_of(values, beside_gaps=True)
        if options.missing != "impute":
            codings = levels.forget_unseen(values, codings)
        if intervened is not None and kept is not None:
            intervened = intervened[kept] if intervened[kept].any() else None
    if tally.spread is not None and not np.isfinite(tally.spread).all():
        tally.infinite = sum(np.isinf(block).sum(axis=0) for block in row_blocks(values))
    return Cleaned(names, values, codings, intervened, kept, tally, notes, left_out)


def _usable_rows(values: Floats, missing: str) -> Mask:
    """Mark the rows to keep; none where the table will be refused, with the counts of all batches."""
    marked = []
    for block in row_blocks(values):
        empty = np.isnan(block)
        if missing == "impute":
            marked.append(~empty.all(axis=1))
        else:
            marked.append(~empty.any(axis=1) & (missing == "drop"))
    return np.concatenate(marked)


def _moved_up(values: Floats, rows: Mask) -> Floats:
    """Move the marked rows up in place: a copy would double the memory."""
    kept = 0
    for block in row_blocks(values, rows):
        values[kept : kept + len(block)] = block
        kept += len(block)
    return values[:kept]


# ---------------------------------------------------------------------------------------------------------------------
# Batches


@dataclass
class Summary:
    batch: int
    """Number of the first one, from 1."""
    names: tuple[str, ...]
    columns: list[levels.SeenColumn]
    tally: Tally
    groups: dict[bytes, int]
    """Number of rows for each set of nodes that was set in some; the nodes as bits."""
    moments: dict[bytes, Moments] | None
    """The same, their moments; None if there are none, since a column holds no numbers or infinite ones."""
    rows: RowCounts | None
    """Codes of the different rows and, in a last column, of their group; None if the table cannot be discrete."""

    def add(self, other: Summary, kind: str | None) -> None:
        """Take the batches of another summary in, which follow those of this one."""
        _refuse_other_columns(self, other)
        most = levels.most_followed(kind)
        renamed = [one.merge(new, most) for one, new in zip(self.columns, other.columns, strict=True)]
        self.tally.add(other.tally)
        for key, rows in other.groups.items():
            self.groups[key] = self.groups.get(key, 0) + rows
        if self.rows is None or other.rows is None or not levels.may_be_discrete(self.columns, kind):
            self.rows = None
        else:
            places = {key: place for place, key in enumerate(self.groups)}
            other.rows.rename([*renamed, np.array([places[key] for key in other.groups], np.int64)])
            self.rows.add(other.rows)
            self._refuse_memory(self.rows)
        if self.moments is None or other.moments is None or any(column.coding for column in self.columns):
            self.moments = None
        else:
            for key, moments in other.moments.items():
                self.moments[key] = merge(self.moments[key], moments) if key in self.moments else moments

    def sort_levels(self) -> list[Integers]:
        """Number the levels as in memory, and return the new codes; the ranges are then of these."""
        new_codes = [column.sort_levels() for column in self.columns]
        low, high = np.array(self.tally.spread)  # a copy: what comes from a cluster may be read-only
        for j, column in enumerate(self.columns):
            if column.coding is not None:
                low[j], high[j] = np.flatnonzero(column.counts)[[0, -1]]
        self.tally.spread = Spread(low, high)
        return new_codes

    def _refuse_memory(self, rows: RowCounts) -> None:
        words = _LABEL_BYTES * sum(len(column.levels or ()) for column in self.columns)
        if rows.n_bytes + words > MOST_ROW_MEMORY:
            rows.compact()
        if rows.n_bytes + words > MOST_ROW_MEMORY:
            taken = (rows.n_bytes + words) / 1e9
            measured = "" if any(column.coding for column in self.columns) else " (or kind='continuous')"
            raise DataError(
                f"the different rows of this discrete table take {taken:.3g} GB after {self.tally.n_rows} rows, about "
                f"{1e9 * taken / self.tally.n_rows:.3g} bytes per row; at most {MOST_ROW_MEMORY / 1e9:.3g} GB are kept",
                remedy=f"leave out columns with many levels, merge levels, or take a part of the rows{measured}",
            )


def summarise(table: Table, batch: int, options: Options) -> Summary:
    _refuse_like_labels(table.names, table.codings)
    columns = [levels.see_column(column, coding) for column, coding in zip(table.values.T, table.codings, strict=True)]
    names, values, codings, intervened, _, tally, *_ = clean(table, options.in_batches())
    group_of_row, groups = group_by_targets(intervened, len(values), len(names))
    finite = not tally.infinite.any()
    codes = levels.follow_columns(values, codings, options.kind, columns) if finite else None
    rows = None
    if codes is not None:
        most = max([len(groups), *(len(column.levels or ()) for column in columns)])
        rows = RowCounts(smallest_codes([*codes, group_of_row], most))
    summable = finite and not any(codings)
    moments = moments_by_group(values, group_of_row, list(groups)) if summable else None
    return Summary(batch, names, columns, tally, groups, moments, rows)


def group_by_targets(mask: Mask | None, n_rows: int, n_nodes: int) -> tuple[Integers, dict[bytes, int]]:
    """Group rows in which the same nodes were set: the group of each row, and how many rows each group has."""
    if mask is None or not mask.any():
        nothing = np.packbits(np.zeros(n_nodes, bool)).tobytes()
        return np.zeros(n_rows, np.int64), {nothing: n_rows} if n_rows else {}
    bits, place = np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)
    place = place.reshape(n_rows)
    return place, dict(zip((row.tobytes() for row in bits), np.bincount(place).tolist(), strict=True))


def moments_by_group(values: Floats, group_of_row: Integers, keys: list[bytes]) -> dict[bytes, Moments]:
    if len(keys) == 1:  # no copy of the rows
        return {keys[0]: moments_of(values, binary_units=True)}
    return {key: moments_of(values[group_of_row == k], binary_units=True) for k, key in enumerate(keys)}


def _refuse_like_labels(names: Sequence[str], codings: levels.Codings) -> None:
    """Refuse categories that only their types tell apart: batches are put together by what levels are called."""
    columns = zip(names, codings, strict=True)
    alike = [name for name, coding in columns if coding and len({*coding.labels}) < len(coding.labels)]
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
        (name, old.holds, new.holds)
        for name, old, new in zip(one.names, one.columns, other.columns, strict=True)
        if old.holds and new.holds and old.holds != new.holds
    ]
    if changed:
        listed = shorten([f"{name} ({new}, before {old})" for name, old, new in changed])
        raise MismatchError(
            f"{where} holds something else than the batches before it in {listed}; make each column all numbers or "
            "all text",
            [name for name, _, _ in changed],
        )
