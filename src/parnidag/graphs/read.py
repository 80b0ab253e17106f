"""The one reader of graphs that a user gives: starts, spaces, priors, truths; whatever the form, [i, j] means i → j.

`read_graph` finds edges and labels, `settle` puts them on the nodes of the data. What is asked of the graph beyond that
(no cycle, no undirected edge) is for the caller to say.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import as_whole
from parnidag._util.files import unescaped, why_not_readable
from parnidag._util.text import one_line, shorten
from parnidag.errors import ParnidagError
from parnidag.graphs.matrices import in_order, is_frame, is_zero_one, labelled, square

KNOWN_GRAPHS = (
    "a Graph, an n × n array of 0 and 1 (or a data frame of them), a networkx or pgmpy graph, a list of "
    "(parent, child) pairs, a result of causal-learn, a Simulation, or the path of an adjacency CSV file"
)


class Reading(NamedTuple):
    """A graph as it was found, before its nodes are put in anyone's order."""

    matrix: NDArray[np.bool_]
    """[i, j] means i → j; an undirected edge is marked both ways."""
    labels: list[Any] | None
    """Names of the rows and columns, None if they have none."""
    complete: bool = True
    """False if nodes without edges may be missing, as in many networkx graphs."""
    edges_only: bool = False
    """True for a list of edges, in which no other nodes can be."""
    kind: str | None = None
    """The kind of graph, if its maker said so."""
    no_directions: str | None = None
    """Why this is no graph but only pairs that are joined, marked both ways; None if it is one."""


def read_graph(value: object, argument: str, known: str = KNOWN_GRAPHS) -> Reading:
    """Read a graph, or pairs that are joined, from whatever describes them; an error names what is `known`."""
    if isinstance(value, (str, os.PathLike)):
        return read_csv(Path(value), argument)
    if isinstance(value, (list, tuple)) and _is_edge_list(value):
        return _from_edges(value, argument)
    if isinstance(value, (np.ndarray, list, tuple)) or is_frame(value):
        return _from_matrix(value, argument)
    if isinstance(getattr(value, "adjacency", None), np.ndarray):  # a Graph, a Simulation, a Skeleton
        given: Any = value
        names = given.nodes if hasattr(given, "nodes") else given.names
        return Reading(given.adjacency, list(names), kind=getattr(given, "kind", None))
    found = value.get("G") if isinstance(value, Mapping) else getattr(value, "G", value)
    if isinstance(getattr(found, "graph", None), np.ndarray):  # networkx graphs have a `graph` too, a dictionary
        return _from_causal_learn(found, argument)
    if hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "is_directed"):
        return _from_networkx(value)
    raise ParnidagError(f"{argument}: {type(value).__name__} is not understood; use {known}")


def settle(reading: Reading, nodes: Sequence[str], argument: str) -> NDArray[np.bool_]:
    """Put the graph on these nodes: by its labels if it has any, else in the order it came in."""
    if reading.labels is None:
        return square(reading.matrix, len(nodes), argument, "the matrix")
    if reading.complete:
        return in_order(reading.matrix, reading.labels, nodes, argument, "the graph")
    # A name comes before a number of the same look, so that columns called 0, 1 … are found by name.
    places: dict[object, int] = {place: place for place in range(len(nodes))}
    places |= {name: place for place, name in enumerate(nodes)}
    unknown = [repr(label) for label in reading.labels if label not in places]
    if unknown:
        raise ParnidagError(f"{argument}: unknown nodes {shorten(unknown)}; the nodes are {shorten(list(nodes))}")
    order = [places[label] for label in reading.labels]
    matrix = np.zeros((len(nodes), len(nodes)), dtype=bool)
    if len(set(order)) != len(order):
        raise ParnidagError(f"{argument}: a node is given both by its name and by its number; use one of them")
    matrix[np.ix_(order, order)] = reading.matrix
    return matrix


# ── one reader for each form ──────────────────────────────────────────────────────────────────────────────────────────


def _from_matrix(value: object, argument: str) -> Reading:
    matrix, labels = labelled(value, argument)
    if not is_zero_one(matrix):
        marks = "; of causal-learn's results, pass the result itself" if (matrix == -1).any() else ""
        what = "the data frame" if is_frame(value) else "the matrix"
        raise ParnidagError(f"{argument}: {what} must hold only 0 and 1 (graph[i, j] = 1 means i → j){marks}")
    return Reading(matrix.astype(bool), labels)


