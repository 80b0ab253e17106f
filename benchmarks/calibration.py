"""Are the probabilities true? Graphs and data from the prior of a score, and the posterior asked to find them again.

python -m benchmarks.calibration [--score bge|bdeu|learned] [--replications R] [--nodes n] [--rows N] [--h H] [--seed S]
    [--jobs J] [--methods exact,sample] [--no-twins]

When a graph is drawn from the prior over graphs, parameters from the score's prior and rows from these, then the true
graph is one more draw from its own posterior. So among all edges that were given probability 0.3, 30 in 100 must be
there, and the rank of the truth among draws, by any statistic of graph and data, must be uniform. One statistic reads
the data (how strongly the ends of edges are associated), since a posterior that ignores them is calibrated too.
The twins draw the data from another prior than the posterior supposes, and must fail. In "learned" the scale of BGe and
the odds of edges are drawn from their priors too, for each data set anew, and the posterior learns both.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import stats

import parnidag
from parnidag import Beta, EdgePrior, scores
from parnidag.data import Data
from parnidag.graphs.adjacency import topological_order
from parnidag.results.posterior import Posterior
from parnidag.scores.base import Score

RANKED = 19
"""Draws among which the truth is ranked: it can have 20 ranks."""
BIN_EDGES = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
LEAST_VARIANCE = 20.0
"""Bins in which Σp(1 − p) is smaller have too few events for a standard error."""
STATISTICS = ("edges", "association")
LEARNED_EXTRA, LEARNED_ODDS = (0.5, 8.0), Beta(3.0, 7.0)
"""What is drawn and learned in "learned"."""
WAVE = 1_000_003
"""Between the seeds of waves of graphs: far from those that users choose one after another."""


@dataclass(frozen=True)
class Normal:
    """Rows as `scores.BGe` supposes them, its prior scale multiplied by `scale`.

    The normal-Wishart prior with T = t·I leaves for a node with q parents, independently of the others, a noise
    variance σ² that is inverse gamma ((α_w − n + q + 1)/2, t/2), weights Normal(0, σ²/t) and an intercept
    Normal(0, σ²/α_μ).
    """

    alpha_mu: float = 1.0
    scale: float = 1.0
    extra: tuple[float, ...] = ()
    """By how much α_w exceeds n + 1: one of these for each data set, equally probable; by default it is alpha_mu."""

    def score(self, nodes: int) -> Score:
        """Return the score whose prior this is, when the scale is 1."""
        alpha_w = tuple(nodes + 1 + extra for extra in self.extra) or None
        return scores.BGe(alpha_mu=self.alpha_mu, alpha_w=alpha_w, standardise=False)

    def draw_parameters(
        self, rng: np.random.Generator, n: int, q: int, count: int, extra: float | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return noise variances (count), weights (count × q) and intercepts (count) of a node."""
        alpha_w = n + 1 + (self.alpha_mu if extra is None else extra)
        t = self.alpha_mu * (alpha_w - n - 1) / (self.alpha_mu + 1)
        variance = self.scale * t / 2 / rng.gamma((alpha_w - n + q + 1) / 2, size=count)
        weights = rng.standard_normal((count, q)) * np.sqrt(variance / t)[:, None]
        return variance, weights, rng.standard_normal(count) * np.sqrt(variance / self.alpha_mu)

    def draw(self, rng: np.random.Generator, graph: np.ndarray, rows: int) -> Data:
        """Draw parameters, then rows."""
        values = np.zeros((rows, len(graph)))
        extra = float(rng.choice(self.extra)) if self.extra else None
        for j in topological_order(graph) or []:
            parents = np.flatnonzero(graph[:, j])
            variance, weights, intercept = self.draw_parameters(rng, len(graph), len(parents), 1, extra)
            noise = rng.standard_normal(rows) * np.sqrt(variance[0])
            values[:, j] = intercept[0] + values[:, parents] @ weights[0] + noise
        return Data(values, kind="continuous")

    def association(self, data: Data) -> np.ndarray:
        """Return the squared correlation of each pair of columns."""
        return np.asarray(np.corrcoef(data.values.T) ** 2)


