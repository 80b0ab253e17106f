"""The methods whose graphs are compared with a known one: samplers under a budget of CPU time, and baselines.

Scores and priors are those of the authors' scripts: order, iterative and partition MCMC use BGe, with odds of an edge
that BiDAG's penalty factor 2 log n makes; ADR and PARNI-DAG use the paper's score with g = 10 and h = 1/100. The
authors begin PARNI-DAG from the skeleton of iterative MCMC's graph, here it begins from the whole space that the search
has grown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks.baselines import BASELINES
from benchmarks.harness.task import Impossible
from benchmarks.problems import Problem
from benchmarks.timed import Space, timed_chain
from parnidag import Data, EdgePrior, scores
from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.consensus import consensus, expected_shd
from parnidag.graphs.equivalence import cpdag
from parnidag.metrics.causal import _some_dag
from parnidag.samplers import ADR, PARNI, IterativeMCMC, OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Sampler
from parnidag.scores.base import Score
from parnidag.target import Target

Odds = Literal["1/100", "1/n", "2/n", "1/(2 log n)"]
Graphs = Mapping[str, np.ndarray]
"""The point estimates by name: "median", "mode" and "best"."""

ESTIMATES = {"median": "edges ≥ ½", "mode": "pairwise mode", "best": "best graph"}
"""Edges with a probability of at least one half; per pair of nodes the likeliest of →, ← and none, cycles repaired at
the least cost (`Posterior.consensus_graph`); and the graph with the highest score."""
OF_ONE_GRAPH = {"mode": "as it is", "best": "a DAG of its class"}
"""Of a method with one graph, whose undirected edges are steps away from any DAG: it, and with directions drawn."""


@dataclass(frozen=True)
class Learner:
    """A sampler with everything it is given."""

    label: str
    sampler: Sampler
    score: Score = field(default_factory=lambda: scores.Gaussian(g=10))
    odds: Odds = "1/100"
    space: Space = "own"
    search: bool = False
    estimate: str = "median"
    """The point estimate that the paper reports of it."""
    peer: str | None = None
    """Its name in the paper's tables."""

    def describe(self) -> dict[str, Any]:
        """Return everything that decides a run, in a form that JSON can hold."""
        settings = {"sampler": self.sampler.describe(), "score": self.score.describe(), "odds": self.odds}
        return {**settings, "space": self.space, "search": self.search}

    def problem(self, data: Data) -> Problem:
        """Return the posterior of these data."""
        return Problem("", data, Target.build(data, self.score, EdgePrior(h=weight(self.odds, data.n_nodes))))


def weight(odds: Odds, n_nodes: int) -> float:
    """Return h, of which h/(1 − h) is the factor of an edge in the prior."""
    if odds == "1/(2 log n)":
        factor = 1 / (2 * math.log(n_nodes))
        return factor / (1 + factor)
    return {"1/100": 0.01, "1/n": 1 / n_nodes, "2/n": 2 / n_nodes}[odds]


def _bge() -> Score:
    return scores.BGe(standardise=True)


DEFAULT = "default"
"""The library's own choice of everything: others are compared with it."""
LEARNERS: dict[str, Learner] = {
    "order": Learner(
        "Order MCMC", OrderMCMC(plus_one=False), _bge(), "1/(2 log n)", "pc", estimate="best", peer="Order MCMC"
    ),
    "iterative": Learner(
        "Iterative MCMC", IterativeMCMC(), _bge(), "1/(2 log n)", "pc", estimate="best", peer="Iterative MCMC"
    ),
    "partition": Learner(
        "Partition MCMC", PartitionMCMC(), _bge(), "1/(2 log n)", "iterative", estimate="best", peer="Partition MCMC"
    ),
    "adr": Learner("ADR", ADR(), space="none", peer="ADR"),
    "parni-printed": Learner(
        "PARNI-DAG as printed",
        PARNI(moves="paper", kernel="printed", eta="paper", adapt="always"),
        space="iterative",
        peer="PARNI-DAG",
    ),
    DEFAULT: Learner("parnidag, default", PARNI(), scores.BGe(alpha_w="learn"), "2/n", search=True, estimate="mode"),
    "parni": Learner("parnidag, paper's score, h = 1/n", PARNI(), odds="1/n", search=True, estimate="mode"),
    "parni-sparse": Learner("parnidag, paper's score, h = 1/100", PARNI(), search=True, estimate="mode"),
    "parni-dense": Learner("parnidag, paper's score, h = 2/n", PARNI(), odds="2/n", search=True, estimate="mode"),
}
"""By the name that `--methods` takes."""
METHODS = (*BASELINES, *LEARNERS)
DIRECTIONS = 1
"""Keeps the random numbers of drawn directions apart from those of the data."""


