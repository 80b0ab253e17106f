"""Rates of samplers as dots, one panel a data set, beside those of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from benchmarks.drawing import row_of_panels
from parnidag.plots._axes import GREY, INK, colour_of

Key = tuple[str, str]
"""Sampler and data set."""


def rates_figure(rates: Mapping[Key, Sequence[float]], peers: Mapping[Key, tuple[str, float]]) -> Figure:
    """Draw every chain's rate, the median as a bar, and a peer's as an open square with its name."""
    samplers = list(dict.fromkeys(sampler for sampler, _ in rates))
    sets = list(dict.fromkeys(data for _, data in rates))
    figure, axes = row_of_panels(len(sets), 3.1 * len(sets) + 1.4, 0.34 * len(samplers) + 1.2, sharex=True)
    for ax, data in zip(axes.flat, sets, strict=True):
        for k, sampler in enumerate(samplers):
            found = rates.get((sampler, data), ())
            if len(found):
                ax.plot(found, np.full(len(found), k), ls="", marker="o", ms=4, color=colour_of(0), alpha=0.6)
                ax.plot(np.median(found), k, marker="|", ms=12, mew=2, color=INK)
            if (sampler, data) in peers:
                name, rate = peers[sampler, data]
                ax.plot(rate, k, ls="", marker="s", ms=6, mfc="none", mec=colour_of(1), mew=1.3)
                ax.annotate(
                    name, (rate, k), (7, 0), textcoords="offset points", va="center", fontsize="x-small", color=GREY
                )
        ax.set_xscale("log")
        ax.set_title(data, fontsize="medium")
        ax.grid(axis="x", color="#e6e6e6", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes.flat[0].set_yticks(range(len(samplers)), samplers)
    axes.flat[0].invert_yaxis()
    figure.supxlabel("iterations a second of CPU time; open squares: peers, on another machine", fontsize="small")
    return figure
