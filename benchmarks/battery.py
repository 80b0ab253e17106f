"""Data sets of up to 18 nodes whose posterior is known exactly, from easy to nasty, and one run judged on one of them.

What makes a verdict wrong is a mode that no chain meets, so the families are those in which modes are far apart: dense
and near-deterministic relations, columns that nearly repeat others, parents that matter only together; beside the
harmless ones that nobody should be alarmed about.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from benchmarks.harness.task import Outcome
from benchmarks.interventions import draw, targets
from benchmarks.nonlinear import KINDS, additive_data
from parnidag import EdgePrior, scores
from parnidag.data import Data
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import topological_order
from parnidag.results.posterior import Posterior
from parnidag.samplers import ADR, MC3, PARNI, REV, PartitionMCMC, Tempered
from parnidag.samplers.base import Sampler
from parnidag.scores.base import Score

SAMPLERS: dict[str, Sampler | None] = {
    "default": None,
    "parni": PARNI(),
    "tempered": Tempered(),
    "partition": PartitionMCMC(),
    "adr": ADR(),
    "mc3": MC3(),
    "rev": REV(),
}
"""By the name that `--methods` takes."""
RARE = 0.01
"""Claimed errors are judged at edges whose probability is this far from 0 and 1."""
LARGE_Z = 3.0
"""Errors of so many claimed ones should hardly occur; a mode that no chain met has thousands, which rule any mean."""
REAL_NODES, REAL_ROWS = (4, 20), 30
"""Fewest and most columns of a table from a folder, and its fewest rows."""


@dataclass(frozen=True)
class Question:
    """A table, and what is asked of it."""

    data: Data
    score: Score | None = None
    prior: EdgePrior | None = None


Shape = tuple[int, int, float]
"""Nodes, rows, and a level, which each family has a meaning of its own for."""


@dataclass(frozen=True)
class Family:
    """Data sets of one kind: how one is made (nodes, rows, level, seed), and of which shapes; small ones first."""

    make: Callable[[int, int, float, int], Question]
    shapes: Sequence[Shape]


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def linear(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Draw from a random linear network; the level is the share of all pairs that have an edge."""
    return Question(Data(_linear_values(nodes, rows, level, seed)))


def _linear_values(nodes: int, rows: int, share: float, seed: int, **more: object) -> np.ndarray:
    edges = round(share * nodes * (nodes - 1) / 2)
    values: np.ndarray = parnidag.simulate(nodes=nodes, edges=edges, rows=rows, seed=seed, **more).values  # type: ignore[arg-type]
    return values


def under_bge(nodes: int, rows: int, level: float, seed: int) -> Question:
    return Question(linear(nodes, rows, level, seed).data, scores.BGe(standardise=True))


