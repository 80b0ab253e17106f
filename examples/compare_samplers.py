"""Four samplers and the exact answer on the same table: errors, agreement of chains, speed, caveats.

python examples/compare_samplers.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import pandas as pd

import parnidag
from parnidag import plots, samplers
from parnidag.samplers.base import Sampler

SAMPLERS: dict[str, Sampler] = {
    "PARNI": samplers.PARNI(),
    "PARNI, paper's moves": samplers.PARNI(moves="paper"),
    "ADR": samplers.ADR(),
    "PartitionMCMC": samplers.PartitionMCMC(),
    "OrderMCMC": samplers.OrderMCMC(),
}


def main(folder: Path) -> None:
    """Run each sampler briefly on ten variables and compare it with the sum over all graphs."""
    truth = parnidag.simulate(nodes=10, edges=14, rows=150, seed=4)
    data = parnidag.Data(truth.values, names=truth.names)
    exact = parnidag.exact(data)

    rows, runs = {}, {}
    for name, sampler in SAMPLERS.items():
        runs[name] = run = parnidag.sample(data, sampler=sampler, draws=100, seed=1, progress=False)
        judged = run.diagnostics()
        rows[name] = {
            "largest error": (run.edge_probabilities - exact.edge_probabilities).abs().to_numpy().max(),
            "largest disagreement": judged.disagreement_max,
            "effective draws / CPU s": round(judged.effective_draws_per_second or 0),
            "caveats": len(judged.caveats),
        }
    print(pd.DataFrame(rows).T.round(4).to_string(), end="\n\n")
    print("The caveat of order MCMC:", runs["OrderMCMC"].diagnostics().caveats[0])

    mpl.use("Agg")
    axes = plots.compare(exact, runs["OrderMCMC"], names=("exact", "order MCMC"))
    axes.figure.savefig(folder / "order-bias.png", dpi=120)
    print(f"\nIts bias, as a picture: {folder / 'order-bias.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
