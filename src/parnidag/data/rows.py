"""The rows of a table: which there are, and which columns were set in which of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parnidag.data import gram, levels
from parnidag.data.columns import Coding, Floats, Integers, Mask
from parnidag.data.edge_rules import EdgeRules
from parnidag.data.interventions import group_by_rows
from parnidag.errors import DataError


class Rows:
    """What a table is made of, and what can be asked of its rows."""

    kind: str
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    n_rows: int
    dropped_rows: int
    _codings: tuple[Coding | None, ...]
    _values: Floats | None = None
    """None if the table was read in batches; the fields of groups and codes are then set in its place."""
    gaps: Mask | None = None
    _doubts: tuple[str, ...] | None = None
    _rows_are_times: ClassVar[bool] = False
    _notes: tuple[str, ...] = ()
    """What should be known of how the table was read."""
    _asked: str | None = None
    """The kind of the table that was asked for."""
    _told: Mapping[str, str] = MappingProxyType({})
    """The kinds of columns that were told."""
    _kept: Mask | None = None
    """Which rows of the table as given are used, None if all are or nobody knows."""
    _targets: Mask | None
    """Which nodes were set in each row, or in each group of rows (rows or groups × nodes), None if none was."""
    _group_rows: Integers | None = None
    """Rows are in one group if the same nodes were set in them: the number of rows of each."""
    _group_moments: Sequence[gram.Moments] = ()
    _columns: Sequence[levels.SeenColumn] = ()
    _row_counts: Integers | None = None
    _group_of_code: Integers | None = None
    _levels: levels.Levels | None = None
    own_score: Any = None
    """The score of a table that is nothing but local scores."""
    _standardised: gram.Standardised | None = None
    rules: EdgeRules | None = None
    """What the shape of the table says of edges, None if nothing."""

    @property
    def n_nodes(self) -> int:
        """Number of columns, each a node."""
        return len(self.names)

    @property
    def n_scored(self) -> int:
        """Number of columns that have a score: all but those that are parents only."""
        return self.n_nodes if self.rules is None else int((~self.rules.parents_only).sum())

    @property
    def values(self) -> Floats:
        """The numbers as given, and codes of levels (rows × columns), read-only."""
        if self._values is None:
            raise rows_gone("values")
        return self._values

    @property
    def has_interventions(self) -> bool:
        """Whether any column was set in any row."""
        return self._targets is not None and bool(self._targets.any())

    @property
    def intervened(self) -> Mask | None:
        """Where columns were set (rows × columns), read-only; None if they never were."""
        if not self.has_interventions:
            return None
        self.require_rows("intervened")
        return self._targets

    def set_rows(self) -> Integers:
        """Give the number of rows in which each column was set."""
        if self._targets is None:
            return np.zeros(self.n_nodes, np.int64)
        return np.asarray(self._targets.sum(axis=0) if self._group_rows is None else self._group_rows @ self._targets)

    def patterns(self) -> tuple[Integers, list[Mask | None]]:
        """Group nodes that can use the same rows, those in which they were not set.

        Gives the group of each node, numbered from 0 in order of first appearance, and for each group the rows that it
        uses, as truth values; None for all rows. Where rows were not kept, the truth values are for sets of rows;
        `count_rows`, `codes_used`, `scaled_gram` and `centred_gram` know these too.

        Examples
        --------
        >>> from parnidag import Data
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]]
        >>> Data(rows, interventions={3: "X1"}).patterns()
        (array([0, 1]), [None, array([ True,  True,  True, False])])
        """
        return group_by_rows(self._targets if self.has_interventions else None, self.n_nodes)

    def count_rows(self, rows: Mask | None = None) -> int:
        """Count rows: all, or those that a mask of `patterns` marks."""
        if rows is None:
            return self.n_rows
        return int(rows.sum() if self._group_rows is None else self._group_rows[rows].sum())

    def row_numbers(self) -> Integers:
        """Number the rows as in the table that was given, from 0, of which some may have been left out."""
        return np.arange(self.n_rows) if self._kept is None else np.flatnonzero(self._kept)

    @property
    def needs_cells(self) -> bool:
        """Whether there are cells that are not known exactly: empty ones, or classes among numbers."""
        return self.kind == "mixed" or self.gaps is not None

    def require_rows(self, what: str) -> None:
        """Refuse a table that was read in batches, for something that needs its rows."""
        if self._values is None:
            raise rows_gone(what)

    def _checked_rows(self, rows: Any) -> Mask:
        """Refuse anything but truth values for the rows or, if they were not kept, a mask of `patterns`."""
        rows = np.asarray(rows)
        if self._group_rows is not None and rows.shape != self._group_rows.shape:
            raise rows_gone("an array of truth values for them")
        count = self.n_rows if self._group_rows is None else len(self._group_rows)
        if rows.dtype != np.bool_ or rows.shape != (count,) or not rows.any():
            raise DataError(
                f"rows must be {count} truth values, at least one of them True; "
                f"got {rows.dtype} of shape {rows.shape}, {np.count_nonzero(rows)} of them True"
            )
        return np.asarray(rows, bool)


def rows_gone(what: str, instead: str = "") -> DataError:
    return DataError(
        f"the rows of this table were not kept, since it was read in batches; {what} needs them{instead}: a table "
        "that fits into memory can be read, for example with pandas, and passed as it is"
    )


def make_read_only(*arrays: NDArray[Any] | None) -> None:
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
