"""Exact, independent draws of DAGs, each with a probability proportional to its weight.

A DAG is built layer by layer: first the nodes without parents, then those all of whose parents are there and that have
one in the layer before, and so on, so that each DAG arises in one way only. Let U be the nodes placed so far and W
those of them below the last layer. The next layer T holds the nodes whose parents lie in U, though not all in W;
everyone else has a parent outside U. The sum over all completions that place one set of nodes in T, keep another out of
it, and leave the others open follows from the sums r of `sums.py` by inclusion–exclusion. So the nodes are decided one
by one, each decision halves the sum, and a layer takes O(2ⁿ), as in Talvitie, Vuoksenmaa and Koivisto (2019).

A state is reached with at most the share that its completions have in r(U), in whose units all terms are kept: what
rounding and the alternating signs spoil belongs to states that are never met.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from parnidag.errors import ParnidagError
from parnidag.exact_solver.sums import Completions, FloatArray, Solution, Work, list_followers, make_work, scaled
from parnidag.kernels.jit import entry, kernel
from parnidag.tables.all_sets import Int, NodeSet, SetSums, column_of, draw_parents, nth_subset

BoolArray = npt.NDArray[np.bool_]
State = tuple[NodeSet, NodeSet]
"""How far a layered DAG has come: the nodes placed so far, and those of them below the last layer."""


def draw_graphs(solution: Solution, draws: int, seed: int | np.random.SeedSequence | None) -> BoolArray:
    """Draw DAGs (draws × n × n) exactly and independently, from the sums of a solution."""
    if draws < 0:
        raise ParnidagError(f"draws must not be negative, got {draws}.")
    n = len(solution.edge_probabilities)
    # A node waits for at most n layers, and takes two uniforms to choose its parents.
    uniforms = np.random.default_rng(seed).random((draws, n + 2, n))
    return _draw(solution.sets, solution.completions, uniforms)


@entry
def _draw(sets: SetSums, all_: Completions, uniforms: FloatArray) -> BoolArray:
    """One DAG per block of uniforms, layer by layer, then the parents of each node of the layer."""
    draws, _, n = uniforms.shape
    everything = (np.int64(1) << n) - 1
    work, signed, low = make_work(everything + 1), np.empty(everything + 1), np.empty(n)
    graphs = np.zeros((draws, n, n), dtype=np.bool_)
    candidates, count = list_followers(all_, work, np.int64(0), 1.0)
    firsts = _first_layers(all_, work, candidates, count)
    for d in range(draws):
        closed, below = np.int64(0), np.int64(0)
        layers = 0
        while closed != everything:
            state = (closed, below)
            if layers == 0:
                place = np.searchsorted(firsts, uniforms[d, 0, 0] * firsts[-1], side="right")
                layer = nth_subset(min(np.int64(place), np.int64(firsts.size - 1)), candidates)
            else:
                layer = _draw_layer(all_, work, signed, low, state, uniforms[d, layers])
            for j in range(n):
                if (layer >> j) & 1:
                    parents = draw_parents(sets, j, state, work.terms, uniforms[d, n, j], uniforms[d, n + 1, j])
                    for i in range(n):
                        graphs[d, i, j] = (parents >> i) & 1
            closed, below = closed | layer, closed
            layers += 1
    return graphs


@kernel
def _first_layers(all_: Completions, work: Work, candidates: NodeSet, count: Int) -> FloatArray:
    """Sums of the weights of all first layers up to each: the same for all draws, so that they are weighed once.

    The weight of graphs in which all of T have no parents is turned into that of graphs in which no others have none.
    """
    _weigh_followers(all_, work, np.int64(0), candidates, count)
    firsts = work.terms[:count].copy()
    element = np.int64(1)
    while element < count:
        for t in range(count):
            if not t & element:
                firsts[t] -= firsts[t | element]
        element *= 2
    firsts[0], total = 0.0, 0.0  # some node has no parents
    for t in range(count):
        total += max(0.0, firsts[t])
        firsts[t] = total
    return firsts


@kernel
def _draw_layer(
    all_: Completions, work: Work, signed: FloatArray, low: FloatArray, state: State, uniforms: FloatArray
) -> NodeSet:
    """Draw the next layer, deciding on one candidate after the other, the last one first.

    Sets T of undecided nodes are weighed by `terms`, in which the decided ones are summed out. Every undecided node
    must not have its parents below the last layer; the subsets that do are subtracted by the products of `signed`.
    """
    closed, _ = state
    candidates, count = list_followers(all_, work, closed, 1.0)
    _weigh_followers(all_, work, closed, candidates, count)
    terms, layer = work.terms, np.int64(0)
    _low_shares(all_, state, candidates, low, signed)
    half = count
    for j in range(all_.sums.shape[0] - 1, -1, -1):
        if not (candidates >> j) & 1:
            continue
        half //= 2
        joins, stays = 0.0, 0.0
        for t in range(half):
            joins += signed[t] * terms[half + t]
            stays += signed[t] * (terms[t] - terms[half + t])
        joins = max(0.0, joins * (1.0 - low[j]))
        is_last_chance = half == 1 and layer == 0
        if is_last_chance or uniforms[j] * (joins + max(0.0, stays)) < joins:
            layer |= np.int64(1) << j
            for t in range(half):
                terms[t] = terms[half + t]
        else:
            for t in range(half):
                terms[t] -= terms[half + t]
    return layer


@kernel
def _weigh_followers(all_: Completions, work: Work, closed: NodeSet, candidates: NodeSet, count: Int) -> None:
    """Write ∏_{j ∈ T} α_j(U) r(U ∪ T), in units of the bound of r(U), to `terms`."""
    products, exponents, terms, powers = work
    fraction, exponent = all_.fraction, all_.exponent
    followers = np.int64(0)
    for t in range(count):
        nodes = closed | followers
        terms[t] = products[t] * fraction[nodes] * scaled(powers, exponents[t] + exponent[nodes])
        followers = (followers - candidates) & candidates


@kernel
def _low_shares(all_: Completions, state: State, candidates: NodeSet, low: FloatArray, signed: FloatArray) -> None:
    """Per candidate, the share of its parent sets in U that lie below the last layer; and all products of −shares."""
    closed, below = state
    signed[0], count = 1.0, np.int64(1)
    for j in range(all_.sums.shape[0]):
        if (candidates >> j) & 1:
            low[j] = math.exp(all_.sums[j, column_of(below, j)] - all_.sums[j, column_of(closed, j)])
            for t in range(count):
                signed[count + t] = -low[j] * signed[t]
            count *= 2
