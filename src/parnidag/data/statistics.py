"""What scores and tests need to know of a table, whether its rows are at hand or not.

`Statistics` is the contract. `inmemory.py` fulfils it with the rows themselves, `summarised.py` with sums over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parnidag.data.columns import Coding
from parnidag.data.gram import Moments, Spread
from parnidag.data.levels import Contents, Levels

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Pattern = NDArray[np.int64]


class RowGroup(NamedTuple):
    """Some rows of a table whose rows were not kept: all those with certain targets of interventions."""

    targets: Mask
    """Which of the targets that occur."""
    n_rows: int


Rows: TypeAlias = "Mask | RowGroup"


class Statistics(Protocol):
    """A checked table, reduced to what is asked of it."""

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        ...

    @property
    def codings(self) -> tuple[Coding | None, ...]:
        """What codes stand for, None for a column of numbers."""
        ...

    @property
    def contents(self) -> Sequence[Contents]:
        """What the columns hold."""
        ...

    @property
    def values(self) -> Floats:
        """The table itself."""
        ...

    @property
    def intervened(self) -> Mask | None:
        """Where columns were set (rows × columns), None if they never were."""
        ...

    @property
    def kept(self) -> Mask | None:
        """Which rows of the table as given are used, None if all are or nobody knows."""
        ...

    @property
    def set_rows(self) -> NDArray[np.int64] | None:
        """In how many rows each column was set, None if no column ever was."""
        ...

    @property
    def rows_with_targets(self) -> int:
        """In how many rows some column was set."""
        ...

    def require_rows(self, what: str) -> None:
        """Refuse if the rows, which something needs, are not at hand."""
        ...

    def checked_rows(self, rows: Any) -> Rows:
        """Refuse what says nothing about the rows of this table."""
        ...

    def count(self, rows: Rows) -> int:
        """Count some rows."""
        ...

    def spread(self, rows: Rows | None = None) -> Spread:
        """Give the range of each column, over all rows or some."""
        ...

    def moments(self, rows: Rows | None = None) -> Moments:
        """Give the moments of the columns, over all rows or some."""
        ...

    def patterns(self) -> tuple[Pattern, list[Rows | None]]:
        """Group nodes that can use the same rows."""
        ...

    def levels(self) -> Levels:
        """Give each column as codes of its levels."""
        ...

    def row_counts(self) -> NDArray[np.int64] | None:
        """Say for how many rows each column of the codes stands, None if for one."""
        ...

    def codes_used(self, rows: Rows) -> Mask:
        """Mark the columns of the codes that belong to some rows."""
        ...

    def fingerprint(self) -> Iterator[NDArray[Any]]:
        """Give arrays that tell this table from any other."""
        ...


class Checked(NamedTuple):
    """A table whose contents can be used."""

    names: tuple[str, ...]
    statistics: Statistics
    kind: str
    dropped_rows: int
