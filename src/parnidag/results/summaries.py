"""Summaries of the graphs themselves: what they have in common, and which are on top.

They are averages over the stored draws of a record: the mean over chains of the share of draws with a property.
Chains store equally many draws, so that is the share of all draws. Each unique graph is looked at once and weighs as
often as it was drawn. What brings in the compiler is imported only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import whole
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency, adjacency_from_codes
from parnidag.results.convergence import merge_rounding
from parnidag.results.packing import fingerprints, number_graphs
from parnidag.results.record import RunRecord

Floats = NDArray[np.float64]

EDGES_AT_ONCE = 1 << 22
"""Edges of graphs that are looked at together, where each takes memory."""
MOST_TIED = 10_000
"""Equally high graphs that are put in order by their edges."""


def cpdag_probabilities(record: RunRecord) -> tuple[Floats, Floats]:
    """Return how probable each edge is in the CPDAG of the graph: compelled, and (symmetric) reversible."""
    from parnidag.graphs.equivalence import compelled_edges

    times, n = _times_drawn(record), len(record.nodes)
    counts = np.zeros((2, n * n))  # whole numbers, as floats
    for start, offsets, edges in _portions(record):
        compelled = compelled_edges(n, offsets, edges)
        weights = np.repeat(times[start : start + len(offsets) - 1], np.diff(offsets))
        for row, chosen in enumerate((compelled, ~compelled)):
            counts[row] += np.bincount(edges[chosen], weights=weights[chosen], minlength=n * n)
    compelled_shares, reversible = (counts / record.graph_index.size).reshape(2, n, n)
    return compelled_shares, reversible + reversible.T


def path_probabilities(record: RunRecord) -> Floats:
    """Return the probability of a directed path from each node to each other; the diagonal is zero."""
    from parnidag.graphs.ancestors import count_ancestors

    counts = count_ancestors(len(record.nodes), record.graph_offsets, record.graph_edges, _times_drawn(record))
    return np.ascontiguousarray(counts) / record.graph_index.size


def blanket_probabilities(record: RunRecord) -> Floats:
    """Return the probability that two nodes are in each other's Markov blanket; symmetric, with a diagonal of zeros."""
    from parnidag.graphs.ancestors import count_blankets

    counts = count_blankets(len(record.nodes), record.graph_offsets, record.graph_edges, _times_drawn(record))
    return counts / record.graph_index.size


def _portions(record: RunRecord) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int32]]]:
    """Go through the graphs in portions that fit memory: number of the first, then offsets and edges of the portion."""
    bounds = record.graph_offsets
    start = 0
    while start < len(bounds) - 1:
        stop = int(np.searchsorted(bounds, bounds[start] + EDGES_AT_ONCE, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, bounds[start : stop + 1] - bounds[start], record.graph_edges[bounds[start] : bounds[stop]]
        start = stop


def _times_drawn(record: RunRecord) -> NDArray[np.int64]:
    """Return how often each unique graph was drawn, or say that there are no draws to average over."""
    if record.graph_index.size:
        return np.bincount(record.graph_index.ravel(), minlength=len(record.graph_offsets) - 1)
    if record.exact_probabilities is not None:
        raise ParnidagError(
            "this exact result has edge probabilities but no graphs to average over; "
            "ask for draws: parnidag.exact(..., draws=1000)"
        )
    raise ParnidagError("the run stored no draws, so there are no graphs to average over; let it run longer")


def top_graphs(record: RunRecord, k: int) -> list[tuple[Adjacency, float, float]]:
    """Return the distinct stored graphs with the highest log posterior, best first: graph, share of draws, height.

    Log posteriors that differ by rounding only are equal; equally good graphs come in the order of their edge codes,
    whichever was drawn first.
    """
    times = _times_drawn(record)
    whole(k, "k", least=1)
    heights = np.full(len(times), -np.inf)
    # Chains draw a graph at several levels of what is learned: the highest counts.
    np.maximum.at(heights, record.graph_index.ravel(), merge_rounding(record.log_posterior.ravel()))
    return [
        (
            adjacency_from_codes(record.graph_codes(graph), len(record.nodes)),
            float(times[graph] / record.graph_index.size),
            float(heights[graph]),
        )
        for graph in _highest(heights, record.graph_codes, k)
        if times[graph]
    ]


def top_classes(record: RunRecord, k: int) -> list[tuple[Adjacency, float]]:
    """Return the equivalence classes that were drawn most often, the most frequent first: CPDAG and share of draws.

    In a CPDAG a reversible edge has both directions set. Equally frequent classes come in the order of their edge
    codes.
    """
    from parnidag.graphs.equivalence import cpdag_codes

    times = _times_drawn(record)
    whole(k, "k", least=1)
    n = len(record.nodes)
    prints = np.empty((2, len(times)), np.uint64)
    for start, offsets, edges in _portions(record):
        codes, ends = cpdag_codes(n, offsets, edges)
        prints[:, start : start + len(ends)] = fingerprints(codes, np.diff(ends, prepend=0).astype(np.int32))
    class_of, firsts = number_graphs(prints)
    drawn = np.bincount(class_of, weights=times)  # whole numbers, as floats

    def codes_of(top: int) -> NDArray[np.int32]:
        edges = record.graph_codes(int(firsts[top]))
        return np.sort(cpdag_codes(n, np.array([0, edges.size]), edges)[0])

    return [
        (adjacency_from_codes(codes_of(top), n), float(drawn[top] / record.graph_index.size))
        for top in _highest(drawn, codes_of, k)
        if drawn[top]
    ]


def _highest(heights: NDArray[Any], codes_of: Callable[[int], NDArray[np.int32]], k: int) -> list[int]:
    """Return the k highest, ties in lexicographic order of their codes; very many ties as they were first drawn."""
    k = min(k, len(heights))
    least = np.partition(heights, len(heights) - k)[len(heights) - k]
    candidates = np.flatnonzero(heights >= least).tolist()
    if len(candidates) > k + MOST_TIED:
        return sorted(candidates, key=lambda graph: -heights[graph])[:k]
    # Big-endian bytes of numbers that are not negative compare as the numbers do.
    keys = {graph: codes_of(graph).astype(">i4").tobytes() for graph in candidates}
    return sorted(candidates, key=lambda graph: (-heights[graph], keys[graph]))[:k]