def _is_edge_list(value: Sequence[Any]) -> bool:
    """Tell [("a", "b")] and [(0, 1)] from [[0, 1], [0, 0]]: pairs hold names, or are tuples of two."""
    rows = [row for row in value if isinstance(row, (tuple, list))]
    return len(rows) == len(value) and all(
        any(isinstance(node, str) for node in row) or (isinstance(row, tuple) and len(row) == 2) for row in rows
    )


def _from_edges(edges: Sequence[Any], argument: str) -> Reading:
    for edge in edges:
        if len(edge) != 2 or not all(isinstance(node, str) or as_whole(node) is not None for node in edge):
            raise ParnidagError(
                f"{argument}: {edge!r} is not a (parent, child) pair; write a list such as [('A', 'B')], with names or "
                "with numbers from 0 on"
            )
    pairs = [tuple(node if isinstance(node, str) else as_whole(node) for node in edge) for edge in edges]
    return _from_pairs(list(dict.fromkeys(node for pair in pairs for node in pair)), pairs)._replace(edges_only=True)


def _from_pairs(labels: list[Any], pairs: Sequence[Sequence[Any]]) -> Reading:
    places = {label: place for place, label in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), dtype=bool)
    for parent, child, *_ in pairs:
        matrix[places[parent], places[child]] = True
    return Reading(matrix, labels, complete=False)


def _from_networkx(graph: Any) -> Reading:
    reading = _from_pairs(list(graph.nodes), list(graph.edges))._replace(kind=graph.graph.get("kind"))
    if graph.is_directed():
        return reading
    why = "the networkx graph has no directions; use a networkx.DiGraph, parent → child"
    return reading._replace(matrix=reading.matrix | reading.matrix.T, no_directions=why)


def _from_causal_learn(graph: Any, argument: str) -> Reading:
    """Read endpoint marks: 1 at [j, i] is an arrow at j, −1 at [i, j] a tail at i, so i → j; two tails: undirected."""
    marks = square(graph.graph, None, argument, "the graph of causal-learn")
    labels = [node.get_name() for node in graph.nodes] if hasattr(graph, "nodes") else None
    if labels == [f"X{place + 1}" for place in range(len(marks))]:
        labels = None  # its names for the columns of an array: they say nothing
    joined = (marks != 0) | (marks.T != 0)
    directed, undirected = (marks == -1) & (marks.T == 1), (marks == -1) & (marks.T == -1)
    if (joined & ~(directed | directed.T | undirected)).any():
        why = (
            "the graph of causal-learn has edges that are neither A → B nor A — B (circles, or arrows at both ends); "
            "only graphs without hidden causes can be read"
        )
        return Reading(joined, labels, no_directions=why)
    return Reading(directed | undirected, labels, kind="cpdag" if undirected.any() else None)


def read_csv(path: Path, argument: str) -> Reading:
    """Read an adjacency table; rows may lack names if they are in the order of the columns."""
    problem = why_not_readable(path)
    if problem is not None:
        raise ParnidagError(f"{argument}: {path}: {problem}")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = (row for row in csv.reader(file, strict=True) if row)
            header = next(rows, [])
            # no more than there should be: a file that is something else is not read to its end
            body = list(islice(takewhile(lambda row: len(row) == len(header), rows), len(header) + 1))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParnidagError(f"{argument}: {path} cannot be read as an adjacency CSV file: {one_line(error)}") from error
    if len(body) == len(header):
        names, columns, cells = header, header, body
    else:
        names, columns, cells = [row[0] for row in body], header[1:], [row[1:] for row in body]
    if not columns or names != columns:
        raise ParnidagError(
            f"{argument}: {path} is no adjacency table: the first line and the first column must name the same nodes "
            "in the same order (rows are parents, columns children), with a 0 or 1 for each pair"
        )
    matrix = [[_TRUTH.get(cell.strip().lower()) for cell in row] for row in cells]
    if any(None in row for row in matrix):
        raise ParnidagError(f"{argument}: {path} must hold only 0 and 1 (a row is a parent, a column a child)")
    return Reading(np.array(matrix, dtype=bool), [unescaped(name) for name in columns])


_TRUTH = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}
