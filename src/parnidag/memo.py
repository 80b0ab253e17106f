"""Local scores on demand: computed once, then remembered.

The memo is a two-way cache of 64-byte records with the whole parent set in each, so a hit is verified and never a hash
collision. It is bounded: new scores push old ones out. A score is a pure function of the node and its sorted parents,
so what the memo happens to hold never changes a chain.

With few nodes there is a place for every set of parents, found by its bits: `direct` then stands in for the memo.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag._jit import kernel, leaf, make_frame
from parnidag._room import room
from parnidag._types import Records, Words, int64, uint32, uint64
from parnidag.net import ABSENT, LONGEST_KEY, MEMO_RECORD, ONE, ZERO, Net, Scratch
from parnidag.scores.gaussian import node_score

ALIGNMENT = 64
MOST_DIRECT = 12
"""Up to so many nodes every set of parents has a place of its own (400 kB in all)."""
WORDS_SEED = 20231210
"""Seed of the hash words; any value will do, since hits are verified."""
NOBODY = int64(-1)
"""No node at all."""


def hash_words(n_nodes: int) -> Words:
    """Return the words whose exclusive or is the key of a node (row 1) with its parents (row 0).

    With few nodes a key is the place of the score in `direct`; else the words are random.
    """
    if n_nodes <= MOST_DIRECT:
        nodes = np.arange(n_nodes, dtype=np.uint64)
        return np.array([np.uint64(1) << nodes, nodes << np.uint64(n_nodes)])
    return np.random.SeedSequence(WORDS_SEED).generate_state(2 * n_nodes, np.uint64).reshape(2, n_nodes)


def make_scratch(n_nodes: int, max_parents: int, memo_records: int, widest: int = 1) -> Scratch:
    """Return working memory for one chain with room for `memo_records` (a power of two) local scores.

    A parent has at most `widest` columns.
    """
    largest = max_parents + 1
    rows = max_parents * widest + 2
    few = n_nodes <= MOST_DIRECT
    return Scratch(
        frame=make_frame(),
        memo=empty_memo(2 if few else memo_records),
        direct=np.full(n_nodes << n_nodes if few else 0, np.nan),
        marks=np.zeros(n_nodes + 1, np.int64),
        stack=np.zeros(n_nodes + 1, np.int64),
        family=np.zeros(largest + 1, np.int64),
        factor=room((rows, rows), busy=True),
    )


def empty_memo(records: int) -> Records:
    """Return empty records, each on its own cache line."""
    raw = room(records * MEMO_RECORD.itemsize + ALIGNMENT, np.uint8, busy=True)
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset : offset + records * MEMO_RECORD.itemsize].view(MEMO_RECORD)


@kernel
def flipped_score(net: Net, node: int, other: int) -> float:
    """Return the local log target of `node` with `other` added to its parents, or taken out if it is one.

    −inf when that would be one parent too many.
    """
    adding = net.position[other, node] == ABSENT
    degree = net.degree[node] + ONE if adding else net.degree[node] - ONE
    if degree > net.max_parents:
        return -math.inf
    if degree > LONGEST_KEY:
        write_family(net, node, NOBODY if adding else other, other if adding else NOBODY)
        return local_score(net, node, degree)
    word = net.key[node] ^ net.words[0, other]
    score = direct_score(net, word)
    if score == score:
        return score
    slot, tag = slot_of(net, word), tag_of(word)
    if holds(net, slot, tag, node, other, degree):
        return recalled(net, slot)
    if holds(net, slot ^ ONE, tag, node, other, degree):
        return recalled(net, slot ^ ONE)
    write_family(net, node, NOBODY if adding else other, other if adding else NOBODY)
    return new_score(net, node, degree, word)


@kernel
def holds(net: Net, slot: int, tag: uint32, node: int, other: int, degree: int) -> bool:
    """Is the record in `slot` the one for `node` and its parents with `other` flipped? Compares the sets themselves."""
    record = net.memo[slot]
    if record["tag"] != tag or record["owner"] != node + ONE or record["degree"] != degree:
        return False
    kept, row = record["parents"], net.parents[node]
    if degree > net.degree[node]:
        ahead = ZERO  # the record must be the parents with `other` among them
        for k in range(degree):
            if ahead == ZERO and kept[k] == other:
                ahead = ONE
            elif k - ahead >= net.degree[node] or kept[k] != row[k - ahead]:
                return False
        return ahead == ONE
    ahead = ZERO  # the record must be the parents without `other`
    for k in range(degree):
        if row[k + ahead] == other:
            ahead = ONE
        if kept[k] != row[k + ahead]:
            return False
    return True


@kernel
def write_family(net: Net, node: int, lost: int, gained: int) -> None:
    """Write the sorted parents of `node`, less one and with another, to `family`; either may be NOBODY."""
    row, family = net.parents[node], net.family
    count = ZERO
    waiting = gained != NOBODY
    for k in range(net.degree[node]):
        parent = int64(row[k])
        if waiting and parent > gained:
            family[count] = gained
            count += ONE
            waiting = False
        if parent != lost:
            family[count] = parent
            count += ONE
    if waiting:
        family[count] = gained


@kernel
def family_score(net: Net, node: int, degree: int) -> float:
    """Return the local log target of `node` given the first `degree` nodes of `family`, sorted; at most `max_parents`.

    `flipped_score` is the faster way to sets that differ from the present parents by one node.
    """
    if degree > LONGEST_KEY:
        return local_score(net, node, degree)
    word = net.words[1, node]
    for k in range(degree):
        word ^= net.words[0, net.family[k]]
    score = direct_score(net, word)
    if score == score:
        return score
    slot, tag = slot_of(net, word), tag_of(word)
    for found in (slot, slot ^ ONE):
        if holds_family(net, found, tag, node, degree):
            return recalled(net, found)
    return new_score(net, node, degree, word)


@kernel
def holds_family(net: Net, slot: int, tag: uint32, node: int, degree: int) -> bool:
    """Is the record in `slot` the one for `node` and the set in `family`?"""
    record = net.memo[slot]
    if record["tag"] != tag or record["owner"] != node + ONE or record["degree"] != degree:
        return False
    kept, family = record["parents"], net.family
    same = True
    for k in range(degree):
        same &= kept[k] == family[k]
    return same


@leaf
def direct_score(net: Net, word: uint64) -> float:
    """Return the score whose place is the key itself; NaN while it is unknown, or when there are too many."""
    score = math.nan
    if net.direct.size:
        score = net.direct[int64(word)]
        net.hits += score == score
    return score


@leaf
def recalled(net: Net, slot: int) -> float:
    """Return the score of a record that was looked for."""
    net.hits += ONE
    return net.memo[slot]["score"]


@leaf
def slot_of(net: Net, word: uint64) -> int:
    """Return the first of the two neighbouring slots in which the record of a key may be."""
    return int64(word & uint64(net.memo.size - 1))


@leaf
def tag_of(word: uint64) -> uint32:
    """Return the half of a key that a record keeps."""
    return uint32(word >> uint64(32))


@kernel
def new_score(net: Net, node: int, degree: int, word: uint64) -> float:
    """Compute the score of the set in `family`, and remember it."""
    net.misses += ONE
    score = local_score(net, node, degree)
    if net.direct.size:
        net.direct[int64(word)] = score
    else:
        remember(net, slot_of(net, word), tag_of(word), node, degree, score)
    return score


@kernel
def local_score(net: Net, node: int, degree: int) -> float:
    """Compute the local log target of `node` given the first `degree` nodes in `family`: score plus edge prior."""
    family = net.family
    prior = 0.0
    for k in range(degree):
        prior += net.log_odds[family[k], node]
    return node_score(net.table, node, family, degree, net.factor) + prior


@kernel
def remember(net: Net, slot: int, tag: uint32, node: int, degree: int, score: float) -> None:
    """Store a score; the record it displaces moves to the neighbouring slot."""
    memo, family = net.memo, net.family
    memo[slot ^ ONE] = memo[slot]
    record = memo[slot]
    record["score"] = score
    record["tag"] = tag
    record["owner"] = node + ONE
    record["degree"] = degree
    kept = record["parents"]
    for k in range(degree):
        kept[k] = family[k]
