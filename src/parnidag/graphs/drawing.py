"""Where to draw the nodes of a graph: in layers, parents above their children, with few crossings (Sugiyama's way).

igraph orders the nodes within the layers. The rest is done here, because nodes have names of different widths, and the
graph of probable edges can have cycles, both directions of an edge, and parts that do not hang together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.adjacency import topological_order

Floats = NDArray[np.float64]

GAP = 0.35
"""Space between neighbours in a layer, beside their widths."""
BEND_WIDTH = 0.12
"""Width of a passing edge in a layer."""
SWEEPS = 80
"""How often nodes are drawn to the middle of their neighbours, down and up the layers."""
CROSSING_ROUNDS = 200
LAYER_WIDTH = 1.6
"""How much wider than its number of layers a picture may become: the layers hold no more names than that."""
STRAIGHT = {0: 1.0, 1: 2.0, 2: 8.0}
"""Pull of a piece of an edge by its number of bends: long edges shall run straight."""
WIDE = 1.6
"""Parts are put side by side until the picture is about this much wider than high."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of nodes and the ways of edges; y grows downwards, one unit per layer."""

    xy: Floats
    """The centre of each node (n × 2)."""
    bends: dict[tuple[int, int], Floats]
    """The points (k × 2) through which an edge runs from parent to child: one in each layer that it crosses."""


def layered(edges: NDArray[np.bool_], weights: Floats | None = None, *, widths: Floats | None = None) -> Layout:
    """Lay out a directed graph in layers.

    Cycles are allowed: of each, edges of small weight run upwards. Parts that do not hang together are put side by
    side, nodes without edges in rows below. The same graph always gets the same layout.

    Weights, (n, n), say how much each edge matters, for example its probability; by default all matter the same. Widths
    of the nodes are in units of the distance between layers; by default 1.
    """
    pull = np.ones(edges.shape) if weights is None else weights
    wide = np.ones(len(edges)) if widths is None else widths
    down = _without_cycles(edges, pull)
    xy = np.zeros((len(edges), 2))
    parts, lone = _parts(edges)
    bends: dict[tuple[int, int], Floats] = {}
    pieces = [_lay_part(part, down, pull, wide) for part in parts]
    bottom = 0.0
    for (places, ways), shift in zip(pieces, _pack(pieces, wide), strict=True):
        for node, place in places.items():
            xy[node] = place + shift
            bottom = max(bottom, xy[node, 1] + 1.0)
        bends |= {edge: way + shift for edge, way in ways.items()}
    _lay_lone(lone, xy, wide, bottom)
    upwards = {(child, parent): way[::-1] for (parent, child), way in bends.items()}
    bends = upwards | bends  # an edge that runs upwards takes the way of its opposite, backwards
    return Layout(xy, {(i, j): bends[i, j] for i, j in np.argwhere(edges).tolist()})


# ── layers ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _without_cycles(edges: NDArray[np.bool_], weights: Floats) -> NDArray[np.bool_]:
    """Turn round what closes a cycle, the lighter edges first in line."""
    lighter = (weights < weights.T) | ((weights == weights.T) & np.tri(len(edges), dtype=bool))
    down = edges & ~(edges & edges.T & lighter)
    import igraph

    pairs = np.argwhere(down)
    graph = igraph.Graph(n=len(edges), edges=pairs.tolist(), directed=True)
    if not graph.is_dag():
        against = graph.feedback_arc_set(weights=weights[down].tolist(), method="eades")
        for parent, child in pairs[against].tolist():
            down[parent, child], down[child, parent] = False, True
    return np.asarray(down)


