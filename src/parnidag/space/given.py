"""Skeletons from elsewhere: matrices, graphs and results of other methods, read as pairs that may be joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._types import is_number
from parnidag.errors import ParnidagError
from parnidag.space.searchspace import SearchSpace
from parnidag.space.skeleton import Skeleton
from parnidag.wording import shorten

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
        considered = _in_order(space.considered, space.names, list(names), "the SearchSpace")
        best = None if space.best is None else _in_order(space.best, space.names, list(names), "the SearchSpace")
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
        return _in_order(space.adjacency, space.names, names, "the Skeleton")
    if _is_matrix(space):
        matrix = _read_matrix(space, names, "the matrix")
        if matrix.dtype.kind not in "biuf" or not np.isin(matrix, (0, 1)).all():
            raise ParnidagError(
                "space: a matrix must hold only 0 and 1 (1 where two nodes may be joined); of causal-learn's results, "
                "pass the result itself"
            )
        return _symmetric(matrix.astype(bool))
    if hasattr(space, "edge_probabilities"):
        return _likely_pairs(space.edge_probabilities, names, threshold)
    marks = _causal_learn_marks(space)
    if marks is not None:
        return _symmetric(_square(marks, names, "the graph of causal-learn") != 0)
    if hasattr(space, "nodes") and hasattr(space, "edges"):
        return _graph_pairs(space, names)
    raise ParnidagError(f"space: {type(space).__name__} is not understood; use {KNOWN_SPACES}")


def _is_matrix(space: object) -> bool:
    return isinstance(space, (np.ndarray, list, tuple)) or _is_frame(space)


def _is_frame(space: object) -> bool:
    return hasattr(space, "columns") and hasattr(space, "to_numpy")


def _likely_pairs(probabilities: Any, names: list[str], threshold: object) -> NDArray[np.bool_]:
    if not is_number(threshold) or not 0.0 < float(threshold) <= 1.0:  # type: ignore[arg-type]
        raise ParnidagError(f"threshold={threshold!r} must be a number above 0 and at most 1")
    matrix = _read_matrix(probabilities, names, "edge_probabilities")
    if matrix.dtype.kind not in "biuf" or not ((matrix >= 0.0) & (matrix <= 1.0)).all():
        raise ParnidagError("space: edge_probabilities must hold numbers from 0 to 1")
    matrix = matrix.astype(np.float64)
    return _symmetric(matrix + matrix.T >= threshold)


def _causal_learn_marks(space: Any) -> NDArray[Any] | None:
    """Find the matrix of endpoint marks, non-zero where two nodes are adjacent; None if this is something else."""
    graph = space.get("G") if isinstance(space, Mapping) else getattr(space, "G", space)
    marks = getattr(graph, "graph", None)  # networkx graphs have a `graph` too, a dictionary
    return marks if isinstance(marks, np.ndarray) else None


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


def _read_matrix(space: Any, names: list[str], what: str) -> NDArray[Any]:
    """Read an n × n array, or a data frame whose labels are put in the order of the names."""
    if not _is_frame(space):
        return _square(space, names, what)
    columns = list(space.columns)
    rows = list(space.index) if hasattr(space, "index") else columns
    values = _square(space.to_numpy(), names, what)
    if rows != columns:
        raise ParnidagError(f"space: the rows and columns of {what} must have the same labels in the same order")
    return values if columns == list(range(len(names))) else _in_order(values, columns, names, what)


def _square(values: object, names: list[str], what: str) -> NDArray[Any]:
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise ParnidagError(f"space: {what} cannot be read as a square matrix: {error}") from error
    if matrix.shape != (len(names), len(names)):
        raise ParnidagError(f"space: {what} must be {len(names)} × {len(names)}, got shape {matrix.shape}")
    return matrix


def _in_order(matrix: NDArray[Any], labels: Sequence[object], names: list[str], what: str) -> NDArray[Any]:
    """Put rows and columns into the order of the names."""
    places = {label: place for place, label in enumerate(labels)}
    if len(labels) != len(names) or places.keys() != set(names):
        raise ParnidagError(
            f"space: {what} is on other nodes: {len(labels)} of them ({shorten([str(x) for x in labels])}), while the "
            f"data has {len(names)} columns ({shorten(names)})"
        )
    order = [places[name] for name in names]
    return np.asarray(matrix[np.ix_(order, order)])


def _symmetric(joined: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if joined.diagonal().any():
        raise ParnidagError("space: a node is joined to itself; the diagonal must be 0")
    return np.asarray(joined | joined.T)


def _known(names: Sequence[str]) -> str:
    return f"the columns are {shorten(list(names))}"
