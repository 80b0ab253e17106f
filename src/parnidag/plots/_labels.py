"""Labels of points that keep out of each other's way, and of the points, whatever the size of the figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from parnidag.plots._axes import GREY, Floats, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

MOST_LABELS = 10
"""More names than this hide what they explain."""
_SIDEWAYS = (7.0, 16.0, 30.0, 50.0, 80.0, 120.0)
_UPWARDS = (0.0, 8.0, 16.0, 26.0, 38.0, 52.0, 68.0, 86.0, 106.0)
_MARGIN = 2.0
"""Points (1/72 inch) between a label and what is next to it."""


def label_points(ax: Axes, places: Floats, labels: Sequence[str], others: Floats) -> list[Annotation]:
    """Name the points at `places`, the most important first, each label joined to its point by a thin line.

    Labels shall not cover `others`, which are all points of the picture.
    """
    made = [
        ax.annotate(
            label,
            (float(x), float(y)),
            xytext=(0.0, 10.0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize="small",
            zorder=6,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0.0, "shrinkB": 2.0},
        )
        for (x, y), label in zip(places, labels, strict=True)
    ]
    plain(made)
    halo = withStroke(linewidth=2.5, foreground=ax.get_facecolor())
    for annotation in made:
        annotation.set_path_effects([halo])
        annotation.set_in_layout(False)  # they are kept within the axes
    if made:
        ax.add_artist(_Spread(made, others))
    return made


class _Spread(Artist):
    """Draws nothing: finds places for labels just before they are drawn, when the size of everything is known."""

    def __init__(self, labels: list[Annotation], others: Floats) -> None:
        super().__init__()
        self._labels, self._others = labels, others
        self.set_zorder(5.9)
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase, *args: Any, **options: Any) -> None:
        axes = self.axes
        assert axes is not None
        pixel = 72.0 / axes.figure.dpi
        room = axes.get_window_extent(renderer).padded(-_MARGIN / pixel)
        points = _one_a_cell(axes.transData.transform(self._others), 2.0 / pixel)
        taken = np.zeros((0, 2, 2))
        for label in self._labels:
            anchor = axes.transData.transform(label.xy)
            size = Text.get_window_extent(label, renderer)
            half = np.array([size.width, size.height]) / 2 + _MARGIN / pixel
            offset = _best_offset(anchor, half, pixel, room, points, taken)
            taken = np.concatenate([taken, [[anchor + offset - half, anchor + offset + half]]])
            wanted = (round(float(offset[0]) * pixel, 2), round(float(offset[1]) * pixel, 2))
            if wanted != label.xyann:  # else each drawing would ask for another
                label.xyann = wanted


def _one_a_cell(points: Floats, cell: float) -> Floats:
    """Keep one of the points that lie practically on each other."""
    points = points[np.isfinite(points).all(axis=1)]
    return np.unique(np.round(points / cell), axis=0) * cell


def _best_offset(anchor: Floats, half: Floats, pixel: float, room: Bbox, points: Floats, taken: Floats) -> Floats:
    """Return the place of a label's centre, from its point, that hides least, and of these the nearest.

    All lengths are in pixels, one of which is `pixel` points (1/72 inch) large. Labels may be in the `room`; `anchor`
    is the point, `half` half the size of the label, `points` what not to cover, and `taken` the lower left and upper
    right corners of the labels that have their place.
    """
    offsets = _offsets(half, pixel)
    low, high = anchor + offsets - half, anchor + offsets + half
    near = points[(points > low.min(axis=0)).all(axis=1) & (points < high.max(axis=0)).all(axis=1)]
    hidden = ((near > low[:, None]) & (near < high[:, None])).all(axis=2).sum(axis=1)
    overlaps = ((low[:, None] < taken[:, 1]) & (high[:, None] > taken[:, 0])).all(axis=2).sum(axis=1)
    outside = ((low < room.min) | (high > room.max)).any(axis=1)
    line = anchor + np.linspace(0.0, 1.0, 20)[:, None, None] * offsets  # from the point to the label
    crossed = ((line[:, :, None] > taken[:, 0]) & (line[:, :, None] < taken[:, 1])).all(axis=3).any(axis=0).sum(axis=1)
    reach = np.hypot(*np.maximum(np.abs(offsets) - half, 0.0).T) * pixel
    cost = 1e6 * overlaps + 1e5 * outside + 60.0 * crossed + 20.0 * hidden + reach
    best: Floats = offsets[cost.argmin()]
    return best


def _offsets(half: Floats, pixel: float) -> Floats:
    """Return where a label's centre might go, from its point: above and below, and beside it at several heights."""
    above = [(0.0, half[1] + dy / pixel) for dy in _UPWARDS[1:]]
    beside = [(side * (half[0] + dx / pixel), dy / pixel) for side in (1, -1) for dx in _SIDEWAYS for dy in _UPWARDS]
    return np.array([(x, sign * y) for x, y in [*above, *beside] for sign in (1, -1)])
