"""Exact, independent draws of DAGs, each with a probability proportional to its weight.

A DAG is built layer by layer: first the nodes without parents, then those all of whose parents are there and that have
one in the layer before, and so on, so that each DAG arises in one way only. Let U be the nodes placed so far and W
those of them below the last layer. The next layer T holds the nodes whose parents lie in U, though not all in W;
everyone else has a parent outside U. From the sums r of `sums.py` follows what the completions weigh in which all of T
have their parents in U, and by inclusion–exclusion what those weigh in which nobody else has: all T together take
O(n 2ⁿ). Draws that have come to the same U share that work. (Exact draws by layers, though with other sums: Talvitie,
Vuoksenmaa and Koivisto 2019.)

A state is reached with at most the share that its completions have in r(U), in whose units all terms are kept: what
rounding and the alternating signs spoil belongs to states that are never met.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from parnidag.errors import ParnidagError
from parnidag.exact_solver.sums import Completions, FloatArray, Solution, Work, list_followers, make_work, scaled
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.random import RandomState, uniform
from parnidag.kernels.types import Words
from parnidag.tables.all_sets import Int, NodeSet, SetSums, column_of, draw_parents, nth_subset

BoolArray = npt.NDArray[np.bool_]
State = tuple[NodeSet, NodeSet]
"""How far a layered DAG has come: the nodes placed so far, and those of them below the last layer."""


def draw_graphs(solution: Solution, draws: int, seed: int | None) -> BoolArray:
    """Draw DAGs (draws × n × n) exactly and independently, from the sums of a solution."""
    if draws < 0:
        raise ParnidagError(f"draws must not be negative, got {draws}.")
    own = np.random.PCG64(seed).random_raw(4 * draws).reshape(draws, 4)
    return _draw(solution.sets, solution.completions, own)


def compile_draws() -> None:
    """Compile before there is anything to draw from: the types do not depend on the table."""
    row, table = np.zeros(1), np.zeros((1, 1))
    sums = Completions(table, row, row, row, row, np.zeros(1, np.int64))
    arguments = SetSums(row, table, table, table), sums, np.zeros((1, 4), np.uint64)
    _draw.compile(tuple(map(numba.typeof, arguments)))  # type: ignore[attr-defined]


@entry
def _draw(sets: SetSums, all_: Completions, rngs: Words) -> BoolArray:
    n = np.int64(len(sets.sums))
    graphs = np.zeros((len(rngs), n, n), dtype=np.bool_)
    draw_layers(sets, all_, make_room(n), rngs, graphs)
    return graphs


class Room(NamedTuple):
    """Working memory of draws."""

    work: Work
    upto: FloatArray


@kernel
def make_room(n: Int) -> Room:
    size = np.int64(1) << n
    return Room(make_work(size), np.empty(size))


@kernel
def draw_layers(sets: SetSums, all_: Completions, room: Room, rngs: Words, graphs: BoolArray) -> None:
    """Write one DAG per random stream; all draws go forward a layer at a time, those in the same state together."""
    draws, n = len(rngs), len(sets.sums)
    everything = (np.int64(1) << n) - 1
    work, upto = room
    closed, below = np.zeros(draws, np.int64), np.zeros(draws, np.int64)
    candidates: NodeSet = np.int64(0)
    count: Int = np.int64(0)
    for _ in range(n):
        states = (closed << n) | below
        last = np.int64(-1)
        for d in np.argsort(states):
            if closed[d] == everything:
                break
            if last < 0 or closed[d] != last >> n:
                candidates, count = _weigh_layers(all_, work, closed[d])
            if states[d] != last:
                _add_up_layers(all_, work, (closed[d], below[d]), candidates, upto)
                last = states[d]
            place = np.searchsorted(upto[:count], uniform(rngs[d]) * upto[count - 1], side="right")
            layer = nth_subset(min(np.int64(place), count - 1), candidates)
            _draw_families(rngs[d], sets, layer, (closed[d], below[d]), work.products, graphs[d])
            closed[d], below[d] = closed[d] | layer, closed[d]


@kernel
def _weigh_layers(all_: Completions, work: Work, closed: NodeSet) -> tuple[NodeSet, Int]:
    """Write to `terms` what the completions of U weigh in which the nodes of T, and no others, have all parents in U.

    Entry t stands for the t-th subset of the candidates, which are returned with the number of their subsets.
    """
    candidates, count = list_followers(all_, work, closed, 1.0)
    products, exponents, terms, powers = work
    fraction, exponent = all_.fraction, all_.exponent
    followers = np.int64(0)
    for t in range(count):
        nodes = closed | followers
        terms[t] = products[t] * fraction[nodes] * scaled(powers, exponents[t] + exponent[nodes])
        followers = (followers - candidates) & candidates
    element = np.int64(1)
    while element < count:
        for start in range(0, count, 2 * element):
            for t in range(start, start + element):
                terms[t] -= terms[t + element]
        element *= 2
    return candidates, count


@kernel
def _add_up_layers(all_: Completions, work: Work, state: State, candidates: NodeSet, upto: FloatArray) -> None:
    """Sums of the weights of all next layers up to each; every node in it has a parent in the last layer."""
    closed, below = state
    shares, count = work.products, np.int64(1)
    shares[0] = 1.0
    for j in range(all_.sums.shape[0]):
        if (candidates >> j) & 1:
            share = 1.0
            if closed != 0:
                share = -math.expm1(all_.sums[j, column_of(below, j)] - all_.sums[j, column_of(closed, j)])
            for t in range(count):
                shares[count + t] = shares[t] * share
            count *= 2
    upto[0], total = 0.0, 0.0  # some node comes next
    for t in range(1, count):
        total += max(0.0, work.terms[t]) * shares[t]
        upto[t] = total


@kernel
def _draw_families(
    rng: RandomState, sets: SetSums, layer: NodeSet, state: State, room: FloatArray, graph: BoolArray
) -> None:
    """Draw the parents of every node of a layer."""
    n = graph.shape[0]
    for j in range(n):
        if (layer >> j) & 1:
            parents = draw_parents(rng, sets, np.int64(j), state, room)
            for i in range(n):
                graph[i, j] = (parents >> i) & 1
