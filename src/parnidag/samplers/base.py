"""The contract of every sampler, and the state of one chain.

A sampler is a frozen dataclass of settings, in a file of its own. `prepare` does once what all chains share and finds
where they start, `begin` gives a chain its own arrays, `advance` runs it in place. A chain is arrays alone: cut into
segments of any length, on any worker, it makes the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from parnidag._util.cores import WORTH_A_TURN
from parnidag.cells.choose import CompletedTable
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import GraphArrays, Scratch
from parnidag.kernels.declare import named
from parnidag.kernels.random import random_state
from parnidag.kernels.recorder import ChainArrays, RecorderArrays, make_recorder
from parnidag.kernels.types import Floats, Integers
from parnidag.space.search_space import SearchSpace
from parnidag.tables.all_sets import AllSets
from parnidag.tables.build import DEFAULT_MEMORY, CandidateTables
from parnidag.target import Target, lay_graph

BUFFERED_DRAWS = 256
"""Most draws a chain keeps before the run collects them."""
STEPS_A_SWEEP = 1000
"""Iterations, of one tried change each, between draws of cells."""
DEAR_SWEEP, MOST_SPACING = 4e-3, 10.0
"""Draws of cells that take longer, in seconds, come less often: ten times less at most."""
SECONDS_A_STEP, SECONDS_BESIDE_A_SWEEP = 4e-6, 2e-4
"""About what a chain that draws cells takes for an iteration, and for what goes with a draw of cells."""
STEPS_A_NODE, FEWEST_STEPS = 100, 2000
"""Iterations between draws of the level: so many that the scores this takes are a small part of the work."""
Stages = Callable[[str], AbstractContextManager[object]]
"""Announces and times a stage of the set-up: ``with stages("tables"): …``."""


class Heated(NamedTuple):
    """A flatter version of the posterior, and the tables of its search space."""

    target: Target
    tables: CandidateTables | None


@dataclass(frozen=True)
class Prepared:
    """What all chains of a run share."""

    considered: Adjacency | None = None
    """Candidate parents of every node (parent × child)."""
    tables: CandidateTables | None = None
    """Scores and sums of the search space."""
    warm: Floats | None = None
    """PARNI's first guess of the edge probabilities."""
    space: SearchSpace | None = None
    """The search space, when the sampler itself made it."""
    starts: list[Adjacency] | None = None
    """Where each chain starts, when the sampler was to find that."""
    sets: AllSets | None = None
    """Scores and sums of all parent sets, for few nodes."""
    heated: tuple[Heated, ...] = ()
    """Of a ladder: what its rungs walk on, but for the first."""


@dataclass
class Chain:
    """Everything one chain is made of."""

    index: int
    graph: GraphArrays
    recorder: RecorderArrays
    own: Any = None
    """The sampler's own arrays (a NamedTuple)."""
    tables: CandidateTables | None = None
    """The search space, if the sampler has one; shared by all chains and never written to."""
    sets: AllSets | None = None
    """All parent sets, if the sampler has them; shared likewise."""
    level: int = 0
    """At which of the values that are learned along with the graph the chain stands, see `samplers.levels`."""
    level_draws: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """How often each of them was drawn; empty if nothing is learned."""
    rungs: tuple[Rung, ...] = ()
    """Of a ladder: the chains that walk on flatter versions of the posterior."""
    counts: Any = None
    """Of a ladder: its counters (a NamedTuple)."""
    cells: CompletedTable | None = None
    """How the chain completes a table with cells that are not known."""
    law: Target | None = None
    """The target with its own completed table, if it has one; else it is that of the run."""
    _scratch: Scratch | None = field(default=None, repr=False, compare=False)

    def scratch(self, target: Target) -> Scratch:
        """Return the working memory, made when first needed on this worker."""
        if self._scratch is None:
            self._scratch = target.scratch()
        return self._scratch

    def parts(self, target: Target) -> ChainArrays:
        problem = target.at(self.level).problem
        if self.tables is not None and target.levels is not None:
            problem = problem._replace(shift=target.shift_between(self.level, self.tables.target.level))
        return ChainArrays(problem, self.graph, self.scratch(target), self.recorder)

    def forget(self) -> None:
        """Forget remembered scores: they are of another level."""
        if self._scratch is not None:
            self._scratch.cache["owner"] = 0
            self._scratch.direct.fill(np.nan)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": None}

    @property
    def iteration(self) -> int:
        return int(named(self.graph).now)

    @property
    def edge_count(self) -> int:
        """Edges of the present graph, required ones included."""
        return int(self.graph.degree.sum())

    @property
    def log_posterior(self) -> float:
        return float(named(self.graph).log_posterior)

    @property
    def memo_hit_rate(self) -> float:
        """Share of local scores that were remembered."""
        graph = named(self.graph)
        return float(graph.hits / max(graph.hits + graph.misses, 1))


