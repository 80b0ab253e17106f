"""Graphs for other programs. Every edge goes parent first, and each method says what that means in its format."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from parnidag._util.files import csv_text, write_atomically
from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    import os

    import networkx as nx
    from numpy.typing import NDArray

_ENTITY = re.compile(r"&#?\w+;")
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Exports:
    """What a `Graph` can do for other programs; the graph itself is in `graphs/graph.py`."""

    if TYPE_CHECKING:  # what a graph says about itself; only Any lets a property take the place of an attribute
        nodes: tuple[str, ...]
        adjacency: NDArray[np.bool_]
        kind: str
        probabilities: NDArray[np.float64] | None
        edges: Any
        undirected: Any
        is_acyclic: Any

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @overload
    def to_dot(self, path: None = None) -> str: ...
    @overload
    def to_dot(self, path: str | os.PathLike[str]) -> Path: ...
    def to_dot(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        r"""Return the graph as Graphviz text, or write it to the file `path`: ``parent -> child``.

        An undirected edge of a CPDAG is written once, with ``dir=none``. Graphviz draws every name as it is; programs
        that take names as they stand in the file see a backslash in them doubled.

        Examples
        --------
        >>> from parnidag import as_graph
        >>> print(as_graph([("rain", "wet")], ["rain", "wet"]).to_dot())
        // parent -> child
        digraph {
          "rain";
          "wet";
          "rain" -> "wet";
        }
        <BLANKLINE>
        """
        lines = ["// parent -> child", "digraph {"]
        lines += [f"  {_dot_quoted(name)}{_dot_label(name)};" for name in self.nodes]
        two_way = self.adjacency & self.adjacency.T
        undirected = two_way if self.kind == "cpdag" else np.zeros_like(two_way)
        for i, j in np.argwhere(self.adjacency & ~np.tril(undirected)).tolist():
            attributes = ["dir=none"] if undirected[i, j] else []
            for probability in self._attributes_of(i, j).values():
                attributes += [f"probability={probability!r}", f'label="{probability:.2f}"']
            shown = f" [{', '.join(attributes)}]" if attributes else ""
            lines.append(f"  {_dot_quoted(self.nodes[i])} -> {_dot_quoted(self.nodes[j])}{shown};")
        return _text_or_file("\n".join([*lines, "}", ""]), path, "graph.dot")

    @overload
    def to_gml(self, path: None = None) -> str: ...
    @overload
    def to_gml(self, path: str | os.PathLike[str]) -> Path: ...
    def to_gml(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the graph as GML text, or write it to the file `path`; ``source`` is the parent, ``target`` the child.

        An undirected edge of a CPDAG is an edge each way. The name of a node is its ``label``.

        Examples
        --------
        >>> import networkx as nx
        >>> from parnidag import as_graph
        >>> nx.parse_gml(as_graph([("rain", "wet")], ["rain", "wet"]).to_gml()).edges
        OutEdgeView([('rain', 'wet')])
        """
        import networkx as nx

        return _text_or_file("\n".join([*nx.generate_gml(self.to_networkx()), ""]), path, "graph.gml")

    @overload
    def to_graphml(self, path: None = None) -> str: ...
    @overload
    def to_graphml(self, path: str | os.PathLike[str]) -> Path: ...
    def to_graphml(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the graph as GraphML, or write it to the file `path`, as `to_gml` does.

        The name of a node is its ``id``.
        """
        refused = next(filter(_NOT_IN_XML.search, self.nodes), None)
        if refused is not None:
            raise ParnidagError(
                f"nodes: the name {refused!r} has a character that XML cannot hold; rename it, or export GML"
            )
        import networkx as nx

        written = io.BytesIO()
        # not generate_graphml: it cuts the text wherever Unicode ends a line, even within a name
        nx.write_graphml_xml(self.to_networkx(), written)
        return _text_or_file(written.getvalue().decode("utf-8"), path, "graph.graphml")

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> Path: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the adjacency table as CSV, or write it to the file `path`; a row is a parent, a column a child.

        An undirected edge of a CPDAG is a 1 each way. All names are quoted, and one that a spreadsheet would run as a
        formula gets an apostrophe in front, which `as_graph` takes away again.

        Examples
        --------
        >>> from parnidag import as_graph
        >>> print(as_graph([("rain", "wet")], ["rain", "wet"]).to_csv())
        "parent","rain","wet"
        "rain",0,1
        "wet",0,0
        <BLANKLINE>
        """
        table = csv_text(self.nodes, self.adjacency.astype(int), row_names=self.nodes, corner="parent")
        return _text_or_file(table, path, "graph.csv")

    # ── libraries ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_networkx(self) -> nx.DiGraph:
        """Return the graph for networkx: ``(parent, child)`` is an edge, and all nodes are there.

        Edges have an attribute `probability` if it is known. An undirected edge of a CPDAG is an edge each way; the
        attribute `kind` of the graph tells a CPDAG from a DAG.

        Examples
        --------
        >>> from parnidag import as_graph
        >>> as_graph([("rain", "wet")], ["wet", "rain", "sun"]).to_networkx().edges
        OutEdgeView([('rain', 'wet')])
        """
        import networkx as nx

        exported = nx.DiGraph(kind=self.kind)
        exported.add_nodes_from(self.nodes)
        for i, j in np.argwhere(self.adjacency).tolist():
            exported.add_edge(self.nodes[i], self.nodes[j], **self._attributes_of(i, j))
        return exported

    def to_pgmpy(self) -> Any:
        """Return the graph for pgmpy: a ``pgmpy.base.DAG``, or a ``PDAG`` of a CPDAG; ``(parent, child)`` is an edge.

        It is the graph alone: ``pgmpy.models.DiscreteBayesianNetwork(graph.to_pgmpy())``, or its sister for the kind of
        data at hand, has parameters to fit.
        """
        self._refuse_cycles("pgmpy")
        try:
            from pgmpy.base import DAG, PDAG
        except ImportError as error:
            raise _missing("pgmpy", "to_pgmpy", error) from error
        exported = PDAG(self.edges, self.undirected) if self.kind == "cpdag" else DAG(self.edges)
        exported.add_nodes_from(self.nodes)
        return exported

    def to_dowhy(self) -> nx.DiGraph:
        """Return what ``dowhy.CausalModel(data, treatment, outcome, graph=...)`` takes: parent → child."""
        if self.kind == "cpdag":
            raise ParnidagError("graph: DoWhy needs every direction, which a CPDAG leaves open; export a DAG")
        self._refuse_cycles("DoWhy")
        import networkx as nx

        exported = nx.DiGraph()
        exported.add_nodes_from(self.nodes)
        exported.add_edges_from(self.edges)
        return exported

    def to_causal_learn(self) -> Any:
        """Return causal-learn's ``GeneralGraph``: an edge has its tail at the parent and its arrow at the child.

        Of its matrix ``graph``, that is −1 at [parent, child] and 1 at [child, parent]; an undirected edge of a CPDAG
        is −1 at both.

        Examples
        --------
        >>> from parnidag import as_graph
        >>> print(*as_graph([("rain", "wet")], ["rain", "wet"]).to_causal_learn().get_graph_edges())
        rain --> wet
        """
        if self.kind == "digraph" and (self.adjacency & self.adjacency.T).any():
            raise ParnidagError("graph: causal-learn has no place for A → B and B → A at once; export an acyclic graph")
        try:
            from causallearn.graph.Edge import Edge
            from causallearn.graph.Endpoint import Endpoint
            from causallearn.graph.GeneralGraph import GeneralGraph
            from causallearn.graph.GraphNode import GraphNode
        except ImportError as error:
            raise _missing("causal-learn", "to_causal_learn", error) from error
        nodes = {name: GraphNode(name) for name in self.nodes}
        exported = GeneralGraph(list(nodes.values()))
        for parent, child in self.edges:
            exported.add_edge(Edge(nodes[parent], nodes[child], Endpoint.TAIL, Endpoint.ARROW))
        for one, other in self.undirected:
            exported.add_edge(Edge(nodes[one], nodes[other], Endpoint.TAIL, Endpoint.TAIL))
        return exported

    def _attributes_of(self, i: int, j: int) -> dict[str, float]:
        return {} if self.probabilities is None else {"probability": float(self.probabilities[i, j])}

    def _refuse_cycles(self, program: str) -> None:
        if not self.is_acyclic:
            raise ParnidagError(f"graph: it has a directed cycle, and {program} needs a DAG")


def _text_or_file(text: str, path: str | os.PathLike[str] | None, example: str) -> str | Path:
    return text if path is None else write_atomically(path, text, example)


def _dot_quoted(name: str) -> str:
    r"""Quote a name; Graphviz draws ``\\`` as one backslash, and a single one at the end would swallow the quote."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _dot_label(name: str) -> str:
    """Give a name such as "&lt;" a label of its own: Graphviz would draw the character that it stands for in HTML."""
    return f" [label={_dot_quoted(name.replace('&', '&amp;'))}]" if _ENTITY.search(name) else ""


def _missing(package: str, method: str, error: ImportError) -> ParnidagError:
    return ParnidagError(f"{method} needs {package}, which cannot be imported ({error}): pip install {package}")
