"""Square matrices over nodes, from arrays and data frames of any library: their shape, their labels, their order.

`argument` is what an error names: the argument that the matrix came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import shorten
from parnidag.errors import ParnidagError


def is_frame(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def frame_parts(frame: Any) -> tuple[list[Any], list[Any], NDArray[Any]]:
    """Return the labels of rows and of columns, and the values; without labels (polars) rows are like columns."""
    columns = list(frame.columns)
    return list(frame.index) if hasattr(frame, "index") else columns, columns, np.asarray(frame.to_numpy())


def labelled(value: Any, argument: str, what: str = "the matrix") -> tuple[NDArray[Any], list[Any] | None]:
    """Read a square array, or a data frame with the labels that its rows and columns share; None if it has none."""
    if not is_frame(value):
        return square(value, None, argument, what), None
    rows, columns, values = frame_parts(value)
    matrix = square(values, None, argument, "the data frame")
    places = {label: place for place, label in enumerate(rows)}
    if len(places) != len(rows) or places.keys() != set(columns):
        raise ParnidagError(f"{argument}: the rows and columns of the data frame must have the same labels")
    labels = None if rows == columns == list(range(len(rows))) else columns
    return matrix[[places[label] for label in columns]], labels


def read_matrix(value: Any, names: Sequence[str], argument: str, what: str) -> NDArray[Any]:
    """Read an n × n array, or a data frame whose labels are put in the order of the names."""
    matrix, labels = labelled(value, argument, what)
    if labels is None:
        return square(matrix, len(names), argument, what)
    return in_order(matrix, labels, names, argument, what)


def square(values: object, n_nodes: int | None, argument: str, what: str) -> NDArray[Any]:
    """Read an array with a row and a column for every node; any number of nodes if that is None."""
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise ParnidagError(f"{argument}: {what} cannot be read as a square matrix: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or n_nodes not in (None, len(matrix)):
        wanted = "square" if n_nodes is None else f"{n_nodes} × {n_nodes}"
        raise ParnidagError(f"{argument}: {what} must be {wanted}, got shape {matrix.shape}")
    return matrix


def in_order(
    matrix: NDArray[Any], labels: Sequence[object], names: Sequence[str], argument: str, what: str
) -> NDArray[Any]:
    """Put rows and columns into the order of the names."""
    places = {str(label): place for place, label in enumerate(labels)}
    if len(labels) != len(names) or places.keys() != set(names):
        raise ParnidagError(
            f"{argument}: {what} is on other nodes: {len(labels)} of them ({shorten([str(x) for x in labels])}), "
            f"while there should be {len(names)} ({shorten(list(names))})"
        )
    order = [places[name] for name in names]
    return np.asarray(matrix[np.ix_(order, order)])


def is_zero_one(matrix: NDArray[Any]) -> bool:
    return matrix.dtype.kind in "biuf" and bool(np.isin(matrix, (0, 1)).all())


PROBABILITY_SLACK = 1e-9
"""How far beyond 0 and 1 a probability may be: sums of many small ones are not exact."""


def is_probability(matrix: NDArray[Any]) -> bool:
    """Does a matrix hold only numbers from 0 to 1, up to rounding?"""
    low, high = -PROBABILITY_SLACK, 1.0 + PROBABILITY_SLACK
    return matrix.dtype.kind in "biuf" and bool(((matrix >= low) & (matrix <= high)).all())
