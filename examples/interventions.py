"""Observation cannot tell cause from effect in linear data; a few experiments can, if they are declared.

python examples/interventions.py [FOLDER]
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from parnidag import scores

GENES = ["regulator", "messenger", "enzyme", "growth"]
WEIGHTS = (0.8, -0.9, 0.7)
"""Each gene acts on the next one."""


def experiment(rows: int, knocked_out: str | None, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate rows of the pathway; a gene that is knocked out is held at a low level, whatever acts on it."""
    values = {}
    for place, gene in enumerate(GENES):
        cause = WEIGHTS[place - 1] * values[GENES[place - 1]] if place else 0.0
        values[gene] = cause + rng.normal(size=rows)
        if gene == knocked_out:
            values[gene] = -3.0 + 0.1 * rng.normal(size=rows)
    return pd.DataFrame(values).assign(target=knocked_out or "none")


def main(folder: Path) -> None:
    """Compare what is known of the directions with and without ten knock-outs of each gene."""
    rng = np.random.default_rng(1)
    observed = experiment(200, None, rng)
    everything = pd.concat([observed, *(experiment(10, gene, rng) for gene in GENES)], ignore_index=True)
    everything.to_csv(folder / "experiments.csv", index=False)

    score = scores.BGe(standardise=True)
    cases = {
        "200 rows, observed": parnidag.Data(observed[GENES]),
        "and 40 knock-outs, not declared": parnidag.Data(everything[GENES]),
        "and 40 knock-outs, declared": parnidag.Data(everything, interventions="target"),
    }
    print("Probability of each direction of the pathway:\n")
    directions = {}
    for name, data in cases.items():
        found = parnidag.exact(data, score=score).edge_probabilities
        pairs = list(itertools.pairwise(GENES))
        directions[name] = {
            f"{a} {arrow} {b}": found.loc[c, d] for a, b in pairs for arrow, c, d in (("→", a, b), ("←", b, a))
        }
    print(pd.DataFrame(directions).round(2).to_string())
    print(f"\nThe table, with its column of targets: {folder / 'experiments.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
