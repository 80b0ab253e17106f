"""PARNI-DAG: the pointwise adaptive random neighbourhood informed sampler.

Its settings, and how a chain is set up and advanced; an iteration itself is in `blocks`, the tuning parameters in
`tuning`, the warm start in `space.warmstart`. An iteration may also be an edge reversal (`reversal`), with a fixed
probability: both kinds leave the posterior invariant, and so does their mixture.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np

from parnidag._jit import entry, make_frame
from parnidag._random import happens
from parnidag._types import Floats, Integers, int64, is_number
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency
from parnidag.net import ONE, GraphArrays, Net, Problem, Scratch, close_net, open_net
from parnidag.prior import FREE
from parnidag.samplers.base import Chain, Prepared, Stages, silent_stage
from parnidag.samplers.blocks import parni_iteration
from parnidag.samplers.reversal import ReversalArrays, make_reversal, open_reversal, reversal_move
from parnidag.samplers.tuning import (
    BUCKETS,
    FIRST_OMEGA,
    ParniArrays,
    adapt_eta,
    adapt_omega,
    close_parni,
    first_eta,
    open_parni,
)
from parnidag.space.default import FEW_NODES
from parnidag.space.expansion import MOST_CANDIDATES, strongest
from parnidag.space.layout import DrawArrays, TableArrays, open_tables
from parnidag.space.search import starting_graphs
from parnidag.space.tables import build_tables, make_draws
from parnidag.space.warmstart import warm_start
from parnidag.target import Target
from parnidag.trace import TraceArrays, begin_segment, close_trace, observe, open_trace

LEAST_KAPPA = 1e-8
"""Below this η could not be told from 0 or 1."""


@dataclass(frozen=True)
class PARNI:
    """PARNI-DAG (Caron, Liang, Livingstone and Griffin, NeurIPS 2023), with its misprints corrected.

    Parameters
    ----------
    kernel
        ``"gibbs"`` updates each sub-neighbourhood by itself (the default: half the error or less on the protein data
        at equal time, and never behind, see docs/adr/0005);
        ``"printed"`` is Algorithm 1 with one acceptance step for the whole iteration. Both are exact.
    eta
        How the probabilities η that steer the proposal follow the chain: ``"symmetric"`` averages the two directions of
        an edge and never falls below half the warm start; ``"paper"`` is equation 9. The paper's can trap itself: an
        edge not seen early is hardly tried again.
    adapt
        ``"tune"`` freezes η and ω when tuning ends, so that the chain is a plain Markov chain from then on;
        ``"always"`` goes on adapting with diminishing steps, as the paper does.
    target_evaluations
        Sub-neighbourhoods evaluated in an iteration, on average; ω adapts to it.
    kappa
        η stays inside (κ, 1 − κ), so every edge is tried now and then. None: 0.01, or 1/n when that is smaller.
    edge_reversal
        Probability that an iteration is an edge reversal instead (Grzegorczyk and Husmeier 2008, see `REV`), which
        turns an edge round and draws new parents for both its nodes from the tables of the search space.

    Examples
    --------
    >>> from parnidag import samplers
    >>> samplers.PARNI(kernel="printed", target_evaluations=20).kernel
    'printed'
    """

    kernel: Literal["gibbs", "printed"] = "gibbs"
    eta: Literal["symmetric", "paper"] = "symmetric"
    adapt: Literal["tune", "always"] = "tune"
    target_evaluations: float = 10.0
    kappa: float | None = None
    edge_reversal: float = 0.0

    name = "PARNI"

    def __post_init__(self) -> None:
        for argument, allowed in (
            ("kernel", ("gibbs", "printed")),
            ("eta", ("symmetric", "paper")),
            ("adapt", ("tune", "always")),
        ):
            if getattr(self, argument) not in allowed:
                raise ParnidagError(f"{argument} must be one of {allowed}, got {getattr(self, argument)!r}")
        if not is_number(self.target_evaluations) or not 0 < self.target_evaluations < math.inf:
            raise ParnidagError(f"target_evaluations must be a positive number, got {self.target_evaluations!r}")
        if self.kappa is not None and (not is_number(self.kappa) or not LEAST_KAPPA <= self.kappa < 0.5):
            raise ParnidagError(f"kappa must be a number from {LEAST_KAPPA} to below 0.5, or None, got {self.kappa!r}")
        if not is_number(self.edge_reversal) or not 0.0 <= self.edge_reversal < 1.0:
            raise ParnidagError(f"edge_reversal must be a probability from 0 to below 1, got {self.edge_reversal!r}")

    def default_thin(self, n_nodes: int) -> int:
        """Return the default number of iterations between draws: 10 a node, at least 500."""
        return max(500, 10 * n_nodes)

    @property
    def default_space(self) -> Literal["grown"]:
        """A skeleton after iterative expansion, from which the warm start takes its candidates."""
        return "grown"

    def prepare(
        self, target: Target, considered: Adjacency | None = None, seed: int = 0, stages: Stages = silent_stage
    ) -> Prepared:
        """Compute the warm start π̃ of the edge probabilities (Appendix C) from the candidates of the search space.

        Without a space every node's candidates are all others, or none when that is too many.
        """
        if considered is None:
            considered = np.asarray((target.problem.status == FREE) & (target.n_nodes <= FEW_NODES))
        tables = None
        if self.edge_reversal > 0.0:
            with stages("tables"):
                tables = build_tables(target, considered)
        with stages("warm start"):
            return Prepared(considered, tables, warm_start(target, self._kappa(target.n_nodes), considered))

    def starts(self, target: Target, prepared: Prepared, seed: int, chains: int, stages: Stages) -> list[Adjacency]:
        """Start each chain at the best graph of a search of its own."""
        assert prepared.considered is not None
        with stages("starting graphs"):
            few = strongest(target, prepared.considered, None, MOST_CANDIDATES)
            tables = prepared.tables or build_tables(target, few, sums=False)
            return starting_graphs(tables, seed, chains)

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Give a new chain its tuning parameters; η follows at the first iteration."""
        assert prepared.warm is not None
        n = target.n_nodes
        most = n * (n - 1) // 2
        own = ParniArrays(
            frame=make_frame(),
            warm=prepared.warm,
            eta_odds=np.zeros((n, n)),
            eta_logit=np.zeros((n, n)),
            pairs=np.zeros(most, np.int32),
            bucket_start=np.zeros(BUCKETS + 1, np.int64),
            bucket_bound=np.zeros(BUCKETS),
            bucket_miss=np.zeros(BUCKETS),
            block_codes=np.zeros(most, np.int32),
            block_pairs=np.zeros(most, np.bool_),
            undo_codes=np.zeros(most, np.int32),
            undo_moves=np.zeros(most, np.int64),
            undo_scores=np.zeros(2 * most),
            flags=np.array([self.kernel == "printed", self.eta == "symmetric", self.adapt == "always"]),
            integers=np.array([tune, 0, 0, 0, 0, 0, 0], np.int64),
            floats=np.array([FIRST_OMEGA, min(0.01, 1 / n), self._kappa(n), float(self.target_evaluations), 0.0, 0.0]),
        )
        if prepared.tables is None:
            chain.own = own
            return
        chain.tables = prepared.tables
        counts, share = np.zeros(2, np.int64), np.array([float(self.edge_reversal)])
        chain.own = ReversingArrays(own, make_draws(prepared.tables), make_reversal(target), counts, share)

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run at most `steps` iterations in place and return how many were made."""
        shared = (target.problem, chain.graph, chain.scratch(target), chain.trace)
        if chain.tables is None:
            return int(advance_parni(*shared, chain.own, int64(steps)))
        return int(advance_reversing(*shared, chain.tables.arrays, chain.own, int64(steps)))

    def totals(self, chain: Chain) -> dict[str, float]:
        """Return moves tried and accepted (blocks, or whole iterations when printed), blocks evaluated, reversals."""
        tried, accepted, evaluations = (float(x) for x in parni_arrays(chain).integers[4:7])
        totals = {"tried": tried, "accepted": accepted, "evaluations": evaluations}
        if chain.tables is not None:
            reversals, turned = (float(x) for x in chain.own.counts)
            totals |= {"edge_reversal_tried": reversals, "edge_reversal_accepted": turned}
            totals["edge_reversal_outside"] = float(chain.own.reversal.outside[0])
        return totals

    def gauges(self, chain: Chain) -> dict[str, float]:
        """Return ω."""
        return {"omega": float(parni_arrays(chain).floats[0])}

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        settings = asdict(self)
        settings["target_evaluations"] = float(self.target_evaluations)
        settings["edge_reversal"] = float(self.edge_reversal)
        settings["kappa"] = None if self.kappa is None else float(self.kappa)
        return {"name": self.name, **settings}

    def caveats(self, prepared: Prepared) -> list[str]:
        """Return nothing: the law is the posterior over all graphs."""
        return []

    def _kappa(self, n_nodes: int) -> float:
        return min(0.01, 1 / n_nodes) if self.kappa is None else float(self.kappa)


class ReversingArrays(NamedTuple):
    """The arrays of a chain that also reverses edges."""

    parni: ParniArrays
    draws: DrawArrays
    reversal: ReversalArrays
    counts: Integers
    """Reversals tried and accepted."""
    share: Floats
    """Probability of a reversal."""


def parni_arrays(chain: Chain) -> ParniArrays:
    """Return PARNI's own arrays of a chain."""
    arrays: ParniArrays = chain.own if chain.tables is None else chain.own.parni
    return arrays


