"""A struct over arrays, declared once: what kernels see, what Python keeps, and how one becomes the other.

    @struct_over
    class Recorder(RecorderArrays):
        buffered: int
        best_score: float
        changed: bool = False

    open_recorder, close_recorder = opener(Recorder), closer(Recorder)

The arrays of the bases, which are NamedTuples, become fields. The numbers that the class adds are kept between segments
in the arrays `integers`, `floats` and `flags` of a base, each in the order of declaration, where Python finds them by
name (`named`). Those with a default are not kept: they are set to it whenever the struct is opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from parnidag.kernels.jit import leaf, struct

_Class = TypeVar("_Class")
_Arrays = TypeVar("_Arrays", bound=type[Any])

_BANKS = {"int": ("integers", np.int64), "float": ("floats", np.float64), "bool": ("flags", np.bool_)}
"""Where numbers of each type are kept."""


class _Declaration(NamedTuple):
    sources: dict[str, str]
    """How the value of each field is written when the struct is opened."""
    parts: int
    """From how many NamedTuples."""
    kept: dict[str, tuple[str, int]]
    """The bank and the place of each number that is kept."""
    defaults: dict[str, Any]


_DECLARED: dict[type, _Declaration] = {}
_PLACES: dict[type, dict[str, tuple[str, int]]] = {}
"""For each NamedTuple of arrays the numbers that it keeps."""


class _SizeOf(NamedTuple):
    array: str


def size_of(array: str) -> Any:
    """Return the default of a number that is the length of an array of the struct."""
    return _SizeOf(array)


def struct_over(cls: type[_Class]) -> type[_Class]:
    """Turn a subclass of NamedTuples of arrays into a struct.

    The type checker goes on seeing the subclass, and so knows the fields. Numba must see a class of its own: it takes
    every subclass of a tuple for a tuple, which is passed by value and counts references.
    """
    banks = {bank for bank, _ in _BANKS.values()}
    parts: list[Any] = list(cls.__bases__)
    sources = {name: f"part{k}.{name}" for k, part in enumerate(parts) for name in part._fields if name not in banks}
    kept: dict[str, tuple[str, int]] = {}
    defaults: dict[str, Any] = {}
    for name, kind in inspect.get_annotations(cls).items():
        bank, _ = _BANKS[kind]
        if name not in cls.__dict__:
            kept[name] = bank, sum(each == bank for each, _ in kept.values())
            home = next(k for k, part in enumerate(parts) if bank in part._fields)
            sources[name] = f"part{home}.{bank}[{kept[name][1]}]"
            _PLACES[parts[home]] = kept
        elif isinstance(cls.__dict__[name], _SizeOf):
            sources[name] = f"int64({sources[cls.__dict__[name].array]}.size)"
        else:
            defaults[f"default_{name}"] = cls.__dict__[name]
            sources[name] = f"default_{name}"
    sources = {"frame": sources["frame"], **sources}
    body = {"__annotations__": dict.fromkeys(sources), "__module__": cls.__module__, "__doc__": cls.__doc__}
    made: type[_Class] = struct(type(cls.__name__, (), body))
    _DECLARED[made] = _Declaration(sources, len(parts), kept, defaults)
    return made


def opener(cls: type[_Class]) -> Callable[..., _Class]:
    """Return the kernel that builds a struct on top of its NamedTuples, given in the order of its bases.

    A NamedTuple that needs no numbers beside its arrays is passed itself.
    """
    if cls not in _DECLARED:
        cls = struct_over(type(cls.__name__, (cls,), {"__module__": cls.__module__}))
    declared = _DECLARED[cls]
    given = ", ".join(f"part{k}" for k in range(declared.parts))
    source = f"def open_{cls.__name__}({given}):\n    return Struct({', '.join(declared.sources.values())})"
    scope: dict[str, Any] = {"__name__": cls.__module__, "Struct": cls, "int64": np.int64, **declared.defaults}
    exec(source, scope)
    opened: Callable[..., _Class] = leaf(scope[f"open_{cls.__name__}"])
    return opened


def closer(cls: type[_Class]) -> Callable[[_Class, Any], None]:
    """Return the kernel that writes the numbers of a struct back to the NamedTuple that keeps them."""
    lines = [f"    arrays.{bank}[{place}] = own.{name}" for name, (bank, place) in _DECLARED[cls].kept.items()]
    scope: dict[str, Any] = {"__name__": cls.__module__}
    exec("\n".join([f"def close_{cls.__name__}(own, arrays):", *lines]), scope)
    closed: Callable[[_Class, Any], None] = leaf(scope[f"close_{cls.__name__}"])
    return closed


def first_numbers(cls: type, **values: float) -> dict[str, NDArray[Any]]:
    """Return the arrays that keep the numbers of a struct, by name, with the given values or zero."""
    kept = _DECLARED[cls].kept
    assert values.keys() <= kept.keys()
    return {
        bank: np.array([values.get(name, 0) for name, (where, _) in kept.items() if where == bank], dtype)
        for bank, dtype in _BANKS.values()
        if any(where == bank for where, _ in kept.values())
    }


class _Numbers:
    """The numbers kept by a NamedTuple of arrays, as attributes to read and to set."""

    def __init__(self, arrays: Any) -> None:
        object.__setattr__(self, "_arrays", arrays)

    def __getattr__(self, name: str) -> Any:
        bank, place = self._place(name)
        return bank[place].item()

    def __setattr__(self, name: str, value: float) -> None:
        bank, place = self._place(name)
        bank[place] = value

    def _place(self, name: str) -> tuple[NDArray[Any], int]:
        arrays = object.__getattribute__(self, "_arrays")
        places = _PLACES[type(arrays)]
        if name not in places:
            raise AttributeError(f"{type(arrays).__name__} keeps no number {name}; it has {', '.join(places)}")
        return getattr(arrays, places[name][0]), places[name][1]


named = _Numbers


def keeps(*names: str) -> Callable[[_Arrays], _Arrays]:
    """Name the fields of a NamedTuple of arrays that cannot be made anew; all others are settings or working memory.

    Checkpoints store them, and they travel to workers (`samplers.state`). NamedTuples inside speak for themselves.
    """

    def declared(arrays: _Arrays) -> _Arrays:
        assert set(names) <= set(arrays._fields)
        arrays.kept = names
        return arrays

    return declared
