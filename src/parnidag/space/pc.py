"""Which pairs of nodes may be joined at all: the PC-stable skeleton.

PC starts from the complete undirected graph and removes a pair once some set of neighbours makes it independent, by
Fisher's z test of the partial correlation, with sets of 0, 1, 2, … nodes. In the stable variant of Colombo and Maathuis
(2014, JMLR 15, section 4.1) the neighbours are frozen while sets of one size are tried, so that the result does not
depend on the order of the columns. Discrete data have tests of their own, in `pc_discrete`.

Around one node, all pairs that share a conditioning set are tested together. Going through the sets depth-first,
each chosen member is eliminated from the covariance of the node and its neighbours (one step of Gaussian elimination),
so that a test costs a handful of operations whatever the size of the set.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from parnidag._util.checks import number, whole
from parnidag.data.table import as_data
from parnidag.errors import ParnidagError
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Flags, Floats, Integers, int64
from parnidag.space.pc_discrete import CountTests, remove_pair, write_neighbours

LARGEST_CORRELATION = 1.0 - 1e-15
"""Partial correlations beyond this are rounding; they count as this one."""
SINGULAR = 1e-12
"""A share of a node's variance this small, left by the conditioning set, is rounding: the test says "dependent"."""
IN_THE_SET = -1.0
"""Variance left of a node that is itself in the conditioning set; below `SINGULAR`, so it is never tested."""


class Level(NamedTuple):
    """What the conditioning sets of one size did."""

    conditioning: int
    """Size of the conditioning sets."""
    edges: int
    """Edges left afterwards."""
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Skeleton:
    """An undirected graph of the pairs that may be joined, and how it was found.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    adjacency : array of bool, shape (nodes, nodes)
        Symmetric and read-only; True where a pair may be joined.
    separating_sizes : array of int, shape (nodes, nodes)
        Size of the conditioning set that removed each pair; −1 where the pair is still there and on the diagonal.
    alpha : float
        Significance level of the tests.
    max_conditioning : int or None
        Largest conditioning set that was allowed; None for no bound.
    tests : int
        Number of tests made. Unlike the rest it depends on the order of the columns, since a pair is left alone after
        the first set that separates it.
    levels : tuple of Level
        For each size of conditioning sets that was tried: the size, the edges left, and the seconds it took.
    seconds : float
        Time taken in all.
    """

    names: tuple[str, ...]
    adjacency: NDArray[np.bool_]
    separating_sizes: NDArray[np.int64]
    alpha: float
    max_conditioning: int | None
    tests: int
    levels: tuple[Level, ...] = field(default=())
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.adjacency.flags.writeable = False
        self.separating_sizes.flags.writeable = False

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The pairs as names, each once, in the order of the columns."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(np.triu(self.adjacency)).tolist()]

    def __repr__(self) -> str:
        bound = "" if self.max_conditioning is None else f", max_conditioning={self.max_conditioning}"
        edges = int(self.adjacency.sum()) // 2
        return (
            f"Skeleton({len(self.names)} nodes, {edges} edges; alpha={self.alpha:g}{bound}, "
            f"{self.tests:,} tests in {self.seconds:.3g} s)"
        )


