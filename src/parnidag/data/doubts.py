"""What a table holds that the model cannot carry, or that looks like a mistake: one line each, with its remedy.

The limits are such that tables drawn from the model itself hardly ever raise a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parnidag._util.text import shorten
from parnidag.data.columns import Coding, Floats, Mask
from parnidag.data.curvature import Bend, bends
from parnidag.data.determined import determined
from parnidag.data.kinds import CLASSES, MOST_LEVELS
from parnidag.data.levels import SeenColumn

MOST_SHOWN = 5
MOST_ROWS = 50_000
"""Rows that are looked at for what shows in some rows as well as in all."""
MOST_COLUMNS = 2_000
"""Columns up to which functions of other columns are looked for: that takes the cube of their number."""
MOST_FUNCTIONS, FEW = 3, 5
"""So many columns that are functions of others are named, with the others if they are few."""
LEFT = 1e-4
"""A column whose others leave so small a share of its variance is one of their functions, up to rounding."""
SKEWED = 1.5
OUTLYING = 10.0
"""Distance from the median, in units of the spread of the middle half, scaled as the standard deviation."""
AUTOCORRELATED = 0.2
SURE = 5.0
"""Standard errors that a skewness or an autocorrelation must be away from what is usual."""
FEWEST_ROWS = 20
MANY_ROWS = 100_000
MANY_LEVELS = 20
NEAR_LIMIT = (9, 12)
SIGNS = frozenset(float(digit * k) for digit in "89" for k in range(1, 7))
"""Numbers, but for their sign, that often stand for empty cells."""
_ID = re.compile(
    r"(.*[_. -])?(id|index|idx|nr|no|number|row|record|subject|patient|case|participant|uuid)", re.IGNORECASE
)


class Doubted(NamedTuple):
    """A table, as far as doubts need it."""

    names: Sequence[str]
    kind: str
    kinds: Sequence[str]
    values: Floats
    codings: Sequence[Coding | None]
    seen: Sequence[SeenColumn]
    told: frozenset[str]
    """Columns whose kind was told, or all, if that of the table was."""
    targets: Mask | None
    in_order: bool
    """Do rows follow each other in time, as everybody knows?"""

    @property
    def numbers(self) -> list[int]:
        """Number the columns of numbers and counts."""
        return [j for j, kind in enumerate(self.kinds) if kind not in CLASSES]

    def known(self, j: int) -> Floats:
        """Give the first rows of a column that are not empty and in which it was not set."""
        column = self.values[:MOST_ROWS, j]
        used = ~np.isnan(column)
        if self.targets is not None:
            used &= ~self.targets[:MOST_ROWS, j]
        return column[used]


def doubts_of(table: Doubted) -> tuple[str, ...]:
    """List all doubts, the gravest first."""
    with np.errstate(all="ignore"):  # squares of numbers near the ends of floating point raise no doubts
        return tuple(line for check in _CHECKS for line in check(table))


def doubts_shown(doubts: Sequence[str], score: object = None) -> list[str]:
    """Give the first few doubts as lines to be shown, and say how many more there are.

    Those whose remedy is the score in use are passed over.
    """
    in_use = f"score='{type(score).__name__.lower()}'"
    doubts = [line for line in doubts if in_use not in line]
    more = len(doubts) - MOST_SHOWN
    rest = [f"note: {more} more, see Data.doubts()"] if more > 0 else []
    return [*(f"note: {line}" for line in doubts[:MOST_SHOWN]), *rest]


def _signs_of_nothing(table: Doubted) -> Iterator[str]:
    """Find numbers such as −999 that several rows have, far below or above all others."""
    for j in table.numbers:
        values, counts = np.unique(table.known(j), return_counts=True)
        if values.size < FEWEST_ROWS:
            continue
        inner = values[1:-1]
        for value, count, next_to in ((values[0], counts[0], values[1]), (values[-1], counts[-1], values[-2])):
            gap = abs(value - next_to) > float(np.ptp(inner))
            if count > 1 and gap and abs(value) in SIGNS:
                yield (
                    f"{table.names[j]}: {value:g} in {count} rows, far from all others, looks like a sign for "
                    "empty cells: make them empty"
                )


def _functions(table: Doubted) -> Iterator[str]:
    """Find columns that are linear functions of others, but for rounding: each is dropped before the next is sought."""
    columns = table.numbers
    rows = table.values[:MOST_ROWS][:, columns]
    rows = rows[~np.isnan(rows).any(axis=1)]
    if not 1 < len(columns) <= MOST_COLUMNS or len(rows) < len(columns) + FEWEST_ROWS:
        return
    low, high = rows.min(axis=0), rows.max(axis=0)
    half = high / 2 - low / 2
    if not (half > 0).all():
        return
    correlation = np.corrcoef((rows - (high / 2 + low / 2)) / half, rowvar=False)
    if not np.isfinite(correlation).all():
        return
    left = list(range(len(columns)))
    of_many = []
    for _ in range(MOST_FUNCTIONS):
        shares = _unexplained(correlation[np.ix_(left, left)]) * (len(rows) - 1) / (len(rows) - len(left))
        worst = int(np.argmin(shares))
        if not shares[worst] < LEFT:
            break
        place = left.pop(worst)
        weights = np.linalg.lstsq(correlation[np.ix_(left, left)], correlation[left, place], rcond=1e-10)[0]
        others = [table.names[columns[k]] for k, weight in zip(left, weights, strict=True) if abs(weight) > 0.01]
        name = table.names[columns[place]]
        if len(others) > FEW:
            of_many.append(name)
        else:
            of = shorten(others)
            yield f"{name} is, up to rounding, a linear function of {of}: leave one of them out: drop=[{name!r}]"
    if of_many:
        shown = f"{shorten(of_many)}{' and maybe more' if len(of_many) == MOST_FUNCTIONS else ''}"
        yield f"{shown}: linear functions of many other columns, up to rounding: leave some of them out"


def _functions_of_classes(table: Doubted) -> Iterator[str]:
    """Find classes that other classes determine."""
    columns = [j for j, kind in enumerate(table.kinds) if kind in CLASSES]
    names = [table.names[j] for j in columns]
    pairs = [(names[j], names[i]) for i, j in determined([table.values[:, j] for j in columns])]
    if pairs:
        shown = shorten([f"{name} by {other}" for name, other in pairs], MOST_FUNCTIONS)
        dropped = [name for name, _ in pairs[:MOST_FUNCTIONS]]
        yield f"classes that others determine ({shown}): leave one of each pair out, such as drop={dropped}"


def _unexplained(correlation: Floats) -> Floats:
    """Give the share of each column's variance that the others leave, 0 where they determine it."""
    if len(correlation) < 2:
        return np.ones(len(correlation))
    values, vectors = np.linalg.eigh(correlation)
    inverse = (vectors**2 / np.maximum(values, 1e-14)).sum(axis=1)
    return np.asarray(1.0 / inverse)


