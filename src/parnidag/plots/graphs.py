"""The posterior as one picture: probable edges between names, in layers, parents above their children."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.bezier import split_path_inout
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.textpath import text_to_path

from parnidag._util.checks import number
from parnidag._util.text import number_of
from parnidag.graphs.drawing import Layout, layered
from parnidag.plots._axes import GREY, INK, PROBABILITY_MAP, Floats, axes_for, check_posterior, plain, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.text import Text

    from parnidag.results.posterior import Posterior

# Lengths are in units of the distance between layers, so that a picture keeps its proportions at any size.
_FONT = 0.23
_BOX_HEIGHT = 0.4
_PADDING = 0.14
_SIDE_STEP = 0.16
"""How far the two directions of an edge keep from their common line."""
_RING = 0.2
"""Half the height of a ring from a node to itself."""
_UNIT_INCHES = 0.55
"""Distance between layers in a figure of our own: names then have the usual size."""
_SMALLEST, _LARGEST = np.array([4.6, 3.0]), np.array([26.0, 26.0])
_BESIDE = np.array([0.9, 0.4])
"""Inches beside the graph, for the scale of colours, and above it, for the title."""
_FLATTEST = 2.0
"""Layers move apart until the picture is at most so many times wider than high: else edges run nearly level."""
_SURE = 0.9
_MOST_NUMBERS = 40
"""Edges below `_SURE` carry their probability as a number, unless there are more than this."""
OPEN_DIRECTION = "#a64d79"
"""Colour of a pair that is surely joined while neither direction is sure: that of the report."""
EDGE_MAP = LinearSegmentedColormap.from_list("parnidag_edges", PROBABILITY_MAP(np.linspace(0.22, 0.86, 9)))
"""Colours of edges: those of probabilities without the palest, which would not show on white."""


def graph(posterior: Posterior, *, threshold: float = 0.1, ax: Axes | None = None) -> Axes:
    """Draw the graph of probable edges in layers, parents above their children.

    The more probable an edge, the wider and darker its arrow; a pair that is surely joined, while neither direction is
    sure, is purple, as in the report. Numbers say by how many standard deviations one of the
    parent raises (+) or lowers (−) the child, where the score has such coefficients (`Posterior.coefficients`); edges
    below 0.9 also carry their probability, p. Where there are more than 40 numbers of a kind, they are left out. It is
    a picture of the edges one by one, not one graph: both directions of an edge can be there, and cycles. Edges against
    the direction of the layers then run upwards. Names shrink to fit small axes.

    Parameters
    ----------
    threshold : float, default 0.1
        Smallest probability of an edge that is drawn, above 0 and at most 1.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> ax = plots.graph(exact(simulate(nodes=3, edges=2, rows=50, seed=1).values), threshold=0.3)
    >>> sorted(text.get_text() for text in ax.texts if text.get_text().startswith("X"))
    ['X0', 'X1', 'X2']
    """
    check_posterior(posterior)
    number(threshold, "threshold", above=0, most=1)
    probabilities = posterior.edge_probabilities.to_numpy()
    shown = probabilities >= threshold
    names = [short(name) for name in posterior.nodes]
    sizes = np.column_stack([_widths(names), np.full(len(names), _BOX_HEIGHT)])
    layout = _stretched(layered(shown, weights=probabilities, widths=sizes[:, 0]), sizes)
    low, high = _extent(layout, sizes)
    ax, _ = axes_for(
        ax, tuple(np.clip((high - low) * _UNIT_INCHES + _BESIDE, _SMALLEST, _LARGEST).tolist()), square=True
    )
    scaled = _Scaled(ax, 1.0 if len(names) <= 40 else 0.6)
    coefficients = posterior.summary(threshold).pivot(index="parent", columns="child", values="coefficient")
    signs = coefficients.reindex(index=posterior.nodes, columns=posterior.nodes).to_numpy(float, na_value=np.nan)
    signed = int((shown & ~np.isnan(signs)).sum()) <= _MOST_NUMBERS
    numbered = int((probabilities[shown] < _SURE).sum()) <= _MOST_NUMBERS
    either = probabilities + probabilities.T
    open_pairs = shown & (either >= _SURE) & (np.maximum(probabilities, probabilities.T) < _SURE)
    for parent, child in np.argwhere(shown).tolist():
        probability, twofold = float(probabilities[parent, child]), bool(shown[child, parent])
        path = edge_path(layout, sizes, parent, child, twofold)
        scaled.arrow(path, probability, OPEN_DIRECTION if open_pairs[parent, child] else None)
        known = signed and not np.isnan(signs[parent, child])
        said = [re.sub(r"\b0\.", ".", f"{signs[parent, child]:+.2f}")] if known else []
        said += [f"p {probability:.2f}" if said else f"{probability:.2f}"] if numbered and probability < _SURE else []
        if said:
            scaled.label(_point_along(path, 0.4 if twofold else 0.5), "\n".join(said))
    for place, size, name in zip(layout.xy, sizes, names, strict=True):
        scaled.node(place, size, name)
    scaled.resize(_UNIT_INCHES * 72.0)
    ax.add_artist(scaled)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))  # y grows downwards: parents on top
    ax.set_aspect("equal", adjustable="box")
    ax.set_axis_off()
    title = f"{number_of(int(shown.sum()), 'edge')}, probability ≥ {threshold:g}"
    plain([ax.set_title(title + "\npurple: joined, direction open" * bool(open_pairs.any()))])
    mappable = ScalarMappable(Normalize(0.0, 1.0), EDGE_MAP)
    ax.figure.colorbar(mappable, ax=ax, label="edge probability", shrink=0.6, aspect=25, fraction=0.04, pad=0.02)
    return ax


def draw_rolled(names: list[str], by_lag: Floats, threshold: float, count: int, ax: Axes | None) -> Axes:
    """Draw a graph whose edges carry their lags (lag × from × to); the first `count` nodes may act on themselves."""
    largest = by_lag.max(axis=0)
    shown = largest >= threshold
    loops = np.flatnonzero(shown.diagonal())
    np.fill_diagonal(shown, False)
    sizes = np.column_stack([_widths(names), np.full(len(names), _BOX_HEIGHT)])
    layout = _stretched(layered(shown, weights=largest, widths=sizes[:, 0] + 2 * _RING), sizes)
    low, high = _extent(layout, sizes + 2 * _RING)
    ax, _ = axes_for(
        ax, tuple(np.clip((high - low) * _UNIT_INCHES + _BESIDE, _SMALLEST, _LARGEST).tolist()), square=True
    )
    scaled = _Scaled(ax, 1.0 if len(names) <= 40 else 0.6)

    def lags_of(i: int, j: int) -> str:
        return ", ".join(str(lag) for lag in np.flatnonzero(by_lag[:, i, j] >= threshold))

    for i, j in np.argwhere(shown).tolist():
        path = edge_path(layout, sizes, i, j, bool(shown[j, i]))
        scaled.arrow(path, float(largest[i, j]))
        if i < count:
            scaled.label(_point_along(path, 0.4 if shown[j, i] else 0.5), lags_of(i, j))
    for node in loops.tolist():
        ring = layout.xy[node] + np.array([sizes[node, 0] / 2, 0.0])
        scaled.arrow(_ring(ring), float(largest[node, node]))
        scaled.label(ring + np.array([2.1 * _RING, 0.0]), lags_of(node, node))
    for place, size, name in zip(layout.xy, sizes, names, strict=True):
        scaled.node(place, size, name)
    scaled.resize(_UNIT_INCHES * 72.0)
    ax.add_artist(scaled)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))
    ax.set_aspect("equal", adjustable="box")
    ax.set_axis_off()
    return ax


def _ring(side: Floats) -> Path:
    """Return a way out of the right side of a box and back to it."""
    out, half = 2.2 * _RING, 0.55 * _RING
    points = side + np.array([[0.0, -half], [out, -2.2 * half], [out, 2.2 * half], [0.02, half]])
    return Path(points, [Path.MOVETO] + [Path.CURVE4] * 3)


def _widths(names: list[str]) -> Floats:
    font = FontProperties(size=100)
    wide = [text_to_path.get_text_width_height_descent(name, font, ismath=False)[0] / 100 for name in names]
    return np.maximum(np.array(wide) * _FONT + 2 * _PADDING, _BOX_HEIGHT)


def _stretched(layout: Layout, sizes: Floats) -> Layout:
    """Move nodes apart where a small graph leaves room in the smallest figure, and layers if a graph is very wide."""
    extent = np.ptp(layout.xy, axis=0) + sizes.max(axis=0)
    room = (_SMALLEST - _BESIDE) / _UNIT_INCHES - 0.3
    stretch = np.clip(room / extent, 1.0, 2.0)
    stretch[1] = max(stretch[1], min(extent[0] / (_FLATTEST * extent[1]), 3.0))
    return Layout(layout.xy * stretch, {edge: bends * stretch for edge, bends in layout.bends.items()})


def _extent(layout: Layout, sizes: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the picture, which is not too small for a few names of the usual size."""
    bends = np.concatenate([np.zeros((0, 2)), *layout.bends.values()])
    low = np.concatenate([layout.xy - sizes / 2, bends - _SIDE_STEP]).min(axis=0) - 0.15
    high = np.concatenate([layout.xy + sizes / 2, bends + _SIDE_STEP]).max(axis=0) + 0.15
    more = np.maximum((_SMALLEST - _BESIDE) / _UNIT_INCHES - (high - low), 0.0) / 2
    return low - more, high + more


