"""The data that benchmarks run on: the real sets from a folder, or simulated ones of the same shape."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import parnidag
from benchmarks.networks import MissingData, known_network, protein
from parnidag.data import Data
from parnidag.graphs.adjacency import topological_order
from parnidag.priors.edge_prior import EdgePrior
from parnidag.scores import BDeu, BGe, Gaussian
from parnidag.scores.base import Score
from parnidag.target import Target

SHAPES = {"protein": ("sachs.csv", 11, 17, 853), "gsim100": ("gsim100.csv", 100, 161, 100)}
"""File, nodes, edges and rows of each data set of the paper."""
RANDOM_NETWORKS = {"strong50": (50, 100, 1000), "strong100": (100, 200, 1000), "dense": (20, 95, 200)}
"""Nodes, edges and rows: strong signals, which make steep valleys between graphs, and half of all possible edges."""
KNOWN_NETWORKS = {f"{dag}-N{rows}": (dag, rows) for dag in ("ecoli70", "arth150") for rows in (100, 1000)}
"""Networks whose coefficients others have published, and rows to draw from them."""
DISCRETE_NETWORKS = {"classes8": (8, 8, 5000), "classes37": (37, 46, 10_000), "classes56": (56, 66, 10_000)}
"""Nodes, edges and rows of random networks of classes: the sizes of the networks asia, alarm and hailfinder."""
UNDER_BGE = ("protein", "gsim100", "strong50", "strong100", "ecoli70-N100")
"""Problems that are there a second time with another score, as "gsim100-bge"."""


@dataclass(frozen=True)
class Problem:
    """A target with a name that says where its data came from."""

    name: str
    data: Data
    target: Target
    data_set: int = 0
    """Seed of simulated data; 0 for real data, of which there is one set."""


def load(name: str, data_dir: Path | None, seed: int = 1) -> Problem:
    """Return one of the paper's data sets, simulated when there is no folder that holds it."""
    file, nodes, edges, rows = SHAPES[name]
    if data_dir is not None and (data_dir / file).exists():
        return build(name, Data(data_dir / file))
    return simulated(f"{name}-like, simulated", nodes, edges, rows, seed)


@functools.cache
def paper_problem(name: str, path: str | None) -> Problem:
    """Return "protein" or "gsim100": from a file, a folder, an installed package, or simulated of the same shape."""
    if path is not None and not Path(path).is_dir():
        known = {file: name for name, (file, *_) in SHAPES.items()}
        return build(known.get(Path(path).name, Path(path).stem), Data(path))
    if path is not None and not (Path(path) / SHAPES[name][0]).exists():
        raise MissingData(f"--data {path} has no {SHAPES[name][0]}")
    if name == "protein":
        with contextlib.suppress(MissingData):
            return build(name, protein(None if path is None else Path(path)))
    return load(name, None if path is None else Path(path))


def simulated(name: str, nodes: int, edges: int, rows: int, seed: int = 1) -> Problem:
    """Return a random linear network's data."""
    simulation = parnidag.simulate(nodes=nodes, edges=edges, rows=rows, seed=seed)
    return build(name, Data(simulation.values, names=simulation.names), seed)


def build(name: str, data: Data, data_set: int = 0, score: Score | None = None) -> Problem:
    """Return the target on some data, with h = 1/n; the paper's score, g = 10, by default."""
    return Problem(
        name, data, Target.build(data, Gaussian(g=10) if score is None else score, EdgePrior(h="paper")), data_set
    )


def under_bge(name: str, data_dir: Path | None, seed: int) -> Problem | None:
    """Return a problem with the score-equivalent score in place of the paper's."""
    problem = LOADERS[name.removesuffix("-bge")](data_dir, seed)
    return None if problem is None else build(name, problem.data, problem.data_set, BGe(standardise=True))


def from_discrete_network(name: str, data_dir: Path | None, seed: int) -> Problem:
    """Draw rows from a random network of classes with two to four levels and uneven tables."""
    nodes, edges, rows = DISCRETE_NETWORKS[name]
    graph = parnidag.simulate(nodes=nodes, edges=edges, rows=10, seed=seed).adjacency
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 5, nodes)
    values = np.zeros((rows, nodes), int)
    for j in topological_order(graph) or []:
        parents = np.flatnonzero(graph[:, j])
        case = np.zeros(rows, int)
        for parent in parents:
            case = case * levels[parent] + values[:, parent]
        tables = rng.dirichlet(np.full(levels[j], 0.5), int(np.prod(levels[parents])))
        values[:, j] = (rng.random(rows)[:, None] > np.cumsum(tables, axis=1)[case][:, :-1]).sum(axis=1)
    kept = [j for j in range(nodes) if len(np.unique(values[:, j])) > 1]
    return build(name, Data(values[:, kept], names=[f"V{j}" for j in kept], kind="discrete"), seed, BDeu())


def from_network(name: str, data_dir: Path | None, seed: int) -> Problem | None:
    """Draw rows from a linear Gaussian network; None when neither the folder nor a package holds it."""
    dag, rows = KNOWN_NETWORKS[name]
    try:
        network = known_network(dag, data_dir)
    except MissingData:
        return None
    return build(name, Data(network.draw(rows, seed), names=list(network.nodes)), seed)


def from_random_network(name: str, data_dir: Path | None, seed: int) -> Problem:
    """Return data of a random network, which need no folder."""
    return simulated(name, *RANDOM_NETWORKS[name], seed)


LOADERS: dict[str, Callable[[Path | None, int], Problem | None]] = {
    **{name: partial(load, name) for name in SHAPES},
    **{name: partial(from_network, name) for name in KNOWN_NETWORKS},
    **{name: partial(from_random_network, name) for name in RANDOM_NETWORKS},
    **{name: partial(from_discrete_network, name) for name in DISCRETE_NETWORKS},
    **{f"{name}-bge": partial(under_bge, f"{name}-bge") for name in UNDER_BGE},
}
"""Every problem by name: (data folder, seed of simulated data) → problem, None when its data are missing."""


def replicate(name: str, data_dir: Path | None, number: int) -> Problem | None:
    """Return replicate 0, 1, … of a problem: simulated data have seed number + 1, real data are always the same."""
    return LOADERS[name](data_dir, number + 1)
