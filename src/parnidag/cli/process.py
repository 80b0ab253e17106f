"""The process of a command: how it hears Ctrl-C, and how it leaves."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

FAREWELL_SECONDS = 0.5
"""How long an interrupted command waits for its threads."""

KNOCK_SECONDS = 0.01
"""When a Ctrl-C that was lost is pressed again."""


def leave(code: int) -> NoReturn:
    """End the process with this exit code."""
    if code in (INTERRUPTED, TERMINATED):
        if _hears_signals():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more Ctrl-C ends nothing sooner
        if not _threads_end_soon():
            # Compiled code that nobody waits for any more cannot be interrupted, and Python would wait for it.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def _hears_signals() -> bool:
    """Return whether this thread is the one that Python lets handle signals."""
    return threading.current_thread() is threading.main_thread()


def _threads_end_soon() -> bool:
    deadline = time.monotonic() + FAREWELL_SECONDS
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    return threading.active_count() == 1


@contextmanager
def interrupted_between_imports(below: CodeType) -> Iterator[None]:
    """Put a Ctrl-C off until the import that it came into, somewhere below this code, is done.

    Extensions that import something while they load (those of pandas, Numba and NumPy do) make an ImportError of
    whatever interrupts that, or forget it: the table would be called unreadable, or the command would go on.
    """
    # A handler other than Python's own is somebody else's, or says that Ctrl-C is to be ignored.
    if not _hears_signals() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        importer = _outermost_importer(frame, below)
        if importer is None:
            raise KeyboardInterrupt
        # A debugger's means: the next line of whoever began the import is not reached.
        importer.f_trace = _interrupt
        sys.settrace(lambda frame, event, argument: None)

    before = sys.unraisablehook
    signal.signal(signal.SIGINT, hear)
    sys.unraisablehook = lambda lost: _knock() if lost.exc_type is KeyboardInterrupt else before(lost)
    try:
        yield
    finally:
        sys.unraisablehook = before
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _knock() -> None:
    """Press Ctrl-C again in a moment: it came into a callback of the garbage collector's, out of which nothing gets."""
    again = threading.Timer(KNOCK_SECONDS, signal.raise_signal, [signal.SIGINT])
    again.daemon = True
    again.start()


def _outermost_importer(frame: FrameType | None, below: CodeType) -> FrameType | None:
    """Return who began the import that is going on in this frame, if one is."""
    importer = None
    while frame is not None and frame.f_code is not below:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            importer = frame.f_back
        frame = frame.f_back
    return importer


def _interrupt(frame: FrameType, event: str, argument: object) -> NoReturn:
    raise KeyboardInterrupt
