"""Ctrl-C and SIGTERM: the first asks a run to stop where nothing is lost, the second ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from parnidag._util.cores import side_by_side

Result = TypeVar("Result")


class Stopping:
    """Whether, and by which signal, a run was asked to stop."""

    def __init__(self) -> None:
        self.by: str | None = None
        self.insisted = False

    def ask(self, number: int, frame: FrameType | None) -> None:
        if self.by is not None:
            self.insisted = True
            raise KeyboardInterrupt
        self.by = signal.Signals(number).name


@contextmanager
def catching_signals() -> Iterator[Stopping]:
    """Let Ctrl-C and SIGTERM ask for an end at the next safe place.

    Only the main thread can do this; elsewhere an interruption is the caller's affair. A signal that the process
    ignores stays ignored, and of SIGTERM only the default is replaced: whoever handles it has a reason to.
    """
    stopping = Stopping()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before: dict[int, Any] = {}
    # None stands for a handler from outside Python, which could not be put back.
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        before[signal.SIGINT] = signal.signal(signal.SIGINT, stopping.ask)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        before[signal.SIGTERM] = signal.signal(signal.SIGTERM, stopping.ask)
    try:
        yield stopping
    except Exception as error:
        if stopping.insisted:  # whatever was under way failed because of that: an archive cannot be closed, say
            raise KeyboardInterrupt from error
        raise
    else:
        if stopping.insisted:  # it came into a score in Python, out of which compiled code lets nothing
            raise KeyboardInterrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interruptibly(work: Callable[[], Result]) -> Result:
    """Do the work in another thread, so that Ctrl-C is heard while compiled code runs.

    An interrupted main thread leaves the work behind: it changes nothing that anyone still looks at.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    return side_by_side(lambda _: work(), 1)[0]
