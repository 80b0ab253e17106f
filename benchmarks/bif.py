"""Networks of classes that others have published, from pgmpy's files in the Bayesian interchange format (BIF).

The files are those of the R package bnlearn's repository; they are read without importing pgmpy. Only what they use of
the format is known here: variables of type discrete, and tables with a row for each case of the parents.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.networks import MODELS, PGMPY, MissingData, package_file
from parnidag.graphs.adjacency import topological_order

NETWORKS = (
    *("asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm", "hailfinder", "hepar2"),
    *("win95pts", "pathfinder", "andes", "pigs"),
)
VARIABLE = re.compile(r"variable\s+(\S+)\s*\{[^{]*\{([^}]*)\}[^}]*\}", re.DOTALL)
TABLE = re.compile(r"probability\s*\(([^)]*)\)\s*\{(.*?)\}", re.DOTALL)
CASE = re.compile(r"\(([^)]*)\)\s*([^;]*);")
SUM_TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class ClassNetwork:
    """Nodes with levels, and a table of probabilities for each."""

    name: str
    nodes: tuple[str, ...]
    levels: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[np.float64], ...]
    """For each node: cases of its parents, the last parent running fastest, × its levels."""

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """The edges, parent × child."""
        graph = np.zeros((len(self.nodes), len(self.nodes)), bool)
        for j, parents in enumerate(self.parents):
            graph[list(parents), j] = True
        return graph

    def draw(self, rows: int, seed: int) -> NDArray[np.int64]:
        """Draw rows from the network; the same for the same seed."""
        rng = np.random.default_rng(seed)
        values = np.zeros((rows, len(self.nodes)), np.int64)
        for j in topological_order(self.adjacency) or []:
            case = np.zeros(rows, np.int64)
            for parent in self.parents[j]:
                case = case * self.levels[parent] + values[:, parent]
            below = np.cumsum(self.tables[j], axis=1)[:, :-1]
            values[:, j] = (rng.random(rows)[:, None] > below[case]).sum(axis=1)
        return values


def class_network(name: str, folder: Path | None = None) -> ClassNetwork:
    """Return a network from NAME.bif or NAME.bif.gz in a folder, else from pgmpy's files."""
    for ending in (".bif", ".bif.gz"):
        if folder is not None and (folder / f"{name}{ending}").exists():
            return read_bif(name, _text(folder / f"{name}{ending}"))
    if folder is not None:
        raise MissingData(f"--data {folder} has no {name}.bif; without --data it is read from pgmpy's files")
    return read_bif(name, _text(package_file(PGMPY, f"{MODELS}/{name}.bif.gz", f"a folder with {name}.bif")))


def _text(file: Path) -> str:
    raw = file.read_bytes()
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode("utf-8")


def read_bif(name: str, text: str) -> ClassNetwork:
    """Read a network; tables are normalised, since the files print few digits."""
    states = {node: [level.strip() for level in levels.split(",")] for node, levels in VARIABLE.findall(text)}
    nodes = tuple(states)
    place = {node: k for k, node in enumerate(nodes)}
    parents: dict[str, tuple[int, ...]] = {}
    tables: dict[str, NDArray[np.float64]] = {}
    for head, body in TABLE.findall(text):
        child, _, given = (part.strip() for part in head.partition("|"))
        family = [one.strip() for one in given.split(",")] if given else []
        parents[child] = tuple(place[one] for one in family)
        tables[child] = _table(f"{name}, {child}", body, [states[one] for one in family], len(states[child]))
    missing = [node for node in nodes if node not in tables]
    if missing:
        raise ValueError(f"{name}: no table for {', '.join(missing)}")
    levels = tuple(len(states[node]) for node in nodes)
    return ClassNetwork(name, nodes, levels, tuple(parents[n] for n in nodes), tuple(tables[n] for n in nodes))


def _table(where: str, body: str, states: list[list[str]], levels: int) -> NDArray[np.float64]:
    cases = int(np.prod([len(one) for one in states])) if states else 1
    table = np.full((cases, levels), np.nan)
    if not states:
        table[0] = _numbers(body.replace("table", "").strip().rstrip(";"))
    for case, numbers in CASE.findall(body) if states else ():
        row = 0
        for level, known in zip(case.split(","), states, strict=True):
            row = row * len(known) + known.index(level.strip())
        table[row] = _numbers(numbers)
    sums = table.sum(axis=1, keepdims=True)
    if not (np.abs(sums - 1) < SUM_TOLERANCE).all():
        raise ValueError(f"{where}: the table has cases without probabilities, or whose sum is not 1")
    return np.asarray(table / sums)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]
