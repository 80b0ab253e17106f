"""What causes do: effects one by one, with the chance that there is none, and all of them as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from parnidag._util.checks import one_of, whole
from parnidag.plots._axes import (
    BLUE,
    GREY,
    PALE,
    PLAIN,
    VERMILLION,
    Floats,
    add_legend,
    axes_for,
    describe,
    need_draws,
    short,
)
from parnidag.plots.maps import name_cells, node_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.effects.classes import ClassEffects
    from parnidag.effects.totals import Effects
    from parnidag.results.posterior import Posterior

SIGN_MAP = LinearSegmentedColormap.from_list(
    "parnidag_sign", ["#8c3a00", VERMILLION, "#f3b893", "#ffffff", "#8fc3e3", BLUE, "#003f66"]
)
"""Lowering in vermillion, raising in blue, white where there is nothing."""
LARGEST_DOT = 150.0
"""Area of the dot at zero if there is surely no effect."""
CURVES_SHOWN = 12
NUMBERS_UP_TO, MOST_MAPPED = 12, 200


def effects(
    posterior: Posterior,
    *,
    cause: str | None = None,
    effect: str | None = None,
    count: int = 20,
    standardised: bool | None = None,
    data: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot total effects as a forest: what each may be if there is one, and how probable it is that there is none.

    Lines reach from the 5 % to the 95 % quantile, and their thick part from 25 % to 75 %, of the draws that have a
    directed path; the dot on them is the mean of these. The area of the ring at zero is the probability of no path.

    Parameters
    ----------
    cause, effect : str, optional
        Only the effects of this node, or on this one.
    count : int, default 20
        At most so many, those that are surest to exist.
    standardised, data
        As for `Posterior.effects`.

    Examples
    --------
    >>> from parnidag import plots, sample, simulate
    >>> posterior = sample(simulate(nodes=4, edges=4, rows=80, seed=1).values, draws=50, seed=1, progress=False)
    >>> plots.effects(posterior, cause="X0").get_xlabel()
    'total effect, in units of the columns'
    """
    need_draws(posterior, "effects")
    whole(count, "count", 1)
    found = posterior.effects(standardised=standardised, data=data)
    table = found.summary(cause, effect).head(count)
    ax, own = axes_for(ax, (7.0, 1.4 + 0.32 * len(table)))
    classes = "level" in table
    levels = [("", "")] * len(table) if not classes else list(zip(table["set_to"], table["level"], strict=True))
    pairs = list(zip(table["cause"], table["effect"], strict=True))
    for place, (pair, at, none) in enumerate(zip(pairs, levels, table["zero"].tolist(), strict=True)):
        _draw_effect(ax, place, found.draws(*pair, set_to=at[0] or None, level=at[1] or None).ravel(), none)
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ends = [
        [short(name) + (f" = {short(at)}" if at else "") for name, at in zip(*row, strict=True)]
        for row in zip(pairs, levels, strict=True)
    ]
    labels = [" → ".join(both) for both in ends]
    ax.set_yticks(range(len(table)), labels, **PLAIN)
    ax.set_ylim(len(table) - 0.4, -0.6)
    title = "Effects" + (f" of {short(cause)}" if cause else "") + (f" on {short(effect)}" if effect else "")
    describe(ax, title, RISK if _has_classes(posterior) else f"total effect, in {_units(found)}", "cause → effect")
    handles = [_mark(BLUE, "o"), _mark(VERMILLION, "o"), _mark(GREY, "o", "none")]
    add_legend(ax, own, handles, ["raises", "lowers", "no effect (by area)"])
    return ax


RISK = "risk difference, against the first level of the cause"


def _units(found: Effects | ClassEffects) -> str:
    return str(getattr(found, "units", ""))


def _mark(colour: str, marker: str, inside: str | None = None) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, linestyle="none", markerfacecolor=inside or colour)


def _draw_effect(ax: Axes, place: int, drawn: Floats, none: float) -> None:
    """Draw the effects of the draws that have one, and how many have not."""
    there = drawn[drawn != 0.0]
    if there.size:
        low, lower, upper, high = np.quantile(there, [0.05, 0.25, 0.75, 0.95])
        mean = float(there.mean())
        colour = BLUE if mean > 0 else VERMILLION
        faint = 0.25 + 0.75 * (1.0 - none)
        ax.plot([low, high], [place, place], color=colour, linewidth=1.2, alpha=faint, zorder=2)
        ax.plot([lower, upper], [place, place], color=colour, linewidth=4.0, alpha=faint, zorder=2)
        ax.scatter([mean], [place], s=26, color=colour, edgecolors="white", linewidths=0.8, zorder=4)
    if none > 0.0:
        ax.scatter([0.0], [place], s=LARGEST_DOT * none, facecolors="none", edgecolors=GREY, linewidths=1.2, zorder=3)


def _has_classes(posterior: Posterior) -> bool:
    return (posterior.record.settings.get("score") or {}).get("name") == "BDeu"


