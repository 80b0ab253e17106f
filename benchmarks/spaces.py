"""How long the set-up takes, and how well iterative MCMC searches.

python -m benchmarks.spaces [--data-dir DIR] [--seeds S]

Set-up: the PC skeleton, the candidate tables with one parent from outside, the warm start, in CPU seconds, compiled
code at hand, and the memory of the tables. Search: the best log posterior that iterative MCMC finds on gsim100 (without
the constants of the nodes, as the peers give it) and the CPU seconds from the data to the best graph, seed by seed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.problems import Problem, load, simulated
from parnidag import space
from parnidag.samplers.parni.warm_start import warm_start
from parnidag.space.expansion import strongest
from parnidag.tables.build import build_tables, in_words

PEER = "BiDAG's iterative MCMC: -12627.1976 after 97 s"
KAPPA = 0.01


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the CPU seconds, the second time it is called: the first may compile."""
    function()
    start = time.thread_time()
    result = function()
    return result, time.thread_time() - start


def set_up_row(problem: Problem, most: int) -> list[str]:
    """Time the stages of the set-up with at most so many candidates a node."""
    target = problem.target
    skeleton, skeleton_seconds = timed(lambda: space.pc(problem.data))
    considered = strongest(target, skeleton.adjacency, None, most)
    tables, table_seconds = timed(lambda: build_tables(target, considered, memory=4e9))
    _, warm_seconds = timed(lambda: warm_start(target, KAPPA, considered))
    counts = considered.sum(axis=0)
    return [
        problem.name,
        f"{counts.mean():.1f} / {counts.max()}",
        f"{skeleton_seconds:.3f}",
        f"{table_seconds:.3f}",
        in_words(tables.nbytes),
        f"{warm_seconds:.3f}",
        f"{skeleton_seconds + table_seconds + warm_seconds:.2f}",
    ]


def search_rows(problem: Problem, seeds: int) -> list[tuple[int, float, float, int]]:
    """Return seed, best log posterior without the constants of the nodes, CPU seconds and rounds."""
    n, rows = problem.data.n_nodes, problem.data.n_rows
    constant = n * (math.lgamma(rows / 2) - rows / 2 * math.log(2 * math.pi))
    space.iterative(problem.data, seed=0)  # compile
    found = []
    for seed in range(seeds):
        start = time.thread_time()
        grown = space.iterative(problem.data, seed=seed)
        found.append((seed, grown.log_posterior - constant, time.thread_time() - start, len(grown.rounds)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with gsim100.csv; simulated without it")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    console = Console(width=120)
    gsim = load("gsim100", options.data_dir)
    headings = ["data", "candidates, mean / most", "skeleton", "tables", "memory", "warm start", "together"]
    table = Table(*headings, title="set-up, CPU seconds")
    table.add_row(*set_up_row(gsim, 12))
    table.add_row(*set_up_row(simulated("n=1000, N=200, 1500 edges, simulated", 1000, 1500, 200), 6))
    console.print(table)
    rows = search_rows(gsim, options.seeds)
    table = Table("seed", "best log posterior", "CPU seconds", "rounds", title=f"iterative search, {gsim.name}; {PEER}")
    for seed, score, seconds, rounds in rows:
        table.add_row(str(seed), f"{score:.4f}", f"{seconds:.2f}", str(rounds))
    console.print(table)
    scores, seconds = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    top = int((scores > scores.max() - 1e-3).sum())
    console.print(
        f"{top} of {len(rows)} seeds reach the best, {scores.max():.4f}; worst {scores.min():.4f}; "
        f"CPU seconds median {np.median(seconds):.2f}, most {seconds.max():.2f}"
    )


if __name__ == "__main__":
    main()
