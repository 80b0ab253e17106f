"""Nodes that are parents only, summed out: a sum over all graphs then runs over sets of the other nodes.

Whether a graph has a cycle is a matter of the nodes that can be children. For each of these the parent sets that hold
the same of them, whatever parents-only nodes come along, weigh Σ_Q w_j(S ∪ Q) together: one number in the place of S.
The solver then knows how probable each S is, and the share that a set S ∪ Q has in its S does the rest: exact
probabilities of the edges from parents-only nodes, and whole parent sets for the graphs that are drawn. All three go
depth-first through the parent sets, of which nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.exact_solver.sums import Solution
from parnidag.kernels.jit import entry, kernel, make_frame
from parnidag.kernels.local_score import begin_walk, make_walk, node_score, walk_score
from parnidag.kernels.problem import FREE, REQUIRED, Problem
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.tables.all_sets import SetSums, set_sums
from parnidag.tables.fill import FillArrays, Filling, descend, log_add, open_filling, walks
from parnidag.target import Target

MOST_SETS = 4e9
"""So many parent sets take a quarter of an hour."""
NEGLIGIBLE = 1e-14
"""Sets of scored parents less probable than this add nothing to the probabilities of edges."""
DRAWING = 0xF01D
"""Random numbers of the parents that are drawn here are none of the solver's."""


class Families(NamedTuple):
    """A walk through all parent sets of one node: those required, and any others as far as `max_parents` allows."""

    candidates: Integers
    required: Integers
    bits: Integers
    """For each node its place in the columns of this child, as a bit; 0 for parents-only nodes (n)."""
    columns: Integers
    """The column of the present set, by the number of its parents."""
    stand: Integers
    """Number of parents, and the next candidate."""
    ascending: Integers
    """Room for the parents in increasing order."""


def count_sets(target: Target) -> int:
    """Return the number of parent sets of all nodes; where some are parents only, those that the prior leaves."""
    n, most = target.n_nodes, target.max_parents
    if target.parents_only is None:
        return n * sum(comb(n - 1, k) for k in range(min(most, n - 1) + 1))
    status, total = target.problem.status, 0
    for j in target.scored.tolist():
        free, required = (int((status[:, j] == what).sum()) for what in (FREE, REQUIRED))
        total += sum(comb(free, k) for k in range(min(most - required, free) + 1))
    return total


def folded_sums(target: Target) -> SetSums:
    """Return what the sets of scored parents weigh, with any parents-only ones beside them, over scored nodes alone."""
    count = count_sets(target)
    if count > MOST_SETS:
        raise ParnidagError(
            f"{count:.1e} parent sets are too many to add up, at most {MOST_SETS:.0e}",
            remedy="allow fewer with EdgePrior(max_parents=3), or use parnidag.sample, whose chains need no such sum",
        )
    scored = target.scored
    weights = np.full((scored.size, 2 ** (scored.size - 1)), -np.inf)
    for place, own, families in _walks(target):
        fold(target.problem, own, families, scored[place], weights[place])
    target.check_score()
    return set_sums(weights)


def unfolded_probabilities(target: Target, solution: Solution) -> Floats:
    """Return the probabilities of all edges, from the solution over scored nodes."""
    n, scored, sets = target.n_nodes, target.scored, solution.sets
    found = np.zeros((n, n))
    for place, own, families in _walks(target):
        folded = sets.weights[place] + sets.largest[place]
        chances = _chances_of_sets(sets.weights[place], sets.sums[place], solution.flow[place])
        share(target.problem, own, families, scored[place], folded, chances, found[:, scored[place]])
    found = np.clip(found, 0.0, 1.0)
    found[np.ix_(scored, scored)] = solution.edge_probabilities
    found[target.required] = 1.0
    return found


def unfolded_draws(
    target: Target, solution: Solution, graphs: NDArray[np.bool_], seed: int | None
) -> NDArray[np.bool_]:
    """Draw the parents-only parents that go with drawn graphs over scored nodes: exactly, each on its own."""
    n, scored = target.n_nodes, target.scored
    found = np.zeros((len(graphs), n, n), np.bool_)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(DRAWING,)))
    for place, own, families in _walks(target):
        folded = solution.sets.weights[place] + solution.sets.largest[place]
        columns = graphs[:, :, place] @ families.bits[scored]
        with np.errstate(divide="ignore"):
            upto = np.log(rng.random(len(graphs))) + folded[columns]
        order = np.lexsort((upto, columns))
        first = np.searchsorted(columns[order], np.arange(folded.size + 1))
        room = np.full(folded.size, -np.inf)
        parents = np.zeros((len(graphs), n), np.bool_)
        draw(target.problem, own, families, scored[place], order, first, upto[order], room, parents)
        found[:, :, scored[place]] = parents
    return found