@dataclass(frozen=True)
class Classes:
    """Rows as `scores.BDeu` supposes them: each row of a table of probabilities is Dirichlet(ess / (rows · levels))."""

    ess: float = 1.0
    levels: tuple[int, ...] = (2, 3)
    """Levels of the nodes in turn."""

    def score(self, nodes: int) -> Score:
        """Return the score whose prior this is."""
        return scores.BDeu(ess=self.ess)

    def draw_parameters(self, rng: np.random.Generator, levels: int, rows: int, count: int) -> np.ndarray:
        """Return tables of probabilities of a node (count × rows × levels), one row for each state of its parents."""
        shape = self.ess / (rows * levels)
        logs = np.log(rng.gamma(shape + 1, size=(count, rows, levels)))
        logs -= rng.exponential(size=logs.shape) / shape  # gammas of tiny shape, which would underflow
        table = np.exp(logs - logs.max(axis=2, keepdims=True))
        return np.asarray(table / table.sum(axis=2, keepdims=True))

    def draw(self, rng: np.random.Generator, graph: np.ndarray, rows: int) -> Data | None:
        """Draw tables of probabilities, then rows; None when a column is constant, which `Data` refuses."""
        n = len(graph)
        levels = [self.levels[j % len(self.levels)] for j in range(n)]
        values = np.zeros((rows, n), int)
        for j in topological_order(graph) or []:
            state, states = np.zeros(rows, int), 1
            for i in np.flatnonzero(graph[:, j]):
                state, states = state * levels[i] + values[:, i], states * levels[i]
            table = self.draw_parameters(rng, levels[j], states, 1)[0]
            below = table.cumsum(axis=1)[state, :-1]
            values[:, j] = (rng.random(rows)[:, None] > below).sum(axis=1)
        if (values == values[0]).all(axis=0).any():
            return None
        # declared, so that levels that never occur count as well
        columns = {f"X{j}": pd.Categorical(values[:, j], categories=range(levels[j])) for j in range(n)}
        return Data(pd.DataFrame(columns), kind="discrete")

    def association(self, data: Data) -> np.ndarray:
        """Return the mutual information of each pair of columns."""
        values, n = data.values.astype(int), data.n_nodes
        found = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                counts = np.zeros((max(self.levels), max(self.levels)))
                np.add.at(counts, (values[:, i], values[:, j]), 1.0 / len(values))
                apart = np.outer(counts.sum(axis=1), counts.sum(axis=0))
                seen = counts > 0
                found[i, j] = found[j, i] = (counts[seen] * np.log(counts[seen] / apart[seen])).sum()
        return found


@dataclass(frozen=True)
class Case:
    """What the data are drawn from, and what the posterior supposes."""

    truth: Normal | Classes
    truth_h: float | Beta
    score: Score | None
    """None for a posterior that ignores the data."""
    h: float | Beta
    nodes: int
    rows: int
    method: str = "exact"

    def posterior(self, data: Data, seed: int) -> Posterior:
        """Return the posterior with draws to rank the truth among."""
        score, prior = flat() if self.score is None else self.score, EdgePrior(h=self.h)
        if self.method == "exact":
            return parnidag.exact(data, score=score, prior=prior, draws=RANKED, seed=seed)
        return parnidag.sample(data, score=score, prior=prior, draws=RANKED, chains=1, seed=seed, progress=False)


class Answer(NamedTuple):
    """One true graph and what was said of it."""

    truth: np.ndarray
    predicted: np.ndarray
    ranks: list[int]


class Outcome(NamedTuple):
    """Many of them, in arrays."""

    truth: np.ndarray
    """Replication, parent, child."""
    predicted: np.ndarray
    """Edge probabilities, of the same shape."""
    ranks: np.ndarray
    """Of the truth among `RANKED` draws: replication, statistic."""


def flat() -> Score:
    """Return the score that makes the posterior the prior."""
    return scores.PythonScore(lambda node, parents: 0.0, name="flat")


def prior_graphs(nodes: int, h: float | Beta, count: int, seed: int) -> np.ndarray:
    """Return independent graphs from the prior."""
    if isinstance(h, Beta):
        values = np.random.default_rng(seed).beta(h.a, h.b, count)
        return np.concatenate([prior_graphs(nodes, value, 1, seed + k) for k, value in enumerate(values.tolist())])
    any_data = np.random.default_rng(0).standard_normal((3, nodes))
    found = parnidag.exact(any_data, score=flat(), prior=EdgePrior(h=h), draws=count, seed=seed)
    return np.array(found.graphs[0], bool)


