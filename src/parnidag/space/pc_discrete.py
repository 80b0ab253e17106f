"""The tests of PC on discrete data: G², the likelihood-ratio test of independence in tables of counts.

Given a set of nodes, rows fall into strata: one for each combination of the set's levels that occurs. With counts n,

    G² = 2 Σ n_ijs ln(n_ijs n_s / (n_is n_js))

over levels i and j of the two nodes and strata s. Under independence it is nearly χ². Following Spirtes, Glymour and
Scheines (2000), levels that do not occur in a stratum do not count there: the degrees of freedom are
Σ_s (levels of one − 1)(levels of the other − 1).

A test needs at least 5 rows for each degree of freedom it could have: (levels − 1)(levels − 1) strata. Otherwise it is
not made, and the pair counts as dependent, also after Spirtes et al.; other programs remove it (pcalg) or test anyhow
(causal-learn), but as a search space, a pair too many costs time and a pair too few is lost. Nor is a pair tested where
no degree of freedom is left, since the set then determines one of the nodes, as with Gaussian data.

Both reasons hold for all larger sets too. So the search through the sets, depth first, turns back as soon as there are
too many strata, and tables of counts are never longer than the data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from parnidag.data.table import Data
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Flags, Floats, Integers, int64
from parnidag.scores.bdeu_counts import make_places, renumber

ROWS_PER_FREEDOM = 5
"""Rows that a test needs for each degree of freedom (Tsamardinos, Brown and Aliferis 2006)."""


class CountTests:
    """All tests of one table at one significance level."""

    def __init__(self, data: Data, alpha: float) -> None:
        columns = [occurring_levels(column) for column in data.discrete().codes]
        self.codes = np.array(columns, np.int32)
        self.arity = self.codes.max(axis=1).astype(np.int64) + 1
        self.alpha, self.rows = alpha, data.n_rows
        counts = data.row_counts()
        self.weights = np.zeros(0, np.int32) if counts is None else counts.astype(np.int32)

    def separated(self, adjacency: NDArray[np.bool_], size: int) -> tuple[NDArray[np.bool_], int] | None:
        """Return the pairs that a set of `size` neighbours of either node separates, and the number of tests made.

        None if no test could be made; then none can with larger sets.
        """
        n = len(adjacency)
        if self.alpha == 0.0:  # every p-value is larger
            return adjacency.copy(), int(adjacency.sum()) // 2
        removed = np.zeros((n, n), dtype=bool)
        critical = self._critical_values(size)
        work = self._workspace(n, size)
        tests = 0
        for node in range(n):  # one call a node: the loop can be interrupted
            tests += search_around(node, self.codes, self.arity, critical, adjacency, removed, work)
        return (removed, tests) if tests else None

    def _workspace(self, n: int, size: int) -> Workspace:
        """Return memory; tables of counts have no more cells than rows, and strata no more than different rows."""
        largest = int(np.prod(np.sort(self.arity)[-2:]))
        cells = min(self.rows, largest * self.codes.shape[1])
        return make_workspace(n, self.codes.shape[1], size, cells, self.rows, self.weights)

    def _critical_values(self, size: int) -> Floats:
        """Return the value of G² at which p = alpha, for as many degrees of freedom as a test may have."""
        largest = np.sort(self.arity)[::-1][: size + 2].astype(float)
        most = min(self.rows // ROWS_PER_FREEDOM, float(np.prod(largest)))
        return np.append(0.0, chdtri(np.arange(1.0, most + 1.0), self.alpha))


def occurring_levels(codes: Integers) -> Integers:
    """Number the levels of a column again, without those that do not occur."""
    occurs = np.bincount(codes) > 0
    return (np.cumsum(occurs) - 1)[codes]


class Workspace(NamedTuple):
    """Memory for the search around one node, and how often rows count.

    A row of codes may stand for several equal rows of the table.
    """

    rows: int
    """Rows of the table."""
    weights: Integers
    """For how many of them each row of codes stands; nothing if for one."""
    neighbours: Integers
    untested: Integers
    """Neighbours not separated from the node yet."""
    chosen: Integers
    """Places, among the neighbours, of the present conditioning set, ascending."""
    strata: Integers
    """Number of each row's stratum given the first 0, 1, … members of the set (size + 1 × rows)."""
    found: Integers
    """How many strata these are."""
    places: Integers
    """For `renumber`."""
    own: Integers
    """Stratum and level of the node in each row, as one number."""
    counts: Integers
    sums: Integers
    """Counts of one stratum without the one or the other node (2 × rows)."""


def make_workspace(n: int, rows: int, size: int, cells: int, all_rows: int, weights: Integers) -> Workspace:
    """Return memory for conditioning sets of one size, rows of codes, and so many cells of counts."""
    return Workspace(
        rows=int64(all_rows),
        weights=weights,
        neighbours=np.zeros(n, np.int64),
        untested=np.zeros(n, np.int64),
        chosen=np.zeros(size + 1, np.int64),
        strata=np.zeros((size + 1, rows), np.int64),
        found=np.ones(size + 1, np.int64),
        places=make_places(rows),
        own=np.zeros(rows, np.int64),
        counts=np.zeros(cells, np.int32),
        sums=np.zeros((2, rows), np.int32),
    )


