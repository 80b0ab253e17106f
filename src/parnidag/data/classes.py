"""A table as classes: codes of the levels of its columns."""

from __future__ import annotations

import numpy as np

from parnidag.data import levels
from parnidag.data.columns import Integers, Mask
from parnidag.data.gaps import refuse_gaps
from parnidag.data.rows import Rows, rows_gone


class Classes(Rows):
    """What scores of classes ask of a table."""

    def discrete(self) -> levels.Levels:
        """Give each column as codes of its levels. Computed once; for whole numbers and columns without numbers.

        Text is sorted, and so are whole numbers; truth values are False, True; categories keep their order, and those
        that never occur are levels too.

        Examples
        --------
        >>> from parnidag import Data
        >>> levels = Data([["m", 10], ["f", 9], ["f", 10]]).discrete()
        >>> levels.codes.tolist(), levels.labels
        ([[1, 0, 0], [1, 0, 1]], (('f', 'm'), ('9', '10')))
        """
        if self._levels is None:
            refuse_gaps(self.gaps, self.names, "a discrete score")
            if self._values is None:
                levels.refuse_fractions(self.names, self._columns, "a discrete score")
                raise rows_gone("discrete() of a continuous table", "; kind='discrete' keeps what it needs")
            self._levels = levels.make_levels(self.names, self._values, self._codings)
        return self._levels

    def known_levels(self) -> levels.Levels:
        """Give what `discrete` gives of a table with empty cells: their codes are −1."""
        self.require_rows("a table with empty cells")
        if self.gaps is None:
            return self.discrete()
        filled = self.values.copy()
        known = filled[
            (~self.gaps).argmax(axis=0), np.arange(self.n_nodes)
        ]  # of each column the first that is not empty
        filled[self.gaps] = np.broadcast_to(known, filled.shape)[self.gaps]
        codes, labels = levels.make_levels(self.names, filled, self._codings)
        return levels.Levels(np.where(self.gaps.T, -1, codes), labels)

    def level_names(self, column: int) -> list[str]:
        """Name the levels of a column of a table with empty cells, in the order of their codes."""
        if self.kind == "discrete":
            return list(self.known_levels().labels[column])
        known = np.unique(self.values[~np.isnan(self.values[:, column]), column]).tolist()
        coding = self._codings[column]
        return [f"{value:g}" if coding is None else coding.labels[int(value)] for value in known]

    def row_counts(self) -> Integers | None:
        """Say for how many rows each column of the codes of `discrete` stands; None if for one, as always in memory."""
        return self._row_counts

    def codes_used(self, rows: Mask) -> Mask:
        """Mark the columns of the codes of `discrete` that belong to the rows of a mask of `patterns`."""
        return rows if self._group_of_code is None else np.asarray(rows[self._group_of_code])