def faint(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Weights of about the level, at a quarter of all pairs."""
    return Question(Data(_linear_values(nodes, rows, 0.25, seed, weights=(level / 2, level))))


def near_deterministic(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Noise of the level beside weights of about 1, at a quarter of all pairs."""
    return Question(Data(_linear_values(nodes, rows, 0.25, seed, noise=level)))


def hubs(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Two causes of all other nodes, or for a level of 0 two nodes that all others cause."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((nodes, nodes))
    weights[:2, 2:] = rng.uniform(0.3, 1.0, (2, nodes - 2)) * rng.choice([-1, 1], (2, nodes - 2))
    if not level:
        weights = weights.T
    unset = np.zeros((rows, nodes), bool)
    return Question(Data(draw(weights, np.ones(nodes), unset, rng)[:, rng.permutation(nodes)]))


def wild_units(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Columns on scales up to 10 to the level apart, every other one log-normal."""
    rng = np.random.default_rng(seed)
    values = _linear_values(nodes, rows, 0.25, seed)
    values[:, ::2] = np.exp(values[:, ::2] / values[:, ::2].std(axis=0))
    return Question(Data(values * 10 ** rng.uniform(-level / 2, level / 2, nodes)))


def near_copies(nodes: int, rows: int, level: float, seed: int) -> Question:
    """A third of the columns repeat another one up to noise of the level, relative to its standard deviation."""
    rng = np.random.default_rng(seed)
    copies = nodes // 3
    values = _linear_values(nodes - copies, rows, 0.3, seed)
    repeated = values[:, rng.choice(nodes - copies, copies, replace=False)]
    noise = level * repeated.std(axis=0) * rng.standard_normal(repeated.shape)
    return Question(Data(np.hstack([values, repeated + noise])[:, rng.permutation(nodes)]))


def curved(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Sums of curved functions under the spline score; for a level of 0 of monotone ones. Always of ten nodes."""
    functions = KINDS["curved" if level else "monotone"]
    values = additive_data(functions, rows, np.random.default_rng(seed))[1]
    return Question(Data(values[:, :nodes]), scores.Spline())


# ── classes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def interactions(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Random tables of three parents for the later nodes; their rows are the more alike, the higher the level."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (rows, nodes))
    for j in range(nodes // 2, nodes):
        parents = rng.choice(j, 3, replace=False)
        case = values[:, parents] @ [1, 2, 4]
        values[:, j] = rng.random(rows) < rng.beta(level, level, 8)[case]
    return Question(Data(values[:, rng.permutation(nodes)], kind="discrete"))


def parity(nodes: int, rows: int, level: float, seed: int) -> Question:
    """Two sums of as many parents as the level says, modulo 2, or modulo 3 for half a parent more; a tenth is noise."""
    rng = np.random.default_rng(seed)
    parents, modulus = int(level), 2 if level == int(level) else 3
    values = rng.integers(0, modulus, (rows, nodes))
    for j in (nodes - 2, nodes - 1):
        total = values[:, rng.choice(nodes - 2, parents, replace=False)].sum(axis=1) % modulus
        values[:, j] = np.where(rng.random(rows) < 0.1, values[:, j], total)
    return Question(Data(values[:, rng.permutation(nodes)], kind="discrete"))


# ── what is known beside the table ────────────────────────────────────────────────────────────────────────────────────


def interventions(nodes: int, rows: int, level: float, seed: int) -> Question:
    """One node set at a time, in the level's share of the rows."""
    network = parnidag.simulate(nodes=nodes, edges=2 * nodes, rows=3, seed=seed)
    mask = targets(rows, nodes, level)
    values = draw(network.weights, network.noise, mask, np.random.default_rng(seed))
    return Question(Data(values, interventions=mask))


def required_and_forbidden(nodes: int, rows: int, level: float, seed: int) -> Question:
    """The level's share of the true edges required, that of the pairs forbidden, rightly or not."""
    rng = np.random.default_rng(seed)
    network = parnidag.simulate(nodes=nodes, edges=2 * nodes, rows=rows, seed=seed)
    required = network.adjacency & (rng.random((nodes, nodes)) < level)
    forbidden = ~required & (rng.random((nodes, nodes)) < level)
    return Question(Data(network.values), prior=EdgePrior(required=required, forbidden=forbidden))


def tiers(nodes: int, rows: int, level: float, seed: int) -> Question:
    """As many tiers as the level says, along the true order."""
    network = parnidag.simulate(nodes=nodes, edges=3 * nodes, rows=rows, seed=seed)
    order = topological_order(network.adjacency) or []
    groups = [list(map(int, group)) for group in np.array_split(order, int(level))]
    return Question(Data(network.values), prior=EdgePrior(tiers=groups))


# fmt: off
FAMILIES: dict[str, Family] = {
    "sparse": Family(linear, [
        (8, 200, 0.2), (9, 1000, 0.25), (10, 50, 0.2), (12, 500, 0.15), (14, 100, 0.1), (16, 5000, 0.1), (18, 300, 0.1),
    ]),
    "medium": Family(linear, [
        (8, 500, 0.4), (9, 100, 0.4), (11, 1000, 0.3), (12, 200, 0.35), (14, 5000, 0.3), (16, 500, 0.25),
    ]),
    "dense": Family(linear, [
        (8, 1000, 0.7), (9, 200, 0.6), (10, 5000, 0.6), (12, 500, 0.6), (14, 1000, 0.5), (16, 900, 0.5), (18, 500, 0.5),
    ]),
    "weak": Family(faint, [
        (8, 1000, 0.3), (9, 100, 0.3), (10, 5000, 0.1), (12, 500, 0.2), (14, 2000, 0.15), (16, 50, 0.5),
    ]),
    "near-deterministic": Family(near_deterministic, [
        (8, 200, 0.1), (9, 1000, 0.02), (10, 50, 0.05), (12, 500, 0.1), (14, 200, 0.3), (16, 1000, 0.05),
    ]),
    "hubs": Family(hubs, [
        (8, 200, 1), (9, 500, 0), (10, 1000, 1), (12, 100, 1), (14, 1000, 0), (16, 300, 1),
    ]),
    "wild units": Family(wild_units, [
        (8, 500, 6), (9, 100, 12), (10, 2000, 3), (12, 300, 9), (14, 1000, 6), (16, 200, 12),
    ]),
    "near-copies": Family(near_copies, [
        (8, 200, 0.1), (9, 1000, 0.03), (10, 100, 0.3), (12, 500, 0.1), (14, 200, 0.03), (16, 1000, 0.1),
    ]),
    "BGe": Family(under_bge, [
        (8, 300, 0.5), (9, 1000, 0.3), (10, 100, 0.3), (12, 500, 0.5), (14, 2000, 0.25), (16, 200, 0.2),
    ]),
    "Spline": Family(curved, [
        (8, 100, 1), (9, 200, 0), (10, 300, 1), (10, 100, 0), (10, 1000, 1), (10, 500, 0),
    ]),
    "interactions": Family(interactions, [
        (8, 500, 0.5), (9, 2000, 1), (10, 200, 0.5), (12, 1000, 0.5), (14, 500, 0.3), (16, 1000, 1),
    ]),
    "parity": Family(parity, [
        (8, 300, 3), (9, 500, 2.5), (10, 1000, 4), (12, 500, 3), (14, 1000, 2.5), (14, 500, 3), (16, 1000, 4),
    ]),
    "interventions": Family(interventions, [
        (8, 200, 0.1), (9, 500, 0.5), (10, 1000, 0.05), (12, 300, 0.3), (14, 1000, 0.1), (16, 500, 0.2),
    ]),
    "required, forbidden": Family(required_and_forbidden, [
        (8, 200, 0.2), (9, 500, 0.3), (10, 100, 0.1), (12, 1000, 0.2), (14, 500, 0.1), (16, 200, 0.2),
    ]),
    "tiers": Family(tiers, [
        (8, 200, 2), (9, 1000, 3), (10, 100, 2), (12, 500, 4), (14, 1000, 2), (16, 500, 3),
    ]),
}
# fmt: on
"""By the name that they have in tables."""
REAL = "real"


# ── tables from a folder ──────────────────────────────────────────────────────────────────────────────────────────────


def real_tables(folder: Path) -> list[str]:
    """Return the names of the CSV files that hold numbers only, in as many columns as exact sums can take."""
    return [file.name for file in sorted(folder.glob("*.csv")) if _read(file) is not None]


def _read(file: Path) -> Question | None:
    table = pd.read_csv(file).dropna()
    low, high = REAL_NODES
    numeric = len(table.select_dtypes("number").columns) == len(table.columns)
    if not (numeric and low <= len(table.columns) <= high and len(table) >= REAL_ROWS):
        return None
    try:
        return Question(Data(table, columns=list(table.columns)))
    except ParnidagError:  # a constant column, or one that repeats another
        return None


# ── one run ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@functools.lru_cache(maxsize=4)
def _asked(family: str, shape: Shape | str, seed: int, folder: str | None, plain: bool) -> tuple[Question, np.ndarray]:
    """Return a question and its exact edge probabilities; the runs on one data set follow one another.

    A plain question is about a score that has nothing to learn.
    """
    if isinstance(shape, str):
        assert folder is not None
        question = _read(Path(folder) / shape)
        assert question is not None
    else:
        question = FAMILIES[family].make(*shape, seed)
    if plain and question.score is None and question.data.kind != "discrete":
        question = replace(question, score=scores.BGe())
    answer = parnidag.exact(question.data, score=question.score, prior=question.prior)
    return question, answer.edge_probabilities.to_numpy()


def judge_run(
    family: str, shape: Sequence[float] | str, method: str, draws: int, seed: int, folder: str | None = None
) -> Outcome:
    """Run a sampler on a data set, and set what it says of itself beside the truth."""
    plain = isinstance(SAMPLERS[method], Tempered)
    question, truth = _asked(family, shape if isinstance(shape, str) else tuple(shape), seed, folder, plain)  # type: ignore[arg-type]
    began = time.process_time()
    posterior = parnidag.sample(
        question.data,
        score=question.score,
        prior=question.prior,
        sampler=SAMPLERS[method],
        draws=draws,
        seed=seed,
        progress=False,
    )
    seconds = time.process_time() - began
    record = posterior.record
    kept = {"edge_codes": record.edge_codes, "counts": record.batch_counts, "lengths": record.batch_iterations}
    figures = {"nodes": len(truth), "cpu_seconds": seconds, **errors(posterior, truth), **own_figures(posterior)}
    return Outcome(figures=figures, arrays={"truth": truth, **kept})


def errors(posterior: Posterior, truth: np.ndarray) -> dict[str, float | int | None]:
    """Return the largest error, that of edges without a claimed one, the largest claimed, and sums over z-scores."""
    table = posterior.summary(min_probability=0.0)
    place = {name: k for k, name in enumerate(posterior.edge_probabilities.columns)}
    exact = truth[table["parent"].map(place), table["child"].map(place)]
    claimed = table["mcse"].to_numpy(float, na_value=np.nan)
    wrong = np.abs(table["probability"].to_numpy(float) - exact)
    judged = (claimed > 0) & (exact > RARE) & (exact < 1 - RARE)
    z = wrong[judged] / claimed[judged]
    unclaimed = wrong[np.isnan(claimed)]
    return {
        "error": float(wrong.max()),
        "error_unclaimed": float(unclaimed.max(initial=0.0)),
        "claimed_error": None if np.isnan(claimed).all() else float(np.nanmax(claimed)),
        "z_squares": float((z**2).sum()),
        "z_large": int((z > LARGE_Z).sum()),
        "z_count": len(z),
    }


def own_figures(posterior: Posterior) -> Mapping[str, float | str | None]:
    """Return the verdict, and the figures that it rests on."""
    diagnostics = posterior.diagnostics()
    names = ("disagreement_max", "rhat_edges_max", "rhat_log_posterior", "ess_log_posterior", "ess_edges_min")
    told = {True: "yes", False: "no", None: "unknown"}[diagnostics.converged]
    return {"converged": told, **{name: getattr(diagnostics, name) for name in names}, "verdict": diagnostics.verdict}
