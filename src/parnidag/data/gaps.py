"""Empty cells of a table that stay in it, to be drawn along with the graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parnidag._util.text import number_of, shorten
from parnidag.data.columns import Floats, Mask
from parnidag.data.gram import row_blocks, spread_of
from parnidag.errors import DataError


def gaps_of(values: Floats) -> Mask | None:
    """Mark the empty cells, and make them all alike; None if there are none."""
    gaps = np.concatenate([np.isnan(block) for block in row_blocks(values)])
    if not gaps.any():
        return None
    values[gaps] = np.nan
    return gaps


def refuse_unlearnable(
    values: Floats, gaps: Mask, targets: Mask | None, names: Sequence[str], fewest_rows: int
) -> None:
    """Refuse cells that were set to nobody knows what, and columns with too little where they were not set."""
    if targets is None:
        return
    unknown = (gaps & targets).sum(axis=0)
    if unknown.any():
        listed = shorten([f"{names[j]} ({unknown[j]})" for j in np.flatnonzero(unknown).tolist()])
        raise DataError(
            f"interventions: the values that nodes were set to are missing: {listed}; fill them in, or leave out such "
            "rows"
        )
    for j in np.flatnonzero(targets.any(axis=0)).tolist():
        left = ~gaps[:, j] & ~targets[:, j]
        if left.sum() < fewest_rows:
            raise DataError(
                f"interventions: {names[j]} has {number_of(int(left.sum()), 'value')} where it was not set; at least "
                f"{fewest_rows} are needed to learn about its parents"
            )
        spread = spread_of(values[left, j : j + 1])
        if spread is None or spread.constant.any():
            raise DataError(f"interventions: columns constant wherever they were not set: {names[j]}; remove them")


def refuse_gaps(gaps: Mask | None, names: Sequence[str], what: str) -> None:
    """Refuse to give something that needs a table without empty cells."""
    if gaps is None:
        return
    counts = gaps.sum(axis=0)
    listed = shorten([f"{names[j]} ({counts[j]})" for j in np.flatnonzero(counts).tolist()])
    raise DataError(f"{what} needs a table without empty cells: {listed}", remedy="missing='drop' leaves out such rows")


def cells_in_words(gaps: Mask | None) -> str:
    if gaps is None:
        return ""
    count = int(gaps.sum())
    are = "is empty and is" if count == 1 else "are empty and are"
    return f"{count:,} of {gaps.size:,} cells {are} drawn along with the graphs"