# ── ways of edges ─────────────────────────────────────────────────────────────────────────────────────────────────────


def edge_path(layout: Layout, sizes: Floats, parent: int, child: int, twofold: bool) -> Path:
    """Return a smooth way through the bends, from the border of the parent's box to that of the child's."""
    start, end = layout.xy[parent], layout.xy[child]
    inner = layout.bends[parent, child]
    if twofold:
        direction = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
        aside = _SIDE_STEP * np.array([-direction[1], direction[0]])
        inner = (inner if len(inner) else (start + end)[None, :] / 2) + aside
    path = _smooth(np.concatenate([start[None, :], inner, end[None, :]]))
    path = _outside(path, start, sizes[parent])
    backwards = _outside(Path(np.asarray(path.vertices)[::-1], path.codes), end, sizes[child])
    return Path(np.asarray(backwards.vertices)[::-1], backwards.codes)


def _smooth(points: Floats) -> Path:
    """Join points by a Catmull–Rom spline, as cubic Bézier curves."""
    slopes = np.gradient(points, axis=0) if len(points) > 2 else np.tile(points[1] - points[0], (2, 1))
    thirds = np.stack([points[:-1] + slopes[:-1] / 3, points[1:] - slopes[1:] / 3, points[1:]], axis=1)
    vertices = np.concatenate([points[:1], thirds.reshape(-1, 2)])
    return Path(vertices, [Path.MOVETO] + [Path.CURVE4] * (len(vertices) - 1))


