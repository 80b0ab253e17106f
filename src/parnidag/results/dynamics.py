"""What a result over a panel says of time: lags by pair of variables, the graph rolled up, and rolled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    import networkx as nx

MOST_NODES = 5000
"""A graph over time has at most so many nodes, one for each variable and time."""


@dataclass(frozen=True)
class Slices:
    """Which node of a panel is which variable, and how many steps ago."""

    variables: tuple[str, ...]
    lags: int
    static: tuple[str, ...]

    @staticmethod
    def of(settings: Mapping[str, Any], what: str) -> Slices:
        """Read them from the settings of a run, or refuse what needs them."""
        found = Slices.known(settings)
        if found is None:
            raise ParnidagError(f"{what} needs a result over time: make the data a parnidag.Panel")
        return found

    @staticmethod
    def known(settings: Mapping[str, Any]) -> Slices | None:
        past = (settings.get("data") or {}).get("panel")
        return None if past is None else Slices(tuple(past["variables"]), past["lags"], tuple(past["static"]))

    def by_lag(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return what a matrix over the nodes holds for edges into the present (lag × from × to)."""
        p = len(self.variables)
        return np.asarray(matrix[: p * (1 + self.lags), :p].reshape(1 + self.lags, p, p))

    def from_static(self, matrix: NDArray[Any]) -> NDArray[Any]:
        p = len(self.variables)
        return np.asarray(matrix[p * (1 + self.lags) :, :p])

    def rolled(self, probabilities: NDArray[np.float64], threshold: float) -> nx.MultiDiGraph:
        """Return the graph of variables, an edge for each lag at which one acts on another."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        graph.add_nodes_from(self.static, static=True)
        graph.add_nodes_from(self.variables, static=False)
        by_lag = self.by_lag(probabilities)
        for lag, i, j in np.argwhere(by_lag >= threshold).tolist():
            found = float(by_lag[lag, i, j])
            graph.add_edge(self.variables[i], self.variables[j], key=lag, lag=lag, probability=found)
        from_static = self.from_static(probabilities)
        for k, j in np.argwhere(from_static >= threshold).tolist():
            found = float(from_static[k, j])
            graph.add_edge(self.static[k], self.variables[j], key=0, lag=0, probability=found)
        return graph

    def unrolled(self, adjacency: NDArray[np.bool_], probabilities: NDArray[np.float64], steps: int) -> Graph:
        """Return the graph over so many times; each edge is there whenever both its ends are."""
        p, fixed = len(self.variables), len(self.static)
        n = fixed + p * steps
        if n > MOST_NODES:
            raise ParnidagError(
                f"steps={steps}: {n} nodes are more than {MOST_NODES}; take fewer steps", argument="steps"
            )
        names = [*self.static, *(f"{name}[{time}]" for time in range(1, steps + 1) for name in self.variables)]
        edges, chances = np.zeros((n, n), np.bool_), np.zeros((n, n))
        for into, given in ((edges, adjacency), (chances, probabilities)):
            for time in range(steps):
                now = slice(fixed + p * time, fixed + p * (time + 1))
                into[:fixed, now] = self.from_static(given)
                for lag in range(min(self.lags, time) + 1):
                    before = slice(fixed + p * (time - lag), fixed + p * (time - lag + 1))
                    into[before, now] = self.by_lag(given)[lag]
        return Graph(tuple(names), edges, "dag", probabilities=chances)

    def by_pair(self, probabilities: NDArray[np.float64]) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
        """List pairs of variables, the surest first, and the probability of an edge at each lag (pairs × lags)."""
        p, by_lag = len(self.variables), self.by_lag(probabilities)
        values = by_lag.reshape(1 + self.lags, p * p).T
        order = np.argsort(-values.max(axis=1), kind="stable")
        return [(self.variables[k // p], self.variables[k % p]) for k in order.tolist()], values[order]