def ask(case: Case, graph: np.ndarray, seed: int) -> Answer | None:
    """Draw data of a graph and return what the posterior says; None for data that cannot be used."""
    rng = np.random.default_rng(seed)
    data = case.truth.draw(rng, graph, case.rows)
    if data is None:
        return None
    posterior = case.posterior(data, int(rng.integers(2**32)))  # another stream than that of the data
    drawn = np.asarray(posterior.graphs)[0]
    association = case.truth.association(data)

    def strength(graphs: np.ndarray) -> np.ndarray:
        """Sum the association over pairs, so that graphs with the same pairs tie to the last bit."""
        skeletons = np.triu(graphs | np.swapaxes(graphs, -1, -2), 1)
        return np.asarray(np.where(skeletons, association, 0.0).sum(axis=(-2, -1)))

    ranks = [
        rank(rng, graph.sum(), drawn.sum(axis=(1, 2))),
        rank(rng, strength(graph[None])[0], strength(drawn)),
    ]
    return Answer(graph, posterior.edge_probabilities.to_numpy(), ranks)


def rank(rng: np.random.Generator, true: float, drawn: np.ndarray) -> int:
    """Return the rank of the truth among the draws, its place among equals at random."""
    return int((drawn < true).sum() + rng.integers((drawn == true).sum() + 1))


def replicate(case: Case, replications: int, seed: int, jobs: int = 1) -> Outcome:
    """Draw graphs and data again and again, each with a seed of its own, and return what the posteriors said.

    A graph whose data cannot be used is replaced together with them: that leaves every posterior as it is.
    """
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else nullcontext() as pool:
        answers: list[Answer] = []
        for wave in itertools.count():
            graphs = prior_graphs(case.nodes, case.truth_h, replications, seed + WAVE * wave)
            seeds = np.random.SeedSequence(seed, spawn_key=(wave,)).generate_state(replications).tolist()
            question = partial(ask, case)
            found = map(question, graphs, seeds) if pool is None else pool.map(question, graphs, seeds, chunksize=25)
            usable = (answer for answer in found if answer is not None)
            answers.extend(itertools.islice(usable, replications - len(answers)))
            if len(answers) == replications:
                break
    return Outcome(*map(np.array, zip(*answers, strict=True)))


# --- what to ask of an outcome ----------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Edges whose probabilities lie in an interval."""

    low: float
    high: float
    edges: int
    predicted: float
    observed: float
    error: float
    """Standard error of `observed`, from the spread of replications: edges of one graph are not independent."""

    @property
    def z(self) -> float:
        """By how many errors the observed share differs from the predicted one."""
        return (self.observed - self.predicted) / self.error


def edge_z(outcome: Outcome) -> np.ndarray:
    """Return Σ(y − p) / √Σp(1 − p) of every edge (n (n − 1))."""
    off_diagonal = ~np.eye(outcome.truth.shape[1], dtype=bool)
    surprise = (outcome.truth - outcome.predicted).sum(axis=0)
    spread = np.sqrt((outcome.predicted * (1 - outcome.predicted)).sum(axis=0))
    return np.asarray(surprise[off_diagonal] / spread[off_diagonal])


def overall_z(outcome: Outcome) -> float:
    """Return the same for all edges together, with the spread that the replications show."""
    surprise = (outcome.truth - outcome.predicted).sum(axis=(1, 2))
    return float(surprise.sum() / np.sqrt((surprise**2).sum()))


def reliability(outcome: Outcome) -> list[Bin]:
    """Compare predicted and observed shares of edges, by their probability; bins with few events are left out."""
    off_diagonal = ~np.eye(outcome.truth.shape[1], dtype=bool)
    truth, predicted = outcome.truth[:, off_diagonal], outcome.predicted[:, off_diagonal]
    place = np.clip(np.digitize(predicted, BIN_EDGES) - 1, 0, len(BIN_EDGES) - 2)
    found = []
    for k, (low, high) in enumerate(itertools.pairwise(BIN_EDGES)):
        inside = place == k
        if (predicted * (1 - predicted) * inside).sum() >= LEAST_VARIANCE:
            count = int(inside.sum())
            surprise = ((truth - predicted) * inside).sum(axis=1)
            shares = predicted[inside].mean(), truth[inside].mean()
            found.append(Bin(low, high, count, *shares, np.sqrt((surprise**2).sum()) / count))
    return found


def rank_p_values(outcome: Outcome) -> list[float]:
    """Return the p-value of a χ² test of uniform ranks, for each statistic."""
    counts = (np.bincount(ranks, minlength=RANKED + 1) for ranks in outcome.ranks.T)
    return [float(stats.chisquare(each).pvalue) for each in counts]


