"""A score that no monotone transform of a column changes: Gaussian relations between normal scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from parnidag.data.table import Data
from parnidag.errors import DataError
from parnidag.kernels.problem import ScoreTable
from parnidag.scores.base import Patterns, Score, check_learnable
from parnidag.scores.gaussian import BGe, check_positive
from parnidag.scores.normal_scores import has_heavy_ties, normal_scores


@dataclass(frozen=True)
class Copula(Score):
    """A Gaussian copula: BGe between columns that each have been given a normal shape.

    Numbers enter by their normal scores: the i-th smallest of N is the normal quantile of (i − ½)/N. So skew, outliers
    and units do not matter, and neither does taking logarithms. Ordered classes, yes and no, and values that more than
    one in twenty rows share are intervals of a normal law that nobody saw; chains draw where in them each row lies
    (Hoff 2007; the margins are plugged in). Classes without order are blocks of orthogonal contrasts, scored together
    (Andrews, Ramsey and Cooper 2019). It is the default where such columns stand beside numbers.

    On a table of different numbers it is as fast as `BGe` and as exact. Graphs that imply the same independences score
    the same.

    Parameters
    ----------
    alpha_mu, alpha_w
        As for `BGe`, on the normal scores; "learn" is the default. A class without order counts as many columns as it
        has levels, less one.
    """

    learns: ClassVar[str] = "alpha_w"

    alpha_mu: float = 1.0
    alpha_w: float | tuple[float, ...] | Literal["learn"] | None = "learn"

    def __post_init__(self) -> None:
        check_positive(self.alpha_mu, "alpha_mu", "")
        if self.alpha_w is not None:
            check_learnable(self, partial(check_positive, argument="alpha_w", note=""), "a positive number")

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        return BGe().learned_values(n_nodes)

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        data.require_rows("scores.Copula")
        if has_heavy_ties(data.values, None if data.rules is None else data.rules.parents_only):
            raise DataError("columns with values that many rows share have no scores of their own: chains draw them")
        return self.between_scores().by_pattern(self.scored(data), patterns)

    def scored(self, data: Data) -> Data:
        """Return the normal scores of a complete table of numbers."""
        return Data(normal_scores(data.values), names=data.names, kind="continuous", interventions=data.intervened)

    def between_scores(self) -> BGe:
        """Return the score of normal scores."""
        return BGe(self.alpha_mu, self.alpha_w, standardise=False)
