"""What a baseline is, and what it answers."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.task import MissingLibrary


class Package(NamedTuple):
    """The library that does a baseline's work."""

    module: str
    """What Python imports."""
    distribution: str
    """What pip installs."""
    extra: str
    """The extra of this project that holds it."""
    parts: tuple[str, ...] = ()
    """Modules that take long to import."""


@dataclass(frozen=True)
class Estimate:
    """What a method found, parent × child: one graph, or several and how probable they make each edge.

    Without any of them the method failed on the data, and the note says why.
    """

    graph: NDArray[np.bool_] | None = None
    """Both directions True is an undirected edge."""
    probabilities: NDArray[np.float64] | None = None
    """Of each edge, from methods that have several graphs."""
    best: NDArray[np.bool_] | None = None
    """The most probable of several graphs."""
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether the method found nothing, not even a graph without edges."""
        return self.graph is None and self.probabilities is None


@dataclass(frozen=True)
class Baseline:
    """One method with its settings."""

    name: str
    package: Package
    method: Callable[..., Estimate]
    """Called with values, seed, seconds and the settings."""
    settings: dict[str, Any]
    """All that decides the answer, beside data, seed and version; "standardise" is seen to here."""

    def version(self) -> str | None:
        """Return the installed version of the library, None without it."""
        try:
            return importlib.metadata.version(self.package.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def import_library(self) -> None:
        """Import everything that takes long, if it is there."""
        with contextlib.suppress(ImportError):
            for part in self.package.parts:
                importlib.import_module(part)

    def fit(self, values: NDArray[np.float64], seed: int, seconds: float) -> Estimate:
        """Run the method on rows × nodes; `seconds` of CPU time are its limit, which others enforce."""
        if find_spec(self.package.module) is None:
            raise MissingLibrary(
                f"{self.name} needs {self.package.distribution}: pip install '.[{self.package.extra}]' in a clone, "
                f"or pip install {self.package.distribution}"
            )
        settings = dict(self.settings)
        if settings.pop("standardise"):
            values = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
        return self.method(values, seed, seconds, **settings)
