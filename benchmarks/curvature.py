"""Which score suits numbers: straight lines, or splines? Decided by a test that knows nothing of any true graph.

If all relations are straight and all noise is Gaussian, then the mean of every column given any one other is a
straight line, with noise of the same variance everywhere, and the F test for bends is exact: for each ordered pair of
columns the bends of one, as `scores.Spline` has them, are added to a regression of the other. Bonferroni's bound over
all pairs makes the share of such tables that are called curved at most `LEVEL`. A table may also be called curved
because its noise is skewed; the spline score then models what it can of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from parnidag import scores
from parnidag.scores.base import Score
from parnidag.scores.spline import curves

LEVEL = 0.01
BENDS = scores.Spline().df - 1


def curvature_p_value(values: NDArray[np.float64]) -> float:
    """Return Bonferroni's p-value of the most curved of all ordered pairs of columns."""
    rows, nodes = values.shape
    if rows < BENDS + 3:
        return 1.0
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    smallest = 1.0
    for i in range(nodes):
        line = standard[:, i]
        bends = curves(line, BENDS)
        bends = bends[:, bends.std(axis=0) > 0.5]
        count = bends.shape[1]
        if not count:
            continue
        straight = (line @ standard) ** 2 / rows
        curved = ((bends.T @ standard) ** 2).sum(axis=0) / rows
        left = np.maximum(rows - straight - curved, 1e-12 * rows)
        ratio = curved / count / (left / (rows - 2 - count))
        ratio[i] = 0.0
        smallest = min(smallest, float(stats.f.sf(ratio, count, rows - 2 - count).min()))
    return min(1.0, smallest * nodes * (nodes - 1))


def suited_score(values: NDArray[np.float64]) -> Score | None:
    """Return the spline score for tables in which a relation is curved, and None, the default, for all others."""
    return scores.Spline() if curvature_p_value(values) < LEVEL else None
