"""Chains under a clock: set up as `parnidag.sample` sets them up, run for so many CPU seconds, and watched.

Any sampler goes through the one contract of `samplers.base`. Times are CPU seconds: those of the set-up count all
threads of the process, which must do nothing else meanwhile; those of a chain count its own thread.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from benchmarks.problems import Problem, simulated
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.declare import named
from parnidag.run.setup import found_space
from parnidag.samplers import PARNI
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler, new_chain
from parnidag.samplers.levels import advance_on_levels

STARTS = {
    "found": "where sample() starts PARNI; samplers without a search of their own (ADR, MC3) get the same graphs",
    "empty": "no edges, the search space as found: sample(start='empty')",
    "bare": "no edges and no search space, for samplers that can do without",
}
SEGMENT_SECONDS = 0.005
"""Aimed length of a segment, after which the best score is read."""
BATCHES = 20
FIRST_RATE, MOST_GROWTH = 10_000.0, 2.0
"""Iterations a second until there is a measurement, and the most by which one segment may change the rate."""
PILOT_SHARE, SHORTEST_PILOT, LONGEST_PILOT = 0.1, 0.05, 0.5
"""CPU seconds of the chain whose rate decides the length of tuning, as a share of a chain's and in seconds."""
TUNING_SHARE = 0.2
"""Of a chain's time, as by default."""
LONG_TUNING = 10**9
PILOT_SEED = 1_000_000
"""Keeps the random numbers of pilots apart from those of chains."""

Climb = list[tuple[float, float]]
"""(CPU seconds, best log posterior so far) at every improvement that was noticed."""


@dataclass(frozen=True)
class SetUp:
    """What a cell's chains share, where they start, and what that cost."""

    prepared: Prepared
    starts: list[Adjacency]
    seconds: float
    """CPU seconds of the set-up of all chains together; nearly all of it is spent on searches chain by chain."""

    def seconds_of_one(self) -> float:
        """Return the CPU seconds behind the start of one chain."""
        return self.seconds / len(self.starts)


@dataclass(frozen=True)
class ChainRun:
    """What is kept of one chain."""

    climb: Climb
    mean_score: float
    """Mean log posterior at the ends of segments after tuning."""
    counts: np.ndarray
    """In how many iterations of each batch each edge was present (batch × parent · n + child)."""
    lengths: np.ndarray
    """Iterations of each batch."""
    totals: dict[str, float]
    """The sampler's counters, from the end of tuning on."""
    tune_seconds: float
    kept_seconds: float


class Walk:
    """One chain on its way, with its clock."""

    def __init__(self, sampler: Sampler, problem: Problem, chain: Chain, rate: float, used: float = 0.0) -> None:
        self.sampler, self.target, self.chain, self.rate = sampler, problem.target, chain, rate
        self.used = used
        self.climb: Climb = [(used, chain.log_posterior)]

    def segment(self, most: int = LONG_TUNING) -> None:
        """Advance by about `SEGMENT_SECONDS`, at most by so many iterations."""
        steps = max(1, min(most, int(self.rate * SEGMENT_SECONDS)))
        start = time.thread_time()
        done = advance_on_levels(self.sampler, self.target, self.chain, steps)
        taken = max(time.thread_time() - start, 1e-7)
        self.used += taken
        self.rate = float(np.clip(done / taken, self.rate / MOST_GROWTH, self.rate * MOST_GROWTH))
        best = float(named(self.chain.recorder).best_score)
        if best > self.climb[-1][1]:
            self.climb.append((self.used, best))

    def until(self, seconds: float) -> list[float]:
        """Advance until the clock says so; return the log posterior at the end of each segment."""
        scores = []
        while self.used < seconds:
            self.segment()
            scores.append(self.chain.log_posterior)
        return scores

    def run(self, tune: int, seconds: float) -> ChainRun:
        """Tune for so many iterations, then keep what is seen in so many seconds."""
        chain = self.chain
        while chain.iteration < tune:
            self.segment(tune - chain.iteration)
        tuned, totals, scores = self.used, self.sampler.totals(chain), list[float]()
        visits, iterations = [chain.graph.visits.ravel().copy()], [chain.iteration]
        for batch in range(BATCHES):
            scores += self.until(tuned + seconds * (batch + 1) / BATCHES)
            visits.append(chain.graph.visits.ravel().copy())
            iterations.append(chain.iteration)
        return ChainRun(
            climb=self.climb,
            mean_score=float(np.mean(scores)),
            counts=np.diff(visits, axis=0),
            lengths=np.diff(iterations),
            totals={name: value - totals.get(name, 0.0) for name, value in self.sampler.totals(chain).items()},
            tune_seconds=tuned,
            kept_seconds=self.used - tuned,
        )


def set_up(problem: Problem, sampler: Sampler, start: str, chains: int, seed: int) -> SetUp:
    """Do what `sample` does before the first iteration; `start` is one of `STARTS`."""
    target, began = problem.target, time.process_time()
    finder = PARNI() if start == "found" and sampler.default_space == "none" else sampler
    considered = None
    if start != "bare":
        space = found_space(problem.data, target, finder, seed, nullcontext)
        considered = None if space is None else space.considered
    searches = chains if start == "found" else 0
    found = finder.prepare(target, Asked(considered, seed, chains=searches, given=considered is None))
    prepared = found if finder is sampler else sampler.prepare(target, Asked())
    return SetUp(prepared, found.starts or [target.required] * chains, time.process_time() - began)


def tuning_length(problem: Problem, sampler: Sampler, ready: SetUp, seconds: float, seed: int) -> tuple[int, float]:
    """Return the iterations that fill the time of tuning, by a short pilot, and its iterations a second."""
    chain = new_chain(problem.target, ready.starts[0], PILOT_SEED + seed, 0)
    sampler.begin(problem.target, ready.prepared, chain, LONG_TUNING)
    pilot = Walk(sampler, problem, chain, FIRST_RATE)
    pilot.until(min(max(PILOT_SHARE * seconds, SHORTEST_PILOT), LONGEST_PILOT))
    return max(1, int(chain.iteration / pilot.used * seconds * TUNING_SHARE)), pilot.rate


def run_chains(
    problem: Problem, sampler: Sampler, start: str, chains: int, seconds: float, seed: int, jobs: int
) -> tuple[SetUp, list[ChainRun]]:
    """Set up and run a cell's chains; `seconds` are for each chain."""
    ready = set_up(problem, sampler, start, chains, seed)
    tune, rate = tuning_length(problem, sampler, ready, seconds, seed)

    def run_one(index: int) -> ChainRun:
        began = time.thread_time()
        chain = new_chain(problem.target, ready.starts[index], seed, index)
        sampler.begin(problem.target, ready.prepared, chain, tune)
        walk = Walk(sampler, problem, chain, rate, time.thread_time() - began)
        return walk.run(tune, seconds * (1.0 - TUNING_SHARE))

    with ThreadPoolExecutor(jobs) as pool:  # compiled code runs side by side
        return ready, list(pool.map(run_one, range(chains)))


def warm_up(samplers: list[Sampler]) -> None:
    """Compile, or load compiled code, on a problem just large enough for every stage of the set-up."""
    problem = simulated("warm-up", nodes=14, edges=20, rows=100)
    for sampler in samplers:
        run_chains(problem, sampler, "found", chains=2, seconds=0.02, seed=1, jobs=1)
