"""Reading the arrays of a result with suspicion: nothing outside the file, no more memory than the file accounts for.

The HDF5 library is asked where things are, and no more. Bytes are then read here, within the bounds of the file: on a
damaged file the library itself can go round in circles for ever (in its heap of texts), or unpack a few bytes to
gigabytes. Large arrays that lie in the file as they are in memory are mapped, not read: the operating system brings in
what is looked at, so that a result of many gigabytes opens at once.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

MAPPED_FROM_BYTES = 1 << 26
"""Arrays from this size on (64 MB) are written as they are, without compression, and mapped when read."""
MOST_RATIO = 1100
"""Deflate cannot make more of a byte than 1032: a file that claims more in all is refused."""
MOST_DIMENSIONS = 8
MOST_ATTRIBUTE_BYTES = 1 << 12
_SHUFFLE, _DEFLATE = h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE
_BARE_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
_TEXT = struct.Struct("<IQI")
"""How HDF5 refers to a text: its length, the place of its heap in the file, its number there."""
_HEAP_HEAD, _HEAP_ITEM = struct.Struct("<4sB3xQ"), struct.Struct("<HHIQ")


class StoredFile:
    """An open netCDF file (HDF5) and its variables."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = path.open("rb")
        self._size = path.stat().st_size
        self._left = MAPPED_FROM_BYTES + MOST_RATIO * self._size
        """Bytes of arrays that may still be read into memory."""
        self._heaps: dict[int, dict[int, tuple[int, int]]] = {}
        try:
            self._file = h5py.File(path, "r")
            if self._file.userblock_size or self._file.id.get_create_plist().get_sizes() != (8, 8):
                raise ValueError("it is laid out in an unusual way")
        except BaseException:
            self._bytes.close()
            raise

    def __enter__(self) -> StoredFile:
        return self

    def __exit__(self, *details: object) -> None:
        self._bytes.close()
        self._file.close()

    def number_attribute(self, name: str) -> int | None:
        """Return an attribute of the file that is a whole number, None if there is none."""
        found = _small_attribute(self._file, name)
        return int(found.item()) if found is not None and found.dtype.kind in "iu" and found.size == 1 else None

    def text_attribute(self, name: str) -> str | None:
        """Return an attribute of the file that is a text of fixed length, None if there is none."""
        found = _small_attribute(self._file, name)
        if found is None or found.dtype.kind != "S" or found.size != 1:
            return None
        return bytes(found.item()).decode("utf-8", "replace")

    def names(self, prefix: str) -> Iterator[str]:
        """Go through the variables of a prefix; netCDF keeps dimensions among them, without content of their own."""
        for name in self._file:
            if name.startswith(prefix):
                note = _small_attribute(self._variable(name), "NAME")
                if note is None or not note.tobytes().startswith(_BARE_DIMENSION):
                    yield name

    def __contains__(self, name: str) -> bool:
        return name in self._file

    def array(self, name: str, dtype: Any = None) -> NDArray[Any]:
        """Return a variable of numbers, mapped if it is large and lies there as it is in memory.

        Without a type it has that of the file; truth values are marked as such by xarray.
        """
        variable = self._variable(name)
        kind = variable.dtype
        if kind.kind not in "fiub" or kind.itemsize > 8:
            raise ValueError(f"{name} holds no numbers but {kind}")
        if dtype is None:
            dtype = np.bool_ if kind.kind == "b" or (kind == np.int8 and "dtype" in variable.attrs) else kind
        wanted, stored = np.dtype(dtype), np.dtype(np.uint8) if kind.kind == "b" else np.dtype(kind.str)
        place = variable.id.get_offset()
        size = math.prod(variable.shape) * stored.itemsize
        if place is not None and stored == wanted and size >= MAPPED_FROM_BYTES:
            if place < 0 or place + size > self._size:
                raise ValueError(f"{name} reaches beyond the end of the file")
            return np.asarray(np.memmap(self._path, wanted, "r", place, variable.shape))
        found = self._read(name, variable, stored)
        if wanted.kind in "iu" and stored.kind == "f":
            raise ValueError(f"{name} holds no whole numbers but {kind}")
        return found.astype(wanted, copy=not found.flags.writeable)

    def number(self, name: str) -> float:
        """Return a variable that is one number."""
        found = self.array(name, np.float64)
        if found.shape != ():
            raise ValueError(f"{name} is not one number")
        return float(found)

    def texts(self, name: str) -> list[str]:
        """Return a variable of texts, together no longer than the file: each is in it once."""
        variable = self._variable(name)
        information = h5py.check_string_dtype(variable.dtype)
        if information is None or information.length is not None:
            raise ValueError(f"{name} holds no text but {variable.dtype}")
        references = self._read(name, variable, np.dtype(f"V{_TEXT.size}"))
        left, found = self._size, []
        for length, heap, number in _TEXT.iter_unpack(references.tobytes()):
            left -= length
            if left < 0:
                raise ValueError(f"{name} claims more text than the file holds")
            found.append(self._heap_item(heap, number, length).decode("utf-8") if length else "")
        return found

    # ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _variable(self, name: str) -> h5py.Dataset:
        """Return a variable, if it is inside this file and no larger than the file accounts for."""
        if not isinstance(self._file.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name} is not in the file itself")
        variable = self._file[name]
        if not isinstance(variable, h5py.Dataset) or variable.is_virtual or variable.external:
            raise ValueError(f"{name} is not in the file itself")
        if variable.shape is None or variable.ndim > MOST_DIMENSIONS:
            raise ValueError(f"{name} has an impossible shape")
        return variable

    def _read(self, name: str, variable: h5py.Dataset, kind: np.dtype[Any]) -> NDArray[Any]:
        """Read all of a variable, whose entries are `kind` in the file."""
        layout = variable.id.get_create_plist()
        size = math.prod(variable.shape) * kind.itemsize
        self._left -= size
        if self._left < 0:
            raise ValueError(f"{name} claims {size} bytes, which the file does not hold")
        if size == 0:
            return np.zeros(variable.shape, kind)
        if layout.get_layout() == h5py.h5d.CHUNKED:
            return self._read_chunks(name, variable, kind, _filters(layout))
        place = variable.id.get_offset()
        if layout.get_layout() != h5py.h5d.CONTIGUOUS or place is None:
            raise ValueError(f"{name} claims {size} bytes, which the file does not hold")
        return np.frombuffer(self._part(place, size), kind).reshape(variable.shape)

    def _read_chunks(self, name: str, variable: h5py.Dataset, kind: np.dtype[Any], filters: list[int]) -> NDArray[Any]:
        """Read an array that is stored in pieces of one size, each perhaps compressed."""
        piece, shape = variable.chunks, variable.shape
        length = math.prod(piece) * kind.itemsize
        count = math.prod(-(-end // step) for end, step in zip(shape, piece, strict=True))
        if length > MAPPED_FROM_BYTES or count > self._size:
            raise ValueError(f"{name} claims {count} pieces of {length} bytes, which the file does not hold")
        known: dict[tuple[int, ...], Any] = {}

        def note(chunk: Any) -> bool | None:
            known[chunk.chunk_offset] = chunk
            return True if len(known) > count else None  # anything but None ends the search

        variable.id.chunk_iter(note)
        whole = np.empty(shape, kind)
        for corner in product(*(range(0, end, step) for end, step in zip(shape, piece, strict=True))):
            chunk = known.get(corner)
            if chunk is None:
                raise ValueError(f"{name} has a gap")
            content = _unpacked(self._part(chunk.byte_offset, chunk.size), filters, kind.itemsize, length)
            if chunk.filter_mask or len(content) != length:
                raise ValueError(f"{name} is damaged")
            part = tuple(slice(start, start + step) for start, step in zip(corner, piece, strict=True))
            inside = tuple(
                slice(0, min(step, end - start)) for start, step, end in zip(corner, piece, shape, strict=True)
            )
            whole[part] = np.frombuffer(content, kind).reshape(piece)[inside]
        return whole

    def _part(self, place: int, size: int) -> bytes:
        """Return some bytes of the file."""
        if place < 0 or size < 0 or place + size > self._size:
            raise ValueError("it reaches beyond the end of the file")
        self._bytes.seek(place)
        return self._bytes.read(size)

    def _heap_item(self, heap: int, number: int, length: int) -> bytes:
        """Return a text of a heap ("global heap collection"), looking each heap through once."""
        if heap not in self._heaps:
            self._heaps[heap] = self._heap(heap)
        place, size = self._heaps[heap].get(number, (0, -1))
        if length > size:
            raise ValueError("a text is not where it should be")
        return self._part(place, length)

    def _heap(self, heap: int) -> dict[int, tuple[int, int]]:
        """Return place and size of everything in a heap, by number."""
        mark, version, size = _HEAP_HEAD.unpack(self._part(heap, _HEAP_HEAD.size))
        if mark != b"GCOL" or version != 1 or heap + size > self._size:
            raise ValueError("a text is not where it should be")
        place, end, found = heap + _HEAP_HEAD.size, heap + size, {}
        while place + _HEAP_ITEM.size <= end:
            number, _, _, length = _HEAP_ITEM.unpack(self._part(place, _HEAP_ITEM.size))
            place += _HEAP_ITEM.size
            if number == 0:  # the room that is left
                break
            found[number] = (place, min(length, end - place))
            place += length + -length % 8
        return found


def _small_attribute(owner: Any, name: str) -> NDArray[Any] | None:
    """Return an attribute of numbers or of a text of fixed length, None if it is missing or anything else."""
    if name not in owner.attrs:
        return None
    known = owner.attrs.get_id(name)
    if known.dtype.kind not in "iuS" or known.get_storage_size() > MOST_ATTRIBUTE_BYTES:
        return None
    return np.asarray(owner.attrs[name])


def _filters(layout: Any) -> list[int]:
    """Return how pieces were packed, in this order, if it is a way that results are written in."""
    found = [layout.get_filter(place)[0] for place in range(layout.get_nfilters())]
    if found not in ([], [_DEFLATE], [_SHUFFLE], [_SHUFFLE, _DEFLATE]):
        raise ValueError(f"it is packed in an unknown way ({found})")
    return found


def _unpacked(content: bytes, filters: list[int], itemsize: int, length: int) -> bytes:
    """Undo the packing of a piece that had `length` bytes."""
    if _DEFLATE in filters:
        content = zlib.decompressobj().decompress(content, length + 1)
    if _SHUFFLE in filters and len(content) == length:  # first bytes of all entries came first, then second ones …
        content = np.frombuffer(content, np.uint8).reshape(itemsize, -1).T.tobytes()
    return content
