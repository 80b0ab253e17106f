"""Graphs: matrices, graphs over named nodes, equivalence classes, the graph nearest to a posterior, drawings."""
