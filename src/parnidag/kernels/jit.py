"""The decorators for compiled code: `kernel`, `leaf`, `entry` and `struct`.

Numba's on-disk cache notices an edited file, but not an edited *callee in another file*: a cached caller would silently
run old code. So every cached function of this package lives in a folder named after a digest of all kernel sources.
See docs/adr/0002-safe-cache.md.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, dataclass_transform

import numba
import numpy as np
from numpy.typing import NDArray

from parnidag.kernels.struct import FRAME_BYTES, register_struct

_Function = TypeVar("_Function", bound=Callable[..., object])
_Class = TypeVar("_Class")

KEPT_DIGESTS = 4
"""How many cache folders (package versions, Python versions) survive side by side."""


def kernel(function: _Function) -> _Function:
    """Compile a function that other compiled functions call; it releases the GIL and never raises on division."""
    compiled: _Function = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled


def leaf(function: _Function) -> _Function:
    """Compile a tiny function that is pasted into its callers, so that structs pass through it at no cost."""
    compiled: _Function = numba.njit(nogil=True, error_model="numpy", inline="always")(function)
    return compiled


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls, kept in the on-disk cache."""
    with cached_below() as cache:
        compiled: _Function = numba.njit(nogil=True, error_model="numpy", cache=cache)(function)
    return compiled


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
    if numba.config.DISABLE_JIT:
        return _plain_class(cls, fields)
    register_struct(cls, fields)
    return cls


def make_frame() -> NDArray[np.uint8]:
    """Return the memory in which one struct lives."""
    return np.zeros(FRAME_BYTES, np.uint8)


def _plain_class(cls: type[_Class], fields: list[str]) -> type[_Class]:
    def initialise(self: object, *values: object) -> None:
        for name, value in zip(fields, values, strict=True):
            setattr(self, name, value)

    cls.__init__ = initialise  # type: ignore[method-assign]
    return cls


@functools.cache
def cache_folder() -> Path | None:
    """Where compiled code is kept, or None when no folder can be written (compilation is then repeated every start)."""
    for root in _cache_roots():
        folder = root / _source_digest()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
            _prune(root)
            return folder
    return None


def _cache_roots() -> list[Path]:
    chosen = os.environ.get("PARNIDAG_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    per_user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return [
        Path(per_user) / "parnidag",
        Path(tempfile.gettempdir()) / f"parnidag-{os.getuid() if hasattr(os, 'getuid') else 0}",
    ]


@functools.cache
def _source_digest() -> str:
    """Digest of what compiled code depends on: Numba, NumPy, Python, and every file that kernels take names from."""
    package = Path(__file__).parent.parent
    sources = {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}
    wanted = {name for name, source in sources.items() if "parnidag.kernels.jit import" in source} | {"kernels/jit.py"}
    waiting = list(wanted)
    while waiting:
        for module in re.findall(r"^from parnidag\.([\w.]+) import", sources[waiting.pop()], flags=re.MULTILINE):
            name = module.replace(".", "/")
            found = {f"{name}.py", f"{name}/__init__.py"} & sources.keys() - wanted
            wanted |= found
            waiting += found
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for name in sorted(wanted):
        digest.update(f"{name}\0{sources[name]}".encode())
    return digest.hexdigest()[:16]


def _prune(root: Path) -> None:
    """Remove the cache folders used longest ago."""
    folders = sorted((f for f in root.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime, reverse=True)
    for folder in folders[KEPT_DIGESTS:]:
        shutil.rmtree(folder, ignore_errors=True)
