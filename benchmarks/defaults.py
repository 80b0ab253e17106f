"""Which kernel and which adaptation of η: the measurements behind PARNI's defaults (docs/adr/0005).

python -m benchmarks.defaults [--data-dir DIR] [--seconds S] [--seeds K]

On the protein data every variant gets the same CPU time and is judged by the mean squared error of its edge
probabilities against the exact posterior. On gsim100, where nothing is exact, by the mean log posterior of its second
half, which is higher the better the chain finds and keeps to likely graphs.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.problems import Problem, load
from parnidag.samplers import ADR, PARNI
from parnidag.samplers.base import Asked, Chain, Sampler, new_chain

VARIANTS: dict[str, Sampler] = {
    "printed kernel, paper's η, always": PARNI(kernel="printed", eta="paper", adapt="always", moves="paper"),
    "printed kernel, paper's η, frozen": PARNI(kernel="printed", eta="paper", moves="paper"),
    "printed kernel, symmetric η, frozen": PARNI(kernel="printed", moves="paper"),
    "gibbs kernel, paper's η, always": PARNI(eta="paper", adapt="always", moves="paper"),
    "gibbs kernel, paper's η, frozen": PARNI(eta="paper", moves="paper"),
    "gibbs kernel, symmetric η, always": PARNI(adapt="always", moves="paper"),
    "gibbs kernel, symmetric η, frozen": PARNI(moves="paper"),
    "ADR": ADR(),
}


def advance_for(sampler: Sampler, problem: Problem, chain: Chain, seconds: float) -> int:
    """Run for so many CPU seconds and return the number of iterations."""
    start, before = time.thread_time(), chain.iteration
    while time.thread_time() - start < seconds:
        sampler.advance(problem.target, chain, 2_000)
    return chain.iteration - before


def run_variant(sampler: Sampler, problem: Problem, seconds: float, seed: int) -> tuple[np.ndarray, float]:
    """Spend a third of the time on tuning; return edge probabilities and the mean log posterior of the rest."""
    target = problem.target
    pilot = new_chain(target, target.required, 1000 + seed, 0)
    sampler.begin(target, sampler.prepare(target, Asked()), pilot, 10**9)
    sampler.advance(target, pilot, 10)
    tune = advance_for(sampler, problem, pilot, seconds / 3)
    chain = new_chain(target, target.required, seed, 0)
    sampler.begin(target, sampler.prepare(target, Asked()), chain, tune)
    sampler.advance(target, chain, tune)
    before, begin = chain.graph.visits.copy(), chain.iteration
    scores, start = [], time.thread_time()
    while time.thread_time() - start < seconds * 2 / 3:
        sampler.advance(target, chain, 2_000)
        scores.append(chain.log_posterior)
    return (chain.graph.visits - before) / (chain.iteration - begin), float(np.mean(scores[len(scores) // 2 :]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with sachs.csv and gsim100.csv; simulated without it")
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU seconds of each chain")
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    protein, gsim = load("protein", options.data_dir), load("gsim100", options.data_dir)
    exact = parnidag.exact(protein.data).edge_probabilities.to_numpy()
    table = Table(title=f"{options.seeds} chains of {options.seconds:g} CPU seconds, median (range)")
    table.add_column("variant")
    table.add_column(f"MSE, {protein.name}", justify="right")
    table.add_column(f"mean log posterior, {gsim.name}", justify="right")
    for label, sampler in VARIANTS.items():
        errors, levels = [], []
        for seed in range(options.seeds):
            found, _ = run_variant(sampler, protein, options.seconds, seed)
            errors.append(float(np.mean((found - exact) ** 2)))
            levels.append(run_variant(sampler, gsim, options.seconds, seed)[1])
        table.add_row(
            label,
            f"{np.median(errors):.1e} ({min(errors):.0e} – {max(errors):.0e})",
            f"{np.median(levels):.1f} ({min(levels):.1f} – {max(levels):.1f})",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
