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
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Any, TypeAlias

from parnidag._util.checks import whole
from parnidag._util.cores import usable_cores
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.run.workers import (
    WORKS,
    Failure,
    Segment,
    Work,
    keep_work,
    local_segment,
    packed_chain,
    remote_segment,
    unpacked,
)
from parnidag.samplers.base import Chain

Executors: TypeAlias = Executor | Callable[[], Executor] | Any
"""What users pass: an executor, a function that makes one, or a Dask client."""

HERE_SECONDS = 0.25
"""Aimed length of a segment in threads of this process: how long Ctrl-C and the progress display wait."""
AWAY_SECONDS = 1.0
"""The same elsewhere, where each segment travels: what a lost worker costs."""
BYTES_PER_SECOND = 5e5
"""Heavier chains are away for longer, so that most of the time they are worked on and not carried about."""
MOST_PROCESSES = 61
"""Windows cannot wait for more."""
MOST_FAILURES = 3
"""Losses of one chain in a row, without a segment of it between them, after which a run gives up."""
HINT = '; workers import the script that starts them, so sample must be called below if __name__ == "__main__":'
"""What most often keeps workers from starting at all."""
_LOST = ("KilledWorker", "CommClosedError", "NoWorkerError")
_GONE = ("ClosedClientError",)
"""What clusters call a worker that is gone, and all of them; by name, so that nothing of theirs need be imported."""


class PoolBrokenError(Exception):
    """No worker is left to go on with, and none can be made."""


class Pool:
    """Threads of this process: this run's own, or those of an executor that it is given."""

    seconds = HERE_SECONDS
    in_place = True
    """Are chains advanced in place? Then a running segment must end before its chain is looked at."""

    def __init__(self, executor: Executor, work: Work, own: bool = False) -> None:
        self.executor, self.work, self._own = executor, work, own
        self.abandoned = False
        """Is there nobody left who wants the running segments?"""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.abandoned = True  # a second Ctrl-C: nobody wants the running segments
        self.close()

    def submit(self, chain: Chain, steps: int, with_work: bool = False) -> Future[Any]:
        return self.executor.submit(local_segment, self.work, chain, steps)

    def result(self, future: Future[Any]) -> Segment | None:
        """Return a finished segment, None if it must be sent again with the work; raise what the segment raised."""
        outcome = future.result()
        if isinstance(outcome, Failure):
            raise outcome.error
        segment: Segment | None = self._received(outcome)
        return segment

    def _received(self, outcome: Any) -> Any:
        return outcome

    def recover(self, error: BaseException, lost: Iterable[int]) -> str:
        """Get ready to send segments of lost chains again and say what happened, or raise what cannot be mended."""
        if not is_loss(error):
            raise error
        raise PoolBrokenError(_words(error)) from error

    def close(self) -> None:
        """End this run's own threads; a running segment that someone wants ends first, others never begin."""
        if self._own:
            self.executor.shutdown(wait=not self.abandoned, cancel_futures=True)


class AwayPool(Pool):
    """Any executor whose workers may be elsewhere."""

    seconds = AWAY_SECONDS
    in_place = False

    def __init__(self, executor: Executor, work: Work, factory: Callable[[], Executor] | None = None) -> None:
        super().__init__(executor, work)
        self._factory = factory
        self._key = secrets.token_hex(16)
        self._packed: bytes | None = None
        self._losses: Counter[int] = Counter()
        """How often each chain was lost since its last segment came back."""
        self._heard = False
        keep_work(self._key, work)  # a pool that stays in this process needs nothing sent

    def submit(self, chain: Chain, steps: int, with_work: bool = False) -> Future[Any]:
        """Send a segment; the work of the run only to a worker that has asked for it."""
        content = packed_chain(chain)
        self.seconds = max(type(self).seconds, len(content) / BYTES_PER_SECOND)
        work = self._sent_work() if with_work else None
        return self.executor.submit(remote_segment, self._key, __version__, chain.index, content, steps, work)

    def _sent_work(self) -> Any:
        if self._packed is None:
            self._packed = self.work.packed()
        return self._packed

    def _received(self, outcome: Any) -> Any:
        self._heard = True
        if outcome is None:
            return None
        segment = unpacked(outcome, self.work)
        del self._losses[segment.chain.index]
        return segment

    def recover(self, error: BaseException, lost: Iterable[int]) -> str:
        """Send to the same executor again after a lost worker; a broken one is replaced if there is a way.

        A chain that is lost whenever it runs must end the run, though others get on.
        """
        if not is_loss(error):
            raise error
        self._losses.update(lost)
        most = max(self._losses.values())
        if most > MOST_FAILURES:
            raise PoolBrokenError(f"{_words(error)}, {most} times in a row{'' if self._heard else HINT}") from error
        if not is_end(error):
            return f"a worker was lost ({_words(error)}); its segment is run again"
        if self._factory is None:
            raise PoolBrokenError(_words(error)) from error
        end_workers(self.executor)
        try:
            self.executor = _made(self._factory)
        except Exception as failure:
            raise PoolBrokenError(f"{_words(error)}, and another could not be made: {_words(failure)}") from failure
        return f"the pool of workers broke ({_words(error)}) and was replaced; the chains go on from where they were"

    def close(self) -> None:
        """End an executor that was made here, without waiting for segments that nobody wants any more."""
        WORKS.pop(self._key, None)
        if self._factory is not None:
            end_workers(self.executor)


