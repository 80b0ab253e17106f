"""The search for a good graph: a walk over orders, each worth the best graph that agrees with it.

This is the search of iterative MCMC (Kuipers, Suter and Moffa 2022) with a Gibbs step that puts a node where it fits
best. The walk is random, at a temperature that falls to 1, so it leaves poor orders; the best order it met is then
improved by greedy steps.
"""

from __future__ import annotations

import numpy as np

from parnidag._util.cores import side_by_side
from parnidag.graphs.adjacency import Adjacency, random_topological_order
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState, random_state
from parnidag.kernels.types import Floats, Integers, int64
from parnidag.tables.arrays import DrawArrays, TableArrays, draw_arrays, open_tables
from parnidag.tables.build import CandidateTables
from parnidag.tables.orders import OrderArrays, make_order, open_order, order_step, relocate, value_all

STEPS_A_NODE, FEWEST_STEPS = 200, 10_000
"""Length of the random part of a search that begins anywhere."""
CONTINUED = 0.5
"""Share of that for one that begins at a good order."""
SWAPS, RELOCATIONS = 20.0, 10.0
"""How often its larger moves are tried, see `make_order`."""
GREEDY_STEPS_A_NODE = 10
HOT, COLD = 3.0, 1e-9
"""Temperature at which a search begins; one at which only the best place is chosen."""
SEARCH_KEY = 1_000_003
"""Keeps the random numbers of searches apart from those of chains."""


def starting_graphs(tables: CandidateTables, seed: int, chains: int) -> list[Adjacency]:
    """Return the best graph of an independent search for each chain, from a random order each."""
    peaks = best_inside(tables)
    return side_by_side(lambda chain: search(tables, peaks, seed, chain)[0], chains)


def search(
    tables: CandidateTables, peaks: Floats, seed: int, stream: int, order: list[int] | None = None
) -> tuple[Adjacency, float]:
    """Return the best graph found and its log posterior; from a random order unless one is given."""
    target = tables.target
    share = 1.0 if order is None else CONTINUED
    if order is None:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SEARCH_KEY, stream, 0)))
        order = random_topological_order(target.required, rng)
    walk, own = make_order(order, SWAPS, RELOCATIONS, True, target.parents_only), draw_arrays(tables.arrays, peaks)
    best = np.array(order, np.int64)
    words = random_state(seed, SEARCH_KEY, stream, 1)
    n = target.n_nodes
    steps, greedy_steps = int64(share * max(STEPS_A_NODE * n, FEWEST_STEPS)), int64(GREEDY_STEPS_A_NODE * n)
    search_orders(tables.arrays, own, walk, words, HOT, steps, greedy_steps, best)
    return best_graph(tables, best)


def best_inside(tables: CandidateTables) -> Floats:
    """Return the best score inside every subset, in the shape of the table of scores."""
    arrays = tables.arrays
    peaks = arrays.scores.copy()
    for j in range(len(arrays.candidate_count)):
        width = 1 + arrays.extra_count[j]
        block = peaks[arrays.first_entry[j] : arrays.first_entry[j + 1]]
        for bit in range(arrays.candidate_count[j]):
            halves = block.reshape(-1, 2, 1 << bit, width)  # without and with the candidate
            np.maximum(halves[:, 0], halves[:, 1], out=halves[:, 1])
    return peaks


def best_graph(tables: CandidateTables, order: Integers) -> tuple[Adjacency, float]:
    """Return the best graph that agrees with an order, and its log posterior."""
    n = len(order)
    level = np.empty(n, np.int64)
    level[order] = np.arange(n)
    graph, total = np.zeros((n, n), np.bool_), float(tables.target.problem.offset)
    for j in range(n):
        score, parents = best_set(tables.arrays, j, level, int(level[j]))
        graph[parents, j] = True
        total += score
    return graph, total


def best_set(arrays: TableArrays, j: int, level: Integers, bound: int) -> tuple[float, list[int]]:
    candidates, extras, required = (
        row[j, : count[j]]
        for row, count in (
            (arrays.candidates, arrays.candidate_count),
            (arrays.extras, arrays.extra_count),
            (arrays.required, arrays.required_count),
        )
    )
    scores = arrays.scores[arrays.first_entry[j] : arrays.first_entry[j + 1]].reshape(-1, 1 + len(extras))
    bits = 1 << np.arange(len(candidates))
    subsets = np.flatnonzero((np.arange(len(scores)) & bits[level[candidates] >= bound].sum()) == 0)
    columns = np.append(0, 1 + np.flatnonzero(level[extras] < bound))
    permitted = scores[np.ix_(subsets, columns)]
    row, column = np.unravel_index(int(permitted.argmax()), permitted.shape)
    chosen = candidates[(subsets[row] & bits) > 0].tolist() + required.tolist()
    if column > 0:
        chosen.append(int(extras[columns[column] - 1]))
    return float(permitted[row, column]), chosen


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
    copy_order(run.order, best)
    for step in range(steps):
        run.temperature = hot ** (1.0 - (step + 1.0) / steps)
        order_step(rng, tables, run)
        if run.total > top:
            top = run.total
            copy_order(run.order, best)
    copy_order(best, run.order)
    for place in range(best.size):
        run.level[best[place]] = place
    value_all(tables, run)
    run.temperature = COLD
    for _ in range(greedy_steps):
        relocate(rng, tables, run)
    copy_order(run.order, best)


@kernel
def copy_order(order: Integers, into: Integers) -> None:
    for place in range(order.size):
        into[place] = order[place]
