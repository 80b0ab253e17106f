"""Iterative expansion of a search space (Kuipers, Suter and Moffa 2022).

A skeleton from independence tests misses edges. But every node may take one parent from outside its candidates, so a
good graph in this wider space shows which edges are missing. They become candidates, in both directions, and the search
begins again, until it finds nothing new.

Growing one edge at a time has a blind spot. To turn an edge a → b round, each of its nodes may have to take over all
parents of the other, which may be several candidates too many. So an expansion may also be *closed*: for every edge of
the best graph each end gets the other's parents as candidates, its co-parents and grandparents, and the search begins
again on these wider subsets, without extras.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import number, one_of, whole
from parnidag.graphs.adjacency import Adjacency, random_topological_order
from parnidag.kernels.dag import ONE
from parnidag.kernels.jit import entry
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import RandomState, random_state
from parnidag.kernels.types import Floats, int64
from parnidag.space.search import RELOCATIONS, SEARCH_KEY, SWAPS, best_inside, search
from parnidag.space.search_space import Round, SearchSpace
from parnidag.tables.arrays import DrawArrays, TableArrays, draw_arrays, open_tables
from parnidag.tables.build import DEFAULT_MEMORY, CandidateTables, build_tables, table_bytes
from parnidag.tables.orders import OrderArrays, make_order, open_order, order_step, value_all
from parnidag.tables.sums import ANY, subset_below, weigh_columns
from parnidag.target import Target

MOST_QUIET_ROUNDS = 3
"""An expansion ends after so many rounds without a better graph, though the candidates still change."""
MOST_CANDIDATES, DEAR_CANDIDATES = 12, 6
"""Candidates beyond this are dropped from a node, those that are unused and gain least first; the second figure is for
scores that take every parent set from scratch."""
CLOSED_SETS, DEAR_SETS = 2**19, 2**13
"""Parent sets that tables of closed candidates may hold in all: a fraction of a second to fill; about a second."""
FEWEST_CLOSED, MOST_CLOSED = 6, 18
"""Whatever that leaves for one node, it has at least and at most so many candidates."""
MOST_CLOSINGS = 5
RESTARTS_OVER_NODES, MOST_RESTARTS = 300, 8
"""Searches of closed tables from random orders: 300 / n, at least one, at most eight."""
LARGEST_SUBSETS = 24
"""More candidates of a node than this are beyond any memory."""
IMPROVEMENT = 1e-6
"""A better graph is one whose log posterior is larger by this."""
STREAMS = 1000
"""Keeps the random numbers of independent expansions and of restarts apart."""
SAMPLED_ORDERS_A_NODE = 20
STEPS_BETWEEN = 10
"""Orders looked at, and steps between two of them, both a node, when edges are added by their probability."""


def check_expansion(by: object, threshold: object, max_candidates: object) -> None:
    if max_candidates is not None:
        whole(max_candidates, "max_candidates", 1, LARGEST_SUBSETS, note="or None")
    one_of(by, "by", ("best", "sampled"))
    number(threshold, "threshold", above=0, most=1)


def expand(
    target: Target,
    considered: NDArray[np.bool_],
    *,
    seed: int,
    by: Literal["best", "sampled"] = "best",
    threshold: float = 0.5,
    most_candidates: int | None = None,
    memory: float = DEFAULT_MEMORY,
    closing: bool = False,
    stream: int = 0,
) -> SearchSpace:
    """Grow a search space until the best graph found stops improving.

    Without memory for one parent from outside there is one search and no expansion. With `closing` a settled space is
    closed for a search, and grows on if that finds a better graph. `stream` numbers independent expansions of one seed.
    """
    began = time.perf_counter()
    free = target.problem.status == FREE
    most_candidates = candidate_limit(target) if most_candidates is None else most_candidates
    considered = strongest(target, considered & free, None, most_candidates)
    best, score = target.required, -math.inf
    order: list[int] | None = None
    rounds: list[Round] = []
    settled = closings = 0
    while True:
        start = time.perf_counter()
        number = STREAMS**2 * stream + len(rounds)
        tables = build_tables(target, considered, memory=memory, sums=by == "sampled")
        graph, found = search(tables, best_inside(tables), seed, number, order)
        rounds.append(Round(int(considered.sum()), found, time.perf_counter() - start))
        improved = found > score + IMPROVEMENT
        if improved:
            best, score = graph, found
        missing = _missing(tables, best, seed, number + 1, by, threshold) & free
        wider = strongest(target, considered | missing, best, most_candidates)
        settled = 0 if improved else settled + 1
        unchanged = np.array_equal(wider, considered)
        from_elsewhere = order is None
        if not tables.plus_one or settled == MOST_QUIET_ROUNDS or (unchanged and settled and from_elsewhere):
            if not closing or closings == MOST_CLOSINGS:
                break
            graph, found = search_closed(target, considered, best, seed, number + STREAMS // 2)
            if found <= score + IMPROVEMENT:
                break
            best, score, settled, closings = graph, found, 0, closings + 1
            wider, unchanged = strongest(target, considered | best | best.T, best, most_candidates), False
        # when nothing is missing any more, one more search from a random order must agree before the space is done
        order = None if unchanged else _order_of(best, seed, number + 1)
        considered = wider
        if table_bytes(target, considered, plus_one=False) > memory:
            break
        del tables  # before the next ones take as much again
    return SearchSpace(target.names, tables.considered, best, score, tuple(rounds), time.perf_counter() - began)


def candidate_limit(target: Target) -> int:
    """Return how many candidates a node may have unless the user says otherwise."""
    return MOST_CANDIDATES if target.problem.table.walks else DEAR_CANDIDATES


def closed_sets(target: Target) -> int:
    return CLOSED_SETS if target.problem.table.walks else DEAR_SETS


def closed(
    target: Target, considered: NDArray[np.bool_], graphs: Sequence[Adjacency], sets: float | None = None
) -> NDArray[np.bool_]:
    """Return the candidates, and for every edge of the graphs the parents of one end as candidates of the other.

    There are as many as make `sets` parent sets over all nodes, if each has the same number.
    """
    used = np.zeros_like(considered)
    partners = np.zeros_like(considered)
    for graph in graphs:
        used |= graph | graph.T
        edges = graph.astype(np.float32)
        partners |= (edges @ edges.T + edges @ edges) > 0
    wide = (considered | used | partners) & (target.problem.status == FREE)
    return strongest(target, wide, used, most_closed(sets or closed_sets(target), target.n_nodes))


def most_closed(sets: float, n_nodes: int) -> int:
    """Return how many candidates a node may have when `sets` parent sets are shared out evenly."""
    return min(max(int(math.log2(sets / n_nodes)), FEWEST_CLOSED), MOST_CLOSED)


def search_closed(
    target: Target, considered: NDArray[np.bool_], best: Adjacency, seed: int, stream: int
) -> tuple[Adjacency, float]:
    """Return the best graph of searches on the closed space, one from the best so far, the others from anywhere."""
    tables = build_tables(target, closed(target, considered, [best]), plus_one=False, sums=False)
    peaks = best_inside(tables)
    from_here = search(tables, peaks, seed, stream, _order_of(best, seed, stream))
    return max(from_here, restarted(tables, peaks, seed, stream), key=lambda found: found[1])


def restarted(tables: CandidateTables, peaks: Floats, seed: int, stream: int) -> tuple[Adjacency, float]:
    """Return the best graph of several searches from random orders, more where a search is short."""
    restarts = min(max(RESTARTS_OVER_NODES // tables.target.n_nodes, 1), MOST_RESTARTS)
    found = [search(tables, peaks, seed, stream + STREAMS * k) for k in range(1, 1 + restarts)]
    return max(found, key=lambda one: one[1])


def strongest(target: Target, considered: NDArray[np.bool_], used: Adjacency | None, most: int) -> NDArray[np.bool_]:
    """Return at most `most` considered parents of each node: neighbours in the graph `used`, then by their gains."""
    used = np.zeros_like(considered) if used is None else used | used.T
    ranked = np.lexsort((-target.gains, ~used, ~considered), axis=0)
    rank = np.empty_like(ranked)
    np.put_along_axis(rank, ranked, np.arange(len(ranked))[:, None], axis=0)
    return np.asarray(considered & (rank < most))


def _missing(
    tables: CandidateTables, best: Adjacency, seed: int, stream: int, by: str, threshold: float
) -> NDArray[np.bool_]:
    if by == "best":
        return np.asarray(best | best.T)
    chances = outside_probabilities(tables, best, seed, stream)
    return np.asarray(chances + chances.T >= threshold)


def _order_of(graph: Adjacency, seed: int, stream: int) -> list[int]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SEARCH_KEY, stream, 2)))
    return random_topological_order(graph, rng)


def outside_probabilities(tables: CandidateTables, start: Adjacency, seed: int, stream: int) -> Floats:
    """Return how probable each edge from outside the candidates is, averaged over sampled orders (parent × child)."""
    n = len(start)
    walk, own = (
        make_order(_order_of(start, seed, stream), SWAPS, RELOCATIONS, parents_only=tables.target.parents_only),
        draw_arrays(tables.arrays),
    )
    words = random_state(seed, SEARCH_KEY, stream, 3)
    chances = np.zeros((n, n))
    orders = SAMPLED_ORDERS_A_NODE * n
    average_extras(tables.arrays, own, walk, words, int64(orders), int64(STEPS_BETWEEN * n), chances)
    return chances


@entry
def average_extras(
    table_arrays: TableArrays,
    own: DrawArrays,
    walk: OrderArrays,
    rng: RandomState,
    orders: int,
    steps: int,
    chances: Floats,
) -> None:
    """Walk over orders in proportion to their weight and average the probability of every extra given the order."""
    tables = open_tables(table_arrays, own)
    run = open_order(walk)
    value_all(tables, run)
    for _ in range(orders):
        for _ in range(steps):
            order_step(rng, tables, run)
        for k in range(run.level.size):
            j = int64(k)
            bound = run.level[j]
            weigh_columns(tables, j, subset_below(tables, j, run.level, bound), ANY, run.level, bound)
            total = 0.0
            for column in range(ONE + tables.extra_count[j]):
                total += tables.weights[column]
            for e in range(tables.extra_count[j]):
                chances[tables.extras[j, e], j] += tables.weights[e + ONE] / (total * orders)
