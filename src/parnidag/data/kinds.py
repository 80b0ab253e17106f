"""What each column is taken for: a number, a count, ordered classes, one of two, or classes without an order.

The kinds of the columns decide the kind of the table: "continuous" and "discrete" tables are scored as they stand; of a
"mixed" one the cells that are not known exactly are drawn along with the graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parnidag._util.text import did_you_mean, shorten
from parnidag.data import levels
from parnidag.data.columns import Coding, Floats
from parnidag.data.levels import MOST_FOLLOWED, SeenColumn
from parnidag.errors import DataError

COLUMN_KINDS = ("number", "count", "ordinal", "binary", "class")
CLASSES = ("ordinal", "binary", "class")
MOST_LEVELS = levels.MOST_LEVELS_BY_DEFAULT
TIED = 0.05
"""Whole numbers are counts if two rows hold the same one at least this often, as with 20 equally frequent ones."""


def check_told(told: object) -> dict[str, Any]:
    """Check the words of `kinds=`, whose names are checked once the table is read."""
    if told is None:
        return {}
    if not isinstance(told, Mapping):
        raise DataError(
            f"kinds must be a mapping from columns to kinds, such as {{'stage': 'ordinal'}}, got {type(told).__name__}",
            argument="kinds",
        )
    for name, kind in told.items():
        order = isinstance(kind, (list, tuple)) and len(kind) > 1 and len(set(map(str, kind))) == len(kind)
        if kind not in COLUMN_KINDS and not order:
            raise DataError(
                f"kinds: {name} is said to be {kind!r}; use one of {', '.join(COLUMN_KINDS)}, or a list of its levels "
                "in their order",
                argument="kinds",
            )
    return {str(name): kind for name, kind in told.items()}


def look_at(values: Floats, coding: Coding | None) -> SeenColumn:
    """See a column of a table in memory, empty cells left out."""
    empty = np.isnan(values)
    column = SeenColumn()
    column.follow(values[~empty] if empty.any() else values, coding, None, MOST_FOLLOWED)
    return column


def usual_kind(column: SeenColumn) -> str:
    """Say what a column is taken for if nobody says otherwise."""
    if column.coding is not None:
        if len(column.coding.labels) == 2:
            return "binary"
        return "ordinal" if column.coding.ordered else "class"
    if column.levels is None:
        return "number"
    rows, different = int(column.counts.sum()), len(column.levels)
    if different == 2:
        return "binary"
    if different <= MOST_LEVELS:
        return "ordinal" if rows >= 2 * different else "number"
    ties = float(((column.counts / max(rows, 1)) ** 2).sum())
    return "count" if ties >= TIED and min(column.levels) >= 0 else "number"


def decide(
    asked: str | None, told: Mapping[str, Any], names: Sequence[str], columns: Sequence[SeenColumn]
) -> tuple[str, tuple[str, ...]]:
    """Say what a table is, and what each of its columns, refusing what they cannot be."""
    for name, column in zip(names, columns, strict=True):
        if name in told:
            _check_column(name, told[name], column)
    untold = [(name, column) for name, column in zip(names, columns, strict=True) if name not in told]
    if untold:
        levels.refuse_kind(asked, *zip(*untold, strict=True))
    usual = [_usual_in_table(asked, column) for column in columns]
    if asked is None and all(
        _may_be_classes(column, told.get(name)) for name, column in zip(names, columns, strict=True)
    ):
        usual = ["ordinal" if kind == "number" else kind for kind in usual]
    kinds = tuple(_word(told.get(name, kind)) for name, kind in zip(names, usual, strict=True))
    ordered = any(_word(kind) == "ordinal" for kind in told.values())
    if asked == "mixed" or (ordered and asked is None):
        return "mixed", kinds
    if all(kind in CLASSES for kind in kinds):
        return "discrete", kinds
    return ("mixed" if any(kind in CLASSES for kind in kinds) else "continuous"), kinds


def _usual_in_table(asked: str | None, column: SeenColumn) -> str:
    if asked == "continuous":
        return "number"
    usual = usual_kind(column)
    if asked == "discrete" and usual not in CLASSES:
        return "ordinal"
    return usual


def _word(kind: Any) -> str:
    return kind if isinstance(kind, str) else "ordinal"


def _may_be_classes(column: SeenColumn, told: Any) -> bool:
    if told is not None:
        return _word(told) in CLASSES
    return column.coding is not None or (column.levels is not None and len(column.levels) <= MOST_LEVELS)


def refuse_unknown(told: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in told:
        if name not in names:
            raise DataError(f"kinds: {name!r} is no column; {did_you_mean(name, names)}", argument="kinds")


def _check_column(name: str, kind: Any, column: SeenColumn) -> None:
    """Refuse a kind that a column cannot have."""
    word, coding = _word(kind), column.coding
    held: str | None = None
    if word in ("number", "count") and coding is not None:
        held = f"holds {coding.shown}"
    elif word == "count" and (column.fraction is not None or min(column.levels or [0]) < 0):
        held = "holds fractions or numbers below 0"
    elif word == "class" and column.fraction is not None:
        held = f"holds fractions, for example {column.fraction:.6g}"
    elif word == "binary" and (column.levels is None or len(column.levels) != 2):
        different = f"more than {MOST_FOLLOWED}" if column.levels is None else f"{len(column.levels)}"
        held = f"has {different} different values"
    elif kind == "ordinal" and coding is not None and not coding.ordered and len(coding.labels) > 2:
        raise DataError(
            f"kinds: the order of the levels of {name} is not known; list them in their order in place of 'ordinal': "
            f"{shorten([repr(label) for label in coding.labels])}",
            argument="kinds",
        )
    if held is not None:
        raise DataError(f"kinds: {name} cannot be {word!r}: it {held}", argument="kinds")


def in_order(name: str, kind: Any, codes: Floats, coding: Coding | None) -> Coding | None:
    """Give text the order of its levels that was told, in place; other columns stay as they are."""
    if isinstance(kind, str):
        return coding
    if coding is None:
        raise DataError(f"kinds: {name} holds numbers, which have an order: say 'ordinal'", argument="kinds")
    places = {str(label): place for place, label in enumerate(kind)}
    unknown = [label for label in coding.labels if label not in places]
    if unknown:
        shown = shorten([repr(label) for label in unknown])
        raise DataError(f"kinds: {name} has levels that its list lacks: {shown}", argument="kinds")
    known = ~np.isnan(codes)
    codes[known] = np.array([places[label] for label in coding.labels], float)[codes[known].astype(np.int64)]
    return Coding(tuple(places), True, coding.type, ordered=True)


_WORDS = {
    "number": ("number", "numbers"),
    "count": ("count", "counts"),
    "ordinal": ("ordinal", "ordinal"),
    "binary": ("binary", "binary"),
    "class": ("class", "classes"),
}


def taken_for(names: Sequence[str], kinds: Sequence[str]) -> str:
    """Say in words what columns were taken for: 8 numbers, 2 ordinal (stage, grade), 1 class (site)."""
    parts = []
    for kind, words in _WORDS.items():
        mine = [name for name, its in zip(names, kinds, strict=True) if its == kind]
        listed = "" if kind == "number" or len(mine) == len(names) else f" ({shorten(mine)})"
        if mine:
            parts.append(f"{len(mine):,} {words[len(mine) > 1]}{listed}")
    return ", ".join(parts)