def _walks(target: Target) -> Iterator[tuple[int, FillArrays, Families]]:
    """Return for every scored node, by its place, what a walk through its parent sets needs."""
    status, scored, table = target.problem.status, target.scored, target.problem.table
    for place, j in enumerate(scored.tolist()):
        candidates, required = (np.flatnonzero(status[:, j] == what) for what in (FREE, REQUIRED))
        bits = np.zeros(target.n_nodes, np.int64)
        bits[np.delete(scored, place)] = 1 << np.arange(scored.size - 1)
        depth = min(candidates.size + required.size, target.max_parents)
        rows = 1 if table.walks else depth * table.widest + 2
        walk = make_walk(target.n_nodes, depth if table.walks else 0)
        own = FillArrays(
            make_frame(),
            walk,
            np.zeros(depth + 1, np.int64),
            np.zeros(depth + 2),
            np.zeros(depth + 2, np.int64),
            np.zeros((rows, rows)),
        )
        yield (
            place,
            own,
            Families(candidates, required, bits, *(np.zeros(size, np.int64) for size in (depth + 2, 2, depth + 2))),
        )


def _chances_of_sets(weights: Floats, sums: Floats, flow: Floats) -> Floats:
    """Return how probable each set S of scored parents of a node is: w(S) Σ_{U ⊇ S} q(U) / α(U)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(flow > 0.0, np.log(np.maximum(flow, 0.0)) - sums, -np.inf)
        for bit in range(int(math.log2(above.size))):
            halves = above.reshape(-1, 2, 1 << bit)
            halves[:, 0] = np.logaddexp(halves[:, 0], halves[:, 1])
        chances = np.exp(weights + above)
    return np.asarray(chances / chances.sum())


@entry
def fold(problem: Problem, own: FillArrays, families: Families, j: int, weights: Floats) -> None:
    """Add what every parent set of j weighs to the place of its scored parents."""
    filling: Filling = open_filling(problem, own)
    begin(filling, families, j)
    while True:
        column = families.columns[families.stand[0]]
        weights[column] = log_add(weights[column], weight(filling, families, j))
        if not advance(filling, families, j):
            return


@entry
def share(
    problem: Problem, own: FillArrays, families: Families, j: int, folded: Floats, chances: Floats, edges: Floats
) -> None:
    """Add the chance of every parent set of j to the edges from its members."""
    filling: Filling = open_filling(problem, own)
    begin(filling, families, j)
    while True:
        depth = families.stand[0]
        column = families.columns[depth]
        if chances[column] > NEGLIGIBLE:
            chance = chances[column] * math.exp(weight(filling, families, j) - folded[column])
            for k in range(depth):
                edges[filling.family[k]] += chance
        if not advance(filling, families, j):
            return


@entry
def draw(
    problem: Problem,
    own: FillArrays,
    families: Families,
    j: int,
    order: Integers,
    first: Integers,
    upto: Floats,
    room: Floats,
    parents: Flags,
) -> None:
    """Give each draw the parent set at which the weights of those with its scored parents add up to its share of all.

    Draws are in the order of their column, and then of how far they want to go. The weights are added up as in `fold`,
    so that they end at the same sum, bit for bit.
    """
    filling: Filling = open_filling(problem, own)
    begin(filling, families, j)
    following = first[:-1].copy()
    while True:
        depth = families.stand[0]
        column = families.columns[depth]
        if following[column] < first[column + 1]:
            room[column] = log_add(room[column], weight(filling, families, j))
            while following[column] < first[column + 1] and upto[following[column]] <= room[column]:
                for k in range(depth):
                    parents[order[following[column]], filling.family[k]] = True
                following[column] += 1
        if not advance(filling, families, j):
            return


@kernel
def begin(filling: Filling, families: Families, j: int) -> None:
    """Stand at the required parents alone; `family` holds the parents in the order in which they were added."""
    if walks(filling):
        begin_walk(filling.table, j, filling.walk)
    families.stand[0] = 0
    families.columns[0] = 0
    for k in range(families.required.size):
        append(filling, families, j, families.required[k], 0)
    families.stand[1] = 0


@kernel
def append(filling: Filling, families: Families, j: int, parent: int, later: int) -> None:
    depth = families.stand[0]
    filling.family[depth] = parent
    families.columns[depth + 1] = families.columns[depth] | families.bits[parent]
    families.stand[0] = descend(filling, j, parent, depth, later)


@kernel
def advance(filling: Filling, families: Families, j: int) -> bool:
    """Go on to the next parent set, depth-first; False after the last."""
    least = families.required.size
    while True:
        depth, following = families.stand[0], families.stand[1]
        if depth < filling.max_parents and following < families.candidates.size:
            filling.branch[depth - least] = following
            parent = families.candidates[following]
            append(filling, families, j, parent, parent + 1)
            families.stand[1] = following + 1
            return True
        if depth == least:
            return False
        families.stand[0] = depth - 1
        families.stand[1] = filling.branch[depth - 1 - least] + 1


@kernel
def weight(filling: Filling, families: Families, j: int) -> float:
    """Return the local log target of j given the present set."""
    depth = families.stand[0]
    if walks(filling):
        return filling.priors[depth] + walk_score(filling.table, j, depth, filling.walk)
    ascending = families.ascending
    for k in range(depth):
        place = k
        while place > 0 and ascending[place - 1] > filling.family[k]:
            ascending[place] = ascending[place - 1]
            place -= 1
        ascending[place] = filling.family[k]
    return filling.priors[depth] + node_score(filling.table, j, ascending, depth, filling.factor)