def label_of(method: str) -> str:
    """Return what a method is called in tables."""
    return LEARNERS[method].label if method in LEARNERS else method


def describe(method: str) -> dict[str, Any]:
    """Return everything that decides a method's result besides data, seed and time."""
    return LEARNERS[method].describe() if method in LEARNERS else dict(BASELINES[method].settings)


def import_library(method: str) -> None:
    """Import what a baseline needs, so that it is not charged for it; whether it is there is found out when it runs."""
    if method in BASELINES:
        BASELINES[method].import_library()


def version_of(method: str) -> str:
    """Return the version of the library behind a baseline; nothing for our own."""
    if method in LEARNERS:
        return ""
    baseline = BASELINES[method]
    return f"{baseline.package.distribution} {baseline.version()}"


def estimate_of(method: str) -> str:
    """Return the point estimate that stands for a method in the paper's table; a baseline has one graph."""
    return LEARNERS[method].estimate if method in LEARNERS else "mode"


def peer_of(method: str) -> str | None:
    """Return a method's name in the paper's tables."""
    return LEARNERS[method].peer if method in LEARNERS else method


def learn(method: str, values: np.ndarray, seconds: float, seed: int) -> tuple[Graphs, dict[str, float | str]]:
    """Return the point estimates of a method, parent × child, and what else is worth a column."""
    if method in LEARNERS:
        return sampled(LEARNERS[method], values, seconds, seed)
    found = BASELINES[method].fit(values, seed, seconds)
    if found.failed:
        raise Impossible(found.note)
    said = {"remark": found.note} if found.note else {}
    if found.graph is not None:
        return {"median": found.graph, "mode": found.graph, "best": directed(found.graph, seed)}, said
    return _estimates(found.probabilities, found.best), said


def class_of(graph: np.ndarray) -> np.ndarray:
    """Return the CPDAG of a DAG; a graph with undirected edges, or with a cycle, stays as it is."""
    return cpdag(graph) if topological_order(graph) is not None else graph


def directed(graph: np.ndarray, seed: int) -> np.ndarray:
    """Return a DAG of the class that a graph with undirected edges stands for; the graph itself if there is none.

    Which one depends on the order in which nodes are looked at, so that is random: columns of known networks may stand
    in an order that gives directions away.
    """
    order = np.random.default_rng((seed, DIRECTIONS)).permutation(len(graph))
    found = _some_dag(graph[np.ix_(order, order)])
    if found is None:
        return graph
    back = np.argsort(order)
    return found[np.ix_(back, back)]


def sampled(
    learner: Learner, values: np.ndarray, seconds: float, seed: int, *, set_up_is_free: bool = False
) -> tuple[Graphs, dict[str, float | str]]:
    """Return the point estimates of a chain, and the distance to the truth that its own posterior expects."""
    problem = learner.problem(Data(values))
    chain = timed_chain(
        problem,
        learner.sampler,
        seconds,
        seed,
        space=learner.space,
        search=learner.search,
        set_up_is_free=set_up_is_free,
    )
    graphs = _estimates(chain.probabilities[-1], chain.best)
    said: dict[str, float | str] = {
        "expected_shd_mode": expected_shd(chain.probabilities[-1], graphs["mode"]),
        "cpu_seconds": chain.seconds,
        "set_up_seconds": chain.set_up_seconds,
        "iterations": chain.iterations,
        "best_log_posterior": chain.best_score,
    }
    return graphs, said


def _estimates(probabilities: np.ndarray, best: np.ndarray) -> Graphs:
    return {"median": probabilities >= 0.5, "mode": consensus(probabilities), "best": best}
