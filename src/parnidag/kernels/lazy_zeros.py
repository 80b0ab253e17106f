"""Large arrays of zeros that take memory only where they are written, and give it back when they are dropped.

Some working arrays must be ready for the densest graph, n(n − 1)/2 edges, while real graphs fill a small part. NumPy's
zeros come from the C heap: a fresh piece costs nothing until it is written, but a piece that was used before is cleared
at once, all of it, and freed pieces stay with the process. Large arrays are therefore mapped, each by itself.
"""

from __future__ import annotations

import contextlib
import math
import mmap

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAPPED_FROM = 2**20
"""Bytes; smaller arrays are NumPy's own."""
HUGE_PAGE = 2**21


def lazy_zeros(
    shape: int | tuple[int, ...], dtype: DTypeLike = np.float64, *, busy: bool = False
) -> NDArray[np.generic]:
    """Return zeros; with `busy`, for an array that is read and written all over, in large pages where there are any.

    Large pages make random access faster, but a single number written takes a whole one.
    """
    size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    if size < MAPPED_FROM:
        return np.zeros(shape, dtype)
    return np.frombuffer(_mapped(size, busy), np.uint8)[:size].view(dtype).reshape(shape)


def _mapped(size: int, busy: bool) -> mmap.mmap:
    """Map memory that belongs to this process alone: a forked one must not write into it."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if busy and size >= HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
