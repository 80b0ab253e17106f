"""The process of a command: how it hears Ctrl-C, and how it leaves."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

FAREWELL_SECONDS = 0.5


def leave(code: int) -> NoReturn:
    if code in (INTERRUPTED, TERMINATED):
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more Ctrl-C ends nothing sooner
        if not _threads_end_soon():
            # Compiled code that nobody waits for any more cannot be interrupted, and Python would wait for it.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def _threads_end_soon() -> bool:
    deadline = time.monotonic() + FAREWELL_SECONDS
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    return threading.active_count() == 1


@contextmanager
def imports_ended_by_ctrl_c() -> Iterator[None]:
    """Let a Ctrl-C that comes into an import end the process at once.

    Nothing is lost then. Extensions that import something while they load (those of pandas, Numba and NumPy do) make an
    ImportError of whatever interrupts that, or forget it: the table would be called unreadable, or the command would go
    on.
    """
    # A handler other than Python's own is somebody else's, or says that Ctrl-C is to be ignored.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                _end_at_once()
            frame = frame.f_back
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_at_once() -> NoReturn:
    shown_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a live display may have hidden it
    sys.stderr.write(f"{shown_cursor}parnidag: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
