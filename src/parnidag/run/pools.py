"""The executor that segments are sent to, and what to do when it breaks.

Three kinds: threads of this process, where chains are advanced in place; any other `concurrent.futures.Executor`; and
Dask, which keeps the work of a run for its workers itself. A function that makes executors lets a run go on when one
breaks.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Any, TypeAlias

from parnidag._cores import usable_cores
from parnidag.errors import ParnidagError
from parnidag.run.workers import (
    Segment,
    Work,
    as_is,
    packed,
    packed_chain,
    put_on_shelf,
    remote_segment,
    run_segment,
    take_off_shelf,
    unpacked,
)
from parnidag.samplers.base import Chain

Executors: TypeAlias = Executor | Callable[[], Executor] | Any
"""What users pass: an executor, a function that makes one, or a Dask client."""

HERE_SECONDS = 0.25
"""Aimed length of a segment in threads of this process: how long Ctrl-C and the progress display wait."""
AWAY_SECONDS = 1.0
"""The same elsewhere, where each segment travels: what a lost worker costs."""
MOST_FAILURES = 3
"""Failures in a row, without any segment between them, after which a run gives up."""
_LOST = ("KilledWorker", "CommClosedError", "FutureCancelledError", "LostWorkerError", "TerminatedWorkerError")
"""What clusters call a worker that is gone; by name, so that nothing of theirs need be imported."""


class PoolBrokenError(Exception):
    """No worker is left to go on with, and none can be made."""


class Pool:
    """Where segments run."""

    seconds = HERE_SECONDS
    in_place = True
    """Are chains advanced in place? Then a running segment must end before its chain is looked at."""

    def __init__(self, executor: Executor, work: Work) -> None:
        self.executor, self.work = executor, work
        self.failures = 0
        self.abandoned = False
        """Is there nobody left who wants the running segments?"""

    def submit(self, chain: Chain, steps: int, with_work: bool = False) -> Future[Any]:
        """Send a segment."""
        return self.executor.submit(run_segment, self.work, chain, steps)

    def result(self, future: Future[Any]) -> Segment | None:
        """Return a finished segment, None if it must be sent again with the work of the run."""
        segment: Segment = future.result()
        self.failures = 0
        return segment

    def recover(self, error: BaseException) -> str:
        """Get ready to send lost segments again and say what happened, or raise what cannot be mended."""
        if isinstance(error, ParnidagError) or not is_loss(error):
            raise error
        raise PoolBrokenError(_words(error)) from error

    def close(self) -> None:
        """Let go of what the pool itself made."""


class ThreadsPool(Pool):
    """Threads that this run makes for itself."""

    def __init__(self, work: Work, chains: int) -> None:
        threads = ThreadPoolExecutor(min(chains, usable_cores()), thread_name_prefix="parnidag")
        super().__init__(threads, work)

    def close(self) -> None:
        """End the threads; a running segment that someone wants ends first, others never begin."""
        self.executor.shutdown(wait=not self.abandoned, cancel_futures=True)


class AwayPool(Pool):
    """Any executor whose workers may be elsewhere."""

    seconds = AWAY_SECONDS
    in_place = False

    def __init__(self, executor: Executor | None, work: Work, factory: Callable[[], Executor] | None = None) -> None:
        self._factory = factory
        super().__init__(_made(factory) if executor is None else executor, work)
        self._key = secrets.token_hex(16)
        self._packed: bytes | None = None
        put_on_shelf(self._key, work)  # a pool that stays in this process needs nothing sent

    def submit(self, chain: Chain, steps: int, with_work: bool = False) -> Future[Any]:
        """Send a segment; the work of the run only to a worker that has asked for it."""
        if with_work and self._packed is None:
            self._packed = packed(self.work)
        return self._send(packed_chain(chain), steps, self._packed if with_work else None)

    def _send(self, chain: bytes, steps: int, work: Any) -> Future[Any]:
        return self.executor.submit(remote_segment, self._key, chain, steps, work)

    def result(self, future: Future[Any]) -> Segment | None:
        """Return a finished segment, None if the worker must be sent the work of the run."""
        segment = future.result()
        if segment is None:
            return None
        self.failures = 0
        return unpacked(segment, self.work)

    def recover(self, error: BaseException) -> str:
        """Send to the same executor again after a lost worker; a broken one is replaced if there is a way."""
        if isinstance(error, ParnidagError) or not is_loss(error):
            raise error
        self.failures += 1
        if self.failures > MOST_FAILURES:
            raise PoolBrokenError(f"{_words(error)}, {self.failures} times in a row") from error
        if not isinstance(error, BrokenExecutor):
            return f"a worker was lost ({_words(error)}); its segment is run again"
        self.replace(error)
        return f"the pool of workers broke ({_words(error)}) and was replaced; the chains go on from where they were"

    def replace(self, error: BaseException) -> None:
        """Make another executor in place of a broken one."""
        if self._factory is None:
            raise PoolBrokenError(_words(error)) from error
        end_workers(self.executor)
        self.executor = _made(self._factory)

    def close(self) -> None:
        """End an executor that was made here, without waiting for segments that nobody wants any more."""
        take_off_shelf(self._key)
        if self._factory is not None:
            end_workers(self.executor)


class DaskPool(AwayPool):
    """A Dask cluster. The work of the run is a task of its own there, whose result workers pass on among themselves."""

    def __init__(self, client: Any, work: Work, executor: Executor | None = None) -> None:
        super().__init__(client.get_executor(pure=False) if executor is None else executor, work)
        self._client = client
        self._shared: Any = None

    def _send(self, chain: bytes, steps: int, work: Any) -> Future[Any]:
        if self._shared is None:
            with warnings.catch_warnings():  # it is large on purpose, and sent once
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._shared = self._client.submit(as_is, packed(self.work), pure=False)
        return super()._send(chain, steps, self._shared)

    def replace(self, error: BaseException) -> None:
        """Ask the same cluster again: it makes new workers itself."""
        self._shared = None
        self.executor = self._client.get_executor(pure=False)

    def close(self) -> None:
        """Let go of the work of the run."""
        super().close()
        self._shared = None


def processes(count: int | None = None) -> Callable[[], Executor]:
    """Return a function that makes a pool of processes, for ``parnidag.sample(..., executor=parnidag.processes(4))``.

    Threads are as fast on one machine; processes are for scores in Python, which threads would have to take turns for.
    When a process dies, the run makes a new pool and goes on.

    Parameters
    ----------
    count
        Number of processes; one for each core by default.

    Examples
    --------
    >>> make = processes(2)
    >>> with make() as pool:
    ...     pool.submit(abs, -3).result()
    3
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ParnidagError(f"count must be a whole number, 1 or more, or None, got {count!r}")
    workers = usable_cores() if count is None else count
    return partial(ProcessPoolExecutor, workers, mp_context=get_context("spawn"), initializer=_live_with_parent)


