"""Do the chains agree? Traces, ranks, numbers of edges, running probabilities, and chains against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from parnidag._util.checks import one_of, whole
from parnidag._util.text import number_of
from parnidag.errors import ParnidagError
from parnidag.plots._axes import (
    BLACK,
    GREY,
    SAME,
    add_legend,
    axes_for,
    codes_of,
    colour_of,
    describe,
    dots,
    edge_names,
    line_of,
    marker_of,
    need_chains,
    need_draws,
    unit_limits,
)
from parnidag.plots._labels import MOST_LABELS, label_points
from parnidag.results.convergence import chain_probabilities, edge_disagreement, edge_mcse, rank_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_BLOCKS = 40
"""Means that a trace shows of each chain, over as many stretches of draws; none of draws fewer than four times this."""
_MOST_BARS = 40
"""Numbers of edges that are told apart; if there are more, neighbours are put together."""


def trace(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot the log posterior of the stored draws, chain by chain.

    Chains that have settled wander about the same level. A climb at the left says that tuning was too short; chains
    side by side at different levels sit in different modes. The heavy lines are means over stretches of draws.
    """
    need_chains(posterior, "trace")
    need_draws(posterior, "trace")
    ax, own = axes_for(ax, (7.2, 3.4))
    values = posterior.log_posterior
    chains, draws = values.shape
    smoothed = draws >= 4 * _BLOCKS
    numbers = np.arange(1, draws + 1)
    alpha = 0.35 if smoothed else 0.9
    handles = []
    for chain, row in enumerate(values):
        handles += ax.plot(numbers, row, color=colour_of(chain), linewidth=0.6, alpha=alpha, zorder=2)
    if smoothed:
        blocks = np.array_split(np.arange(draws), _BLOCKS)
        middles = [block.mean() + 1 for block in blocks]
        handles = []
        for chain, row in enumerate(values):
            means = [row[block].mean() for block in blocks]
            handles += ax.plot(
                middles, means, color=colour_of(chain), linestyle=line_of(chain), linewidth=1.8, zorder=3
            )
    thin = posterior.record.settings.get("thin")
    x = f"draw (one every {number_of(int(thin), 'iteration')})" if thin else "draw"
    describe(ax, "Log posterior by chain", x, "log posterior (nats, up to a constant)")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.margins(x=0.01)
    add_legend(ax, own, handles, [f"chain {chain + 1}" for chain in range(chains)], "lower right")
    return ax


