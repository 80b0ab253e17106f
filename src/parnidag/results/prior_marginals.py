"""How probable each edge is before any data: the true prior marginals, to which evidence is compared.

The prior weighs a graph by ∏ h/(1−h) over its edges, but only graphs without cycles count, so the marginal probability
of an edge is not h. It is exact up to 12 nodes, by the sum over all graphs that `exact_solver` does, and for more nodes
where no edge differs from another, by the number of DAGs with so many edges (Robinson 1973). Otherwise it is estimated
from graphs that the sampler ADR draws from the prior: its target with a score of 0 for every graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import expit

from parnidag.exact_solver.sums import solve
from parnidag.graphs.adjacency import Adjacency, arcs_of, topological_order
from parnidag.kernels.by_address import external
from parnidag.kernels.dag import ABSENT
from parnidag.kernels.problem import FORBIDDEN, FREE, REQUIRED, Problem, function_table
from parnidag.kernels.score_cache import hash_words
from parnidag.kernels.types import int64
from parnidag.samplers.base import Prepared, new_chain
from parnidag.samplers.single_edge import ADR
from parnidag.target import Target, lay_graph

Floats = NDArray[np.float64]
Status = NDArray[np.uint8]

NOTHING = np.zeros(0)

EXACT_UP_TO = 12
"""Up to so many nodes the sum over all graphs takes a hundredth of a second."""

MOST_COUNTED = 300
"""Up to so many nodes Robinson's recursion takes a second or two; its time grows with the fourth power."""

DRAWS, FEWEST_DRAWS = 400, 100
"""Graphs drawn from a sparse prior, up to 100 nodes; and where there are more nodes or many edges: one graph then tells
a lot, and takes long."""

ALIKE_DRAWS = 20
"""Graphs drawn of very many nodes where all edges have the same marginal: each graph tells it n(n − 1) times."""
FINER, LEAST_EDGES = 8, 1e-300
MOST_POINTS, FEW_POINTS, MANY_NODES = 17, 7, 100
"""Values of odds that are learned at which marginals are computed, between which they are interpolated; and from how
many nodes on it is the fewer ones."""
SEED = 20231210
"""Prior marginals are a property of the prior: the same ones in every run."""


class OddsSums(NamedTuple):
    """What all graphs weigh together, and how often each edge is there, by the values that the odds may have."""

    log_sums: Floats
    marginals: Floats
    """At some of the values (values × n × n)."""
    shares: Floats
    """How much each of these counts for each value, by interpolation (some values × all values)."""


def odds_sums(target: Target) -> OddsSums:
    """Add up the graphs for every value of the odds that may be learned.

    The log of the sum rises with the log odds by the mean number of free edges, which is smooth: it is computed at some
    values, and its log interpolated. At the least of the odds nearly all graphs that count have one free edge or none.
    """
    levels, status = target.levels, target.problem.status
    assert levels is not None
    shifts = levels.shifts
    points = MOST_POINTS if len(status) <= MANY_NODES else FEW_POINTS
    places = np.unique(np.linspace(0, shifts.size - 1, points).round().astype(int))
    marginals = np.array(
        [prior_marginals(target.at(int(place)).problem.log_odds, status, target.max_parents) for place in places]
    )
    edges = np.maximum(marginals[:, status == FREE].sum(axis=1), LEAST_EDGES)
    log_edges = PchipInterpolator(shifts[places], np.log(edges))
    fine = np.linspace(shifts[:-1], shifts[1:], FINER + 1, axis=1)
    rises = np.trapezoid(np.exp(log_edges(fine)), fine, axis=1)
    shares = np.array([np.interp(shifts, shifts[places], one) for one in np.eye(len(places))])
    return OddsSums(edges[0] + np.append(0.0, np.cumsum(rises)), marginals, shares)


def with_beta_odds(target: Target) -> Target:
    """Weigh values of the odds so that beforehand they are as probable as `Beta` says, whatever graphs they allow."""
    levels = target.levels
    if levels is None or levels.shifts.size == 1:
        return target
    offsets = levels.offsets - odds_sums(target).log_sums
    k, l = divmod(target.level, levels.shifts.size)
    problem = target.problem._replace(offset=float(offsets[k, l]))
    return replace(target, problem=problem, levels=replace(levels, offsets=offsets))


