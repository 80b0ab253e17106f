import re
import shutil
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pydot
import pytest

from parnidag._util.files import replacing, write_atomically
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph, as_graph

IN_ONE_LINE = (
    'say "hi"¦two\nlines¦tab\there¦carriage\rreturn¦Grüße → 😀¦¦ spaces ¦<script>alert(1)</script>¦&amp;¦'
    "=cmd()|' /C calc'!A0¦'=1+1¦'plain¦\t=1¦-1¦+x¦@x¦1¦NaN¦back\\slash\\¦end\\\"¦a,b;c¦x:y¦[1]¦{}%s¦node¦digraph¦"
    "// no comment¦# no comment¦line\u2028separator¦next\x85line"
)
HOSTILE = tuple(IN_ONE_LINE.split("¦"))


def hostile_graph(kind="dag", probabilities=True):
    """A dense DAG over the worst names, with a probability on every edge that no other edge has."""
    n = len(HOSTILE)
    rng = np.random.default_rng(1)
    order = rng.permutation(n)
    matrix = np.triu(rng.random((n, n)) < 0.2, 1)[np.ix_(order, order)]
    numbers = rng.random((n, n)) if probabilities else None
    return Graph(HOSTILE, matrix, kind, numbers)


def partly_directed():
    """c → b ← a, and c — d."""
    return Graph(tuple("abcd"), [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], "cpdag")


def assert_same(found, graph):
    """The nodes in order, the edges with their directions, and on each its own probability."""
    assert list(found.nodes) == list(graph.nodes)
    expected = graph.to_networkx()
    assert set(found.edges) == set(expected.edges)
    for edge, attributes in expected.edges.items():
        assert found.edges[edge].get("probability") == attributes.get("probability")


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("probabilities", [True, False])
def test_networkx_reads_gml_and_graphml_back(tmp_path, probabilities):
    graph = hostile_graph(probabilities=probabilities)
    for name, reader, parser in (("gml", nx.read_gml, nx.parse_gml), ("graphml", nx.read_graphml, nx.parse_graphml)):
        write = getattr(graph, f"to_{name}")
        path = write(tmp_path / f"graph.{name}")
        assert path == tmp_path / f"graph.{name}"
        assert_same(reader(path), graph)
        assert_same(parser(write()), graph)
        assert path.read_text(encoding="utf-8") == write()


# pydot's own parser warns of names that changed in the library it uses
reads_dot = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def read_dot(text):
    """What pydot reads, with the names unquoted as Graphviz draws them."""
    (graph,) = pydot.graph_from_dot_data(text)

    def name_of(quoted):
        assert quoted[0] == quoted[-1] == '"'
        return re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL)

    assert graph.get_type() == "digraph"
    nodes = [name_of(node.get_name()) for node in graph.get_node_list()]
    edges = {
        (name_of(edge.get_source()), name_of(edge.get_destination())): edge.get_attributes()
        for edge in graph.get_edge_list()
    }
    assert len(edges) == len(graph.get_edge_list())
    return nodes, edges


@reads_dot
def test_dot_is_read_back_by_pydot(tmp_path):
    graph = hostile_graph()
    nodes, edges = read_dot(graph.to_dot(tmp_path / "graph.dot").read_bytes().decode("utf-8"))
    assert tuple(nodes) == HOSTILE
    assert set(edges) == set(graph.edges)
    for (parent, child), attributes in edges.items():
        expected = graph.probabilities[HOSTILE.index(parent), HOSTILE.index(child)]
        assert float(attributes["probability"]) == expected
        assert attributes["label"] == f'"{expected:.2f}"'
    assert all(not attributes for attributes in read_dot(hostile_graph(probabilities=False).to_dot())[1].values())


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_the_names_as_they_are():
    graph = hostile_graph()
    finished = subprocess.run(["dot", "-Tsvg"], input=graph.to_dot().encode(), capture_output=True, check=True)
    assert not finished.stderr
    space = "{http://www.w3.org/2000/svg}"
    groups = list(ElementTree.fromstring(finished.stdout).iter(f"{space}g"))
    drawn = {
        "\n".join("".join(line.itertext()) for line in group.iter(f"{space}text"))
        for group in groups
        if group.get("class") == "node"
    }
    assert drawn == set(HOSTILE)
    assert sum(group.get("class") == "edge" for group in groups) == len(graph.edges)


@reads_dot
def test_undirected_edges_are_drawn_once_without_arrows():
    edges = read_dot(partly_directed().to_dot())[1]
    assert {pair: attributes.get("dir") for pair, attributes in edges.items()} == {
        ("a", "b"): None,
        ("c", "b"): None,
        ("c", "d"): "none",
    }
    two_way = Graph(("a", "b"), [[0, 1], [1, 0]], "digraph")  # two edges, each with its arrow
    assert read_dot(two_way.to_dot())[1] == {("a", "b"): {}, ("b", "a"): {}}


def test_csv_is_read_back(tmp_path):
    for graph in (hostile_graph(), partly_directed()):
        path = graph.to_csv(tmp_path / "graph.csv")
        found = as_graph(path)
        assert found.nodes == graph.nodes
        np.testing.assert_array_equal(found.adjacency, graph.adjacency)
        assert found.kind == graph.kind
        assert path.read_bytes().decode("utf-8") == graph.to_csv()


