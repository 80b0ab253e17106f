"""The exact solver: sums over every DAG of a small problem, which give exact edge probabilities.

The target is any weight that is a product over nodes, w(G) = ∏_j w_j(parents of j). Sets of nodes are bitmasks, V is
the set of all n, and α_j(U) = Σ_{P ⊆ U} w_j(P). A set U is closed in a DAG if no edge leads into it from outside. The
sum over all ways to complete a DAG on the closed set U to one on V follows by inclusion–exclusion over sets T of nodes
whose parents all lie in U,

    r(U) = Σ_{∅ ≠ T ⊆ V∖U} (−1)^{|T|+1} ∏_{j ∈ T} α_j(U) r(U ∪ T),     r(V) = 1,

and f(S), the sum over all DAGs on S, is its mirror image: together O(3ⁿ). The product f(U) ∏_{j ∈ T} α_j(U) r(U ∪ T)
weighs a set of DAGs, so it never exceeds f(V): that bounds what the alternating signs can cancel, and it makes the
derivatives of f(V), and so the edge probabilities, a by-product.

Two things make this fast. Local scores of real data span thousands of nats, so numbers are kept as a fraction and a
power of two: products and sums then need no logarithm. And most sets are hardly ever closed: the sum over all *orders*
that begin with U counts every DAG in which U is closed, takes O(n 2ⁿ), and so bounds f(U) r(U); what it shows to be
negligible is left out. Exact draws from the same sums are in `draws.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parnidag._util.cores import side_by_side, worth_threads
from parnidag.errors import ParnidagError
from parnidag.exact_solver.size import check_size
from parnidag.kernels.jit import entry, kernel
from parnidag.tables.all_sets import Int, NodeSet, SetSums, column_of, no_graph_allowed, set_sums

NEGLIGIBLE = 30.0
"""Nats below the sum over all DAGs at which terms are left out: n 2ⁿ of them, n = 22, weigh less than 10⁻⁵ together. On
simulated tables of 16 columns edge probabilities changed by at most 10⁻¹⁴, and by 10⁻¹⁰ at 20 nats."""
NO_DIGIT = 40.0
"""Nats by which a term is too small to change a sum of doubles."""
SMALLEST = np.int64(400)
"""2^−SMALLEST and less count as 0: a sum is at most n! < 2⁷⁰ times smaller than the bound in whose units it is kept."""
LARGEST = np.int64(2)
NOTHING = np.int64(-(2**40))
"""The exponent of 0."""
LOG_2 = math.log(2.0)
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Completions(NamedTuple):
    """The sums over all completions of every closed set, with what they were made from."""

    sums: FloatArray
    """Log α_j(U) at [j, column of U], see `tables.all_sets`."""
    log_before: FloatArray
    log_after: FloatArray
    """Per set, log sums over the orders of its nodes and of all others: bounds for log f and log r, until these are
    known and take their place."""
    least: FloatArray
    """Log of what is negligible (1)."""
    fraction: FloatArray
    exponent: IntArray
    """r(U) = fraction · 2^exponent, with fraction 0 or in ½ … 1; 0 for sets that are negligible."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What the sum over all DAGs gives."""

    log_total: float
    """Log of the sum over all DAGs of the product of their weights."""
    edge_probabilities: FloatArray
    """Of the edge i → j, [i, j]; the diagonal is 0."""
    cancellation: float
    """The worst Σ|terms| / |Σ terms| met in an alternating sum: about log10(cancellation) digits were lost there."""
    sets: SetSums
    completions: Completions
    flow: FloatArray
    """How fast the log of the sum grows with log α_j(U), at [j, column of U]; empty unless it was asked for."""


def solve(log_weights: FloatArray) -> Solution:
    """Sum a decomposable weight over all DAGs and give the probability of every edge.

    Row j of `log_weights` (n × 2ⁿ⁻¹) holds the parent sets of node j. The column of a set is its bitmask over the n
    nodes with bit j taken out (the bits above j move down by one); −inf marks a parent set that is not allowed.

    Examples
    --------
    Two nodes, all weights 1: the empty graph and either direction make three DAGs.

    >>> import numpy as np
    >>> solution = solve(np.zeros((2, 2)))
    >>> round(np.exp(solution.log_total), 12)
    np.float64(3.0)
    >>> solution.edge_probabilities.round(6).tolist()
    [[0.0, 0.333333], [0.333333, 0.0]]
    """
    sets = _checked_sums(log_weights)
    return add_up(sets, bounded(sets))


