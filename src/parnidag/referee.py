"""The exact referee: sums over every DAG of a small problem, and exact independent draws.

The target is any weight that is a product over nodes, w(G) = ∏_j w_j(parents of j). With α_j(U) = Σ_{P ⊆ U} w_j(P) and
V the set of all n nodes (sets are bitmasks here):

- *Edge probabilities*, O(3ⁿ), by inclusion–exclusion over the sinks T of a node set S = U ∪ T,

      f(S) = Σ_{∅ ≠ T ⊆ S} (−1)^{|T|+1} f(S∖T) ∏_{j ∈ T} α_j(S∖T),     f(∅) = 1,

  the sum over all DAGs on S, and its mirror image r(U), the sum over all ways to complete a DAG on U to one on V.
  The product f(U) ∏_{j ∈ T} α_j(U) r(U ∪ T) counts a subset of all DAGs, so it never exceeds f(V): that bounds what
  the alternating signs can cancel, and it makes the derivatives of f(V) a by-product of r.
- *Exact draws*, O(4ⁿ), by a recursion without signs over layers: every node of a layer has a parent in the one before.

Everything is kept as logarithms, because local scores of real data span thousands of nats and would underflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parnidag._jit import entry, kernel
from parnidag.errors import ParnidagError

MAX_NODES = 20
"""Most nodes for exact edge probabilities."""

MAX_NODES_FOR_DRAWS = 16
"""Most nodes for exact draws."""

NEGLIGIBLE = 80.0
"""Nats below the largest term at which a term is dropped: 2²⁰ such terms together stay far below rounding."""

PEAK, TOTAL, MAGNITUDE = 0, 1, 2
"""Columns of a running sum: log of its largest term, then the signed and the absolute sum in units of that term."""

SECONDS_PER_TERM, SECONDS_PER_TERM_FOR_DRAWS = 2.4e-8, 6e-9
"""CPU time measured at n = 16 to 20, divided by 3ⁿ for edge probabilities and by 4ⁿ for draws."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Int = int | np.int64
NodeSet = int | np.int64
"""A set of nodes as a bitmask."""
State = tuple[NodeSet, NodeSet]
"""How far a layered DAG has come: the nodes placed so far, and those of them in the last layer."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What the sum over all DAGs gives.

    Attributes
    ----------
    log_total : float
        Log of the sum over all DAGs of the product of their weights.
    edge_probabilities : ndarray of shape (n, n)
        Entry [i, j] is the probability of the edge i → j; the diagonal is 0.
    cancellation : float
        The worst Σ|terms| / |Σ terms| met in an alternating sum: about log10(cancellation) digits were lost there.
    """

    log_total: float
    edge_probabilities: FloatArray
    cancellation: float


