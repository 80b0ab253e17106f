"""Graphs over named nodes, equivalence classes, and the graph nearest to a posterior."""

from parnidag.graphs.named import Graph as Graph
from parnidag.graphs.named import as_graph as as_graph