@entry
def search_around(
    node: int,
    codes: Integers,
    arity: Integers,
    critical: Floats,
    adjacency: Flags,
    removed: Flags,
    work: Workspace,
) -> int:
    """Mark in `removed` the neighbours that some set of other neighbours separates from the node; count the tests.

    The sets are visited in lexicographic order. Without a set, a pair is tested once, around its first node.
    """
    size = int64(work.chosen.size - 1)
    degree, waiting = write_neighbours(node, size, adjacency, removed, work)
    if degree <= size:
        return int64(0)
    tests, depth = int64(0), int64(0)
    work.chosen[0] = 0
    while waiting > 0:
        if depth == size:
            made, waiting = separate(node, codes, arity, critical, removed, work, waiting)
            tests += made
        elif work.chosen[depth] + size - depth <= degree:
            member = work.neighbours[work.chosen[depth]]
            if stratify(codes[member], arity[member], work, depth):
                depth += int64(1)
                work.chosen[depth] = work.chosen[depth - 1] + 1
            else:
                work.chosen[depth] += 1
            continue
        if depth == 0:
            break
        depth -= int64(1)
        work.chosen[depth] += 1
    return tests


@kernel
def write_neighbours(node: int, size: int, adjacency: Flags, removed: Flags, work: Workspace) -> tuple[int, int]:
    """Write the neighbours, and those among them to be tested; return how many there are of both."""
    degree, waiting = int64(0), int64(0)
    for other in range(adjacency.shape[0]):
        if adjacency[node, other]:
            work.neighbours[degree] = other
            degree += int64(1)
            if not removed[node, other] and (size > 0 or other > node):
                work.untested[waiting] = other
                waiting += int64(1)
    return degree, waiting


@kernel
def stratify(codes: Integers, arity: int, work: Workspace, depth: int) -> bool:
    """Divide the strata by the levels of one more member, one level deeper; False if that makes too many."""
    strata = work.strata[depth + 1]
    combine(work.strata[depth], arity, codes, strata)
    work.found[depth + 1] = renumber(strata, float(work.found[depth] * arity), work.places)
    return ROWS_PER_FREEDOM * work.found[depth + 1] <= work.rows


@kernel
def combine(strata: Integers, arity: int, codes: Integers, numbers: Integers) -> None:
    """Write stratum and level as one number."""
    for row in range(numbers.size):
        numbers[row] = strata[row] * arity + codes[row]


@kernel
def separate(
    node: int, codes: Integers, arity: Integers, critical: Floats, removed: Flags, work: Workspace, waiting: int
) -> tuple[int, int]:
    """Test the node with every neighbour still to be tested, given the chosen set.

    Returns the number of tests made, and of neighbours still to be tested.
    """
    size = work.chosen.size - 1
    combine(work.strata[size], arity[node], codes[node], work.own)
    tests, k = int64(0), int64(0)
    while k < waiting:
        other = work.untested[k]
        k += int64(1)
        if is_chosen(other, work) or not is_testable(arity[node], arity[other], work):
            continue
        statistic, freedom = g_square(codes[other], arity[node], arity[other], work)
        if freedom == 0 and size > 0:
            continue
        tests += int64(1)
        if freedom == 0 or statistic < critical[freedom]:
            removed[node, other] = removed[other, node] = True
            k -= int64(1)
            waiting -= int64(1)
            work.untested[k] = work.untested[waiting]
    return tests, waiting


@kernel
def is_chosen(other: int, work: Workspace) -> bool:
    """Is the neighbour in the conditioning set?"""
    times = int64(0)
    for depth in range(work.chosen.size - 1):
        times += int64(work.neighbours[work.chosen[depth]] == other)
    return times > 0


@kernel
def is_testable(one: int, other: int, work: Workspace) -> bool:
    """Are there enough rows to test two nodes with so many levels?"""
    return ROWS_PER_FREEDOM * (one - 1) * (other - 1) * work.found[work.found.size - 1] <= work.rows


@kernel
def g_square(codes: Integers, arity: int, other_arity: int, work: Workspace) -> tuple[float, int]:
    """Return G² and its degrees of freedom for the node and another one, given the chosen set."""
    cells = arity * other_arity
    strata = work.found[work.found.size - 1]
    counts = work.counts[: strata * cells]
    counts[:] = 0
    if work.weights.size == 0:
        for row in range(codes.size):
            counts[work.own[row] * other_arity + codes[row]] += 1
    else:
        for row in range(codes.size):
            counts[work.own[row] * other_arity + codes[row]] += work.weights[row]
    total, freedom = 0.0, int64(0)
    for stratum in range(strata):
        part, degrees = stratum_term(
            counts[stratum * cells : (stratum + 1) * cells], work.sums[0, :arity], work.sums[1, :other_arity]
        )
        total += part
        freedom += degrees
    return 2.0 * total, freedom


@kernel
def stratum_term(counts: Integers, sums: Integers, other_sums: Integers) -> tuple[float, int]:
    """Return half of what one stratum adds to G², and its degrees of freedom."""
    sums[:] = 0
    other_sums[:] = 0
    cell = int64(0)
    for i in range(sums.size):
        for j in range(other_sums.size):
            sums[i] += counts[cell]
            other_sums[j] += counts[cell]
            cell += int64(1)
    whole = 0.0
    levels, other_levels = int64(-1), int64(-1)
    for count in sums:
        whole += count
        levels += int64(count > 0)
    for count in other_sums:
        other_levels += int64(count > 0)
    total, cell = 0.0, int64(0)
    for i in range(sums.size):
        for j in range(other_sums.size):
            if counts[cell] > 0:
                total += counts[cell] * math.log(counts[cell] * whole / (float(sums[i]) * other_sums[j]))
            cell += int64(1)
    return total, levels * other_levels
