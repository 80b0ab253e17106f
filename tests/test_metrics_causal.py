from __future__ import annotations

import itertools
import sys

import networkx as nx
import numpy as np
import pytest
from dags import all_dags
from test_metrics import CHAIN, COLLIDER, FORK, NAMES

from parnidag import metrics
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph, as_graph
from parnidag.metrics.causal import has_gadjid, is_cpdag

gadjid_only = pytest.mark.skipif(not has_gadjid(), reason="gadjid is not installed: pip install '.[metrics]'")


def reaches(graph, start):
    """The nodes that a directed path leads to, the start among them."""
    return nx.descendants(graph, start) | {start}


def is_valid_adjustment(truth, cause, effect, given):
    """The adjustment criterion: no node that the effect passes through or below, and every other way blocked."""
    on_the_way = {node for node in reaches(truth, cause) - {cause} if effect in reaches(truth, node)}
    forbidden = set().union(*(reaches(truth, node) for node in on_the_way)) | {cause, effect}
    if forbidden & given:
        return False
    without = truth.copy()
    without.remove_edges_from([(cause, node) for node in on_the_way if truth.has_edge(cause, node)])
    return nx.is_d_separator(without, {cause}, {effect}, given)


def adjusted_for(strategy, graph, cause, effect):
    """The adjustment set that a graph proposes; None where it says that there is no effect."""
    if strategy == "parent":
        parents = set(graph.predecessors(cause))
        return None if effect in parents else parents
    if effect not in reaches(graph, cause):
        return None
    if strategy == "ancestor":
        return nx.ancestors(graph, cause)
    on_the_way = {node for node in reaches(graph, cause) - {cause} if effect in reaches(graph, node)}
    around = set().union(*(set(graph.predecessors(node)) for node in on_the_way))
    return around - on_the_way - {cause}


def naive_distance(strategy, graph, truth):
    mistakes = 0
    for cause, effect in itertools.permutations(graph.nodes, 2):
        given = adjusted_for(strategy, graph, cause, effect)
        if given is None:
            mistakes += effect in reaches(truth, cause)
        else:
            mistakes += not is_valid_adjustment(truth, cause, effect, given)
    return mistakes


@gadjid_only
@pytest.mark.parametrize("strategy", ["parent", "ancestor", "oset"])
def test_distances_between_all_dags_of_three_nodes(strategy):
    graphs = [Graph(NAMES, matrix) for matrix in all_dags(3)]
    distance = getattr(metrics, f"{strategy}_distance")
    found = np.array([[distance(graph, truth) for truth in graphs] for graph in graphs])
    exported = [graph.to_networkx() for graph in graphs]
    expected = np.array([[naive_distance(strategy, graph, truth) for truth in exported] for graph in exported])
    np.testing.assert_array_equal(found, expected)
    assert not found.diagonal().any()
    # what a wrong order of arguments or a wrong direction of edges would give
    turned = [graph.reverse() for graph in exported]
    assert (found != expected.T).any()
    assert (found != [[naive_distance(strategy, graph, truth) for truth in turned] for graph in turned]).any()
    if strategy == "parent":
        np.testing.assert_array_equal(found, [[metrics.sid(graph, truth) for truth in graphs] for graph in graphs])


@gadjid_only
def test_sid_by_hand():
    """Without adjustment, effects on a and between b and c are wrong under the fork, those of a under the collider."""
    assert metrics.sid([], FORK) == 4
    assert metrics.sid([], COLLIDER) == 2
    assert metrics.sid(FORK, []) == metrics.sid(COLLIDER, []) == 0
    assert metrics.sid([], FORK, normalise=True) == pytest.approx(4 / 6)
    assert isinstance(metrics.sid([], FORK), int)
    assert metrics.sid([("b", "a")], [("a", "b")]) == 2


@gadjid_only
def test_distances_between_classes():
    undirected = as_graph(CHAIN, NAMES).cpdag()
    for distance in (metrics.parent_distance, metrics.ancestor_distance, metrics.oset_distance):
        assert distance(undirected, undirected) == 0
        # the class leaves all six effects open, and the chain claims to know them
        assert distance(CHAIN, undirected) == 6
        assert distance(as_graph(COLLIDER, NAMES).cpdag(), COLLIDER) == 0
    with pytest.raises(ParnidagError, match="graph: sid is defined for DAGs, not for CPDAGs; use parent_distance"):
        metrics.sid(undirected, CHAIN)
    half = Graph(NAMES, [[0, 1, 0], [1, 0, 1], [0, 0, 0]], "cpdag")
    with pytest.raises(ParnidagError, match="truth: it has undirected edges, but is not the CPDAG of any DAG"):
        metrics.parent_distance(CHAIN, half)


@gadjid_only
def test_graphs_that_gadjid_would_stop_at():
    cycle = Graph(NAMES, np.roll(np.eye(3), 1, axis=1), "digraph")
    two_way = Graph(NAMES, [[0, 1, 0], [1, 0, 0], [0, 0, 0]], "digraph")
    for graph in (cycle, two_way):
        with pytest.raises(ParnidagError, match="graph: it has a directed cycle; causal effects"):
            metrics.sid(graph, CHAIN)
    assert metrics.sid([[0]], [[0]]) == 0
    assert metrics.sid([[0]], [[0]], normalise=True) == 0.0


def test_without_gadjid_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)
    with pytest.raises(ParnidagError, match=r"needs gadjid.*pip install 'parnidag\[metrics\]'"):
        metrics.sid([], FORK)


def test_a_cpdag_is_recognised():
    classes = {Graph(NAMES, matrix).cpdag().adjacency.tobytes() for matrix in all_dags(3)}
    assert len(classes) == 11
    recognised = 0
    for ways in itertools.product(range(4), repeat=3):
        matrix = np.zeros((3, 3), dtype=bool)
        for (i, j), way in zip(itertools.combinations(range(3), 2), ways, strict=True):
            matrix[i, j], matrix[j, i] = way & 1, way & 2
        try:
            graph = Graph(NAMES, matrix, "cpdag")
        except ParnidagError:  # a directed cycle
            continue
        assert is_cpdag(graph) == (matrix.tobytes() in classes)
        recognised += is_cpdag(graph)
    assert recognised == 11
    square = np.zeros((4, 4), dtype=bool)
    for i in range(4):
        square[i, (i + 1) % 4] = square[(i + 1) % 4, i] = True
    assert not is_cpdag(Graph(tuple("abcd"), square, "cpdag"))  # to direct it makes a collider, wherever one starts
