"""A walk through the graphs of a prior, compiled: pairs of nodes are drawn anew, nodes trade places.

A graph is a row of bits for each node, one bit for each child. Required edges are there from the start and stay.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState, below, happens, pick, uniform
from parnidag.kernels.types import Floats, Integers, Words, int64, uint64

SWEEPS_BETWEEN = 2
"""Every pair of nodes is decided anew so often between two of these graphs."""

SWEEPS_BEFORE = 20


@entry
def walk_prior(
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


@entry
def walk_alike(
    odds: float, words: Words, degree: Integers, limits: Integers, rng: RandomState, arcs: Integers
) -> float:
    """Walk through graphs of a prior that tells no edge from another, and return the probability of any one of them.

    The same law and estimate as in `walk_prior`. There every pair of nodes is drawn anew in turn, though hardly any
    ever has an edge. Here each pair is drawn anew when its own clock rings, at rate 1, and only the clocks are followed
    that may change something: those of the edges, and those of other pairs that ring for an edge. So a sweep, one unit
    of time, costs as much as there are edges. Nodes need not trade places: the mean is over all pairs anyway.
    """
    max_parents, draws = limits[0], limits[1]
    children, descendants = words[0], words[1]
    n = len(degree)
    stack, waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    seen = np.zeros(children.shape[1], np.uint64)
    chosen, weights = np.empty(2, np.int64), np.array([odds, odds])
    pairs = n * (n - 1) // 2
    arriving = pairs * 2.0 * odds / (1.0 + 2.0 * odds)
    edges, total = int64(0), 0.0
    for draw in range(draws):
        left = float(SWEEPS_BETWEEN if draw else SWEEPS_BEFORE)
        while True:
            left += math.log(1.0 - uniform(rng)) / (edges + arriving)
            if left < 0.0:
                break
            if happens(rng, edges / (edges + arriving)):
                place = below(rng, edges)
                chosen[0], chosen[1] = arcs[place] // n, arcs[place] % n
                edges -= int64(1)
                arcs[place] = arcs[edges]
                _renew_pair(chosen, weights, children, degree, max_parents, stack, seen, rng)
            else:
                chosen[0] = below(rng, n)
                chosen[1] = (chosen[0] + int64(1) + below(rng, n - int64(1))) % n
                if _has(children, chosen[0], chosen[1]) or _has(children, chosen[1], chosen[0]):
                    continue  # this one's clock is among those of the edges
                _add_one(chosen, odds, children, degree, max_parents, stack, seen, rng)
            for parent, child in ((chosen[0], chosen[1]), (chosen[1], chosen[0])):
                if _has(children, parent, child):
                    arcs[edges] = parent * n + child
                    edges += int64(1)
        _find_descendants(children, descendants, stack, waiting)
        for i in range(n):
            for j in range(i + 1, n):
                forward, backward = _possible(i, j, weights, children, descendants, degree, max_parents)
                total += (forward + backward) / (1.0 + forward + backward)
    return total / (draws * 2.0 * pairs)


@kernel
def _add_one(
    pair: Integers,
    odds: float,
    children: Words,
    degree: Integers,
    max_parents: int,
    stack: Integers,
    seen: Words,
    rng: RandomState,
) -> None:
    """Put an edge between two nodes in random order; if it is not allowed, draw again among what is left."""
    i, j = pair[0], pair[1]
    if not _may_add(i, j, children, degree, max_parents, stack, seen):
        i, j = j, i
        allowed = _may_add(i, j, children, degree, max_parents, stack, seen)
        if _direction(rng, odds * allowed, 0.0) == 0:
            return
    _flip(children, i, j)
    degree[j] += int64(1)


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
    forward, backward = _possible(i, j, weights, children, descendants, degree, max_parents)
    estimate[i, j] += share * forward / (1.0 + forward + backward)
    estimate[j, i] += share * backward / (1.0 + forward + backward)


@kernel
def _possible(
    i: int, j: int, weights: Floats, children: Words, descendants: Words, degree: Integers, max_parents: int
) -> tuple[float, float]:
    """Return the weights of both directions of an edge, 0 where the edges between other pairs leave no place for it."""
    there, back = _has(children, i, j), _has(children, j, i)
    forward, backward = weights[0], weights[1]
    if degree[j] - int64(there) >= max_parents or _around(children, descendants, j, i, back):
        forward = 0.0
    if degree[i] - int64(back) >= max_parents or _around(children, descendants, i, j, there):
        backward = 0.0
    return forward, backward


@kernel
def _around(children: Words, descendants: Words, source: int, goal: int, adjacent: bool) -> bool:
    """Is there a path other than the edge between the two itself?"""
    if not adjacent:
        return _has(descendants, source, goal)
    for child in range(len(children)):
        if child != goal and _has(children, source, child) and _has(descendants, child, goal):
            return True
    return False