def prior_of_edges(target: Target) -> tuple[Floats, Floats]:
    """Return the prior probability of every edge, and of every level of what is learned (one 1 if nothing is)."""
    status, levels = target.problem.status, target.levels
    if levels is None or levels.shifts.size == 1:
        count = 1 if levels is None else levels.count
        problem = target.problem
        marginals = prior_marginals(problem.log_odds, status, target.max_parents, problem.by_children)
        return marginals, np.full(count, 1.0 / count)
    sums = odds_sums(target)
    logs = levels.offsets + sums.log_sums + int((status == REQUIRED).sum()) * levels.shifts
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return np.tensordot(sums.shares @ weights.sum(axis=0), sums.marginals, axes=1), weights.ravel()


def prior_marginals(log_odds: Floats, status: Status, max_parents: int, by_children: Floats = NOTHING) -> Floats:
    """Return the prior probability of every edge of a `ResolvedPrior`: 1 if required, 0 if the prior rules it out."""
    n, by_edges = len(status), by_children.size == 0
    children = np.flatnonzero((status != FORBIDDEN).any(axis=0))
    if by_edges and children.size < n and max_parents >= n - 1:
        return _with_parents_only(log_odds, status, children)
    off_diagonal = ~np.eye(n, dtype=bool)
    free_odds = log_odds[off_diagonal]
    alike = bool((status[off_diagonal] == FREE).all() and (free_odds == free_odds[0]).all())
    if by_edges and alike and max_parents >= n - 1 and n <= MOST_COUNTED:
        marginals = np.where(off_diagonal, counted_marginal(n, float(free_odds[0])), 0.0)
    elif by_edges and n <= EXACT_UP_TO:
        marginals = summed_marginals(log_odds, status, max_parents)
    else:
        if by_edges and alike and n > MOST_COUNTED:
            drawn = np.where(off_diagonal, alike_marginal(n, float(free_odds[0]), max_parents), 0.0)
        else:
            drawn = drawn_marginals(log_odds, status, max_parents, by_children=by_children)
        # An edge that no drawn graph had room for gets less than half a draw's worth.
        smallest = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))) / (2.0 * DRAWS)
        marginals = np.where(drawn == 0.0, smallest, drawn)
    # Only what the prior decides is 0 or 1; the rest may come close, by rounding or for want of draws.
    marginals = np.clip(marginals, np.finfo(float).tiny, np.nextafter(1.0, 0.0))
    marginals[_impossible(status, max_parents)] = 0.0
    marginals[status == REQUIRED] = 1.0
    return marginals


# ── exactly ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def counted_marginal(n: int, log_odds: float) -> float:
    """Return the prior probability of an edge if each DAG on n nodes weighs ``exp(log_odds * edges)``.

    Robinson's recursion a(m) = Σ_k (−1)^(k+1) C(m, k) (1 + x)^(k(m−k)) a(m−k) sums the weights of all DAGs; their mean
    number of edges is x a′(n)/a(n). The terms cancel, so the digits are doubled until the answer stays.
    """
    digits, answer, before = 50 + n // 2, math.nan, math.inf
    while not abs(answer - before) <= 1e-14 * abs(answer):
        before, answer, digits = answer, _counted(n, log_odds, digits), 2 * digits
    return answer


