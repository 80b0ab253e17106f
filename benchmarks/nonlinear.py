"""What the spline score gains where relations are curved, and what it costs where they are straight.

python -m benchmarks.nonlinear [--replications R] [--rows N] [--seed S] [--scan]

Random graphs of 10 nodes and 12 to 15 edges; a node is the sum of functions of its parents, each of variance 1, plus
Gaussian noise that makes up 0.3 of its variance. Exact posteriors, so that scores are compared and not samplers. Curved
functions tell cause from effect by themselves; monotone ones are closer to straight lines; for straight ones no score
can, beyond what independences say. With --scan the settings of the spline score, by its log loss: minus the mean log
probability of what each pair of nodes is, unconnected or connected one way or the other.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.recovery import Recovery, mean_table, recovery
from parnidag import scores
from parnidag.scores.base import Score

Function = Callable[[np.ndarray], np.ndarray]

NODES, EDGES = 10, (12, 15)
NOISE_SHARE = 0.3
KINDS: dict[str, Sequence[Function]] = {
    "curved": [
        lambda x: np.tanh(2 * x) + 0.3 * x**2,
        lambda x: x**2,
        lambda x: np.sin(2 * x),
        lambda x: 0.5 * x**3 - x,
    ],
    "monotone": [lambda x: np.tanh(2 * x), lambda x: x + 0.3 * x**3, lambda x: np.exp(0.7 * x)],
    "straight": [lambda x: x],
}
SCORES: dict[str, Score] = {"Gaussian()": scores.Gaussian(), "BGe()": scores.BGe(), "Spline()": scores.Spline()}
SCAN_DF, SCAN_CURVE = (3, 4, 5, 6), (0.03, 0.1, 0.3, 1.0, 3.0)
LEAST_PROBABILITY = 1e-3
"""Smaller probabilities count as this one, so that no single pair rules the mean."""


def additive_data(functions: Sequence[Function], rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a random graph and rows of an additive-noise model on it."""
    order = rng.permutation(NODES)
    pairs = np.array(list(itertools.combinations(order, 2)))
    chosen = pairs[rng.choice(len(pairs), rng.integers(EDGES[0], EDGES[1] + 1), replace=False)]
    graph = np.zeros((NODES, NODES), bool)
    graph[chosen[:, 0], chosen[:, 1]] = True
    values = rng.standard_normal((rows, NODES))
    for j in order:
        parents = np.flatnonzero(graph[:, j])
        if len(parents):
            signal = sum(effect(functions, values[:, i], rng) for i in parents)
            values[:, j] = np.sqrt(1 - NOISE_SHARE) * unit(signal) + np.sqrt(NOISE_SHARE) * values[:, j]
    return graph, values


def effect(functions: Sequence[Function], x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random function of a parent, of random sign."""
    function = functions[int(rng.integers(len(functions)))]
    return np.asarray(unit(function(x)) * rng.choice((-1.0, 1.0)))


def unit(x: Any) -> np.ndarray:
    """Return a column centred and of variance 1."""
    return np.asarray((x - x.mean()) / x.std())


def log_loss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Return minus the mean log probability of what each pair is: i → j, j → i or neither."""
    upper = np.triu_indices(len(truth), 1)
    there, back = probabilities[upper], probabilities.T[upper]
    right = np.where(truth[upper], there, np.where(truth.T[upper], back, 1 - there - back))
    return float(-np.log(np.maximum(right, LEAST_PROBABILITY)).mean())


def run(kind: str, score: Score, options: argparse.Namespace) -> tuple[list[Recovery], np.ndarray]:
    """Return the figures and the log loss of each data set; every score gets the same data sets."""
    found, losses = [], []
    for replication in range(options.replications):
        rng = np.random.default_rng([options.seed, replication])
        truth, values = additive_data(KINDS[kind], options.rows, rng)
        probabilities = parnidag.exact(values, score=score).edge_probabilities.to_numpy()
        found.append(recovery(truth, probabilities))
        losses.append(log_loss(truth, probabilities))
    return found, np.array(losses)


def compare(console: Console, options: argparse.Namespace) -> None:
    for kind in KINDS:
        rows = {name: run(kind, score, options)[0] for name, score in SCORES.items()}
        console.print(mean_table(f"{kind} relations, {options.replications} data sets", "score", rows))


def scan(console: Console, options: argparse.Namespace) -> None:
    title = f"log loss of a pair / share of right directions, {options.replications} data sets"
    table = Table("df, g_curve", *KINDS, "mean", "less than Spline()", title=title, padding=0)
    settings = {f"{df}, {g:g}": scores.Spline(df=df, g_curve=g) for df in SCAN_DF for g in SCAN_CURVE}
    candidates: dict[str, Score] = {"Gaussian()": scores.Gaussian(), **settings}
    default = np.mean([run(kind, scores.Spline(), options)[1] for kind in KINDS], axis=0)
    for name, score in candidates.items():
        runs = [run(kind, score, options) for kind in KINDS]
        cells = (f"{loss.mean():.3f} / {np.mean([each.orientation for each in found]):.2f}" for found, loss in runs)
        mean = np.mean([loss for _, loss in runs], axis=0)
        gain = default - mean
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        table.add_row(name, *cells, f"{mean.mean():.4f}", f"{gain.mean():+.4f} ± {error:.4f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scan", action="store_true", help="compare settings of the spline score as well")
    options = parser.parse_args()
    console = Console(width=80)
    compare(console, options)
    if options.scan:
        scan(console, options)


if __name__ == "__main__":
    main()
