"""From a completed table to the matrices that scores are computed from: compiled.

Sums are added up in one order, whatever the machine, so that the same seed gives the same bits.
"""

from __future__ import annotations

from parnidag.cells.arrays import CellArrays, CellLayout
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Floats, Integers, int64

ONE, FOUR = int64(1), int64(4)


@entry
def fill_table(layout: CellLayout, own: CellArrays) -> None:
    """Write the latent cells into the table."""
    for c in range(own.totals.size):
        for cell in range(layout.first_cell[c], layout.first_cell[c + 1]):
            own.table[c, layout.rows[cell]] = own.latent[cell]
    for j in range(layout.first_empty.size - 1):
        first = layout.first_column[j]
        for cell in range(layout.first_empty[j], layout.first_empty[j + 1]):
            for c in range(first, layout.first_column[j + 1]):
                vector = layout.vectors[layout.first_vector[j] + own.classes[cell]]
                own.table[c, layout.empty_rows[cell]] = vector[c - first]


@entry
def add_up(layout: CellLayout, own: CellArrays, everything: bool) -> None:
    """Find sums and cross products of the columns; unless `everything` is asked for, of those that have changed."""
    for c in range(own.totals.size):
        if everything or layout.varies[c]:
            own.totals[c] = total(own.table[c])
            multiply(own, int64(c), int64(c + 1))
        else:
            for d in range(c + 1):
                if layout.varies[d]:
                    own.products[c, d] = product(own.table[c], own.table[d])
                    own.products[d, c] = own.products[c, d]


@kernel
def multiply(own: CellArrays, c: int, count: int) -> None:
    """Find the cross products of column c with the first `count` columns, four at a time."""
    column, table = own.table[c], own.table
    d = int64(0)
    while d + FOUR <= count:
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for r in range(column.size):
            one += column[r] * table[d, r]
            two += column[r] * table[d + 1, r]
            three += column[r] * table[d + 2, r]
            four += column[r] * table[d + 3, r]
        own.products[c, d], own.products[c, d + 1], own.products[c, d + 2] = one, two, three
        own.products[c, d + 3] = four
        d += FOUR
    while d < count:
        own.products[c, d] = product(column, table[d])
        d += ONE
    for other in range(count):
        own.products[other, c] = own.products[c, other]


@kernel
def total(column: Floats) -> float:
    found = 0.0
    for r in range(column.size):
        found += column[r]
    return found


@kernel
def product(one: Floats, other: Floats) -> float:
    found = 0.0
    for r in range(one.size):
        found += one[r] * other[r]
    return found


@entry
def fill_matrices(
    own: CellArrays, alpha_mu: float, scales: Floats, first_column: Integers, grams: Floats, owns: Floats, nodes: Floats
) -> None:
    """Write the matrices of BGe at every value of its prior scale, and their diagonals by column and by node.

    M = ZᵀZ − (Σ_r z_r)(Σ_r z_r)ᵀ / (N + α_μ) + t I.
    """
    worth = own.table.shape[1] + alpha_mu
    for c in range(own.totals.size):
        for d in range(own.totals.size):
            entry = own.products[c, d] - own.totals[c] * (own.totals[d] / worth)
            for k in range(scales.size):
                grams[k, 0, c, d] = entry + scales[k] if c == d else entry
    for k in range(scales.size):
        for c in range(own.totals.size):
            owns[k, c] = grams[k, 0, c, c]
        for j in range(nodes.shape[1]):
            nodes[k, j] = grams[k, 0, first_column[j], first_column[j]]
