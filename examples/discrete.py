"""Classes instead of measurements: text, categories and booleans, scored by counting (BDeu).

python examples/discrete.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from parnidag import scores

TRUE_EDGES = [("season", "pollen"), ("allergic", "sneezing"), ("pollen", "sneezing"), ("sneezing", "tablets")]


def clinic(rows: int, seed: int) -> pd.DataFrame:
    """Simulate a small survey, in words."""
    rng = np.random.default_rng(seed)
    season = rng.choice(["winter", "spring", "summer"], rows)
    allergic = rng.random(rows) < 0.3
    likely = pd.Series(season).map({"winter": 0.05, "spring": 0.8, "summer": 0.4}).to_numpy()
    pollen = np.where(rng.random(rows) < likely, "high", "low")
    sneezing = rng.random(rows) < 0.1 + 0.7 * (allergic & (pollen == "high"))
    tablets = rng.random(rows) < 0.05 + 0.6 * sneezing
    return pd.DataFrame(
        {"season": season, "allergic": allergic, "pollen": pollen, "sneezing": sneezing, "tablets": tablets}
    )


def main(folder: Path) -> None:
    """Weigh all graphs of the survey; the interaction of pollen and allergy is no obstacle to counting."""
    table = clinic(rows=600, seed=1)
    print(table.head(3).to_string(index=False), end="\n\n")

    posterior = parnidag.sample(table, score=scores.BDeu(ess=1), draws=300, seed=1, progress=False)
    print(posterior.diagnostics().verdict, end="\n\n")

    classes = posterior.cpdag_probabilities
    print("pair                    joined  of these: direction settled")
    for parent, child in TRUE_EDGES:
        joined = classes.adjacent.loc[parent, child]
        settled = classes.compelled.loc[parent, child] + classes.compelled.loc[child, parent]
        print(f"{parent + ' – ' + child:<22}  {joined:>6.2f}  {settled / joined if joined else 0:>6.2f}")

    graph = posterior.consensus_graph()
    graph.to_csv(folder / "graph.csv")
    print(f"\nThe consensus graph, a row for each parent: {folder / 'graph.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
