"""Chains as pure segments: (chain, steps) → chain, on any executor.

A chain is a bundle of arrays and a segment a function of it alone, so the same seed gives the same draws bit for bit
however the run is cut up and wherever it runs. Between segments the run collects draws, takes edge counts at fixed
iterations, shows progress and notices Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from parnidag._cores import usable_cores
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency, codes_of_arcs
from parnidag.progress import ChainStatus, Progress
from parnidag.samplers.base import Chain, Sampler, new_chain
from parnidag.space.searchspace import SearchSpace
from parnidag.target import Target

SEGMENT_SECONDS = 0.25
"""Aimed length of a segment: how long Ctrl-C and the progress display wait."""
FIRST_SEGMENT = 256
BATCHES = 20
"""Edge counts are kept for this many equal parts of each chain; errors and R-hat are computed from them."""


@dataclass(frozen=True)
class Plan:
    """How long and how many: `tune` iterations that are not kept, then `draws` draws, one every `thin` iterations."""

    draws: int
    tune: int
    thin: int
    chains: int
    seed: int

    @property
    def total(self) -> int:
        """Iterations of one chain."""
        return self.tune + self.draws * self.thin

    def boundaries(self) -> list[int]:
        """Return the iterations at which edge counts are taken: the end of tuning and of each batch."""
        kept = self.draws * self.thin
        batches = BATCHES if kept >= 2 * BATCHES else min(kept, 2)
        return [self.tune + kept * k // batches for k in range(batches + 1)]


@dataclass
class ChainLog:
    """What the run has collected from one chain."""

    chain: Chain
    boundaries: list[int]
    codes: list[NDArray[np.int32]] = field(default_factory=list)
    ends: list[NDArray[np.int64]] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    batches: list[tuple[NDArray[np.int32], NDArray[np.int64], int]] = field(default_factory=list)
    """Edge codes, in how many iterations of the batch each was present, iterations of the batch."""
    at_tune_end: dict[str, float] | None = None
    cpu_seconds: float = 0.0
    rate: float = 0.0
    """Iterations a CPU second, by which segments are sized."""
    clock: tuple[float, int] | None = None
    """Wall time and iteration after the first segment, which includes compilation."""
    _counted: NDArray[np.int64] | None = None
    _counted_at: int = 0
    _codes_so_far: int = 0

    @property
    def draws(self) -> int:
        """Draws collected."""
        return sum(len(scores) for scores in self.scores)

    def wall_rate(self) -> float:
        """Return iterations a second of wall time: chains may have to share a core."""
        now = time.perf_counter()
        if self.clock is None:
            self.clock = (now, self.chain.iteration)
        since, iteration = self.clock
        return (self.chain.iteration - iteration) / (now - since) if now > since else 0.0

    @property
    def finished(self) -> bool:
        """Has the chain made all its iterations?"""
        return not self.boundaries

    def collect_draws(self) -> None:
        """Move buffered draws from the chain to the log."""
        trace = self.chain.trace
        count = int(trace.integers[2])
        if count == 0:
            return
        used = int(trace.draw_ends[count - 1])
        self.codes.append(codes_of_arcs(trace.draw_codes[:used], len(self.chain.graph.degree)))
        self.ends.append(trace.draw_ends[:count] + self._codes_so_far)
        self.scores.append(trace.draw_scores[:count].copy())
        self._codes_so_far += used
        trace.integers[2] = 0

    def pass_boundary(self, sampler: Sampler, thin: int) -> None:
        """Start drawing at the end of tuning; close a batch at every other boundary."""
        if self._counted is None:
            self._counted = self.chain.graph.visits.ravel().copy()
            self._counted_at = self.chain.iteration
            self.at_tune_end = sampler.totals(self.chain)
            self.chain.trace.integers[:2] = thin
        else:
            self.close_batch()
        self.boundaries.pop(0)

    def close_batch(self) -> None:
        """Note in how many iterations since the last boundary each edge was present."""
        if self._counted is None or self.chain.iteration == self._counted_at:
            return
        counts = self.chain.graph.visits.ravel()
        present = np.flatnonzero(counts != self._counted).astype(np.int32)
        length = self.chain.iteration - self._counted_at
        self.batches.append((present, counts[present] - self._counted[present], length))
        self._counted[present] = counts[present]
        self._counted_at = self.chain.iteration


def run_segment(sampler: Sampler, target: Target, chain: Chain, steps: int) -> tuple[Chain, int, float]:
    """Advance a chain; the one function that executors run. Returns the chain, the steps made and the CPU seconds."""
    start = time.thread_time()
    done = sampler.advance(target, chain, steps)
    target.check_score()
    return chain, done, time.thread_time() - start


class Run:
    """The chains of one call of `sample`, from their first to their last segment."""

    def __init__(
        self,
        target: Target,
        sampler: Sampler,
        plan: Plan,
        starts: list[Adjacency] | None,
        space: SearchSpace | None = None,
    ) -> None:
        self.target, self.sampler, self.plan = target, sampler, plan
        self.starts, self.space = starts, space
        self.space_given = space is not None
        self.searched = starts is None and sampler.default_space != "none"
        """Does every chain start where a search of its own ends?"""
        self.caveats: list[str] = []
        self.found: SearchSpace | None = None
        """What the sampler's own search found, if it is one."""
        self.logs: list[ChainLog] = []
        self.timings: dict[str, float] = {}
        self.interrupted = False

    def prepare(self, progress: Progress) -> None:
        """Do what all chains share, find where they start, then set up each chain."""
        stages = partial(self.stage, progress)
        seed = self.plan.seed
        considered = None if self.space is None else self.space.considered
        wanted = self.plan.chains if self.starts is None else 0
        prepared = self.sampler.prepare(
            self.target, considered, seed, stages, chains=wanted, given=self.space_given or self.space is None
        )
        self.target.check_score()
        self.found = prepared.space
        self.space = prepared.space or self.space
        self.caveats = self.sampler.caveats(prepared)
        if self.starts is None:
            assert prepared.starts is not None
            self.starts = prepared.starts
        with self._timed("set-up of chains"):
            for index, graph in enumerate(self.starts):
                chain = new_chain(self.target, graph, seed, index)
                if not np.isfinite(chain.log_posterior):
                    self.target.check_score()
                    raise ParnidagError(
                        f"the log posterior of the graph that chain {index} starts from is {chain.log_posterior}: "
                        "the score or the prior rules it out; start= can give another one"
                    )
                self.sampler.begin(self.target, prepared, chain, self.plan.tune)
                self.logs.append(ChainLog(chain, self.plan.boundaries()))
                self._pass_boundaries(self.logs[-1])

    @contextmanager
    def stage(self, progress: Progress, name: str) -> Iterator[None]:
        """Announce and time a stage of the set-up."""
        progress.stage(name)
        with self._timed(name):
            yield

    def execute(self, executor: Executor | None, progress: Progress) -> None:
        """Run all chains to the end, or until Ctrl-C."""
        with self._timed("sampling"), _worker_pool(executor, len(self.logs)) as pool:
            progress.stage("compiling, or loading compiled code")
            with self._interruptible():
                waiting = {self._submit(pool, log): log for log in self.logs if not log.finished}
                while waiting and not self.interrupted:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        log = waiting.pop(future)
                        self._absorb(log, future)
                        progress.update(self._status(log))
                        if not log.finished:
                            waiting[self._submit(pool, log)] = log
                if self.interrupted:
                    progress.note("stopping: the running segments end first")
                    self._stop(waiting)

    def _submit(self, pool: Executor, log: ChainLog) -> Future[tuple[Chain, int, float]]:
        steps = max(FIRST_SEGMENT, int(log.rate * SEGMENT_SECONDS))
        steps = min(steps, log.boundaries[0] - log.chain.iteration)
        return pool.submit(run_segment, self.sampler, self.target, log.chain, steps)

    def _absorb(self, log: ChainLog, future: Future[tuple[Chain, int, float]]) -> None:
        log.chain, done, seconds = future.result()
        # The first segment, a short one, may include compilation, which says nothing about the speed of the chain.
        log.cpu_seconds += seconds if log.rate > 0.0 else 0.0
        log.rate = min(done / max(seconds, 1e-6), 4.0 * log.rate + FIRST_SEGMENT / SEGMENT_SECONDS)
        log.collect_draws()
        self._pass_boundaries(log)

    def _pass_boundaries(self, log: ChainLog) -> None:
        while log.boundaries and log.chain.iteration == log.boundaries[0]:
            log.pass_boundary(self.sampler, self.plan.thin)

    def _stop(self, waiting: dict[Future[tuple[Chain, int, float]], ChainLog]) -> None:
        """Let the running segments end and keep what they made."""
        for future in waiting:
            future.cancel()
        for future, log in waiting.items():
            if not future.cancelled():
                self._absorb(log, future)
        for log in self.logs:
            log.close_batch()
        if min(log.draws for log in self.logs) == 0:
            raise KeyboardInterrupt("stopped before every chain had a draw, so there is nothing to return")

    def _status(self, log: ChainLog) -> ChainStatus:
        totals = self.sampler.totals(log.chain)
        since = log.at_tune_end or {}
        tried = totals["tried"] - since.get("tried", 0.0)
        accepted = totals["accepted"] - since.get("accepted", 0.0)
        stage = "done" if log.finished else "tuning" if log.at_tune_end is None else "drawing"
        return ChainStatus(
            chain=log.chain.index,
            stage=stage,
            iteration=log.chain.iteration,
            total=self.plan.total,
            iterations_per_second=log.wall_rate(),
            log_posterior=log.chain.log_posterior,
            acceptance=accepted / tried if tried else 0.0,
            omega=self.sampler.gauges(log.chain).get("omega"),
            edges=log.chain.edge_count,
        )

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C ask for an end at the next safe place; a second one ends at once.

        Only the main thread can do this; elsewhere an interruption is the caller's affair.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(signal_number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = self.timings.get(stage, 0.0) + time.perf_counter() - start


@contextmanager
def _worker_pool(executor: Executor | None, chains: int) -> Iterator[Executor]:
    """Yield the user's executor, or threads: kernels release the GIL."""
    if executor is not None:
        yield executor
        return
    with ThreadPoolExecutor(min(chains, usable_cores()), thread_name_prefix="parnidag") as pool:
        yield pool
