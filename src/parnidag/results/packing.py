"""Draws of all chains packed: which of the different graphs each is, and these graphs once each.

A run of ten million draws does not fit memory as graphs, so draws are read twice, block by block. First each gets a
fingerprint of 128 bits that does not depend on the order of its edges; equal fingerprints are equal graphs. (That two
of 10⁷ graphs share one by chance has a probability of 10⁻²⁵.) Then the edges of each new graph are passed on, sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.results.record import Deferred
from parnidag.run.draws import Block, DrawStore

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))
"""Two fingerprints of 64 bits each; any different numbers will do (these are digits of π)."""


class Packed(NamedTuple):
    """All draws, chain by chain."""

    log_posterior: NDArray[np.float64]
    """(chain, draw)."""
    graph_index: Integers
    """(chain, draw): the graph of each draw; graphs are numbered as they first appear."""
    graph_offsets: Integers
    graph_edges: Deferred


def pack_store(store: DrawStore, chains: int, draws: int, required: Codes) -> Packed:
    """Pack the first `draws` draws of every chain; `required` edges are in every graph and not in the store."""
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
    sizes = lengths.ravel()[firsts].astype(np.int64) + required.size
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    def pieces() -> Iterator[Codes]:
        for chain in range(chains):
            for start, block in _first_blocks(store, chain, draws):
                begin = chain * draws + start
                low, high = np.searchsorted(firsts, [begin, begin + len(block.lengths)])
                if high > low:
                    yield sorted_edges(block, firsts[low:high] - begin, required)

    def whole() -> Codes:
        return np.concatenate([np.zeros(0, np.int32), *pieces()])

    return Packed(scores, index.reshape(chains, draws), offsets, Deferred(int(offsets[-1]), pieces, whole))


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
    """Return two numbers for each graph, which depend on its set of edges only.

    Examples
    --------
    >>> first, second = fingerprints(np.array([5, 1, 1, 5, 7], np.int32), np.array([2, 2, 1], np.int32))
    >>> bool(first[0] == first[1]), bool(first[0] == first[2]), bool(first[0] == second[0])
    (True, False, False)
    """
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
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


def sorted_edges(block: Block, chosen: Integers, required: Codes) -> Codes:
    """Return the sorted edges of some draws of a block, required ones included, one draw after the other."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(block.lengths, dtype=np.int64)])
    sizes = block.lengths[chosen].astype(np.int64)
    owner = np.repeat(np.arange(len(chosen)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    codes = block.codes[np.repeat(ends[chosen], sizes) + within].astype(np.int64)
    keys = np.concatenate([owner << 32 | codes, *((np.arange(len(chosen)) << 32 | int(code)) for code in required)])
    return (np.sort(keys) & 0xFFFFFFFF).astype(np.int32)
