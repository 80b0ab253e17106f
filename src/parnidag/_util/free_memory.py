"""How much memory this machine has left."""

from __future__ import annotations

import math
from pathlib import Path

KEPT_FREE = 0.05
"""Share of the free memory that is left to others."""


def free_bytes() -> float | None:
    """Return the memory that is free for new work; None where there is no telling."""
    limits = [size for size in (_available(), _left_in_group()) if size is not None]
    return min(limits) if limits else None


def _available() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _left_in_group() -> float | None:
    """Return what a container has left, if its memory is limited; what files are read through can be taken back."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text())  # "max" if there is none
        used = float((group / "memory.current").read_text())
        rows = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        files = sum(float(size) for name, size in rows if name in ("active_file", "inactive_file"))
    except (OSError, ValueError):
        return None
    return max(limit - used + files, 0.0) if math.isfinite(limit) else None
