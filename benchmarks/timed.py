"""One chain of any sampler under a budget of CPU seconds, set-up included.

The clock is the CPU time of the process, as in the paper. What is not charged: importing and compiling (each process
does that once, on a problem of its own, before the clock starts), and the pilot that finds how many iterations of
tuning fit, which a user would give as a number.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.chains import SetUp, Walk, tuning_length, warm_up
from benchmarks.problems import Problem
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.declare import named
from parnidag.samplers.base import Asked, Prepared, Sampler, new_chain
from parnidag.samplers.parni.start import best_of
from parnidag.space.default import default_skeleton, grown
from parnidag.space.expansion import expand
from parnidag.space.pc import pc

Space = Literal["own", "none", "all", "pc", "iterative"]
"""Where parents are looked for: what the sampler takes by default, nowhere in particular, everywhere, the PC skeleton,
or that skeleton after iterative expansion."""
TRACE_POINTS = 400
PC_ALPHA = 0.05


@dataclass(frozen=True)
class TimedChain:
    """What is kept of a chain."""

    marks: np.ndarray
    """CPU seconds."""
    probabilities: np.ndarray
    """Of the edges after tuning, at each mark (mark × parent × child); nan at those that passed while tuning."""
    best: np.ndarray
    """The best graph (parent × child)."""
    best_score: float
    trace: np.ndarray
    """CPU seconds, iterations and log posterior (3 × points), from the beginning on."""
    iterations: int
    set_up_seconds: float
    seconds: float


@functools.cache
def warmed_up(sampler: Sampler) -> None:
    """Compile, or load compiled code, once in each process."""
    warm_up([sampler])


def considered_parents(problem: Problem, space: Space, sampler: Sampler, seed: int, alpha: float) -> Adjacency | None:
    """Return the candidate parents that a chain is given (parent × child)."""
    if space == "none" or (space == "own" and sampler.default_space == "none"):
        return None
    if space == "all":
        return ~np.eye(problem.data.n_nodes, dtype=bool)
    if space == "own":
        found = default_skeleton(problem.data, problem.target)
        return (grown(problem.target, found, seed) if sampler.default_space == "grown" else found).considered
    skeleton = pc(problem.data, alpha).adjacency
    return skeleton if space == "pc" else expand(problem.target, skeleton, seed=seed).considered


def timed_chain(
    problem: Problem,
    sampler: Sampler,
    seconds: float,
    seed: int,
    *,
    space: Space = "own",
    search: bool = True,
    marks: Sequence[float] = (),
    alpha: float = PC_ALPHA,
    set_up_is_free: bool = False,
) -> TimedChain:
    """Run one chain; `search` lets the sampler look for its start, else it begins without edges.

    `marks` are CPU seconds at which the edge probabilities so far are noted; the end is always one. A free set-up is
    for questions about the posterior, not about the time it takes.
    """
    warmed_up(sampler)
    target, began = problem.target, time.process_time()
    considered = considered_parents(problem, space, sampler, seed, alpha)
    prepared = sampler.prepare(target, Asked(considered, seed, chains=int(search), given=space != "own"))
    start = (prepared.starts or [target.required])[0]
    set_up = time.process_time() - began
    seconds += set_up if set_up_is_free else 0.0
    tune, rate = tuning_length(problem, sampler, SetUp(prepared, [start], set_up), max(seconds - set_up, 0.01), seed)
    chain = new_chain(target, start, seed, 0)
    began = time.process_time()
    sampler.begin(target, prepared, chain, tune)
    walk = Walk(sampler, problem, chain, rate, set_up + time.process_time() - began)
    return _follow(walk, tune, [*(mark for mark in marks if mark < seconds), seconds], set_up, prepared)


def _follow(walk: Walk, tune: int, marks: Sequence[float], set_up: float, prepared: Prepared) -> TimedChain:
    """Run to the last mark, noting edge probabilities at each."""
    chain, points = walk.chain, [(walk.used, 0, walk.chain.log_posterior)]
    while chain.iteration < tune:
        walk.segment(tune - chain.iteration)
        points.append((walk.used, chain.iteration, chain.log_posterior))
    before, first = chain.graph.visits.copy(), chain.iteration
    seen = []
    for mark in marks:
        if mark < walk.used and mark != marks[-1]:
            seen.append(np.full_like(before, np.nan, dtype=float))
            continue
        while walk.used < mark or chain.iteration == first:
            walk.segment()
            points.append((walk.used, chain.iteration, chain.log_posterior))
        seen.append((chain.graph.visits - before) / (chain.iteration - first))
    best, score = best_graph(walk, prepared)
    return TimedChain(
        marks=np.array(marks),
        probabilities=np.array(seen),
        best=best,
        best_score=score,
        trace=_thinned(np.array(points).T),
        iterations=chain.iteration,
        set_up_seconds=set_up,
        seconds=walk.used,
    )


def best_graph(walk: Walk, prepared: Prepared) -> tuple[Adjacency, float]:
    """Return the best graph that a chain, or its sampler's own expansion of the space, has met, and its score."""
    score, space = float(named(walk.chain.recorder).best_score), prepared.space
    if space is not None and space.best is not None and (space.log_posterior or -np.inf) > score:
        return space.best, float(space.log_posterior or -np.inf)
    return best_of(walk.target, walk.chain), score


def _thinned(points: np.ndarray) -> np.ndarray:
    """Keep points at equal steps of the logarithm of time: chains climb early."""
    wanted = np.geomspace(max(points[0, 0], 1e-3), points[0, -1], TRACE_POINTS)
    return points[:, np.unique(np.minimum(np.searchsorted(points[0], wanted), points.shape[1] - 1))]
