"""Do the chains agree? Traces, ranks, numbers of edges, running probabilities, and chains against each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from parnidag._util.text import number_of
from parnidag.plots._axes import (
    BLACK,
    Floats,
    add_legend,
    axes_for,
    check_count,
    colour_of,
    describe,
    line_of,
    marker_of,
    need_chains,
    need_draws,
    open_frame,
)
from parnidag.results.convergence import rank_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_BLOCKS = 40
"""Means that a trace shows of each chain, over as many stretches of draws."""

_SMOOTHED_FROM = 4 * _BLOCKS

_MOST_BARS = 40
"""Numbers of edges that are told apart; if there are more, neighbours are put together."""


def trace(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot the log posterior of the stored draws, chain by chain.

    Chains that have settled wander about the same level. A climb at the left says that tuning was too short; chains
    side by side at different levels sit in different modes. The heavy lines are means over stretches of draws.

    Parameters
    ----------
    posterior : Posterior
        Of `parnidag.sample`; exact results have no chains.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import parnidag
    >>> from parnidag import plots
    >>> table = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1)
    >>> posterior = parnidag.sample(table.values, draws=50, tune=500, thin=10, chains=2, seed=1, progress=False)
    >>> ax = plots.trace(posterior)
    >>> ax.get_xlabel(), len(ax.lines)
    ('draw (one every 10 iterations)', 2)
    """
    need_chains(posterior, "trace")
    need_draws(posterior, "trace")
    ax, own = axes_for(ax, (7.2, 3.4))
    values = posterior.log_posterior
    chains, draws = values.shape
    smoothed = draws >= _SMOOTHED_FROM
    numbers = np.arange(1, draws + 1)
    handles = []
    for chain in range(chains):
        (line,) = ax.plot(
            numbers, values[chain], color=colour_of(chain), linewidth=0.6, alpha=0.35 if smoothed else 0.9, zorder=2
        )
        handles.append(line)
    if smoothed:
        handles = [_block_means(ax, values[chain], chain) for chain in range(chains)]
    thin = posterior.record.settings.get("thin")
    describe(
        ax,
        "Log posterior by chain",
        f"draw (one every {number_of(int(thin), 'iteration')})" if thin else "draw",
        "log posterior (nats, up to a constant)",
    )
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.margins(x=0.01)
    open_frame(ax)
    add_legend(ax, own, handles, [f"chain {chain + 1}" for chain in range(chains)], "lower right")
    return ax


def _block_means(ax: Axes, values: Floats, chain: int) -> Line2D:
    """Draw the means of stretches of a trace as one heavy line, in the style of the chain."""
    blocks = np.array_split(np.arange(len(values)), _BLOCKS)
    (line,) = ax.plot(
        [block.mean() + 1 for block in blocks],
        [values[block].mean() for block in blocks],
        color=colour_of(chain),
        linestyle=line_of(chain),
        linewidth=1.8,
        zorder=3,
    )
    return line


def rank(posterior: Posterior, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Plot rank histograms of the log posterior, a row for each chain (Vehtari et al. 2021).

    All draws are ranked together. If the chains explore the same distribution, each has as many draws in every part of
    the ranks: flat histograms. A chain with mostly low ranks sits in a worse mode; one that is heaped at both ends, or
    in the middle, moves more, or less, widely than the others.
    Dashed lines are where flat histograms would end.

    Parameters
    ----------
    posterior : Posterior
        Of `parnidag.sample`; exact results have no chains.
    bins : int, default 20
        Bars of each histogram, at least 2.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import parnidag
    >>> from parnidag import plots
    >>> table = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1)
    >>> posterior = parnidag.sample(table.values, draws=50, tune=500, thin=10, chains=2, seed=1, progress=False)
    >>> ax = plots.rank(posterior, bins=5)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['chain 1', 'chain 2']
    """
    need_chains(posterior, "rank")
    need_draws(posterior, "rank")
    check_count("bins", bins, 2)
    values = posterior.log_posterior
    chains, draws = values.shape
    ax, _ = axes_for(ax, (7.2, 1.2 + 0.75 * chains))
    counts = rank_counts(values, bins)
    expected = draws / bins
    scale = 0.85 / max(counts.max(), 2 * expected)
    edges = np.linspace(0, values.size, bins + 1)
    for chain in range(chains):
        foot = chains - 1 - chain  # the first chain on top
        ax.bar(
            edges[:-1],
            scale * counts[chain],
            np.diff(edges),
            bottom=foot,
            align="edge",
            color=colour_of(chain),
            edgecolor="white",
            linewidth=0.6,
            alpha=0.85,
            zorder=2,
        )
        ax.axhline(foot + scale * expected, color=BLACK, linestyle=(0, (4, 2)), linewidth=1.0, zorder=3)
    ax.set(xlim=(0, values.size), ylim=(0, chains))
    ax.set_yticks(chains - 1 - np.arange(chains) + scale * expected, [f"chain {k + 1}" for k in range(chains)])
    ax.tick_params(axis="y", length=0)
    describe(
        ax,
        "Ranks of the log posterior",
        f"rank among all {values.size:,} draws",
        "draws in each bar (dashed: expected)",
    )
    open_frame(ax)
    return ax


def edge_count(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot how many edges the stored graphs have, chain by chain.

    Parameters
    ----------
    posterior : Posterior
        Of `parnidag.sample`, or exact with stored draws.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import parnidag
    >>> from parnidag import plots
    >>> table = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1)
    >>> ax = plots.edge_count(parnidag.exact(table.values, draws=100, seed=1))
    >>> sum(ax.lines[0].get_ydata()).item()
    1.0
    """
    need_draws(posterior, "edge_count")
    ax, own = axes_for(ax, (6.4, 3.4))
    record = posterior.record
    sizes = np.diff(record.graph_offsets)[record.graph_index]
    width = max(math.ceil(float(np.ptp(sizes) + 1) / _MOST_BARS), 1)
    bounds = np.arange(max(sizes.min() - width, 0), sizes.max() + 2 * width + 1, width)
    middles = bounds[:-1] + (width - 1) / 2
    handles = []
    for chain, row in enumerate(sizes):
        (line,) = ax.plot(
            middles,
            np.histogram(row, bounds)[0] / len(row),
            color=colour_of(chain),
            linestyle=line_of(chain),
            linewidth=1.3,
            marker=marker_of(chain),
            markersize=6,
            markerfacecolor="none",  # so that chains on top of each other all show
        )
        handles.append(line)
    y = "share of draws" if width == 1 else f"share of draws (in steps of {width} edges)"
    describe(ax, "Number of edges", "edges of the graph (number)", y)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    open_frame(ax)
    if record.exact_probabilities is None:
        add_legend(ax, own, handles, [f"chain {chain + 1}" for chain in range(len(sizes))], "upper right")
    return ax
