"""One file of named arrays and a page of text (JSON), for checkpoints: written in one step, read with suspicion.

It is a ZIP archive of NumPy's own array files, so that any tool can look inside. Nothing in it is ever executed, and no
more is read than whoever asks expects.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from parnidag._util.files import replacing
from parnidag._util.text import one_line
from parnidag.errors import ParnidagError

MANIFEST = "manifest.json"
MOST_TEXT = 1 << 26
"""Bytes of text that are written and read at most."""
MOST_RATIO = 1100
"""Deflate cannot make more of a byte than 1032; what claims more is refused."""
_COMPRESSION = 1
"""Most arrays are mostly zeros: the fastest setting does nearly all there is to do."""


def write_container(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file in one step: a crash leaves the old one or the new one."""
    text = json.dumps(manifest, ensure_ascii=False).encode()
    if len(text) > MOST_TEXT:
        raise ParnidagError(f"path: cannot write {path}: its text would have {len(text)} bytes, more than {MOST_TEXT}")
    with (
        replacing(path, example="run.ckpt") as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as archive,
    ):
        archive.writestr(MANIFEST, text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


class Container:
    """A file to read from; what does not fit the expectation is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = path.stat().st_size
        try:
            self._archive = zipfile.ZipFile(path)
        except Exception as error:  # broken archives raise errors of many kinds
            raise self.damaged(error) from error
        try:
            self.manifest = self._manifest()
        except Exception as error:
            self._archive.close()
            raise self.damaged(error) from error

    def _manifest(self) -> dict[str, Any]:
        with self._member(MANIFEST) as member:
            text = member.read(MOST_TEXT + 1)
        if len(text) > MOST_TEXT:
            raise ValueError("its text is too long")
        manifest = json.loads(text)
        if not isinstance(manifest, dict):
            raise ValueError("its text is no mapping")
        return manifest

    def _member(self, name: str, size: int = 0) -> IO[bytes]:
        """Open a member of the archive, if it is packed as those written here and can have `size` bytes."""
        information = self._archive.getinfo(name)
        if information.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is packed in an unknown way")
        if size > MOST_RATIO * (information.compress_size + 1) or information.compress_size > self._size:
            raise ValueError(f"it claims {size} bytes, which the file does not hold")
        return self._archive.open(information)

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...], most: int) -> NDArray[Any]:
        """Read an array of this type and shape; None stands for any length, `most` limits the entries in all."""
        try:
            with self._member(f"{name}.npy") as member:
                found = _checked_header(member, np.dtype(dtype), shape, most)
            size = math.prod(found) * np.dtype(dtype).itemsize
            with self._member(f"{name}.npy", size) as member:
                _checked_header(member, np.dtype(dtype), shape, most)
                content = member.read(size)
                if len(content) != size or member.read(1):
                    raise ValueError("its length is wrong")
            if np.dtype(dtype) == np.bool_ and max(content, default=0) > 1:
                raise ValueError("it holds truth values that are none")
        except Exception as error:  # broken archives raise errors of many kinds
            raise self.damaged(error, name) from error
        return np.frombuffer(content, dtype).reshape(found).copy()

    def damaged(self, error: BaseException | str, name: str = "") -> ParnidagError:
        """Say that the file cannot be used."""
        where = f" at {name}" if name else ""
        reason = "".join(character if character.isprintable() else "?" for character in one_line(error))
        return ParnidagError(
            f"checkpoint: {self.path} is damaged{where} or no checkpoint at all ({reason}); "
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
    if fortran or kind != dtype or not fits or min(found, default=0) < 0 or math.prod(found) > most:
        raise ValueError(f"it has {kind} of shape {found}")
    return tuple(int(length) for length in found)
