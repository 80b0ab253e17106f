"""Reading the arrays of a result with suspicion: nothing outside the file, no more memory than the file accounts for.

Large arrays that lie in the file as they are in memory are mapped, not read: the operating system brings in what is
looked at, so that a result of many gigabytes opens at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

MAPPED_FROM_BYTES = 1 << 26
"""Arrays from this size on (64 MB) are written as they are, without compression, and mapped when read."""
MOST_RATIO = 200
"""No honest array of that size is compressed by more than this; a few bytes that claim to be gigabytes are refused."""
MOST_DIMENSIONS = 8
_BARE_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"


class StoredFile:
    """An open netCDF file (HDF5) and its variables."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = h5py.File(path, "r")

    def __enter__(self) -> StoredFile:
        return self

    def __exit__(self, *details: object) -> None:
        self._file.close()

    def attribute(self, name: str) -> Any:
        """Return an attribute of the file, None if there is none."""
        found = self._file.attrs.get(name)
        return found.item() if isinstance(found, np.ndarray) and found.size == 1 else found

    def __iter__(self) -> Iterator[str]:
        """Go through the variables; netCDF keeps dimensions among them, which have no content of their own."""
        for name in self._file:
            if not bytes(self._inside(name).attrs.get("NAME", b"")).startswith(_BARE_DIMENSION):
                yield name

    def __contains__(self, name: str) -> bool:
        return name in self._file

    def array(self, name: str, dtype: Any) -> NDArray[Any]:
        """Return a variable of numbers, mapped if it is large and lies there as it is in memory."""
        variable = self._variable(name)
        wanted = np.dtype(dtype)
        if variable.dtype.kind not in "fiub":
            raise ValueError(f"{name} holds no numbers but {variable.dtype}")
        offset = variable.id.get_offset()
        if offset is not None and variable.dtype == wanted and variable.nbytes >= MAPPED_FROM_BYTES:
            if offset + variable.nbytes > self._path.stat().st_size:
                raise ValueError(f"{name} reaches beyond the end of the file")
            mapped = np.memmap(self._path, wanted, "r", offset, variable.shape)
            return np.asarray(mapped)
        return np.ascontiguousarray(variable[()], dtype=wanted)

    def own_array(self, name: str) -> NDArray[Any]:
        """Return a variable of numbers of whatever type it has."""
        return self.array(name, self._variable(name).dtype)

    def number(self, name: str) -> float:
        """Return a variable that is one number."""
        variable = self._variable(name)
        if variable.shape != ():
            raise ValueError(f"{name} is not one number")
        return float(variable[()])

    def texts(self, name: str) -> list[str]:
        """Return a variable of texts."""
        variable = self._variable(name)
        if h5py.check_string_dtype(variable.dtype) is None:
            raise ValueError(f"{name} holds no text but {variable.dtype}")
        found = variable.asstr()[()]
        return [str(text) for text in np.atleast_1d(np.asarray(found, dtype=object)).ravel()]

    def _variable(self, name: str) -> h5py.Dataset:
        """Return a variable, if it is inside this file and as large as it says."""
        variable = self._inside(name)
        if variable.ndim > MOST_DIMENSIONS:
            raise ValueError(f"{name} has {variable.ndim} dimensions")
        if variable.nbytes > max(MAPPED_FROM_BYTES, MOST_RATIO * variable.id.get_storage_size()):
            raise ValueError(f"{name} claims {variable.nbytes} bytes, which the file does not hold")
        return variable

    def _inside(self, name: str) -> h5py.Dataset:
        """Return a variable or dimension, if it is inside this file and not a pointer to somewhere else."""
        if not isinstance(self._file.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name} is not in the file itself")
        variable = self._file[name]
        if not isinstance(variable, h5py.Dataset) or variable.is_virtual or variable.external:
            raise ValueError(f"{name} is not in the file itself")
        return variable
