"""A score for curved relations: each parent is a block of spline columns, and everything stays in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parnidag._util.checks import whole
from parnidag._util.splines import curves
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.kernels.problem import ScoreTable, gaussian_table
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.scores.base import Patterns, Score
from parnidag.scores.gaussian import Moments, check_positive, coefficients, flat_constant, refuse_wide_slab

MOST_COLUMNS = 20
MOST_MEMORY = 4e9
"""Bytes of the Gram matrices."""


@dataclass(frozen=True)
class Spline(Score):
    """Additive regressions: every node is a sum of smooth functions of its parents, plus Gaussian noise.

    A parent enters as `df` columns: itself, and df − 1 natural cubic splines with knots at its quantiles, made
    orthogonal to a straight line and scaled to variance 1. Coefficients have the priors Normal(0, g σ²) and
    Normal(0, g_curve σ²), noise variances p(σ²) ∝ 1/σ²; all are integrated out, as in `Gaussian`. Curved relations let
    the data tell cause from effect where straight ones cannot. This score is not score-equivalent.

    Parameters
    ----------
    df
        Columns of a parent, from 2 to 20. Columns with few distinct values get fewer bends.
    g
        Prior variance of the straight part, relative to the noise.
    g_curve
        The same for every curved column; the smaller, the less a straight relation pays for the bends it might have.
    """

    df: int = 4
    g: float = 10.0
    g_curve: float = 0.1

    def __post_init__(self) -> None:
        whole(self.df, "df", 2, MOST_COLUMNS)
        check_positive(self.g)
        check_positive(self.g_curve, "g_curve")

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        data.require_rows("scores.Spline")
        n, df = data.n_nodes, int(self.df)
        masks = [None if rows is None else data.codes_used(rows) for rows in patterns.rows]
        if 8.0 * len(masks) * (n * (df + 1)) ** 2 > MOST_MEMORY:
            raise ParnidagError(
                f"Spline(df={df}) on {n} nodes needs {len(masks)} matrices of {n * (df + 1)} columns, "
                "more than 4 GB; use a smaller df"
            )
        moments = _moments(self.columns(data), patterns.of_node, masks)
        parents, rows = np.arange(n * df + 1) / df, moments.counts[:, None]
        slabs = math.log(float(self.g)) + (df - 1) * math.log(float(self.g_curve))
        factors = coefficients(flat_constant(rows) - parents / 2 * slabs, -0.5, -rows / 2)
        shift = np.concatenate([np.zeros(n), np.tile(np.r_[1 / self.g, np.full(df - 1, 1 / self.g_curve)], n)])
        matrices = moments.grams + np.diag(shift)
        refuse_wide_slab(matrices[:, n:, n:], rows, float(max(self.g, self.g_curve)), "g or g_curve")
        return gaussian_table(matrices, moments.own(), factors, patterns.of_node, width=df)

    def columns(self, data: Data) -> Floats:
        """Return the columns of all regressions: the nodes as children, then the columns of each node as a parent."""
        straight = data.standardised_values()
        return np.column_stack([straight, *(np.column_stack([x, curves(x, self.df - 1)]) for x in straight.T)])


def _moments(columns: Floats, pattern: Integers, masks: Sequence[Flags | None]) -> Moments:
    """Return the cross products of all columns over each group's rows, centred on these."""
    grams, counts = [], []
    for mask in masks:
        rows = columns if mask is None else columns[mask]
        rows = rows - rows.mean(axis=0)
        grams.append(rows.T @ rows)
        counts.append(len(rows))
    return Moments(np.array(grams), np.array(counts, float), pattern)