def _row_numbers(table: Doubted) -> Iterator[str]:
    found = [table.names[j] for j in ([] if table.in_order else table.numbers) if _numbers_rows(table, j)]
    if found:
        yield f"{shorten(found)}: looks like a row number, a time or an id, which is no node: drop={found[:MOST_SHOWN]}"


def _numbers_rows(table: Doubted, j: int) -> bool:
    """Ask whether a column goes up or down row by row, is a permutation of the numbers of the rows, or is called id."""
    column = table.known(j)
    if len(column) < FEWEST_ROWS:
        return False
    steps = np.diff(column)
    if (steps > 0).all() or (steps < 0).all():
        return True
    if not (column == np.floor(column)).all() or len(np.unique(column)) < len(column):
        return False
    return bool(np.ptp(column) == len(column) - 1) or _ID.fullmatch(table.names[j]) is not None


def _dates(table: Doubted) -> Iterator[str]:
    found = [table.names[j] for j in table.numbers if _are_dates(table.known(j))]
    if found:
        yield (
            f"{shorten(found)}: dates written as numbers, such as 20200131: turn them into days since the first, or "
            f"drop={found[:MOST_SHOWN]}"
        )


def _are_dates(column: Floats) -> bool:
    if len(column) < FEWEST_ROWS or not (column == np.floor(column)).all():
        return False
    month, day = column // 100 % 100, column % 100
    return bool(
        ((column >= 18000101) & (column < 21000101) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all()
    )


def _alike(table: Doubted) -> Iterator[str]:
    for name, coding in zip(table.names, table.codings, strict=True):
        if coding is None:
            continue
        first: dict[str, str] = {}
        for label in coding.labels:
            same = first.setdefault(" ".join(label.split()).casefold(), label)
            if same != label:
                yield f"{name} has the levels {same!r} and {label!r}, which differ in case or blanks: write them alike"
                break


def _few_rows(table: Doubted) -> Iterator[str]:
    rows, columns = table.values.shape
    if rows <= columns:
        yield (
            f"{rows:,} rows for {columns:,} columns: probabilities rest on the prior at least as much as on the data; "
            "choose columns, or say what is known of edges with EdgePrior"
        )


def _shape(table: Doubted) -> Iterator[str]:
    """Find columns that bend with others, and those far from normal for no such reason.

    Neither is a doubt where only ranks are used, as where numbers stand beside classes.
    """
    if table.kind == "mixed":
        return
    bent = _bends(table)
    yield from _far_from_normal(table, {one.column for one in bent})
    if bent:
        listed = shorten([f"{table.names[one.column]} with {table.names[one.given]}" for one in bent], 3)
        without_gaps = ", with missing='drop'" if np.isnan(table.values).any() else ""
        yield (
            f"{listed}: relations look curved, which a score of straight lines sees in part, or with wrong directions: "
            f"score='spline'{without_gaps}"
        )


def _far_from_normal(table: Doubted, explained: set[int]) -> Iterator[str]:
    found = []
    for j in table.numbers:
        column = table.known(j)
        if len(column) < FEWEST_ROWS or np.ptp(column) == 0 or j in explained:
            continue
        scaled = (column - column.mean()) / (np.ptp(column) / 2)
        skewness = float((scaled**3).mean() / (scaled**2).mean() ** 1.5)
        low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
        far = np.abs(column - middle).max() / max((high - low) / 1.349, np.finfo(float).tiny)
        if abs(skewness) > SKEWED + SURE * np.sqrt(6 / len(column)):
            found.append((abs(skewness), f"{table.names[j]} (skewness {skewness:.1f})"))
        elif far > OUTLYING and high > low:
            found.append((0.0, f"{table.names[j]} (outliers, {far:.0f} standard deviations out)"))
    if found:
        listed = shorten([text for _, text in sorted(found, key=lambda one: -one[0])], 3)
        yield (
            f"{listed}: far from normal, which a Gaussian score takes for structure; take logarithms, or let ranks "
            "alone count: score='copula'"
        )


def _bends(table: Doubted) -> list[Bend]:
    """Look for bends in complete rows in which nothing was set, if rows do not follow each other in time."""
    resembling = {j for _, j in _autocorrelated(table)}
    columns = [j for j in table.numbers if j not in resembling]
    if table.in_order or not 1 < len(columns) <= MOST_COLUMNS:
        return []
    some = slice(None, None, -(-len(table.values) // MOST_ROWS))
    rows = table.values[some][:, columns]
    usable = ~np.isnan(rows).any(axis=1)
    if table.targets is not None:
        usable &= ~table.targets[some].any(axis=1)
    if np.count_nonzero(usable) < FEWEST_ROWS:
        return []
    return [one._replace(column=columns[one.column], given=columns[one.given]) for one in bends(rows[usable])]


def _constant_where_set(table: Doubted) -> Iterator[str]:
    """Find columns that do not vary where others were set: they were probably set, too."""
    if table.targets is None:
        return
    for pattern in np.unique(table.targets[:MOST_ROWS], axis=0):
        rows = (table.targets[:MOST_ROWS] == pattern).all(axis=1)
        block = table.values[:MOST_ROWS][rows]
        if not pattern.any() or len(block) < FEWEST_ROWS:
            continue
        still = [
            table.names[j]
            for j in np.flatnonzero(~pattern).tolist()
            if table.kinds[j] not in CLASSES and np.nanmin(block[:, j]) == np.nanmax(block[:, j])
        ]
        if still:
            was_set = shorten([table.names[j] for j in np.flatnonzero(pattern).tolist()])
            yield (
                f"{shorten(still)} never varies in the {len(block):,} rows in which {was_set} was set: if it was set, "
                "too, say so in interventions="
            )


def _row_order(table: Doubted) -> Iterator[str]:
    found = [] if table.in_order or table.targets is not None else _autocorrelated(table)
    if found:
        largest = [f"{table.names[j]} {value:.2f}" for value, j in sorted(found, key=lambda one: -abs(one[0]))]
        yield (
            f"rows resemble the rows before them (autocorrelation of {shorten(largest, 3)}): if they follow each other "
            "in time, use parnidag.Panel; if the table was only sorted, never mind"
        )


def _autocorrelated(table: Doubted) -> list[tuple[float, int]]:
    """Find columns whose rows resemble the rows before them, with how much."""
    found = []
    for j in table.numbers:
        column = table.known(j)
        if len(column) < FEWEST_ROWS or _numbers_rows(table, j):
            continue
        low, high = np.quantile(column, [0.05, 0.95])
        clipped = np.clip(column, low, high)
        clipped = clipped - clipped.mean()
        squares = float(clipped @ clipped)
        correlation = float(clipped[1:] @ clipped[:-1]) / squares if squares > 0 else 0.0
        if abs(correlation) > max(AUTOCORRELATED, SURE / np.sqrt(len(column))):
            found.append((correlation, j))
    return found


def _many_levels(table: Doubted) -> Iterator[str]:
    found = [
        f"{name} ({len(seen.levels)} levels)"
        for name, kind, seen in zip(table.names, table.kinds, table.seen, strict=True)
        if kind == "class" and seen.levels is not None and len(seen.levels) > MANY_LEVELS
    ]
    if found:
        yield f"{shorten(found)}: classes with many levels have few rows each: merge rare levels"


def _near_limit(table: Doubted) -> Iterator[str]:
    """Name columns whose kind one value more or less would change."""
    low, high = NEAR_LIMIT
    found = [
        (name, f"{name} ({len(seen.levels)}, taken for {kind})")
        for name, kind, seen in zip(table.names, table.kinds, table.seen, strict=True)
        if seen.coding is None
        and seen.levels is not None
        and low <= len(seen.levels) <= high
        and name not in table.told
    ]
    if found:
        yield (
            f"whole numbers with about {MOST_LEVELS} different values, up to which they are ordinal: "
            f"{shorten([text for _, text in found])}; to settle it: kinds={{'{found[0][0]}': 'count'}}"
        )


def _order_unused(table: Doubted) -> Iterator[str]:
    ordinal = sum(kind == "ordinal" for kind in table.kinds)
    if table.kind == "discrete" and not table.told and 2 * ordinal >= len(table.kinds):
        yield (
            f"{ordinal} columns of whole numbers are scored as classes without an order: if it matters, kind='mixed' "
            "uses it"
        )


def _very_many_rows(table: Doubted) -> Iterator[str]:
    rows = len(table.values)
    if rows >= MANY_ROWS:
        yield (
            f"{rows:,} rows make edges sure that hardly matter, with correlations from "
            f"{np.sqrt(np.log(rows) / rows):.2g} on: look at sizes, posterior.effects()"
        )


_CHECKS: tuple[Callable[[Doubted], Iterator[str]], ...] = (
    _signs_of_nothing,
    _functions,
    _functions_of_classes,
    _row_numbers,
    _dates,
    _few_rows,
    _shape,
    _constant_where_set,
    _alike,
    _row_order,
    _near_limit,
    _many_levels,
    _order_unused,
    _very_many_rows,
)
