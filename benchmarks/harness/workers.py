"""Processes that run tasks: few threads, CPU time measured and limited, lost ones replaced.

A process stays for many tasks, since importing and compiling take seconds. A task with a limit gets it from the kernel
(RLIMIT_CPU), which ends the process even inside compiled code of a library; where there is no such limit (Windows), the
parent ends it after so many seconds of wall time.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from benchmarks.harness.task import Outcome, Task

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Set to 1 for the processes, so that CPU time is that of one core and processes do not compete."""
POLL_SECONDS = 0.5

Report = Callable[[Task, Outcome], None]


class Worker:
    """One process, and the task it is at."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,), daemon=False)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.began = 0.0

    def give(self, task: Task) -> None:
        """Start a task."""
        self.task, self.began = task, time.monotonic()
        with contextlib.suppress(OSError):  # a process that is gone is noticed when its result is asked for
            self.connection.send(task)

    def result(self) -> Outcome:
        """Return what came of the task; a process that ended without a word is described."""
        assert self.task is not None
        try:
            outcome: Outcome = self.connection.recv()
            return outcome
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            if hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU and self.task.limit:
                return stopped(self.task)
            return Outcome("crashed", note=f"the process ended with code {code}")

    @property
    def overdue(self) -> bool:
        """Is there no limit of the kernel, and the time is up?"""
        late = self.task is not None and self.task.limit and time.monotonic() - self.began > self.task.limit
        return bool(late) and sys.platform == "win32"

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def stopped(task: Task) -> Outcome:
    """Return the outcome of a task that ran into its limit."""
    return Outcome("stopped", note=f"not finished after {task.limit:g} CPU seconds")


def serve(connection: Connection) -> None:
    """Run tasks until the parent goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the processes
    while True:
        try:
            task: Task = connection.recv()
        except EOFError:
            return
        with limited(task.limit):
            try:
                outcome = task.run()
            except Exception:  # whatever happens in a library is part of the study
                outcome = Outcome("crashed", note=traceback.format_exc(limit=-3))
        connection.send(outcome)


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Let the kernel end this process after so many more CPU seconds."""
    if seconds is None or sys.platform == "win32":
        yield
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no picture of the memory when the time is up
    limits = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, limits)


def run_all(tasks: list[Task], jobs: int, report: Report) -> None:
    """Run tasks on so many processes, in their order, and report each when it is done."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    waiting = list(reversed(tasks))
    workers = [Worker() for _ in range(min(jobs, len(tasks)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while busy := [worker for worker in workers if worker.task is not None]:
            ready = wait([worker.connection for worker in busy], POLL_SECONDS)
            for worker in busy:
                task = worker.task
                assert task is not None
                if worker.overdue:
                    worker.process.kill()
                    outcome = stopped(task)
                elif worker.connection in ready:
                    outcome = worker.result()
                else:
                    continue
                report(task, outcome)
                if outcome.status == "stopped" or not worker.process.is_alive():
                    worker.end()
                    workers[workers.index(worker)] = worker = Worker()
                worker.task = None
                if waiting:
                    worker.give(waiting.pop())
    finally:
        for worker in workers:
            worker.end()
