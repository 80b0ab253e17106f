"""The decorators for compiled code: `kernel`, `leaf`, `entry` and `struct`.

Numba's on-disk cache notices an edited file, but not an edited *callee in another file*: a cached caller would silently
run old code. So every cached function of this package lives in a folder named after a digest of all that compiled code
depends on (`source_digest`).
See docs/adr/0002-safe-cache.md.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, cast, dataclass_transform

import numba
import numpy as np
from numpy.typing import NDArray

from parnidag.kernels.inner import InnerFunction
from parnidag.kernels.once import EntryFunction
from parnidag.kernels.source_digest import source_digest
from parnidag.kernels.struct import FRAME_BYTES, register_struct

_Function = TypeVar("_Function", bound=Callable[..., object])
_Class = TypeVar("_Class")

KEPT_DIGESTS = 4
"""How many cache folders (package versions, Python versions) survive side by side."""


def kernel(function: _Function) -> _Function:
    """Compile a function that other compiled functions call; it releases the GIL and never raises on division.

    It is linked into its callers; see `kernels.inner` for what is saved by that.
    """
    if numba.config.DISABLE_JIT:
        return function
    return cast(_Function, InnerFunction(function))


def leaf(function: _Function) -> _Function:
    """Compile a tiny function that is pasted into its callers, so that structs pass through it at no cost."""
    compiled: _Function = numba.njit(nogil=True, error_model="numpy", inline="always")(function)
    return compiled


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls, kept in the on-disk cache; see `kernels.once`."""
    if numba.config.DISABLE_JIT:
        return function
    compiled = EntryFunction(function)
    with cached_below() as cache:
        if cache:
            compiled.enable_caching()
    return cast(_Function, compiled)


@contextlib.contextmanager
def cached_below() -> Iterator[bool]:
    """Let Numba keep what is declared inside in this package's cache folder; False if there is none."""
    folder = cache_folder()
    saved = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
    try:
        yield folder is not None
    finally:
        numba.config.CACHE_DIR = saved


@dataclass_transform(eq_default=False)
def struct(cls: type[_Class]) -> type[_Class]:
    """Turn an annotated class into a mutable struct that kernels pass by reference.

    The first field must be ``frame``, a byte array made by `make_frame`: the struct lives in that array, which the
    caller of the entry owns. So unlike Numba's own structs it counts no references. Compiled code builds one by calling
    the class with every field in order; fields are read and set as attributes. With ``NUMBA_DISABLE_JIT=1`` it is an
    ordinary Python class, so that tests can run the same kernels as plain Python.
    """
    fields = list(cls.__annotations__)

    def initialise(self: object, *values: object) -> None:
        self.__dict__.update(zip(fields, values, strict=True))

    if numba.config.DISABLE_JIT:
        cls.__init__ = initialise  # type: ignore[method-assign]
    else:
        register_struct(cls, fields)
    return cls


def make_frame() -> NDArray[np.uint8]:
    return np.zeros(FRAME_BYTES, np.uint8)


@functools.cache
def cache_folder() -> Path | None:
    """Where compiled code is kept, or None when no folder can be written (compilation is then repeated every start)."""
    for root in _cache_roots():
        folder = root / _digest()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
            _prune(root)
            return folder
    return None


def _cache_roots() -> Iterator[Path]:
    chosen = os.environ.get("PARNIDAG_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    elif numba.config.CACHE_DIR:  # NUMBA_CACHE_DIR
        yield Path(numba.config.CACHE_DIR) / "parnidag"
    else:
        per_user = os.environ.get("XDG_CACHE_HOME")
        with contextlib.suppress(RuntimeError):  # there is no home
            yield Path(per_user) / "parnidag" if per_user else Path.home() / ".cache" / "parnidag"
        shared = Path(tempfile.gettempdir()) / f"parnidag-{os.getuid() if hasattr(os, 'getuid') else 0}"
        if _is_private(shared):
            yield shared


def _is_private(folder: Path) -> bool:
    """Make a folder in a place where everybody can; False if somebody else made it first, or could write to it.

    What is read from a cache is executed.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and (
            not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        )
    return False


@functools.cache
def _digest() -> str:
    return source_digest(Path(__file__).parent.parent, f"{numba.__version__} {np.__version__} {sys.version}")


def _prune(root: Path) -> None:
    folders = sorted((f for f in root.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime, reverse=True)
    for folder in folders[KEPT_DIGESTS:]:
        shutil.rmtree(folder, ignore_errors=True)
