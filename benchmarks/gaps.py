"""What is lost by empty cells and by classes, and what it costs to draw them.

python -m benchmarks.gaps [missing] [ordinal] [cost] [many] [--sets S] [--files table.csv ...]
                          [--known table.csv edges.csv]

- missing: linear Gaussian tables of 10 nodes and 500 rows, a tenth of the cells removed at random. Mean absolute
  difference of edge probabilities to those of the complete table, for cells that are drawn, rows that are dropped and
  means filled in.
- ordinal: 20 nodes, 40 edges, 500 rows, every column cut into four levels. Distance of the consensus graph's class to
  the true one, for cut Gaussians, BGe on the level numbers, and BDeu.
- cost: CPU seconds of the default call on 20 nodes and 1000 rows with a fifth of the cells empty, against the complete
  table under PARNI; and on 100 nodes and 500 rows of numbers, ordered and unordered classes.
- many: 10 nodes and 100,000 rows, a tenth of the cells removed: how far edge probabilities are from those of the
  complete table.
- files: the verdict of the default call on tables of your own; and of mixed ones, what is left of their edges among
  numbers if the classes are left out.
- known: distance to a known graph (columns `from` and `to` of the second file) of a table of classes with empty cells,
  for cells that are drawn, rows that are dropped, and the most frequent level filled in.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import parnidag
from parnidag import Data, metrics, samplers

QUIET = {"progress": False}


def holes(values: np.ndarray, share: float, seed: int) -> np.ndarray:
    found = values.copy()
    found[np.random.default_rng([seed, 1]).random(values.shape) < share] = np.nan
    return found


def off_diagonal(posterior: parnidag.Posterior) -> np.ndarray:
    probabilities = np.asarray(posterior.edge_probabilities)
    return probabilities[~np.eye(len(probabilities), dtype=bool)]


def missing(sets: int) -> None:
    rows = []
    for seed in range(sets):
        values = parnidag.simulate(nodes=10, edges=12, rows=500, seed=seed).values
        gappy = holes(values, 0.1, seed)
        truth = off_diagonal(parnidag.sample(values, seed=seed, **QUIET))
        filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
        tables = {"drawn": gappy, "dropped": Data(gappy, missing="drop"), "means": filled}
        rows.append(
            {
                name: np.abs(off_diagonal(parnidag.sample(table, seed=seed, **QUIET)) - truth).mean()
                for name, table in tables.items()
            }
        )
    print(f"missing: mean difference of edge probabilities over {sets} sets\n{pd.DataFrame(rows).mean().round(4)}")


def four_levels(values: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Cut every column at random quantiles, such that no level is rare."""
    shares = rng.dirichlet(np.full(4, 8.0), values.shape[1])
    cuts = [np.quantile(column, np.cumsum(share)[:-1]) for column, share in zip(values.T, shares, strict=True)]
    codes = [np.searchsorted(cut, column) for cut, column in zip(cuts, values.T, strict=True)]
    return pd.DataFrame(np.stack(codes, axis=1), columns=[f"X{j}" for j in range(values.shape[1])])


def ordinal(sets: int) -> None:
    rows = []
    for seed in range(sets):
        network = parnidag.simulate(nodes=20, edges=40, rows=500, seed=seed)
        table = four_levels(network.values, np.random.default_rng([seed, 2]))
        runs = {
            "cut": (Data(table, kind="mixed"), "copula"),
            "numbers": (Data(table, kind="continuous"), "bge"),
            "bdeu": (Data(table, kind="discrete"), "bdeu"),
            "latent": (Data(network.values), "bge"),
        }
        one = {}
        for name, (data, score) in runs.items():
            began = time.process_time()
            posterior = parnidag.sample(data, score=score, sampler=samplers.PARNI(), draws=500, seed=seed, **QUIET)
            one[name] = metrics.shd_cpdag(posterior.consensus_graph(), network.adjacency)
            one[f"{name} CPU s"] = time.process_time() - began
        rows.append(one)
        print(rows[-1], flush=True)
    print(f"ordinal: distance of equivalence classes over {sets} sets\n{pd.DataFrame(rows).mean().round(2)}")