@pytest.mark.parametrize("name", ["\x00", "esc\x1b[0m", "\ufffe"])
def test_names_that_xml_cannot_hold_are_refused(name):
    graph = Graph((name, "b"), [[0, 1], [0, 0]])
    with pytest.raises(ParnidagError, match=r"nodes: the name .* has a character that XML cannot hold"):
        graph.to_graphml()
    assert_same(nx.parse_gml(graph.to_gml()), graph)


@pytest.mark.parametrize("form", ["to_dot", "to_gml", "to_graphml", "to_csv"])
def test_files_are_replaced_in_one_step_or_not_at_all(tmp_path, form, monkeypatch):
    graph = as_graph([("a", "b")], ["a", "b"])
    path = tmp_path / "graph.txt"
    path.write_text("old")
    getattr(graph, form)(str(path))
    assert path.read_text() == getattr(graph, form)()
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ParnidagError, match=r"path: cannot write .* the folder .* does not exist"):
        getattr(graph, form)(tmp_path / "nowhere" / "graph.txt")
    with pytest.raises(ParnidagError, match=r"path: cannot write .* it is a folder; name a file, for example graph\."):
        getattr(graph, form)(tmp_path)

    def broken(self, target):
        raise OSError("the disk is full")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    path.write_text("old")
    with pytest.raises(ParnidagError, match="the disk is full"):
        getattr(graph, form)(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ParnidagError, match="half a character"):
        write_atomically(path, "\ud800")
    assert write_atomically(path, "a\r\nb\n").read_bytes() == b"a\r\nb\n"


# ── libraries ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_networkx():
    graph = hostile_graph()
    exported = graph.to_networkx()
    i, j = np.argwhere(graph.adjacency)[0]
    assert exported.edges[HOSTILE[i], HOSTILE[j]]["probability"] == graph.probabilities[i, j]
    np.testing.assert_array_equal(as_graph(exported, HOSTILE).adjacency, graph.adjacency)
    both = partly_directed().to_networkx()
    assert set(both.edges) == {("a", "b"), ("c", "b"), ("c", "d"), ("d", "c")}
    assert as_graph(both).undirected == [("c", "d")]


def test_causal_learn_endpoints_against_a_known_answer():
    exported = Graph(("a", "b", "c"), [[0, 1, 0], [0, 0, 0], [0, 1, 0]], "cpdag").to_causal_learn()
    assert exported.graph.tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]
    assert sorted(map(str, exported.get_graph_edges())) == ["a --> b", "c --> b"]
    exported = Graph(("a", "b", "c"), [[0, 1, 0], [0, 0, 1], [0, 1, 0]], "cpdag").to_causal_learn()
    assert sorted(map(str, exported.get_graph_edges())) == ["a --> b", "b --- c"]


def test_dowhy_graph_is_plain():
    graph = hostile_graph()
    exported = graph.to_dowhy()
    assert (tuple(exported.nodes), list(exported.edges)) == (HOSTILE, graph.edges)
    assert not exported.graph
    assert not any(attributes for *_, attributes in exported.edges(data=True))


CYCLE = Graph(("a", "b"), [[0, 1], [1, 0]], "digraph")


@pytest.mark.parametrize(
    ("graph", "method", "message"),
    [
        (CYCLE, "to_dowhy", "graph: it has a directed cycle, and DoWhy needs a DAG"),
        (partly_directed(), "to_dowhy", "graph: DoWhy needs every direction, which a CPDAG leaves open"),
        (CYCLE, "to_pgmpy", "graph: it has a directed cycle, and pgmpy needs a DAG"),
        (CYCLE, "to_causal_learn", "graph: causal-learn has no place for A → B and B → A at once"),
    ],
)
def test_what_a_library_cannot_hold_is_refused(graph, method, message):
    with pytest.raises(ParnidagError, match=message):
        getattr(graph, method)()


@pytest.mark.parametrize(
    ("method", "module", "package"),
    [("to_pgmpy", "pgmpy", "pgmpy"), ("to_causal_learn", "causallearn", "causal-learn")],
)
def test_missing_libraries_are_named(monkeypatch, method, module, package):
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ParnidagError, match=f"{method} needs {package}, which cannot be imported.*pip install {package}"
    ):
        getattr(as_graph([("a", "b")], ["a", "b"]), method)()


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_round_trip():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base, models = pytest.importorskip("pgmpy.base"), pytest.importorskip("pgmpy.models")
    graph = hostile_graph()
    exported = graph.to_pgmpy()
    assert isinstance(exported, base.DAG)
    assert set(exported.nodes) == set(HOSTILE)
    assert set(exported.edges) == set(graph.edges)
    name = max(HOSTILE, key=lambda name: len(graph.parents(name)))
    assert set(exported.get_parents(name)) == set(graph.parents(name))
    np.testing.assert_array_equal(as_graph(exported, HOSTILE).adjacency, graph.adjacency)

    collider = as_graph([("a", "b"), ("c", "b")], ["a", "b", "c", "alone"])
    exported = collider.to_pgmpy()
    assert not exported.is_dconnected("a", "c")  # a transposed graph would be a fork, in which they are
    assert exported.is_dconnected("a", "c", observed="b")
    network = models.DiscreteBayesianNetwork(exported)
    assert (set(network.nodes), set(network.edges)) == (set(exported.nodes), set(exported.edges))

    exported = partly_directed().to_pgmpy()
    assert isinstance(exported, base.PDAG)
    assert (exported.directed_edges, exported.undirected_edges) == ({("a", "b"), ("c", "b")}, {("c", "d")})
    back = as_graph(exported, tuple("abcd"))
    np.testing.assert_array_equal(back.adjacency, partly_directed().adjacency)