class Rung(NamedTuple):
    target: Target
    chain: Chain


@dataclass(frozen=True)
class Asked:
    """What a run asks of a sampler's preparation."""

    considered: Adjacency | None = None
    """The candidate parents of every node (parent × child), if there is a search space."""
    seed: int = 0
    stages: Stages = nullcontext
    chains: int = 0
    """For how many of them a start is wanted."""
    given: bool = True
    """Whether the user chose the space."""


class Sampler:
    """What a run, a result and the command line ask of a sampler.

    A sampler is a frozen dataclass of settings that has `prepare`, `begin`, `advance` and `totals`; the rest has
    defaults.
    """

    default_space: ClassVar[Literal["none", "skeleton", "grown"]] = "none"
    """Which search space it is given when the user gives none."""
    restricted: ClassVar[bool] = False
    """Whether it never leaves its search space, but for one parent more where its tables say so."""
    walks_on_tables: ClassVar[bool] = False
    """Whether its law is what its tables say: then they follow all that is learned, not the score's values alone."""
    law: ClassVar[str] = ""
    """What its chains converge to, if that is not the posterior."""
    fewest_steps_a_sweep: ClassVar[int] = STEPS_A_SWEEP
    """Iterations between draws of cells that are not known, where these are few."""
    tunes: ClassVar[bool] = False
    """Whether its chains have tuning parameters, as PARNI's have."""

    @property
    def name(self) -> str:
        """Name for people."""
        return type(self).__name__

    @property
    def alternatives(self) -> list[str]:
        """What to try where this one finds chains in separated modes."""
        return ["samplers.PARNI()", "samplers.PartitionMCMC()"]

    @property
    def draws_cells(self) -> bool:
        """Whether it walks on while the cells of a table are drawn anew, which no table of parent sets survives."""
        return False

    @property
    def table_memory(self) -> float:
        """Bytes that its tables may take."""
        return DEFAULT_MEMORY

    @property
    def graphs_of_a_chain(self) -> int:
        """How many graphs, each with its own scores and counts, a chain has."""
        return 1

    def default_thin(self, n_nodes: int) -> int:
        """Return the iterations between stored draws when the user gives none: 100 per node, at least 5000."""
        return max(5000, 100 * n_nodes)

    def prepare(self, target: Target, asked: Asked) -> Prepared:
        """Compute once what all chains share; refuse a space that the sampler has no use for."""
        raise NotImplementedError

    def restored(self, target: Target, prepared: Prepared) -> Prepared:
        """Add what a checkpoint does not keep of what `prepare` made."""
        return prepared

    def begin(self, target: Target, prepared: Prepared, chain: Chain, tune: int) -> None:
        """Give a new chain the sampler's own arrays."""
        raise NotImplementedError

    def advance(self, target: Target, chain: Chain, steps: int) -> int:
        """Run at most `steps` iterations in place; return how many were made, fewer when the draw buffer is full."""
        raise NotImplementedError

    def totals(self, chain: Chain) -> dict[str, float]:
        """Return counters that only grow: at least `tried` and `accepted`."""
        raise NotImplementedError

    def steps_a_level(self, target: Target) -> int:
        """Return the iterations after which values that are learned along with the graph are drawn anew."""
        return max(STEPS_A_NODE * target.n_nodes, FEWEST_STEPS)

    def works_long(self, target: Target) -> bool:
        """Is compiled code at work for so long between draws of cells or levels that other chains should go on?"""
        every = self.steps_a_level(target) if target.cells is None else self.steps_a_sweep(target)
        return every * SECONDS_A_STEP >= WORTH_A_TURN

    def steps_a_sweep(self, target: Target) -> int:
        """Return the iterations after which cells that are not known are drawn anew: more where that takes long."""
        return self.fewest_steps_a_sweep * sweep_spacing(target)

    def seconds_with_cells(self, target: Target, iterations: int) -> float:
        """Return about how much CPU time so many iterations of a run that draws cells take, by their number."""
        assert target.cells is not None
        sweep = SECONDS_BESIDE_A_SWEEP + target.cells.sweep_seconds
        return iterations * (SECONDS_A_STEP + sweep / self.steps_a_sweep(target))

    def on_new_tables(self, chain: Chain) -> None:
        """Compute anew what the chain keeps of its tables, which are others than before."""

    def gauges(self, chain: Chain) -> dict[str, float]:
        """Return present values worth showing, such as ω."""
        return {}

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]

    def law_of(self, prepared: Prepared) -> str:
        """Name what the chains of a run converge to; nothing if it is the posterior over all graphs."""
        return self.law

    def caveats(self, prepared: Prepared) -> list[str]:
        """Say what a reader of the result must know about its law; nothing if it is the posterior over all graphs."""
        return []


