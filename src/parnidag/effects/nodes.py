"""Nodes as users name them, and the values that they set them to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parnidag._util.checks import is_number, number
from parnidag._util.text import did_you_mean, shorten
from parnidag.data.columns import number_label
from parnidag.errors import ParnidagError
from parnidag.kernels.types import Flags, Floats, Integers

Columns = Sequence[Mapping[str, Any]]
"""What is known of each column of the data, as `Data.describe` says it."""
STEPS = 25
"""Values that a cause is set to if none are given."""


def node_number(names: tuple[str, ...], name: object, argument: str) -> int:
    """Return the place of a node that is given by its name."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    hint = did_you_mean(str(name), list(names))
    raise ParnidagError(f"{argument} must be the name of a node, got {name!r}; {hint}", argument=argument)


def numbers_set(
    names: tuple[str, ...], given: object, argument: str, may_be_empty: bool = False
) -> dict[str, float | str]:
    """Check the nodes and the numbers of an intervention."""
    values = as_mapping(given, argument, may_be_empty)
    for name, value in values.items():
        node_number(names, name, argument)
        number(value, f"{argument}[{name!r}]")
    return {name: float(value) for name, value in values.items()}  # type: ignore[arg-type]


def levels_set(
    names: tuple[str, ...],
    labels: tuple[tuple[str, ...], ...],
    given: object,
    argument: str,
    may_be_empty: bool = False,
) -> dict[str, str]:
    """Check the nodes and the levels of an intervention on classes."""
    found = {}
    for name, value in as_mapping(given, argument, may_be_empty).items():
        known = labels[node_number(names, name, argument)]
        found[name] = known[level_number(known, value, f"{argument}[{name!r}]")]
    return found


def level_number(labels: tuple[str, ...], level: object, argument: str) -> int:
    """Return the place of a level that is given as it is called; numbers may be written as numbers."""
    text = number_label(float(level)) if is_number(level) else str(level)  # type: ignore[arg-type]
    if text in labels:
        return labels.index(text)
    raise ParnidagError(f"{argument} must be one of the levels {shorten(labels)}, got {level!r}", argument=argument)


def level_array(names: tuple[str, ...], labels: tuple[tuple[str, ...], ...], do: Mapping[str, str]) -> Integers:
    """Return the level that each node is set to, −1 for those that are not."""
    fixed = np.full(len(names), -1)
    for name, level in do.items():
        place = names.index(name)
        fixed[place] = labels[place].index(level)
    return fixed


def as_mapping(given: object, argument: str, may_be_empty: bool) -> dict[str, object]:
    if not isinstance(given, Mapping) or not (given or may_be_empty):
        raise ParnidagError(f'{argument} must say which nodes are set to what, such as {{"x": 2.0}}, got {given!r}')
    return dict(given)


def far_away(columns: Columns, do: Mapping[str, float | str], more: str = "") -> tuple[str, ...]:
    """Say which values lie beyond everything that the data have: answers there stretch the model, not the data."""
    known = {column["name"]: column for column in columns}
    notes = []
    for name, value in do.items():
        low, high = known[name].get("min"), known[name].get("max")
        if isinstance(value, float) and low is not None and high is not None and not low <= value <= high:
            notes.append(f"{name} = {value:g} lies outside the data, which have {low:g} to {high:g}{more}")
    return tuple(notes)


def doses_of(columns: Columns, cause: str, given: object) -> Floats:
    """Check the values that a cause is to be set to; by default some from the smallest to the largest of the data."""
    if given is None:
        column = next(column for column in columns if column["name"] == cause)
        return np.linspace(column["min"], column["max"], STEPS)
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ParnidagError(f"values must be a list of numbers, such as [0.0, 1.0, 2.0], got {given!r}")
    return values


def arrays_of(names: tuple[str, ...], do: Mapping[str, float | str]) -> tuple[Flags, Floats]:
    """Return which nodes are set, and to what."""
    fixed, values = np.zeros(len(names), bool), np.zeros(len(names))
    for name, value in do.items():
        fixed[names.index(name)], values[names.index(name)] = True, float(value)
    return fixed, values
