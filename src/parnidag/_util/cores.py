"""How many cores there are to use, and work on all of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

POLL_SECONDS = 0.1
"""How often a waiting thread looks whether it was interrupted."""
WORTH_A_THREAD = 2**17
"""Numbers that take some milliseconds, beside which a tenth of one for threads is nothing."""

WORTH_A_TURN = 5e-4
"""Seconds of compiled code during which another thread should go on, which then has to be waited for."""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worth_threads(numbers: int) -> bool:
    """Are there so many numbers to work on that threads pay?"""
    return numbers >= WORTH_A_THREAD


def side_by_side(work: Callable[[int], Found], count: int, most: int = 2**20) -> list[Found]:
    """Return work(0), …, work(count − 1): compiled code runs side by side, at most so many at once.

    The threads are daemons: a process that was interrupted meanwhile does not wait for them when it ends, as it would
    for those of a `ThreadPoolExecutor`.
    """
    numbers, failures = iter(range(count)), list[BaseException]()
    found: dict[int, Found] = {}

    def share() -> None:
        try:
            for number in numbers:
                found[number] = work(number)
                if failures:
                    return
        except BaseException as error:  # raised again where the caller waits
            failures.append(error)

    threads = [threading.Thread(target=share, daemon=True) for _ in range(min(count, max(most, 1), usable_cores()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
    if failures:
        raise failures[0]
    return [found[number] for number in range(count)]
