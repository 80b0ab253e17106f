"""What you know goes into the prior: the same table with nothing known, with odds, with tiers in time.

python examples/prior_knowledge.py [FOLDER]
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import pandas as pd

import parnidag
from parnidag import EdgePrior
from parnidag.simulation import example_network

COLUMNS = ["altitude", "rain", "irrigation", "soil_moisture", "compost", "earthworms"]
PRIORS = {
    "nothing known": EdgePrior(),
    "fewer edges": EdgePrior(h=0.02),
    "irrigation acts, probably": EdgePrior(log_odds={("irrigation", "soil_moisture"): math.log(9)}),
    "tiers in time": EdgePrior(
        tiers=[["altitude", "compost", "irrigation"], ["rain"], ["soil_moisture"], ["earthworms"]]
    ),
}


def main(folder: Path) -> None:
    """Compare the posteriors of six columns and sixty rows, exactly."""
    garden = example_network(rows=60)
    table = pd.DataFrame(garden.values, columns=list(garden.names))[COLUMNS]
    true = [edge for edge in garden.edges if set(edge) <= set(COLUMNS)]

    found = {}
    for name, prior in PRIORS.items():
        posterior = parnidag.exact(table, prior=prior)
        found[name] = {f"{a} → {b}": posterior.edge_probabilities.loc[a, b] for a, b in true}
        found[name]["all wrong edges together"] = posterior.edge_probabilities.to_numpy().sum() - sum(
            found[name].values()
        )
    comparison = pd.DataFrame(found)
    print("Posterior probability of each true edge, by what was known:\n")
    print(comparison.round(2).to_string())

    comparison.to_csv(folder / "priors.csv")
    print(f"\nWritten to {folder / 'priors.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
