"""Local scores on demand: computed once, then remembered.

The cache is a two-way cache of 64-byte records with the whole parent set in each, so a hit is verified and never a hash
collision. It is bounded: new scores push old ones out. A score is a pure function of the node and its sorted parents,
so what the cache happens to hold never changes a chain.

With few nodes there is a place for every set of parents, found by its bits: `direct` then stands in for the cache.
Gaussian scores of more nodes, with up to `QUICK` parents, are not kept at all.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag.kernels.dag import ABSENT, CACHE_RECORD, LONGEST_KEY, ONE, ZERO, Dag, Scratch
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.local_score import is_of_columns, score_of_columns, score_of_others
from parnidag.kernels.types import Records, Words, int64, uint32, uint64

ALIGNMENT = 64
MOST_DIRECT = 12
"""Up to so many nodes every set of parents has a place of its own (400 kB in all)."""
QUICK = int64(6)
"""Where every node is one column, scores of up to so many parents are quicker computed than found in memory."""
WORDS_SEED = 20231210
"""Seed of the hash words; any value will do, since hits are verified."""
NOBODY = int64(-1)


def hash_words(n_nodes: int) -> Words:
    """Return the words whose exclusive or is the key of a node (row 1) with its parents (row 0).

    With few nodes a key is the place of the score in `direct`; else the words are random.
    """
    if n_nodes <= MOST_DIRECT:
        nodes = np.arange(n_nodes, dtype=np.uint64)
        return np.array([np.uint64(1) << nodes, nodes << np.uint64(n_nodes)])
    return np.random.SeedSequence(WORDS_SEED).generate_state(2 * n_nodes, np.uint64).reshape(2, n_nodes)


def make_scratch(n_nodes: int, max_parents: int, cache_records: int, widest: int = 1) -> Scratch:
    """Return working memory for one chain with room for `cache_records` (a power of two) local scores.

    A parent has at most `widest` columns.
    """
    largest = max_parents + 1
    rows = (max_parents + 1) * widest + 1
    few = n_nodes <= MOST_DIRECT
    return Scratch(
        frame=make_frame(),
        cache=empty_cache(2 if few else cache_records),
        direct=np.full(n_nodes << n_nodes if few else 0, np.nan),
        marks=np.zeros(n_nodes + 1, np.int64),
        stack=np.zeros(n_nodes + 1, np.int64),
        family=np.zeros(largest + 1, np.int64),
        factor=lazy_zeros((rows, rows), busy=True),
    )


def empty_cache(records: int) -> Records:
    """Return empty records, each on its own cache line."""
    raw = lazy_zeros(records * CACHE_RECORD.itemsize + ALIGNMENT, np.uint8, busy=True)
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset : offset + records * CACHE_RECORD.itemsize].view(CACHE_RECORD)


@kernel
def flipped_score(dag: Dag, node: int, other: int) -> float:
    """Return the local log target of `node` with `other` added to its parents, or taken out if it is one.

    −inf when that would be one parent too many.
    """
    adding = dag.position[other, node] == ABSENT
    degree = dag.degree[node] + ONE if adding else dag.degree[node] - ONE
    if degree > dag.max_parents:
        return -math.inf
    if never_kept(dag, degree):
        write_family(dag, node, NOBODY if adding else other, other if adding else NOBODY)
        dag.misses += ONE
        return local_score(dag, node, degree)
    word = dag.key[node] ^ dag.words[0, other]
    score = direct_score(dag, word)
    if score == score:
        return score
    slot, tag = slot_of(dag, word), tag_of(word)
    if holds(dag, slot, tag, node, other, degree):
        return recalled(dag, slot)
    if holds(dag, slot ^ ONE, tag, node, other, degree):
        return recalled(dag, slot ^ ONE)
    write_family(dag, node, NOBODY if adding else other, other if adding else NOBODY)
    return new_score(dag, node, degree, word)


@leaf
def never_kept(dag: Dag, degree: int) -> bool:
    """Is a score of so many parents computed whenever it is asked for?"""
    return degree > LONGEST_KEY or (degree <= QUICK and dag.direct.size == 0 and is_of_columns(dag.table))


@kernel
def holds(dag: Dag, slot: int, tag: uint32, node: int, other: int, degree: int) -> bool:
    """Is the record in `slot` the one for `node` and its parents with `other` flipped? Compares the sets themselves."""
    record = dag.cache[slot]
    if record["tag"] != tag or record["owner"] != node + ONE or record["degree"] != degree:
        return False
    kept, row = record["parents"], dag.parents[node]
    if degree > dag.degree[node]:
        ahead = ZERO  # the record must be the parents with `other` among them
        for k in range(degree):
            if ahead == ZERO and kept[k] == other:
                ahead = ONE
            elif k - ahead >= dag.degree[node] or kept[k] != row[k - ahead]:
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
def write_family(dag: Dag, node: int, lost: int, gained: int) -> None:
    """Write the sorted parents of `node`, less one and with another, to `family`; either may be NOBODY."""
    row, family = dag.parents[node], dag.family
    count = ZERO
    waiting = gained != NOBODY
    for k in range(dag.degree[node]):
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
def family_score(dag: Dag, node: int, degree: int) -> float:
    """Return the local log target of `node` given the first `degree` nodes of `family`, sorted; at most `max_parents`.

    `flipped_score` is the faster way to sets that differ from the present parents by one node.
    """
    if never_kept(dag, degree):
        dag.misses += ONE
        return local_score(dag, node, degree)
    word = dag.words[1, node]
    for k in range(degree):
        word ^= dag.words[0, dag.family[k]]
    score = direct_score(dag, word)
    if score == score:
        return score
    slot, tag = slot_of(dag, word), tag_of(word)
    for found in (slot, slot ^ ONE):
        if holds_family(dag, found, tag, node, degree):
            return recalled(dag, found)
    return new_score(dag, node, degree, word)


@kernel
def holds_family(dag: Dag, slot: int, tag: uint32, node: int, degree: int) -> bool:
    record = dag.cache[slot]
    if record["tag"] != tag or record["owner"] != node + ONE or record["degree"] != degree:
        return False
    kept, family = record["parents"], dag.family
    same = True
    for k in range(degree):
        same &= kept[k] == family[k]
    return same


@leaf
def direct_score(dag: Dag, word: uint64) -> float:
    """Return the score whose place is the key itself; NaN while it is unknown, or when there are too many."""
    score = math.nan
    if dag.direct.size:
        score = dag.direct[int64(word)]
        dag.hits += score == score
    return score


@leaf
def recalled(dag: Dag, slot: int) -> float:
    dag.hits += ONE
    return dag.cache[slot]["score"]


@leaf
def slot_of(dag: Dag, word: uint64) -> int:
    """Return the first of the two neighbouring slots in which the record of a key may be."""
    return int64(word & uint64(dag.cache.size - 1))


@leaf
def tag_of(word: uint64) -> uint32:
    """Return the half of a key that a record keeps."""
    return uint32(word >> uint64(32))


@kernel
def new_score(dag: Dag, node: int, degree: int, word: uint64) -> float:
    dag.misses += ONE
    score = local_score(dag, node, degree)
    if dag.direct.size:
        dag.direct[int64(word)] = score
    else:
        remember(dag, slot_of(dag, word), tag_of(word), node, degree, score)
    return score


@kernel
def local_score(dag: Dag, node: int, degree: int) -> float:
    """Compute the local log target of `node` given the first `degree` nodes in `family`: score plus edge prior."""
    family = dag.family
    prior = 0.0
    for k in range(degree):
        prior += dag.log_odds[family[k], node]
    if is_of_columns(dag.table):
        return prior + column_score(dag, node, degree)
    return prior + score_of_others(dag.table, node, family, degree, dag.factor)


@kernel
def column_score(dag: Dag, node: int, degree: int) -> float:
    """Compute the score as `node_score` would; to pass the whole table on takes longer than that."""
    return score_of_columns(dag.table, node, dag.family, degree, dag.factor)


@kernel
def remember(dag: Dag, slot: int, tag: uint32, node: int, degree: int, score: float) -> None:
    """Store a score; the record it displaces moves to the neighbouring slot."""
    cache, family = dag.cache, dag.family
    cache[slot ^ ONE] = cache[slot]
    record = cache[slot]
    record["score"] = score
    record["tag"] = tag
    record["owner"] = node + ONE
    record["degree"] = degree
    kept = record["parents"]
    for k in range(degree):
        kept[k] = family[k]