def _means(found: Effects | ClassEffects) -> Floats:
    """Return a mean for each pair of nodes (causes × effects)."""
    if found.mean.index.nlevels == 1:
        return found.mean.to_numpy().copy()
    table = found.largest().pivot(index="cause", columns="effect", values="mean")
    return table.reindex(index=found.nodes, columns=found.nodes).to_numpy().copy()


def dose_response(
    posterior: Posterior,
    cause: str,
    effect: str,
    *,
    values: Sequence[float] | None = None,
    data: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean of one node for each value that another is set to, with bands of 50 % and 90 % and some draws.

    Parameters
    ----------
    cause, effect : str
        The node that is set, and the one that is looked at.
    values, data
        As for `Posterior.dose_response`.

    Examples
    --------
    >>> from parnidag import plots, sample, simulate
    >>> posterior = sample(simulate(nodes=3, edges=3, rows=80, seed=1).values, draws=50, seed=1, progress=False)
    >>> plots.dose_response(posterior, "X0", "X1").get_xlabel()
    'X0, set from outside'
    """
    need_draws(posterior, "dose_response")
    found = posterior.dose_response(cause, effect, values, data=data)
    ax, own = axes_for(ax, (6.4, 4.2))
    order = np.argsort(found.values, kind="stable")
    x, curves = found.values[order], found.expected.reshape(-1, len(order))[:, order]
    low, lower, upper, high = np.quantile(curves, [0.05, 0.25, 0.75, 0.95], axis=0)
    wide = ax.fill_between(x, low, high, color=BLUE, alpha=0.18, linewidth=0)
    narrow = ax.fill_between(x, lower, upper, color=BLUE, alpha=0.3, linewidth=0)
    places = np.linspace(0, len(curves) - 1, min(len(curves), CURVES_SHOWN)).astype(int)
    lines = ax.plot(x, curves[places].T, color=GREY, linewidth=0.6, alpha=0.6)
    (mean,) = ax.plot(x, found.mean.to_numpy()[order], color=BLUE, linewidth=2.0)
    none = f"; no effect with probability {found.no_effect:.2g}" if found.no_effect > 0 else ""
    describe(
        ax,
        f"{short(effect)} if {short(cause)} is set{none}",
        f"{short(cause)}, set from outside",
        f"mean of {short(effect)}" if found.effect == effect else f"probability of {short(found.effect)}",
    )
    add_legend(ax, own, [mean, narrow, wide, lines[0]], ["mean", "50 % of the posterior", "90 %", "single draws"])
    return ax


def effect_matrix(
    posterior: Posterior,
    *,
    order: Literal["causal", "given", "cluster"] = "causal",
    standardised: bool = True,
    data: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean of every total effect as a map: rows are causes, columns effects.

    Of classes the largest mean risk difference of each pair is shown.

    Parameters
    ----------
    order : {"causal", "given", "cluster"}, default "causal"
        The order of the nodes, as for `heatmap`.
    standardised : bool, default True
        Whether effects of numbers are in standard deviations, which alone compare between columns.
    data
        As for `Posterior.effects`.
    """
    need_draws(posterior, "effect_matrix")
    one_of(order, "order", ("causal", "given", "cluster"))
    classes = _has_classes(posterior)
    found = posterior.effects(standardised=None if classes else standardised, data=data)
    places = node_order(posterior, order)[:MOST_MAPPED]
    shown = _means(found)[np.ix_(places, places)]
    np.fill_diagonal(shown, np.nan)
    n = len(shown)
    names = [short(posterior.nodes[node]) for node in places]
    cell = float(np.clip(6.0 / n, 0.1, 0.55))
    margin = 0.09 * max(map(len, names)) * (1.0 if n <= 25 else 0.65) + 0.6
    ax, own = axes_for(ax, (max(n * cell + margin + 1.2, 3.6), max(n * cell + margin + 0.1, 2.8)), square=True)
    most = float(np.nanmax(np.abs(shown), initial=0.0)) or 1.0
    image = ax.imshow(shown, cmap=SIGN_MAP.with_extremes(bad=PALE), vmin=-most, vmax=most, interpolation="nearest")
    if n <= NUMBERS_UP_TO:
        for (row, column), value in np.ndenumerate(shown):
            if abs(value) >= 0.005 * most:
                colour = "white" if abs(value) > 0.6 * most else "black"
                text = (
                    f"{value:.2f}"
                    if standardised or classes
                    else f"{value:,.0f}"
                    if abs(value) >= 100
                    else f"{value:.2g}"
                )
                ax.text(column, row, text, ha="center", va="center", fontsize="small", color=colour)
    name_cells(ax, names, cell if own else ax.get_window_extent().height / ax.figure.dpi / n)
    cut = f", the first {MOST_MAPPED} nodes" if len(posterior.nodes) > MOST_MAPPED else ""
    describe(ax, f"Mean total effects{cut}", "effect", "cause", closed=True)
    label = "largest mean risk difference" if classes else f"total effect, in {_units(found)}"
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.046, pad=0.03, aspect=25)
    return ax
