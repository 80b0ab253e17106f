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
from typing import Any, NamedTuple

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
        work = self._workspace(n, size)
        tests = sum(search_around(node, adjacency, work) for node in range(n))  # call by call, to be interruptible
        return (work.removed, tests) if tests else None

    def _workspace(self, n: int, size: int) -> Workspace:
        """Return memory; tables of counts have no more cells than rows, and strata no more than different rows."""
        rows, largest = self.codes.shape[1], int(np.prod(np.sort(self.arity)[-2:]))
        return Workspace(
            codes=self.codes,
            arity=self.arity,
            critical=self._critical_values(size),
            rows=int64(self.rows),
            weights=self.weights,
            nodes=np.zeros(n, np.int64),
            untested=np.zeros(n, np.int64),
            chosen=np.zeros(size, np.int64),
            removed=np.zeros((n, n), dtype=bool),
            strata=np.zeros((size + 1, rows), np.int64),
            found=np.ones(size + 1, np.int64),
            places=make_places(rows),
            own=np.zeros(rows, np.int64),
            counts=np.zeros(min(self.rows, largest * rows), np.int32),
            sums=np.zeros((2, rows), np.int32),
        )

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
    """The tests, and memory for the search around one node; its m neighbours have places 0 … m − 1, itself place m."""

    codes: Integers
    """A row of codes may stand for several equal rows of the table."""
    arity: Integers
    critical: Floats
    rows: int
    """Rows of the table."""
    weights: Integers
    """For how many of them each row of codes stands; nothing if for one."""
    nodes: Integers
    """The node at each place."""
    untested: Integers
    """Places of the neighbours not separated from the node yet, in no particular order."""
    chosen: Integers
    """Places in the present conditioning set, ascending."""
    removed: Flags
    """Pairs that are separated."""
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


@entry
def search_around(node: int, adjacency: Flags, work: Workspace) -> int:
    """Mark in `removed` the neighbours that some set of other neighbours separates from the node; count the tests.

    The sets are visited in lexicographic order.
    """
    size = int64(work.chosen.size)
    degree, waiting = write_neighbours(node, size, adjacency, work)
    tests, depth, place = int64(0), int64(0), int64(0)
    while waiting > 0 and degree > size:
        if depth == size:
            made, waiting = separate(work, degree, waiting)
            tests += made
        elif place + size - depth <= degree:
            if stratify(work, depth, work.nodes[place]):
                work.chosen[depth] = place
                depth += int64(1)
            place += int64(1)
            continue
        if depth == 0:
            break
        depth -= int64(1)
        place = work.chosen[depth] + int64(1)
    return tests


@kernel
def write_neighbours(node: int, size: int, adjacency: Flags, work: Any) -> tuple[int, int]:
    """Write the neighbours, the node itself, and the places to be tested; return how many neighbours and places.

    Without a set, a pair is tested once, around its first node.
    """
    degree, waiting = int64(0), int64(0)
    for other in range(adjacency.shape[0]):
        if adjacency[node, other]:
            if not work.removed[node, other] and (size > 0 or other > node):
                work.untested[waiting] = degree
                waiting += int64(1)
            work.nodes[degree] = other
            degree += int64(1)
    work.nodes[degree] = node
    return degree, waiting


@kernel
def remove_pair(work: Any, degree: int, k: int, waiting: int) -> None:
    """Note that the k-th of the places to be tested is separated from the node; the last one takes its turn."""
    node, other = work.nodes[degree], work.nodes[work.untested[k]]
    work.removed[node, other] = work.removed[other, node] = True
    work.untested[k] = work.untested[waiting - 1]


@kernel
def stratify(work: Workspace, depth: int, member: int) -> bool:
    """Divide the strata by the levels of one more member, one level deeper; False if that makes too many."""
    strata = work.strata[depth + 1]
    combine(work.strata[depth], work.arity[member], work.codes[member], strata)
    work.found[depth + 1] = renumber(strata, float(work.found[depth] * work.arity[member]), work.places)
    return ROWS_PER_FREEDOM * work.found[depth + 1] <= work.rows


@kernel
def combine(strata: Integers, arity: int, codes: Integers, numbers: Integers) -> None:
    """Write stratum and level as one number."""
    for row in range(numbers.size):
        numbers[row] = strata[row] * arity + codes[row]


@kernel
def separate(work: Workspace, degree: int, waiting: int) -> tuple[int, int]:
    """Test the node with every neighbour still to be tested, given the chosen set.

    Returns the number of tests made, and of neighbours still to be tested.
    """
    node, size = work.nodes[degree], work.chosen.size
    arity, strata = work.arity[node], work.found[size]
    combine(work.strata[size], arity, work.codes[node], work.own)
    tests, k = int64(0), int64(0)
    while k < waiting:
        place = work.untested[k]
        other = work.nodes[place]
        enough = ROWS_PER_FREEDOM * (arity - 1) * (work.arity[other] - 1) * strata <= work.rows
        k += int64(1)
        if not enough or is_chosen(work, place):
            continue
        statistic, freedom = g_square(work.codes[other], arity, work.arity[other], work)
        if freedom == 0 and size > 0:
            continue
        tests += int64(1)
        if freedom == 0 or statistic < work.critical[freedom]:
            k -= int64(1)
            remove_pair(work, degree, k, waiting)
            waiting -= int64(1)
    return tests, waiting


@kernel
def is_chosen(work: Workspace, place: int) -> bool:
    times = int64(0)
    for member in work.chosen:
        times += int64(member == place)
    return times > 0


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
