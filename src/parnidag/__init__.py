"""The posterior over causal graphs: how probable every edge is.

Importing the package costs next to nothing: each public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parnidag._version import __version__

if TYPE_CHECKING:
    from parnidag import metrics, plots, samplers, scores, space
    from parnidag.api import exact, sample
    from parnidag.data.table import Data
    from parnidag.errors import ParnidagError, StoppedWarning
    from parnidag.graphs.graph import Graph, as_graph
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.results.compare import compare
    from parnidag.results.netcdf import load
    from parnidag.results.posterior import Posterior
    from parnidag.run.pools import processes
    from parnidag.simulation import simulate

__all__ = [
    "Data",
    "EdgePrior",
    "Graph",
    "ParnidagError",
    "Posterior",
    "StoppedWarning",
    "__version__",
    "as_graph",
    "compare",
    "exact",
    "load",
    "metrics",
    "plots",
    "processes",
    "sample",
    "samplers",
    "scores",
    "simulate",
    "space",
]

_MODULES = frozenset({"metrics", "plots", "samplers", "scores", "space"})

_HOMES = {
    "Data": "parnidag.data",
    "EdgePrior": "parnidag.priors.edge_prior",
    "Graph": "parnidag.graphs.graph",
    "ParnidagError": "parnidag.errors",
    "Posterior": "parnidag.results.posterior",
    "StoppedWarning": "parnidag.errors",
    "as_graph": "parnidag.graphs.graph",
    "compare": "parnidag.results.compare",
    "exact": "parnidag.api",
    "load": "parnidag.results.netcdf",
    "processes": "parnidag.run.pools",
    "sample": "parnidag.api",
    "simulate": "parnidag.simulation",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"parnidag.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'parnidag' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
