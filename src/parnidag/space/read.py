"""Skeletons from elsewhere: matrices, graphs and results of other methods, read as pairs that may be joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.matrices import in_order, is_probability, read_matrix
from parnidag.graphs.read import read_graph, settle
from parnidag.space.search_space import SearchSpace

KNOWN_SPACES = (
    "a SearchSpace such as space.iterative(data), a Skeleton such as space.pc(data), a Posterior, a Graph, an n × n "
    "array of 0 and 1, a networkx graph on the column names, or a result of causal-learn"
)


def as_space(space: object, names: Sequence[str]) -> SearchSpace:
    """Read a search space from whatever describes one: see `as_considered`.

    A `SearchSpace` keeps its directions; skeletons have none. A `Posterior` gives the space it was sampled on, or if it
    had none the pairs that are joined with probability one half or more.
    """
    if isinstance(space, SearchSpace):
        considered = in_order(space.considered, space.names, names, "space", "the SearchSpace")
        best = None if space.best is None else in_order(space.best, space.names, names, "space", "the SearchSpace")
        return SearchSpace(tuple(names), considered, best, space.log_posterior, space.rounds, space.seconds)
    if isinstance(getattr(space, "space", None), SearchSpace):  # a Posterior that was sampled on one
        return as_space(space.space, names)  # type: ignore[attr-defined]
    return SearchSpace(tuple(names), as_considered(space, names))


def as_considered(space: object, names: Sequence[str]) -> NDArray[np.bool_]:
    """Read which pairs may be joined, as a symmetric n × n array in the order of the names.

    In a graph that `as_graph` reads, an edge of any direction, or of none, joins a pair; so also in a networkx graph
    without directions, and in what causal-learn's PC or GES returned. In a result with `edge_probabilities` a pair is
    joined when those of its two directions add up to one half or more.
    """
    if isinstance(space, str) and "." not in space:
        raise ParnidagError(f"space: {space!r} is not understood; use {KNOWN_SPACES}")
    if hasattr(space, "edge_probabilities"):
        matrix = read_matrix(space.edge_probabilities, names, "space", "edge_probabilities")
        if not is_probability(matrix):
            raise ParnidagError("space: edge_probabilities must hold numbers from 0 to 1")
        joined = matrix.astype(np.float64) + matrix.T >= 0.5
    else:
        joined = settle(read_graph(space, "space", KNOWN_SPACES), names, "space")
    if joined.diagonal().any():
        raise ParnidagError("space: a node is joined to itself; the diagonal must be 0")
    return np.asarray(joined | joined.T)