def bounded(sets: SetSums) -> Completions:
    """Bound all sums, from which follows how many terms matter (`count_terms`); `add_up` does the rest."""
    passes: list[Callable[[FloatArray], Any]] = [_sum_orders_before, _sum_orders_after]
    if worth_threads(sets.sums.size):
        log_before, (log_after, best) = side_by_side(lambda k: passes[k](sets.sums), 2)
    else:
        log_before, (log_after, best) = (sum_up(sets.sums) for sum_up in passes)
    if log_after[0] == -np.inf:
        raise no_graph_allowed()
    fraction, exponent = np.zeros_like(log_after), np.full(log_after.shape, NOTHING)
    # Graphs that agree with one order are counted once by it, and no graph is counted by more than n! orders.
    at_least = max(best, log_after[0] - math.lgamma(len(sets.sums) + 1.0))
    least = np.array([at_least - NEGLIGIBLE])
    return Completions(sets.sums, log_before, log_after, least, fraction, exponent)


def add_up(sets: SetSums, completions: Completions, with_flow: bool = False) -> Solution:
    cancellation = complete(completions)
    flow = np.zeros(sets.sums.shape if with_flow else (0, 0))
    expectations = _differentiate(completions, flow)
    # The diagonal holds the probability that a node has some parent set: 1 up to rounding. Dividing by it makes a
    # required edge exactly certain.
    probabilities = np.clip(expectations / np.diag(expectations), 0.0, 1.0)
    np.fill_diagonal(probabilities, 0.0)
    log_total = math.log(completions.fraction[0]) + completions.exponent[0] * LOG_2 + sets.largest.sum()
    return Solution(float(log_total), probabilities, float(cancellation), sets, completions, flow)


def _checked_sums(log_weights: FloatArray) -> SetSums:
    """Check a table of weights and sum it over subsets."""
    if log_weights.ndim != 2 or log_weights.shape[0] < 1:
        raise ParnidagError(f"log_weights must have the shape (n, 2**(n-1)) with n ≥ 1, got {log_weights.shape}.")
    n = log_weights.shape[0]
    check_size(n)
    if log_weights.shape[1] != 2 ** (n - 1):
        raise ParnidagError(f"log_weights must have {2 ** (n - 1)} columns for {n} nodes, got {log_weights.shape[1]}.")
    return set_sums(np.array(log_weights, np.float64))


@entry
def _sum_orders_before(sums: FloatArray) -> FloatArray:
    """Log sums over all orders of the nodes of a set, placed first."""
    n = np.int64(sums.shape[0])
    before, logs = np.empty(np.int64(1) << n), np.empty(n)
    before[0] = 0.0
    for closed in range(1, before.size):
        count = np.int64(0)
        for j in range(n):
            if (closed >> j) & 1:
                smaller = closed ^ (np.int64(1) << j)
                logs[count] = before[smaller] + sums[j, column_of(smaller, j)]
                count += 1
        before[closed] = _log_sum(logs, count)
    return before


@entry
def _sum_orders_after(sums: FloatArray) -> tuple[FloatArray, float]:
    """Log sums over all orders of the nodes outside a set, placed after it; and the largest sum over one whole order.

    That is over the graphs which agree with the order.
    """
    n = np.int64(sums.shape[0])
    after, best, logs = np.empty(np.int64(1) << n), np.empty(np.int64(1) << n), np.empty(n)
    after[-1], best[-1] = 0.0, 0.0
    for closed in range(after.size - 2, -1, -1):
        count = np.int64(0)
        best[closed] = -np.inf
        for j in range(n):
            if not (closed >> j) & 1:
                larger = closed | (np.int64(1) << j)
                own = sums[j, column_of(closed, j)]
                logs[count] = after[larger] + own
                best[closed] = max(best[closed], best[larger] + own)
                count += 1
        after[closed] = _log_sum(logs, count)
    return after, float(best[0])


@kernel
def _log_sum(logs: FloatArray, count: Int) -> float:
    top = -math.inf
    for k in range(count):
        top = max(top, logs[k])
    total = 0.0
    for k in range(count):
        if logs[k] > top - NO_DIGIT:
            total += math.exp(logs[k] - top)
    return top + math.log(total) if total > 0.0 else top


