"""Data and distances of another study, from its description: SVI-DAG (arXiv 2608.04930), cases 2, 3, 5 and 6.

A graph has a fixed number of edges between pairs drawn at random, directed along a random order. Straight relations
have weights ±U(0.3, 0.7); curved ones are a network of one hidden layer of ten ReLU units for each node, with all
weights and offsets ±U(0.3, 0.7). The noise is Gaussian of variance 1. Distances are those of that study: between CPDAGs
where relations are straight, with F1, Brier score and area under the ROC curve of the skeleton, whose probability at a
pair is the larger of its two directions; between DAGs where they are curved, where a turned edge counts twice.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import parnidag
from benchmarks.harness.task import Outcome
from benchmarks.networks import MissingData
from parnidag import Data, scores
from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.equivalence import cpdag
from parnidag.results.posterior import Posterior
from parnidag.scores.base import Score

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOW, HIGH, HIDDEN = 0.3, 0.7, 10
METHODS = ("rule", "auto", "spline")


@dataclass(frozen=True)
class Case:
    """A setting of that study."""

    label: str
    nodes: int
    edges: int
    curved: bool


CASES = {
    "case2": Case("straight, 25 nodes, 40 edges", 25, 40, False),
    "case5": Case("straight, 50 nodes, 80 edges", 50, 80, False),
    "case3": Case("curved, 25 nodes, 40 edges", 25, 40, True),
    "case6": Case("curved, 50 nodes, 80 edges", 50, 80, True),
    "coverage": Case("straight, 10 nodes, 10 edges", 10, 10, False),
}


def draw_case(case: Case, rows: int, seed: int) -> tuple[Matrix, Flags]:
    """Return rows × nodes, and the graph they were drawn from."""
    graph = parnidag.simulate(nodes=case.nodes, edges=case.edges, rows=1, seed=seed).adjacency
    rng = np.random.default_rng([seed, rows, case.nodes, int(case.curved)])
    values = rng.standard_normal((rows, case.nodes))
    for j in topological_order(graph) or []:
        parents = np.flatnonzero(graph[:, j])
        if not len(parents):
            continue
        if case.curved:
            hidden = values[:, parents] @ signed(rng, len(parents), HIDDEN) + signed(rng, HIDDEN)
            values[:, j] += np.maximum(hidden, 0.0) @ signed(rng, HIDDEN)
        else:
            values[:, j] += values[:, parents] @ signed(rng, len(parents))
    return values, graph


def signed(rng: np.random.Generator, *shape: int) -> Matrix:
    """Return weights ±U(0.3, 0.7)."""
    return np.asarray(rng.uniform(LOW, HIGH, shape) * rng.choice([-1.0, 1.0], shape))


def files_of(folder: str, case: str, rows: int, replication: int) -> list[Path]:
    """Return where a data set is: CASE-nROWS-rREPLICATION.csv, and its graph in …-graph.csv."""
    stem = f"{case}-n{rows}-r{replication}"
    files = [Path(folder) / f"{stem}{ending}.csv" for ending in ("", "-graph")]
    for file in files:
        if not file.exists():
            raise MissingData(f"--data {folder} has no {file.name}; without --data the data are drawn here")
    return files


def digest_of_files(folder: str, case: str, rows: int, replication: int) -> str:
    """Return a name for the contents of a data set's files."""
    files = files_of(folder, case, rows, replication)
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def read_case(folder: str, case: str, rows: int, replication: int) -> tuple[Matrix, Flags]:
    """Read a data set: plain numbers between commas, and its graph as 0 and 1, parent × child."""
    files = files_of(folder, case, rows, replication)
    values, graph = (np.loadtxt(file, delimiter=",", ndmin=2) for file in files)
    if graph.shape != (values.shape[1],) * 2:
        raise MissingData(f"--data: {files[1].name} must be a matrix of 0 and 1 with a row and a column for each node")
    return values, graph != 0


def judge(
    case: str, rows: int, method: str, draws: int, seed: int, replication: int = 0, folder: str | None = None
) -> Outcome:
    """Run four chains of the default sampler on one data set, and measure as that study does."""
    if folder is None:
        values, truth = draw_case(CASES[case], rows, seed)
    else:
        values, truth = read_case(folder, case, rows, replication)
    warm_up(CASES[case].nodes > 20)
    began = time.process_time()
    score = {"rule": suited_score, "auto": lambda _: None, "spline": lambda _: scores.Spline()}[method](values)
    found = parnidag.sample(values, score=score, draws=draws, chains=4, seed=seed, progress=False)
    seconds = time.process_time() - began
    figures = of_graphs(found, truth) if CASES[case].curved else of_classes(found, truth)
    if case == "coverage":
        figures["coverage"] = coverage(found, truth)
    told = {"score": "Spline" if score is not None else "default", "converged": str(found.diagnostics().converged)}
    return Outcome(figures={**figures, **told, "cpu_seconds": seconds})


