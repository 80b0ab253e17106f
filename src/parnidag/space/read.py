"""Skeletons from elsewhere: matrices, graphs and results of other methods, read as pairs that may be joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.errors import ParnidagError
from parnidag.graphs.matrices import (
    causal_learn_graph,
    in_order,
    is_frame,
    is_probability,
    is_zero_one,
    read_matrix,
    square,
)
from parnidag.kernels.types import is_number
from parnidag.space.pc import Skeleton
from parnidag.space.search_space import SearchSpace

KNOWN_SPACES = (
    "a SearchSpace such as space.iterative(data), a Skeleton such as space.pc(data), an n × n array of 0 and 1, "
    "a networkx graph on the column names, a Posterior, or a result of causal-learn"
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


def as_considered(space: object, names: Sequence[str], *, threshold: float = 0.5) -> NDArray[np.bool_]:
    """Read which pairs may be joined from whatever says so, as a symmetric n × n array.

    Parameters
    ----------
    space
        A `Skeleton`; an n × n array of 0 and 1 (or a data frame of them), in which either direction joins a pair; a
        networkx graph, directed or not, whose nodes are column names or indices; a result with `edge_probabilities`;
        or what causal-learn's PC or GES returned for the same columns. Labels, where there are any, may come in any
        order.
    names
        The nodes, in the order of the data.
    threshold
        For a result with `edge_probabilities`: a pair is joined when the probabilities of its two directions add up to
        this or more; above 0, at most 1.

    Raises
    ------
    ParnidagError
        It is none of these, or has other nodes.

    Examples
    --------
    >>> as_considered([[0, 1, 0], [0, 0, 0], [0, 1, 0]], ["a", "b", "c"]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    names = list(names)
    if isinstance(space, Skeleton):
        return in_order(space.adjacency, space.names, names, "space", "the Skeleton")
    if _is_matrix(space):
        matrix = read_matrix(space, names, "space", "the matrix")
        if not is_zero_one(matrix):
            raise ParnidagError(
                "space: a matrix must hold only 0 and 1 (1 where two nodes may be joined); of causal-learn's results, "
                "pass the result itself"
            )
        return _symmetric(matrix.astype(bool))
    if hasattr(space, "edge_probabilities"):
        return _likely_pairs(space.edge_probabilities, names, threshold)
    graph = causal_learn_graph(space)
    if graph is not None:
        return _symmetric(square(graph.graph, len(names), "space", "the graph of causal-learn") != 0)
    if hasattr(space, "nodes") and hasattr(space, "edges"):
        return _graph_pairs(space, names)
    raise ParnidagError(f"space: {type(space).__name__} is not understood; use {KNOWN_SPACES}")


def _is_matrix(space: object) -> bool:
    return isinstance(space, (np.ndarray, list, tuple)) or is_frame(space)


def _likely_pairs(probabilities: Any, names: list[str], threshold: object) -> NDArray[np.bool_]:
    if not is_number(threshold) or not 0.0 < float(threshold) <= 1.0:  # type: ignore[arg-type]
        raise ParnidagError(f"threshold={threshold!r} must be a number above 0 and at most 1")
    matrix = read_matrix(probabilities, names, "space", "edge_probabilities")
    if not is_probability(matrix):
        raise ParnidagError("space: edge_probabilities must hold numbers from 0 to 1")
    matrix = matrix.astype(np.float64)
    return _symmetric(matrix + matrix.T >= threshold)


def _graph_pairs(graph: Any, names: list[str]) -> NDArray[np.bool_]:
    """Mark the edges of a graph; nodes it does not have are joined to nothing."""
    places: dict[object, int] = {name: place for place, name in enumerate(names)}
    places |= {place: place for place in range(len(names))}
    unknown = [repr(node) for node in graph.nodes if node not in places]
    if unknown:
        raise ParnidagError(f"space: the graph has nodes that are not columns: {shorten(unknown)}; {_known(names)}")
    joined = np.zeros((len(names), len(names)), dtype=bool)
    for first, second, *_ in graph.edges:
        joined[places[first], places[second]] = True
    return _symmetric(joined)


def _symmetric(joined: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if joined.diagonal().any():
        raise ParnidagError("space: a node is joined to itself; the diagonal must be 0")
    return np.asarray(joined | joined.T)


def _known(names: Sequence[str]) -> str:
    return f"the columns are {shorten(list(names))}"
