"""From a table to a posterior, a verdict, a graph and a report.

python examples/first_posterior.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd

import parnidag
from parnidag import metrics
from parnidag.simulation import example_network


def main(folder: Path) -> None:
    """Write an example table, weigh its graphs, and look at the answer: exact, since twenty columns are few."""
    garden = example_network(rows=300)
    table = folder / "garden.csv"
    pd.DataFrame(garden.values, columns=garden.names).to_csv(table, index=False)

    posterior = parnidag.sample(table, draws=200, seed=1, progress=False)
    print(posterior.diagnostics().verdict, end="\n\n")

    summary = posterior.summary()
    is_open = summary.probability.between(0.1, 0.9)
    print(f"{(summary.probability > 0.9).sum()} edges are nearly certain; open are:")
    print(summary[is_open][["parent", "child", "probability", "evidence"]].round(3).to_string(index=False))

    graph = posterior.consensus_graph()
    distance = metrics.shd(graph, garden.adjacency)
    print(f"\nThe consensus graph has {len(graph.edges)} edges. This garden is simulated, so its true graph is known:")
    print(f"edges to add, remove or turn: {distance}")

    posterior.save(folder / "posterior.nc")
    graph.to_dot(folder / "graph.dot")
    print(f"\nLook at {posterior.report(folder / 'report.html', title='A garden')}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
