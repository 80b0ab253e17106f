"""The networks and the data that others have published, from the files of Python packages or from a folder.

The linear Gaussian networks are those of the R package bnlearn's repository, which pgmpy carries; the protein data
(Sachs et al., 2005) are those that cdt carries. The packages' files are read without importing the packages: cdt's
import needs torch, and nothing of either is run. Nothing is fetched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag import Data
from parnidag.graphs.adjacency import topological_order

NETWORKS = ("ecoli70", "magic-niab", "magic-irri", "arth150")
PGMPY, CDT = "pgmpy==1.1.2", "cdt==0.6.0"
"""Releases that hold the files; cdt is for its file alone, so it is installed without what it depends on."""
MODELS, PROTEIN = "utils/example_models", "data/resources/cyto_full_data.csv"
PROTEIN_ROWS = 853
"""The first of the file's 7466 rows: those without an intervention, which the paper uses."""


class MissingData(Exception):  # noqa: N818 — it names what happened
    """A file is neither in the folder nor in an installed package; the message says what would help."""


@dataclass(frozen=True, eq=False)
class Network:
    """A linear Gaussian network: child = intercept + Σ weight · parent + deviation · noise."""

    name: str
    nodes: tuple[str, ...]
    weights: NDArray[np.float64]
    """Parent × child."""
    intercepts: NDArray[np.float64]
    deviations: NDArray[np.float64]
    """Standard deviations of the noise."""

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """The edges, parent × child."""
        return self.weights != 0

    def digest(self) -> str:
        """Return a name for the numbers that decide what is drawn."""
        known = hashlib.sha256("\0".join(self.nodes).encode())
        for numbers in (self.weights, self.intercepts, self.deviations):
            known.update(np.ascontiguousarray(numbers, float).tobytes())
        return known.hexdigest()[:16]

    def draw(self, rows: int, seed: int) -> NDArray[np.float64]:
        """Draw rows from the network; the same for the same seed."""
        order = topological_order(self.adjacency)
        if order is None:
            raise ValueError(f"the edges of {self.name} form a cycle")
        noise = np.random.default_rng(seed).standard_normal((rows, len(self.nodes)))
        values = self.intercepts + noise * self.deviations
        for j in order:
            values[:, j] += values @ self.weights[:, j]
        return values


def known_network(name: str, folder: Path | None = None) -> Network:
    """Return one of `NETWORKS`, from the folder's CSV files if it has them, else from pgmpy's files."""
    if name not in NETWORKS:
        raise ValueError(f"unknown network {name!r}; known: {', '.join(NETWORKS)}")
    nodes_file, edges_file = _files_of(name)
    if folder is not None and (folder / nodes_file).exists():
        return _from_tables(name, folder / nodes_file, folder / edges_file)
    wanted = f"a folder with {nodes_file} and {edges_file}"
    return _from_pgmpy(name, package_file(PGMPY, f"{MODELS}/{name}.json", wanted))


def asked_network(name: str, folder: str | None) -> Network:
    """Return one of `NETWORKS` as `--data` has it: a folder that was given and does not have it is refused."""
    nodes_file, _ = _files_of(name)
    if folder is not None and not (Path(folder) / nodes_file).exists():
        raise MissingData(f"--data {folder} has no {nodes_file}; without --data it is read from pgmpy's files")
    return known_network(name, None if folder is None else Path(folder))


def _files_of(name: str) -> tuple[str, str]:
    """Return the names of a network's files in a folder: nodes, edges."""
    stem = name.replace("-", "_")
    return f"{stem}_nodes.csv", f"{stem}_edges.csv"


def protein(folder: Path | None = None) -> Data:
    """Return the 11 proteins in 853 cells, from the folder's sachs.csv or from cdt's file."""
    if folder is not None and (folder / "sachs.csv").exists():
        return Data(folder / "sachs.csv")
    return Data(pd.read_csv(package_file(CDT, PROTEIN, "a folder with sachs.csv"), nrows=PROTEIN_ROWS))


def package_file(release: str, path: str, otherwise: str) -> Path:
    """Return the path of a file in an installed package, which is not imported for it."""
    package = release.partition("==")[0]
    spec = find_spec(package)
    for location in (spec.submodule_search_locations or []) if spec else []:
        if (Path(location) / path).exists():
            return Path(location) / path
    why = f"{package} is not installed" if spec is None else f"the installed {package} has no {path}"
    install = f"pip install {'--no-deps ' if release == CDT else ''}{release}"
    raise MissingData(f"{why}: {install}, or give --data {otherwise}")


def _matrix(nodes: Iterable[str], edges: Iterable[tuple[str, str, float]]) -> NDArray[np.float64]:
    place = {node: k for k, node in enumerate(nodes)}
    weights = np.zeros((len(place), len(place)))
    for parent, child, weight in edges:
        weights[place[parent], place[child]] = weight
    return weights


def _from_tables(name: str, nodes_file: Path, edges_file: Path) -> Network:
    if not edges_file.exists():
        raise MissingData(f"{nodes_file.parent} has {nodes_file.name} but no {edges_file.name}")
    # names can be numbers (arth150) or "NA": as text they stay what they are
    nodes = pd.read_csv(nodes_file, dtype={"node": str}, keep_default_na=False)
    edges = pd.read_csv(edges_file, dtype={"from": str, "to": str}, keep_default_na=False)
    names = tuple(nodes["node"])
    weights = _matrix(names, zip(edges["from"], edges["to"], edges["coef"], strict=True))
    return Network(name, names, weights, nodes["intercept"].to_numpy(float), nodes["sd"].to_numpy(float))


def _from_pgmpy(name: str, file: Path) -> Network:
    model = json.loads(file.read_text(encoding="utf-8"))
    names, local = tuple(model["nodes"]), model["cpds"]
    edges = (
        (parent, child, local[child]["coefficients"][parent][0])
        for child in names
        for parent in local[child]["parents"]
    )
    intercepts = np.array([local[node]["coefficients"]["(Intercept)"][0] for node in names])
    deviations = np.sqrt([local[node]["variance"][0] for node in names])
    return Network(name, names, _matrix(names, edges), intercepts, deviations)
