from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dags import all_dags
from test_given_graphs import CHAIN, NAMED, NODES, general_graph

from parnidag._util.files import write_csv
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph, as_graph
from parnidag.simulation import simulate


def refusal(*arguments, **options):
    with pytest.raises(ParnidagError) as caught:
        as_graph(*arguments, **options)
    return str(caught.value)


# ── the graph itself ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_are_parents():
    graph = Graph(NODES, CHAIN)
    assert graph.edges == [("a", "b"), ("b", "c")]
    assert graph.undirected == []
    assert (graph.parents("b"), graph.children("b")) == (["a"], ["c"])
    assert (graph.parents("d"), graph.children("d")) == ([], [])
    assert graph.kind == "dag"
    assert graph.is_acyclic


def test_pairs_marked_both_ways_are_undirected_only_in_a_cpdag():
    matrix = CHAIN.copy()
    matrix[1, 0] = True
    partly = Graph(NODES, matrix, "cpdag")
    assert (partly.edges, partly.undirected) == ([("b", "c")], [("a", "b")])
    assert (partly.parents("b"), partly.children("a"), partly.parents("c")) == ([], [], ["b"])
    assert partly.is_acyclic
    cyclic = Graph(NODES, matrix, "digraph")
    assert (cyclic.edges, cyclic.undirected) == ([("a", "b"), ("b", "a"), ("b", "c")], [])
    assert cyclic.parents("a") == ["b"]
    assert not cyclic.is_acyclic


def test_nobody_can_change_a_graph():
    matrix, probabilities = CHAIN.copy(), np.full((4, 4), 0.5)
    graph = Graph(NODES, matrix, probabilities=probabilities)
    matrix[0, 1], probabilities[0, 1] = False, 0.0
    assert graph.adjacency[0, 1]
    assert graph.probabilities[0, 1] == 0.5
    for array in (graph.adjacency, graph.probabilities, graph.directed, graph.cpdag().directed):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 1] = 0
    with pytest.raises(AttributeError):
        graph.kind = "digraph"
    assert pickle.loads(pickle.dumps(graph)).edges == graph.edges


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "tree"}, "kind must be one of 'dag', 'cpdag', 'digraph', got 'tree'"),
        ({"nodes": ("a", "b", "c", "a")}, "nodes: every node needs a name of its own; repeated are 'a'"),
        ({"nodes": "abcd"}, "nodes: the nodes must be a list of names"),
        ({"nodes": ("a", "b")}, r"adjacency: the matrix must be 2 × 2, got shape \(4, 4\)"),
        ({"adjacency": CHAIN * 2}, "adjacency: the matrix must hold only 0 and 1"),
        ({"adjacency": np.full((4, 4), np.nan)}, "adjacency: the matrix must hold only 0 and 1"),
        (
            {"adjacency": CHAIN | np.diag([0, 0, 1, 0]).astype(bool)},
            "adjacency: an edge leads from a node to itself: c",
        ),
        ({"adjacency": CHAIN | CHAIN.T}, 'adjacency: it has a directed cycle, which a graph of kind "dag"'),
        ({"adjacency": np.roll(np.eye(4), 1, 1), "kind": "cpdag"}, 'a directed cycle, which a graph of kind "cpdag"'),
        ({"probabilities": np.zeros((3, 3))}, r"probabilities: the matrix must be 4 × 4, got shape \(3, 3\)"),
        ({"probabilities": np.full((4, 4), 1.1)}, "probabilities: the matrix must hold numbers from 0 to 1"),
        ({"probabilities": np.full((4, 4), np.nan)}, "probabilities: the matrix must hold numbers from 0 to 1"),
        ({"probability": 1.5}, "probability must be a number from 0 to 1, got 1.5"),
        ({"log_posterior": float("nan")}, "log_posterior must be a finite number"),
    ],
)
def test_contradictions_are_refused(options, message):
    with pytest.raises(ParnidagError, match=message):
        Graph(**{"nodes": NODES, "adjacency": CHAIN} | options)


def test_rounding_beyond_one_is_no_contradiction():
    graph = Graph(NODES, CHAIN, probabilities=np.full((4, 4), 1.0 + 1e-15), probability=1.0 + 1e-15)
    assert graph.probabilities.max() == 1.0
    assert graph.probability == 1.0


def test_unknown_nodes_are_refused_with_a_hint():
    graph = Graph(("rain", "wet"), [[0, 1], [0, 0]])
    with pytest.raises(ParnidagError, match=r"name: unknown node 'rian'; did you mean 'rain'\?"):
        graph.parents("rian")
    with pytest.raises(ParnidagError, match="name: unknown node 3"):
        graph.children(3)


