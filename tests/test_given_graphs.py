"""Graphs that a user gives, in whatever form, mean the same as a graph, a start, a space and a prior."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import parnidag
from parnidag import EdgePrior, Graph, ParnidagError, as_graph, samplers
from parnidag.kernels.problem import FORBIDDEN
from parnidag.simulation import Simulation
from parnidag.space.read import as_considered, as_space

NODES = ("a", "b", "c", "d")
CHAIN = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
"""a → b → c, and d alone: no symmetry hides a transposed matrix."""
COLLIDER = Graph(NODES, [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
"""a → c ← b, c → d: every direction can be told."""


def general_graph(names, directed, undirected=()):
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    nodes = {name: GraphNode(name) for name in names}
    graph = GeneralGraph(list(nodes.values()))
    for edges, at_child in ((directed, Endpoint.ARROW), (undirected, Endpoint.TAIL)):
        for parent, child in edges:
            graph.add_edge(Edge(nodes[parent], nodes[child], Endpoint.TAIL, at_child))
    return graph


def frame(rows=NODES, columns=NODES):
    return pd.DataFrame(CHAIN, index=NODES, columns=NODES).loc[list(rows), list(columns)]


NAMED = {
    "graph": lambda: Graph(NODES, CHAIN),
    "graph in another order": lambda: as_graph(Graph(NODES, CHAIN), tuple("dbca")),
    "simulation": lambda: Simulation(NODES, np.zeros((1, 4)), CHAIN, CHAIN * 0.5, np.ones(4), 1),
    "frame": lambda: frame().astype(int),
    "shuffled frame": lambda: frame("dbca", "dbca"),
    "rows and columns shuffled apart": lambda: frame("dbca", "cadb"),
    "polars": lambda: pl.DataFrame(CHAIN, schema=list(NODES)),
    "networkx": lambda: nx.DiGraph([("b", "c"), ("a", "b")]),
    "pgmpy": lambda: Graph(NODES, CHAIN).to_pgmpy(),
    "pairs": lambda: [("b", "c"), ("a", "b")],
    "pairs in lists": lambda: [["b", "c"], ["a", "b"]],
    "causal-learn": lambda: general_graph("dcba", [("a", "b"), ("b", "c")]),
}
UNNAMED = {
    "array": lambda: CHAIN,
    "frame without names": lambda: pd.DataFrame(CHAIN),
    "networkx by number": lambda: nx.MultiDiGraph([(1, 2), (0, 1)]),
    "pairs by number": lambda: [(np.int64(1), 2), (0, 1)],
    "causal-learn without names": lambda: general_graph(["X1", "X2", "X3", "X4"], [("X1", "X2"), ("X2", "X3")]),
}
NOT_IN_PRIORS = {
    "numbers": lambda: CHAIN.astype(float),
    "lists": lambda: CHAIN.astype(int).tolist(),
    "tuples": lambda: tuple(map(tuple, CHAIN.tolist())),
    "causal-learn result": lambda: {"G": general_graph("dcba", [("a", "b"), ("b", "c")])},
}


def begun_at(value, nodes, **options):
    """A run of one step, which changes at most one edge."""
    data = parnidag.Data(np.random.default_rng(1).normal(size=(20, 4)), names=list(nodes))
    run = {"tune": 0, "thin": 1, "draws": 1, "chains": 1, "seed": 1, "progress": False, **options}
    return parnidag.sample(data, start=value, sampler=samplers.MC3(), **run)


def edges_of(matrix, nodes):
    return {(nodes[i], nodes[j]) for i, j in np.argwhere(matrix)}


@pytest.mark.parametrize(
    ("form", "nodes"),
    [(form, NODES) for form in NAMED | UNNAMED | NOT_IN_PRIORS] + [(form, tuple("cadb")) for form in NAMED],
)
def test_every_form_means_the_same_at_every_door(form, nodes):
    value = (NAMED | UNNAMED | NOT_IN_PRIORS)[form]()
    edges = {("a", "b"), ("b", "c")}
    found = as_graph(value, nodes)
    assert (found.nodes, found.kind, set(found.edges)) == (nodes, "dag", edges)
    joined = edges | {(child, parent) for parent, child in edges}
    assert edges_of(as_considered(value, nodes), nodes) == joined
    first = begun_at(value, nodes).graph_at(0, 0)
    assert len(edges_of(first, nodes) ^ edges) <= 1
    if form not in NOT_IN_PRIORS:
        status = EdgePrior(forbidden=value).resolve(nodes).status
        assert edges_of(status == FORBIDDEN, nodes) == edges | {(name, name) for name in nodes}


def test_pairs_that_are_only_joined_make_a_space_and_no_graph():
    circles = general_graph("abcd", [("a", "b")])
    circles.graph[1, 2] = circles.graph[2, 1] = 2
    for joined in (nx.Graph([("a", "b"), ("c", "b")]), circles):
        both_ways = {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
        assert edges_of(as_considered(joined, NODES), NODES) == both_ways
        status = EdgePrior(forbidden=joined).resolve(NODES).status
        assert edges_of(status == FORBIDDEN, NODES) == both_ways | {(name, name) for name in NODES}
        with pytest.raises(ParnidagError, match=r"start: .*(no directions|neither A → B)"):
            begun_at(joined, NODES)


@pytest.mark.parametrize("row_names", [True, False])
def test_rows_of_a_file_are_parents_with_names_and_without(tmp_path, row_names):
    path = tmp_path / "graph.csv"
    frame("dbca", "dbca").astype(int).to_csv(path, index=row_names)
    assert set(as_graph(path, NODES).edges) == {("a", "b"), ("b", "c")}


def test_undirected_edges_of_a_space_are_considered_both_ways():
    open_edges = Graph(NODES, CHAIN).cpdag()
    assert open_edges.undirected == [("a", "b"), ("b", "c")]
    for given in (open_edges, open_edges.to_networkx(), open_edges.to_pgmpy(), open_edges.to_causal_learn()):
        assert edges_of(as_space(given, NODES).considered, NODES) == edges_of(CHAIN | CHAIN.T, NODES)


def test_chains_start_at_graphs_of_a_result():
    earlier = begun_at(None, NODES, draws=20, chains=2)
    for given in (earlier.best, earlier.consensus_graph(), [earlier.best] * 2, earlier.top_graphs(1) * 2):
        graphs = given if isinstance(given, list) else [given] * 2
        found = begun_at(given, NODES, chains=2)
        for chain, graph in enumerate(graphs):
            assert (found.graph_at(chain, 0) != graph.adjacency).sum() <= 1
    found = begun_at(COLLIDER.cpdag(), NODES)  # an equivalence class of one
    assert (found.graph_at(0, 0) != COLLIDER.adjacency).sum() <= 1


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Graph(NODES, CHAIN).cpdag(), "start leaves the direction of a — b open; chains start at a DAG"),
        (CHAIN | CHAIN.T, "start leaves the direction of a — b open"),
        (np.roll(np.eye(4), 1, axis=1), "start has a directed cycle"),
        (nx.DiGraph([("a", "z")]), "start: unknown nodes 'z'"),
        (Graph(("a", "z"), np.zeros((2, 2))), "start: the graph is on other nodes"),
        ([Graph(NODES, CHAIN)] * 2, "start has 2 graphs for 1 chains"),
        ("random", 'start must be "empty", a graph'),
        (5, "start: int is not understood"),
    ],
)
def test_what_is_no_start_is_refused(start, message):
    with pytest.raises(ParnidagError, match=message):
        begun_at(start, NODES)
