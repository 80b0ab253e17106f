"""A result over a panel as pictures: times side by side, variables with their lags, responses step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from parnidag._util.checks import number, whole
from parnidag._util.text import number_of
from parnidag.errors import ParnidagError
from parnidag.plots._axes import (
    GREY,
    INK,
    PALE,
    PLAIN,
    PROBABILITY_MAP,
    add_legend,
    axes_for,
    check_posterior,
    colour_of,
    describe,
    line_of,
    need_draws,
    plain,
    short,
)
from parnidag.plots.graphs import EDGE_MAP, draw_rolled
from parnidag.results.dynamics import Slices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_MOST_PAIRS = 200
_CLEAR, _BEYOND = 0.3, 0.62
"""How far from the middle of a name an edge passes it, and how far beyond the first and last row it may go, in rows."""
_ASIDE = [0.0, *(sign * offset for offset in np.arange(0.35, 1.5, 0.1).tolist() for sign in (-1, 1))]
"""How far aside the middle of an edge may lie, in rows; the first that will do is taken."""
_COLUMN, _ROW = 2.4, 0.62
"""Inches from one time to the next, and from one variable to the next."""


def slices(posterior: Posterior, *, threshold: float = 0.5, steps: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw a dynamic network with the times side by side, the past on the left.

    By default the edges into the present alone, which say all: of two slices, or more if there are more lags. With
    `steps` the network is rolled out over so many times, and every edge is there whenever both its ends are.

    Parameters
    ----------
    threshold : float, default 0.5
        Smallest probability of an edge that is drawn, above 0 and at most 1.
    steps : int, optional
        The number of times.
    """
    check_posterior(posterior)
    number(threshold, "threshold", above=0, most=1)
    found = _slices_of(posterior, "slices")
    times = found.lags + 1 if steps is None else whole(steps, "steps", 2, 30)
    chances = posterior.edge_probabilities.to_numpy()
    count, fixed = len(found.variables), len(found.static)
    by_lag, from_static = found.by_lag(chances), found.from_static(chances)
    ax, _ = axes_for(ax, (_COLUMN * (times + bool(fixed)), 1.0 + _ROW * max(count, fixed)))
    drawn = 0
    for time in range(times) if steps is not None else [times - 1]:
        for lag, i, j in np.argwhere(by_lag >= threshold).tolist():
            if lag <= time:
                _arrow(ax, (time - lag, i), (time, j), float(by_lag[lag, i, j]), count)
                drawn += 1
        for k, j in np.argwhere(from_static >= threshold).tolist():
            _arrow(ax, (-1, k), (time, j), float(from_static[k, j]), count)
            drawn += 1
    for time in range(times):
        before = times - 1 - time
        heading = f"time {time + 1}" if steps is not None else f"t − {before}" if before else "t"
        _column(ax, time, heading, found.variables)
    if fixed:
        _column(ax, -1, "static", found.static)
    ax.set(xlim=(-1.6 if fixed else -0.6, times - 0.2), ylim=(max(count, fixed) - 0.4, -1.1))
    ax.set_axis_off()
    plain([ax.set_title(f"{number_of(drawn, 'edge')}, probability ≥ {threshold:g}")])
    mappable = ScalarMappable(Normalize(0.0, 1.0), EDGE_MAP)
    ax.figure.colorbar(mappable, ax=ax, label="edge probability", shrink=0.6, aspect=25, fraction=0.04, pad=0.02)
    return ax


def _column(ax: Axes, x: float, heading: str, names: tuple[str, ...]) -> None:
    texts = [ax.text(x, -0.8, heading, ha="center", va="center", color=GREY)]
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.8}
    texts += [
        ax.text(x, row, short(name), ha="center", va="center", color=INK, bbox=box, zorder=5)
        for row, name in enumerate(names)
    ]
    plain(texts)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], probability: float, count: int) -> None:
    """Draw an edge; within a time it bends to the right, so that it does not run through other names."""
    same = start[0] == end[0]
    bend = (0.45 if end[1] < start[1] else -0.45) if same else _bend(start, end, count)
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=11.0,
            color=EDGE_MAP(probability),
            linewidth=0.6 + 1.6 * probability,
            shrinkA=22.0 if not same else 12.0,
            shrinkB=24.0 if not same else 13.0,
            zorder=2 + probability,
        )
    )