def suited_score(values: Matrix) -> Score | None:
    """Return the score that `Data.doubts` advises where relations look curved, and None, the default, elsewhere."""
    advised = any("relations look curved" in line for line in Data(values).doubts())
    return scores.Spline() if advised else None


@functools.cache
def warm_up(chains: bool) -> None:
    """Compile what a run needs, once a process, so that no data set is charged for it."""
    values = np.random.default_rng(0).standard_normal((50, 25 if chains else 5))
    for score in (None, scores.Spline()):
        parnidag.sample(values, score=score, draws=20, seed=1, progress=False)


def unique_graphs(posterior: Posterior) -> list[tuple[Flags, float]]:
    """Return each graph that was drawn with its share of the draws."""
    record, n = posterior.record, len(posterior.nodes)
    indices, counts = np.unique(record.graph_index, return_counts=True)
    graphs = []
    for index, share in zip(indices, counts / counts.sum(), strict=True):
        graph = np.zeros(n * n, bool)
        graph[record.graph_codes(int(index))] = True
        graphs.append((graph.reshape(n, n), float(share)))
    return graphs


def of_classes(posterior: Posterior, truth: Flags) -> dict[str, float | str | None]:
    """Distances between CPDAGs, and how well joined pairs are told."""
    upper = np.triu_indices(len(truth), 1)
    true = cpdag(truth)
    true_ends, joined = (true + 2 * true.T)[upper], (true | true.T)[upper]
    distance = f1 = 0.0
    for graph, share in unique_graphs(posterior):
        found = cpdag(graph)
        distance += share * ((found + 2 * found.T)[upper] != true_ends).sum()
        f1 += share * f1_score((found | found.T)[upper], joined)
    probabilities = posterior.edge_probabilities.to_numpy()
    larger, either = np.maximum(probabilities, probabilities.T)[upper], (probabilities + probabilities.T)[upper]
    return {
        "shd": float(distance),
        "f1": f1,
        "brier": float(((larger - joined) ** 2).mean()),
        "brier_either": float(((either - joined) ** 2).mean()),
        "roc_area": roc_area(larger, joined),
    }


def of_graphs(posterior: Posterior, truth: Flags) -> dict[str, float | str | None]:
    """Distances between DAGs, and how well directed edges are told."""
    others = ~np.eye(len(truth), dtype=bool)
    probabilities, true = posterior.edge_probabilities.to_numpy()[others], truth[others]
    return {
        "shd": float(np.abs(probabilities - true).sum()),
        "f1": sum(share * f1_score(graph, truth) for graph, share in unique_graphs(posterior)),
        "brier": float(((probabilities - true) ** 2).mean()),
        "brier_either": None,
        "roc_area": roc_area(probabilities, true),
    }


def f1_score(found: Flags, true: Flags) -> float:
    """Return the harmonic mean of precision and recall; 0 where nothing is right."""
    return float(2 * (found & true).sum() / max(found.sum() + true.sum(), 1))


def roc_area(probabilities: Matrix, true: Flags) -> float:
    """Return the chance that a true pair has a larger probability than another one; ties count one half."""
    ranks, count = stats.rankdata(probabilities), true.sum()
    return float((ranks[true].sum() - count * (count + 1) / 2) / (count * (true.size - count)))


def class_members(graph: Flags) -> set[bytes]:
    """Return all graphs that data cannot tell from this one, by trying both directions of each reversible edge."""
    whole = cpdag(graph)
    pairs = np.argwhere(np.triu(whole & whole.T))
    members = set()
    for turned in itertools.product((False, True), repeat=len(pairs)):
        member = whole & ~whole.T
        for (i, j), back in zip(pairs, turned, strict=True):
            member[(j, i) if back else (i, j)] = True
        if topological_order(member) is not None and (cpdag(member) == whole).all():
            members.add(member.tobytes())
    return members


def coverage(posterior: Posterior, truth: Flags) -> float:
    """Return the share of the true class's graphs that are among the draws."""
    drawn = {graph.tobytes() for graph, _ in unique_graphs(posterior)}
    members = class_members(truth)
    return len(drawn & members) / len(members)
