"""How well the chains of one cell (problem, sampler, start, replicate) mixed, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

import parnidag
from benchmarks.chains import ChainRun, Climb, run_chains
from benchmarks.problems import Problem
from parnidag.results.convergence import chain_probabilities, edge_disagreement, edge_ess, edge_mcse
from parnidag.samplers.base import Sampler

REACHED = 1e-6
"""A chain has reached the best score known when it is this close to it."""
OPEN_EDGES = (0.05, 0.95)
"""Edges with a probability in between are asked for their effective draws."""
SLOWEST = 10
"""The median of so many slowest edges stands for them: the very slowest alone is mostly noise."""
MOST_EXACT_NODES = 14


@dataclass(frozen=True)
class Cell:
    """The figures of one cell; the climbs are kept, since the best score known may still rise."""

    problem: str
    data_set: int
    variant: str
    start: str
    replicate: int
    climbs: list[Climb] = field(repr=False)
    """Of each chain, in CPU seconds from the beginning of its set-up."""
    figures: dict[str, float | str]

    @property
    def best(self) -> float:
        """Best log posterior of any chain."""
        return max(climb[-1][1] for climb in self.climbs)

    def times_to(self, score: float) -> list[float]:
        """Return when each chain reached a score; infinity if it never did."""
        return [next((when for when, top in climb if top >= score - REACHED), math.inf) for climb in self.climbs]

    def row(self, best_known: float) -> dict[str, float | str]:
        """Return everything as one line of a table."""
        times = self.times_to(best_known)
        return {
            "problem": self.problem,
            "data_set": self.data_set,
            "variant": self.variant,
            "start": self.start,
            "replicate": self.replicate,
            "best_known": best_known,
            "best": self.best,
            "seconds_to_best": float(np.median(times)),
            "reached_best": sum(map(math.isfinite, times)),
            **self.figures,
        }


class BestKnown(dict[tuple[str, int], float]):
    """The best score seen of each problem and data set, by any sampler from any start."""

    def learn(self, problem: str, data_set: int, score: float) -> None:
        """Take note of a score."""
        self[problem, data_set] = max(score, self.get((problem, data_set), -math.inf))

    def rows(self, cells: list[Cell]) -> list[dict[str, float | str]]:
        """Return the lines of all cells, judged by what is known now."""
        for cell in cells:
            self.learn(cell.problem, cell.data_set, cell.best)
        return [cell.row(self[cell.problem, cell.data_set]) for cell in cells]


class Referee:
    """Exact edge probabilities of problems that are small enough, each computed once."""

    def __init__(self, most_nodes: int = MOST_EXACT_NODES) -> None:
        self.most_nodes = most_nodes
        self._known: dict[tuple[str, int], np.ndarray] = {}

    def errors(self, problem: Problem, chains: np.ndarray) -> list[float]:
        """Return the mean squared error of each chain over all n² positions; nothing for too many nodes."""
        if problem.data.n_nodes > self.most_nodes:
            return []
        key = problem.name, problem.data_set
        if key not in self._known:
            self._known[key] = parnidag.exact(problem.data).edge_probabilities.to_numpy().ravel()
        return [float(np.mean((chain - self._known[key]) ** 2)) for chain in chains]


def measure(
    problem: Problem,
    variant: str,
    sampler: Sampler,
    start: str,
    replicate: int,
    *,
    chains: int,
    seconds: float,
    jobs: int,
    referee: Referee,
) -> Cell:
    """Run one cell and return its figures."""
    ready, runs = run_chains(problem, sampler, start, chains, seconds, replicate, jobs)
    before = ready.seconds_of_one()
    climbs = [[(before + when, score) for when, score in run.climb] for run in runs]
    scores = [run.mean_score for run in runs]
    figures: dict[str, float | str] = {
        "chains": chains,
        "seconds": seconds,
        "setup_seconds": ready.seconds,
        "tune_seconds": float(np.median([run.tune_seconds for run in runs])),
        "iterations_per_second": float(np.median([run.lengths.sum() / run.kept_seconds for run in runs])),
        "mean_score_lowest": min(scores),
        "mean_score_highest": max(scores),
        **edge_figures(problem, runs, referee),
        "acceptance": acceptance(runs),
        "move_acceptance": "; ".join(f"{move} {share:.3g}" for move, share in move_acceptances(runs).items()),
    }
    return Cell(problem.name, problem.data_set, variant, start, replicate, climbs, figures)


def edge_figures(problem: Problem, runs: list[ChainRun], referee: Referee) -> dict[str, float | str]:
    """Return how far chains disagree, effective draws a CPU second of the slowest edges, and errors if known."""
    counts, lengths = np.array([run.counts for run in runs]), np.array([run.lengths for run in runs])
    found = chain_probabilities(counts, lengths)
    spread, rms = edge_disagreement(found, problem.data.n_nodes)
    pooled = found.mean(axis=0)
    is_open = (pooled > OPEN_EDGES[0]) & (pooled < OPEN_EDGES[1])
    effective = edge_ess(pooled, edge_mcse(counts, lengths), int(lengths.sum()))[is_open]
    slowest = np.sort(effective)[:SLOWEST] / sum(run.kept_seconds for run in runs)
    errors = referee.errors(problem, found)
    alone = len(runs) < 2
    return {
        "disagreement_max": math.nan if alone else float(spread.max()),
        "disagreement_rms": math.nan if alone else rms,
        "open_edges": int(is_open.sum()),
        "ess_per_second_least": float(slowest[0]) if slowest.size else math.nan,
        "ess_per_second_slow": float(np.median(slowest)) if slowest.size else math.nan,
        "mse_median": float(np.median(errors)) if errors else math.nan,
        "mse_lowest": min(errors, default=math.nan),
        "mse_highest": max(errors, default=math.nan),
    }


def acceptance(runs: list[ChainRun]) -> float:
    """Return the share of tries after tuning that changed the graph, by the sampler's own count of tries."""
    tried = sum(run.totals["tried"] for run in runs)
    return sum(run.totals["accepted"] for run in runs) / tried if tried else math.nan


def move_acceptances(runs: list[ChainRun]) -> dict[str, float]:
    """Return the same for each kind of move that the sampler counts apart."""
    together: dict[str, float] = {}
    for name, value in (item for run in runs for item in run.totals.items()):
        together[name] = together.get(name, 0.0) + value
    moves = [name.removesuffix("_tried") for name, tried in together.items() if name.endswith("_tried") and tried > 0]
    return {move: together[f"{move}_accepted"] / together[f"{move}_tried"] for move in moves}