def test_the_cpdag_of_three_nodes():
    chain = Graph(("a", "b", "c"), [[0, 1, 0], [0, 0, 1], [0, 0, 0]], log_posterior=-3.0, probability=0.5)
    found = chain.cpdag()
    assert (found.kind, found.edges, found.undirected) == ("cpdag", [], [("a", "b"), ("b", "c")])
    assert found.log_posterior is found.probability is None
    assert found.cpdag() is found
    collider = as_graph([("a", "b"), ("c", "b")], ["a", "b", "c"]).cpdag()
    assert (collider.edges, collider.undirected) == ([("a", "b"), ("c", "b")], [])
    cyclic = Graph(("a", "b"), [[0, 1], [1, 0]], "digraph")
    with pytest.raises(ParnidagError, match="graph: it has a directed cycle, so it is no DAG"):
        cyclic.cpdag()
    assert Graph(("a", "b"), [[0, 1], [0, 0]], "digraph").cpdag().undirected == [("a", "b")]


# ── on screen ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_representation_fits_the_screen_whatever_the_names():
    names = tuple(f"a long and\nwinding name {'x' * 60} {place}" for place in range(40))
    matrix = np.triu(np.ones((40, 40), dtype=bool), 1)
    graph = Graph(names, matrix, "digraph", np.full((40, 40), 0.25), log_posterior=-123456.789, probability=1.25e-5)
    lines = repr(graph).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Graph: directed graph, 40 nodes, 780 edges")
    assert "log posterior -123456.7890" in repr(graph)
    assert "0.25" in lines[3]
    assert lines[-1] == "  … and 772 more"
    assert repr(Graph(("", "b"), [[0, 1], [0, 0]])).endswith("\n  '' → b")


def test_representation_shows_undirected_edges_as_such():
    text = repr(as_graph([("a", "b"), ("c", "b"), ("c", "d")], NODES).cpdag())
    assert text.splitlines() == ["Graph: CPDAG, 4 nodes, 3 edges", "  a → b", "  c → b", "  c — d"]


def test_names_are_text_in_html():
    names = ("<script>alert(1)</script>", '"&')
    shown = Graph(names, [[0, 1], [0, 0]], probabilities=np.array([[0, 0.75], [0, 0]]))._repr_html_()
    assert "<script" not in shown
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td><td>→</td><td>&quot;&amp;</td><td>0.75</td>" in shown
    many = Graph(tuple(map(str, range(40))), np.triu(np.ones((40, 40)), 1))._repr_html_()
    assert many.count("<tr>") == 30
    assert "… and 750 more" in many


# ── graphs from elsewhere ─────────────────────────────────────────────────────────────────────────────────────────────


def test_without_nodes_a_graph_keeps_its_own():
    assert as_graph(CHAIN).nodes == ("X0", "X1", "X2", "X3")
    assert as_graph(NAMED["shuffled frame"]()).nodes == tuple("dbca")
    assert as_graph(NAMED["shuffled frame"]()).edges == [("b", "c"), ("a", "b")]
    assert as_graph(NAMED["causal-learn"]()).nodes == tuple("dcba")
    assert as_graph(nx.DiGraph([(5, 7)])).edges == [("5", "7")]
    simulation = simulate(nodes=5, edges=4, rows=2, seed=1)
    assert as_graph(simulation).edges == simulation.edges
    same = Graph(NODES, CHAIN)
    assert as_graph(same) is same


def test_a_reordered_graph_takes_its_probabilities_along():
    probabilities = np.arange(16).reshape(4, 4) / 16
    graph = Graph(NODES, CHAIN, probabilities=probabilities, log_posterior=-1.5, probability=0.25)
    found = as_graph(graph, tuple("dcba"))
    np.testing.assert_array_equal(found.probabilities, probabilities[::-1, ::-1])
    assert (found.log_posterior, found.probability) == (-1.5, 0.25)


def test_reads_the_truth_file_of_a_simulation(tmp_path):
    path = tmp_path / "truth.csv"
    write_csv(path, NODES, CHAIN.astype(int), row_names=NODES, corner="parent")
    assert as_graph(path).edges == as_graph(str(path)).edges == [("a", "b"), ("b", "c")]
    assert as_graph(path, tuple("dcba")).nodes == tuple("dcba")
    saved = pd.DataFrame(CHAIN, index=NODES, columns=NODES)
    saved.to_csv(path, encoding="utf-8-sig")
    assert as_graph(path).edges == [("a", "b"), ("b", "c")]


def test_causal_learn_marks_against_a_known_answer():
    """a → b in its matrix is −1 at [a, b] and 1 at [b, a]; reading the arrow's place as the parent turns the edge."""
    graph = general_graph("abc", [("a", "b")], [("b", "c")])
    assert graph.graph.tolist() == [[0, -1, 0], [1, 0, -1], [0, -1, 0]]
    found = as_graph(graph)
    assert (found.kind, found.edges, found.undirected) == ("cpdag", [("a", "b")], [("b", "c")])