@entry
def advance_parni(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    arrays: ParniArrays,
    steps: int,
) -> int:
    """Run PARNI for at most `steps` iterations."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    run = open_parni(arrays)
    first_eta(net, run)
    done = int64(0)
    if begin_segment(net, trace):
        while done < steps:
            parni_iteration(net, run)
            adapt_omega(net, run)
            adapt_eta(net, run)
            done += ONE
            if not observe(net, trace):
                break
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    close_parni(run, arrays)
    return done


@entry
def advance_reversing(
    problem: Problem,
    graph: GraphArrays,
    scratch: Scratch,
    trace_arrays: TraceArrays,
    table_arrays: TableArrays,
    arrays: ReversingArrays,
    steps: int,
) -> int:
    """Run PARNI mixed with edge reversals for at most `steps` iterations."""
    net: Net = open_net(problem, graph, scratch)
    trace = open_trace(trace_arrays)
    tables = open_tables(table_arrays, arrays.draws)
    reversal = open_reversal(arrays.reversal)
    run = open_parni(arrays.parni)
    first_eta(net, run)
    done = int64(0)
    if begin_segment(net, trace):
        while done < steps:
            if happens(net.rng, arrays.share[0]):
                arrays.counts[0] += ONE
                arrays.counts[1] += reversal_move(net, tables, reversal)
            else:
                parni_iteration(net, run)
                adapt_omega(net, run)
            adapt_eta(net, run)
            done += ONE
            if not observe(net, trace):
                break
    close_net(net, graph)
    close_trace(trace, trace_arrays)
    close_parni(run, arrays.parni)
    return done