def pc(data: object, alpha: float = 0.05, max_conditioning: int | None = None) -> Skeleton:
    """Find the skeleton of the data by the PC-stable algorithm: Fisher's z for measurements, G² for discrete data.

    Parameters
    ----------
    data
        Any table that `parnidag.sample` takes: a data frame, an array, the path of a file, a `Data`.
    alpha
        Significance level, from 0 to below 1: a pair is removed once a test has p > alpha, so a larger alpha keeps
        more pairs; 0 keeps none.
    max_conditioning
        Size of the largest conditioning set; None (default) sets no bound. Sets so large that Fisher's z has no
        degrees of freedom left, rows − size − 3 ≤ 0, are never tried; nor are tests of discrete data with fewer than 5
        rows for each degree of freedom. What is not tested counts as dependent.

    Returns
    -------
    Skeleton
        The pairs that are left. The same for any order of the columns.

    Examples
    --------
    >>> from parnidag.simulation import example_network
    >>> garden = example_network()
    >>> skeleton = pc(garden.values, alpha=0.01)
    >>> len(skeleton.edges), len(garden.edges)
    (25, 28)
    >>> [(level.conditioning, level.edges) for level in skeleton.levels][:2]
    [(0, 112), (1, 34)]
    """
    start = time.perf_counter()
    alpha = number(alpha, "alpha", least=0, below=1)
    largest = None if max_conditioning is None else whole(max_conditioning, "max_conditioning", note="or None")
    table = as_data(data)
    if table.has_interventions:
        raise ParnidagError(
            "the tests of PC know nothing of interventions: use space.iterative(data, score=...) instead"
        )
    if table.kind == "discrete":
        independence: CountTests | FisherTests = CountTests(table, alpha)
    else:
        independence = FisherTests(table.n_rows, table.standardised_gram() / (table.n_rows - 1), alpha)
    adjacency, sizes, tests, levels = thinned(independence, table.n_nodes, largest)
    seconds = time.perf_counter() - start
    return Skeleton(table.names, adjacency, sizes, alpha, largest, tests, tuple(levels), seconds)


