"""Why the graph of a network of classes is not found: what its score says of the true graph.

python -m benchmarks.wide_tables hailfinder [--rows 1000] [--seeds 1,2,3] [--ess 1,learn]

Edges that the score drops: for each node the subset of its true parents that scores best, all other true parents at
hand. If it leaves edges out, no sampler can find them. Then a default call with each weight of the prior (`ess`): how
far the true graph's log posterior is below that of the best graph found, the distance between equivalence classes, the
number of wrong edges and how many of these the posterior expects.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.bif import class_network
from parnidag import EdgePrior, scores
from parnidag.graphs.consensus import consensus
from parnidag.metrics import shd, shd_cpdag
from parnidag.target import Target

DRAWS, CHAINS_SEED = 250, 1
HEADINGS = (
    *("seed", "ess", "true edges", "the score drops", "truth below best", "distance of classes", "of graphs"),
    *("expected", "converged", "CPU s"),
)


def dropped_edges(target: Target, truth: NDArray[np.bool_]) -> int:
    """Count the true edges that the best subsets of true parents leave out."""
    dropped = 0
    for node in range(len(truth)):
        parents = np.flatnonzero(truth[:, node]).tolist()
        subsets = [kept for size in range(len(parents) + 1) for kept in itertools.combinations(parents, size)]
        dropped += len(parents) - len(max(subsets, key=lambda kept: target.local(node, kept)))
    return dropped


def line_of(data: parnidag.Data, truth: NDArray[np.bool_], ess: str) -> list[str]:
    """Sample with one weight of the prior; what needs a fixed one is open where it is learned."""
    score = scores.BDeu(ess="learn") if ess == "learn" else scores.BDeu(ess=float(ess))
    began = time.process_time()
    found = parnidag.sample(data, score=score, draws=DRAWS, seed=CHAINS_SEED, progress=False)
    seconds = time.process_time() - began
    drops, below = "", ""
    if ess != "learn":
        target = Target.build(data, score, EdgePrior())
        drops = str(dropped_edges(target, truth))
        assert found.best is not None
        below = f"{target.log_posterior(found.best.adjacency) - target.log_posterior(truth):.0f}"
    mode = consensus(found.edge_probabilities.to_numpy())
    distances = [str(int(distance(mode, truth))) for distance in (shd_cpdag, shd)]
    said = [f"{found.expected_shd(mode):.1f}", str(found.diagnostics().converged)]
    return [ess, str(int(truth.sum())), drops, below, *distances, *said, f"{seconds:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", default="1,2,3", help="of the tables that are drawn")
    parser.add_argument("--ess", default="1,learn")
    options = parser.parse_args()
    network, table = class_network(options.network), Table(*HEADINGS, title=f"{options.network}, {options.rows} rows")
    for seed in map(int, options.seeds.split(",")):
        values = network.draw(options.rows, seed)
        kept = np.flatnonzero([len(np.unique(column)) > 1 for column in values.T])
        data = parnidag.Data(values[:, kept], kind="discrete")
        for ess in options.ess.split(","):
            table.add_row(str(seed), *line_of(data, network.adjacency[np.ix_(kept, kept)], ess))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
