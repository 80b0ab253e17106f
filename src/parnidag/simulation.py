"""Data whose graph is known: a random linear Gaussian network, and a small named one for the demonstration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

import numpy as np
import numpy.typing as npt

from parnidag._util.checks import number, seed_or_new, whole
from parnidag.errors import ParnidagError

EDGES_PER_NODE = 1.5
"""By default: sparse, as in most applications."""

EXAMPLE_SEED = 2023
EXAMPLE_ROWS = 400

_GARDEN = {
    "rain": {"altitude": 0.8},
    "temperature": {"altitude": -0.9, "sunlight": 0.9},
    "soil_moisture": {"rain": 1.1, "irrigation": 0.9},
    "earthworms": {"compost": 0.9, "soil_moisture": 0.8},
    "soil_nitrogen": {"compost": 1.0, "earthworms": 0.7},
    "root_depth": {"soil_moisture": -0.9},
    "aphids": {"temperature": 0.9},
    "ladybirds": {"aphids": 1.2},
    "leaf_area": {"root_depth": 0.7, "soil_nitrogen": 1.0, "aphids": -0.6},
    "photosynthesis": {"sunlight": 0.9, "leaf_area": 1.0},
    "transpiration": {"temperature": 0.9, "leaf_area": 0.8},
    "flowers": {"photosynthesis": 1.0},
    "bees": {"temperature": 0.8, "flowers": 0.8},
    "fruit_set": {"flowers": 0.8, "bees": 0.9},
    "fruit_sugar": {"soil_moisture": -0.6, "photosynthesis": 1.0},
    "harvest": {"fruit_set": 1.1, "aphids": -0.7},
}
"""The invented vegetable garden: the weights of each node's parents."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A data set together with the network that made it.

    Every node has population variance one: ``values[:, j] = values @ weights[:, j] + noise[j] * standard normal``.

    Attributes
    ----------
    names : tuple of str
        One name a node.
    values : array of float, shape (rows, nodes)
        The data.
    adjacency : array of bool, shape (nodes, nodes)
        ``adjacency[i, j]`` is True when i → j.
    weights : array of float, shape (nodes, nodes)
        The effect of parent i on child j, zero where there is no edge.
    noise : array of float, shape (nodes,)
        Standard deviation of each node's own noise.
    seed : int
        The seed that gives this simulation again.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64] = field(repr=False)
    adjacency: npt.NDArray[np.bool_] = field(repr=False)
    weights: npt.NDArray[np.float64] = field(repr=False)
    noise: npt.NDArray[np.float64] = field(repr=False)
    seed: int

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The true edges as (parent, child) names."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(self.adjacency)]


def simulate(
    nodes: int = 20,
    edges: int | None = None,
    rows: int = 500,
    seed: int | None = None,
    *,
    weights: tuple[float, float] = (0.5, 1.5),
    noise: float = 1.0,
) -> Simulation:
    """Simulate a linear Gaussian network on a random DAG.

    The nodes are put in a uniformly random order and exactly `edges` of the pairs, chosen uniformly, become edges that
    follow it. Each node is the weighted sum of its parents plus noise, divided by its own standard deviation, so that
    neither variance nor predictability grows with depth: a lone parent of weight w explains w² / (w² + noise²) of
    its child wherever it stands, and the scale of a column says nothing about its place in the order.

    Parameters
    ----------
    nodes : int, default 20
        Number of nodes, named V1, V2 and on.
    edges : int, optional
        Number of edges; by default 1.5 per node (or as many as fit).
    rows : int, default 500
        Number of independent rows.
    seed : int, optional
        Seed; the graph of a seed does not depend on `rows`. By default a fresh one, kept in the result.
    weights : (float, float), default (0.5, 1.5)
        Weights are uniform between these two magnitudes, with a random sign, before the division.
    noise : float, default 1
        Standard deviation of the noise, before the division.

    Examples
    --------
    >>> simulation = simulate(nodes=5, edges=4, rows=100, seed=1)
    >>> simulation.values.shape, int(simulation.adjacency.sum())
    ((100, 5), 4)
    """
    nodes = whole(nodes, "nodes", 1)
    rows = whole(rows, "rows", 1)
    most = nodes * (nodes - 1) // 2
    edges = min(round(EDGES_PER_NODE * nodes), most) if edges is None else whole(edges, "edges", 0)
    if edges > most:
        raise ParnidagError(f"edges={edges} is too many: a DAG of {nodes} nodes has at most {most}", argument="edges")
    low, high = _weight_range(weights)
    noise = number(noise, "noise", above=0)
    seed = seed_or_new(seed)

    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes)
    parents, children = _random_pairs(rng, order, edges)
    raw = np.zeros((nodes, nodes))
    raw[parents, children] = rng.uniform(low, high, edges) * rng.choice((-1.0, 1.0), edges)
    names = tuple(f"V{i + 1}" for i in range(nodes))
    return _draw(names, raw, order, noise, rows, rng, seed)


