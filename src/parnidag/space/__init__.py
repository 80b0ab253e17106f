"""Which parents are considered: search spaces to pass to `parnidag.sample(..., space=...)`."""

from __future__ import annotations

from parnidag.space.iterative import iterative
from parnidag.space.pc import Skeleton, pc
from parnidag.space.search_space import SearchSpace

__all__ = ["SearchSpace", "Skeleton", "iterative", "pc"]
