"""Names in CSV files that people open with spreadsheets, which run a cell that begins like a formula.

As OWASP recommends, such a name gets an apostrophe in front, and all names are quoted. A name may also hold a character
at which some spreadsheets, set to another language, begin a new cell; what follows it is made safe too. Every reader
of this package takes the apostrophes away again, so that names come back exactly.
"""

from __future__ import annotations

import csv
import re
from typing import Any

_BEGINS_CELL = r'(?:\A|(?<=[,;"\t\r\n]))'
_RUNS = r"'*[^\S\t\r\n]*[=+\-@＝＋－＠\t\r\n]"
"""What spreadsheets run (some skip white space first), or what looks like it was made safe already."""
_UNSAFE = re.compile(f"{_BEGINS_CELL}(?={_RUNS})")
_MADE_SAFE = re.compile(f"{_BEGINS_CELL}'(?={_RUNS})")


def escaped(name: str) -> str:
    """Put an apostrophe wherever a spreadsheet would run what follows as a formula.

    Examples
    --------
    >>> escaped("=cmd()"), escaped("a;=1"), escaped("rain"), unescaped(escaped("=cmd()"))
    ("'=cmd()", "a;'=1", 'rain', '=cmd()')
    """
    return _UNSAFE.sub("'", name)


def unescaped(cell: str) -> str:
    """Undo `escaped`."""
    return _MADE_SAFE.sub("", cell)


def csv_writer(file: Any) -> Any:
    """Return a writer that puts quotes around all names: a lone carriage return in one would else end the line."""
    return csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
