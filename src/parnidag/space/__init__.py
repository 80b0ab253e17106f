"""Which parents are considered: search spaces to pass to `parnidag.sample(..., space=...)`."""

from __future__ import annotations

from parnidag.space.iterative import iterative
from parnidag.space.searchspace import SearchSpace
from parnidag.space.skeleton import Skeleton, pc

__all__ = ["SearchSpace", "Skeleton", "iterative", "pc"]
