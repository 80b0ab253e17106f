"""Chains as bytes: of every array only what differs from the chain that a run began with.

A chain of a thousand nodes has 75 MB of arrays, most of them working memory, settings, or counts of edges that were
never there. Both ends know one chain of the run; what is sent of another is where its arrays have other bits. Nothing
is rounded or guessed, so a chain that has travelled is the same to the bit, whatever sampler it belongs to.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 8
"""Bytes that are compared at once."""
PLACE = np.dtype(np.uint32)
"""Where a word stands in its array."""

Arrays = list[NDArray[Any]]


def arrays_of(thing: object) -> Arrays:
    """Return the arrays in it, each once, in the order in which they travel."""
    packer = _Packer(io.BytesIO(), [])
    packer.dump(thing)
    return packer.met


def pack(thing: object, base: Arrays) -> bytes:
    """Return it as bytes that `unpack` turns back with the same `base`."""
    file = io.BytesIO()
    _Packer(file, base).dump(thing)
    return file.getvalue()


def unpack(content: bytes, base: Arrays) -> Any:
    """Return what was packed; its arrays are its own."""
    return _Unpacker(io.BytesIO(content), base).load()


class _Packer(pickle.Pickler):
    """Pickles, but for arrays, which go by their number."""

    def __init__(self, file: io.BytesIO, base: Arrays) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._base = base
        self.met: Arrays = []  # kept, so that no two of them have the same id
        self._numbers: dict[int, int] = {}

    def persistent_id(self, thing: Any) -> Any:
        """Return what is sent in place of an array: its number, and what it looks like when it is met first."""
        if type(thing) is not np.ndarray or thing.dtype.hasobject:
            return None
        number = self._numbers.get(id(thing))
        if number is not None:
            return number, None
        number = self._numbers[id(thing)] = len(self.met)
        self.met.append(thing)
        base = self._base[number] if number < len(self._base) else None
        return number, _difference(np.asarray(thing, order="C"), base)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, base: Arrays) -> None:
        super().__init__(file)
        self._base = base
        self._made: dict[int, NDArray[Any]] = {}

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """Return the array of this number."""
        number, difference = pid
        if difference is not None:
            base = self._base[number] if number < len(self._base) else None
            self._made[number] = _patched(difference, base)
        return self._made[number]


def _difference(array: NDArray[Any], base: NDArray[Any] | None) -> tuple[Any, ...]:
    """Return an array as places and contents of other words, or whole where that is shorter."""
    if base is not None and base.dtype == array.dtype and base.shape == array.shape and array.nbytes % WORD == 0:
        words = _words(array)
        places = np.flatnonzero(words != _words(base))
        if places.size * (PLACE.itemsize + WORD) < array.nbytes and words.size <= np.iinfo(PLACE).max:
            return places.astype(PLACE).tobytes(), words[places].tobytes()
    return array.dtype, array.shape, array.tobytes()


def _patched(difference: tuple[Any, ...], base: NDArray[Any] | None) -> NDArray[Any]:
    if len(difference) == 3:
        dtype, shape, content = difference
        return np.frombuffer(content, dtype).reshape(shape).copy()
    assert base is not None
    places, contents = difference
    array = np.array(base, order="C")
    _words(array)[np.frombuffer(places, PLACE)] = np.frombuffer(contents, np.uint64)
    return array


def _words(array: NDArray[Any]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint64)
