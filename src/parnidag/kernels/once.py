"""Compiled functions that Python calls, each of which is compiled by one process at a time.

Others that need it meanwhile wait, and read it from the on-disk cache. So workers share what they compile, and so do a
run, the process that compiles beside it, and a run that begins while that process is still at it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from parnidag.kernels.inner import OPTIONS

MOST_SECONDS = 300.0
"""So long another process is waited for: it may be stopped, or compile what nobody needs."""
POLL_SECONDS = 0.05
WAITING = "parnidag:waiting"
"""The event of Numba's kind that says so."""


class EntryFunction(CPUDispatcher):  # type: ignore[misc]
    """What `entry` makes of a function; see the module."""

    def __init__(self, function: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(function, locals, {**OPTIONS, "nopython": True, **(targetoptions or {})})
        self._is_held = False

    def compile(self, sig: Any) -> Any:
        """Compile for these types, or read it from the cache."""
        with global_compiler_lock, self._held():
            return super().compile(sig)

    @property
    def index(self) -> Path | None:
        """The file that says which types the cache has code for, if it is to keep any."""
        file = getattr(self._cache, "_cache_file", None)
        return None if file is None else Path(file._index_path)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Let no other process compile this function meanwhile."""
        if self.index is None or self._is_held:
            yield
            return
        with contextlib.ExitStack() as files:
            with contextlib.suppress(OSError):  # the folder can only be read, or knows no locks
                self.index.parent.mkdir(parents=True, exist_ok=True)
                lock = files.enter_context(self.index.with_suffix(".lock").open("ab"))
                _await_lock(lock)
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False


def _await_lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed, once no other process does, or after a long time without."""
    if sys.platform == "win32":  # there each compiles for itself
        return
    import fcntl

    waits_until = None
    while waits_until is None or time.monotonic() < waits_until:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if waits_until is None:
            waits_until = time.monotonic() + MOST_SECONDS
            event.broadcast(event.Event(WAITING, event.EventStatus.START))
        time.sleep(POLL_SECONDS)
