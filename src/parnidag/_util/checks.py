"""Checks of single arguments: a whole number, a number in a range, one of a few words.

Every refusal reads "draws must be a whole number, 1 or more, got 0", and carries the name of the argument.
"""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Iterable
from numbers import Real
from typing import Any

from parnidag.errors import ParnidagError


def as_whole(value: object) -> int | None:
    """Read a whole number of any type, None if it is not one; truth values are not."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # np.bool_ among them
        return None


def is_number(value: object) -> bool:
    """Is it a real number, of Python or NumPy, and not a truth value?"""
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(
    value: object,
    argument: str,
    least: int = 0,
    most: int | None = None,
    *,
    note: str = "",
    error: type[ParnidagError] = ParnidagError,
) -> int:
    """Return a whole number in a range, or refuse it; the message ends with the `note`, such as "or None".

    Examples
    --------
    >>> whole(3, "draws", least=1)
    3
    >>> whole(0, "draws", least=1)
    Traceback (most recent call last):
    parnidag.errors.ParnidagError: draws must be a whole number, 1 or more, got 0
    """
    count = as_whole(value)
    if count is None or count < least or (most is not None and count > most):
        bounds = f", {least} or more" if most is None else f" from {least} to {most}"
        raise refused(value, argument, f"a whole number{bounds}", note, error)
    return count


def number(
    value: Any,
    argument: str,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    what: str = "a number",
    note: str = "",
    error: type[ParnidagError] = ParnidagError,
) -> float:
    """Return a number in a range, or refuse it; infinity is refused unless it is `most`. See `whole` for the note."""
    try:
        given = float(value) if is_number(value) else math.nan
    except OverflowError:
        given = math.nan
    low = given > above if above is not None else given >= (-math.inf if least is None else least)
    high = given <= most if most is not None else given < (math.inf if below is None else below)
    if not (low and high) or given == -math.inf:
        raise refused(value, argument, what + _range(least, most, above, below), note, error)
    return given


def seed_or_new(seed: object) -> int:
    return secrets.randbits(32) if seed is None else whole(seed, "seed", note="or None")


def one_of(value: object, argument: str, allowed: Iterable[object], error: type[ParnidagError] = ParnidagError) -> None:
    """Refuse a value that is not among those allowed."""
    known = list(allowed)
    if not any(type(value) is type(one) and value == one for one in known):
        raise refused(value, argument, f"one of {', '.join(map(repr, known))}", "", error)


def refused(value: object, argument: str, wanted: str, note: str, error: type[ParnidagError]) -> ParnidagError:
    return error(f"{argument} must be {wanted}{note and f', {note}'}, got {value!r}", argument=argument)


def _range(least: float | None, most: float | None, above: float | None, below: float | None) -> str:
    most = None if most == math.inf else most
    if least is not None:
        upper = "" if most is None else f" to {most:g}"
        upper = upper if below is None else f" to below {below:g}"
        return f" from {least:g}{upper}" if upper else f", {least:g} or more"
    if above is not None:
        if below is not None:
            return f" between {above:g} and {below:g} (both excluded)"
        return f" above {above:g}" + ("" if most is None else f" and at most {most:g}")
    return ""