def _layers(down: NDArray[np.bool_], weights: Floats, widths: Floats) -> NDArray[np.int64]:
    """Give each node a layer below all its parents, such that edges are short and no layer is very wide."""
    order = topological_order(down)
    assert order is not None
    parents = [np.flatnonzero(down[:, node]) for node in range(len(down))]
    children = [np.flatnonzero(down[node]) for node in range(len(down))]
    needs = widths + GAP
    limit = float(np.sqrt(LAYER_WIDTH * needs.sum()))
    room: dict[int, float] = defaultdict(lambda: limit)
    layers = np.zeros(len(down), dtype=np.int64)
    height = np.zeros(len(down), dtype=np.int64)  # of the longest path below a node: so many layers it needs
    for node in reversed(order):
        height[node] = height[children[node]].max(initial=-1) + 1
    for node in sorted(order, key=lambda node: -int(height[node])):  # parents are higher than their children
        layer = int(layers[parents[node]].max(initial=-1)) + 1
        while room[layer] < min(limit, needs[node]):
            layer += 1
        layers[node] = layer
        room[layer] -= needs[node]
    for _ in range(len(down)):  # pull nodes towards the heavier end of their edges, where there is room
        before = layers.copy()
        for node in [*reversed(order), *order]:
            here = int(layers[node])
            # between its parents and its children the sum of the lengths is linear, so one of the two ends is best
            wanted = int(layers[parents[node]].max(initial=-1)) + 1
            below = layers[children[node]]
            if below.size and weights[node, children[node]].sum() > weights[parents[node], node].sum():
                wanted = int(below.min()) - 1
            step = 1 if wanted > here else -1
            layers[node] = next((k for k in range(wanted, here, -step) if room[k] >= needs[node]), here)
            room[here] += needs[node]
            room[int(layers[node])] -= needs[node]
        if np.array_equal(before, layers):
            break
    return layers


def _parts(edges: NDArray[np.bool_]) -> tuple[list[list[int]], list[int]]:
    """Return the nodes of each connected part, the largest part first, and the nodes without any edge."""
    import igraph

    found = igraph.Graph(n=len(edges), edges=np.argwhere(edges).tolist()).connected_components()
    parts = sorted((sorted(part) for part in found), key=lambda part: (-len(part), part[0]))
    return [part for part in parts if len(part) > 1], [part[0] for part in parts if len(part) == 1]


# ── one connected part ────────────────────────────────────────────────────────────────────────────────────────────────


def _lay_part(
    part: list[int], down: NDArray[np.bool_], weights: Floats, widths: Floats
) -> tuple[dict[int, Floats], dict[tuple[int, int], Floats]]:
    """Place the nodes and bends of one connected part, its upper left corner at 0, 0."""
    own = np.ix_(part, part)
    level = _layers(down[own], weights[own], widths[part]).tolist()
    number = {node: k for k, node in enumerate(part)}
    size = [float(widths[node]) for node in part]
    pieces: list[tuple[int, int]] = []
    runs: dict[tuple[int, int], list[int]] = {}
    for parent in part:
        for child in np.flatnonzero(down[parent]).tolist():
            passed = range(level[number[parent]] + 1, level[number[child]])
            run = list(range(len(level), len(level) + len(passed)))
            level += passed
            size += [BEND_WIDTH] * len(run)
            pieces += pairwise([number[parent], *run, number[child]])
            runs[parent, child] = run
    x = _across(pieces, level, np.array(size), len(part))
    points = np.column_stack([x, np.array(level, dtype=np.float64)])
    points[:, 0] -= (x - np.array(size) / 2).min()
    places = {node: points[k] for node, k in number.items()}
    return places, {edge: points[run] for edge, run in runs.items()}


