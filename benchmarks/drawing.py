"""The figures of the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from parnidag.plots._axes import GREY, INK, colour_of, line_of, marker_of

FIRST_SECOND = 0.02
"""Where the axes of traces begin."""
Curves = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By label: places on the x axis, and values there (replication × place)."""


def error_figure(
    curves: Curves,
    peers: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    floor: float | None = None,
    x: str = "CPU seconds of one chain, set-up included",
    y: str = "mean squared error of the edge probabilities",
) -> Figure:
    """Draw medians and quartiles against time on logarithmic axes, and the paper's figures as open markers."""
    figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    for k, (label, (times, values)) in enumerate(curves.items()):
        known = np.isfinite(values).all(axis=0)
        times, values = times[known], values[:, known]
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        ax.plot(times, middle, color=colour_of(k), ls=line_of(k), marker=marker_of(k), ms=4, label=label)
        ax.fill_between(times, low, high, color=colour_of(k), alpha=0.15, lw=0)
        for when, value in peers.get(label, ()):
            ax.plot(when, value, ls="", marker=marker_of(k), ms=8, mfc="none", mec=colour_of(k), mew=1.5)
    if peers:
        ax.plot([], [], ls="", marker="o", ms=8, mfc="none", mec=GREY, mew=1.5, label="open: the paper's figure")
    if floor is not None:
        ax.axhline(floor, color=GREY, lw=1, ls=":", label="error of the reference itself")
    ax.set(xscale="log", yscale="log", xlabel=x, ylabel=y, title=title)
    ax.grid(which="major", color="#e6e6e6", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def trace_figure(traces: Mapping[str, np.ndarray], title: str, reference: float | None = None) -> Figure:
    """Draw the log posterior along a chain of each method, one panel a method, against CPU seconds."""
    columns = min(3, max(1, len(traces)))
    rows = max(1, -(-len(traces) // columns))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns + 0.4, 1.8 * rows + 0.6),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    lowest = min((np.quantile(trace[2], 0.02) for trace in traces.values()), default=0.0)
    highest = max((trace[2].max() for trace in traces.values()), default=1.0)
    for k, (label, trace) in enumerate(traces.items()):
        ax = axes.flat[k]
        ax.plot(np.maximum(trace[0], FIRST_SECOND), trace[2], color=colour_of(0), lw=0.7)
        if reference is not None and np.isfinite(reference):
            ax.axhline(reference, color=INK, lw=1, ls=line_of(1))
        ax.set_title(label, fontsize="small", color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    room = 0.05 * (highest - lowest)
    last = max((trace[0].max() for trace in traces.values()), default=1.0)
    axes[0, 0].set(xscale="log", xlim=(FIRST_SECOND, last * 1.1), ylim=(lowest - room, highest + room))
    for ax in list(axes.flat)[len(traces) :]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, len(traces) - columns) : len(traces)]:
        ax.tick_params(labelbottom=True)
    figure.supxlabel("CPU seconds", fontsize="small")
    figure.supylabel("log posterior", fontsize="small")
    figure.suptitle(title + ("" if reference is None else " (dashed: best graph known)"), fontsize="medium")
    return figure


def row_of_panels(count: int, width: float, height: float, **shared: bool) -> tuple[Figure, np.ndarray]:
    """Return a figure with panels beside each other, whose lines have one meaning in all of them."""
    return plt.subplots(1, count, figsize=(width, height), layout="constrained", sharey=True, squeeze=False, **shared)


def violin_figure(
    groups: Mapping[str, Mapping[str, Sequence[float]]], title: str, y: str, reference: float | None = None
) -> Figure:
    """Draw the distribution of a figure by method, one panel a group, with every value as a dot."""
    labels = list(dict.fromkeys(label for values in groups.values() for label in values))
    figure, axes = row_of_panels(len(groups), 3.0 * len(groups) + 1.6, 0.36 * len(labels) + 1.4)
    for ax, (group, values) in zip(axes.flat, groups.items(), strict=True):
        for k, label in enumerate(labels):
            found = np.asarray(values.get(label, ()), float)
            if not found.size:
                continue
            if found.size > 1 and np.ptp(found) > 0:
                for body in ax.violinplot(found, [k], orientation="horizontal", widths=0.8, showextrema=False)[
                    "bodies"
                ]:
                    body.set(facecolor=colour_of(0), alpha=0.25)
            ax.plot(found, np.full(found.size, k), ls="", marker="o", ms=2.5, color=colour_of(0), alpha=0.7)
            ax.plot(np.median(found), k, marker="|", ms=11, mew=2, color=INK)
        if reference is not None:
            ax.axvline(reference, color=GREY, lw=1, ls=":")
        ax.set_title(group, fontsize="medium")
        ax.grid(axis="x", color="#e6e6e6", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes.flat[0].set_yticks(range(len(labels)), labels)
    axes.flat[0].invert_yaxis()
    figure.supxlabel(y, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure
