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
from pathlib import Path
from typing import Any

from numba.core import event

from parnidag._util.cores import usable_cores
from parnidag.kernels.inner import InnerFunction
from parnidag.kernels.jit import cache_folder

_UNDER_WAY: list[subprocess.Popen[bytes]] = []


def is_kept(entry: Any) -> bool:
    """Is there compiled code of an entry in the on-disk cache, or none to be kept?"""
    kept_in = getattr(getattr(entry, "_cache", None), "_cache_file", None)
    return kept_in is None or Path(kept_in._index_path).exists()


def compile_beside(entry: Any, module: str, function: str) -> None:
    """Let another process call a function that compiles an entry, unless it is kept already."""
    if (
        not is_kept(entry)
        and usable_cores() > 1
        and not _UNDER_WAY
        and (started := in_another_process(module, function))
    ):
        _UNDER_WAY.append(started)


def await_compiled() -> None:
    """Wait until the other process has compiled what it was asked for, if it was."""
    for started in _UNDER_WAY:
        started.wait()
    _UNDER_WAY.clear()


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
    event.register("numba:compile", teller)
    try:
        yield
    finally:
        event.unregister("numba:compile", teller)
