"""Who finds the graph of a network of classes: our default beside PC and GES of causal-learn and pgmpy's hill climb.

All of them get the same table of whole numbers. Columns that happen to be constant tell nothing and stop some methods,
so nobody gets them; their edges count as missed for everybody. GES and the hill climb maximise BDeu, as ours samples
from it, with an equivalent sample size of 1.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import parnidag
from benchmarks.baselines.causal_learn import from_marks
from benchmarks.bif import class_network
from benchmarks.harness.task import MissingLibrary, Outcome
from benchmarks.learners import class_of, directed
from parnidag.graphs.consensus import consensus
from parnidag.metrics import shd
from parnidag.results.posterior import Posterior

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

PC_LEVEL, ESS = 0.05, 1.0
MOST_EXACT = 17
"""Columns up to which graphs of two levels a column are added up, so that no chains are compiled."""


def sampled(values: Integers, seed: int, draws: int) -> Posterior:
    return parnidag.sample(parnidag.Data(values, kind="discrete"), draws=draws, seed=seed, progress=False)


def ours(values: Integers, seed: int, draws: int) -> tuple[Flags, dict[str, float | str]]:
    """Return the pairwise mode of a default call, and what it says of itself."""
    found = sampled(values, seed, draws)
    mode = consensus(found.edge_probabilities.to_numpy())
    told = {"converged": str(found.diagnostics().converged), "expected": float(found.expected_shd(mode))}
    return mode, told


def our_best(values: Integers, seed: int, draws: int) -> tuple[Flags, dict[str, float | str]]:
    """Return the best graph that a default call finds, which is what a search would answer."""
    best = sampled(values, seed, draws).best
    assert best is not None
    return best.adjacency, {}


def pc(values: Integers, seed: int, draws: int) -> tuple[Flags, dict[str, float | str]]:
    from causallearn.search.ConstraintBased.PC import pc as run

    return from_marks(run(values, PC_LEVEL, "gsq", show_progress=False).G.graph), {}


def ges(values: Integers, seed: int, draws: int) -> tuple[Flags, dict[str, float | str]]:
    from causallearn.search.ScoreBased.GES import ges as run

    return from_marks(run(values, "local_score_BDeu")["G"].graph), {}


def hill_climb(values: Integers, seed: int, draws: int) -> tuple[Flags, dict[str, float | str]]:
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.structure_score import BDeu

    names = [str(k) for k in range(values.shape[1])]
    table = pd.DataFrame(values, columns=names).astype("category")
    score = BDeu(table, equivalent_sample_size=ESS)
    search = HillClimbSearch(scoring_method=score, return_type="dag", show_progress=False).fit(table)
    return search.adjacency_matrix_.loc[names, names].to_numpy() != 0, {}


LEARNERS: dict[str, Callable[[Integers, int, int], tuple[Flags, dict[str, float | str]]]] = {
    "parnidag": ours,
    "parnidag-best": our_best,
    "pc": pc,
    "ges": ges,
    "hill-climb": hill_climb,
}
LABELS = {
    "parnidag": "parnidag, default (pairwise mode)",
    "parnidag-best": "parnidag, best graph",
    "pc": "PC, causal-learn",
    "ges": "GES, causal-learn",
    "hill-climb": "hill climb, pgmpy",
}


def judge(network: str, rows: int, method: str, draws: int, seed: int, folder: str | None = None) -> Outcome:
    """Draw a table, run a method on it, and return how far its graph is from the true one."""
    known = class_network(network, None if folder is None else Path(folder))
    values, truth = known.draw(rows, seed), known.adjacency
    kept = np.flatnonzero([len(np.unique(column)) > 1 for column in values.T])
    warm_up(method, len(kept))
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part, told = LEARNERS[method](values[:, kept], seed, draws)
    except ImportError as error:
        raise MissingLibrary(
            f"{method} needs a library that is not here ({error}): pip install '.[baselines]'"
        ) from error
    seconds = time.process_time() - began
    graph = np.zeros_like(truth)
    graph[np.ix_(kept, kept)] = part
    dag = directed(graph, seed)
    figures = {"nodes": len(truth), "edges": int(truth.sum()), "constant": len(truth) - len(kept)}
    figures |= {"shd": shd(dag, truth), "cpdag_shd": shd(class_of(graph), class_of(truth))}
    return Outcome(figures={**figures, **told, "cpu_seconds": seconds})


def warm_up(method: str, columns: int) -> None:
    """Import and compile before the clock runs: for tables that need chains, or for those that are added up."""
    nodes = 3 if not method.startswith("parnidag") else 25 if columns > MOST_EXACT else 5
    if (method, nodes) in WARM:
        return
    WARM.add((method, nodes))
    values = np.random.default_rng(0).integers(0, 2, (60, nodes))
    values[:, -1] ^= values[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LEARNERS[method](values, 1, 20)


WARM: set[tuple[str, int]] = set()
