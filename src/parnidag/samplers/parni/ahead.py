"""The mixture compiled before there is anything to sample: it takes as long as all else that a first run compiles.

Its types do not depend on the table, so an example of three columns stands for all.
"""

from __future__ import annotations

import numba
import numpy as np

from parnidag.data.table import Data
from parnidag.kernels.ahead import compile_beside
from parnidag.kernels.recorder import ChainArrays, make_recorder
from parnidag.kernels.types import int64
from parnidag.priors.edge_prior import EdgePrior
from parnidag.samplers.parni.adaptation import make_parni
from parnidag.samplers.parni.mixture import advance_mixture, make_mixture, no_gaps
from parnidag.scores.gaussian import BGe
from parnidag.tables.arrays import no_tables
from parnidag.target import Target


def compile_mixture_beside() -> None:
    """Let another process compile the mixture while this one reads and searches, unless it is in the cache."""
    compile_beside(advance_mixture, __name__, "compile_mixture")


def compile_mixture() -> None:
    """Compile the mixture, and keep it in the on-disk cache."""
    target = Target.build(Data(np.random.default_rng(0).normal(size=(20, 3))), BGe(), EdgePrior())
    graph = target.empty_graph()
    own = make_mixture(target, {"adr": 1.0}, make_parni(np.full((3, 3), 0.1), tune=0), None)
    chain = ChainArrays(target.problem, graph, target.scratch(), make_recorder(graph.edges.size, 64, 1))
    arguments = chain, no_tables(), no_gaps(own), int64(0)
    advance_mixture.compile(tuple(map(numba.typeof, arguments)))  # type: ignore[attr-defined]
