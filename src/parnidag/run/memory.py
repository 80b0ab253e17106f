"""Will a run fit into memory, and how long will it take? Asked before anything large is made.

What grows with the number of nodes n are matrices of n × n: those of the target, which all chains share, and those of
every chain. Before chains begin, a search may hold tables of local scores. The sizes below are those of the arrays
themselves; arrays that are ready for dense graphs but mapped page by page (`kernels.lazy_zeros`) count as far as graphs
fill them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from parnidag._util.cores import usable_cores
from parnidag._util.free_memory import KEPT_FREE, free_bytes
from parnidag.errors import ParnidagError
from parnidag.kernels.dag import CACHE_RECORD
from parnidag.kernels.score_cache import MOST_DIRECT
from parnidag.samplers.base import Sampler
from parnidag.space.default import FEW_NODES
from parnidag.tables.build import DEFAULT_MEMORY, in_words
from parnidag.target import LARGE_MEMO, Target

COMPILED = 350e6
"""Bytes of compiled code, the compiler that loads it, and libraries."""
RETAINED, MOST_RETAINED = 200, 300e6
"""For each pair of nodes: what the C heap keeps of the search, and the most of it; larger arrays are given back."""
SHARED = 8 + 1 + 4 + 8 + 8 + 8 + 8 + 4 + 8
"""Bytes for each pair of nodes, shared by all chains: prior odds, status, arcs, prior marginals, gains of pairs, two
guesses of edge probabilities, columns of tables, and what sorting candidates needs."""
CHAIN = 4 + 8 + 8
"""For each pair of nodes and chain: places of edges, visits, visits at the last batch."""
TUNED = 8 + 8 + 2
"""PARNI's own: η as odds and in logs, the list of pairs."""
BATCHES, MOST_BATCHES = 60, 70e6
"""Counts of a chain's edges in batches: bytes for each pair of nodes, and the most that a default run fills. Measured,
since it depends on how many edges are there now and then."""
FEW_SETS, MANY_SETS = 30, 42
"""Parent sets of a node that the search scores with every other node as one more parent: what sparse networks have at
least where there are so many nodes that tables of them would be too large, and at most where they fit."""
SEARCH_SECONDS_PER_NODE = 0.05
"""Of the search before sampling, most of it on one core."""
ITERATIONS_PER_SECOND = 130_000
"""Of a PARNI chain with very many nodes, on one core."""
LARGE = 300
"""Below so many nodes every machine has room and nobody waits long."""
FEW_PARENTS = 10
"""A limit on parents that leaves most graphs as they are."""


@dataclass(frozen=True)
class Need:
    """Bytes that a run takes at its height."""

    shared: float
    """Matrices of the target, tables and compiled code."""
    search: float
    """Tables of the search, which are gone when chains begin."""
    a_chain: float
    chains: int

    @property
    def total(self) -> float:
        return self.shared + max(self.search, self.chains * self.a_chain)


def memory_need(
    n_nodes: int,
    *,
    chains: int,
    max_parents: int | None = None,
    score_bytes: float | None = None,
    searched: bool = True,
    tuned: bool = True,
) -> Need:
    """Estimate the memory of a run, `searched` before its chains begin, and `tuned` if chains are PARNI's.

    The score keeps `score_bytes` of the data, by default a matrix of n × n.
    """
    pairs = float(n_nodes) ** 2
    most_parents = n_nodes - 1 if max_parents is None else max_parents
    cache = LARGE_MEMO * CACHE_RECORD.itemsize if n_nodes > MOST_DIRECT else 0
    chain = pairs * (CHAIN + (TUNED if tuned else 0)) + 4.0 * n_nodes * most_parents + cache + batch_bytes(n_nodes)
    tables = 0.0
    if searched and n_nodes > FEW_NODES and 8.0 * pairs * FEW_SETS <= DEFAULT_MEMORY:  # else none has one more parent
        tables = min(8.0 * pairs * MANY_SETS, DEFAULT_MEMORY)
    shared = COMPILED + pairs * SHARED + (8.0 * pairs if score_bytes is None else score_bytes)
    shared += min(RETAINED * pairs, MOST_RETAINED) if searched else 0.0
    return Need(shared, 2.0 * tables, chain, chains)


def batch_bytes(n_nodes: int) -> float:
    return min(BATCHES * float(n_nodes) ** 2, MOST_BATCHES)


def need_of(target: Target, sampler: Sampler, chains: int) -> Need:
    need = memory_need(
        target.n_nodes,
        chains=chains * sampler.graphs_of_a_chain,
        max_parents=target.max_parents,
        score_bytes=float(sum(getattr(array, "nbytes", 0) for array in target.problem.table)),
        searched=sampler.default_space != "none",
        tuned=sampler.tunes,
    )
    return need if target.cells is None else replace(need, a_chain=need.a_chain + target.cells.bytes_of_a_chain)


def check_memory(target: Target, sampler: Sampler, chains: int) -> None:
    """Refuse a run that this machine has no memory for, before any time is spent on it."""
    free = free_bytes() if target.n_nodes >= LARGE or target.cells is not None else None
    need = need_of(target, sampler, chains)
    if free is None or need.total <= (1.0 - KEPT_FREE) * free:
        return
    n, advice = target.n_nodes, []
    fewer = int(((1.0 - KEPT_FREE) * free - need.shared) // need.a_chain)
    if 1 <= fewer < chains and need.search + need.shared <= (1.0 - KEPT_FREE) * free:
        advice.append(f"chains={fewer}")
    if target.max_parents > FEW_PARENTS:
        saved = 4.0 * chains * n * (target.max_parents - FEW_PARENTS)
        advice.append(f"EdgePrior(max_parents={FEW_PARENTS}), which saves {in_words(saved)}")
    advice.append("fewer columns")
    raise ParnidagError(
        f"data has {n} columns: {chains} chains of {sampler.name} would take about {in_words(need.total)} of memory "
        f"({in_words(need.a_chain)} a chain, {in_words(need.shared)} shared), and only {in_words(free)} are free",
        remedy=f"use {', or '.join(advice)}",
    )


def time_in_words(target: Target, sampler: Sampler, iterations: int) -> str | None:
    """Say how long a run of many nodes will take with so many iterations in all; None where there is no telling."""
    if target.n_nodes < LARGE or not sampler.tunes:
        return None
    cores = usable_cores()
    seconds = SEARCH_SECONDS_PER_NODE * target.n_nodes + iterations / (ITERATIONS_PER_SECOND * cores)
    minutes = max(round(seconds / 60), 1)
    return f"n={target.n_nodes}: about {minutes} minute{'s' * (minutes > 1)} on {cores} free core{'s' * (cores > 1)}"
