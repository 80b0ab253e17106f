"""The small figures of the report as SVG text: traces, ranks, agreement of chains, running means, numbers of edges.

They are drawn here, not by the browser, so that they are there on paper and without scripts. Colours are classes that
the style sheet knows, so they follow light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parnidag.results.convergence import chain_probabilities, rank_counts

if TYPE_CHECKING:
    from parnidag.results.record import RunRecord

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 450, 236
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 12, 40

TRACE_POINTS = 240
"""Points of a chain's trace: about one a pixel and a half."""

RANK_BINS = 20
MOST_POINTS = 900
MOST_BARS = 40
RUNNING_EDGES = 6
COLOURS = 8


@dataclass(frozen=True)
class Figure:
    """One figure: its heading, the drawing, and what to look for in it."""

    heading: str
    svg: str
    caption: str
    series: tuple[str, ...] = ()
    """Names of the lines, in the order of the colours; empty if there is only one kind."""


@dataclass(frozen=True)
class Axes:
    """Limits of a drawing area; maps data to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Floats | float) -> Floats:
        low, high = self.x
        return LEFT + (np.asarray(values) - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def down(self, values: Floats | float) -> Floats:
        low, high = self.y
        return HEIGHT - BOTTOM - (np.asarray(values) - low) / ((high - low) or 1.0) * (HEIGHT - TOP - BOTTOM)

    def line(self, x: Floats, y: Floats, kind: str) -> str:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self.across(x), self.down(y), strict=True))
        return f'<polyline class="line {kind}" points="{points}"/>'

    def drawing(
        self, title: str, x_label: str, y_label: str, marks: Sequence[str], x_ticks: Sequence[float] | None = None
    ) -> str:
        """Put marks on grid lines, with numbers and the names of the axes; the title is what a screen reader says."""
        parts = [f'<svg class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">']
        for value in ticks(*self.y):
            y = float(self.down(value))
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
        for value in ticks(*self.x) if x_ticks is None else x_ticks:
            x = float(self.across(value))
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{number(value)}</text>'
            )
        base = HEIGHT - BOTTOM
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(
            f'<text class="name" x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{x_label}</text>'
            f'<text class="name" transform="translate(15 {(TOP + base) / 2:.0f}) rotate(-90)" '
            f'text-anchor="middle">{y_label}</text>'
        )
        return "".join([*parts, *marks, "</svg>"])


def figures(record: RunRecord, edge_names: Sequence[tuple[str, str]]) -> list[Figure]:
    """Draw the figures that a result has the material for; the names are those of `record.edge_codes`."""
    chains, draws = record.log_posterior.shape
    exact = record.exact_probabilities is not None
    made: list[Figure | None] = []
    if draws > 1 and not exact and np.isfinite(record.log_posterior).all():  # what is not cannot be drawn
        made += [trace(record.log_posterior), ranks(record.log_posterior) if chains > 1 else None]
    by_chain = chain_probabilities(record.batch_counts, record.batch_iterations)
    if len(by_chain) > 1:
        made.append(agreement(by_chain))
    made.append(running(record, edge_names))
    if draws > 1:
        made.append(edge_numbers(np.diff(record.graph_offsets)[record.graph_index].ravel(), exact))
    return [figure for figure in made if figure is not None]


def trace(log_posterior: Floats) -> Figure:
    chains, draws = log_posterior.shape
    kept = np.unique(np.linspace(0, draws - 1, min(draws, TRACE_POINTS)).astype(int))
    values = log_posterior[:, kept]
    low, high = float(values.min()), float(values.max())
    air = (high - low) * 0.06 or 1.0
    axes = Axes((1, draws), (low - air, high + air))
    lines = [axes.line(kept + 1.0, row, colour(k)) for k, row in enumerate(values)]
    return Figure(
        "Log posterior of the draws",
        axes.drawing(f"Traces of {chains} chains", "stored draw", "log posterior", lines),
        "Good: hairy, level bands on top of each other. Bad: a climb, a step, or chains at different heights.",
        chain_names(chains),
    )


def ranks(log_posterior: Floats) -> Figure:
    """Draw how the ranks of each chain's log posteriors are spread over those of all chains."""
    chains, draws = log_posterior.shape
    bins = min(RANK_BINS, max(draws // 5, 2))
    counts = rank_counts(log_posterior, bins) / (draws / bins)
    axes = Axes((0, 1), (0.0, max(2.0, float(counts.max()) * 1.05)))
    steps = np.repeat(np.linspace(0, 1, bins + 1), 2)[1:-1]
    lines = [axes.line(steps, np.repeat(row, 2), colour(k)) for k, row in enumerate(counts)]
    level = axes.line(np.array([0.0, 1.0]), np.ones(2), "even")
    return Figure(
        "Ranks of the log posterior",
        axes.drawing("Rank histograms", "rank among the draws of all chains", "share, even = 1", [level, *lines]),
        "Good: every chain near the dashed line. Bad: a chain that has too many high or low ranks.",
        chain_names(chains),
    )


def agreement(by_chain: Floats) -> Figure:
    """Draw every edge's probability in each chain against its mean in the others."""
    chains = len(by_chain)
    others = (by_chain.sum(axis=0) - by_chain) / (chains - 1)
    seen = np.maximum(by_chain, others) >= 0.01  # the corner at 0, 0 holds thousands of points
    axes = Axes((0, 1), (0, 1))
    marks = [axes.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "even")]
    for chain in range(chains):
        x, y = axes.across(others[chain, seen[chain]]), axes.down(by_chain[chain, seen[chain]])
        places = sorted({(round(float(a)), round(float(b))) for a, b in zip(x, y, strict=True)})
        step = max(1, -(-len(places) * chains // MOST_POINTS))
        dots = "".join(f"M{a} {b}h0" for a, b in places[::step])
        marks.append(f'<path class="dots {colour(chain)}" d="{dots}"/>' if dots else "")
    return Figure(
        "Do the chains agree on the edges?",
        axes.drawing(
            "Edge probabilities chain against chain", "mean of the other chains", "probability in one chain", marks
        ),
        "Each point is an edge. Good: all on the diagonal. Points far from it are edges that chains disagree on.",
        chain_names(chains),
    )


def running(record: RunRecord, edge_names: Sequence[tuple[str, str]]) -> Figure | None:
    """Draw how the probabilities of the least certain edges settled as the run went on."""
    lengths = record.batch_iterations
    full = (lengths > 0).all(axis=0)
    if record.exact_probabilities is not None or full.sum() < 2 or not len(edge_names):
        return None
    counts = record.batch_counts[:, full]
    means = np.cumsum(counts, axis=1) / np.cumsum(lengths[:, full], axis=1)[..., None]
    final = means[:, -1].mean(axis=0)
    chosen = np.argsort(np.abs(final - 0.5), kind="stable")[:RUNNING_EDGES]
    chosen = chosen[(final[chosen] > 0.02) & (final[chosen] < 0.98)]
    if not chosen.size:
        return None
    done = np.cumsum(lengths[:, full].mean(axis=0)) / lengths[:, full].mean(axis=0).sum()
    axes = Axes((0, 1), (0, 1))
    lines = []
    for k, edge in enumerate(chosen):
        low, high = means[:, :, edge].min(axis=0), means[:, :, edge].max(axis=0)
        lines.append(axes.line(np.r_[done, done[::-1]], np.r_[high, low[::-1]], f"band {colour(k)}"))
        lines.append(axes.line(done, means[:, :, edge].mean(axis=0), colour(k)))
    return Figure(
        "How the least certain edges settled",
        axes.drawing("Running edge probabilities", "part of the run", "probability so far", lines),
        "Lines are means over the chains, bands reach from the lowest to the highest chain. Good: level lines, bands "
        "that close.",
        tuple(" → ".join(edge_names[edge]) for edge in chosen),
    )


def edge_numbers(numbers: NDArray[np.int64], exact: bool) -> Figure:
    low, high = int(numbers.min()), int(numbers.max())
    step = max(1, -(-(high - low + 1) // MOST_BARS))
    bounds = np.arange(low, high + step + 1, step)
    share = np.histogram(numbers, bounds)[0] / numbers.size
    axes = Axes((low - 0.5, float(bounds[-1]) - 0.5), (0.0, float(share.max()) * 1.08))
    bars = []
    for left, part in zip(bounds[:-1], share, strict=True):
        x0, x1 = float(axes.across(left - 0.42)), float(axes.across(left + step - 1 + 0.42))
        y = float(axes.down(part))
        bars.append(
            f'<rect class="bar" x="{x0:.1f}" y="{y:.1f}" width="{max(x1 - x0, 1):.1f}" '
            f'height="{HEIGHT - BOTTOM - y:.1f}"><title>{left if step == 1 else f"{left} to {left + step - 1}"} edges: '
            f"{part:.1%}</title></rect>"
        )
    whole = [value for value in ticks(*axes.x) if float(value).is_integer()]
    return Figure(
        "How many edges the graphs have",
        axes.drawing("Distribution of edge counts", "number of edges", "share of draws", bars, whole),
        f"{'Exact draws' if exact else 'The draws'} have {low} to {high} edges, {numbers.mean():.1f} on average."
        if high > low
        else f"Every draw has {low} edges.",
    )


def colour(index: int) -> str:
    return f"s{index % COLOURS}"


def chain_names(chains: int) -> tuple[str, ...]:
    return tuple(f"chain {k + 1}" for k in range(chains)) if 1 < chains <= COLOURS else ()


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers within limits."""
    span = (high - low) or 1.0
    power = 10.0 ** np.floor(np.log10(span))
    steps = [power * factor for factor in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0)]
    step = next((step for step in steps if span / step <= most), steps[-1])
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(round(k * step, 10)) for k in range(first, last + 1)]


def number(value: float) -> str:
    """Write a tick: with a true minus sign, thousands apart."""
    return f"{value:,.10g}".replace("-", "−")
