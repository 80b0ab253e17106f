"""Draws packed: which of the different graphs each is, and these graphs once each.

A run of ten million draws does not fit memory as graphs, so draws are read twice, block by block. First each gets a
fingerprint of 128 bits that does not depend on the order of its edges; equal fingerprints are equal graphs. (That two
of 10⁷ graphs share one by chance has a probability of 10⁻²⁵.) Then the edges of each new graph are passed on, sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.run.draws import Block, DrawStore

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))  # any two will do: these are digits of π


@dataclass(frozen=True)
class Deferred:
    """An array that is not in memory: its size, and itself piece by piece."""

    size: int
    pieces: Callable[[], Iterator[Codes]]

    def whole(self) -> Codes:
        pieces = list(self.pieces())
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.int32), *pieces])  # one may be mapped


def pack_graphs(codes: Codes, ends: Integers) -> tuple[Integers, Integers, Codes]:
    """Find the unique graphs among draws given as lists of edge codes, in any order; `ends` is where each draw ends.

    Returns which unique graph each draw is, numbered as they first appear, and the graphs as in `RunRecord`.
    """
    lengths = np.diff(ends, prepend=0).astype(np.int32)
    graph_index, firsts = number_graphs(fingerprints(codes, lengths))
    block = Block(lengths, np.asarray(codes, np.int32), np.zeros(len(lengths)))
    return graph_index, _offsets(lengths[firsts]), _sorted_edges(block, firsts, np.zeros(0, np.int32))


def _offsets(lengths: NDArray[Any]) -> Integers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def pack_store(store: DrawStore, chains: int, draws: int, required: Codes) -> dict[str, Any]:
    """Pack the first `draws` draws of every chain into the fields of a `RunRecord` that hold them.

    Graphs are numbered as they first appear; `required` edges are in every graph and not in the store.
    """
    lengths = np.empty((chains, draws), np.int32)
    scores = np.empty((chains, draws))
    prints = np.empty((2, chains, draws), np.uint64)
    for chain in range(chains):
        for start, block in _first_blocks(store, chain, draws):
            stop = start + len(block.lengths)
            lengths[chain, start:stop] = block.lengths
            scores[chain, start:stop] = block.scores
            prints[:, chain, start:stop] = fingerprints(block.codes, block.lengths)
    index, firsts = number_graphs(prints.reshape(2, -1))
    offsets = _offsets(lengths.ravel()[firsts] + required.size)

    def pieces() -> Iterator[Codes]:
        for chain in range(chains):
            for start, block in _first_blocks(store, chain, draws):
                begin = chain * draws + start
                low, high = np.searchsorted(firsts, [begin, begin + len(block.lengths)])
                if high > low:
                    yield _sorted_edges(block, firsts[low:high] - begin, required)

    return {
        "log_posterior": scores,
        "graph_index": index.reshape(chains, draws),
        "graph_offsets": offsets,
        "graph_edges": Deferred(int(offsets[-1]), pieces),
    }


def _first_blocks(store: DrawStore, chain: int, draws: int) -> Iterator[tuple[int, Block]]:
    """Go through the first `draws` draws of a chain: where each block begins, and the block."""
    start = 0
    for block in store.blocks(chain):
        if start == draws:
            return
        wanted = min(len(block.lengths), draws - start)
        if wanted < len(block.lengths):
            codes = int(block.lengths[:wanted].sum(dtype=np.int64))
            block = Block(block.lengths[:wanted], block.codes[:codes], block.scores[:wanted])
        yield start, block
        start += wanted


def fingerprints(codes: Codes, lengths: NDArray[np.int32]) -> Words:
    """Return two numbers for each graph, sums of its edges' mixed bits, which depend on its set of edges only."""
    ends = _offsets(lengths)
    words = np.empty((2, len(lengths)), np.uint64)
    for row, seed in enumerate(_SEEDS):
        sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum(_scattered(codes.astype(np.uint64) + seed), out=sums[1:])  # wraps around, and so do the differences
        words[row] = sums[ends[1:]] - sums[ends[:-1]]
    return words


def _scattered(values: Words) -> Words:
    """Mix the bits of numbers, by the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def number_graphs(prints: Words) -> tuple[Integers, Integers]:
    """Number graphs as they first appear: return the number of each draw, and the first draw of each number."""
    first, second = prints
    order = np.lexsort((second, first))
    new = np.ones(len(order), bool)
    new[1:] = (first[order[1:]] != first[order[:-1]]) | (second[order[1:]] != second[order[:-1]])
    firsts = order[new]  # the sort is stable: the first of each group is the first drawn
    ranks = np.empty(len(firsts), np.int64)
    ranks[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    index = np.empty(len(order), np.int64)
    index[order] = ranks[np.cumsum(new) - 1]
    return index, np.sort(firsts)


def _sorted_edges(block: Block, chosen: Integers, required: Codes) -> Codes:
    """Return the sorted edges of some draws of a block, required ones included, one draw after the other."""
    owner, places = items_of(_offsets(block.lengths), chosen)
    codes = block.codes[places].astype(np.int64)
    keys = np.concatenate([owner << 32 | codes, *((np.arange(len(chosen)) << 32 | int(code)) for code in required)])
    return (np.sort(keys) & 0xFFFFFFFF).astype(np.int32)


def items_of(offsets: Integers, chosen: Integers) -> tuple[Integers, Integers]:
    """Say where the items of the chosen pieces between offsets are: which of those pieces each is in, and its place."""
    sizes = offsets[chosen + 1] - offsets[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return owner, np.repeat(offsets[chosen], sizes) + within
