"""What no table may hold: missing and infinite values, constant columns, too few rows.

Asked of counts and ranges alone, so that tables in memory and tables read in batches are refused in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

from parnidag._util.text import shorten
from parnidag.data.columns import Coding
from parnidag.data.gram import Spread
from parnidag.errors import DataError

FEWEST_ROWS = 3
MISSING = ("raise", "drop")
"""What may become of rows with missing values."""


def refuse_missing(names: Sequence[str], counts: Sequence[int], n_rows: int, missing: str) -> None:
    """Refuse missing values, by their number in each column, and columns that hold nothing else."""
    if missing == "raise" and any(counts):
        raise DataError(
            f"missing values in {_with_counts(names, counts)}", remedy="missing='drop' leaves out such rows"
        )
    empty = [name for name, count in zip(names, counts, strict=True) if count == n_rows]
    if empty:
        raise DataError(f"columns without any value: {shorten(empty)}; remove them")


def refuse_few_rows(n_rows: int, dropped_rows: int) -> None:
    """Refuse tables with hardly a row left."""
    if n_rows < FEWEST_ROWS:
        dropped = f" after {dropped_rows} with missing values were dropped" if dropped_rows else ""
        raise DataError(f"too few rows: {n_rows} left{dropped}, at least {FEWEST_ROWS} are needed")


def refuse_infinite(names: Sequence[str], counts: Sequence[int]) -> None:
    """Refuse infinite values, by their number in each column."""
    if any(counts):
        listed = _with_counts(names, counts)
        raise DataError(f"infinite values (or too large for double precision) in {listed}; remove or replace them")


def refuse_constant(spread: Spread, names: Sequence[str], codings: Sequence[Coding | None]) -> None:
    """Refuse columns that do not vary."""
    constant = spread.constant.nonzero()[0].tolist()
    if constant:
        listed = shorten([_describe_constant(names[j], spread.low[j], spread.high[j], codings[j]) for j in constant])
        raise DataError(f"constant columns: {listed}; they carry no information, remove them")


def _describe_constant(name: str, low: float, high: float, coding: Coding | None) -> str:
    if coding is not None:
        return f"{name} (always {coding.labels[int(low)]!r})"
    return f"{name} (always {low:.6g})" if low == high else f"{name} ({low:.6g} up to rounding)"


def _with_counts(names: Sequence[str], counts: Sequence[int]) -> str:
    return shorten([f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count])
