"""Draws while a run goes on: blocks of them, and where they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Block(NamedTuple):
    """Some draws of one chain, in order: what one segment has drawn."""

    lengths: NDArray[np.int32]
    """Edges of each draw."""
    codes: NDArray[np.int32]
    """Their codes parent · n + child, draw by draw, in any order; required edges are left out."""
    scores: NDArray[np.float64]
    """Log posterior of each draw."""


class DrawStore(Protocol):
    """What a run asks of the place where draws go: keep a chain's next ones, count them, give them from the first."""

    def append(self, chain: int, block: Block) -> None: ...
    def count(self, chain: int) -> int: ...
    def blocks(self, chain: int) -> Iterator[Block]: ...


class MemoryStore:
    def __init__(self, chains: int) -> None:
        self._blocks: list[list[Block]] = [[] for _ in range(chains)]

    def append(self, chain: int, block: Block) -> None:
        self._blocks[chain].append(block)

    def count(self, chain: int) -> int:
        return sum(len(block.lengths) for block in self._blocks[chain])

    def blocks(self, chain: int) -> Iterator[Block]:
        return iter(self._blocks[chain])

    def close(self) -> None:
        """Do nothing: there are no files."""
