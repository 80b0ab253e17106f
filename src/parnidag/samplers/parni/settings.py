"""PARNI-DAG: the pointwise adaptive random neighbourhood informed sampler, alone or mixed with other moves.

Its settings, and how a chain is set up and advanced. An iteration is in `algorithm1`, the tuning parameters are in
`adaptation`, the warm start in `warm_start`, where chains begin in `start`, the other moves in `parnidag.moves`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from parnidag._util.checks import number, one_of, whole
from parnidag.kernels.declare import named
from parnidag.kernels.problem import FREE
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler
from parnidag.samplers.parni.adaptation import make_parni
from parnidag.samplers.parni.mixture import (
    MIXED_ON_CELLS,
    MOVES,
    TABLED,
    advance_chain,
    make_mixture,
    mixture_totals,
    move_weights,
)
from parnidag.samplers.parni.rungs import advance_rungs, heated_targets, make_rungs, rung_totals
from parnidag.samplers.parni.start import Initial, holds_everything, initialise, shared_candidates
from parnidag.samplers.parni.warm_start import warm_start
from parnidag.space.default import FEW_NODES
from parnidag.tables.build import build_tables
from parnidag.target import Target

MOST_EVALUATIONS = 1e300
ITERATIONS_A_SWEEP = 200
"""Iterations, of some ten tried changes each, between draws of cells."""
LEAST_KAPPA = 1e-8
"""Below this η could not be told from 0 or 1."""
NEVER_FROZEN = (
    'with adapt="always" PARNI goes on adapting while it samples, so its law is the posterior only in the limit of a '
    'long run; adapt="tune" freezes it and is exact'
)


@dataclass(frozen=True)
class PARNI(Sampler):
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
        Sub-neighbourhoods evaluated in an iteration, on average; ω adapts to it. None: 10, the paper's, or up to 12
        nodes 20, which is more than η offers there, so ω goes to its largest value.
    kappa
        η stays inside (κ, 1 − κ), so every edge is tried now and then. None: 0.01, or 1/n when that is smaller.
    moves
        What an iteration is: ``"paper"`` for PARNI's own blocks alone, ``"mixed"`` for the default mixture (see
        docs/adr/0010), or weights by move, such as ``{"parni": 0.5, "adr": 0.5}``. The
        moves are:
        {moves}
        Those marked "once" are made once in an iteration, the others about as often as PARNI evaluates neighbourhoods.
        Every move, and so every mixture, leaves the posterior invariant.
    rungs
        With more than one, every chain is the first rung of a ladder: the others walk on flatter versions of the
        likelihood, where nothing traps them, and neighbours exchange their graphs every 1000 iterations (parallel
        tempering, Geyer 1991). It costs as many times more, and crosses between modes that a chain alone does not.
    hottest
        Power of the likelihood on the last rung.

    Examples
    --------
    >>> from parnidag import samplers
    >>> samplers.PARNI(kernel="printed", target_evaluations=20).kernel
    'printed'
    """

    kernel: Literal["gibbs", "printed"] = "gibbs"
    eta: Literal["symmetric", "paper"] = "symmetric"
    adapt: Literal["tune", "always"] = "tune"
    target_evaluations: float | None = None
    kappa: float | None = None
    moves: Mapping[str, float] | Literal["paper", "mixed"] = field(default="mixed", hash=False)
    rungs: int = 1
    hottest: float = 0.3

    default_space: ClassVar[Literal["skeleton"]] = "skeleton"
    tunes: ClassVar[bool] = True
    fewest_steps_a_sweep: ClassVar[int] = ITERATIONS_A_SWEEP

    def __post_init__(self) -> None:
        one_of(self.kernel, "kernel", ("gibbs", "printed"))
        one_of(self.eta, "eta", ("symmetric", "paper"))
        one_of(self.adapt, "adapt", ("tune", "always"))
        if self.target_evaluations is not None:
            number(self.target_evaluations, "target_evaluations", above=0, most=MOST_EVALUATIONS, note="or None")
        if self.kappa is not None:
            number(self.kappa, "kappa", least=LEAST_KAPPA, below=0.5, note="or None")
        whole(self.rungs, "rungs", 1)
        number(self.hottest, "hottest", above=0, below=1)
        weights = move_weights(self.moves)
        if not isinstance(self.moves, str):
            object.__setattr__(self, "moves", weights)

    @property
    def alternatives(self) -> list[str]:
        plain = self.kernel == "printed" or self.eta == "paper" or len(move_weights(self.moves)) == 1
        moves, ladders = "samplers.PARNI() with its default moves", "samplers.PARNI(rungs=8)"
        return [*[moves] * plain, *[ladders] * (self.rungs == 1), "samplers.PartitionMCMC()"]

    @property
    def draws_cells(self) -> bool:
        return self.rungs == 1 and (self.moves == "mixed" or not TABLED & move_weights(self.moves).keys())

    @property
    def graphs_of_a_chain(self) -> int:
        return int(self.rungs)

    def default_thin(self, n_nodes: int) -> int:
        return max(500, min(20 * n_nodes, 10_000))

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        """Find where each chain starts, grow the space that was not given, and compute the warm start π̃ (Appendix C).

        Without a space every node's candidates are all others, or none when that is too many.
        """
        considered, given, chains = asked.considered, asked.given, asked.chains
        if considered is None:
            considered = np.asarray((target.problem.status == FREE) & (target.n_nodes <= FEW_NODES))
        found = Initial([], [])
        if chains or not (given or holds_everything(target, considered)):
            with asked.stages("initialiser"):
                found = initialise(target, considered, asked.seed, max(chains, 1))
        if not given and found.space is not None:
            considered = found.space.considered
        tables = None
        if TABLED & self._weights(target).keys():
            with asked.stages("tables"):
                candidates = shared_candidates(target, considered, [*found.graphs, *found.starts, *found.seen])
                tables = build_tables(target, candidates, plus_one=False)
        with asked.stages("warm start"):
            warm = warm_start(target, self._kappa(target.n_nodes), considered)
        prepared = Prepared(considered, tables, warm, None if given else found.space, found.starts[:chains] or None)
        with asked.stages("rungs"):
            return self.restored(target, prepared)

    def restored(self, target: Target, prepared: Prepared) -> Prepared:
        return replace(prepared, heated=heated_targets(target, prepared, int(self.rungs), float(self.hottest)))

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Give a new chain its rungs, and each its tuning parameters; η follows at the first iteration."""
        self._begin_rung(target, prepared, chain, tune)
        if prepared.heated:
            chain.rungs, chain.counts = make_rungs(prepared.heated, chain)
        for warmer, rung in zip(prepared.heated, chain.rungs, strict=True):
            self._begin_rung(warmer.target, replace(prepared, tables=warmer.tables), rung.chain, tune)

    def _begin_rung(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        assert prepared.warm is not None
        usual = 20.0 if target.n_nodes <= FEW_NODES else 10.0
        own = make_parni(
            prepared.warm,
            tune=tune,
            printed=self.kernel == "printed",
            symmetric=self.eta == "symmetric",
            always=self.adapt == "always",
            kappa=self._kappa(target.n_nodes),
            target_evaluations=usual if self.target_evaluations is None else float(self.target_evaluations),
        )
        chain.own = make_mixture(target, self._weights(target), own, prepared.tables)
        chain.tables = prepared.tables

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        return advance_rungs(self, target, chain, steps) if chain.rungs else advance_chain(target, chain, steps)

    def totals(self, chain: Chain) -> dict[str, float]:
        return mixture_totals(chain.own) | rung_totals(chain)

    def gauges(self, chain: Chain) -> dict[str, float]:
        omega = {"omega": named(chain.own.parni).omega} if chain.own.mixture.weights[0] > 0.0 else {}
        return omega | ({"round_trips": float(chain.counts.trips[0])} if chain.rungs else {})

    def describe(self) -> dict[str, object]:
        numbers = {"target_evaluations": self.target_evaluations, "kappa": self.kappa}
        return super().describe() | {name: None if x is None else float(x) for name, x in numbers.items()}

    def caveats(self, prepared: Prepared) -> list[str]:
        return [NEVER_FROZEN] if self.adapt == "always" else []

    def _weights(self, target: Target) -> dict[str, float]:
        if target.cells is not None and self.moves == "mixed":
            return MIXED_ON_CELLS
        return move_weights(self.moves, target.n_nodes)

    def _kappa(self, n_nodes: int) -> float:
        return min(0.01, 1 / n_nodes) if self.kappa is None else float(self.kappa)


_LISTED = "".join(f"\n        - ``{move.name}``: {move.about}{'' if move.burst else ' (once)'}" for move in MOVES)
PARNI.__doc__ = (PARNI.__doc__ or "").replace("        {moves}", f"{_LISTED}\n")