def timed(data: object, **options: object) -> tuple[float, parnidag.Posterior]:
    began = time.process_time()
    posterior = parnidag.sample(data, seed=1, **QUIET, **options)
    return time.process_time() - began, posterior


def cost() -> None:
    timed(holes(parnidag.simulate(nodes=14, edges=10, rows=50, seed=1).values, 0.1, 1), draws=10)  # compiles
    values = parnidag.simulate(nodes=20, edges=30, rows=1000, seed=1).values
    whole, _ = timed(values, sampler=samplers.PARNI())
    drawn, posterior = timed(holes(values, 0.2, 1))
    print(f"cost: n=20, N=1000: complete {whole:.1f} s, a fifth empty {drawn:.1f} s: {posterior.diagnostics().verdict}")
    values = parnidag.simulate(nodes=100, edges=120, rows=500, seed=1).values
    table = pd.DataFrame(values)
    table.columns = [f"X{j}" for j in range(100)]
    for j in range(0, 60):
        kind = j % 3
        cut = np.searchsorted(np.quantile(values[:, j], (0.25, 0.5, 0.75)), values[:, j])
        table[f"X{j}"] = cut if kind == 0 else cut > 1 if kind == 1 else np.array(list("abca"))[cut]
    drawn, posterior = timed(table)
    print(f"cost: n=100, N=500, mixed: {drawn:.1f} s: {posterior.diagnostics().verdict}")


def many() -> None:
    values = parnidag.simulate(nodes=10, edges=12, rows=100_000, seed=1).values
    truth = off_diagonal(parnidag.sample(values, seed=1, **QUIET))
    for share in (0.1, 0.01):
        drawn, posterior = timed(holes(values, share, 1))
        apart = np.abs(off_diagonal(posterior) - truth)
        print(
            f"many: N=100,000, {share:.0%} empty: edge probabilities differ by {apart.mean():.4f} on average, "
            f"{apart.max():.3f} at most; {drawn:.0f} s: {posterior.diagnostics().verdict}"
        )


def known(path: str, edges: str) -> None:
    table, arcs = pd.read_csv(path), pd.read_csv(edges)
    names = list(table.columns)
    truth = np.zeros((len(names),) * 2, bool)
    truth[[names.index(name) for name in arcs["from"]], [names.index(name) for name in arcs["to"]]] = True
    ways = {"drawn": table, "dropped": Data(table, missing="drop"), "most frequent": table.fillna(table.mode().iloc[0])}
    for name, data in ways.items():
        seconds, posterior = timed(data)
        graph = posterior.consensus_graph()
        print(
            f"known: {name}: distance of classes {metrics.shd_cpdag(graph, truth)}, of graphs "
            f"{metrics.shd(graph, truth)}; {seconds:.0f} s: {posterior.diagnostics().verdict}",
            flush=True,
        )


def files(paths: list[str]) -> None:
    for path in paths:
        data = Data(path)
        drawn, posterior = timed(data)
        print(f"{path}: {data.in_words()}\n  {drawn:.1f} CPU s: {posterior.diagnostics().verdict}", flush=True)
        numbers = [name for name, kind in zip(data.names, data.kinds, strict=True) if kind in ("number", "count")]
        if data.kind == "mixed" and len(numbers) > 1:
            alone = parnidag.sample(Data(path, columns=numbers), seed=1, **QUIET).edge_probabilities
            apart = (posterior.edge_probabilities.loc[numbers, numbers] - alone).abs().to_numpy()
            print(f"  {apart.size} edges among numbers change by {apart.mean():.3f} on average without the classes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", choices=("missing", "ordinal", "cost", "many", []), default=[])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--files", nargs="*", default=[])
    parser.add_argument("--known", nargs=2)
    asked = parser.parse_args()
    by_name = {
        "missing": lambda: missing(asked.sets),
        "ordinal": lambda: ordinal(asked.sets),
        "cost": cost,
        "many": many,
    }
    for study in asked.studies:
        by_name[study]()
    if asked.known:
        known(*asked.known)
    files(asked.files)


if __name__ == "__main__":
    main()