def _bend(start: tuple[float, float], end: tuple[float, float], count: int) -> float:
    """Return how far an edge bends aside, as a share of its length, to run past the names between its ends."""
    (x0, y0), (x1, y1) = start, end
    between = np.arange(x0 + 1, x1) / (x1 - x0) - x0 / (x1 - x0)
    for aside in _ASIDE:
        rows = y0 + (y1 - y0) * between + 4 * aside * between * (1 - between)
        beside = np.abs(rows - np.clip(np.round(rows), 0, count - 1))
        if (beside > _CLEAR).all() and (rows > -_BEYOND).all() and (rows < count - 1 + _BEYOND).all():
            return float(2 * aside * _ROW / ((x1 - x0) * _COLUMN))
    return 0.0


def rolled(posterior: Posterior, *, threshold: float = 0.5, ax: Axes | None = None) -> Axes:
    """Draw which variable acts on which, and after how many steps: one node for each variable.

    The numbers on an arrow are its lags, 0 within a time; an edge of a variable to itself is a ring. Wider and darker
    arrows are more probable, at their surest lag.

    Parameters
    ----------
    threshold : float, default 0.5
        Smallest probability of an edge that is drawn, above 0 and at most 1.
    """
    check_posterior(posterior)
    number(threshold, "threshold", above=0, most=1)
    found = _slices_of(posterior, "rolled")
    chances = posterior.edge_probabilities.to_numpy()
    count, names = len(found.variables), [*found.variables, *found.static]
    by_lag = np.zeros((1 + found.lags, len(names), len(names)))
    by_lag[:, :count, :count] = found.by_lag(chances)
    by_lag[0, count:, :count] = found.from_static(chances)
    ax = draw_rolled([short(name) for name in names], by_lag, threshold, count, ax)
    edges = int((by_lag >= threshold).sum())
    plain([ax.set_title(f"{number_of(edges, 'edge')}, probability ≥ {threshold:g}; numbers are lags")])
    return ax


def lags(posterior: Posterior, *, count: int = 25, ax: Axes | None = None) -> Axes:
    """Plot at which lags variables act on each other: a row for each pair, the surest first, a column for each lag.

    Parameters
    ----------
    count : int, default 25
        At most so many pairs.
    """
    check_posterior(posterior)
    whole(count, "count", 1, _MOST_PAIRS)
    found = _slices_of(posterior, "lags")
    pairs, values = found.by_pair(posterior.edge_probabilities.to_numpy())
    pairs, values = pairs[:count], values[:count].copy()
    for row, (one, other) in enumerate(pairs):
        if one == other:
            values[row, 0] = np.nan
    ax, _ = axes_for(ax, (3.6 + 0.5 * values.shape[1], 1.2 + 0.26 * len(pairs)))
    image = ax.imshow(
        values, cmap=PROBABILITY_MAP.with_extremes(bad=PALE), vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest"
    )
    for (row, column), value in np.ndenumerate(values):
        if value >= 0.005:
            colour = "white" if value > 0.55 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="small", color=colour)
    ax.set_yticks(range(len(pairs)), [f"{short(one)} → {short(other)}" for one, other in pairs], **PLAIN)
    ax.set_xticks(range(values.shape[1]))
    describe(ax, "Edge probabilities by lag", "lag (0: within a time)", "", closed=True)
    ax.figure.colorbar(image, ax=ax, label="probability", fraction=0.046, pad=0.03, aspect=25)
    return ax


def impulse(
    posterior: Posterior,
    cause: str,
    *,
    steps: int = 10,
    count: int = 6,
    standardised: bool = True,
    data: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot how variables respond over time if one is set a unit higher once; bands from the 5 % to the 95 % quantile.

    Parameters
    ----------
    cause : str
        The variable that is set.
    steps, standardised, data
        As for `Posterior.impulse_responses`.
    count : int, default 6
        At most so many variables, those that respond most.
    """
    need_draws(posterior, "impulse")
    whole(count, "count", 1)
    found = posterior.impulse_responses(cause, steps, standardised=standardised, data=data)
    mean, low, high = found.mean, found.low, found.high
    shown = mean.abs().max().sort_values(ascending=False, kind="stable").index[:count]
    ax, own = axes_for(ax, (7.0, 3.6))
    lines = []
    for k, name in enumerate(shown):
        ax.fill_between(mean.index, low[name], high[name], color=colour_of(k), alpha=0.15, linewidth=0)
        lines += ax.plot(
            mean.index, mean[name], color=colour_of(k), linestyle=line_of(k // 7), marker="o", markersize=3
        )
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    units = "standard deviations" if standardised else "units of the columns"
    describe(ax, f"Responses to one more of {short(cause)}", "steps later", units)
    add_legend(ax, own, lines, [short(name) for name in shown])
    return ax


def _slices_of(posterior: Posterior, plot: str) -> Slices:
    found = Slices.known(posterior.record.settings)
    if found is None:
        raise ParnidagError(f"posterior: plots.{plot} shows time, so the data must be a parnidag.Panel")
    return found
