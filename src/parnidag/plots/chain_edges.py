"""Edge probabilities chain by chain: as the run went on, and one chain against the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from parnidag._util.text import number_of
from parnidag.errors import ParnidagError
from parnidag.plots._axes import (
    BLACK,
    GREY,
    MANY_POINTS,
    SAME,
    add_legend,
    axes_for,
    check_choice,
    check_count,
    check_edges,
    colour_of,
    describe,
    edge_name,
    edge_names,
    line_of,
    marker_of,
    need_chains,
    open_frame,
    unit_limits,
)
from parnidag.plots._labels import MOST_LABELS, label_points
from parnidag.results.convergence import chain_probabilities, edge_disagreement, edge_mcse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior
    from parnidag.results.record import RunRecord


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
    posterior : Posterior
        Of `parnidag.sample`; exact results have no chains.
    edges : "worst", "uncertain" or list of (parent, child), default "worst"
        Which edges: those with the largest Monte-Carlo error, those with probabilities nearest to 0.5, or these.
    count : int, default 4
        How many edges, unless they are named.
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
        counts = np.cumsum(_batch_counts(record, code), axis=1)
        for chain in chains:
            filled = record.batch_iterations[chain] > 0
            ax.plot(
                ends[chain, filled],
                counts[chain, filled] / ends[chain, filled],
                color=colour_of(k),
                linestyle=line_of(chain),
                linewidth=1.4,
            )
    describe(ax, "Running edge probabilities", "iterations kept of each chain (number)", "probability so far")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    open_frame(ax)
    handles = [Line2D([], [], color=colour_of(k), linewidth=2.4) for k in range(len(chosen))]
    labels = edge_names(posterior, chosen)
    handles += [Line2D([], [], color=GREY, linestyle=line_of(chain), linewidth=1.4) for chain in chains]
    add_legend(ax, own, handles, labels + [f"chain {chain + 1}" for chain in chains])
    return ax


def _chosen_edges(posterior: Posterior, edges: object, count: int) -> list[int]:
    """Return the codes of the edges to follow."""
    record = posterior.record
    n = len(record.nodes)
    if not isinstance(edges, str):
        codes = [parent * n + child for parent, child in check_edges("edges", edges, record.nodes)]
        rare = set(codes) & set(record.rare_codes.tolist())
        if rare:
            parent, child = divmod(min(rare), n)
            raise ParnidagError(
                f"edges: {edge_name(record.nodes, parent, child)} is among the rarest edges of a long run, "
                "whose counts by batch are not kept"
            )
        return codes
    check_choice("edges", edges, ("worst", "uncertain"))
    check_count("count", count, 1)
    if not record.edge_codes.size:
        raise ParnidagError("edges: no edge was ever present in this run, so there is none to choose; name edges")
    if edges == "worst":
        weight = np.nan_to_num(edge_mcse(record.batch_counts, record.batch_iterations), nan=-1.0)
    else:
        by_chain = chain_probabilities(record.batch_counts, record.batch_iterations)
        weight = -np.abs(by_chain.mean(axis=0) - 0.5)
    chosen: list[int] = record.edge_codes[np.argsort(-weight, kind="stable")[:count]].tolist()
    return chosen


def _batch_counts(record: RunRecord, code: int) -> NDArray[np.int64]:
    """Return the counts of one edge, (chain, batch); zeros if it was never seen."""
    counts: NDArray[np.int64] = record.batch_counts[:, :, record.edge_codes == code].sum(axis=2)
    return counts


def agreement(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot the edge probabilities of each chain against the mean of the others; of two chains, against each other.

    On the diagonal chains agree. Edges on which two chains differ by more than 0.1 are named, at most the ten worst.

    Parameters
    ----------
    posterior : Posterior
        Of `parnidag.sample`, of at least two chains.
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
    >>> plots.agreement(posterior).get_xlabel()
    'edge probability in chain 2'
    """
    need_chains(posterior, "agreement")
    record = posterior.record
    numbers = np.flatnonzero(record.batch_iterations.sum(axis=1) > 0)
    if len(numbers) < 2:
        raise ParnidagError(
            "posterior: plots.agreement compares chains, and this result has one only; sample with chains=4"
        )
    ax, own = axes_for(ax, (5.8, 5.0), square=True)
    chains = chain_probabilities(record.batch_counts, record.batch_iterations)
    others = (chains.sum(axis=0) - chains) / (len(chains) - 1)
    shown = [0] if len(chains) == 2 else range(len(chains))
    ax.plot([0, 1], [0, 1], color=BLACK, linewidth=0.8, zorder=1)
    handles: list[PathCollection] = [
        ax.scatter(
            others[k],
            chains[k],
            s=26,
            color=colour_of(int(numbers[k])),
            marker=marker_of(int(numbers[k])),
            alpha=0.7,
            linewidths=0,
            zorder=2,
            clip_on=False,
            rasterized=chains.shape[1] > MANY_POINTS,
        )
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
        describe(
            ax, title, f"edge probability in chain {numbers[1] + 1}", f"edge probability in chain {numbers[0] + 1}"
        )
    else:
        describe(ax, title, "edge probability, mean of the other chains", "edge probability in the chain")
        add_legend(ax, own, handles, [f"chain {number + 1}" for number in numbers], "lower right")
    unit_limits(ax)
    open_frame(ax)
    return ax
