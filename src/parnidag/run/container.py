"""One file of named arrays and a page of text (JSON), for checkpoints: written in one step, read with suspicion.

It is a ZIP archive of NumPy's own array files, so that any tool can look inside. Nothing in it is ever executed, and no
more is read than whoever asks expects.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.writing import replacing

MANIFEST = "manifest.json"
MOST_TEXT = 1 << 28
"""Bytes of text that are read at most."""
_COMPRESSION = 1
"""Most arrays are mostly zeros: the fastest setting does nearly all there is to do."""


def write_container(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file in one step: a crash leaves the old one or the new one."""
    with (
        replacing(path, example="run.ckpt") as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as archive,
    ):
        archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


class Container:
    """A file to read from; what does not fit the expectation is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
            with self._archive.open(MANIFEST) as member:
                text = member.read(MOST_TEXT + 1)
            if len(text) > MOST_TEXT:
                raise ValueError("its text is too long")
            manifest = json.loads(text)
            if not isinstance(manifest, dict):
                raise ValueError("its text is no mapping")
        except Exception as error:  # broken archives raise errors of many kinds
            raise self.damaged(error) from error
        self.manifest: dict[str, Any] = manifest

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...], most: int) -> NDArray[Any]:
        """Read an array of this type and shape; None stands for any length, `most` limits the entries in all."""
        try:
            with self._archive.open(f"{name}.npy") as member:
                found = _checked_header(member, np.dtype(dtype), shape, most)
                size = int(np.prod(found, dtype=np.int64)) * np.dtype(dtype).itemsize
                content = member.read(size)
                if len(content) != size or member.read(1):
                    raise ValueError("its length is wrong")
        except Exception as error:  # broken archives raise errors of many kinds
            raise self.damaged(error, name) from error
        return np.frombuffer(content, dtype).reshape(found).copy()

    def damaged(self, error: BaseException | str, name: str = "") -> ParnidagError:
        """Say that the file cannot be used."""
        where = f" at {name}" if name else ""
        return ParnidagError(
            f"checkpoint: {self.path} is damaged{where} or no checkpoint at all ({' '.join(str(error).split())}); "
            "remove it, or name another file"
        )


def _checked_header(
    member: IO[bytes], dtype: np.dtype[Any], shape: tuple[int | None, ...], most: int
) -> tuple[int, ...]:
    """Read what an array file says of itself before anything is allocated."""
    version = npy.read_magic(member)
    if version != (1, 0):
        raise ValueError("unknown kind of array")
    found, fortran, kind = npy.read_array_header_1_0(member)
    fits = len(found) == len(shape) and all(
        want is None or want == have for want, have in zip(shape, found, strict=True)
    )
    if fortran or kind != dtype or not fits or min(found, default=0) < 0 or np.prod(found, dtype=np.float64) > most:
        raise ValueError(f"it has {kind} of shape {found}")
    return tuple(int(length) for length in found)
