"""Types of what kernels work on, as a reader and the type checker see them.

Numba infers its own types. To mypy an integer of a kernel is an `int`, whatever its width, and array elements are
unchecked, since compiled code mixes widths on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
Integers = NDArray[Any]
Codes = NDArray[Any]
"""32-bit edges: arcs inside kernels, parent · n + child outside."""
Words = NDArray[Any]
"""64 random bits each."""
Flags = NDArray[Any]
Bytes = NDArray[Any]
Records = NDArray[Any]

if TYPE_CHECKING:
    int64 = int
    uint64 = int
    uint32 = int
    float64 = float
else:
    int64 = np.int64
    uint64 = np.uint64
    uint32 = np.uint32
    float64 = np.float64
