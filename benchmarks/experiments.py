"""Does it pay to ask which node to set next?

python -m benchmarks.experiments [--replications R] [--nodes n] [--rows N] [--experiment M] [--seed S]

Linear Gaussian data on random graphs, observed, analysed with the default score by exact sums. Then one node is set to
random values in some more rows: the one that `Posterior.suggest_experiments` names first, one taken at random (the mean
over all nodes), and the one it names last. The posterior of all rows together is compared with the truth: expected
structural Hamming distance, and how probable the true direction of a true edge is.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.interventions import draw
from parnidag.data import Data

CHOICES = ("none", "suggested", "random", "last")


def one_network(nodes: int, rows: int, experiment: int, seed: int) -> dict[str, dict[str, float]]:
    """Observe a network, make each of the experiments, and say how close the posteriors come."""
    truth = parnidag.simulate(nodes=nodes, edges=round(1.2 * nodes), rows=2, seed=seed)
    rng = np.random.default_rng(seed)
    weights, noise = truth.weights, truth.noise
    observed = draw(weights, noise, np.zeros((rows, nodes), bool), rng)
    before = parnidag.exact(Data(observed, names=truth.names), draws=2000, seed=seed)
    ranked = before.suggest_experiments()["node"].tolist()
    after = {}
    for node in ranked:
        mask = np.zeros((experiment, nodes), bool)
        mask[:, truth.names.index(node)] = True
        more = draw(weights, noise, mask, np.random.default_rng([seed, 1]))
        both = np.vstack([np.zeros((rows, nodes), bool), mask])
        data = Data(np.vstack([observed, more]), names=truth.names, interventions=both)
        after[node] = closeness(parnidag.exact(data), truth)
    chance = pd.DataFrame(after).mean(axis=1).to_dict()
    return {
        "none": closeness(before, truth),
        "suggested": after[ranked[0]],
        "random": chance,
        "last": after[ranked[-1]],
    }


def closeness(posterior: parnidag.Posterior, truth: parnidag.Simulation) -> dict[str, float]:
    probabilities = posterior.edge_probabilities.to_numpy()
    return {
        "shd": posterior.expected_shd(truth.adjacency),
        "right direction": float(probabilities[truth.adjacency].mean()),
    }


def study(replications: int, nodes: int, rows: int, experiment: int, seed: int) -> pd.DataFrame:
    """Repeat it: a row for each network, columns choice and measure."""
    found = [one_network(nodes, rows, experiment, seed + k) for k in range(replications)]
    frame = pd.DataFrame([{(c, m): value for c, one in row.items() for m, value in one.items()} for row in found])
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    return frame


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, value in (("replications", 100), ("nodes", 8), ("rows", 200), ("experiment", 100), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    frame = study(given.replications, given.nodes, given.rows, given.experiment, given.seed)
    table = Table("node that is set", "expected SHD", "better than random by", "true direction")
    for choice in CHOICES:
        gain = frame["random", "shd"] - frame[choice, "shd"]
        table.add_row(
            choice,
            f"{frame[choice, 'shd'].mean():.2f}",
            f"{gain.mean():.2f} ± {gain.std() / math.sqrt(len(gain)):.2f}",
            f"{frame[choice, 'right direction'].mean():.3f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