class DaskPool(AwayPool):
    """A Dask cluster. The work of the run is a task of its own there, which the cluster can run again."""

    def __init__(self, client: Any, work: Work, executor: Executor | None = None) -> None:
        super().__init__(client.get_executor(pure=False) if executor is None else executor, work)
        self._client = client
        self._shared: Any = None

    def submit(self, chain: Chain, steps: int, with_work: bool = False) -> Future[Any]:
        """Send a segment with a reference to the work of the run; workers pass the work on among themselves."""
        with warnings.catch_warnings():  # what is large here is so on purpose
            warnings.filterwarnings("ignore", message="Sending large graph")
            return super().submit(chain, steps, True)

    def _sent_work(self) -> Any:
        if self._shared is None:
            self._shared = self._client.submit(bytes, super()._sent_work(), pure=False)
        return self._shared

    def recover(self, error: BaseException, lost: Iterable[int]) -> str:
        """Go on with the workers that the cluster makes itself; the work of the run may be lost with the others."""
        self._shared = None
        return super().recover(error, lost)


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
    if count is not None:
        whole(count, "count", 1, note="or None")
    workers = min(usable_cores(), MOST_PROCESSES if os.name == "nt" else 2**20) if count is None else count
    return partial(ProcessPoolExecutor, workers, mp_context=get_context("spawn"), initializer=_live_with_parent)


def _live_with_parent() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the parent; but do not outlive it if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = parent_process()

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def end_workers(executor: Executor) -> None:
    """End an executor at once: left to itself it would wait for its workers, or leave them behind."""
    processes_left = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes_left:
        process.terminate()


def is_loss(error: BaseException) -> bool:
    """Does the error say that a worker, or all of them, are gone?"""
    lost = isinstance(error, CancelledError | ConnectionError | EOFError)
    return lost or _has_name(error, _LOST) or is_end(error)


def is_end(error: BaseException) -> bool:
    """Does it say that the executor will never run anything again?"""
    shut = isinstance(error, RuntimeError) and "after" in str(error) and "shutdown" in str(error)
    return shut or isinstance(error, BrokenExecutor) or _has_name(error, _GONE)


def _has_name(error: BaseException, names: tuple[str, ...]) -> bool:
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _made(factory: Callable[[], Executor]) -> Executor:
    made = factory()
    if not hasattr(made, "submit"):
        raise ParnidagError(f"executor is a function that returned {made!r}, which is no concurrent.futures.Executor")
    return made


def open_pool(executor: Executors | None, work: Work, chains: int) -> Pool:
    """Return where the segments of a run go; an executor of the user's is left running."""
    if executor is None:
        return Pool(ThreadPoolExecutor(min(chains, usable_cores()), thread_name_prefix="parnidag"), work, own=True)
    if hasattr(executor, "get_executor"):
        return DaskPool(executor, work)
    if isinstance(executor, ThreadPoolExecutor):
        return Pool(executor, work)
    if not isinstance(executor, Executor) and not hasattr(executor, "submit"):
        return AwayPool(_made(executor), work, factory=executor)
    given: Any = executor
    client = getattr(given, "_client", None)
    return DaskPool(client, work, given) if hasattr(client, "get_executor") else AwayPool(given, work)
