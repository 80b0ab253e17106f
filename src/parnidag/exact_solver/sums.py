"""The exact solver: sums over every DAG of a small problem, which give exact edge probabilities.

The target is any weight that is a product over nodes, w(G) = ∏_j w_j(parents of j). With α_j(U) = Σ_{P ⊆ U} w_j(P) and
V the set of all n nodes (sets are bitmasks here), inclusion–exclusion over the sinks T of a node set S = U ∪ T gives

    f(S) = Σ_{∅ ≠ T ⊆ S} (−1)^{|T|+1} f(S∖T) ∏_{j ∈ T} α_j(S∖T),     f(∅) = 1,

the sum over all DAGs on S, and its mirror image r(U), the sum over all ways to complete a DAG on U to one on V, in
O(3ⁿ). The product f(U) ∏_{j ∈ T} α_j(U) r(U ∪ T) counts a subset of all DAGs, so it never exceeds f(V): that bounds
what the alternating signs can cancel, and it makes the derivatives of f(V) a by-product of r.

Everything is kept as logarithms, because local scores of real data span thousands of nats and would underflow. Exact
draws from the same weights are in `draws.py`, which borrows the table checks and the subset sums from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parnidag.errors import ParnidagError
from parnidag.kernels.jit import entry, kernel
from parnidag.tables.fill import log_add

MAX_NODES, MAX_NODES_FOR_DRAWS = 20, 16
"""For exact edge probabilities, and for exact draws."""
NEGLIGIBLE = 80.0
"""Nats below the largest term at which a term is dropped: 2²⁰ such terms together stay far below rounding."""
PEAK, TOTAL, MAGNITUDE = 0, 1, 2
"""Columns of a running sum: log of its largest term, then the signed and the absolute sum in units of that term."""
SECONDS_PER_TERM, SECONDS_PER_TERM_FOR_DRAWS = 2.4e-8, 6e-9
"""CPU time measured at n = 16 to 20, divided by 3ⁿ for edge probabilities and by 4ⁿ for draws."""

FloatArray = npt.NDArray[np.float64]
Int = int | np.int64
NodeSet = int | np.int64
"""A set of nodes as a bitmask."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What the sum over all DAGs gives."""

    log_total: float
    """Log of the sum over all DAGs of the product of their weights."""
    edge_probabilities: FloatArray
    """Of the edge i → j, [i, j]; the diagonal is 0."""
    cancellation: float
    """The worst Σ|terms| / |Σ terms| met in an alternating sum: about log10(cancellation) digits were lost there."""


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
    weights, log_scale = normalised(log_weights, draws=False)
    sums = subset_sums(weights)
    log_prefix, prefix_cancellation = _sum_prefixes(sums)
    if log_prefix[-1] == -np.inf:
        raise no_graph_allowed()
    expectations, suffix_cancellation = _differentiate(sums, log_prefix)
    # The diagonal holds the probability that a node has some parent set: 1 up to rounding. Dividing by it makes a
    # required edge exactly certain.
    probabilities = np.clip(expectations / np.diag(expectations), 0.0, 1.0)
    np.fill_diagonal(probabilities, 0.0)
    return Solution(
        log_total=float(log_prefix[-1] + log_scale),
        edge_probabilities=probabilities,
        cancellation=float(max(prefix_cancellation, suffix_cancellation)),
    )


def check_size(n: int, draws: bool) -> None:
    """Refuse a problem that is too large, before anything is allocated; exact draws cost more than probabilities."""
    limit = MAX_NODES_FOR_DRAWS if draws else MAX_NODES
    if n <= limit:
        return
    what = "exact draws of graphs" if draws else "exact edge probabilities"
    without_draws = f" (edge probabilities without draws go up to {MAX_NODES} nodes)" if draws else ""
    raise ParnidagError(
        f"{what} are limited to {limit} nodes, got {n}: this would take {estimate(n, draws)[1]}{without_draws}",
        remedy="use parnidag.sample, which has no such limit",
    )


def estimate(n: int, draws: bool) -> tuple[float, str]:
    """Return about how many seconds a solution takes, and that with its memory in words."""
    bounded = min(n, 60)  # keeps the estimates inside the range of a float; far beyond "more than" anyway
    table = 3.0**bounded if draws else 6 * 2.0**bounded
    memory = 8 * (3 * bounded * 2.0 ** (bounded - 1) + table)  # the weights as given, scaled, and summed over subsets
    seconds = SECONDS_PER_TERM_FOR_DRAWS * 4.0**bounded if draws else SECONDS_PER_TERM * 3.0**bounded
    words = f"{_readable(memory, _MEMORY_UNITS)} of memory and {_readable(seconds, _TIME_UNITS)} on one core"
    return seconds, words


