"""What samplers on a search space have in common: tables, starting graphs and what to tell the reader."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.types import is_number
from parnidag.samplers.base import Chain, Prepared, Stages, silent_stage
from parnidag.space.search import starting_graphs
from parnidag.tables.build import DEFAULT_MEMORY, build_tables
from parnidag.target import Target


@dataclass(frozen=True)
class RestrictedSampler:
    """A sampler over the graphs of a search space: every node's parents are candidates, and at most one other.

    Parameters
    ----------
    plus_one
        Whether a node may take one parent from outside its candidates. None: if the tables then fit into `memory`.
    memory
        Bytes that the tables may take.
    """

    plus_one: bool | None = None
    memory: float = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        if self.plus_one not in (None, True, False):
            raise ParnidagError(f"plus_one must be True, False or None, got {self.plus_one!r}")
        if not is_number(self.memory) or not self.memory > 0:
            raise ParnidagError(f"memory must be a positive number of bytes, got {self.memory!r}")

    @property
    def name(self) -> str:
        """Name for people."""
        return type(self).__name__

    @property
    def default_space(self) -> Literal["skeleton", "grown"]:
        """A skeleton after iterative expansion."""
        return "grown"

    def prepare(
        self,
        target: Target,
        considered: Adjacency | None = None,
        seed: int = 0,
        stages: Stages = silent_stage,
        *,
        chains: int = 0,
        given: bool = True,
    ) -> Prepared:
        """Fill the tables of the search space; each chain starts at the best graph of a search of its own."""
        candidates = self.candidates(considered)
        with stages("tables"):
            tables = build_tables(target, candidates, plus_one=self.plus_one, memory=float(self.memory))
        if not chains:
            return Prepared(candidates, tables)
        with stages("starting graphs"):
            return Prepared(candidates, tables, starts=starting_graphs(tables, seed, chains))

    def candidates(self, considered: Adjacency | None) -> Adjacency:
        """Return the candidates, or say that they are missing."""
        if considered is None:
            raise ParnidagError(f"{self.name} needs a search space")
        return considered

    def gauges(self, chain: Chain) -> dict[str, float]:
        """Return nothing: there is nothing to tune."""
        return {}

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        return {"name": self.name, **asdict(self)}

    def caveats(self, prepared: Prepared) -> list[str]:
        """Say which graphs the result is about; nothing if that is all of them."""
        tables = prepared.tables
        assert tables is not None
        if tables.covers_everything:
            return []
        other = " and at most one other" if tables.plus_one else ""
        return [
            f"only graphs of the search space were sampled: every node's parents are among its candidates{other}. "
            "Where the space lacks a good graph, edges inside it can be far too probable too: compare with a grown "
            "space, space.iterative, or with PARNI, REV, ADR or MC3, which sample all graphs"
        ]
