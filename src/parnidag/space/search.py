"""The search for a good graph: a walk over orders, each worth the best graph that agrees with it.

This is the search of iterative MCMC (Kuipers, Suter and Moffa 2022) with a Gibbs step that puts a node where it fits
best. The walk is random, at a temperature that falls to 1, so it leaves poor orders; the best order it met is then
improved by greedy steps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from parnidag._cores import usable_cores
from parnidag._jit import entry, kernel
from parnidag._random import RandomState, random_state
from parnidag._types import Codes, Floats, Integers, int64
from parnidag.graph import Adjacency, random_topological_order
from parnidag.net import ONE
from parnidag.space.layout import DrawArrays, TableArrays, open_tables
from parnidag.space.orders import OrderArrays, make_order, open_order, order_step, relocate, value_all
from parnidag.space.sums import find_peak, write_parents
from parnidag.space.tables import CandidateTables, make_draws

STEPS_A_NODE, FEWEST_STEPS = 200, 10_000
"""Length of the random part of a search."""
SWAPS, RELOCATIONS = 20.0, 10.0
"""How often its larger moves are tried, see `make_order`."""
GREEDY_STEPS_A_NODE = 10
HOT = 3.0
"""Temperature at which a search begins."""
COLD = 1e-9
"""Temperature at which only the best place is chosen."""
SEARCH_KEY = 1_000_003
"""Keeps the random numbers of searches apart from those of chains."""


def starting_graphs(tables: CandidateTables, seed: int, chains: int) -> list[Adjacency]:
    """Return the best graph of an independent search for each chain, from a random order each."""
    peaks = best_inside(tables)
    with ThreadPoolExecutor(min(chains, usable_cores())) as pool:  # compiled code runs side by side
        return list(pool.map(lambda chain: search(tables, peaks, seed, chain)[0], range(chains)))


def search(
    tables: CandidateTables, peaks: Floats, seed: int, stream: int, order: list[int] | None = None
) -> tuple[Adjacency, float]:
    """Return the best graph found and its log posterior; from a random order unless one is given."""
    target = tables.target
    if order is None:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SEARCH_KEY, stream, 0)))
        order = random_topological_order(target.required, rng)
    walk, own = make_order(order, SWAPS, RELOCATIONS, maximise=True), make_draws(tables, peaks)
    best = np.array(order, np.int64)
    words = random_state(seed, SEARCH_KEY, stream, 1)
    n = target.n_nodes
    steps, greedy_steps = int64(max(STEPS_A_NODE * n, FEWEST_STEPS)), int64(GREEDY_STEPS_A_NODE * n)
    search_orders(tables.arrays, own, walk, words, HOT, steps, greedy_steps, best)
    graph = np.zeros((n, n), np.bool_)
    score = read_graph(tables.arrays, own, best, walk.level, np.zeros(n, np.int32), graph)
    return graph, float(score)


def best_inside(tables: CandidateTables) -> Floats:
    """Return the best score inside every subset, in the shape of the table of scores."""
    peaks = tables.arrays.scores.copy()
    raise_peaks(tables.arrays, peaks)
    return peaks


@entry
def raise_peaks(tables: TableArrays, peaks: Floats) -> None:
    """Replace each score by the best one among the subsets of its own, one candidate at a time."""
    for j in range(tables.candidate_count.size):
        width = ONE + tables.extra_count[j]
        start = tables.first_entry[j]
        for bit in range(tables.candidate_count[j]):
            for subset in range(ONE << tables.candidate_count[j]):
                if subset >> bit & ONE:
                    into, source = start + subset * width, start + (subset ^ (ONE << bit)) * width
                    for e in range(width):
                        peaks[into + e] = max(peaks[into + e], peaks[source + e])


@entry
def search_orders(
    table_arrays: TableArrays,
    own: DrawArrays,
    walk: OrderArrays,
    rng: RandomState,
    hot: float,
    steps: int,
    greedy_steps: int,
    best: Integers,
) -> None:
    """Walk at random, then greedily from the best order met; leave the best of all in `best`."""
    tables = open_tables(table_arrays, own)
    run = open_order(walk)
    value_all(tables, run)
    top = run.total
    copy_nodes(run.order, best)
    for step in range(steps):
        run.temperature = hot ** (1.0 - (step + 1.0) / steps)
        order_step(rng, tables, run)
        if run.total > top:
            top = run.total
            copy_nodes(run.order, best)
    copy_nodes(best, run.order)
    number_nodes(best, run.level)
    value_all(tables, run)
    run.temperature = COLD
    for _ in range(greedy_steps):
        relocate(rng, tables, run)
    copy_nodes(run.order, best)


@kernel
def copy_nodes(source: Integers, into: Integers) -> None:
    """Copy an order."""
    for place in range(source.size):
        into[place] = source[place]


@kernel
def number_nodes(order: Integers, level: Integers) -> None:
    """Write down the place of every node."""
    for place in range(order.size):
        level[order[place]] = place


@entry
def read_graph(
    table_arrays: TableArrays, own: DrawArrays, order: Integers, level: Integers, family: Codes, graph: Adjacency
) -> float:
    """Write the best graph that agrees with an order; return its log posterior."""
    tables = open_tables(table_arrays, own)
    number_nodes(order, level)
    total = 0.0
    for k in range(level.size):
        j = int64(k)
        total += find_peak(tables, j, level, level[j])
        degree = write_parents(tables, j, tables.drawn_subset, tables.drawn_column, family)
        for place in range(degree):
            graph[family[place], j] = True
    return total
