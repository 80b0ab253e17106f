"""Against a known graph: how well probabilities tell its edges from others, and which threshold comes nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import MaxNLocator

from parnidag import metrics
from parnidag._util.checks import one_of
from parnidag._util.text import number_of
from parnidag.graphs.graph import Graph
from parnidag.metrics.aligned import with_truth
from parnidag.metrics.curves import candidates
from parnidag.plots._axes import (
    BLUE,
    GREY,
    ORANGE,
    VERMILLION,
    add_legend,
    axes_for,
    check_posterior,
    describe,
    line_of,
    unit_limits,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_THRESHOLDS = np.linspace(0.005, 1.0, 200)


def roc(
    posterior: Posterior, truth: Any, *, kind: Literal["roc", "precision_recall"] = "roc", ax: Axes | None = None
) -> Axes:
    """Plot how well the probabilities tell true edges from others, over all thresholds.

    One curve is about edges, where the wrong direction is wrong, one about pairs of nodes that are joined either way
    (the skeleton): data often leave the direction open. Dots mark a threshold of 0.5.

    Parameters
    ----------
    truth
        The true graph: an adjacency matrix, a list of edges, a networkx graph … as in `parnidag.metrics`.
    kind : {"roc", "precision_recall"}, default "roc"
        True against false positives, or precision against recall, which says more where true edges are few.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> table = simulate(nodes=4, edges=3, rows=100, seed=1)
    >>> ax = plots.roc(exact(table.values), table.adjacency)
    >>> ax.get_xlabel()
    'false positive rate'
    """
    check_posterior(posterior)
    one_of(kind, "kind", ("roc", "precision_recall"))
    matrix, true = with_truth(posterior, truth)
    curves: list[tuple[Literal["edges", "skeleton"], str]] = []
    if not true.undirected:  # else edges are neither right nor wrong
        curves.append(("edges", BLUE))
    if not curves or not candidates(true, "skeleton").all():  # where all are joined there is nothing to tell apart
        curves.append(("skeleton", ORANGE))
    curve_of = metrics.roc_curve if kind == "roc" else metrics.precision_recall_curve
    found = [(of, colour, curve_of(matrix, true, of)) for of, colour in curves]
    ax, own = axes_for(ax, (6.2, 4.4), square=True)
    if kind == "roc":
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    handles, labels = [], []
    for k, (of, colour, curve) in enumerate(found):
        x, y, thresholds = curve
        (line,) = ax.plot(x, y, color=colour, linestyle=line_of(k), linewidth=2.0, zorder=3, clip_on=False)
        if kind == "precision_recall":
            line.set_drawstyle("steps-pre")
        half = int(np.flatnonzero(thresholds > 0.5)[-1])
        ax.plot(x[half], y[half], "o", color=colour, markersize=7, markeredgecolor="white", zorder=4, clip_on=False)
        handles.append(line)
        labels.append(f"{of} ({'area' if kind == 'roc' else 'average precision'} {metrics.area(curve):.3f})")
    words = ("false positive rate", "true positive rate") if kind == "roc" else ("recall", "precision")
    describe(ax, "ROC" if kind == "roc" else "Precision and recall", *words)
    unit_limits(ax)
    add_legend(ax, own, handles, labels, "lower right" if kind == "roc" else "lower left")
    return ax


def calibration(posterior: Posterior, truth: Any, *, bins: int = 10, ax: Axes | None = None) -> Axes:
    """Plot the share of edges that a known graph has against their probability.

    Where the model fits, dots lie on the diagonal: of edges with probability 0.3, three in ten are there. Below it the
    posterior is too sure of edges, above it not sure enough. Bars are what chance alone allows: two standard errors of
    a share of so many edges. Bins without edges have no dot.

    Parameters
    ----------
    truth
        The true graph: an adjacency matrix, a list of edges, a networkx graph … as in `parnidag.metrics`.
    bins
        How many groups of edges, by probability.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> table = simulate(nodes=4, edges=3, rows=100, seed=1)
    >>> plots.calibration(exact(table.values), table.adjacency).get_xlabel()
    'probability of an edge'
    """
    check_posterior(posterior)
    curve = metrics.calibration_curve(posterior, truth, bins)
    known = curve.edges > 0
    edges, p, share = curve.edges[known], curve.mean_probability[known], curve.share_present[known]
    ax, own = axes_for(ax, (6.2, 4.4), square=True)
    (line,) = ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    chance = 2.0 * np.sqrt(p * (1.0 - p) / edges)
    bars = ax.vlines(p, np.maximum(p - chance, 0.0), np.minimum(p + chance, 1.0), color=GREY, linewidth=1.2, zorder=2)
    (dots,) = ax.plot(p, share, "o", color=BLUE, markersize=7, markeredgecolor="white", zorder=4, clip_on=False)
    for x, y, count in zip(p, share, edges, strict=True):
        ax.annotate(f"{count:,}", (x, y), xytext=(5, 5), textcoords="offset points", fontsize="x-small", color=GREY)
    describe(ax, "Calibration", "probability of an edge", "share of these edges that is there")
    unit_limits(ax)
    add_legend(ax, own, [dots, bars, line], ["edges, with their number", "what chance allows", "as they should be"])
    return ax


def shd_threshold(
    posterior: Posterior, truth: Any, *, reversal: Literal["once", "twice"] = "once", ax: Axes | None = None
) -> Axes:
    """Plot the structural Hamming distance between a known graph and the graph of edges above a threshold.

    A dot marks the median graph (threshold 0.5), a line the consensus graph, the DAG of least expected distance.

    Parameters
    ----------
    truth
        The true graph: an adjacency matrix, a list of edges, a networkx graph … as in `parnidag.metrics`.
    reversal : {"once", "twice"}, default "once"
        Whether an edge that points the other way counts as one mistake or as two.
    """
    check_posterior(posterior)
    one_of(reversal, "reversal", ("once", "twice"))
    matrix, true = with_truth(posterior, truth)
    distances = [
        metrics.shd(Graph(true.nodes, matrix >= threshold, "digraph"), true, reversal) for threshold in _THRESHOLDS
    ]
    ax, own = axes_for(ax, (6.6, 3.8))
    (line,) = ax.plot(_THRESHOLDS, distances, color=BLUE, linewidth=2.0, drawstyle="steps-pre", zorder=2)
    median = metrics.shd(posterior.median_graph(), true, reversal)
    (dot,) = ax.plot(0.5, median, "o", color=BLUE, markersize=8, markeredgecolor="white", zorder=4)
    consensus = metrics.shd(posterior.consensus_graph(), true, reversal)
    level = ax.axhline(consensus, color=VERMILLION, linestyle=(0, (5, 2)), linewidth=1.6, zorder=3)
    describe(
        ax,
        f"Distance to the true graph ({number_of(int(true.adjacency.sum()), 'edge')})",
        "smallest probability of an edge that is included",
        "structural Hamming distance (edges)",
    )
    ax.set(xlim=(0, 1.01))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    labels = ["edges above the threshold", f"median graph: {median}", f"consensus graph: {consensus}"]
    add_legend(ax, own, [line, dot, level], labels, "upper center")
    return ax
