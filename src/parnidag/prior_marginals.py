"""How probable each edge is before any data: the true prior marginals, to which evidence is compared.

The prior weighs a graph by ∏ h/(1−h) over its edges, but only graphs without cycles count, so the marginal probability
of an edge is not h. It is exact up to 12 nodes, by the sum over all graphs that `referee` does, and for more nodes
where no edge differs from another, by the number of DAGs with so many edges (Robinson 1973). Otherwise it is estimated
from graphs drawn from the prior.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from parnidag._jit import entry, kernel
from parnidag._random import RandomState, below, happens, pick, random_state
from parnidag._types import Floats, Integers, Words, int64, uint64
from parnidag.prior import FREE, REQUIRED
from parnidag.referee import solve

EXACT_UP_TO = 12
"""Up to so many nodes the sum over all graphs takes a hundredth of a second."""

MOST_COUNTED = 600
"""Up to so many nodes Robinson's recursion takes seconds."""

DRAWS = 400
"""Graphs drawn from a sparse prior, up to 100 nodes."""

FEWEST_DRAWS = 50
"""Graphs drawn where there are many nodes or edges: one graph then tells a lot, and takes long."""

ALIKE_DRAWS = 10
"""Graphs drawn of very many nodes where all edges have the same marginal: each graph tells it n(n − 1) times."""

SWEEPS_BETWEEN = 2
"""Every pair of nodes is decided anew so often between two of these graphs."""

SWEEPS_BEFORE = 20

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
        marginals = np.where(off_diagonal, counted_marginal(n, float(free_odds[0])), 0.0)
    elif n <= EXACT_UP_TO:
        marginals = summed_marginals(log_odds, status, max_parents)
    else:
        drawn = drawn_marginals(
            log_odds, status, max_parents, draws=ALIKE_DRAWS if alike and n > MOST_COUNTED else None
        )
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
        _run_prior(pairs, weights, allowed_odds, movable, words, degree, limits, rng, estimate)
        estimate = _averaged(estimate, exchangeable_nodes(log_odds, status))
    estimate[required] = 1.0
    return estimate


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


@entry
def _run_prior(
    pairs: Integers,
    weights: Floats,
    log_odds: Floats,
    movable: Integers,
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
    seen = np.zeros(children.shape[1], np.uint64)
    waiting = np.empty(len(degree), np.int64)
    for draw in range(draws):
        for _ in range(SWEEPS_BETWEEN if draw else SWEEPS_BEFORE):
            for k in range(len(pairs)):
                _renew_pair(pairs[k], weights[k], children, degree, max_parents, stack, seen, rng)
            for _ in range(len(movable)):
                one, other = movable[below(rng, len(movable))], movable[below(rng, len(movable))]
                _try_exchange(one, other, log_odds, children, degree, rng)
        _find_descendants(children, descendants, stack, waiting)
        for k in range(len(pairs)):
            _add_conditionals(pairs[k], weights[k], children, descendants, degree, max_parents, 1.0 / draws, estimate)


@kernel
def _renew_pair(
    pair: Integers,
    weights: Floats,
    children: Words,
    degree: Integers,
    max_parents: int,
    stack: Integers,
    seen: Words,
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
def _try_exchange(one: int, other: int, log_odds: Floats, children: Words, degree: Integers, rng: RandomState) -> None:
    """Let two nodes trade places in the graph, as in Metropolis: pair by pair, dense graphs would hardly change."""
    gain = 0.0
    for node in range(len(degree)):
        if node in (one, other):
            continue
        if _has(children, one, node) != _has(children, other, node):
            step = log_odds[other, node] - log_odds[one, node]
            gain += step if _has(children, one, node) else -step
        if _has(children, node, one) != _has(children, node, other):
            step = log_odds[node, other] - log_odds[node, one]
            gain += step if _has(children, node, one) else -step
    if _has(children, one, other):
        gain += log_odds[other, one] - log_odds[one, other]
    elif _has(children, other, one):
        gain += log_odds[one, other] - log_odds[other, one]
    if not happens(rng, math.exp(min(gain, 0.0))) or one == other:
        return
    for word in range(children.shape[1]):
        children[one, word], children[other, word] = children[other, word], children[one, word]
    for node in range(len(degree)):
        if _has(children, node, one) != _has(children, node, other):
            _flip(children, node, one)
            _flip(children, node, other)
    degree[one], degree[other] = degree[other], degree[one]


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
    parent: int, child: int, children: Words, degree: Integers, max_parents: int, stack: Integers, seen: Words
) -> bool:
    """Is there room for one more parent of `child`, and no way from it to the new parent?"""
    return degree[child] < max_parents and not _leads_to(children, child, parent, stack, seen)


@kernel
def _leads_to(children: Words, source: int, goal: int, stack: Integers, seen: Words) -> bool:
    """Is there a directed path?"""
    seen[:] = uint64(0)
    stack[0] = source
    waiting = int64(1)
    while waiting > 0:
        waiting -= int64(1)
        node = stack[waiting]
        if _has(children, node, goal):
            return True
        for word in range(children.shape[1]):
            bits = children[node, word] & ~seen[word]
            seen[word] |= bits
            while bits != uint64(0):
                stack[waiting] = int64(word) * int64(64) + _lowest(bits)
                waiting += int64(1)
                bits &= bits - uint64(1)
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
    pair: Integers,
    weights: Floats,
    children: Words,
    descendants: Words,
    degree: Integers,
    max_parents: int,
    share: float,
    estimate: Floats,
) -> None:
    """Add what the graph says of a pair: the probability of each direction given all edges between other pairs."""
    i, j = pair[0], pair[1]
    there, back = _has(children, i, j), _has(children, j, i)
    forward, backward = weights[0], weights[1]
    if degree[j] - int64(there) >= max_parents or _around(children, descendants, j, i, back):
        forward = 0.0
    if degree[i] - int64(back) >= max_parents or _around(children, descendants, i, j, there):
        backward = 0.0
    estimate[i, j] += share * forward / (1.0 + forward + backward)
    estimate[j, i] += share * backward / (1.0 + forward + backward)


@kernel
def _around(children: Words, descendants: Words, source: int, goal: int, adjacent: bool) -> bool:
    """Is there a path other than the edge between the two itself?"""
    if not adjacent:
        return _has(descendants, source, goal)
    for child in range(len(children)):
        if child != goal and _has(children, source, child) and _has(descendants, child, goal):
            return True
    return False