@entry
def count_terms(all_: Completions) -> float:
    """How many terms all sums over followers have together, which says how long they take."""
    total = 0.0
    for closed in range(all_.fraction.size):
        if is_met(all_, closed):
            terms = 1.0
            for j in range(all_.sums.shape[0]):
                if may_follow(all_, closed, j):
                    terms *= 2.0
            total += terms
    return total


@entry
def complete(all_: Completions) -> float:
    """Fill in r(U) for every set that is not negligible, and return the worst cancellation; draws need no more."""
    size = np.int64(all_.fraction.size)
    work = make_work(size)
    all_.fraction[size - 1], all_.exponent[size - 1] = 0.5, 1
    worst = 1.0
    for closed in range(size - 2, -1, -1):
        if is_met(all_, closed):
            candidates, count = list_followers(all_, work, closed, -1.0)
            total, magnitude, peak = _sum_followers(all_, work, closed, candidates, count)
            total = max(total, peak)  # each term weighs some of the completions, so none exceeds their sum
            if total > 0.0:
                worst = max(worst, magnitude / total)
                fraction, exponent = math.frexp(total)
                all_.fraction[closed], all_.exponent[closed] = fraction, exponent + power_above(all_.log_after[closed])
    for closed in range(size):
        all_.log_after[closed] = math.log(all_.fraction[closed]) + all_.exponent[closed] * LOG_2
    all_.least[0] = all_.log_after[0] - NEGLIGIBLE
    return worst


@entry
def _differentiate(all_: Completions, flow: FloatArray) -> FloatArray:
    """Edge probabilities from the derivatives of log f(V).

    Entry [i, j] is Σ_U q_j(U) · (1 − α_j(U∖i) / α_j(U)) with q_j(U) = ∂ log f(V) / ∂ log α_j(U): given U, the last
    factor is the share of the parent sets of j that hold i. Entry [j, j] is Σ_U q_j(U). On the way up, f(S) is
    collected in units of 2^(exponent of f(V) − exponent of r(S)), since f(S) r(S) never exceeds f(V). The q_j(U) are
    kept in `flow` unless it is empty.
    """
    n, size = np.int64(all_.sums.shape[0]), np.int64(all_.fraction.size)
    work, shares, expectations, before = make_work(size), np.empty(n), np.zeros((n, n)), np.zeros(size)
    before[0] = all_.fraction[0]
    for closed in range(size - 1):
        if before[closed] <= 0.0:
            continue
        all_.log_before[closed] = math.log(before[closed]) + (all_.exponent[0] - all_.exponent[closed]) * LOG_2
        if is_met(all_, closed):
            candidates, count = list_followers(all_, work, closed, -1.0)
            own = before[closed] * 2.0 ** (power_above(all_.log_after[closed]) - all_.exponent[closed])
            _pass_on(all_, work, (closed, candidates, count), own, before)
            _fold(work.terms, count, candidates, -own / all_.fraction[0], shares)
            _add_expectations(expectations, shares, all_.sums, closed, candidates)
            if flow.size:
                for j in range(n):
                    if (candidates >> j) & 1:
                        flow[j, column_of(closed, j)] += shares[j]
    return expectations


class Work(NamedTuple):
    """Room for the sets that can follow a closed one, and a table of powers of two."""

    products: FloatArray
    exponents: IntArray
    terms: FloatArray
    powers: FloatArray


@kernel
def make_work(size: Int) -> Work:
    powers = np.zeros(SMALLEST + LARGEST + 1)
    power = 4.0
    for k in range(SMALLEST + LARGEST, 0, -1):  # the first stays 0
        powers[k] = power
        power *= 0.5
    return Work(np.empty(size), np.empty(size, np.int64), np.empty(size), powers)


@kernel
def power_above(log: float) -> Int:
    """The power of two whose size a number has at most."""
    return np.int64(math.ceil(log / LOG_2))


@kernel
def is_met(all_: Completions, closed: NodeSet) -> bool:
    """Is the set closed in DAGs that together are not negligible?"""
    return bool(all_.log_before[closed] + all_.log_after[closed] >= all_.least[0])


