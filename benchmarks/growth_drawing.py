"""Costs against size: panels with logarithmic axes, a dot for every replication and a line through the medians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from parnidag.plots._axes import GREY, colour_of, line_of, marker_of

SHORT_RANGE = 100.0
"""Powers of ten alone would leave such an axis with hardly a number."""


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    x: str
    y: str
    note: str
    """What stands still."""
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """By label: places, and values there, replications one after the other."""


def growth_figure(rows: Sequence[Sequence[Panel]], labels: Sequence[str]) -> Figure:
    """Draw panels in rows and columns; a row shares its y axis, a label has one colour by its place in `labels`."""
    shown = {label for row in rows for panel in row for label in panel.points}
    columns = len(rows[0])
    figure, axes = plt.subplots(
        len(rows),
        columns,
        figsize=(3.1 * columns + 0.4, 2.7 * len(rows) + 0.5),
        layout="constrained",
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for r, row in enumerate(rows):
        for c, panel in enumerate(row):
            _draw(axes[r, c], panel, labels)
            if r == 0:
                axes[r, c].set_title(panel.note, fontsize="small", color=GREY)
            if r == len(rows) - 1:
                axes[r, c].set_xlabel(panel.x)
        axes[r, 0].set_ylabel(row[0].y)
        low, high = axes[r, 0].get_ylim()
        if high / low < SHORT_RANGE:
            axes[r, 0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes[r, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes[r, 0].yaxis.set_minor_formatter(NullFormatter())
    handles = [
        plt.Line2D([], [], color=colour_of(k), ls=line_of(k), marker=marker_of(k), ms=4, label=label)
        for k, label in enumerate(labels)
        if label in shown
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(shown), frameon=False, fontsize="small")
    return figure


def _draw(ax: Axes, panel: Panel, labels: Sequence[str]) -> None:
    for label, (places, values) in panel.points.items():
        if not len(places):
            continue
        k, where = labels.index(label), np.unique(places)
        medians = [np.median([value for place, value in zip(places, values, strict=True) if place == x]) for x in where]
        ax.plot(where, medians, color=colour_of(k), ls=line_of(k), lw=1.2)
        ax.plot(places, values, ls="", marker=marker_of(k), ms=3.5, color=colour_of(k), alpha=0.6)
    ax.set(xscale="log", yscale="log")
    ticks = sorted({place for places, _ in panel.points.values() for place in places})
    if ticks and ticks[-1] / ticks[0] < 1e3:  # few enough to name each
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize="small")
        ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(which="major", color="#e6e6e6", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
