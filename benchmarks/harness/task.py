"""One piece of a study: a function to call in a process of its own, and everything that decides its result."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

import parnidag

Status = Literal["done", "missing", "failed", "stopped", "refused", "crashed"]
KEPT: tuple[Status, ...] = ("done", "failed", "stopped")
"""What would happen again. A library may be there later, or memory; and a crash may have been the machine's."""
RUNNING_CODE = (
    *("battery.py", "bif.py", "chains.py", "class_learners.py", "growth.py", "learners.py", "methods.py"),
    *("networks.py", "problems.py", "svi_dag.py", "timed.py", "wall.py"),
    "baselines/*.py",
)
"""The benchmarks' own files that run methods; the others arrange what was found."""


class MissingLibrary(Exception):  # noqa: N818 — it names what happened
    """A package that a method needs is not installed; the message says how to get it."""


class Impossible(Exception):  # noqa: N818 — it names what happened
    """A method cannot do this; the message says why."""


class NoMemory(Exception):  # noqa: N818 — it names what happened
    """A method needs more memory than is free at the moment."""


@dataclass(frozen=True)
class Task:
    """A call of `function`, "module:name", with `settings` and `place` as keyword arguments."""

    function: str
    settings: Mapping[str, Any]
    """Everything that decides the result, in a form that JSON can hold."""
    labels: Mapping[str, Any]
    """What the task is called in tables: the first columns of its rows."""
    place: Mapping[str, Any] = field(default_factory=dict)
    """What does not decide the result, such as the folder that data are read from."""
    version: str = ""
    """Of another library that does the work, if any."""
    limit: float | None = None
    """CPU seconds after which the process is ended."""

    @property
    def digest(self) -> str:
        """A name for the result: the same settings, version and limit give the same one."""
        known = {
            "function": self.function,
            "settings": self.settings,
            "version": f"{own_version()} {self.version}".strip(),
            "limit": self.limit,
        }
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:32]

    def describe(self) -> str:
        """Return the labels on one line."""
        return ", ".join(str(value) for value in self.labels.values())

    def run(self) -> Outcome:
        """Call the function; what it cannot do becomes part of the outcome."""
        module, name = self.function.split(":")
        function = getattr(importlib.import_module(module), name)
        try:
            outcome = function(**self.settings, **self.place)
        except MissingLibrary as error:
            return Outcome("missing", note=str(error))
        except Impossible as error:
            return Outcome("failed", note=str(error))
        except NoMemory as error:
            return Outcome("refused", note=str(error))
        assert isinstance(outcome, Outcome)
        return outcome


@functools.cache
def own_version() -> str:
    """Return the version of parnidag and a digest of its sources and of the code here that runs methods."""
    digest = hashlib.sha256()
    benchmarks = Path(__file__).parent.parent
    files = [
        *Path(parnidag.__file__).parent.rglob("*.py"),
        *(file for pattern in RUNNING_CODE for file in benchmarks.glob(pattern)),
    ]
    for file in sorted(files, key=lambda file: (file.parent.name, file.name)):
        digest.update(f"{file.parent.name}/{file.name}\0".encode() + file.read_bytes())
    return f"parnidag {parnidag.__version__} {digest.hexdigest()[:16]}"


@dataclass(frozen=True)
class Outcome:
    """What a task found."""

    status: Status = "done"
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)
    """The last columns of its row."""
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    note: str = ""
    """Why there are no figures."""


Found = list[tuple[Task, Outcome]]
