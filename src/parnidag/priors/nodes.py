"""Nodes by name or by index: what a node, an edge or a matrix of edges of a prior means among the nodes of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import as_whole
from parnidag._util.text import did_you_mean
from parnidag.errors import PriorError

Node = str | int
Edge = tuple[Node, Node]

SIZE_ADVICE = "rows are parents, columns children, in the order of the data"
"""What a user needs to know of every n × n array, for messages."""


class Nodes:
    """The nodes of a problem, and what edges given by name or index mean among them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = len(self.names)
        if self.size < 2:
            raise PriorError(f"a prior over graphs needs at least 2 nodes; got {self.size}")
        self._indices = {name: index for index, name in enumerate(self.names)}

    def index(self, node: Node, argument: str) -> int:
        if isinstance(node, str):
            if node in self._indices:
                return self._indices[node]
            raise PriorError(f"{argument}: unknown node {node!r}; {did_you_mean(node, self.names)}", argument=argument)
        if node >= self.size:
            raise PriorError(f"{argument}: index {node} is out of range; there are {self.size} nodes, the first is 0")
        return node

    def edge(self, edge: Edge, argument: str) -> tuple[int, int]:
        parent, child = (self.index(node, argument) for node in edge)
        if parent == child:
            raise PriorError(f"{argument}: {edge[0]!r} → {edge[1]!r} leads from {self.names[parent]} to itself")
        return parent, child

    def matrix(self, given: Any, argument: str) -> NDArray[np.float64]:
        """Put what is given for single edges, or 1 for each of a list, into an n × n array; its diagonal is 0."""
        if isinstance(given, np.ndarray):
            if given.shape != (self.size, self.size):
                size = f"{given.shape[0]} × {given.shape[1]}"
                raise PriorError(f"{argument}: the array is {size}, but there are {self.size} nodes ({SIZE_ADVICE})")
            return np.where(np.eye(self.size, dtype=bool), 0.0, given)
        numbers = np.full((self.size, self.size), np.nan)
        for edge in given:
            place = self.edge(edge, argument)
            if isinstance(given, Mapping) and not np.isnan(numbers[place]):
                raise PriorError(f"{argument}: {self.arrow(place)} is given twice, by name and by index")
            numbers[place] = given[edge] if isinstance(given, Mapping) else 1.0
        return np.asarray(np.nan_to_num(numbers))

    def places(self, tiers: Any) -> list[list[int]]:
        return [[self.index(node, "tiers") for node in tier] for tier in tiers or ()]

    def against_tiers(self, tiers: Any) -> NDArray[np.bool_]:
        """Mark the edges that lead from a later tier to an earlier one."""
        places = self.places(tiers)
        refuse_repeated([self.names[place] for tier in places for place in tier])
        tier_of = np.full(self.size, np.nan)  # comparisons with NaN are false: a node in no tier is free
        for number, tier in enumerate(places):
            tier_of[tier] = number
        return np.asarray(np.greater.outer(tier_of, tier_of))

    def arrow(self, edge: Sequence[int]) -> str:
        return " → ".join(self.names[node] for node in edge)


def checked_edge(edge: object, argument: str) -> Edge:
    if not isinstance(edge, (tuple, list)) or len(edge) != 2:
        raise PriorError(f"{argument}: {edge!r} is not a (parent, child) pair; write a list such as [('A', 'B')]")
    parent, child = (checked_node(node, argument) for node in edge)
    if parent == child:
        raise PriorError(f"{argument}: {parent!r} → {child!r} leads from a node to itself", argument=argument)
    return parent, child


def checked_node(node: object, argument: str) -> Node:
    if isinstance(node, str):
        return str(node)
    index = as_whole(node)
    if index is None:
        raise PriorError(f"{argument}: {node!r} is not a node; give its name (str) or its index (int)")
    if index < 0:
        raise PriorError(f"{argument}: index {index} is negative; indices start at 0")
    return index


def refuse_repeated(nodes: Sequence[Node]) -> None:
    seen: set[Node] = set()
    for node in nodes:
        if node in seen:
            raise PriorError(f"tiers: {node!r} is listed twice; a node belongs to one tier")
        seen.add(node)
