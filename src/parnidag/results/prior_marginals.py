"""How probable each edge is before any data: the true prior marginals, to which evidence is compared.

The prior weighs a graph by ∏ h/(1−h) over its edges, but only graphs without cycles count, so the marginal probability
of an edge is not h. It is exact up to 12 nodes, by the sum over all graphs that `exact_solver` does, and for more nodes
where no edge differs from another, by the number of DAGs with so many edges (Robinson 1973). Otherwise it is estimated
from graphs drawn from the prior.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from parnidag.exact_solver.sums import solve
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.problem import FREE, REQUIRED
from parnidag.kernels.random import random_state
from parnidag.results.prior_walk import walk_alike, walk_prior

EXACT_UP_TO = 12
"""Up to so many nodes the sum over all graphs takes a hundredth of a second."""

MOST_COUNTED = 300
"""Up to so many nodes Robinson's recursion takes a second or two; its time grows with the fourth power."""

DRAWS = 400
"""Graphs drawn from a sparse prior, up to 100 nodes."""

FEWEST_DRAWS = 50
"""Graphs drawn where there are many nodes or edges: one graph then tells a lot, and takes long."""

ALIKE_DRAWS = 20
"""Graphs drawn of very many nodes where all edges have the same marginal: each graph tells it n(n − 1) times."""

SEED = 20231210
"""Prior marginals are a property of the prior: the same ones in every run."""


def prior_marginals(log_odds: NDArray[np.float64], status: NDArray[np.uint8], max_parents: int) -> NDArray[np.float64]:
    """Return the prior probability of every edge, [parent, child]: 1 if required, 0 if the prior rules it out.

    Parameters
    ----------
    log_odds, status, max_parents
        As in a `ResolvedPrior`.

    Examples
    --------
    >>> from parnidag.priors.edge_prior import EdgePrior
    >>> prior = EdgePrior(h=1 / 11).resolve([f"X{k}" for k in range(11)])
    >>> prior_marginals(prior.log_odds, prior.status, prior.max_parents)[0, 1].round(5).item()
    0.07776
    """
    n = len(status)
    off_diagonal = ~np.eye(n, dtype=bool)
    free_odds = log_odds[off_diagonal]
    alike = bool((status[off_diagonal] == FREE).all() and (free_odds == free_odds[0]).all())
    if alike and max_parents >= n - 1 and n <= MOST_COUNTED:
        marginals = np.where(off_diagonal, counted_marginal(n, float(free_odds[0])), 0.0)
    elif n <= EXACT_UP_TO:
        marginals = summed_marginals(log_odds, status, max_parents)
    else:
        if alike and n > MOST_COUNTED:
            drawn = np.where(off_diagonal, alike_marginal(n, float(free_odds[0]), max_parents), 0.0)
        else:
            drawn = drawn_marginals(log_odds, status, max_parents)
        marginals = np.where(drawn == 0.0, _smallest(log_odds), drawn)
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

    Examples
    --------
    >>> counted_marginal(2, 0.0)  # no edge, one way, the other way
    0.3333333333333333
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


def summed_marginals(log_odds: NDArray[np.float64], status: NDArray[np.uint8], max_parents: int) -> NDArray[np.float64]:
    """Sum over all graphs; for few nodes.

    Examples
    --------
    >>> free = np.where(np.eye(2), 0, FREE)
    >>> summed_marginals(np.zeros((2, 2)), free, 1).round(3)
    array([[0.   , 0.333],
           [0.333, 0.   ]])
    """
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