def solve(log_weights: FloatArray) -> Solution:
    """Sum a decomposable weight over all DAGs and give the probability of every edge.

    Parameters
    ----------
    log_weights : ndarray of shape (n, 2**(n-1))
        Log weight of each parent set of each node. The column of a parent set of node j is its bitmask over the n nodes
        with bit j taken out (the bits above j move down by one); −inf marks a parent set that is not allowed.

    Returns
    -------
    Solution
        The log of the sum, the edge probabilities and how much was cancelled on the way.

    Raises
    ------
    ParnidagError
        When there are too many nodes, a weight is no number below infinity, or no DAG has a positive weight.

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
    weights, log_scale = _normalised(log_weights, draws=False)
    sums = _subset_sums(weights)
    log_prefix, prefix_cancellation = _sum_prefixes(sums)
    if log_prefix[-1] == -np.inf:
        raise _no_graph_allowed()
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


def draw_graphs(log_weights: FloatArray, draws: int, seed: int | np.random.SeedSequence | None) -> BoolArray:
    """Draw DAGs exactly and independently, each with a probability proportional to its weight.

    Parameters
    ----------
    log_weights : ndarray of shape (n, 2**(n-1))
        Log weights of the parent sets, as in `solve`.
    draws : int
        How many graphs.
    seed : int, SeedSequence or None
        The same seed gives the same graphs; None takes a fresh one.

    Returns
    -------
    ndarray of bool, shape (draws, n, n)
        Entry [d, i, j] says whether draw d has the edge i → j.

    Raises
    ------
    ParnidagError
        When there are too many nodes, a weight is no number below infinity, or no DAG has a positive weight.

    Examples
    --------
    Node 1 must have the parent 0, so there is only one DAG.

    >>> import numpy as np
    >>> draw_graphs(np.array([[0.0, 0.0], [-np.inf, 0.0]]), draws=1, seed=1).astype(int).tolist()
    [[[0, 1], [0, 0]]]
    """
    if draws < 0:
        raise ParnidagError(f"draws must not be negative, got {draws}.")
    weights, _ = _normalised(log_weights, draws=True)
    n = weights.shape[0]
    sums = _subset_sums(weights)
    log_suffix = _sum_layers(sums)
    if log_suffix[0] == -np.inf:
        raise _no_graph_allowed()
    # A draw needs at most n uniforms to choose its layers and n to choose the parents of its nodes.
    uniforms = np.random.default_rng(seed).random((draws, 2, n))
    return _draw(weights, sums, log_suffix, uniforms)


def check_size(n: int, draws: bool) -> None:
    """Refuse a problem that is too large, before anything is allocated.

    Parameters
    ----------
    n : int
        Number of nodes.
    draws : bool
        Whether exact draws are wanted, which cost more than edge probabilities.

    Raises
    ------
    ParnidagError
        With the memory and time it would take and what to do instead.

    Examples
    --------
    >>> check_size(12, draws=True)
    """
    limit = MAX_NODES_FOR_DRAWS if draws else MAX_NODES
    if n <= limit:
        return
    bounded = min(n, 60)  # keeps the estimates inside the range of a float; far beyond "more than" anyway
    table = 3.0**bounded if draws else 6 * 2.0**bounded
    memory = 8 * (3 * bounded * 2.0 ** (bounded - 1) + table)  # the weights as given, scaled, and summed over subsets
    seconds = SECONDS_PER_TERM_FOR_DRAWS * 4.0**bounded if draws else SECONDS_PER_TERM * 3.0**bounded
    what = "exact draws of graphs" if draws else "exact edge probabilities"
    without_draws = f" Edge probabilities without draws go up to {MAX_NODES} nodes." if draws else ""
    raise ParnidagError(
        f"{what} are limited to {limit} nodes, got {n}: this would take {_readable(memory, _MEMORY_UNITS)} "
        f"of memory and {_readable(seconds, _TIME_UNITS)} on one core.{without_draws} "
        "Use parnidag.sample, which has no such limit."
    )


_MEMORY_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"))
_TIME_UNITS = ((3.156e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def _readable(amount: float, units: tuple[tuple[float, str], ...]) -> str:
    size, name = next((unit for unit in units if amount >= 2 * unit[0]), units[-1])
    if amount >= 1000 * units[0][0]:
        return f"over 1000 {name}"
    return f"about {amount / size:.2g} {name}" if amount < 100 * size else f"about {amount / size:.0f} {name}"


def _normalised(log_weights: FloatArray, draws: bool) -> tuple[FloatArray, float]:
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
        raise _no_graph_allowed()
    weights = np.ascontiguousarray(log_weights - largest[:, None], dtype=np.float64)
    return weights, float(largest.sum())


def _no_graph_allowed() -> ParnidagError:
    return ParnidagError(
        "log_weights allow no graph at all: every DAG has weight 0. "
        "Relax the required edges, the forbidden edges or max_parents."
    )


@kernel
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    if low == -np.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@kernel
def _log_difference(a: float, b: float) -> float:
    """Log of eᵃ − eᵇ, −inf when that is not positive."""
    if b >= a:
        return -np.inf
    return a + math.log(-math.expm1(b - a))


@kernel
def _column(nodes: NodeSet, j: Int) -> Int:
    """Bitmask with bit j taken out: where the parent set `nodes` of j stands in its row."""
    below = nodes & ((np.int64(1) << j) - 1)
    return below | ((nodes >> (j + 1)) << j)


@entry
def _subset_sums(log_weights: FloatArray) -> FloatArray:
    """Row j, column U: log α_j(U), the log of the summed weights of all parent sets within U."""
    n, columns = log_weights.shape
    sums = log_weights.copy()
    for j in range(n):
        row = sums[j]
        for bit in range(n - 1):
            element = np.int64(1) << bit
            for subset in range(columns):
                if subset & element:
                    row[subset] = _log_add(row[subset], row[subset ^ element])
    return sums


@kernel
def _next_products(sums: FloatArray, closed: NodeSet, last: NodeSet, products: FloatArray) -> tuple[NodeSet, Int]:
    """Products over T of the weights with which its nodes can follow the set `closed`, for every candidate set T.

    A node's weight is that of its parent sets within `closed`, or only those that meet `last` when that is not empty.
    Nodes without any are no candidates. Entry t stands for the t-th subset of the candidates, in increasing order.

    Returns
    -------
    candidates, count
        The candidates as a bitmask, and the number of their subsets.
    """
    candidates, count = np.int64(0), np.int64(1)
    products[0] = 0.0
    for j in range(sums.shape[0]):
        if (closed >> j) & 1:
            continue
        factor = sums[j, _column(closed, j)]
        if last != 0:
            factor = _log_difference(factor, sums[j, _column(closed & ~last, j)])
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
        candidates, count = _next_products(sums, closed, np.int64(0), products)
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
        candidates, count = _next_products(sums, closed, np.int64(0), terms)
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
            log_all = sums[j, _column(closed, j)]
            for i in range(shares.shape[0]):
                if (closed >> i) & 1:
                    log_without = sums[j, _column(closed ^ (np.int64(1) << i), j)]
                    expectations[i, j] -= shares[j] * math.expm1(log_without - log_all)


@kernel
def _ternary(n: Int) -> IntArray:
    """Read the bits of each bitmask as digits in base 3: (U, L ⊆ U) gets the number ternary[U] + ternary[L]."""
    ternary = np.zeros(np.int64(1) << n, dtype=np.int64)
    filled, power = np.int64(1), np.int64(1)
    for _ in range(n):
        for t in range(filled):
            ternary[filled + t] = ternary[t] + power
        filled *= 2
        power *= 3
    return ternary


@kernel
def _layer_terms(
    sums: FloatArray, log_suffix: FloatArray, ternary: IntArray, state: State, terms: FloatArray
) -> tuple[NodeSet, Int]:
    """Log weights of the possible next layers T after the state (U, last layer L), as in `_next_products`."""
    closed, last = state
    candidates, count = _next_products(sums, closed, last, terms)
    terms[0] = -np.inf
    layer = np.int64(0)
    for t in range(1, count):
        layer = (layer - candidates) & candidates
        terms[t] += log_suffix[ternary[closed] + 2 * ternary[layer]]
    return candidates, count


@entry
def _sum_layers(sums: FloatArray) -> FloatArray:
    """Log g(U, L): the sum over all ways to go on from the node set U whose last layer is L; entry 0 is the log total.

    g(U, L) = Σ_{∅ ≠ T ⊆ V∖U} g(U ∪ T, T) ∏_{j ∈ T} (α_j(U) − α_j(U∖L)): each node of the next layer has a parent in L,
    so that every DAG is counted once. For one U, plain doubles serve every L: they hold the share of g(U, L) in the
    same sum without the condition on L. A DAG that passes through (U, L) can be completed by that whole sum, so the
    share bounds the probability of being in (U, L): one lost to rounding or underflow belongs to a state never met.
    """
    n = sums.shape[0]
    size = np.int64(1) << n
    ternary, terms, folded, shares = _ternary(n), np.empty(size), np.empty(size), np.empty(n)
    log_suffix = np.full(2 * ternary[size - 1] + 1, -np.inf)
    for number in ternary:
        log_suffix[ternary[size - 1] + number] = 0.0
    for closed in range(size - 2, -1, -1):
        candidates, count = _layer_terms(sums, log_suffix, ternary, (closed, np.int64(0)), terms)
        log_all = _log_sum(terms[:count])
        if closed == 0:
            log_suffix[0] = log_all
            break
        for t in range(count):
            terms[t] = math.exp(terms[t] - log_all) if terms[t] > -np.inf else 0.0
        last = np.int64(closed)
        while last != 0:
            _meeting_shares(sums, (closed, last), candidates, shares)
            share = _weighted_fold(terms, count, candidates, shares, folded)
            if share > 0.0:
                log_suffix[ternary[closed] + ternary[last]] = log_all + math.log(share)
            last = (last - 1) & closed
    return log_suffix


@kernel
def _meeting_shares(sums: FloatArray, state: State, candidates: NodeSet, shares: FloatArray) -> None:
    """Per candidate, the share of its parent sets within U that meet the last layer L."""
    closed, last = state
    for j in range(sums.shape[0]):
        if (candidates >> j) & 1:
            log_missing = sums[j, _column(closed & ~last, j)] - sums[j, _column(closed, j)]
            shares[j] = -math.expm1(log_missing) if log_missing < 0.0 else 0.0


@kernel
def _weighted_fold(terms: FloatArray, count: Int, candidates: NodeSet, shares: FloatArray, folded: FloatArray) -> float:
    """Sum over T of terms[T] times the product of the shares of its nodes, halving the array node by node."""
    source, half = terms, count
    for j in range(shares.shape[0] - 1, -1, -1):
        if (candidates >> j) & 1:
            half //= 2
            for t in range(half):
                folded[t] = source[t] + shares[j] * source[half + t]
            source = folded
    return float(source[0])


@kernel
def _log_sum(terms: FloatArray) -> float:
    peak = -np.inf
    for term in terms:
        peak = max(peak, term)
    if peak == -np.inf:
        return peak
    total = 0.0
    for term in terms:
        if term - peak > -NEGLIGIBLE:
            total += math.exp(term - peak)
    return peak + math.log(total)


@entry
def _draw(log_weights: FloatArray, sums: FloatArray, log_suffix: FloatArray, uniforms: FloatArray) -> BoolArray:
    """One DAG per row of uniforms, layer by layer, then the parents of each node of the layer."""
    draws, _, n = uniforms.shape
    everything = (np.int64(1) << n) - 1
    ternary, terms = _ternary(n), np.empty(everything + 1)
    graphs = np.zeros((draws, n, n), dtype=np.bool_)
    for d in range(draws):
        closed: NodeSet = np.int64(0)
        last: NodeSet = np.int64(0)
        layers = 0
        while closed != everything:
            candidates, count = _layer_terms(sums, log_suffix, ternary, (closed, last), terms)
            layer = _nth_subset(_pick(terms[:count], uniforms[d, 0, layers]), candidates)
            for j in range(n):
                if (layer >> j) & 1:
                    parents = _draw_parents(log_weights[j], j, (closed, last), terms, uniforms[d, 1, j])
                    for i in range(n):
                        graphs[d, i, j] = (parents >> i) & 1
            closed, last = closed | layer, layer
            layers += 1
    return graphs


@kernel
def _draw_parents(log_weights: FloatArray, j: Int, state: State, terms: FloatArray, uniform: float) -> NodeSet:
    """Draw parents of j within U that meet the last layer L, as a bitmask; the empty set when there is no layer yet."""
    closed, last = state
    parents, count = np.int64(0), np.int64(0)
    while True:
        meets = last == 0 or parents & last != 0
        terms[count] = log_weights[_column(parents, j)] if meets else -np.inf
        count += 1
        parents = (parents - closed) & closed
        if parents == 0:
            break
    return _nth_subset(_pick(terms[:count], uniform), closed)


@kernel
def _pick(log_terms: FloatArray, uniform: float) -> Int:
    """Index drawn in proportion to the terms, of which at least one must not be −inf."""
    log_total = _log_sum(log_terms)
    remaining, chosen = uniform, np.int64(-1)
    for t in range(log_terms.shape[0]):
        probability = math.exp(log_terms[t] - log_total)
        if probability > 0.0:  # rounding may leave a remainder: the last possible index takes it
            chosen = np.int64(t)
            remaining -= probability
            if remaining < 0.0:
                break
    return chosen


@kernel
def _nth_subset(t: Int, nodes: NodeSet) -> NodeSet:
    """Spread the bits of t over the bits of `nodes`: its t-th subset in increasing order."""
    subset, remaining, element = np.int64(0), np.int64(t), np.int64(1)
    while element <= nodes:
        if nodes & element:
            if remaining & 1:
                subset |= element
            remaining >>= 1
        element <<= 1
    return subset
