"""What cells of text say: numbers in several notations, nothing, dates, limits of detection, names of rows.

Numbers are read where their notation is certain. Where it is not, and where text can be neither a number nor a class,
the column is refused with an example, rather than taken for classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from parnidag._util.text import one_line, shorten
from parnidag.data.columns import Coding, Column, Floats, Integers, Mask, UnreadableError

EMPTY = frozenset({"", "?", ".", "na", "n/a", "#n/a", "<na>", "nan", "null"})
"""Words, in lower case, that stand for an empty cell wherever they occur."""
EMPTY_AMONG_NUMBERS = frozenset({"-", "--", "---", "*", "none", "missing", "unknown", "n.a.", "not available"})
"""Words that stand for one in a column of numbers; elsewhere they may be classes."""
MOSTLY = 0.9
"""A column in which so many cells are numbers, or dates, is no column of classes."""
FEWEST_NAMES = 30
"""So many different texts, almost all of them in one row only, are names of rows or remarks."""

_BLANKS = " \u00a0\u2009\u202f'’"
_GROUPS_APART = re.compile(rf"(?<=\d)[{_BLANKS}](?=\d{{3}}(?!\d))")
_WITH_GROUPS_APART = re.compile(rf"[+-]?\d{{1,3}}([{_BLANKS}]\d{{3}})+([.,]\d+)?")
_LIMIT = re.compile(
    r"[<>≤≥]=?\s*([\d.,]+|l[oq][dq]|dl)\W*.{0,12}|(<\s*)?(lod|loq|bdl|blq)|below.{0,20}limit", re.IGNORECASE
)
_DAY = r"\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./-]\d{1,2}[./-]\d{1,2}"
_DATE = re.compile(
    rf"({_DAY})([ T]\d.*)?|\d{{1,2}}:\d{{2}}(:\d{{2}}.*)?|\d{{1,2}}[. -]*[A-Za-z]{{3,9}}\.?[ -]*\d{{2,4}}"
)
_BEFORE = frozenset("$€£¥~")
"""What may stand before a number and is no name."""
_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?")
_MOST_AROUND = 12
"""Characters that may be written around all numbers of a column, such as a unit."""
FEWEST_MEASURED = 5
"""With fewer different numbers they may be names of classes, such as "0-17 years"."""
_EXPONENT = r"([eE][+-]?\d+)?"


class Notation(NamedTuple):
    """A way of writing numbers."""

    name: str
    pattern: re.Pattern[str]
    plain: Callable[[str], str]
    """Write a number of this notation with a decimal point and nothing else."""


POINT = Notation("", re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}|[+-]?inf(inity)?", re.IGNORECASE), str)
COMMA = Notation("decimal commas", re.compile(rf"[+-]?(\d+,?\d*|,\d+){_EXPONENT}"), lambda text: text.replace(",", "."))
GROUPS_BEFORE_POINT = Notation(
    "commas between thousands", re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?"), lambda text: text.replace(",", "")
)
GROUPS_BEFORE_COMMA = Notation(
    "decimal commas, points between thousands",
    re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?"),
    lambda text: text.replace(".", "").replace(",", "."),
)
NOTATIONS = (POINT, COMMA, GROUPS_BEFORE_POINT, GROUPS_BEFORE_COMMA)


def understood(column: Column, is_class: bool, is_part: bool = False) -> Column:
    """Read text as what it says; with `is_class`, it was told to be classes, and only empty cells are looked for.

    A batch of rows `is_part` of a column, which only all batches together tell whether it holds classes.
    """
    coding = column.coding
    if coding is None or coding.declared:
        return column
    texts = [label.strip() for label in coding.labels]
    counts = np.bincount(column.values[~np.isnan(column.values)].astype(np.int64), minlength=len(texts))
    empty = np.array([text.lower() in EMPTY for text in texts])
    if is_class or empty.all():
        return _without(column, coding, empty, counts)
    truth = {text.lower() for text in texts} - EMPTY - EMPTY_AMONG_NUMBERS <= {"true", "false"}
    vague = np.array([text.lower() in EMPTY_AMONG_NUMBERS for text in texts])
    numbers = np.array([_is_number(text) for text in texts])
    if truth:
        return _without(column, coding, empty | vague, counts)
    if not (~empty & ~vague & ~numbers).any() and numbers.any():
        if vague.any() or empty.any() or not _may_be_labels(texts):
            return _as_numbers(column, texts, numbers, counts)
        return column
    if not is_part:
        refuse_strays(coding, counts)
        _refuse_dates(texts, ~empty & ~vague, counts)
        _refuse_units([text for text, known in zip(texts, (~empty & ~vague).tolist(), strict=True) if known])
        _refuse_names(coding, counts[~empty])
    return _without(column, coding, empty, counts)


def refuse_strays(coding: Coding, counts: Integers) -> None:
    """Refuse numbers with something else among them: what it means is not for a program to guess."""
    texts = [label.strip() for label in coding.labels]
    said = np.array([text.lower() not in EMPTY | EMPTY_AMONG_NUMBERS for text in texts])
    numbers = np.array([_is_number(text) for text in texts])
    strays, rows, all_rows = said & ~numbers, counts[numbers].sum(), counts[said].sum()
    many = int(numbers.sum()) > 10 and 2 * rows > all_rows
    if not (strays.any() and numbers.any() and (rows >= MOSTLY * all_rows or many)):
        return
    odd = [coding.labels[k] for k in np.flatnonzero(strays).tolist()]
    shown = f"{counts[strays].sum():,} of {counts.sum():,} cells, for example {one_line(repr(odd[0]), 40)}"
    raise UnreadableError("limits" if any(_LIMIT.fullmatch(text.strip()) for text in odd) else "strays", shown)


def _is_number(text: str) -> bool:
    joined = _joined(text)
    return any(notation.pattern.fullmatch(joined) for notation in NOTATIONS)


def _joined(text: str) -> str:
    """Take out what keeps groups of three digits apart, if it can be nothing else."""
    return _GROUPS_APART.sub("", text) if _WITH_GROUPS_APART.fullmatch(text) else text


def _may_be_labels(texts: Sequence[str]) -> bool:
    """Few whole numbers that were given as text are classes, and so are those with zeros before them."""
    whole = all(text.lstrip("+-").isdecimal() for text in texts)
    return whole and (len(texts) <= 10 or any(len(text) > 1 and text[0] == "0" for text in texts))


def _as_numbers(column: Column, texts: Sequence[str], numbers: Mask, counts: Integers) -> Column:
    joined = [_joined(text) for text, number in zip(texts, numbers.tolist(), strict=True) if number]
    notation = _notation(joined)
    read = np.full(len(texts), np.nan)
    read[numbers] = [float(notation.plain(text)) for text in joined]
    known = ~np.isnan(column.values)
    values: Floats = np.full(len(column.values), np.nan)
    values[known] = read[column.values[known].astype(np.int64)]
    coding = column.coding
    assert coding is not None
    notes = [f"read with {notation.name}"] if notation.name else []
    return Column(values, None, "; ".join([*notes, *_emptied(coding, ~numbers, counts)]))


def _notation(texts: Sequence[str]) -> Notation:
    """Return the notation of all numbers of a column; ask if two notations make different numbers of them."""
    fitting = [one for one in NOTATIONS if all(one.pattern.fullmatch(text) for text in texts)]
    if not fitting:
        with_comma = next(text for text in texts if not POINT.pattern.fullmatch(text))
        other = next((text for text in texts if not COMMA.pattern.fullmatch(text)), texts[-1])
        shown = f"{with_comma!r} beside {other!r}"
        raise UnreadableError("notations", shown)
    if fitting[0] is POINT or len(fitting) == 1:
        return fitting[0]
    doubtful = next((text for text in texts if len({float(one.plain(text)) for one in fitting}) > 1), None)
    if doubtful is None or any(text.lstrip("+-").startswith("0,") for text in texts):
        return fitting[0]
    readings = " or ".join(dict.fromkeys(f"{float(one.plain(doubtful)):.15g}" for one in fitting))
    raise UnreadableError("ambiguous", f"{doubtful!r} may be {readings}")


def _without(column: Column, coding: Coding, empty: Mask, counts: Integers) -> Column:
    """Make cells empty whose level stands for that."""
    if not empty.any():
        return column
    new = np.where(empty, np.nan, np.cumsum(~empty) - 1.0)
    known = ~np.isnan(column.values)
    values = np.full(len(column.values), np.nan)
    values[known] = new[column.values[known].astype(np.int64)]
    labels = tuple(label for label, gone in zip(coding.labels, empty.tolist(), strict=True) if not gone)
    note = "; ".join(_emptied(coding, empty, counts))
    return Column(values, coding._replace(labels=labels) if labels else None, note)


def _emptied(coding: Coding, empty: Mask, counts: Integers) -> list[str]:
    words = [repr(coding.labels[k]) for k in np.flatnonzero(empty).tolist() if coding.labels[k].strip()]
    return [f"{shorten(words)} in {counts[empty].sum():,} cells taken for empty"] if words else []


def _refuse_dates(texts: Sequence[str], said: Mask, counts: Integers) -> None:
    dates = np.array([_DATE.fullmatch(text) is not None for text in texts]) & said
    if dates.any() and counts[dates].sum() >= MOSTLY * counts[said].sum():
        raise UnreadableError("dates", one_line(repr(texts[int(np.argmax(dates))]), 40))


def _refuse_units(texts: Sequence[str]) -> None:
    """Refuse texts that are the same but for one number each, such as "5 kg" and "12.5 kg"."""
    found = [_NUMBER.search(text) for text in texts]
    around = {
        (text[: one.start()], text[one.end() :]) if one else ("", text) for text, one in zip(texts, found, strict=True)
    }
    if len(around) != 1 or not all(found) or len(texts) < FEWEST_MEASURED:
        return
    before, after = around.pop()
    is_unit = before.strip().lower() in _BEFORE or (not before and after.strip() != "")
    if is_unit and len(before + after) <= _MOST_AROUND and not any(letter.isdigit() for letter in before + after):
        raise UnreadableError("units", one_line(repr(texts[0]), 40))


def _refuse_names(coding: Coding, counts: Integers) -> None:
    if len(counts) >= FEWEST_NAMES and len(counts) >= MOSTLY * counts.sum():
        example = one_line(repr(coding.labels[-1]), 40)
        raise UnreadableError("names", f"{len(counts):,} different texts in {counts.sum():,} cells, such as {example}")