def _impossible(status: NDArray[np.uint8], max_parents: int) -> NDArray[np.bool_]:
    """Which edges can be in no graph: not allowed, against the required ones, or one parent too many?"""
    required = status == REQUIRED
    reached = required.copy()
    for _ in range(len(status).bit_length()):
        reached |= (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    full = required.sum(axis=0) >= max_parents
    return np.asarray(((status != FREE) | reached.T | full[None, :]) & ~required)


# ── from draws ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _smallest(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what an edge gets that no drawn graph had room for: less than half a draw's worth."""
    shares: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    return shares / (2.0 * DRAWS)


def drawn_marginals(
    log_odds: NDArray[np.float64],
    status: NDArray[np.uint8],
    max_parents: int,
    draws: int | None = None,
    seed: int = SEED,
) -> NDArray[np.float64]:
    """Estimate the prior probability of every edge from graphs drawn from the prior by a Gibbs sampler.

    Its moves draw a pair of nodes anew, or let two nodes trade places. The estimate is not the share of graphs that
    have an edge, but the mean over graphs of its probability given all edges between other pairs, averaged over nodes
    that can be exchanged: the same expectation with far less Monte-Carlo error.
    """
    n = len(status)
    odds = np.exp(np.clip(log_odds, -700.0, 700.0))
    odds[status != FREE] = 0.0
    if draws is None:
        neighbours = n * float((odds / (1.0 + odds)).mean())
        draws = int(np.clip(DRAWS * min(100 / n, 1.0, 8.0 / max(neighbours, 1e-9)), FEWEST_DRAWS, DRAWS))
    first, second = np.nonzero(np.triu((status == FREE) | (status == FREE).T))
    required = status == REQUIRED
    estimate = np.zeros((n, n))
    if len(first):
        words = np.zeros((2, n, (n + 63) // 64), np.uint64)
        for parent, child in np.argwhere(required).tolist():
            words[0, parent, child >> 6] |= np.uint64(1 << (child & 63))
        pairs = np.stack([first, second], axis=1).astype(np.int64)
        weights = np.stack([odds[first, second], odds[second, first]], axis=1)
        degree = required.sum(axis=0).astype(np.int64)
        limits = np.array([max_parents, draws])
        movable = np.flatnonzero(~(required.any(axis=0) | required.any(axis=1)))
        with np.errstate(divide="ignore"):
            allowed_odds = np.log(odds)
        rng = random_state(seed)
        walk_prior(pairs, weights, allowed_odds, movable, words, degree, limits, rng, estimate)
        estimate = _averaged(estimate, exchangeable_nodes(log_odds, status))
    estimate[required] = 1.0
    return estimate


def alike_marginal(n: int, log_odds: float, max_parents: int, draws: int = ALIKE_DRAWS, seed: int = SEED) -> float:
    """Estimate the prior probability of an edge where all edges have the same log odds; for very many nodes."""
    words = np.zeros((2, n, (n + 63) // 64), np.uint64)
    arcs = lazy_zeros(n * (n - 1) // 2, np.int64)
    limits, odds = np.array([max_parents, draws]), math.exp(min(max(log_odds, -700.0), 700.0))
    return float(walk_alike(odds, words, np.zeros(n, np.int64), limits, random_state(seed), arcs))


def exchangeable_nodes(log_odds: NDArray[np.float64], status: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number the groups of nodes whose places the prior does not tell apart.

    Examples
    --------
    >>> status = np.where(np.eye(4), 0, FREE)
    >>> status[0, 1] = 0  # one forbidden edge: its two ends are special
    >>> exchangeable_nodes(np.zeros((4, 4)), status)
    array([0, 1, 2, 2])
    """
    kinds = np.where(status == FREE, log_odds, np.where(status == REQUIRED, np.inf, -np.inf))
    np.fill_diagonal(kinds, 0.0)
    groups: dict[bytes, list[int]] = {}
    labels = np.empty(len(status), np.int64)
    count = 0
    for node in range(len(status)):
        signature = np.sort(kinds[node]).tobytes() + np.sort(kinds[:, node]).tobytes()
        known = groups.setdefault(signature, [])
        twin = next((other for other in known if _exchangeable(kinds, node, other)), None)
        if twin is None:
            known.append(node)
            labels[node] = count
            count += 1
        else:
            labels[node] = labels[twin]
    return labels


def _exchangeable(kinds: NDArray[np.float64], one: int, other: int) -> bool:
    order = np.arange(len(kinds))
    order[[one, other]] = other, one
    rows = bool((kinds[one][order] == kinds[other]).all())
    return rows and bool((kinds[:, one][order] == kinds[:, other]).all())


def _averaged(estimate: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Average over the edges that lead from one group of exchangeable nodes to another."""
    member = np.zeros((len(labels), int(labels.max()) + 1))
    member[np.arange(len(labels)), labels] = 1.0
    sums = member.T @ estimate @ member
    counts = np.outer(member.sum(axis=0), member.sum(axis=0)) - np.diag(member.sum(axis=0))
    means = sums / np.where(counts > 0, counts, 1.0)
    averaged: NDArray[np.float64] = means[np.ix_(labels, labels)]
    np.fill_diagonal(averaged, 0.0)
    return averaged
