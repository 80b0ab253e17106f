"""The data that benchmarks run on: the real sets from a folder, or simulated ones of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import parnidag
from parnidag.data import Data
from parnidag.prior import EdgePrior
from parnidag.scores import Gaussian
from parnidag.target import Target

SHAPES = {"protein": ("sachs.csv", 11, 17, 853), "gsim100": ("gsim100.csv", 100, 161, 100)}
"""File, nodes, edges and rows of each data set of the paper."""


@dataclass(frozen=True)
class Problem:
    """A target with a name that says where its data came from."""

    name: str
    data: Data
    target: Target


def load(name: str, data_dir: Path | None) -> Problem:
    """Return one of the paper's data sets, simulated when there is no folder that holds it."""
    file, nodes, edges, rows = SHAPES[name]
    if data_dir is not None and (data_dir / file).exists():
        return build(name, Data(data_dir / file))
    return simulated(f"{name}-like, simulated", nodes, edges, rows)


def simulated(name: str, nodes: int, edges: int, rows: int, seed: int = 1) -> Problem:
    """Return a random linear network's data."""
    simulation = parnidag.simulate(nodes=nodes, edges=edges, rows=rows, seed=seed)
    return build(name, Data(simulation.values, names=simulation.names))


def build(name: str, data: Data) -> Problem:
    """Return the paper's target on some data: g = 10, h = 1/n."""
    return Problem(name, data, Target.build(data, Gaussian(g=10), EdgePrior()))
