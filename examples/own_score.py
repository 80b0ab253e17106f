"""A score of your own: Poisson regression for counts, in Python and compiled by Numba.

python examples/own_score.py [FOLDER]
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from parnidag import scores


def counts(rows: int, seed: int) -> pd.DataFrame:
    """Simulate counts: flowers and rainy days act on bees, bees on seeds."""
    rng = np.random.default_rng(seed)
    flowers, rainy = rng.poisson(4, rows), rng.poisson(3, rows)
    bees = rng.poisson(np.exp(0.2 + 0.25 * flowers - 0.15 * rainy))
    seeds = rng.poisson(np.exp(0.4 + 0.12 * bees))
    return pd.DataFrame({"flowers": flowers, "rainy": rainy, "bees": bees, "seeds": seeds})


def poisson(node: int, parents: np.ndarray, table: np.ndarray) -> float:
    """Return the log likelihood of a Poisson regression at its maximum, less ½ log N a coefficient (BIC).

    Plain loops: slow in Python, fast and quick to compile in Numba.
    """
    rows, k = table.shape[0], len(parents) + 1
    x = np.ones(k)
    weights = np.zeros(k)
    weights[0] = math.log(table[:, node].mean())
    for _ in range(50):  # Newton's method
        log_likelihood, slope, curvature = 0.0, np.zeros(k), np.zeros((k, k))
        for row in range(rows):
            fitted = weights[0]
            for a in range(1, k):
                x[a] = table[row, parents[a - 1]]
                fitted += x[a] * weights[a]
            mean, y = math.exp(fitted), table[row, node]
            log_likelihood += y * fitted - mean - math.lgamma(y + 1.0)
            for a in range(k):
                slope[a] += (y - mean) * x[a]
                for b in range(k):
                    curvature[a, b] += mean * x[a] * x[b]
        for a in range(k):  # eliminate: curvature · step = slope
            for b in range(k):
                if b != a:
                    factor = curvature[b, a] / curvature[a, a]
                    for c in range(a, k):
                        curvature[b, c] -= factor * curvature[a, c]
                    slope[b] -= factor * slope[a]
        largest = 0.0
        for a in range(k):
            step = slope[a] / curvature[a, a]
            weights[a] += step
            largest = max(largest, abs(step))
        if largest < 1e-9:
            break
    return log_likelihood - 0.5 * k * math.log(rows)


def main(folder: Path) -> None:
    """Compare the posteriors under both forms of the score, and under the default one."""
    table = counts(rows=300, seed=1)
    numbers = table.to_numpy(float)
    data = parnidag.Data(table, kind="continuous")
    candidates = {
        "default (linear)": None,
        "Poisson, in Python": scores.PythonScore(lambda node, parents: poisson(node, parents, numbers), "poisson"),
        "Poisson, compiled": scores.Compiled(poisson, numbers),
    }
    edges = [("flowers", "bees"), ("rainy", "bees"), ("bees", "seeds"), ("flowers", "seeds")]
    found = {}
    for name, score in candidates.items():
        began = time.perf_counter()
        posterior = parnidag.exact(data, score=score)
        found[name] = {f"{a} → {b}": posterior.edge_probabilities.loc[a, b] for a, b in edges}
        found[name]["seconds"] = time.perf_counter() - began
    comparison = pd.DataFrame(found).round(2)
    print("Posterior probabilities; the first three edges are true:\n")
    print(comparison.to_string())
    comparison.to_csv(folder / "scores.csv")
    print("\nCompiling takes a few seconds, and pays for larger tables.")
    print(f"Written to {folder / 'scores.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
