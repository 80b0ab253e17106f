"""Where the graph of the report is drawn: places of the boxes and ways of the edges, in pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.drawing import layered
from parnidag.report.names import box_width, label

DRAWN_FROM = 0.1
"""Edges from this probability on have a way of their own in the layout; rarer ones are drawn across it."""

MOST_DRAWN_PER_NODE = 3
"""Beyond so many edges a node on average, the least probable have no way of their own: nobody could follow them."""

SPACING = ((10, 120.0, 104.0), (40, 84.0, 84.0), (math.inf, 66.0, 104.0))
"""Up to so many nodes: pixels of one unit of the layout across, and between layers. Few nodes have room; between the
layers of many there must be room for the lines."""


def picture(names: list[str], probabilities: NDArray[np.float64], consensus: NDArray[np.bool_]) -> dict[str, Any]:
    """Return labels, the boxes' places and widths, and the ways of edges that are not straight, as JSON values.

    Parameters
    ----------
    names : list of str
        Names that can be shown.
    probabilities : (n, n) array
        Of each edge.
    consensus : (n, n) array of bool
        The graph whose edges come first.
    """
    labels = [label(name) for name in names]
    widths = np.array([box_width(text) for text in labels])
    weights = np.where(consensus, 1.0 + probabilities, probabilities)
    across, down = next((across, down) for most, across, down in SPACING if len(names) <= most)
    layout = layered(_drawn(weights), weights, widths=widths / across)
    scale = np.array([across, down])
    places = np.rint(layout.xy * scale).astype(int)
    ways = {}
    for (parent, child), bends in layout.bends.items():
        if f"{child}-{parent}" not in ways:  # both directions share a way
            ways[f"{parent}-{child}"] = np.rint(bends * scale).astype(int).ravel().tolist()
    return {"labels": labels, "places": places.tolist(), "widths": np.rint(widths).astype(int).tolist(), "ways": ways}


def _drawn(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Choose the edges that the layout is made for: the consensus graph and what is fairly probable, not too many."""
    flat = np.where(np.eye(len(weights), dtype=bool), 0.0, weights).ravel()
    heaviest = np.argsort(-flat, kind="stable")[: MOST_DRAWN_PER_NODE * len(weights)]
    drawn = np.zeros(flat.size, dtype=bool)
    drawn[heaviest] = flat[heaviest] >= DRAWN_FROM
    return drawn.reshape(weights.shape)