def _outside(path: Path, centre: Floats, size: Floats) -> Path:
    """Return the part of a way that begins in a box which lies outside it."""
    half = size / 2 + 0.02

    def inside(point: Any) -> bool:
        return bool((np.abs(np.asarray(point) - centre) < half).all())

    return split_path_inout(path, inside, tolerance=1e-3)[1]


def _point_along(path: Path, share: float) -> Floats:
    """Return the point at a share of the length of a way."""
    corners = np.asarray(path.vertices)
    t = np.linspace(0.0, 1.0, 20)[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
    points = np.concatenate([weights @ corners[k : k + 4] for k in range(0, len(corners) - 1, 3)])
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    return np.array([np.interp(along[-1] * share, along, points[:, axis]) for axis in (0, 1)])


# ── nodes and arrows that keep their proportions ──────────────────────────────────────────────────────────────────────


class _Scaled(Artist):
    """Names and lines whose sizes follow the distance between layers, however large the axes are or are zoomed.

    Draws nothing itself: it sets the sizes just before the others are drawn, when that distance is known.
    """

    def __init__(self, ax: Axes, weight: float) -> None:
        super().__init__()
        self._ax, self._weight = ax, weight
        self._texts: list[tuple[Text, float]] = []
        self._arrows: list[tuple[FancyArrowPatch, float]] = []
        self.set_zorder(0.5)
        self.set_in_layout(False)

    def arrow(self, path: Path, probability: float, colour: str | None = None) -> None:
        drawn = colour or EDGE_MAP(probability)
        patch = FancyArrowPatch(path=path, arrowstyle="-|>", color=drawn, zorder=2 + probability, shrinkA=0, shrinkB=0)
        patch.set_joinstyle("miter")
        patch.set_capstyle("butt")
        patch.set_in_layout(False)
        self._ax.add_patch(patch)
        self._arrows.append((patch, self._weight * (0.015 + 0.045 * probability)))

    def label(self, place: Floats, words: str) -> None:
        said = words.replace("-", "−")
        text = self._ax.text(place[0], place[1], said, linespacing=0.9, ha="center", va="center", color=INK, zorder=4)
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])
        text.set_in_layout(False)
        self._texts.append((text, 0.75 * _FONT))

    def node(self, place: Floats, size: Floats, name: str) -> None:
        corner = place - size / 2
        box = FancyBboxPatch(
            (corner[0], corner[1]),
            size[0],
            size[1],
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor="white",
            edgecolor=GREY,
            linewidth=0.8,
            zorder=5,
        )
        self._ax.add_patch(box)
        text = self._ax.text(
            place[0], place[1], name, ha="center", va="center_baseline", color=INK, zorder=6, clip_on=True
        )
        text.set_in_layout(False)
        plain([text])
        self._texts.append((text, _FONT))

    def draw(self, renderer: RendererBase, *args: Any, **options: Any) -> None:
        layers = self._ax.transData.transform([(0.0, 0.0), (0.0, 1.0)])
        self.resize(float(np.hypot(*(layers[1] - layers[0]))) * 72.0 / self._ax.figure.dpi)

    def resize(self, unit: float) -> None:
        """Set all sizes for a distance between layers, in points; setting them anew would ask for another drawing."""
        for text, size in self._texts:
            if text.get_fontsize() != (wanted := max(round(size * unit, 2), 0.1)):
                text.set_fontsize(wanted)
        for patch, width in self._arrows:
            if patch.get_linewidth() != (wanted := round(width * unit, 3)):
                patch.set_linewidth(wanted)
                patch.set_mutation_scale(max((0.16 + 2.6 * width) * unit, 0.1))
