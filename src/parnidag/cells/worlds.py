"""Worlds that a chain drew: graphs with parameters, some hundred of them, from which effects are answered later.

Whoever draws cells draws parameters first, or has all counts that they depend on. Graph and parameters then have their
joint posterior, with the cells averaged over, and no table has to be kept for drawing them again. Worlds are evenly
spaced over a chain's draws of its cells: when there is no room left every second one goes, and twice as many draws
lie between those to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from parnidag.kernels.declare import keeps
from parnidag.kernels.types import Codes, Floats, Integers

MOST_WORLDS = 256
"""Of a chain; there are at least half as many once it has drawn its cells so often."""
MOST_NUMBERS = 2**18
"""Numbers of all worlds of a chain (2 MB)."""
LEAST_WORLDS = 8
"""Where so many worlds have no room none are kept."""
GIVEN_UP = 0

World = tuple[Codes, Floats]
"""Edges, as parent · columns + child, and numbers: what both are is known to whoever wrote them."""


@keeps("counts", "ends", "codes", "numbers")
class Worlds(NamedTuple):
    """The worlds of one chain."""

    counts: Integers
    """Draws so far; every how many of them one is kept, or that none are; kept ones."""
    ends: Integers
    """Where the edges and the numbers of each end (worlds × 2)."""
    codes: Codes
    numbers: Floats


class WorldsOfChains(NamedTuple):
    """The worlds of all chains, as many of each."""

    ends: Integers
    """(chains × worlds × 2)"""
    codes: Codes
    numbers: Floats


def make_worlds(largest: int) -> Worlds:
    """Return room for the worlds of a chain, each of at most so many numbers, and half as many edges."""
    room = min(MOST_NUMBERS, MOST_WORLDS * largest)
    ends = np.zeros((MOST_WORLDS, 2), np.int64)
    return Worlds(np.array([0, 1, 0]), ends, np.zeros(room // 2, np.int32), np.zeros(room))


def note_world(own: Worlds, made: Callable[[], World | None]) -> None:
    """Count a draw; if it is one to be kept, have its world made, which is None if that would be too large."""
    draws, spacing, kept = own.counts.tolist()
    own.counts[0] = draws + 1
    if spacing == GIVEN_UP or draws % spacing:
        return
    world = made()
    if world is None or world[1].size > own.numbers.size // LEAST_WORLDS:
        own.counts[1:] = GIVEN_UP, 0
        return
    while not _has_room(own, kept, world):
        spacing, kept = 2 * spacing, keep_every_second(own, kept)
    if draws % spacing == 0:
        begin = own.ends[kept - 1] if kept else np.zeros(2, np.int64)
        for into, part, first in zip((own.codes, own.numbers), world, begin.tolist(), strict=True):
            into[first : first + part.size] = part
        own.ends[kept] = begin + [part.size for part in world]
        kept += 1
    own.counts[1:] = spacing, kept


def _has_room(own: Worlds, kept: int, world: World) -> bool:
    end = int(own.ends[kept - 1, 1]) if kept else 0
    return kept < MOST_WORLDS and end + world[1].size <= own.numbers.size


def keep_every_second(own: Worlds, kept: int) -> int:
    """Keep the first world, the third and so on; return how many are left."""
    begins = np.concatenate([np.zeros((1, 2), np.int64), own.ends[: kept - 1]])
    sizes = (own.ends[:kept] - begins)[::2]
    for part, array in enumerate((own.codes, own.numbers)):
        pieces = [array[begin : begin + size] for begin, size in zip(begins[::2, part], sizes[:, part], strict=True)]
        joined = np.concatenate(pieces)
        array[: joined.size], array[joined.size :] = joined, 0
    own.ends[: len(sizes)], own.ends[len(sizes) :] = np.cumsum(sizes, axis=0), 0
    return len(sizes)


def forget_worlds(own: Worlds) -> None:
    """Begin anew, when tuning ends."""
    own.counts[:] = 0, 1, 0
    for array in (own.ends, own.codes, own.numbers):
        array.fill(0)


def worlds_of_chains(chains: Sequence[Worlds]) -> WorldsOfChains | None:
    """Put together the worlds that all chains have, in the widest of their spacings; None if one has none."""
    if not all(own.counts[2] for own in chains):
        return None
    widest = max(int(own.counts[1]) for own in chains)
    steps = [widest // int(own.counts[1]) for own in chains]
    fewest = min(-(-int(own.counts[2]) // step) for own, step in zip(chains, steps, strict=True))
    ends: list[Integers] = []
    codes: list[Codes] = []
    numbers: list[Floats] = []
    for own, step in zip(chains, steps, strict=True):
        chosen = np.arange(fewest) * step
        begins = np.where(chosen[:, None] > 0, own.ends[chosen - 1], 0)
        ends.append(own.ends[chosen] - begins)
        for found, array, part in ((codes, own.codes, 0), (numbers, own.numbers, 1)):
            found += [array[b:e] for b, e in zip(begins[:, part], own.ends[chosen, part], strict=True)]
    sizes = np.array(ends)
    return WorldsOfChains(
        np.cumsum(sizes.reshape(-1, 2), axis=0).reshape(sizes.shape), np.concatenate(codes), np.concatenate(numbers)
    )
