"""Chains that sit in different modes: at which nodes, which chains together, and how high. The numbers; no words.

R-hat says *that* chains differ. What to do depends on why: chains that wander between two values, too seldom, need a
longer run; of chains that never left theirs, each looking perfectly stationary, only a bound is known on how long they
stay (`least_stay`). The two are told apart edge by edge, by the frequencies of the edge in the batches of each chain.
Chains are apart at an edge if no batch of the one overlaps with those of the other: the lowest frequency of the higher
chains is above the highest of the lower ones. A chain that goes back and forth has batches on both sides, and so ties
the others together. A visit too short to show in a batch does no harm to this: where visits are short, no chain can
stay for the whole of its run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from parnidag.results.convergence import MINIMUM_DRAWS, Floats, Integers, bulk_ess, chain_probabilities
from parnidag.results.record import RunRecord

MINIMUM_BATCHES = 8
"""With fewer batches, two chains of the same law lie apart by chance too often: for 8 each, twice in 16!/(8! 8!)."""

MINIMUM_SWEEPS = 20
"""A chain that has not tried each of the n(n − 1) edges about this often has not yet shown that it is trapped."""

SETTLED_ESS = 50.0
"""Effective draws of its own log posterior (a quarter of the draws, if they are few) that a settled chain has."""


@dataclass(frozen=True)
class ModeGroup:
    """Nodes at which the chains disagree.

    Attributes
    ----------
    nodes : list of str
        Names of the nodes, in the order of the columns.
    edges : list of (parent, child, probabilities by chain)
        The edges among them that chains disagree on, worst first; chains without kept iterations are left out.
    kind : "separated" or "slow"
        "separated": each chain stays with its own values from its first batch to its last. "slow": chains move between
        the values, or the run is too short to tell.
    chain_groups : list of list of int
        Chains that sit in the same mode, by index from 0; a single group if the kind is "slow".
    by_start : bool or None
        Does each chain sit in the mode that its own start is nearest to? None if unknown, or if the kind is "slow".
    log_posterior_gap, log_posterior_gap_error : list of float or None
        How far the mean log posterior of each group of chains is below that of the highest one, and the Monte-Carlo
        standard error; None with too few draws, or if the kind is "slow".
    """

    nodes: list[str]
    edges: list[tuple[str, str, list[float]]]
    kind: Literal["separated", "slow"]
    chain_groups: list[list[int]]
    by_start: bool | None
    log_posterior_gap: list[float] | None
    log_posterior_gap_error: list[float] | None


def find_modes(record: RunRecord, log_posterior: Floats, limit: float) -> list[ModeGroup]:
    """Group the nodes at which chains disagree, and the chains that agree there.

    Edges whose probabilities differ between chains by more than `limit` join their nodes into groups. Those at which
    chains are apart (see the top of this file) do so first, so that a slow edge nearby does not blur a separated mode.
    Separated groups come first, then those with the largest disagreement.
    """
    kept = np.flatnonzero(record.batch_iterations.sum(axis=1))
    everywhere = chain_probabilities(record.batch_counts, record.batch_iterations)
    spread = np.ptp(everywhere, axis=0) if len(kept) > 1 else np.zeros(everywhere.shape[1])
    edges = np.flatnonzero(spread > limit)
    if edges.size == 0:
        return []
    sides = _sides(record, kept, edges, limit)
    settled = _settled(record, log_posterior)[kept]
    # There must be a settled chain on each side: others may be apart only because they are still moving.
    sides *= np.logical_and.reduce([(sides[settled] == side).any(axis=0) for side in sides])
    separated = np.asarray((sides > 0).any(axis=0))
    group_of = _groups(record.edge_codes[edges], separated, len(record.nodes))
    heights = _heights(log_posterior)
    found = []
    for members in _by_group(group_of, spread[edges]):
        names, named = _named(record, edges[members], everywhere)
        decisive = members[separated[members]]
        if decisive.size:
            chain_groups = _alike(dict(zip(kept.tolist(), sides[:, decisive].tolist(), strict=True)))
            by_start = _by_start(record, edges[decisive], chain_groups)
            found.append(ModeGroup(names, named, "separated", chain_groups, by_start, *_gaps(heights, chain_groups)))
        else:
            found.append(ModeGroup(names, named, "slow", [kept.tolist()], None, None, None))
    return sorted(found, key=lambda group: group.kind == "slow")  # stable, so that the worst stays first


def common_chain_groups(groups: list[ModeGroup]) -> list[list[int]]:
    """Return the chains that sit in the same mode at all separated groups of nodes; nothing if there are none.

    Examples
    --------
    >>> def at(nodes, chains): return ModeGroup(nodes, [], "separated", chains, None, None, None)
    >>> common_chain_groups([at(["A", "B"], [[0, 1], [2, 3]]), at(["C", "D"], [[0, 2, 3], [1]])])
    [[0], [1], [2, 3]]
    """
    places: dict[int, list[int]] = {}
    for group in groups:
        if group.kind == "separated":
            for number, chains in enumerate(group.chain_groups):
                for chain in chains:
                    places.setdefault(chain, []).append(number)
    return _alike(dict(sorted(places.items())))


def least_stay(record: RunRecord) -> float:
    """Return how many iterations a chain stays in its mode at least, on average, if none of them was seen to cross.

    With crossings at a rate of r per iteration, T iterations of all chains together have none with probability
    exp(−rT). That is below 5 % for every rate above −log(0.05)/T = 3.0/T: a one-sided 95 % bound.
    """
    return float(record.batch_iterations.sum() / -math.log(0.05))


# ── edges: on which side of a gap is each chain? ──────────────────────────────────────────────────────────────────────


def _settled(record: RunRecord, log_posterior: Floats) -> NDArray[np.bool_]:
    """Which chains look stationary by themselves, and ran for long enough that their standing still means something."""
    n = len(record.nodes)
    moves = record.batch_iterations.sum(axis=1).astype(np.float64)
    tries = record.statistics.get("tries")  # some samplers try several edges in an iteration
    if tries is not None:
        moves *= np.fmax(tries, 1.0)
    filled = (record.batch_iterations > 0).sum(axis=1)
    ess = np.array([bulk_ess(draws[None]) for draws in log_posterior])
    enough = np.isnan(ess) | (ess >= min(SETTLED_ESS, log_posterior.shape[1] / 4))  # NaN: it never changes
    return np.asarray(enough & (filled >= MINIMUM_BATCHES) & (moves >= MINIMUM_SWEEPS * n * (n - 1)))


def _sides(record: RunRecord, kept: Integers, edges: Integers, limit: float) -> Integers:
    """Number the sides of the gaps at each edge, from 0 at the bottom: (kept chain, edge)."""
    low, high, mean = np.zeros((3, len(kept), len(edges)))
    for row, chain in enumerate(kept):
        filled = np.flatnonzero(record.batch_iterations[chain])
        lengths = record.batch_iterations[chain, filled]
        counts = record.batch_counts[chain][np.ix_(filled, edges)]
        frequencies = counts / lengths[:, None]
        low[row], high[row] = frequencies.min(axis=0), frequencies.max(axis=0)
        mean[row] = counts.sum(axis=0) / lengths.sum()
    return gap_sides(low, high, mean, limit)


def gap_sides(low: Floats, high: Floats, mean: Floats, limit: float) -> Integers:
    """Cut chains apart where their intervals leave a gap, edge by edge: count the gaps below each chain, (chain, edge).

    The means on both sides of a gap must differ by more than `limit`.
    """
    order = np.argsort(low, axis=0, kind="stable")
    low, high, mean = (np.take_along_axis(values, order, axis=0) for values in (low, high, mean))
    reached = np.maximum.accumulate(high, axis=0)[:-1]
    below = np.maximum.accumulate(mean, axis=0)[:-1]
    above = np.minimum.accumulate(mean[::-1], axis=0)[::-1][1:]
    gaps = (low[1:] > reached) & (above - below > limit)
    sides = np.zeros(order.shape, np.int64)
    np.put_along_axis(sides, order[1:], gaps.cumsum(axis=0), axis=0)
    return sides


# ── nodes and chains that belong together ─────────────────────────────────────────────────────────────────────────────


def _groups(codes: NDArray[np.int32], separated: NDArray[np.bool_], n_nodes: int) -> Integers:
    """Number the group of each edge; slow edges between nodes of a separated group belong to it."""
    parents, children = np.divmod(codes.astype(np.int64), n_nodes)

    def components(chosen: NDArray[np.bool_]) -> Integers:
        ends = (parents[chosen], children[chosen])
        joined = coo_array((np.ones(len(ends[0]), bool), ends), shape=(n_nodes, n_nodes))
        return np.asarray(connected_components(joined, directed=False)[1], np.int64)

    first = components(separated)
    inside = first[parents] == first[children]
    return np.where(inside, first[parents], n_nodes + components(~inside)[parents])


def _by_group(group_of: Integers, spread: Floats) -> list[Integers]:
    order = np.lexsort((-spread, group_of))
    starts = np.flatnonzero(np.diff(group_of[order])) + 1
    return sorted(np.split(order, starts), key=lambda members: -float(spread[members[0]]))


def _named(record: RunRecord, edges: Integers, chains: Floats) -> tuple[list[str], list[tuple[str, str, list[float]]]]:
    parents, children = np.divmod(record.edge_codes[edges], len(record.nodes))
    nodes = [record.nodes[node] for node in np.union1d(parents, children)]
    columns = zip(parents.tolist(), children.tolist(), chains[:, edges].T.tolist(), strict=True)
    return nodes, [(record.nodes[parent], record.nodes[child], by_chain) for parent, child, by_chain in columns]


def _alike(places: dict[int, list[int]]) -> list[list[int]]:
    """Put chains together that are at the same place everywhere, in the order of their first members."""
    together: dict[tuple[int, ...], list[int]] = {}
    for chain, place in places.items():
        together.setdefault(tuple(place), []).append(chain)
    return list(together.values())


def _by_start(record: RunRecord, edges: Integers, chain_groups: list[list[int]]) -> bool | None:
    """Is every chain's start nearer to the mode that the chain sits in than to any other?"""
    starts = record.starts
    if starts is None:
        return None
    counts, lengths = record.batch_counts[:, :, edges].sum(axis=1), record.batch_iterations.sum(axis=1)
    centres = np.array([(counts[chains] / lengths[chains, None]).mean(axis=0) for chains in chain_groups])
    for own, chains in enumerate(chain_groups):
        for chain in chains:
            distance = np.abs(centres - np.isin(record.edge_codes[edges], starts[chain])).sum(axis=1)
            if (np.delete(distance, own) <= distance[own]).any():
                return False
    return True


