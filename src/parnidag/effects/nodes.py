"""Nodes as users name them, and the values that they set them to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parnidag._util.checks import number
from parnidag._util.text import did_you_mean
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.kernels.types import Flags, Floats


def node_number(names: tuple[str, ...], name: object, argument: str) -> int:
    """Return the place of a node that is given by its name."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    hint = did_you_mean(str(name), list(names))
    raise ParnidagError(f"{argument} must be the name of a node, got {name!r}; {hint}", argument=argument)


def numbers_set(names: tuple[str, ...], given: object, argument: str, may_be_empty: bool = False) -> dict[str, float]:
    """Check the nodes and the numbers of an intervention."""
    values = as_mapping(given, argument, may_be_empty)
    for name, value in values.items():
        node_number(names, name, argument)
        number(value, f"{argument}[{name!r}]")
    return {name: float(value) for name, value in values.items()}  # type: ignore[arg-type]


def as_mapping(given: object, argument: str, may_be_empty: bool) -> dict[str, object]:
    if not isinstance(given, Mapping) or not (given or may_be_empty):
        raise ParnidagError(f'{argument} must say which nodes are set to what, such as {{"x": 2.0}}, got {given!r}')
    return dict(given)


def far_away(data: Data, do: Mapping[str, float]) -> tuple[str, ...]:
    """Say which values lie beyond everything that the data have: answers there stretch the model, not the data."""
    known = {column["name"]: column for column in data.describe()["columns"]}
    notes = []
    for name, value in do.items():
        low, high = known[name]["min"], known[name]["max"]
        if low is not None and high is not None and not low <= value <= high:
            notes.append(f"{name} = {value:g} lies outside the data, which have {low:g} to {high:g}")
    return tuple(notes)


def arrays_of(names: tuple[str, ...], do: Mapping[str, float]) -> tuple[Flags, Floats]:
    """Return which nodes are set, and to what."""
    fixed, values = np.zeros(len(names), bool), np.zeros(len(names))
    for name, value in do.items():
        fixed[names.index(name)], values[names.index(name)] = True, value
    return fixed, values
