"""Names of nodes as a page can show them: no control characters, not too long, and how wide they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

LONGEST_LABEL = 22
"""Cells that a name may take in its box (wide characters take two); panel, table and tooltip have the whole name."""

CELL = 7.0

BOX_PADDING = 20.0
NARROWEST_BOX = 40.0

_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What neither HTML nor SVG can hold: control characters, halves of characters, and two that are none."""


def shown_name(name: str) -> str:
    r"""Return a name that any page can hold; what it cannot becomes the replacement character."""
    clean = _UNSHOWABLE.sub("\ufffd", re.sub(r"[\t\n\r]+", " ", name))
    return clean if clean.strip() else f'"{clean}"'


def label(name: str) -> str:
    if cell_len(name) <= LONGEST_LABEL:
        return name
    return set_cell_size(name, LONGEST_LABEL - 1).rstrip() + "…"


def box_width(text: str) -> float:
    return max(NARROWEST_BOX, CELL * cell_len(text) + BOX_PADDING)


def isolated(text: str, names: Iterable[str]) -> str:
    r"""Keep names that are written from right to left from turning the sentence round them.

    Examples
    --------
    >>> ascii(isolated("most on rain → \u05d0\u05d1", ["rain", "\u05d0\u05d1"]))
    "'most on rain \\u2192 \\u2068\\u05d0\\u05d1\\u2069'"
    """
    for name in names:
        if any(unicodedata.bidirectional(character) in ("R", "AL") for character in name):
            text = text.replace(name, f"\u2068{name}\u2069")
    return text