def example_network(rows: int = EXAMPLE_ROWS, seed: int = EXAMPLE_SEED) -> Simulation:
    """Simulate the demonstration's network: 20 quantities of an invented vegetable garden and 28 known effects.

    Parameters
    ----------
    rows : int, default 400
        Number of rows.
    seed : int, default 2023
        Seed of the data; the network itself is fixed.

    Examples
    --------
    >>> garden = example_network()
    >>> garden.values.shape, ("rain", "soil_moisture") in garden.edges
    ((400, 20), True)
    """
    rows = whole(rows, "rows", 1)
    seed = whole(seed, "seed", 0)
    # Columns in alphabetical order: the order of the columns must not give the causal order away.
    causal_order = list(TopologicalSorter(_GARDEN).static_order())
    names = tuple(sorted(causal_order))
    index = {name: i for i, name in enumerate(names)}
    raw = np.zeros((len(names), len(names)))
    for child, parents in _GARDEN.items():
        for parent, weight in parents.items():
            raw[index[parent], index[child]] = weight
    order = [index[name] for name in causal_order]
    return _draw(names, raw, order, 1.0, rows, np.random.default_rng(seed), seed)


def _random_pairs(
    rng: np.random.Generator, order: npt.NDArray[np.int64], edges: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Choose `edges` distinct pairs; the one earlier in `order` is the parent."""
    pairs = rng.choice(len(order) * (len(order) - 1) // 2, edges, replace=False) if edges else np.zeros(0, np.int64)
    # Pair number k is (i, j), i < j, with k = j(j−1)/2 + i; the root is exact for any array that fits in memory.
    later = ((1 + np.sqrt(1 + 8 * pairs.astype(np.float64))) / 2).astype(np.int64)
    earlier = pairs - later * (later - 1) // 2
    return order[earlier], order[later]


def _draw(
    names: tuple[str, ...],
    raw: npt.NDArray[np.float64],
    order: Iterable[int],
    noise: float,
    rows: int,
    rng: np.random.Generator,
    seed: int,
) -> Simulation:
    """Divide each node's equation by its population standard deviation and draw the rows."""
    weights = raw.copy()
    noises = np.empty(len(names))
    correlation = np.eye(len(names))
    values = rng.standard_normal((rows, len(names)))
    for j in order:
        parents = np.flatnonzero(raw[:, j])
        signal = float(raw[parents, j] @ correlation[np.ix_(parents, parents)] @ raw[parents, j])
        deviation = np.sqrt(signal + noise**2)
        weights[:, j] /= deviation
        noises[j] = noise / deviation
        if parents.size:
            # Later nodes have not been reached: their correlations are still zero, so only ancestors contribute.
            correlation[:, j] = correlation[j, :] = correlation[:, parents] @ weights[parents, j]
            correlation[j, j] = 1.0
        values[:, j] = noises[j] * values[:, j] + values[:, parents] @ weights[parents, j]
    return Simulation(names, values, raw != 0, weights, noises, seed)


def _weight_range(weights: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise ParnidagError(f"weights={weights!r} must be two numbers, the smallest and largest magnitude") from None
    if not 0 < low <= high < np.inf:
        raise ParnidagError(f"weights={weights!r} must satisfy 0 < smallest ≤ largest")
    return low, high