_MEMORY_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"))
_TIME_UNITS = ((3.156e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def _readable(amount: float, units: tuple[tuple[float, str], ...]) -> str:
    size, name = next((unit for unit in units if amount >= 2 * unit[0]), units[-1])
    if amount >= 1000 * units[0][0]:
        return f"over 1000 {name}"
    return f"about {amount / size:.2g} {name}" if amount < 100 * size else f"about {amount / size:.0f} {name}"


def normalised(log_weights: FloatArray, draws: bool) -> tuple[FloatArray, float]:
    """Check the table and divide each node's weights by its largest, so that the logs that matter are near 0."""
    if log_weights.ndim != 2 or log_weights.shape[0] < 1:
        raise ParnidagError(f"log_weights must have the shape (n, 2**(n-1)) with n ≥ 1, got {log_weights.shape}.")
    n = log_weights.shape[0]
    check_size(n, draws)
    if log_weights.shape[1] != 2 ** (n - 1):
        raise ParnidagError(f"log_weights must have {2 ** (n - 1)} columns for {n} nodes, got {log_weights.shape[1]}.")
    largest = log_weights.max(axis=1)
    if np.isnan(largest).any() or (largest == np.inf).any():
        raise ParnidagError("log_weights must hold finite numbers or −inf, got NaN or +inf.")
    if (largest == -np.inf).any():
        raise no_graph_allowed()
    weights = np.ascontiguousarray(log_weights - largest[:, None], dtype=np.float64)
    return weights, float(largest.sum())


def no_graph_allowed() -> ParnidagError:
    return ParnidagError(
        "log_weights allow no graph at all: every DAG has weight 0. "
        "Relax the required edges, the forbidden edges or max_parents."
    )


@kernel
def _log_difference(a: float, b: float) -> float:
    """Log of eᵃ − eᵇ, −inf when that is not positive."""
    if b >= a:
        return -np.inf
    return a + math.log(-math.expm1(b - a))


@kernel
def column_of(nodes: NodeSet, j: Int) -> Int:
    """Bitmask with bit j taken out: where the parent set `nodes` of j stands in its row."""
    below = nodes & ((np.int64(1) << j) - 1)
    return below | ((nodes >> (j + 1)) << j)


@entry
def subset_sums(log_weights: FloatArray) -> FloatArray:
    """Row j, column U: log α_j(U), the log of the summed weights of all parent sets within U."""
    n, columns = log_weights.shape
    sums = log_weights.copy()
    for j in range(n):
        row = sums[j]
        for bit in range(n - 1):
            element = np.int64(1) << bit
            for subset in range(columns):
                if subset & element:
                    row[subset] = log_add(row[subset], row[subset ^ element])
    return sums


@kernel
def next_products(sums: FloatArray, closed: NodeSet, last: NodeSet, products: FloatArray) -> tuple[NodeSet, Int]:
    """Products over T of the weights with which its nodes can follow the set `closed`, for every candidate set T.

    A node's weight is that of its parent sets within `closed`, or only those that meet `last` when that is not empty.
    Nodes without any are no candidates. Entry t stands for the t-th subset of the candidates, in increasing order.
    Returns the candidates, as a bitmask, and the number of their subsets.
    """
    candidates, count = np.int64(0), np.int64(1)
    products[0] = 0.0
    for j in range(sums.shape[0]):
        if (closed >> j) & 1:
            continue
        factor = sums[j, column_of(closed, j)]
        if last != 0:
            factor = _log_difference(factor, sums[j, column_of(closed & ~last, j)])
        if factor > -np.inf:
            candidates |= np.int64(1) << j
            for t in range(count):
                products[count + t] = products[t] + factor
            count *= 2
    return candidates, count


@kernel
def _alternating_signs(size: Int) -> FloatArray:
    """+1 for the sets of odd size, −1 for the others."""
    signs = np.empty(size)
    signs[0] = -1.0
    filled = np.int64(1)
    while filled < size:
        for t in range(filled):
            signs[filled + t] = -signs[t]
        filled *= 2
    return signs


@kernel
def _accumulate(running: FloatArray, log_term: float, sign: float) -> None:
    """Add a signed term to a running sum, rescaling when the term is the largest so far."""
    gap = log_term - running[PEAK]
    if gap > 0.0:
        shrink = math.exp(-gap)
        running[PEAK] = log_term
        running[TOTAL] = running[TOTAL] * shrink + sign
        running[MAGNITUDE] = running[MAGNITUDE] * shrink + 1.0
    elif gap > -NEGLIGIBLE:
        size = math.exp(gap)
        running[TOTAL] += sign * size
        running[MAGNITUDE] += size


@entry
def _sum_prefixes(sums: FloatArray) -> tuple[FloatArray, float]:
    """Log f(S), the sum over all DAGs on S, for every node set S; and the worst cancellation."""
    size = np.int64(1) << sums.shape[0]
    signs, products = _alternating_signs(size), np.empty(size)
    running = np.zeros((size, 3))
    running[:, PEAK] = -np.inf
    log_prefix = np.full(size, -np.inf)
    log_prefix[0] = 0.0
    worst = 1.0
    for closed in range(size):
        if closed > 0:
            if running[closed, PEAK] == -np.inf:
                continue
            # f(S) counts more DAGs than any one of its terms, so its sum is at least 1 in units of the largest.
            total = max(running[closed, TOTAL], 1.0)
            log_prefix[closed] = running[closed, PEAK] + math.log(total)
            worst = max(worst, running[closed, MAGNITUDE] / total)
        candidates, count = next_products(sums, closed, np.int64(0), products)
        sinks = np.int64(0)
        for t in range(1, count):
            sinks = (sinks - candidates) & candidates
            _accumulate(running[closed | sinks], log_prefix[closed] + products[t], signs[t])
    return log_prefix, worst


@entry
def _differentiate(sums: FloatArray, log_prefix: FloatArray) -> tuple[FloatArray, float]:
    """Edge probabilities from the derivatives of log f(V), and the worst cancellation.

    Entry [i, j] is Σ_U q_j(U) · (1 − α_j(U∖i) / α_j(U)) with q_j(U) = ∂ log f(V) / ∂ log α_j(U): given U, the last
    factor is the share of the parent sets of j that hold i. Entry [j, j] is Σ_U q_j(U).
    """
    n, size = sums.shape[0], log_prefix.shape[0]
    signs, terms, shares = _alternating_signs(size), np.empty(size), np.empty(n)
    expectations = np.zeros((n, n))
    log_suffix = np.full(size, -np.inf)
    log_suffix[size - 1] = 0.0
    worst = 1.0
    for closed in range(size - 2, -1, -1):
        if log_prefix[closed] == -np.inf:
            continue  # no DAG on these nodes, so no DAG on all nodes passes here
        candidates, count = next_products(sums, closed, np.int64(0), terms)
        peak = _complete(terms, count, log_suffix, closed, candidates)
        if peak == -np.inf:
            continue
        total, magnitude = _signed_terms(terms, count, peak, signs)
        total = max(total, 1.0)
        worst = max(worst, magnitude / total)
        log_suffix[closed] = peak + math.log(total)
        log_share = peak + log_prefix[closed] - log_prefix[size - 1]
        if log_share > -NEGLIGIBLE:
            _fold(terms, count, candidates, math.exp(log_share), shares)
            _add_expectations(expectations, shares, sums, closed, candidates)
    return expectations, worst


@kernel
def _complete(terms: FloatArray, count: Int, log_suffix: FloatArray, closed: NodeSet, candidates: NodeSet) -> float:
    """Multiply the products over T by r(U ∪ T); the largest log of the results."""
    peak, sinks = -np.inf, np.int64(0)
    for t in range(1, count):
        sinks = (sinks - candidates) & candidates
        terms[t] += log_suffix[closed | sinks]
        peak = max(peak, terms[t])
    return peak


@kernel
def _signed_terms(terms: FloatArray, count: Int, peak: float, signs: FloatArray) -> tuple[float, float]:
    """Turn logs into signed terms in units of the largest; their sum and absolute sum."""
    total, magnitude = 0.0, 0.0
    terms[0] = 0.0
    for t in range(1, count):
        gap = terms[t] - peak
        term = math.exp(gap) if gap > -NEGLIGIBLE else 0.0
        magnitude += term
        term *= signs[t]
        total += term
        terms[t] = term
    return total, magnitude


@kernel
def _fold(terms: FloatArray, count: Int, candidates: NodeSet, scale: float, shares: FloatArray) -> None:
    """Per candidate, the sum of the terms of all sets that hold it, by folding the array in halves (destroys it)."""
    half = count
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
