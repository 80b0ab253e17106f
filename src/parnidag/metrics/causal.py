"""How wrong the causal effects are that one would read from a graph: adjustment distances, computed by gadjid."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph
from parnidag.metrics.aligned import paired


def sid(graph: object, truth: object, normalise: bool = False) -> float:
    """Return the structural intervention distance: wrong causal effects among the n(n − 1) that `graph` implies.

    For every ordered pair of nodes, the effect of the one on the other is estimated by adjusting for the parents that
    the one has in `graph`; it is wrong if that is no valid adjustment in `truth`. It is not symmetric. It needs gadjid.

    Parameters
    ----------
    graph, truth
        DAGs, in any form that `parnidag.as_graph` takes.
    normalise : bool, default False
        Return the share of wrong effects instead of their number.

    Examples
    --------
    >>> sid([], [("rain", "wet"), ("rain", "cold")])
    4
    >>> sid([("rain", "wet"), ("rain", "cold")], [("rain", "wet"), ("rain", "cold")])
    0
    """
    return _distance("sid", graph, truth, normalise)


def parent_distance(graph: object, truth: object, normalise: bool = False) -> float:
    """Return the parent adjustment distance, the same as `sid` for DAGs, and defined for CPDAGs as well.

    Arguments are otherwise those of `sid`.

    Examples
    --------
    >>> parent_distance([("wet", "rain")], [("rain", "wet")])
    2
    """
    return _distance("parent_aid", graph, truth, normalise)


def ancestor_distance(graph: object, truth: object, normalise: bool = False) -> float:
    """Return the ancestor adjustment distance: as `sid`, but adjusting for all ancestors, which only orders nodes.

    Arguments are those of `parent_distance`.

    Examples
    --------
    >>> ancestor_distance([], [("rain", "wet"), ("rain", "cold")])
    2
    """
    return _distance("ancestor_aid", graph, truth, normalise)


def oset_distance(graph: object, truth: object, normalise: bool = False) -> float:
    """Return the optimal adjustment distance: as `sid`, but adjusting for the set that estimates with the least error.

    Arguments are those of `parent_distance`.

    Examples
    --------
    >>> oset_distance([], [("rain", "wet"), ("rain", "cold")])
    2
    """
    return _distance("oset_aid", graph, truth, normalise)


def has_gadjid() -> bool:
    return importlib.util.find_spec("gadjid") is not None


def is_cpdag(graph: Graph) -> bool:
    """Is a partially directed graph the CPDAG of a DAG?"""
    from parnidag.graphs.equivalence import cpdag  # only here: it brings in the compiler

    dag = _some_dag(graph.adjacency)
    return dag is not None and np.array_equal(cpdag(dag), graph.adjacency)


def _distance(name: str, graph: object, truth: object, normalise: bool) -> float:
    try:
        gadjid = importlib.import_module("gadjid")
    except ImportError as error:
        raise ParnidagError(
            f"this distance needs gadjid, which cannot be imported ({error}): pip install 'parnidag[metrics]'"
        ) from error
    guess, true = paired(graph, truth)
    if len(true.nodes) < 2:
        return 0.0 if normalise else 0
    matrices = [_for_gadjid(true, "truth", name), _for_gadjid(guess, "graph", name)]
    share, mistakes = getattr(gadjid, name)(*matrices, edge_direction="from row to column")  # [i, j] is i → j
    return float(share) if normalise else int(mistakes)


def _for_gadjid(graph: Graph, argument: str, name: str) -> NDArray[np.int8]:
    """Check what gadjid would stop at, or silently take for something else, and write the graph in its code."""
    if not graph.is_acyclic:
        raise ParnidagError(f"{argument}: it has a directed cycle; causal effects are defined for DAGs and CPDAGs")
    if graph.kind != "cpdag":
        return graph.adjacency.astype(np.int8)
    if name == "sid":
        raise ParnidagError(f"{argument}: sid is defined for DAGs, not for CPDAGs; use parent_distance")
    if not is_cpdag(graph):
        raise ParnidagError(f"{argument}: it has undirected edges, but is not the CPDAG of any DAG")
    return np.where(graph.adjacency & graph.adjacency.T, 2, graph.adjacency).astype(np.int8)  # 2: undirected


def _some_dag(adjacency: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Direct the undirected edges without a cycle or a new collider (Dor and Tarsi, 1992); None if there is no way."""
    left = np.array(adjacency)
    dag = left & ~left.T
    remaining = list(range(len(left)))
    while remaining:
        sink = next((node for node in remaining if _can_be_sink(left, node)), None)
        if sink is None:
            return None
        dag[:, sink] |= left[:, sink]
        left[sink] = left[:, sink] = False
        remaining.remove(sink)
    return np.asarray(dag)


def _can_be_sink(adjacency: NDArray[np.bool_], node: int) -> bool:
    """Can all edges at a node point to it: none leads away, and its undirected neighbours are joined to all others?"""
    into, out_of = adjacency[:, node], adjacency[node]
    if (out_of & ~into).any():
        return False
    undirected, neighbours = np.flatnonzero(into & out_of), np.flatnonzero(into)
    joined = adjacency[np.ix_(undirected, neighbours)] | adjacency[np.ix_(neighbours, undirected)].T
    return int(joined.sum()) == joined.size - len(undirected)  # a node is not joined to itself
