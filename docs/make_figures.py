"""Draw the figures of docs/how-it-works.md. Every number in them is computed here.

python docs/make_figures.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import svg
from svg import BLUE, GREY, INK, ORANGE, PALE, WHITE

import parnidag
from parnidag.data import Data
from parnidag.graphs.adjacency import topological_order
from parnidag.priors.edge_prior import EdgePrior
from parnidag.samplers.parni.warm_start import warm_start
from parnidag.scores import BGe, Gaussian
from parnidag.target import Target

FOLDER = Path(__file__).parent / "figures"
WIDTH = 560
SMALL = ("rain", "soil", "growth")
STEP = ("rain", "tap", "soil", "worms")
"""The variables of the step: a garden once more."""
PLACES = {"rain": (70.0, 30.0), "tap": (210.0, 30.0), "soil": (100.0, 105.0), "worms": (190.0, 170.0)}


# ── all graphs on three nodes ─────────────────────────────────────────────────────────────────────────────────────────


def small_data() -> Data:
    """Forty rows of rain → soil → growth."""
    rng = np.random.default_rng(3)
    rain = rng.normal(size=40)
    soil = 0.5 * rain + rng.normal(size=40)
    growth = 0.5 * soil + rng.normal(size=40)
    return Data(np.column_stack([rain, soil, growth]), names=SMALL)


def all_graphs(n: int) -> Iterator[np.ndarray]:
    """Go through every DAG on n nodes."""
    for bits in itertools.product((False, True), repeat=n * (n - 1)):
        graph = np.zeros((n, n), bool)
        graph[~np.eye(n, dtype=bool)] = bits
        if topological_order(graph) is not None:
            yield graph


def small_posterior() -> list[tuple[float, np.ndarray]]:
    """Return the probability of each of the 25 graphs, the likeliest first."""
    target = Target.build(small_data(), BGe(standardise=True), EdgePrior())
    graphs = list(all_graphs(3))
    heights = np.array([target.log_posterior(graph) for graph in graphs])
    weights = np.exp(heights - heights.max())
    order = np.argsort(-weights.round(9), kind="stable")
    return [(float(weights[k] / weights.sum()), graphs[k]) for k in order]


def glyph(graph: np.ndarray, x: float, y: float, size: float, colour: str = INK) -> str:
    """Draw a graph on three nodes, small: rain above, soil on the left, growth on the right; letters if they fit."""
    places = [(x, y - 0.5 * size), (x - 0.6 * size, y + 0.5 * size), (x + 0.6 * size, y + 0.5 * size)]
    radius = 0.2 * size if size > 30 else 0.12 * size
    dots = [svg.circle(*place, radius, WHITE, colour) for place in places]
    letters = [
        svg.text(px, py + 0.13 * size, name[0].upper(), size=round(0.34 * size), colour=colour)
        for (px, py), name in zip(places, SMALL, strict=True)
        if size > 30
    ]
    width = size / 22
    arrows = [svg.arrow(places[i], places[j], colour, width, gap=radius + 1) for i, j in np.argwhere(graph)]
    return "".join(arrows + dots + letters)


def draw_all_graphs() -> None:
    """All 25 graphs on three nodes, shaded by their probability."""
    found = small_posterior()
    columns, cell_width, cell_height = 5, WIDTH / 5, 106
    shapes = []
    for k, (probability, graph) in enumerate(found):
        x, y = (k % columns) * cell_width, (k // columns) * cell_height
        shade = svg.box(
            x + 4,
            y + 4,
            cell_width - 8,
            cell_height - 8,
            BLUE,
            opacity=0.06 + 0.9 * probability / found[0][0],
            round_=6,
        )
        light = probability > 0.4 * found[0][0]
        colour = WHITE if light else INK
        graph_there = glyph(graph, x + cell_width / 2, y + 42, 34, INK)
        label = f"{100 * probability:.0f} %" if probability >= 0.01 else f"{100 * probability:.1f} %"
        shapes += [shade, graph_there, svg.text(x + cell_width / 2, y + 93, label, colour=colour, bold=light)]
    rows = math.ceil(len(found) / columns)
    svg.write(FOLDER / "all-graphs.svg", WIDTH, rows * cell_height, "All 25 graphs on three nodes", shapes)


# ── a walk among them ─────────────────────────────────────────────────────────────────────────────────────────────────


def visits(iterations: int) -> dict[bytes, float]:
    """Return how often a chain of PARNI visits each graph."""
    posterior = parnidag.sample(
        small_data(),
        score=BGe(standardise=True),
        draws=iterations,
        thin=1,
        tune=0,
        chains=1,
        start="empty",
        seed=4,
        progress=False,
    )
    graphs, counts = np.unique(posterior.graphs[0].reshape(iterations, -1), axis=0, return_counts=True)
    return {graph.tobytes(): count / iterations for graph, count in zip(graphs, counts, strict=True)}


def draw_visits() -> None:
    """Shares of visits to the likeliest graphs, beside their probabilities, for longer and longer walks."""
    found = small_posterior()[:11]
    lengths = (30, 300, 30_000)
    left, top, row, width = 62, 56, 38, 138
    scale = width / 0.36
    shapes = []
    for m, length in enumerate(lengths):
        x = left + 24 + m * (width + 22)
        share = visits(length)
        shapes.append(svg.text(x, 24, f"{length:,} steps", anchor="start", bold=True))
        for k, (probability, graph) in enumerate(found):
            y = top + k * row
            seen = share.get(graph.ravel().tobytes(), 0.0)
            shapes.append(svg.box(x, y - 9, seen * scale, 18, BLUE, opacity=0.75))
            shapes.append(svg.path([(x + probability * scale, y - 12), (x + probability * scale, y + 12)], ORANGE, 3))
        shapes.append(svg.path([(x, top - 16), (x, top + len(found) * row - 12)], GREY, 1))
    shapes += [glyph(graph, 38, top + k * row, 24) for k, (_, graph) in enumerate(found)]
    base = top + len(found) * row + 12
    shapes += [
        svg.box(84, base - 11, 22, 14, BLUE, opacity=0.75),
        svg.text(114, base + 1, "share of the walk", anchor="start"),
        svg.path([(286, base - 12), (286, base + 5)], ORANGE, 3),
        svg.text(296, base + 1, "exact probability", anchor="start"),
    ]
    svg.write(FOLDER / "visits.svg", WIDTH, base + 18, "Shares of visits approach the probabilities", shapes)


# ── one step of PARNI ─────────────────────────────────────────────────────────────────────────────────────────────────


def step_target() -> Target:
    """Sixty rows of rain → soil ← tap, soil → worms."""
    rng = np.random.default_rng(1)
    rain, tap = rng.normal(size=(2, 60))
    soil = 0.8 * rain + 0.6 * tap + rng.normal(size=60)
    worms = 0.6 * soil + rng.normal(size=60)
    return Target.build(Data(np.column_stack([rain, tap, soil, worms]), names=STEP), Gaussian(g=10), EdgePrior())


def edges_of(graph: np.ndarray) -> list[tuple[str, str]]:
    """Name the edges."""
    return [(STEP[i], STEP[j]) for i, j in np.argwhere(graph)]


def chance(eta: float, present: bool) -> float:
    """Return the probability that a position may change: equation 3, corrected."""
    return min(1.0, (1 - eta) / eta if present else eta / (1 - eta))


def block_states(target: Target, graph: np.ndarray, eta: np.ndarray, block: list[tuple[int, int]]) -> list[tuple]:
    """Return the states of a block: what they are called, the graph, and their share (0 if it would have a cycle)."""
    i, j = block[0]
    candidates = [("no edge", ())] + [(f"{STEP[a]} → {STEP[b]}", ((a, b),)) for a, b in block]
    states = []
    for words, edges in candidates:
        state = graph.copy()
        for a, b in [(i, j), (j, i)] if len(block) == 2 else [(i, j)]:
            state[a, b] = (a, b) in edges
        weight = -math.inf
        if topological_order(state) is not None:
            weight = target.log_posterior(state) + sum(math.log(chance(eta[a, b], state[a, b])) for a, b in block)
        states.append([words, state, weight])
    top = max(weight for _, _, weight in states)
    total = sum(math.exp(weight - top) for _, _, weight in states)
    return [(words, state, math.exp(weight - top) / total) for words, state, weight in states]


def first_graph() -> np.ndarray:
    """Where the step begins: a poor graph."""
    graph = np.zeros((4, 4), bool)
    for parent, child in (("soil", "rain"), ("tap", "worms"), ("worms", "soil")):
        graph[STEP.index(parent), STEP.index(child)] = True
    return graph


def draw_step() -> None:
    """The present graph, η, the positions drawn, the choices, the next graph."""
    target, graph = step_target(), first_graph()
    eta = warm_start(target, 0.01, ~np.eye(4, dtype=bool))
    rng = np.random.default_rng(97)
    drawn = {(i, j) for i, j in itertools.permutations(range(4), 2) if rng.random() < chance(eta[i, j], graph[i, j])}
    blocks = [
        [(i, j), (j, i)] if (j, i) in drawn else [(i, j)] for i, j in sorted(drawn) if (j, i) not in drawn or i < j
    ]
    rng.shuffle(blocks)
    draw_neighbourhood(graph, eta, drawn)
    draw_choices(target, graph, eta, blocks, rng)


def draw_neighbourhood(graph: np.ndarray, eta: np.ndarray, drawn: set[tuple[int, int]]) -> None:
    """The present graph on the left, η as a table on the right, with rings around what may change."""
    shapes = [svg.text(140, 26, "the present graph", bold=True)]
    lower = {name: (x, y + 42) for name, (x, y) in PLACES.items()}
    shapes.append(svg.named_graph(lower, edges_of(graph), {}))
    left, top, cell = 330, 66, 52
    shapes.append(svg.text(left + 2 * cell, 26, "η, and what may change", bold=True))
    for k, name in enumerate(STEP):
        shapes.append(svg.text(left + (k + 0.5) * cell, top - 8, name, size=13, colour=GREY))
        shapes.append(svg.text(left - 8, top + (k + 0.6) * cell, f"{name} →", size=13, colour=GREY, anchor="end"))
    for i, j in itertools.product(range(4), repeat=2):
        x, y = left + j * cell, top + i * cell
        if i == j:
            shapes.append(svg.box(x, y, cell, cell, PALE))
            continue
        shapes.append(svg.box(x, y, cell, cell, BLUE, opacity=0.85 * eta[i, j], stroke=PALE))
        colour = WHITE if eta[i, j] > 0.6 else INK
        shapes.append(svg.text(x + cell / 2, y + cell / 2 + 5, f"{eta[i, j]:.2f}", colour=colour))
    shapes += [
        svg.box(left + j * cell + 3, top + i * cell + 3, cell - 6, cell - 6, "none", stroke=ORANGE, line=3, round_=8)
        for i, j in drawn
    ]
    svg.write(FOLDER / "neighbourhood.svg", WIDTH, top + 4 * cell + 16, "η and the positions drawn", shapes)


def draw_choices(
    target: Target, graph: np.ndarray, eta: np.ndarray, blocks: list[list[tuple[int, int]]], rng: np.random.Generator
) -> None:
    """The choices of one step, one under the other, and the graph they lead to."""
    y, shapes = 40.0, [svg.text(16, 24, "one place after the other", anchor="start", bold=True)]
    for number, block in enumerate(blocks, 1):
        states = block_states(target, graph, eta, block)
        shares = np.array([share for _, _, share in states])
        chosen = int(rng.choice(len(states), p=shares))
        shapes.append(svg.circle(30, y + 12 * len(states), 13, PALE, GREY, 1))
        shapes.append(svg.text(30, y + 12 * len(states) + 5, str(number)))
        for k, (words, state, share) in enumerate(states):
            line = y + 24 * k + 14
            possible = topological_order(state) is not None
            colour = ORANGE if k == chosen else INK if possible else GREY
            shapes.append(svg.text(168, line + 5, words, anchor="end", colour=colour, bold=k == chosen))
            if possible:
                shapes.append(
                    svg.box(176, line - 8, max(130 * share, 1), 16, ORANGE if k == chosen else BLUE, opacity=0.8)
                )
                shapes.append(
                    svg.text(182 + 130 * share, line + 5, f"{share:.2f}", size=13, anchor="start", colour=colour)
                )
            else:
                shapes.append(svg.text(176, line + 5, "would close a cycle", size=13, anchor="start", colour=GREY))
        graph = states[chosen][1]
        y += 24 * len(states) + 16
    shapes.append(svg.text(450, 24, "the next graph", bold=True))
    changed = dict.fromkeys(set(edges_of(graph)) - set(edges_of(first_graph())), ORANGE)
    beside = {name: (x + 310, py + 50) for name, (x, py) in PLACES.items()}
    shapes.append(svg.named_graph(beside, edges_of(graph), changed))
    svg.write(FOLDER / "choices.svg", WIDTH, max(y, 250.0), "The choices of one step", shapes)


# ── η, and a valley ───────────────────────────────────────────────────────────────────────────────────────────────────


def draw_eta() -> None:
    """How willingly a position is tried, by its η: when the edge is absent and when it is there."""
    left, top, width, height = 60, 34, 440, 190
    etas = np.linspace(0.01, 0.99, 197)

    def place(eta: float, value: float) -> tuple[float, float]:
        return left + width * eta, top + height * (1 - value)

    shapes = [svg.path([place(0, 0), place(1, 0)], GREY, 1), svg.path([place(0, 0), place(0, 1)], GREY, 1)]
    for tick in (0.0, 0.5, 1.0):
        shapes.append(svg.text(*place(tick, -0.1), f"{tick:g}", size=13, colour=GREY))
        shapes.append(svg.text(left - 8, place(0, tick)[1] + 5, f"{tick:g}", size=13, colour=GREY, anchor="end"))
    for present, colour in ((False, BLUE), (True, ORANGE)):
        shapes.append(svg.path([place(eta, chance(eta, present)) for eta in etas], colour, 3))
    shapes += [
        svg.text(*place(0.36, 0.34), "edge absent:", colour=BLUE, anchor="start"),
        svg.text(*place(0.36, 0.23), "try to add it", colour=BLUE, anchor="start"),
        svg.text(*place(0.7, 0.74), "edge present:", colour=ORANGE, anchor="start"),
        svg.text(*place(0.7, 0.63), "try to take it away", colour=ORANGE, anchor="start"),
        svg.text(left + width / 2, top + height + 44, "η: a guess of how probable the edge is"),
        svg.text(left, 18, "chance of being tried", anchor="start"),
    ]
    svg.write(FOLDER / "eta.svg", WIDTH, top + height + 56, "How often a position is tried, by η", shapes)


VALLEY = ("u", "v", "w", "x", "a", "b")
CAUSES = VALLEY[:4]
CROSSING = (
    [(cause, "a") for cause in CAUSES] + [("a", "b")],
    [(cause, "a") for cause in CAUSES] + [("b", "a")],
    [(cause, "b") for cause in CAUSES] + [("b", "a")],
)
"""Before; the edge a → b alone turned; the parents exchanged too."""


def valley_heights() -> list[float]:
    """Return the log posteriors of the three graphs, on 1000 rows in which b is nearly a copy of a."""
    rng = np.random.default_rng(1)
    causes = rng.normal(size=(1000, 4))
    a = causes @ [0.8, -0.7, 0.6, 0.9] + 0.6 * rng.normal(size=1000)
    b = a + 0.03 * rng.normal(size=1000)
    target = Target.build(Data(np.column_stack([causes, a, b]), names=VALLEY), Gaussian(g=10), EdgePrior())
    heights = []
    for edges in CROSSING:
        graph = np.zeros((6, 6), bool)
        for parent, child in edges:
            graph[VALLEY.index(parent), VALLEY.index(child)] = True
        heights.append(target.log_posterior(graph))
    return heights


def draw_valley() -> None:
    """Two good graphs, the poor one between them, and the move that goes across at once."""
    heights = valley_heights()
    middle, base = 1, 340.0
    scale = 120 / (max(heights) - heights[middle])
    shapes = []
    for k, (height, edges) in enumerate(zip(heights, CROSSING, strict=True)):
        x, top = 93 + 187 * k, base - 36 - scale * (height - heights[middle])
        upper, lower = top - 96, top - 24
        places = {name: (x + 42 * (m - 1.5), upper) for m, name in enumerate(CAUSES)}
        places |= {"a": (x - 42, lower), "b": (x + 42, lower)}
        shapes.append(svg.named_graph(places, edges, {("b", "a"): ORANGE}))
        shapes.append(svg.box(x - 76, top, 152, base - top, BLUE, opacity=0.25 if k == middle else 0.7, round_=3))
        colour = INK if k == middle else WHITE
        shapes.append(svg.text(x, base - 12, f"−{-height:,.1f}", colour=colour, bold=True))
    shapes += [
        svg.text(280, 178, "only a → b turned:", size=14, colour=GREY),
        svg.text(280, 22, "exchange: turn a → b, and let both trade their other parents", size=14, colour=ORANGE),
        svg.path([(120, 52), (150, 36), (400, 36)], ORANGE, 2.2),
        svg.arrow((400, 36), (442, 56), ORANGE, 2.2),
        svg.text(280, base + 22, "log posterior (1000 rows; b is nearly a copy of a)", size=14, colour=GREY),
    ]
    svg.write(FOLDER / "valley.svg", WIDTH, base + 36, "An exchange of parents crosses a valley at once", shapes)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for draw in (draw_all_graphs, draw_visits, draw_step, draw_eta, draw_valley):
        draw()
