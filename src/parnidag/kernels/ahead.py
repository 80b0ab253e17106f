"""Compiling in another process, beside what this one does, so that code is there when it is needed.

Numba compiles one function at a time in a process. What the other process compiles arrives through the on-disk cache,
and nothing depends on it: where it fails, or where there is no second core, this process compiles as it always would.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import event

from parnidag._util.cores import usable_cores
from parnidag.kernels.inner import InnerFunction
from parnidag.kernels.jit import cache_folder
from parnidag.kernels.once import WAITING

_STARTED: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
"""What was asked of other processes; each once."""


def is_kept(entry: Any) -> bool:
    """Is there compiled code of an entry in the on-disk cache, or none to be kept?"""
    index = getattr(entry, "index", None)
    return index is None or index.exists()


def compile_beside(entry: Any, module: str, function: str) -> bool:
    """Let another process call a function that compiles an entry, unless it is kept already; return whether it does."""
    call = module, function
    if is_kept(entry) or usable_cores() < 2 or call in _STARTED:
        return False
    if started := in_another_process(*call):
        _STARTED[call] = started
    return started is not None


def in_another_process(module: str, function: str, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Call a function of this package in a process with the same cache; None where that is not possible."""
    folder = cache_folder()
    if folder is None or not sys.executable or getattr(sys, "frozen", False):
        return None
    code = f"import sys; sys.path[:] = {[str(place) for place in sys.path]!r}; "
    code += f"from {module} import {function}; {function}(*sys.argv[1:])"
    with contextlib.suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PARNIDAG_CACHE_DIR": str(folder.parent)},
        )
    return None


class _Teller(event.Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._count = tell, 0

    def on_start(self, event: Any) -> None:
        if event.kind == WAITING:
            self._tell("another process compiles what comes next, once on this machine")
            return
        compiled = event.data["dispatcher"]
        if not isinstance(compiled, InnerFunction) and compiled.py_func.__module__.startswith("parnidag."):
            self._count += 1
            self._tell(f"compiling function {self._count}, once on this machine")

    def on_end(self, event: Any) -> None:
        """Nothing is said of that."""


@contextlib.contextmanager
def compilation_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Say so, with a count, whenever this process compiles a function of this package."""
    teller = _Teller(tell)
    for kind in ("numba:compile", WAITING):
        event.register(kind, teller)
    try:
        yield
    finally:
        for kind in ("numba:compile", WAITING):
            event.unregister(kind, teller)