@pytest.mark.parametrize("marks", [(1, 1), (2, 2), (2, 1), (1, 2), (-1, 2)])
def test_hidden_causes_of_causal_learn_are_refused(marks):
    graph = general_graph("ab", [])
    graph.graph[0, 1], graph.graph[1, 0] = marks
    assert "neither A → B nor A — B" in refusal(graph)


def test_the_kind_follows_from_the_edges_unless_it_was_said():
    two_way = CHAIN | CHAIN.T
    assert as_graph(two_way).kind == "cpdag"
    three_cycle = np.roll(np.eye(3), 1, axis=1)
    assert as_graph(three_cycle).kind == "digraph"
    for graph in (
        Graph(NODES, two_way, "digraph"),
        Graph(NODES, two_way, "cpdag"),
        Graph(NODES, CHAIN, "cpdag"),
        Graph(NODES, CHAIN),
    ):
        exported = graph.to_networkx()
        assert as_graph(exported).kind == graph.kind
    exported = Graph(NODES, CHAIN).to_networkx()
    exported.add_edge("c", "a")  # no DAG any more
    assert as_graph(exported).kind == "digraph"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "truth: NoneType is not understood; use a Graph"),
        ({"score": 1.0}, "truth: dict is not understood"),
        (np.zeros((3, 3)), "truth: the matrix must be 4 × 4, got shape (3, 3)"),
        (np.zeros((4, 3)), "truth: the matrix must be square, got shape (4, 3)"),
        ([[0, 1], [1]], "truth: the matrix cannot be read as a square matrix"),
        (CHAIN * 2, "truth: the matrix must hold only 0 and 1 (graph[i, j] = 1 means i → j)"),
        (np.full((4, 4), "x"), "truth: the matrix must hold only 0 and 1"),
        (np.eye(4), "truth: an edge leads from a node to itself: a, b, c, d"),
        ([("a", "a")], "truth: an edge leads from a node to itself: a"),
        ([("a", "z")], "truth: unknown nodes 'z'; the nodes are a, b, c, d"),
        ([(0, 4)], "truth: unknown nodes 4"),
        ([(0, -1)], "truth: unknown nodes -1"),
        ([("a", "b"), (1, 2)], "truth: a node is given both by its name and by its number"),
        ([("a", "b", "c")], "truth: ('a', 'b', 'c') is not a (parent, child) pair"),
        ([("a", None)], "truth: ('a', None) is not a (parent, child) pair"),
        ([(True, 1)], "truth: (True, 1) is not a (parent, child) pair"),
        (nx.Graph([("a", "b")]), "truth: the networkx graph has no directions"),
        (nx.DiGraph([("a", "z")]), "truth: unknown nodes 'z'"),
        (Graph(("a", "b"), np.zeros((2, 2))), "truth: the graph is on other nodes: 2 of them (a, b)"),
        (pd.DataFrame(CHAIN, index=NODES, columns=list("abcz")), "must have the same labels"),
        (pd.DataFrame(CHAIN, index=list("abcz"), columns=list("abcz")), "truth: the graph is on other nodes"),
        ("no-such-file.csv", "truth: no-such-file.csv: file not found"),
    ],
)
def test_what_is_no_graph_is_refused_by_name(value, message):
    assert message in refusal(value, NODES, argument="truth")


def test_a_list_of_pairs_needs_nodes():
    assert "graph: a list of edges does not say which nodes there are; give nodes=" in refusal([("a", "b")])
    assert as_graph([], ["a"]).edges == []
    assert "nodes: every node needs a name of its own" in refusal([], ["a", "a"])
    assert "nodes: the nodes must be a list of names" in refusal([], "ab")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no adjacency table"),
        ("parent,a,b\na,0,1\n", "no adjacency table"),
        ("parent,a,b\nb,0,1\na,0,0\n", "no adjacency table"),
        ("parent,a,b\na,0,1\nb,0\n", "no adjacency table"),
        ("parent,a,b\na,0,0.7\nb,0,0\n", "must hold only 0 and 1"),
        ("parent,a,a\na,0,1\na,0,0\n", "every node needs a name of its own"),
        ('parent,"a', "cannot be read as an adjacency CSV file"),
    ],
)
def test_files_that_hold_no_graph_are_refused(tmp_path, text, message):
    path = tmp_path / "graph.csv"
    path.write_text(text, encoding="utf-8")
    assert message in refusal(path)
    assert "is a folder" in refusal(tmp_path)
    path.write_bytes(b"\xff\xfe")
    assert "cannot be read as an adjacency CSV file" in refusal(path)


def test_all_dags_of_three_nodes_survive_each_way_out():
    names = ("x", "y", "z")
    for matrix in all_dags(3):
        graph = Graph(names, matrix)
        for exported in (graph.to_networkx(), graph.to_causal_learn(), graph.edges):
            np.testing.assert_array_equal(as_graph(exported, names).adjacency, matrix)
