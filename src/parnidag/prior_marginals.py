"""How probable each edge is before any data: the true prior marginals, to which evidence is compared.

The prior weighs a graph by ∏ h/(1−h) over its edges, but only graphs without cycles count, so the marginal probability
of an edge is smaller than h. Where no edge differs from another it follows exactly from the number of DAGs by edges
(Robinson 1973), weighted; otherwise from graphs drawn from the prior.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from parnidag._jit import entry, kernel
from parnidag._random import RandomState, pick, random_state
from parnidag._types import Flags, Floats, Integers, Words, int64, uint64
from parnidag.prior import FREE, REQUIRED

MOST_COUNTED = 200
"""Up to so many nodes the exact recursion takes a fraction of a second."""

DRAWS = 400
"""Graphs drawn from a prior whose edges differ, up to 100 nodes; the marginals have a relative error of 1 to 2 %."""

FEWEST_DRAWS = 50
"""Graphs drawn where there are many nodes: the more of them, the less one graph differs from the next."""

ALIKE_DRAWS = 40
"""Graphs drawn where all edges have the same marginal, so that each graph tells it n(n − 1) times."""

SWEEPS_BETWEEN = 2
"""Every pair of nodes is decided anew so often between two of these graphs."""

SWEEPS_BEFORE = 20

SEED = 20231210
"""Prior marginals are a property of the prior: the same ones in every run."""


def prior_marginals(log_odds: NDArray[np.float64], status: NDArray[np.uint8], max_parents: int) -> NDArray[np.float64]:
    """Return the prior probability of every edge, [parent, child].

    Parameters
    ----------
    log_odds, status, max_parents
        As in a `ResolvedPrior`.

    Examples
    --------
    >>> from parnidag.prior import EdgePrior
    >>> prior = EdgePrior(h=1 / 11).resolve([f"X{k}" for k in range(11)])
    >>> prior_marginals(prior.log_odds, prior.status, prior.max_parents)[0, 1].round(5).item()
    0.07776
    """
    n = len(status)
    off_diagonal = ~np.eye(n, dtype=bool)
    free_odds = log_odds[off_diagonal]
    alike = bool((status[off_diagonal] == FREE).all() and (free_odds == free_odds[0]).all())
    if alike and max_parents >= n - 1 and n <= MOST_COUNTED:
        return np.where(off_diagonal, counted_marginal(n, math.exp(free_odds[0])), 0.0)
    drawn = drawn_marginals(log_odds, status, max_parents, draws=ALIKE_DRAWS if alike else None)
    # Where nodes can be exchanged, all edges have the same marginal: their mean is the better estimate.
    return np.where(off_diagonal, drawn[off_diagonal].mean(), 0.0) if alike else drawn


def counted_marginal(n: int, odds: float) -> float:
    """Return the prior probability of an edge if each DAG on n nodes weighs ``odds ** edges``.

    Robinson's recursion a(m) = Σ_k (−1)^(k+1) C(m, k) (1 + x)^(k(m−k)) a(m−k) sums the weights of all DAGs; their mean
    number of edges is x a′(n)/a(n). The terms cancel, so the digits are doubled until the answer stays.

    Examples
    --------
    >>> counted_marginal(2, 1.0)  # no edge, one way, the other way
    0.3333333333333333
    """
    digits, answer, before = 50, math.nan, math.inf
    while not abs(answer - before) <= 1e-14 * abs(answer):
        before, answer, digits = answer, _counted(n, Decimal(odds), digits), 2 * digits
    return answer


def _counted(n: int, odds: Decimal, digits: int) -> float:
    with localcontext() as context:
        context.prec = digits
        powers = [Decimal(1)]
        for _ in range(n * n // 4 + 1):
            powers.append(powers[-1] * (1 + odds))
        total, slope = [Decimal(1)], [Decimal(0)]
        for m in range(1, n + 1):
            a = b = Decimal(0)
            for k in range(1, m + 1):
                pairs = k * (m - k)
                sign_choices = (-1) ** (k + 1) * math.comb(m, k)
                a += sign_choices * powers[pairs] * total[m - k]
                b += sign_choices * (powers[pairs] * slope[m - k] + pairs * powers[pairs] / (1 + odds) * total[m - k])
            total.append(a)
            slope.append(b)
        return float(odds * slope[n] / total[n] / (n * (n - 1)))


def drawn_marginals(
    log_odds: NDArray[np.float64],
    status: NDArray[np.uint8],
    max_parents: int,
    draws: int | None = None,
    seed: int = SEED,
) -> NDArray[np.float64]:
    """Estimate the prior probability of every edge from graphs drawn from the prior by a Gibbs sampler.

    Not the share of graphs that have an edge, but the mean over graphs of its probability given all others: its odds
    if it may be added, else 0. That has far less Monte-Carlo error.
    """
    n = len(status)
    draws = min(DRAWS, max(FEWEST_DRAWS, 100 * DRAWS // n)) if draws is None else draws
    odds = np.exp(np.clip(log_odds, -700.0, 700.0))
    odds[status != FREE] = 0.0
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
        _run_prior(odds, pairs, weights, words, degree, limits, random_state(seed), estimate)
    estimate[required] = 1.0
    return estimate


@entry
def _run_prior(
    odds: Floats,
    pairs: Integers,
    weights: Floats,
    words: Words,
    degree: Integers,
    limits: Integers,
    rng: RandomState,
    estimate: Floats,
) -> None:
    """Walk through graphs of the prior, pair of nodes by pair, and average the probability of each edge."""
    max_parents, draws = limits[0], limits[1]
    children, descendants = words[0], words[1]
    stack = np.empty(len(degree), np.int64)
    seen = np.zeros(len(degree), np.bool_)
    waiting = np.empty(len(degree), np.int64)
    for draw in range(draws):
        for _ in range(SWEEPS_BETWEEN if draw else SWEEPS_BEFORE):
            for k in range(len(pairs)):
                _renew_pair(pairs[k], weights[k], children, degree, max_parents, stack, seen, rng)
        _find_descendants(children, descendants, stack, waiting)
        _add_conditionals(odds, children, descendants, degree, max_parents, 1.0 / draws, estimate)


@kernel
def _renew_pair(
    pair: Integers,
    weights: Floats,
    children: Words,
    degree: Integers,
    max_parents: int,
    stack: Integers,
    seen: Flags,
    rng: RandomState,
) -> None:
    """Draw anew whether there is an edge between two nodes, and which way, given all other edges."""
    i, j, forward, backward = pair[0], pair[1], weights[0], weights[1]
    if _has(children, i, j):
        _flip(children, i, j)
        degree[j] -= int64(1)
    elif _has(children, j, i):
        _flip(children, j, i)
        degree[i] -= int64(1)
    drawn = _direction(rng, forward, backward)
    # Most pairs stay without an edge: cycles are looked for only where an edge is drawn. One that is not allowed is
    # drawn again among what is left, which is rejection sampling from the pair's law given the rest.
    if drawn == 1 and not _may_add(i, j, children, degree, max_parents, stack, seen):
        allowed = _may_add(j, i, children, degree, max_parents, stack, seen)
        drawn = _direction(rng, 0.0, backward * allowed)
    elif drawn == 2 and not _may_add(j, i, children, degree, max_parents, stack, seen):
        allowed = _may_add(i, j, children, degree, max_parents, stack, seen)
        drawn = _direction(rng, forward * allowed, 0.0)
    if drawn == 1:
        _flip(children, i, j)
        degree[j] += int64(1)
    elif drawn == 2:
        _flip(children, j, i)
        degree[i] += int64(1)


@kernel
def _direction(rng: RandomState, forward: float, backward: float) -> int:
    """Draw 1 or 2 for the two directions of an edge with these weights, 0 for no edge, of weight 1."""
    total = 1.0 + forward + backward
    return pick(rng, forward / total, backward / total)


@kernel
def _has(children: Words, parent: int, child: int) -> bool:
    return (children[parent, child >> int64(6)] >> uint64(child & int64(63))) & uint64(1) == uint64(1)


@kernel
def _flip(children: Words, parent: int, child: int) -> None:
    children[parent, child >> int64(6)] ^= uint64(1) << uint64(child & int64(63))


@kernel
def _may_add(
    parent: int, child: int, children: Words, degree: Integers, max_parents: int, stack: Integers, seen: Flags
) -> bool:
    """Is there room for one more parent of `child`, and no way from it to the new parent?"""
    return degree[child] < max_parents and not _leads_to(children, child, parent, stack, seen)


@kernel
def _leads_to(children: Words, source: int, goal: int, stack: Integers, seen: Flags) -> bool:
    """Is there a directed path?"""
    seen[:] = False
    stack[0] = source
    waiting = int64(1)
    while waiting > 0:
        waiting -= int64(1)
        node = stack[waiting]
        for word in range(children.shape[1]):
            bits = children[node, word]
            while bits != uint64(0):
                child = int64(word) * int64(64) + _lowest(bits)
                bits &= bits - uint64(1)
                if child == goal:
                    return True
                if not seen[child]:
                    seen[child] = True
                    stack[waiting] = child
                    waiting += int64(1)
    return False


@kernel
def _lowest(bits: uint64) -> int:
    """Return the place of the lowest bit that is set."""
    place = int64(0)
    while bits & uint64(1) == uint64(0):
        bits >>= uint64(1)
        place += int64(1)
    return place


@kernel
def _find_descendants(children: Words, descendants: Words, stack: Integers, waiting: Integers) -> None:
    """Fill in which nodes each node leads to: the last in an order of the graph first."""
    n = len(stack)
    waiting[:] = 0
    for parent in range(n):
        for child in range(n):
            if _has(children, parent, child):
                waiting[child] += int64(1)
    ready = int64(0)
    for node in range(n):
        if waiting[node] == 0:
            stack[ready] = node
            ready += int64(1)
    done = int64(0)
    while done < ready:
        for child in range(n):
            if _has(children, stack[done], child):
                waiting[child] -= int64(1)
                if waiting[child] == 0:
                    stack[ready] = child
                    ready += int64(1)
        done += int64(1)
    for k in range(n - 1, -1, -1):
        node = stack[k]
        descendants[node] = children[node]
        for child in range(n):
            if _has(children, node, child):
                descendants[node] |= descendants[child]


@kernel
def _add_conditionals(
    odds: Floats,
    children: Words,
    descendants: Words,
    degree: Integers,
    max_parents: int,
    weight: float,
    estimate: Floats,
) -> None:
    """Add what the graph says of every edge: its probability given all other edges."""
    n = len(degree)
    for parent in range(n):
        for child in range(n):
            others = degree[child] - int64(_has(children, parent, child))
            if odds[parent, child] > 0.0 and others < max_parents and not _has(descendants, child, parent):
                estimate[parent, child] += weight * odds[parent, child] / (1.0 + odds[parent, child])
