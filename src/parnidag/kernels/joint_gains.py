"""What small sets of parents gain together: the sum of two bits explains a node that neither bit explains alone.

The joint gain of a set P for node j is by how much the local log target of j with P exceeds that with the best smaller
subset of P. Sets of one parent have the gain of an edge; a set of several has a positive gain only if it needs all of
its members, so chains and searches that add one edge at a time may never see it. All sets of up to `largest` parents
are looked at, size by size, in the order of the combinatorial number system: {c₁ < c₂ < …} is number Σ C(cᵢ, i).
"""

from __future__ import annotations

from math import comb

import numpy as np

from parnidag.kernels.dag import Dag, GraphArrays, Scratch, open_dag
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.problem import FREE, REQUIRED, Problem
from parnidag.kernels.score_cache import local_score
from parnidag.kernels.types import Floats, Integers, int64


def binomials(nodes: int, largest: int) -> Integers:
    """Return C(m, k) for m below `nodes` and k up to `largest`."""
    return np.array([[comb(m, k) for k in range(largest + 1)] for m in range(nodes + 1)], np.int64)


@entry
def find_joint_gains(
    problem: Problem, graph: GraphArrays, scratch: Scratch, choose: Integers, best: Floats, gains: Floats
) -> None:
    """Raise `gains` [i, j] to the largest joint gain for j of any set with i in it; `choose` are `binomials`.

    `best` is room for two tables with an entry for every largest set.
    """
    dag: Dag = open_dag(problem, graph, scratch)
    largest = choose.shape[1] - 1
    members, free = np.zeros(largest, np.int64), np.zeros(dag.n, np.int64)
    for j in range(dag.n):
        count = list_free(dag, int64(j), free)
        best[0, 0] = local_with(dag, int64(j), free, members[:0])
        for size in range(1, min(largest, count) + 1):
            smaller, these = best[(size - 1) % 2], best[size % 2]
            for number in range(choose[count, size]):
                unrank(choose, number, members[:size])
                below = best_facet(choose, smaller, members[:size])
                score = local_with(dag, int64(j), free, members[:size])
                these[number] = max(score, below)
                for k in range(size):
                    i = free[members[k]]
                    gains[i, j] = max(gains[i, j], score - below)


@kernel
def list_free(dag: Dag, node: int, free: Integers) -> int:
    count = int64(0)
    for i in range(dag.n):
        if dag.status[i, node] == FREE:
            free[count] = i
            count += int64(1)
    return count


@kernel
def unrank(choose: Integers, number: int, members: Integers) -> None:
    """Write the set of a number, smallest member first."""
    top = choose.shape[0] - 1
    for k in range(members.size, 0, -1):
        while choose[top, k] > number:
            top -= 1
        members[k - 1] = top
        number -= choose[top, k]


@kernel
def best_facet(choose: Integers, smaller: Floats, members: Integers) -> float:
    """Return the best score of any subset that lacks at least one member."""
    best = -np.inf
    for left_out in range(members.size):
        number = int64(0)
        for k in range(members.size):
            if k < left_out:
                number += choose[members[k], k + 1]
            elif k > left_out:
                number += choose[members[k], k]
        best = max(best, smaller[number])
    return best


@kernel
def local_with(dag: Dag, node: int, free: Integers, members: Integers) -> float:
    """Return the local log target of a node with these parents and those required; −inf for one too many."""
    degree = int64(0)
    for i in range(dag.n):
        wanted = dag.status[i, node] == REQUIRED
        for k in range(members.size):
            wanted |= free[members[k]] == i
        if wanted:
            if degree == dag.max_parents:
                return -np.inf
            dag.family[degree] = i
            degree += int64(1)
    return local_score(dag, node, degree)
