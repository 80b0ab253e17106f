"""On what a study ran: written beside its results, since speeds and even random numbers depend on it."""

from __future__ import annotations

import datetime
import functools
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import parnidag

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "causal-learn", "gcastle", "lingam", "gadjid", "pgmpy")
PACKAGES += ("cdt", "dibs-lib", "jax")


@functools.cache
def environment() -> dict[str, object]:
    """Return machine, versions, and the commit that ran."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()},
        "python": platform.python_version(),
        "parnidag": parnidag.__version__,
        "commit": commit(),
        "packages": {name: version for name in PACKAGES if (version := installed(name)) is not None},
    }


def installed(name: str) -> str | None:
    """Return the version of a distribution; None if it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """Return the commit of the clone, with a plus if files differ from it; None outside of a clone."""
    folder = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
