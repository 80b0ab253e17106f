"""What compiled code knows of a table with cells that are not known: what may be in each, and what a chain put there.

Cells are latent where the table is empty, and where it says between which bounds a number lies and not which it is: an
ordered class, or one of many tied values. Unordered classes are blocks of columns, in which a cell is one of several
vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.declare import keeps
from parnidag.kernels.types import Flags, Floats, Integers


class CellLayout(NamedTuple):
    """What may stand in each cell of a table of columns (nodes may have several); shared by all chains."""

    first_column: Integers
    """The columns of node j are first_column[j] … first_column[j + 1] − 1 (n + 1)."""
    first_cell: Integers
    """The latent numbers of column c are first_cell[c] … first_cell[c + 1] − 1 (columns + 1)."""
    rows: Integers
    """The row of each."""
    bound: Integers
    """Which bounds it has."""
    low: Floats
    high: Floats
    """The bounds; the first are infinite."""
    first_vector: Integers
    """The vectors of the classes of node j are first_vector[j] … first_vector[j + 1] − 1; none for numbers (n + 1)."""
    vectors: Floats
    """What each class is in the columns of its node (classes × most columns)."""
    first_empty: Integers
    """The empty cells of the classes of node j (n + 1)."""
    empty_rows: Integers
    """The row of each."""
    varies: Flags
    """Has a column latent cells? (columns)"""
    cut: Floats
    """Of a column of which one cut is all that is known, the cut; NaN for others (columns)."""

    @property
    def columns(self) -> int:
        return int(self.first_column[-1])


@keeps("latent", "classes")
class CellArrays(NamedTuple):
    """One chain's completed table, and what was drawn to complete it."""

    latent: Floats
    """The latent numbers."""
    classes: Integers
    """The classes in empty cells, each node's from 0."""
    table: Floats
    """The completed table (columns × rows)."""
    residuals: Floats
    """What the parents leave of it (columns × rows)."""
    products: Floats
    """ZᵀZ (columns × columns)."""
    totals: Floats
    """Sums of the columns."""
    drawn: Floats
    """Coefficients, [c, d] of column c in column d."""
    intercepts: Floats
    noise: Floats
    """Variances that the parents leave."""
    members: Integers
    """The columns that column d depends on: members[d, : member_count[d]]."""
    member_count: Integers
    children: Integers
    """The columns that depend on column c: children[c, : child_count[c]]."""
    child_count: Integers
    factor: Floats
    """Scratch of draws."""
    weights: Floats
    """Scratch for the classes of a cell."""


def make_arrays(layout: CellLayout, fixed: Floats) -> CellArrays:
    """Return the arrays of a chain whose latent cells are still to be drawn."""
    columns = layout.columns
    most_classes = int(np.diff(layout.first_vector).max(initial=1))
    square = (columns, columns)
    return CellArrays(
        latent=np.zeros(layout.rows.size),
        classes=np.zeros(layout.empty_rows.size, np.int64),
        table=fixed.copy(),
        residuals=np.zeros(fixed.shape),
        products=np.zeros(square),
        totals=np.zeros(columns),
        drawn=np.zeros(square),
        intercepts=np.zeros(columns),
        noise=np.ones(columns),
        members=np.zeros(square, np.int64),
        member_count=np.zeros(columns, np.int64),
        children=np.zeros(square, np.int64),
        child_count=np.zeros(columns, np.int64),
        factor=np.zeros((columns + 2, columns + 2)),
        weights=np.zeros(most_classes),
    )
