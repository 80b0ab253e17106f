"""Two results against each other, and which of their differences are more than Monte-Carlo error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from parnidag._util.text import number_of
from parnidag.errors import ParnidagError
from parnidag.plots._axes import (
    GREY,
    MANY_POINTS,
    VERMILLION,
    Floats,
    axes_for,
    describe,
    edge_names,
    short,
    unit_limits,
)
from parnidag.plots._labels import MOST_LABELS, label_points
from parnidag.results.compare import side_by_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_VISIBLE = 0.01
"""Two results whose probabilities of an edge differ by less than this agree, however well both are known."""


def compare(
    a: Posterior, b: Posterior, *, names: tuple[str, str] = ("first", "second"), ax: Axes | None = None
) -> Axes:
    """Plot the edge probabilities of two results against each other, with bars of ± 2 Monte-Carlo standard errors.

    Edges that differ by at least 0.01, and by more than Monte-Carlo error explains, are marked, and the ten that differ
    most are named. The limit is such that of 20 pairs of runs on one posterior, 19 show no edge (Bonferroni).

    Parameters
    ----------
    a, b : Posterior
        Two results on the same nodes, in any order: of two samplers, scores, priors or data sets.
    names : (str, str), default ("first", "second")
        What to call them.

    Examples
    --------
    >>> from parnidag import exact, plots, scores, simulate
    >>> table = simulate(nodes=3, edges=2, rows=50, seed=1)
    >>> one, other = exact(table.values), exact(table.values, score=scores.BGe())
    >>> plots.compare(one, other, names=("Gaussian", "BGe")).get_xlabel()
    'edge probability, Gaussian'
    """
    matched = side_by_side(a, b, ("a", "b"))
    if isinstance(names, str) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ParnidagError(f"names: must be two texts, what to call a and b, not {names!r}")
    codes = np.flatnonzero(~np.eye(len(a.nodes), dtype=bool) & ((matched[0] > 0) | (matched[1] > 0)))
    x, y, x_error, y_error = (matrix.ravel()[codes] for matrix in matched)
    apart = differing(x, y, x_error, y_error, (_effective(a), _effective(b))) & (np.abs(x - y) >= _VISIBLE)
    ax, _ = axes_for(ax, (5.4, 5.2), square=True)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    for chosen, colour, marker in ((~apart, GREY, "o"), (apart, VERMILLION, "D")):
        ax.errorbar(
            x[chosen],
            y[chosen],
            xerr=2 * np.nan_to_num(x_error[chosen]),
            yerr=2 * np.nan_to_num(y_error[chosen]),
            fmt=marker,
            color=colour,
            markersize=4.5,
            elinewidth=0.8,
            alpha=0.8,
            zorder=3,
            rasterized=len(x) > MANY_POINTS,
        )
    worst = np.flatnonzero(apart)[np.argsort(-np.abs(x - y)[apart], kind="stable")][:MOST_LABELS]
    points = np.column_stack([x, y])
    label_points(ax, points[worst], edge_names(a, codes[worst]), points)
    title = f"{number_of(int(apart.sum()), 'edge')} apart" if apart.any() else "No edge apart"
    title += " beyond Monte-Carlo error" * bool((x_error + y_error != 0).any())
    describe(ax, title, *(f"edge probability, {short(name, 40)}" for name in names))
    unit_limits(ax)
    return ax


def _effective(posterior: Posterior) -> float:
    """Return how many independent graphs a result is worth at least."""
    if posterior.record.exact_probabilities is not None:
        return math.inf
    found = posterior.diagnostics()
    known = [ess for ess in (found.ess_edges_min, found.ess_log_posterior) if ess is not None]
    return max(min(known, default=1.0), 1.0)


def differing(
    x: Floats, y: Floats, x_error: Floats, y_error: Floats, effective: tuple[float, float]
) -> NDArray[np.bool_]:
    """Ask of each edge whether its two probabilities differ by more than Monte-Carlo error.

    An edge that never changed in a run has no known error there: it gets that of as many independent draws as the run
    is worth at least, at the mean of the two probabilities. Normal limits allow for the number of edges (Bonferroni).
    """
    if not len(x):
        return np.zeros(0, dtype=bool)
    middle = (x + y) / 2
    guess = [np.sqrt(middle * (1 - middle) / draws) for draws in effective]
    variance = sum(
        np.where(np.isnan(error), other, error) ** 2 for error, other in zip((x_error, y_error), guess, strict=True)
    )
    limit = -ndtri(0.025 / len(x))
    found: NDArray[np.bool_] = np.abs(x - y) > np.maximum(limit * np.sqrt(variance), 1e-9)
    return found
