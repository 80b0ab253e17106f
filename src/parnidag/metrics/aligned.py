"""Two graphs, or probabilities and a graph, put on the same nodes in the same order before they are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph, checked_nodes, graph_of, own_nodes
from parnidag.graphs.matrices import is_probability, labelled
from parnidag.graphs.read import Reading, read_graph, settle

_SLACK = 1e-9
"""How far rounding may take a sum of two probabilities above 1."""


def paired(graph: object, truth: object) -> tuple[Graph, Graph]:
    """Read two graphs, of any form that `as_graph` takes, on common nodes.

    What has names is matched by name, what has none by position. Nodes that only one of two networkx graphs or edge
    lists mentions have no edges in the other.
    """
    readings = read_graph(graph, "graph"), read_graph(truth, "truth")
    nodes = _common_nodes(*readings, "graph")
    return graph_of(readings[0], nodes, "graph"), graph_of(readings[1], nodes, "truth")


def with_truth(probabilities: object, truth: object, of_dags: bool = False) -> tuple[NDArray[np.float64], Graph]:
    """Read edge probabilities, or a result that has them, and a true graph on common nodes.

    Curves take any scores from 0 to 1; probabilities `of_dags` are refused if a pair has both directions too often.
    """
    scored, true = _probability_reading(probabilities), read_graph(truth, "truth")
    nodes = _common_nodes(scored, true, "probabilities")
    matrix = settle(scored, nodes, "probabilities").astype(np.float64)
    both = matrix + matrix.T
    if of_dags and both.max(initial=0.0) > 1.0 + _SLACK:
        i, j = np.unravel_index(both.argmax(), both.shape)
        raise ParnidagError(
            f"probabilities: {nodes[i]} → {nodes[j]} and {nodes[j]} → {nodes[i]} add up to {both[i, j]:.6g}; "
            "no DAG has both, so they can be 1 together at most"
        )
    return matrix, graph_of(true, nodes, "truth")


def _probability_reading(value: Any) -> Reading:
    matrix, labels = labelled(getattr(value, "edge_probabilities", value), "probabilities")
    if not is_probability(matrix) or matrix.diagonal().any():
        raise ParnidagError(
            "probabilities: the matrix must hold numbers from 0 to 1, [i, j] being the probability of i → j, and 0 on "
            "the diagonal"
        )
    return Reading(matrix, labels)


def _common_nodes(first: Reading, second: Reading, argument: str) -> tuple[str, ...]:
    """Find nodes that both can be put on; `argument` is what the first is called, the second is the truth."""
    named = [(reading, name) for reading, name in ((first, argument), (second, "truth")) if reading.labels is not None]
    for reading, name in named:
        if reading.complete:
            return own_nodes(reading, name)
    if len(named) < 2:  # one of them is a matrix without names, and says how many nodes there are
        return own_nodes(first if first.labels is None else second, argument)
    labels = list(dict.fromkeys([*named[0][0].labels, *named[1][0].labels]))  # type: ignore[misc]
    if labels and all(isinstance(label, int) for label in labels):
        return tuple(f"X{place}" for place in range(max(labels) + 1))
    return checked_nodes([str(label) for label in labels], argument)
