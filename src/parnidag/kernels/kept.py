"""Which arrays of a chain must be kept to go on with it, said where they are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Arrays = TypeVar("Arrays", bound=type[Any])


def keeps(*names: str) -> Callable[[Arrays], Arrays]:
    """Name the fields of a NamedTuple of arrays that cannot be made anew; all others are settings or working memory.

    Checkpoints store them, and they travel to workers (`samplers.state`). NamedTuples inside speak for themselves.
    """

    def declared(arrays: Arrays) -> Arrays:
        assert set(names) <= set(arrays._fields)
        arrays.kept = names
        return arrays

    return declared