def thinned(
    independence: CountTests | FisherTests, n: int, largest: int | None
) -> tuple[NDArray[np.bool_], NDArray[np.int64], int, list[Level]]:
    """Return the pairs that no test removes, the sizes of the sets that removed the others, and the tests made."""
    adjacency = ~np.eye(n, dtype=bool)
    sizes = np.full((n, n), -1)
    tests, levels = 0, []
    size = 0
    while adjacency.sum(axis=1).max() > size and (largest is None or size <= largest):
        level_start = time.perf_counter()
        outcome = independence.separated(adjacency, size)
        if outcome is None:
            break
        removed, made = outcome
        sizes[removed] = size
        adjacency &= ~removed  # only now: within a level every search sees the same neighbours
        tests += made
        levels.append(Level(size, int(adjacency.sum()) // 2, time.perf_counter() - level_start))
        size += 1
    return adjacency, sizes, tests, levels


class FisherTests:
    """All tests of a table of measurements at one significance level."""

    def __init__(self, rows: int, correlation: Floats, alpha: float) -> None:
        self.rows, self.correlation, self.alpha = rows, np.ascontiguousarray(correlation), alpha

    def separated(self, adjacency: NDArray[np.bool_], size: int) -> tuple[NDArray[np.bool_], int] | None:
        """Return the pairs that a set of `size` neighbours of either node separates, and the number of tests made.

        None if Fisher's z has no degrees of freedom. With alpha = 0 every test removes its pair, whatever these are.
        """
        freedom = self.rows - size - 3
        if freedom <= 0 and self.alpha != 0.0:
            return None
        n, bound = len(adjacency), squared_bound(self.alpha, freedom)
        if size == 0:
            return adjacency & (self.correlation**2 < bound), n * (n - 1) // 2
        places = int(adjacency.sum(axis=1).max()) + 1
        work = Workspace(
            bound=bound,
            nodes=np.zeros(places, np.int64),
            untested=np.zeros(places, np.int64),
            chosen=np.zeros(size, np.int64),
            covariance=np.zeros((size, places, places)),
            variance=np.zeros((size, places)),
            removed=np.zeros((n, n), dtype=bool),
        )
        # call by call, so that the loop can be interrupted
        return work.removed, sum(search_around(node, self.correlation, adjacency, work) for node in range(n))


def squared_bound(alpha: float, freedom: int) -> float:
    """Return the square of the partial correlation at which p = alpha, infinite if every correlation has p > alpha.

    Fisher's z = atanh(r) √freedom is beyond its critical value exactly when r is beyond this bound, so kernels compare
    squares of correlations and need no logarithms.
    """
    critical = -float(ndtri(alpha / 2.0))
    bound = 1.0 if math.isinf(critical) else math.tanh(critical / math.sqrt(freedom))
    return bound**2 if bound <= LARGEST_CORRELATION else math.inf


class Workspace(NamedTuple):
    """Memory for the search around one node; for what is not said here see `pc_discrete.Workspace`."""

    bound: float
    """See `squared_bound`."""
    nodes: Integers
    untested: Integers
    chosen: Integers
    """Places in the present conditioning set, ascending; the last one is not kept here."""
    covariance: Floats
    """Covariance of the nodes given the first 0, 1, … members of the set; rows up to the last of these are stale."""
    variance: Floats
    """Its diagonal, valid at every place."""
    removed: Flags


@entry
def search_around(node: int, correlation: Floats, adjacency: Flags, work: Workspace) -> int:
    """Mark in `removed` the neighbours that some set of other neighbours separates from the node; count the tests.

    The sets are visited in lexicographic order; all members but the last are eliminated on the way down.
    """
    size = int64(work.chosen.size)
    degree, waiting = write_neighbours(node, size, adjacency, work)
    if degree <= size or waiting == 0:
        return int64(0)
    for a in range(degree + 1):
        for b in range(degree + 1):
            work.covariance[0, a, b] = correlation[work.nodes[a], work.nodes[b]]
        work.variance[0, a] = correlation[work.nodes[a], work.nodes[a]]
    tests, depth, place = int64(0), int64(0), int64(0)
    while waiting > 0:
        if depth < size - 1 and place + size - depth <= degree:
            if eliminate(work, depth, place, degree):
                work.chosen[depth] = place
                depth += int64(1)
            place += int64(1)
            continue
        if depth == size - 1:
            made, waiting = separate(work, depth, place, degree, waiting)
            tests += made
        if depth == 0:
            break
        depth -= int64(1)
        place = work.chosen[depth] + int64(1)
    return tests


@kernel
def eliminate(work: Workspace, depth: int, member: int, degree: int) -> bool:
    """Write the covariance given one more member, one level deeper; False if the set already determines the member.

    Later members have higher places, so only rows from there on are needed, and that of the node itself.
    """
    before, after = work.covariance[depth], work.covariance[depth + 1]
    variance, variance_after = work.variance[depth], work.variance[depth + 1]
    pivot = variance[member]
    if pivot <= SINGULAR:
        return False
    for b in range(degree + 1):
        variance_after[b] = variance[b] - before[member, b] * before[member, b] / pivot
    variance_after[member] = IN_THE_SET
    for a in range(member + 1, degree + 1):
        slope = before[a, member] / pivot
        for b in range(degree + 1):
            after[a, b] = before[a, b] - slope * before[member, b]
    return True


@kernel
def separate(work: Workspace, depth: int, first: int, degree: int, waiting: int) -> tuple[int, int]:
    """Test the node with every neighbour still to be tested, given the chosen members and each last one in turn.

    Returns the number of tests made, and of neighbours still to be tested.
    """
    covariance, variance = work.covariance[depth], work.variance[depth]
    tests = int64(0)
    for last in range(first, degree):
        pivot = variance[last]
        if pivot <= SINGULAR:
            continue
        slope = covariance[degree, last] / pivot
        own = variance[degree] - slope * covariance[degree, last]
        if own <= SINGULAR:
            continue
        k = int64(0)
        while k < waiting:
            place = work.untested[k]
            shared = covariance[last, place]
            rest = variance[place] - shared * shared / pivot
            k += int64(1)
            if place == last or rest <= SINGULAR:
                continue
            tests += int64(1)
            joint = covariance[degree, place] - slope * shared
            if joint * joint < work.bound * own * rest:
                k -= int64(1)
                remove_pair(work, degree, k, waiting)
                waiting -= int64(1)
    return tests, waiting
