"""The posterior over causal graphs: how probable every edge is.

Importing the package costs next to nothing: each public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parnidag._util.lazy import loader
from parnidag._version import __version__

if TYPE_CHECKING:
    from parnidag import metrics, plots, samplers, scores, space
    from parnidag.api import exact, sample
    from parnidag.data.panel import Panel
    from parnidag.data.table import Data
    from parnidag.errors import MoreLagsWarning, ParnidagError, StoppedWarning
    from parnidag.graphs.graph import Graph, as_graph
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.priors.odds import Beta
    from parnidag.results.compare import compare
    from parnidag.results.netcdf import load
    from parnidag.results.posterior import Posterior
    from parnidag.run.pools import processes
    from parnidag.simulation import simulate

__all__ = [
    "Beta",
    "Data",
    "EdgePrior",
    "Graph",
    "MoreLagsWarning",
    "Panel",
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

_load = loader(
    "parnidag",
    [
        "api.exact",
        "api.sample",
        "data.Data",
        "data.Panel",
        "errors.MoreLagsWarning",
        "errors.ParnidagError",
        "errors.StoppedWarning",
        "graphs.graph.Graph",
        "graphs.graph.as_graph",
        "priors.edge_prior.EdgePrior",
        "priors.odds.Beta",
        "results.compare.compare",
        "results.netcdf.load",
        "results.posterior.Posterior",
        "run.pools.processes",
        "simulation.simulate",
    ],
)


def __getattr__(name: str) -> object:
    return importlib.import_module(f"parnidag.{name}") if name in _MODULES else _load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