def p_values(outcome: Outcome) -> dict[str, float]:
    """Return a p-value for each question; those about many edges or bins are corrected for their number."""

    def corrected(z: Sequence[float] | np.ndarray) -> float:
        return min(1.0, float(2 * stats.norm.sf(np.abs(z).max()) * len(z)))

    return {
        "all edges": corrected([overall_z(outcome)]),
        "each edge": corrected(edge_z(outcome)),
        "bins": corrected([each.z for each in reliability(outcome)]),
        **{f"rank, {name}": p for name, p in zip(STATISTICS, rank_p_values(outcome), strict=True)},
    }


def verdict(outcome: Outcome) -> float:
    """Return the smallest p-value, corrected for the number of questions."""
    found = p_values(outcome)
    return min(1.0, len(found) * min(found.values()))


# --- the benchmark ----------------------------------------------------------------------------------------------------


def right_case(kind: str, nodes: int, rows: int, h: float | None = None, method: str = "exact") -> Case:
    """Return the case in which the posterior supposes what is true."""
    odds: float | Beta = 1 / nodes if h is None else h
    truth: Normal | Classes = Normal() if kind == "bge" else Classes()
    if kind == "learned":
        truth, odds = Normal(extra=LEARNED_EXTRA), LEARNED_ODDS
    return Case(truth, odds, truth.score(nodes), odds, nodes, rows, method)


def twins(kind: str, right: Case) -> dict[str, Case]:
    """Return cases in which the posterior supposes something else; every one must fail."""
    inside = {key: value for key, value in vars(right).items() if key not in ("truth", "truth_h")}
    if isinstance(right.h, Beta):
        return {
            "odds the other way round": Case(right.truth, Beta(right.h.b, right.h.a), **inside),
            "noise variance × 10": Case(Normal(scale=10.0, extra=LEARNED_EXTRA), right.h, **inside),
        }
    others: dict[str, tuple[Normal | Classes, float]] = {
        "edges at twice the odds": (right.truth, 2 * right.h / (1 + right.h))
    }
    if kind == "bge":
        others["noise variance × 10"] = (Normal(scale=10.0), right.h)
        others["alpha_mu 0.1, not 1"] = (Normal(alpha_mu=0.1), right.h)
    else:
        others["ess 20, not 1"] = (Classes(ess=20.0), right.h)
    found = {name: Case(truth, h, **inside) for name, (truth, h) in others.items()}
    found["ignores the data"] = Case(right.truth, right.h, **{**inside, "score": None})
    return found


def show_reliability(console: Console, title: str, outcome: Outcome) -> None:
    table = Table("probability", "edges", "predicted", "observed", "error", "z", title=title)
    for each in reliability(outcome):
        row = f"{each.predicted:.4f}", f"{each.observed:.4f}", f"{each.error:.4f}", f"{each.z:+.1f}"
        table.add_row(f"{each.low:.2f} – {each.high:.2f}", str(each.edges), *row)
    console.print(table)
    z = edge_z(outcome)
    console.print(
        f"all edges together z = {overall_z(outcome):+.2f}; each edge: largest |z| {abs(z).max():.2f}, rms "
        f"{np.sqrt(np.mean(z**2)):.2f} of {len(z)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", choices=("bge", "bdeu", "learned"), default="bge")
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--h", type=float, help="odds weight of an edge; 1/n by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--methods", default="exact,sample")
    parser.add_argument("--no-twins", action="store_true")
    options = parser.parse_args()
    console = Console(width=80)
    headings = ["all edges", "each", "bins", "rank: edges", "assoc.", "verdict"]
    summary = Table("case", *headings, title="p-values, corrected for their number; twins must fail", padding=0)
    for method in options.methods.split(","):
        right = right_case(options.score, options.nodes, options.rows, options.h, method)
        cases = {f"right, {method}": right}
        if method == "exact" and not options.no_twins:
            cases |= twins(options.score, right)
        for name, case in cases.items():
            outcome = replicate(case, options.replications, options.seed, options.jobs)
            summary.add_row(name, *(f"{p:.1g}" for p in p_values(outcome).values()), f"{verdict(outcome):.1g}")
            if case is right:
                title = f"{options.score}, {method}: n={case.nodes}, N={case.rows}, {options.replications} replications"
                show_reliability(console, title, outcome)
    console.print(summary)


if __name__ == "__main__":
    main()