def rank(posterior: Posterior, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Plot rank histograms of the log posterior, a row for each chain (Vehtari et al. 2021).

    All draws are ranked together. If the chains explore the same distribution, each has as many draws in every part of
    the ranks: flat histograms. A chain with mostly low ranks sits in a worse mode; one that is heaped at both ends, or
    in the middle, moves more, or less, widely than the others.
    Dashed lines are where flat histograms would end.

    Parameters
    ----------
    bins : int, default 20
        Bars of each histogram, at least 2.
    """
    need_chains(posterior, "rank")
    need_draws(posterior, "rank")
    whole(bins, "bins", 2)
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
    x = f"rank among all {values.size:,} draws"
    describe(ax, "Ranks of the log posterior", x, "draws in each bar (dashed: expected)")
    return ax


def edge_count(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot how many edges the stored graphs have, chain by chain; of an exact result all together."""
    need_draws(posterior, "edge_count")
    ax, own = axes_for(ax, (6.4, 3.4))
    record = posterior.record
    sizes = np.diff(record.graph_offsets)[record.graph_index]
    if record.exact_probabilities is not None:
        sizes = sizes.reshape(1, -1)
    width = max(math.ceil(float(np.ptp(sizes) + 1) / _MOST_BARS), 1)
    bounds = np.arange(max(sizes.min() - width, 0), sizes.max() + 2 * width + 1, width)
    middles = bounds[:-1] + (width - 1) / 2
    handles = []
    for chain, row in enumerate(sizes):
        handles += ax.plot(
            middles,
            np.histogram(row, bounds)[0] / len(row),
            color=colour_of(chain),
            linestyle=line_of(chain),
            linewidth=1.3,
            marker=marker_of(chain),
            markersize=6,
            markerfacecolor="none",  # so that chains on top of each other all show
        )
    y = "share of draws" if width == 1 else f"share of draws (in steps of {width} edges)"
    describe(ax, "Number of edges", "edges of the graph (number)", y)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if record.exact_probabilities is None:
        add_legend(ax, own, handles, [f"chain {chain + 1}" for chain in range(len(sizes))], "upper right")
    return ax


def running(
    posterior: Posterior,
    edges: Sequence[tuple[str, str]] | Literal["worst", "uncertain"] = "worst",
    *,
    count: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Plot edge probabilities as they were after each part of the run: a colour for each edge, a style for each chain.

    Lines that still move at the right end, or that end apart, are not to be trusted: run longer.

    Parameters
    ----------
    edges : "worst", "uncertain" or list of (parent, child), default "worst"
        Which edges: those with the largest Monte-Carlo error, those with probabilities nearest to 0.5, or these.
    count : int, default 4
        How many edges, unless they are named.

    Examples
    --------
    >>> from parnidag import plots, sample, simulate
    >>> table = simulate(nodes=3, edges=2, rows=50, seed=1)
    >>> posterior = sample(table.values, draws=50, tune=500, thin=10, chains=2, seed=1, progress=False)
    >>> ax = plots.running(posterior, [("X0", "X1")])
    >>> len(ax.lines)
    2
    """
    need_chains(posterior, "running")
    record = posterior.record
    chosen = _chosen_edges(posterior, edges, count)
    ax, own = axes_for(ax, (7.2, 3.8))
    ends = np.cumsum(record.batch_iterations, axis=1)
    chains = np.flatnonzero(record.batch_iterations.sum(axis=1) > 0).tolist()
    for k, code in enumerate(chosen):
        # zeros if the edge was never seen
        counts = np.cumsum(record.batch_counts[:, :, record.edge_codes == code].sum(axis=2), axis=1)
        for chain in chains:
            filled = record.batch_iterations[chain] > 0
            x, y = ends[chain, filled], counts[chain, filled] / ends[chain, filled]
            ax.plot(x, y, color=colour_of(k), linestyle=line_of(chain), linewidth=1.4)
    describe(ax, "Running edge probabilities", "iterations kept of each chain (number)", "probability so far")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    handles = [Line2D([], [], color=colour_of(k), linewidth=2.4) for k in range(len(chosen))]
    labels = edge_names(posterior, chosen)
    handles += [Line2D([], [], color=GREY, linestyle=line_of(chain), linewidth=1.4) for chain in chains]
    add_legend(ax, own, handles, labels + [f"chain {chain + 1}" for chain in chains])
    return ax


def _chosen_edges(posterior: Posterior, edges: object, count: int) -> list[int]:
    record = posterior.record
    if not isinstance(edges, str):
        codes = codes_of(edges, record.nodes)
        rare = set(codes) & set(record.rare_codes.tolist())
        if rare:
            raise ParnidagError(
                f"edges: {edge_names(posterior, [min(rare)])[0]} is among the rarest edges of a long run, "
                "whose counts by batch are not kept"
            )
        return codes
    one_of(edges, "edges", ("worst", "uncertain"))
    whole(count, "count", 1)
    if not record.edge_codes.size:
        raise ParnidagError("edges: no edge was ever present in this run, so there is none to choose; name edges")
    if edges == "worst":
        weight = np.nan_to_num(edge_mcse(record.batch_counts, record.batch_iterations), nan=-1.0)
    else:
        by_chain = chain_probabilities(record.batch_counts, record.batch_iterations)
        weight = -np.abs(by_chain.mean(axis=0) - 0.5)
    chosen: list[int] = record.edge_codes[np.argsort(-weight, kind="stable")[:count]].tolist()
    return chosen


def agreement(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot the edge probabilities of each chain against the mean of the others; of two chains, against each other.

    On the diagonal chains agree. Edges on which two chains differ by more than 0.1 are named, at most the ten worst.
    """
    need_chains(posterior, "agreement")
    record = posterior.record
    numbers = np.flatnonzero(record.batch_iterations.sum(axis=1) > 0).tolist()
    if len(numbers) < 2:
        raise ParnidagError(
            "posterior: plots.agreement compares chains, and this result has one only; sample with chains=4"
        )
    ax, own = axes_for(ax, (5.8, 5.0), square=True)
    chains = chain_probabilities(record.batch_counts, record.batch_iterations)
    others = (chains.sum(axis=0) - chains) / (len(chains) - 1)
    shown = [0] if len(chains) == 2 else range(len(chains))
    ax.plot([0, 1], [0, 1], color=BLACK, linewidth=0.8, zorder=1)
    handles = [
        dots(ax, others[k], chains[k], 26, colour_of(numbers[k]), marker_of(numbers[k]), alpha=0.7, zorder=2)
        for k in shown
    ]
    spread, _ = edge_disagreement(chains, len(record.nodes))
    apart = np.flatnonzero(spread > SAME)
    worst = apart[np.argsort(-spread[apart], kind="stable")][:MOST_LABELS]
    off = np.abs(chains - others)[shown]
    places = np.array([(others[k, e], chains[k, e]) for e in worst for k in [int(off[:, e].argmax())]]).reshape(-1, 2)
    points = np.column_stack([others[shown].ravel(), chains[shown].ravel()])
    label_points(ax, places, edge_names(posterior, record.edge_codes[worst]), points)
    number = number_of(len(apart), "edge") if len(apart) else "no edge"
    title = f"Chains differ by more than {SAME} on {number}"
    if len(chains) == 2:
        describe(ax, title, *(f"edge probability in chain {chain + 1}" for chain in numbers[::-1]))
    else:
        describe(ax, title, "edge probability, mean of the other chains", "edge probability in the chain")
        add_legend(ax, own, handles, [f"chain {number + 1}" for number in numbers], "lower right")
    unit_limits(ax)
    return ax