def _live_with_parent() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the parent; but do not outlive it if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


def end_workers(executor: Executor) -> None:
    """End an executor at once: left to itself it would wait for its workers, or leave them behind."""
    processes_left = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes_left:
        process.terminate()


def is_loss(error: BaseException) -> bool:
    """Does the error say that a worker, or all of them, are gone, and not that the segment itself went wrong?"""
    names = {kind.__name__ for kind in type(error).__mro__}
    lost = isinstance(error, BrokenExecutor | CancelledError | ConnectionError | EOFError) or bool(names & set(_LOST))
    return lost or (isinstance(error, RuntimeError) and "after shutdown" in str(error))


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _made(factory: Callable[[], Executor] | None) -> Executor:
    assert factory is not None
    made = factory()
    if not hasattr(made, "submit"):
        raise ParnidagError(f"executor is a function that returned {made!r}, which is no concurrent.futures.Executor")
    return made


@contextmanager
def open_pool(executor: Executors | None, work: Work, chains: int) -> Iterator[Pool]:
    """Yield where the segments of a run go; an executor of the user's is left running."""
    pool = _pool_for(executor, work, chains)
    try:
        yield pool
    finally:
        pool.close()


def _pool_for(executor: Executors | None, work: Work, chains: int) -> Pool:
    if executor is None:
        return ThreadsPool(work, chains)
    if hasattr(executor, "get_executor"):
        return DaskPool(executor, work)
    if isinstance(executor, ThreadPoolExecutor):
        return Pool(executor, work)
    if not isinstance(executor, Executor) and not hasattr(executor, "submit"):
        return AwayPool(None, work, factory=executor)
    given: Any = executor
    client = getattr(given, "_client", None)
    return DaskPool(client, work, given) if hasattr(client, "get_executor") else AwayPool(given, work)
