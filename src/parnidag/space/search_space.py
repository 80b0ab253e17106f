"""A search space: which parents each node considers, and how that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.adjacency import adjacency_from_codes, edge_codes


class Round(NamedTuple):
    """One round of the expansion of a search space."""

    edges: int
    """Candidate edges (parent, child) of the space that was searched."""
    log_posterior: float
    """Log posterior of the best graph found in it, with one parent from outside allowed to every node."""
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class SearchSpace:
    """The candidate parents of every node; pass it to `parnidag.sample(..., space=...)`.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    considered : array of bool, shape (nodes, nodes)
        Read-only; [i, j] is True where i is a candidate parent of j.
    best : array of bool, shape (nodes, nodes), or None
        The best graph found on the way, [i, j] meaning i → j; None if there was no search.
    log_posterior : float or None
        Its log posterior.
    rounds : tuple of Round
        For each round of the expansion: candidate edges, log posterior of the best graph, seconds.
    seconds : float
        Time taken in all.
    """

    names: tuple[str, ...]
    considered: NDArray[np.bool_]
    best: NDArray[np.bool_] | None = None
    log_posterior: float | None = None
    rounds: tuple[Round, ...] = field(default=())
    seconds: float = 0.0

    def __post_init__(self) -> None:
        considered = np.array(self.considered, np.bool_)
        considered.flags.writeable = False
        object.__setattr__(self, "considered", considered)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The candidate edges (parent, child) as names."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(self.considered).tolist()]

    def describe(self) -> dict[str, Any]:
        """Return the space in a form that JSON can hold."""
        return {
            "edges": edge_codes(self.considered).tolist(),
            "best": None if self.best is None else edge_codes(self.best).tolist(),
            "log_posterior": self.log_posterior,
            "rounds": [list(round_) for round_ in self.rounds],
            "seconds": self.seconds,
        }

    @staticmethod
    def read(names: Sequence[str], described: dict[str, Any]) -> SearchSpace:
        """Return the space that `describe` wrote down."""
        n, best = len(names), described.get("best")
        return SearchSpace(
            tuple(names),
            adjacency_from_codes(np.array(described["edges"], np.int32), n),
            None if best is None else adjacency_from_codes(np.array(best, np.int32), n),
            described.get("log_posterior"),
            tuple(Round(*round_) for round_ in described.get("rounds", ())),
            float(described.get("seconds", 0.0)),
        )

    def __repr__(self) -> str:
        counts = self.considered.sum(axis=0)
        found = "" if self.log_posterior is None else f"; best graph {self.log_posterior:.2f}"
        grown = f" after {len(self.rounds)} rounds, {self.seconds:.3g} s" if self.rounds else ""
        return (
            f"SearchSpace({len(self.names)} nodes, {counts.mean():.1f} candidate parents on average, "
            f"at most {counts.max()}{found}{grown})"
        )
