"""The run itself: chains as pure segments, (chain, steps) → chain, on any executor.

A chain is a bundle of arrays and a segment a function of it alone, so the same seed gives the same draws bit for bit
however the run is cut up and wherever it runs. Between segments the run collects draws, takes edge counts at fixed
iterations, shows progress, writes checkpoints and notices Ctrl-C.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from parnidag._util.cores import POLL_SECONDS
from parnidag.errors import TerminatedError, WorkersLostError
from parnidag.run.chain_log import ChainLog
from parnidag.run.checkpoint import Checkpointer
from parnidag.run.draws import DrawStore
from parnidag.run.plan import Plan
from parnidag.run.pools import Executors, Pool, PoolBrokenError, is_end, open_pool
from parnidag.run.progress import ChainStatus, Progress
from parnidag.run.setup import Setup
from parnidag.run.signals import Stopping, catching_signals
from parnidag.run.workers import Segment, Work, here

PATIENCE_SECONDS = 1.0
"""How long a run that is to stop waits for segments elsewhere."""
SILENCE_SECONDS = 60.0
"""After this long without a word from any worker, the run says that it is waiting."""

Waiting = dict[Future[Any], tuple[ChainLog, int]]
"""Segments under way: whose they are and how many steps they have."""


class Run:
    """The chains of one call of `sample`, from their first to their last segment."""

    def __init__(
        self,
        setup: Setup,
        plan: Plan,
        logs: list[ChainLog],
        store: DrawStore,
        checkpointer: Checkpointer | None,
        timings: dict[str, float],
    ) -> None:
        self.setup, self.plan, self.logs, self.store, self.timings = setup, plan, logs, store, timings
        self.target, self.sampler = setup.target, setup.sampler
        self.stopped: str | None = None
        """Why the run ended early: the name of a signal, or what happened to the workers; None if it did not."""
        self.checkpointer = checkpointer
        self._progress = Progress()
        self._abandoned = False
        """Are segments still running that nobody waits for? Then chains must not be looked at."""
        if checkpointer is not None:
            for log in logs:
                checkpointer.keep(log)

    @property
    def interrupted(self) -> bool:
        return self.stopped is not None

    def draws(self) -> int:
        """Return how many draws every chain has."""
        return min(self.store.count(chain) for chain in range(self.plan.chains))

    def execute(self, executor: Executors | None, progress: Progress) -> None:
        """Run all chains to the end, or until Ctrl-C, SIGTERM or the loss of all workers."""
        prepared = replace(self.setup.prepared, starts=None, space=None)  # workers have no use for these
        work = Work(self.sampler, self.target, prepared, self.plan.tune, here())
        self._progress = progress
        with timed(self.timings, "sampling"), catching_signals() as stopping:
            self._progress.stage("compiling, or loading compiled code")
            with open_pool(executor, work, len(self.logs)) as pool:
                self._run_all(pool, stopping)
            if all(log.finished for log in self.logs):
                self.stopped = None  # the signal came too late to change anything
            self._last_checkpoint()
        if self.interrupted:
            if self.draws() == 0:
                self._raise_that_nothing_is_left()
            for log in self.logs:
                log.close_batch()

    def _run_all(self, pool: Pool, stopping: Stopping) -> None:
        waiting: Waiting = {}
        heard = time.monotonic()
        try:
            for log in self.logs:
                if not log.finished:
                    self._send(pool, log, waiting)
            while waiting and stopping.by is None:
                finished, _ = wait(waiting, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                if finished:
                    heard = time.monotonic()
                    self._receive(pool, finished, waiting, stopping)
                elif not pool.in_place and time.monotonic() - heard > SILENCE_SECONDS:
                    heard = time.monotonic()
                    self._progress.note(
                        f"no word from any worker for {SILENCE_SECONDS:.0f} s; Ctrl-C keeps what there is"
                    )
        except PoolBrokenError as error:
            self.stopped = f"the pool of workers broke: {error}"
            self._progress.note(self.stopped)
            self._stop(pool, waiting)
        if stopping.by is not None:
            self.stopped = stopping.by
            self._progress.note("stopping: the running segments end first")
            self._stop(pool, waiting)

    def _send(self, pool: Pool, log: ChainLog, waiting: Waiting, steps: int | None = None) -> None:
        """Send the next segment of a chain; with `steps` it is one that a worker could not run without the work."""
        with_work = steps is not None
        steps = log.next_steps(pool.seconds) if steps is None else steps
        try:
            waiting[pool.submit(log.chain, steps, with_work)] = (log, steps)
        except Exception as error:  # a pool may be found broken only when it is asked for something
            self._send_again(pool, error, [log], waiting)

    def _send_again(self, pool: Pool, error: BaseException, lost: list[ChainLog], waiting: Waiting) -> None:
        """Go on after a loss, or raise; what a broken executor was doing will never come back: that is lost too."""
        broken = is_end(error)
        if broken:
            lost = lost + [log for log, _ in waiting.values()]
        self._progress.note(pool.recover(error, [log.chain.index for log in lost]))
        if broken:
            waiting.clear()
        for log in lost:
            self._send(pool, log, waiting)

    def _receive(self, pool: Pool, finished: set[Future[Any]], waiting: Waiting, stopping: Stopping) -> None:
        for future in finished:
            if future not in waiting:
                continue
            log, steps = waiting.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, KeyboardInterrupt):  # a terminal sends Ctrl-C to workers too
                stopping.by = stopping.by or "SIGINT"
            elif error is not None:
                if stopping.by is None:
                    self._send_again(pool, error, [log], waiting)
            elif (segment := pool.result(future)) is None:
                self._send(pool, log, waiting, steps)
            else:
                self._absorb(log, segment, pool.seconds)
                self._progress.update(self._status(log))
                if self.checkpointer is not None:
                    self.checkpointer.see(log, len(waiting) + 1)
                if not log.finished:
                    self._send(pool, log, waiting)

    def _absorb(self, log: ChainLog, segment: Segment, aim: float) -> None:
        tuning = log.at_tune_end is None
        log.chain = segment.chain
        log.note_speed(segment.done, segment.seconds, aim)
        if segment.draws is not None:
            self.store.append(log.chain.index, segment.draws)
        log.pass_boundaries(self.sampler, self.plan.thin)
        if tuning and log.at_tune_end is not None and self.checkpointer is not None:
            self.checkpointer.ask()

    def _stop(self, pool: Pool, waiting: Waiting) -> None:
        """Let the running segments end and keep what they made; elsewhere only those that come back soon."""
        if not pool.in_place:  # futures of clusters can always be cancelled, even those whose results are on their way
            wait(waiting, timeout=PATIENCE_SECONDS)
        for future in waiting:
            future.cancel()
        left = {future: log for future, (log, _) in waiting.items() if not future.cancelled()}
        waiting.clear()
        late = wait(left, timeout=PATIENCE_SECONDS if pool.in_place else 0.0).not_done
        if late and pool.in_place:
            if self.draws() == 0:  # most likely they are still compiling, and there is nothing to keep
                pool.abandoned = self._abandoned = True
                return
            wait(late)
        for future, log in left.items():
            self._take_last(pool, future, log)

    def _take_last(self, pool: Pool, future: Future[Any], log: ChainLog) -> None:
        """Keep a segment that ended while the run was stopping, if it came back whole."""
        try:
            segment = pool.result(future) if future.done() else None
        except BaseException:
            if pool.in_place:  # its chain was changed and is of no use now
                raise
        else:
            if segment is not None:
                self._absorb(log, segment, pool.seconds)

    def _last_checkpoint(self) -> None:
        """Write where all chains stand, if none of them runs any more."""
        if self.checkpointer is None or self._abandoned:
            return
        for log in self.logs:
            self.checkpointer.keep(log)
        self.checkpointer.write()

    def _raise_that_nothing_is_left(self) -> None:
        where = ""
        if self.checkpointer is not None and self.checkpointer.written:
            where = f"; the checkpoint {self.checkpointer.file.path} knows where the chains stand"
        nothing = f"stopped before every chain had a draw, so there is nothing to return{where}"
        if self.stopped == "SIGINT":
            raise KeyboardInterrupt(nothing)
        if self.stopped == "SIGTERM":
            raise TerminatedError(nothing)
        raise WorkersLostError(f"{self.stopped}; {nothing}")

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
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - start
