"""What interventions tell of directions that observation leaves open.

python -m benchmarks.interventions [--replications R] [--seed S]

Linear Gaussian data on random graphs of 8 nodes, analysed with BGe: 400 rows observed, against as many of which some
have one node set to a random value, each node in turn. And the chain X → Y → Z, whose directions observation can never
tell: it shares the probability equally with X ← Y ← Z and X ← Y → Z, so that X → Y gets one third. "Not told" keeps the
values but not the knowledge that they were set.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.recovery import Recovery, mean_table, recovery
from parnidag import scores
from parnidag.data import Data
from parnidag.graphs.adjacency import topological_order

NODES, EDGES, ROWS = 8, 10, 400
SHARES = (0.0, 0.04, 0.1, 0.5)
"""Shares of the rows in which a node was set."""


def draw(weights: np.ndarray, noise: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of a linear Gaussian network; where the mask says so a node is set, whatever its parents do."""
    values = rng.standard_normal(mask.shape)
    for j in topological_order(weights != 0) or []:
        observed = values @ weights[:, j] - values[:, j] * weights[j, j] + noise[j] * values[:, j]
        values[:, j] = np.where(mask[:, j], values[:, j], observed)
    return values


def targets(rows: int, nodes: int, share: float) -> np.ndarray:
    """Return which node was set in which row: none in the first rows, one after another in a share of them."""
    mask = np.zeros((rows, nodes), bool)
    experiments = np.arange(round(rows * (1 - share)), rows)
    mask[experiments, np.arange(len(experiments)) % nodes] = True
    return mask


def designs(weights: np.ndarray, noise: np.ndarray, rows: int, seed: list[int]) -> dict[str, Data]:
    """Return data of a network with interventions in more and more of the rows."""
    found = {}
    for share in SHARES:
        mask = targets(rows, len(weights), share)
        values = draw(weights, noise, mask, np.random.default_rng(seed))
        count = int(mask.any(axis=1).sum())
        found[f"{count} set" if count else "observed"] = Data(values, interventions=mask)
    found["not told"] = Data(values)
    return found


def random_networks(console: Console, replications: int, seed: int) -> None:
    found: dict[str, list[Recovery]] = {}
    for replication in range(replications):
        network = parnidag.simulate(nodes=NODES, edges=EDGES, rows=3, seed=1000 * seed + replication)
        for name, data in designs(network.weights, network.noise, ROWS, [seed, replication]).items():
            probabilities = parnidag.exact(data, score=scores.BGe()).edge_probabilities.to_numpy()
            found.setdefault(name, []).append(recovery(network.adjacency, probabilities))
    title = f"n={NODES}, {EDGES} edges, N={ROWS}, {replications} networks, BGe"
    console.print(mean_table(title, "data", found))


def chain(console: Console, replications: int, seed: int) -> None:
    weights = np.diag([0.8, 0.8], 1)
    noise = np.array([1.0, 0.6, 0.6])
    title = f"X → Y → Z, mean probabilities over {replications} data sets"
    table = Table("rows", "data", "X → Y", "Y → X", "Y → Z", "Z → Y", "X – Z", title=title)
    for rows in (50, 200):
        sums: dict[str, np.ndarray] = {}
        for replication in range(replications):
            for name, data in designs(weights, noise, rows, [seed, replication]).items():
                p = parnidag.exact(data, score=scores.BGe()).edge_probabilities.to_numpy()
                values = np.array([p[0, 1], p[1, 0], p[1, 2], p[2, 1], p[0, 2] + p[2, 0]])
                sums[name] = sums.get(name, np.zeros(5)) + values / replications
        for name, values in sums.items():
            table.add_row(str(rows), name, *(f"{value:.3f}" for value in values))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    console = Console(width=80)
    random_networks(console, options.replications, options.seed)
    chain(console, options.replications, options.seed)


if __name__ == "__main__":
    main()