def _counted(n: int, log_odds: float, digits: int) -> float:
    with localcontext() as context:
        context.prec = digits
        odds = Decimal(log_odds).exp()
        powers = [Decimal(1)]
        for _ in range(n * n // 4 + 1):
            powers.append(powers[-1] * (1 + odds))
        total, slope = [Decimal(1)], [Decimal(0)]
        for m in range(1, n + 1):
            a = b = Decimal(0)
            for k in range(1, m + 1):
                pairs = k * (m - k)
                weight = (-1) ** (k + 1) * math.comb(m, k) * powers[pairs]
                a += weight * total[m - k]
                b += weight * (slope[m - k] + pairs * total[m - k] / (1 + odds))
            total.append(a)
            slope.append(b)
        return float(odds * slope[n] / total[n] / (n * (n - 1)))


def summed_marginals(log_odds: Floats, status: Status, max_parents: int) -> Floats:
    n = len(status)
    columns = np.arange(2 ** (n - 1))
    members = (columns[:, None] >> np.arange(n - 1)) & 1 == 1
    log_weights = np.empty((n, len(columns)))
    for j in range(n):
        others = np.delete(np.arange(n), j)
        required, free = status[others, j] == REQUIRED, status[others, j] == FREE
        log_weights[j] = members @ np.where(free, log_odds[others, j], 0.0)
        allowed = (members | ~required).all(axis=1) & (~members | required | free).all(axis=1)
        log_weights[j, ~(allowed & (members.sum(axis=1) <= max_parents))] = -math.inf
    return solve(log_weights).edge_probabilities


def _with_parents_only(log_odds: Floats, status: Status, children: NDArray[np.int64]) -> Floats:
    """Return the marginals where some nodes can be no children: their edges close no cycle, and depend on no other."""
    marginals = np.where(status == FREE, np.clip(expit(log_odds), np.finfo(float).tiny, np.nextafter(1.0, 0.0)), 0.0)
    marginals[status == REQUIRED] = 1.0
    if children.size > 1:
        inside = np.ix_(children, children)
        marginals[inside] = prior_marginals(log_odds[inside], status[inside], children.size - 1)
    return np.asarray(marginals)


def _impossible(status: Status, max_parents: int) -> NDArray[np.bool_]:
    """Which edges can be in no graph: not allowed, against the required ones, or one parent too many?"""
    required = status == REQUIRED
    reached = required.copy()
    for _ in range(len(status).bit_length()):
        reached |= (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    full = required.sum(axis=0) >= max_parents
    return np.asarray(((status != FREE) | reached.T | full[None, :]) & ~required)


# ── from draws ────────────────────────────────────────────────────────────────────────────────────────────────────────


@external
def no_score(node: Any, parents: Any, count: Any, content: Any) -> float:
    return 0.0


def drawn_marginals(
    log_odds: Floats,
    status: Status,
    max_parents: int,
    draws: int | None = None,
    seed: int = SEED,
    by_children: Floats = NOTHING,
) -> Floats:
    """Estimate the prior probability of every edge from graphs drawn from the prior.

    The estimate is not the share of graphs that have an edge, but the mean over graphs of its probability given all
    edges between other pairs, averaged over nodes that can be exchanged: the same expectation with far less Monte-Carlo
    error.
    """
    n = len(status)
    odds = _odds(log_odds, status)
    if draws is None:
        neighbours = n * float((odds / (1.0 + odds)).mean())
        draws = int(np.clip(DRAWS * min(100 / n, 1.0, 8.0 / max(neighbours, 1e-9)), FEWEST_DRAWS, DRAWS))
    estimate = np.zeros((n, n))
    for graph in _prior_graphs(log_odds, status, max_parents, draws, seed, by_children):
        weights = np.where(_possible(graph, max_parents), odds, 0.0)
        if by_children.size:
            others = np.minimum(graph.sum(axis=1)[:, None] - graph, n - 2)  # children, less the one in question
            weights *= np.exp(by_children[others + 1] - by_children[others])
        estimate += weights / (1.0 + weights + weights.T) / draws
    estimate = _averaged(estimate, exchangeable_nodes(log_odds, status))
    estimate[status == REQUIRED] = 1.0
    return estimate


def alike_marginal(n: int, log_odds: float, max_parents: int, draws: int = ALIKE_DRAWS, seed: int = SEED) -> float:
    """Estimate the prior probability of an edge where all edges have the same log odds; for very many nodes."""
    status = np.where(np.eye(n, dtype=bool), 0, FREE).astype(np.uint8)
    odds, total = math.exp(min(max(log_odds, -700.0), 700.0)), 0.0
    for graph in _prior_graphs(np.full((n, n), log_odds), status, max_parents, draws, seed):
        possible = _possible(graph, max_parents)
        np.fill_diagonal(possible, False)
        both_ways = np.count_nonzero(possible & possible.T)
        one_way = np.count_nonzero(possible) - both_ways
        total += both_ways * odds / (1.0 + 2.0 * odds) + one_way * odds / (1.0 + odds)
    return total / (draws * n * (n - 1))


def _odds(log_odds: Floats, status: Status) -> Floats:
    return np.where(status == FREE, np.exp(np.clip(log_odds, -700.0, 700.0)), 0.0)


def _prior_graphs(
    log_odds: Floats, status: Status, max_parents: int, draws: int, seed: int, by_children: Floats = NOTHING
) -> Iterator[Adjacency]:
    """Draw graphs from the prior; between two of them ADR renews every edge several times, or in dense ones once."""
    n, odds = len(status), _odds(log_odds, status)
    table = function_table(n, no_score.address(), np.zeros(1, np.uint8))
    problem = Problem(table, log_odds, status, arcs_of(status == FREE), hash_words(n), int64(max_parents))._replace(
        by_children=by_children
    )
    score: Any = None
    target, sampler = Target(tuple(map(str, range(n))), problem, {}, score), ADR(exchange=0.1)
    chain = new_chain(target, target.required, seed, 0)
    sampler.begin(target, Prepared(), chain, 0)
    edges = min(float((odds / (1.0 + odds)).sum()) / 2.0, target.most_edges)
    steps, dense = int(10 * (n + min(edges, n)) + edges), edges > 2 * n
    rng = np.random.default_rng(seed)
    for draw in range(draws + 5):  # the first ones are not yet of the prior
        left = steps if draw >= 5 else 4 * steps
        while left:
            left -= sampler.advance(target, chain, left)
        graph = np.asarray(chain.graph.position != ABSENT)
        if dense:
            _trade_places(graph, log_odds, status, rng)
            arrays = target.empty_graph()
            arrays.rng[:] = chain.graph.rng
            lay_graph(problem, arrays, chain.scratch(target), graph)
            chain.graph = arrays
        if draw >= 5:
            yield graph


def _trade_places(graph: Adjacency, log_odds: Floats, status: Status, rng: np.random.Generator) -> None:
    """Let pairs of nodes trade places in a graph, as in Metropolis: edge by edge, dense graphs would hardly change."""
    required = status == REQUIRED
    movable = np.flatnonzero(~(required.any(axis=0) | required.any(axis=1)))
    weights = np.where(status == FREE, np.clip(log_odds, -700.0, 700.0), -1e9)
    order = np.arange(len(graph))
    for pair in rng.choice(movable, (len(movable), 2)) if len(movable) else ():
        turned = pair[::-1]
        order[pair] = turned
        rows, columns = graph[turned][:, order], graph[:, turned][order]
        change = columns.astype(np.float64) - graph[:, pair]
        change[pair] = 0.0  # edges between the two are among the rows
        gain = (weights[pair] * (rows.astype(np.float64) - graph[pair])).sum() + (weights[:, pair] * change).sum()
        if math.log1p(-rng.random()) < gain:
            graph[pair], graph[:, pair] = rows, columns
        order[pair] = pair


def _possible(graph: Adjacency, max_parents: int) -> Adjacency:
    """Which edges do those between all other pairs leave a place for: no cycle, and not one parent too many?"""
    reached = graph.copy()
    order = topological_order(graph)
    assert order is not None
    for node in reversed(order):
        reached[node] |= reached[graph[node]].any(axis=0)
    around = reached.copy()
    parents, children = np.nonzero(graph)
    for start in range(0, len(parents), 4096):  # where an edge is, only ways around it count
        i, j = parents[start : start + 4096], children[start : start + 4096]
        around[i, j] = (graph[i] & reached.T[j]).any(axis=1)
    return np.asarray(~around.T & (graph.sum(axis=0) - graph < max_parents))


def exchangeable_nodes(log_odds: Floats, status: Status) -> NDArray[np.int64]:
    """Number the groups of nodes whose places the prior does not tell apart."""
    kinds = np.where(status == FREE, log_odds, np.where(status == REQUIRED, np.inf, -np.inf))
    np.fill_diagonal(kinds, 0.0)
    groups: dict[bytes, list[int]] = {}
    first_alike = np.empty(len(status), np.int64)
    for node in range(len(status)):
        signature = np.sort(kinds[node]).tobytes() + np.sort(kinds[:, node]).tobytes()
        known = groups.setdefault(signature, [])
        twin = next((other for other in known if _exchangeable(kinds, node, other)), None)
        if twin is None:
            known.append(node)
        first_alike[node] = node if twin is None else twin
    return np.unique(first_alike, return_inverse=True)[1]


def _exchangeable(kinds: Floats, one: int, other: int) -> bool:
    order = np.arange(len(kinds))
    order[[one, other]] = other, one
    rows = bool((kinds[one][order] == kinds[other]).all())
    return rows and bool((kinds[:, one][order] == kinds[:, other]).all())


def _averaged(estimate: Floats, labels: NDArray[np.int64]) -> Floats:
    """Average over the edges that lead from one group of exchangeable nodes to another."""
    member = np.eye(int(labels.max()) + 1)[labels]
    sizes = member.sum(axis=0)
    sums = member.T @ estimate @ member
    counts = np.outer(sizes, sizes) - np.diag(sizes)
    means = sums / np.where(counts > 0, counts, 1.0)
    averaged: Floats = means[np.ix_(labels, labels)]
    np.fill_diagonal(averaged, 0.0)
    return averaged
