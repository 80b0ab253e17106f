"""Does every sampler hit the exact posterior? Many chains on the protein data, z-scores of the edge probabilities.

python -m benchmarks.against_exact [--data-dir DIR] [--chains C] [--seed S]

A sampler that is right has a root-mean-square z of about one. The spread of the chains gives the standard error, so the
figure asks whether what is left of the error is Monte-Carlo noise; the largest deviation says how large it is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats

import parnidag
from benchmarks.problems import load
from parnidag.results.posterior import Posterior
from parnidag.samplers import ADR, PARNI, REV, PartitionMCMC
from parnidag.samplers.base import Sampler
from parnidag.samplers.parni.mixture import KINDS

CASES: dict[str, tuple[Sampler, int]] = {
    "PARNI mixed": (PARNI(), 500),
    "PARNI, every move": (PARNI(moves=dict.fromkeys(KINDS, 1.0)), 500),
    "PARNI gibbs": (PARNI(moves="paper"), 500),
    "PARNI printed": (PARNI(kernel="printed", moves="paper"), 500),
    "PARNI printed, paper's η, always": (PARNI(kernel="printed", eta="paper", adapt="always", moves="paper"), 500),
    "ADR": (ADR(), 5000),
    "REV": (REV(), 5000),
    "PARNI with edge reversal": (PARNI(moves={"parni": 0.9, "edge_reversal": 0.1}), 500),
    "PARNI with regroup": (PARNI(moves={"parni": 0.9, "regroup": 0.1}), 500),
    "PartitionMCMC": (PartitionMCMC(), 500),
}
RARE = 0.01


def by_chain(posterior: Posterior) -> np.ndarray:
    """Return the edge probabilities of each chain (chain, parent · n + child)."""
    record = posterior.record
    found = np.zeros((len(record.batch_iterations), len(record.nodes) ** 2))
    found[:, record.edge_codes] = record.batch_counts.sum(axis=1) / record.batch_iterations.sum(axis=1)[:, None]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with sachs.csv; simulated without it")
    parser.add_argument("--chains", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    problem = load("protein", options.data_dir)
    exact = parnidag.exact(problem.data).edge_probabilities.to_numpy().ravel()
    judged = (exact > RARE) & (exact < 1 - RARE)
    title = f"{problem.name}: {options.chains} chains against the exact posterior, {judged.sum()} edges"
    table = Table("sampler", "rms z", "largest z", "p (Bonferroni)", "largest error", "MSE of one chain", title=title)
    for label, (sampler, thin) in CASES.items():
        posterior = parnidag.sample(
            problem.data,
            sampler=sampler,
            chains=options.chains,
            draws=1000,
            thin=thin,
            seed=options.seed,
            progress=False,
        )
        found = by_chain(posterior)
        z = (found.mean(axis=0) - exact)[judged] / (found.std(axis=0, ddof=1)[judged] / np.sqrt(options.chains))
        p_value = min(1.0, 2 * stats.t.sf(abs(z).max(), options.chains - 1) * judged.sum())
        error = abs(found.mean(axis=0) - exact).max()
        mse = np.mean((found - exact) ** 2)
        table.add_row(
            label,
            f"{np.sqrt(np.mean(z**2)):.2f}",
            f"{abs(z).max():.2f}",
            f"{p_value:.2f}",
            f"{error:.5f}",
            f"{mse:.1e}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
