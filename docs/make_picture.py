"""Draw docs/demo.svg, the picture of the README: the posterior of the demo network.

python docs/make_picture.py

An arrow is an edge with posterior probability of at least 0.1, the wider the more probable; orange marks those that the
data leave open. Plain SVG, written here, so that nothing but the library is needed.
"""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np

import parnidag
from parnidag.data import Data
from parnidag.graph import topological_order
from parnidag.simulation import example_network

WIDTH, ROW, BOX, SHOWN, OPEN = 1000, 62, 24, 0.1, 0.9
BLUE, ORANGE, INK = "#0072b2", "#d55e00", "#1b1b1b"


def layers(adjacency: np.ndarray) -> np.ndarray:
    """Return each node's depth: one more than its deepest parent."""
    depth = np.zeros(len(adjacency), int)
    for node in topological_order(adjacency) or []:
        parents = np.flatnonzero(adjacency[:, node])
        depth[node] = depth[parents].max() + 1 if parents.size else 0
    return depth


def places(adjacency: np.ndarray) -> np.ndarray:
    """Place nodes in rows by depth, in each row in the order of the mean place of their neighbours."""
    depth = layers(adjacency)
    xy = np.zeros((len(adjacency), 2))
    xy[:, 1] = 40 + ROW * depth
    neighbours = adjacency | adjacency.T
    xy[:, 0] = np.linspace(0, WIDTH, len(adjacency))
    for _ in range(30):
        for level in range(depth.max() + 1):
            row = np.flatnonzero(depth == level)
            wanted = [xy[neighbours[node], 0].mean() if neighbours[node].any() else WIDTH / 2 for node in row]
            order = row[np.argsort(wanted, kind="stable")]
            xy[order, 0] = WIDTH * (np.arange(len(row)) + 0.5) / len(row)
    return xy


def arrow(start: np.ndarray, end: np.ndarray, probability: float) -> str:
    """Return one arrow; those that jump a row bend around what is between, open ones carry their probability."""
    sure = probability >= OPEN
    span = abs(end[1] - start[1]) / ROW
    down = np.sign(end[1] - start[1]) or 1
    first = start + np.array([0, down * BOX / 2])
    last = end - np.array([0, down * (BOX / 2 + 5)])
    bend = 34 * span * (span > 1.5) * (1 if end[0] >= start[0] else -1)
    middle = (first + last) / 2 + np.array([bend, 0 if sure else -16 * down])
    on_curve = (first + 2 * middle + last) / 4
    colour, head = (BLUE, "sure") if sure else (ORANGE, "open")
    curve = f"M{first[0]:.0f},{first[1]:.0f} Q{middle[0]:.0f},{middle[1]:.0f} {last[0]:.0f},{last[1]:.0f}"
    line = (
        f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="{0.8 + 2.2 * probability:.1f}" '
        f'marker-end="url(#{head})"/>'
    )
    if sure:
        return line
    label = f'<text x="{on_curve[0] + 10:.0f}" y="{on_curve[1] + 4 - 9 * down:.0f}" fill="{ORANGE}">'
    return f"{line}{label}{probability:.2f}</text>"


def box(place: np.ndarray, name: str) -> str:
    """Return one node."""
    width = 9 + 7.4 * len(name)
    return (
        f'<rect x="{place[0] - width / 2:.0f}" y="{place[1] - BOX / 2:.0f}" width="{width:.0f}" height="{BOX}" rx="6" '
        f'fill="#ffffff" stroke="#8a8a8a"/><text x="{place[0]:.0f}" y="{place[1] + 4:.0f}" text-anchor="middle" '
        f'fill="{INK}">{html.escape(name)}</text>'
    )


def marker(name: str, colour: str) -> str:
    """Return an arrow head."""
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def main() -> None:
    """Sample the demo network and draw it."""
    network = example_network()
    posterior = parnidag.sample(Data(network.values, names=network.names), seed=1, progress=False)
    probabilities = posterior.edge_probabilities.to_numpy()
    xy = places(network.adjacency)
    height = xy[:, 1].max() + 60
    edges = [arrow(xy[i], xy[j], probabilities[i, j]) for i, j in np.argwhere(probabilities >= SHOWN)]
    caption = "20 variables, 400 rows. Blue: probability 0.9 or more. Orange: left open by the data."
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="Posterior edge probabilities of the demo network">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fbfbfb"/>',
        f"<defs>{marker('sure', BLUE)}{marker('open', ORANGE)}</defs>",
        *edges,
        *(box(place, name.replace("_", " ")) for place, name in zip(xy, network.names, strict=True)),
        f'<text x="{WIDTH / 2}" y="{height - 14:.0f}" text-anchor="middle" fill="#555">{caption}</text>',
        "</svg>",
    ]
    Path(__file__).with_name("demo.svg").write_text("\n".join(svg) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