@kernel
def may_follow(all_: Completions, closed: NodeSet, j: Int) -> bool:
    """Is the closed set followed by j, with all its parents there, in DAGs that together are not negligible?"""
    if (closed >> j) & 1:
        return False
    log_weight = all_.sums[j, column_of(closed, j)] + all_.log_after[closed | (np.int64(1) << j)]
    return bool(all_.log_before[closed] + log_weight >= all_.least[0])


@kernel
def list_followers(all_: Completions, work: Work, closed: NodeSet, sign: float) -> tuple[NodeSet, Int]:
    """List the sets T whose nodes may all follow the closed set U, and the products ∏_{j ∈ T} (sign · α_j(U)).

    Entry t of `products` and `exponents` stands for the t-th subset of the candidates in increasing order; the unit is
    the bound of r(U). Returns the candidates, as a bitmask, and the number of their subsets.
    """
    products, exponents = work.products, work.exponents
    candidates, count = np.int64(0), np.int64(1)
    products[0], exponents[0] = 1.0, -power_above(all_.log_after[closed])
    for j in range(all_.sums.shape[0]):
        if may_follow(all_, closed, j):
            candidates |= np.int64(1) << j
            log_factor = all_.sums[j, column_of(closed, j)]
            exponent = np.int64(math.floor(log_factor / LOG_2))
            factor = sign * math.exp(log_factor - exponent * LOG_2)
            for t in range(count):
                products[count + t] = products[t] * factor
                exponents[count + t] = exponents[t] + exponent
            count *= 2
    return candidates, count


@kernel
def scaled(powers: FloatArray, power: Int) -> float:
    """2^power; where it is out of range it belongs to a sum that is 0."""
    return float(powers[min(max(power, -SMALLEST), LARGEST) + SMALLEST])


@kernel
def _sum_followers(
    all_: Completions, work: Work, closed: NodeSet, candidates: NodeSet, count: Int
) -> tuple[float, float, float]:
    """r(U) as a sum over T, the sum of the absolute terms, and the largest."""
    products, exponents, _, powers = work
    fraction, exponent = all_.fraction, all_.exponent
    total, magnitude, peak, followers = 0.0, 0.0, 0.0, np.int64(0)
    for t in range(1, count):
        followers = (followers - candidates) & candidates
        nodes = closed | followers
        term = products[t] * fraction[nodes] * scaled(powers, exponents[t] + exponent[nodes])
        total -= term
        magnitude += abs(term)
        peak = max(peak, abs(term))
    return total, magnitude, peak


@kernel
def _pass_on(all_: Completions, work: Work, step: tuple[NodeSet, NodeSet, Int], own: float, before: FloatArray) -> None:
    """Add f(U) ∏_{j ∈ T} α_j(U), with its sign, to f(U ∪ T), and write ∏_{j ∈ T} α_j(U) r(U ∪ T) to `terms`."""
    products, exponents, terms, powers = work
    fraction, exponent = all_.fraction, all_.exponent
    closed, candidates, count = step
    followers = np.int64(0)
    for t in range(1, count):
        followers = (followers - candidates) & candidates
        nodes = closed | followers
        product = products[t] * scaled(powers, exponents[t] + exponent[nodes])
        terms[t] = product * fraction[nodes]
        before[nodes] -= own * product


@kernel
def _fold(terms: FloatArray, count: Int, candidates: NodeSet, scale: float, shares: FloatArray) -> None:
    """Per candidate, the sum of the terms of all sets that hold it, by folding the array in halves (destroys it)."""
    half = count
    terms[0] = 0.0
    for j in range(shares.shape[0] - 1, -1, -1):
        if (candidates >> j) & 1:
            half //= 2
            upper = 0.0
            for t in range(half):
                upper += terms[half + t]
                terms[t] += terms[half + t]
            shares[j] = upper * scale


@kernel
def _add_expectations(
    expectations: FloatArray, shares: FloatArray, sums: FloatArray, closed: NodeSet, candidates: NodeSet
) -> None:
    for j in range(shares.shape[0]):
        if (candidates >> j) & 1:
            expectations[j, j] += shares[j]
            log_all = sums[j, column_of(closed, j)]
            for i in range(shares.shape[0]):
                if (closed >> i) & 1:
                    log_without = sums[j, column_of(closed ^ (np.int64(1) << i), j)]
                    expectations[i, j] -= shares[j] * math.expm1(log_without - log_all)
