"""Words for messages: long lists and long texts made short."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends of any kind, directions of writing, halves of characters."""


def shorten(items: Sequence[str], shown: int = 5) -> str:
    """Join the first few items of a list for a message, and say how many more there are: a, b and 2 more."""
    clipped = [one_line(item, 80) for item in items[: shown + 1]]
    if len(items) <= shown + 1:
        return ", ".join(clipped)
    return f"{', '.join(clipped[:shown])} and {len(items) - shown} more"


def number_of(number: int, noun: str) -> str:
    """Say a number of things: 1 edge, 2,000 edges."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def short_number(value: float) -> str:
    """Write a number with three digits, or whole if it is large; a dash if there is none."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def name_and_options(described: Mapping[str, object] | None) -> str:
    """Say what a score or a sampler is, from its settings, with the options that were given: BGe (alpha_w 12)."""
    given = {name: value for name, value in (described or {}).items() if value is not None}
    options = ", ".join(f"{name} {value}" for name, value in given.items() if name != "name")
    return f"{given.get('name', '')}{options and f' ({options})'}"


def one_line(reason: object, longest: int = 300) -> str:
    """Put a text on one line, and cut it if it is too long for a message."""
    text = " ".join(str(reason).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def visible(text: str) -> str:
    r"""Write characters that steer a terminal, or turn the text round them, as what they are; blanks stay.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb"), visible("rain → 雨"))
    a\x1b[2Jb rain → 雨
    """
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)


def is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Hint at the name that was probably meant, or list those there are."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {shorten(known)}"
