"""Square matrices over nodes, from arrays and data frames of any library: their shape, their labels, their order.

`argument` is what an error names: the argument that the matrix came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.errors import ParnidagError


def is_frame(value: object) -> bool:
    """Is it a data frame, of whatever library?"""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def labels_of(frame: Any, argument: str, what: str) -> list[Any]:
    """Return the labels that rows and columns of a data frame share; polars, for one, has labels of columns only."""
    columns = list(frame.columns)
    rows = list(frame.index) if hasattr(frame, "index") else columns
    if rows != columns:
        raise ParnidagError(f"{argument}: the rows and columns of {what} must have the same labels in the same order")
    return columns


def read_matrix(value: Any, names: Sequence[str], argument: str, what: str) -> NDArray[Any]:
    """Read an n × n array, or a data frame whose labels are put in the order of the names."""
    if not is_frame(value):
        return square(value, len(names), argument, what)
    values = square(value.to_numpy(), len(names), argument, what)
    labels = labels_of(value, argument, what)
    return values if is_range(labels) else in_order(values, labels, names, argument, what)


def is_range(labels: Sequence[object]) -> bool:
    """Are these only row numbers, so that a matrix has no names of its own?"""
    return list(labels) == list(range(len(labels)))


def square(values: object, n_nodes: int | None, argument: str, what: str) -> NDArray[Any]:
    """Read an array with a row and a column for every node; any number of nodes if that is None."""
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise ParnidagError(f"{argument}: {what} cannot be read as a square matrix: {error}") from error
    if n_nodes is None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ParnidagError(f"{argument}: {what} must be square, got shape {matrix.shape}")
    elif matrix.shape != (n_nodes, n_nodes):
        raise ParnidagError(f"{argument}: {what} must be {n_nodes} × {n_nodes}, got shape {matrix.shape}")
    return matrix


def in_order(
    matrix: NDArray[Any], labels: Sequence[object], names: Sequence[str], argument: str, what: str
) -> NDArray[Any]:
    """Put rows and columns into the order of the names."""
    places = {label: place for place, label in enumerate(labels)}
    if len(labels) != len(names) or places.keys() != set(names):
        raise ParnidagError(
            f"{argument}: {what} is on other nodes: {len(labels)} of them ({shorten([str(x) for x in labels])}), "
            f"while there should be {len(names)} ({shorten(list(names))})"
        )
    order = [places[name] for name in names]
    return np.asarray(matrix[np.ix_(order, order)])


def is_zero_one(matrix: NDArray[Any]) -> bool:
    """Does a matrix hold only 0 and 1, or False and True?"""
    return matrix.dtype.kind in "biuf" and bool(np.isin(matrix, (0, 1)).all())


ROUNDING = 1e-9
"""How far beyond 0 and 1 a probability may be: sums of many small ones are not exact."""


def is_probability(matrix: NDArray[Any]) -> bool:
    """Does a matrix hold only numbers from 0 to 1, up to rounding?"""
    return matrix.dtype.kind in "biuf" and bool(((matrix >= -ROUNDING) & (matrix <= 1.0 + ROUNDING)).all())


def causal_learn_graph(value: Any) -> Any | None:
    """Find the graph in what causal-learn returned, or take it if it is one itself; None if it is something else."""
    graph = value.get("G") if isinstance(value, Mapping) else getattr(value, "G", value)
    # networkx graphs have a `graph` too, a dictionary
    return graph if isinstance(getattr(graph, "graph", None), np.ndarray) else None