def _across(pieces: list[tuple[int, int]], level: list[int], sizes: Floats, real: int) -> Floats:
    """Return the x of nodes and bends, in igraph's order: each as near to its neighbours as the others let it."""
    import igraph

    graph = igraph.Graph(n=len(level), edges=pieces, directed=True)
    rough = graph.layout_sugiyama(layers=level, maxiter=CROSSING_ROUNDS)
    x = np.array(rough.coords)[:, 0]
    rows: dict[int, list[int]] = defaultdict(list)
    for vertex in np.argsort(x, kind="stable").tolist():
        rows[level[vertex]].append(vertex)
    neighbours: list[list[tuple[int, float]]] = [[] for _ in level]
    for a, b in pieces:
        pull = STRAIGHT[(a >= real) + (b >= real)]
        neighbours[a].append((b, pull))
        neighbours[b].append((a, pull))
    pulls = np.array([sum(pull for _, pull in near) for near in neighbours])
    for row in rows.values():  # as tight as they go, so that the picture does not become wider than it must
        x[row] = _apart(np.zeros(len(row)), np.ones(len(row)), sizes[row])
    down = [rows[key] for key in sorted(rows)]
    for sweep in range(SWEEPS):
        for row in down if sweep % 2 == 0 else down[::-1]:
            middle = [sum(pull * x[other] for other, pull in neighbours[vertex]) for vertex in row]
            x[row] = _apart(np.array(middle) / pulls[row], pulls[row], sizes[row])
    return x


def _apart(wanted: Floats, pulls: Floats, sizes: Floats) -> Floats:
    """Return the places nearest to `wanted`, in weighted least squares, that keep order and distance.

    Subtracting the distances turns it into isotonic regression, which pooling adjacent violators solves.
    """
    steps = (sizes[1:] + sizes[:-1]) / 2 + np.where((sizes[1:] > BEND_WIDTH) | (sizes[:-1] > BEND_WIDTH), GAP, 0.0)
    offsets = np.concatenate([[0.0], np.cumsum(steps)])
    blocks: list[tuple[float, float, int]] = []
    for value, pull in zip((wanted - offsets).tolist(), pulls.tolist(), strict=True):
        block = (value, pull, 1)
        while blocks and blocks[-1][0] > block[0]:
            other = blocks.pop()
            total = other[1] + block[1]
            block = ((other[0] * other[1] + block[0] * block[1]) / total, total, other[2] + block[2])
        blocks.append(block)
    return np.asarray(np.concatenate([np.full(count, value) for value, _, count in blocks]) + offsets)


# ── all parts together ────────────────────────────────────────────────────────────────────────────────────────────────


def _pack(pieces: Sequence[tuple[dict[int, Floats], Any]], widths: Floats) -> list[Floats]:
    """Return the upper left corner of each part: side by side in shelves, the largest first."""
    sizes = []
    for places, _ in pieces:
        right = max(place[0] + widths[node] / 2 for node, place in places.items())
        sizes.append((right + 2 * GAP, max(place[1] for place in places.values()) + 1.0))
    area = sum(width * height for width, height in sizes)
    return _shelves(sizes, max([width for width, _ in sizes] + [float(np.sqrt(area * WIDE))]))


def _shelves(sizes: Sequence[tuple[float, float]], limit: float) -> list[Floats]:
    """Return the upper left corners of boxes put side by side, in a new row wherever they would pass the limit."""
    corners: list[Floats] = []
    left = top = shelf = 0.0
    for width, height in sizes:
        if left > 0 and left + width > limit:
            left, top, shelf = 0.0, top + shelf, 0.0
        corners.append(np.array([left, top]))
        left, shelf = left + width, max(shelf, height)
    return corners


def _lay_lone(lone: list[int], xy: Floats, widths: Floats, top: float) -> None:
    """Put nodes without edges into rows below the rest, as wide as the rest or as a square of them."""
    placed = np.setdiff1d(np.arange(len(xy)), lone)
    limit = float((xy[placed, 0] + widths[placed] / 2).max()) if placed.size else 0.0
    limit = max(limit, float(np.sqrt((widths[lone] + GAP).sum() * WIDE)))
    for node, corner in zip(lone, _shelves([(widths[node] + GAP, 1.0) for node in lone], limit + GAP), strict=True):
        xy[node] = corner[0] + widths[node] / 2, corner[1] + top