# ── how high a mode is ────────────────────────────────────────────────────────────────────────────────────────────────


def _heights(log_posterior: Floats) -> tuple[Floats, Floats] | None:
    """Return the mean log posterior of each chain and its Monte-Carlo variance; None with too few draws."""
    if log_posterior.shape[1] < MINIMUM_DRAWS or not np.isfinite(log_posterior).all():
        return None
    ess = np.array([bulk_ess(draws[None]) for draws in log_posterior])
    variance = log_posterior.var(axis=1, ddof=1) / ess
    return log_posterior.mean(axis=1), np.where(np.isnan(ess), 0.0, variance)


def _gaps(
    heights: tuple[Floats, Floats] | None, chain_groups: list[list[int]]
) -> tuple[list[float], list[float]] | tuple[None, None]:
    """Return how far each group of chains is below the highest, and the standard errors.

    The error of a group is what its chains' own draws say, or their spread if that is larger: they may differ elsewhere
    in the graph.
    """
    if heights is None:
        return None, None
    mean, variance = heights
    level = np.array([mean[chains].mean() for chains in chain_groups])
    own = np.array([variance[chains].sum() / len(chains) ** 2 for chains in chain_groups])
    spread = np.array([mean[chains].var(ddof=1) / len(chains) if len(chains) > 1 else 0.0 for chains in chain_groups])
    squared = np.fmax(own, spread)
    top = int(level.argmax())
    errors = [0.0 if k == top else math.sqrt(squared[k] + squared[top]) for k in range(len(level))]
    return (level[top] - level).tolist(), errors
