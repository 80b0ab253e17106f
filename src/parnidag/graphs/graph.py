"""A graph that a result shows: named nodes, edges, how probable they are, and the way to other programs."""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import number, one_of
from parnidag._util.text import did_you_mean, number_of, one_line, shorten
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.export import Exports
from parnidag.graphs.matrices import in_order, is_probability, is_zero_one, square
from parnidag.graphs.read import Reading, read_graph, settle

Kind = Literal["dag", "cpdag", "digraph"]

_TITLES = {"dag": "DAG", "cpdag": "CPDAG", "digraph": "directed graph"}
_SHOWN_EDGES = 8
_SHOWN_IN_HTML = 30
_NAME_WIDTH = 24
_LINE = 80


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Exports):
    """A graph over named nodes; ``adjacency[i, j]`` means i → j, parent first, in every method here.

    Attributes
    ----------
    nodes : tuple of str
        Names of the n nodes.
    adjacency : (n, n) bool array
        Read-only; ``adjacency[i, j]`` is True when there is an edge from node i to node j.
    kind : {"dag", "cpdag", "digraph"}, default "dag"
        "dag" has no directed cycle. "cpdag" is partially directed: a pair marked both ways is one undirected edge,
        whose direction the data cannot tell. "digraph" may have cycles, as a graph of all probable edges can.
    probabilities : (n, n) float array, optional
        Posterior probability of every edge, whether it is in the graph or not; read-only.
    log_posterior : float, optional
        The log posterior of the graph, up to the constant that all graphs share.
    probability : float, optional
        Posterior probability of the graph itself.

    Examples
    --------
    >>> graph = Graph(("rain", "wet", "slippery"), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> graph
    Graph: DAG, 3 nodes, 2 edges
      rain → wet
      wet → slippery
    >>> graph.parents("slippery"), graph.cpdag().undirected
    (['wet'], [('rain', 'wet'), ('wet', 'slippery')])
    """

    nodes: tuple[str, ...]
    adjacency: NDArray[np.bool_]
    kind: Kind = "dag"
    probabilities: NDArray[np.float64] | None = None
    log_posterior: float | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        one_of(self.kind, "kind", get_args(Kind))
        nodes = checked_nodes(self.nodes, "nodes")
        adjacency = square(self.adjacency, len(nodes), "adjacency", "the matrix")
        if not is_zero_one(adjacency):
            raise ParnidagError("adjacency: the matrix must hold only 0 and 1 (graph[i, j] = 1 means i → j)")
        _refuse_loops(adjacency, nodes, "adjacency")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "adjacency", _frozen(adjacency, np.bool_))
        if self.probabilities is not None:
            matrix = square(self.probabilities, len(nodes), "probabilities", "the matrix")
            if not is_probability(matrix):
                raise ParnidagError("probabilities: the matrix must hold numbers from 0 to 1")
            object.__setattr__(self, "probabilities", _frozen(np.clip(matrix, 0.0, 1.0), np.float64))
        if self.probability is not None:
            if not is_probability(np.array(self.probability)):
                raise ParnidagError(f"probability must be a number from 0 to 1, got {self.probability!r}")
            object.__setattr__(self, "probability", min(max(float(self.probability), 0.0), 1.0))
        if self.log_posterior is not None:
            number(self.log_posterior, "log_posterior", what="a finite number", note="or None if unknown")
        if self.kind != "digraph" and not self.is_acyclic:
            raise ParnidagError(f'adjacency: it has a directed cycle, which a graph of kind "{self.kind}" cannot have')

    # ── what is in it ─────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def directed(self) -> NDArray[np.bool_]:
        """The edges that have a direction, as a read-only matrix; ``directed[i, j]`` means i → j."""
        if self.kind != "cpdag":
            return self.adjacency
        return _frozen(self.adjacency & ~self.adjacency.T, np.bool_)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges that have a direction, as (parent, child) names."""
        return self._named(self.directed)

    @property
    def undirected(self) -> list[tuple[str, str]]:
        """The undirected edges, each pair of names once; empty unless the graph is a CPDAG."""
        return self._named(np.triu(self.adjacency & ~self.directed))

    @cached_property
    def is_acyclic(self) -> bool:
        """Is there no way back to a node along edges that have a direction?"""
        return topological_order(self.directed) is not None

    def parents(self, name: str) -> list[str]:
        """Name the nodes from which an edge leads to this one; undirected edges do not count."""
        return [self.nodes[place] for place in np.flatnonzero(self.directed[:, self._place(name)])]

    def children(self, name: str) -> list[str]:
        """Name the nodes to which an edge leads from this one; undirected edges do not count."""
        return [self.nodes[place] for place in np.flatnonzero(self.directed[self._place(name)])]

    def cpdag(self) -> Graph:
        """Return the CPDAG: what all graphs share that data alone cannot tell from this one.

        An edge has a direction in it if it has the same in all of them. Probabilities are left out: those of a DAG's
        edges are not those of its class.
        """
        if self.kind == "cpdag":
            return self
        if not self.is_acyclic:
            raise ParnidagError("graph: it has a directed cycle, so it is no DAG and has no CPDAG")
        from parnidag.graphs.equivalence import cpdag  # only here: it brings in the compiler

        return Graph(self.nodes, cpdag(self.adjacency), "cpdag")

    # ── on screen ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        rows = self._rows()
        lines = textwrap.wrap(f"Graph: {self._title()}", _LINE, subsequent_indent="  ")
        for first, sign, second, probability in rows[:_SHOWN_EDGES]:
            first, second = (one_line(name, _NAME_WIDTH) or repr(name) for name in (first, second))
            label = f"{first} {sign} {second}"
            lines.append(f"  {label}" if probability is None else f"  {label:<52} {probability:.2f}")
        if len(rows) > _SHOWN_EDGES:
            lines.append(f"  … and {len(rows) - _SHOWN_EDGES} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self._rows()
        cells = [
            f"<tr><td>{html.escape(first)}</td><td>{sign}</td><td>{html.escape(second)}</td>"
            + ("" if probability is None else f"<td>{probability:.2f}</td>")
            + "</tr>"
            for first, sign, second, probability in rows[:_SHOWN_IN_HTML]
        ]
        more = f"<p>… and {len(rows) - _SHOWN_IN_HTML} more</p>" if len(rows) > _SHOWN_IN_HTML else ""
        return f"<div><p><strong>Graph</strong>: {self._title()}</p><table>{''.join(cells)}</table>{more}</div>"

    def _title(self) -> str:
        parts = [_TITLES[self.kind], number_of(len(self.nodes), "node"), number_of(len(self._rows()), "edge")]
        if self.log_posterior is not None:
            parts.append(f"log posterior {self.log_posterior:.4f}")
        if self.probability is not None:
            parts.append(f"probability {self.probability:.2g}")
        return ", ".join(parts)

    def _rows(self) -> list[tuple[str, str, str, float | None]]:
        """List the edges for display, directed ones first: name, sign, name, probability."""
        rows: list[tuple[str, str, str, float | None]] = []
        for sign, marked in (("→", self.directed), ("—", np.triu(self.adjacency & ~self.directed))):
            for i, j in np.argwhere(marked).tolist():
                known = None if self.probabilities is None else float(self.probabilities[i, j])
                rows.append((self.nodes[i], sign, self.nodes[j], known))
        return rows

    def _named(self, marked: NDArray[np.bool_]) -> list[tuple[str, str]]:
        return [(self.nodes[i], self.nodes[j]) for i, j in np.argwhere(marked).tolist()]

    def _place(self, name: str) -> int:
        try:
            return self.nodes.index(name)
        except ValueError:
            raise ParnidagError(f"name: unknown node {name!r}; {did_you_mean(str(name), self.nodes)}") from None


def as_graph(value: object, nodes: Sequence[str] | None = None, argument: str = "graph") -> Graph:
    """Read a graph from whatever describes one.

    Parameters
    ----------
    value
        A `Graph`; an n × n array of 0 and 1, or a data frame of them with names, rows being parents and columns
        children; a networkx.DiGraph, of pgmpy or not; a list of (parent, child) pairs, by name or by number from 0 on;
        causal-learn's GeneralGraph or the result it came in; a `Simulation`; or the path of an adjacency CSV file, as
        `Graph.to_csv` writes it.
    nodes : sequence of str, optional
        The nodes and their order in the result: what has names is put in this order, what has none gets these names.
        By default those of the graph, or X0, X1 … if it has none. For a list of pairs they must be given.
    argument : str, default "graph"
        What to call the value in an error.

    Returns
    -------
    Graph
        Of kind "dag" if it has no cycle; else "cpdag", pairs marked both ways being undirected edges, if the other
        edges have no cycle; else "digraph". A `Graph` and its networkx export keep their kind.

    Raises
    ------
    ParnidagError
        It is none of these, has other nodes, or an edge from a node to itself.

    Examples
    --------
    >>> as_graph([[0, 1], [0, 0]])
    Graph: DAG, 2 nodes, 1 edge
      X0 → X1
    >>> as_graph([("rain", "wet")], ["wet", "rain"]).adjacency.astype(int)
    array([[0, 0],
           [1, 0]])
    """
    if nodes is not None:
        nodes = checked_nodes(nodes, "nodes")
    if isinstance(value, Graph):
        return value if nodes is None or nodes == value.nodes else _reordered(value, nodes, argument)
    reading = read_graph(value, argument)
    if nodes is None:
        nodes = own_nodes(reading, argument)
        reading = reading._replace(labels=list(nodes))
    return graph_of(reading, nodes, argument)


def graph_of(reading: Reading, nodes: Sequence[str], argument: str) -> Graph:
    """Put what was read on these nodes, and find out what kind of graph it is."""
    if reading.no_directions is not None:
        raise ParnidagError(f"{argument}: {reading.no_directions}")
    matrix = settle(reading, nodes, argument)
    _refuse_loops(matrix, nodes, argument)
    return Graph(tuple(nodes), matrix, _kind_of(matrix, reading.kind))


def own_nodes(reading: Reading, argument: str) -> tuple[str, ...]:
    if reading.labels is None:
        return tuple(f"X{place}" for place in range(len(reading.matrix)))
    if reading.edges_only:
        raise ParnidagError(f"{argument}: a list of edges does not say which nodes there are; give nodes= as well")
    return checked_nodes([str(label) for label in reading.labels], argument)


def checked_nodes(nodes: Sequence[str], argument: str) -> tuple[str, ...]:
    if isinstance(nodes, str) or not all(isinstance(name, str) for name in nodes):
        raise ParnidagError(f"{argument}: the nodes must be a list of names (str), not {one_line(repr(nodes), 80)}")
    repeated = [repr(name) for name, count in Counter(nodes).items() if count > 1]
    if repeated:
        raise ParnidagError(f"{argument}: every node needs a name of its own; repeated are {shorten(repeated)}")
    return tuple(str(name) for name in nodes)


def _refuse_loops(matrix: NDArray[Any], nodes: Sequence[str], argument: str) -> None:
    loops = [nodes[place] for place in np.flatnonzero(matrix.diagonal()).tolist()]
    if loops:
        raise ParnidagError(f"{argument}: an edge leads from a node to itself: {shorten(loops)}")


def _kind_of(matrix: NDArray[np.bool_], said: str | None) -> Kind:
    if said == "digraph":
        return "digraph"
    if said != "cpdag" and topological_order(matrix) is not None:
        return "dag"
    return "cpdag" if topological_order(matrix & ~matrix.T) is not None else "digraph"


def _reordered(graph: Graph, nodes: tuple[str, ...], argument: str) -> Graph:
    def moved(matrix: NDArray[Any]) -> NDArray[Any]:
        return in_order(matrix, graph.nodes, nodes, argument, "the graph")

    probabilities = None if graph.probabilities is None else moved(graph.probabilities)
    return replace(graph, nodes=nodes, adjacency=moved(graph.adjacency), probabilities=probabilities)


def _frozen(matrix: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Copy a matrix, so that nobody else can change it, and close it."""
    copied = np.array(matrix, dtype=dtype)
    copied.flags.writeable = False
    return copied
