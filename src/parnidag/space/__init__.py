"""Which parents are considered before sampling starts: skeletons to pass to `parnidag.sample(..., space=...)`."""

from __future__ import annotations

from parnidag.space.skeleton import Skeleton, pc

__all__ = ["Skeleton", "pc"]
