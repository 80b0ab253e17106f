"""Exact, independent draws of DAGs, each with a probability proportional to its weight.

The weights are those of `sums.py`, but the recursion has no signs: a DAG is built layer by layer, every node of a
layer having a parent in the one before, so that each DAG arises in one way only. It takes O(4ⁿ). Sets are bitmasks and
sums are kept as logarithms, as there.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from parnidag.errors import ParnidagError
from parnidag.exact_solver.sums import (
    NEGLIGIBLE,
    FloatArray,
    Int,
    NodeSet,
    column_of,
    next_products,
    no_graph_allowed,
    normalised,
    subset_sums,
)
from parnidag.kernels.jit import entry, kernel

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
State = tuple[NodeSet, NodeSet]
"""How far a layered DAG has come: the nodes placed so far, and those of them in the last layer."""


def draw_graphs(log_weights: FloatArray, draws: int, seed: int | np.random.SeedSequence | None) -> BoolArray:
    """Draw DAGs (draws × n × n) exactly and independently, for log weights as in `solve`."""
    if draws < 0:
        raise ParnidagError(f"draws must not be negative, got {draws}.")
    weights, _ = normalised(log_weights, draws=True)
    n = weights.shape[0]
    sums = subset_sums(weights)
    log_suffix = _sum_layers(sums)
    if log_suffix[0] == -np.inf:
        raise no_graph_allowed()
    # A draw needs at most n uniforms to choose its layers and n to choose the parents of its nodes.
    uniforms = np.random.default_rng(seed).random((draws, 2, n))
    return _draw(weights, sums, log_suffix, uniforms)


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
    """Log weights of the possible next layers T after the state (U, last layer L), as in `next_products`."""
    closed, last = state
    candidates, count = next_products(sums, closed, last, terms)
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
            log_missing = sums[j, column_of(closed & ~last, j)] - sums[j, column_of(closed, j)]
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
        terms[count] = log_weights[column_of(parents, j)] if meets else -np.inf
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