def new_chain(
    target: Target,
    graph: Adjacency,
    seed: int,
    index: int,
    scratch: Scratch | None = None,
    cells: CompletedTable | None = None,
) -> Chain:
    """Return a chain that stands at `graph`, with its own random stream, and its own cells if it draws any."""
    law = None if cells is None else target.with_cells(cells)
    target = law or target
    arrays = target.empty_graph()
    arrays.rng[:] = random_state(seed, index)
    most = arrays.edges.size
    buffer_codes = max(BUFFERED_DRAWS * 4 * target.n_nodes, 2 * most)
    levels = np.zeros(0 if target.levels is None else target.levels.count, np.int64)
    recorder = make_recorder(most, buffer_codes, BUFFERED_DRAWS)
    chain = Chain(
        index, arrays, recorder, level=target.level, level_draws=levels, cells=cells, law=law, _scratch=scratch
    )
    if levels.size or cells is not None:
        chain.forget()  # whoever had the scratch before may have been at another level, or drawn other cells
    lay_graph(target.problem, arrays, chain.scratch(target), np.ascontiguousarray(graph))
    return chain


def sweep_spacing(target: Target) -> int:
    """Return by how much draws of cells are spaced out, where many cells make them dear.

    Counted, not timed, so that runs are the same everywhere. After some thousand steps of a chain draws of cells are
    nearly independent, and more steps between them would be for nothing.
    """
    seconds = 0.0 if target.cells is None else target.cells.sweep_seconds
    return round(min(max(seconds / DEAR_SWEEP, 1.0), MOST_SPACING))


def move_totals(moves: Sequence[str], tried: Integers, accepted: Integers) -> dict[str, float]:
    """Return counters of moves tried and accepted: in all, and for each kind that was ever tried."""
    totals = {"tried": float(tried.sum()), "accepted": float(accepted.sum())}
    for k, move in enumerate(moves):
        if tried[k]:
            totals |= {f"{move}_tried": float(tried[k]), f"{move}_accepted": float(accepted[k])}
    return totals
