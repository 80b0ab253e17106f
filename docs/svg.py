"""A few shapes as SVG text, for the figures of these pages: nothing but strings."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

BLUE, ORANGE, INK, GREY, PALE, WHITE = "#0072b2", "#d55e00", "#1b1b1b", "#8a8a8a", "#e4e7eb", "#ffffff"
FONT = 15
Point = tuple[float, float]


def text(
    x: float, y: float, words: str, *, size: int = FONT, colour: str = INK, anchor: str = "middle", bold: bool = False
) -> str:
    """Return a line of text; `y` is its base line."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{html.escape(words)}</text>"
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = WHITE,
    *,
    stroke: str = "none",
    line: float = 1.0,
    round_: float = 0.0,
    opacity: float = 1.0,
) -> str:
    """Return a rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{line}" fill-opacity="{opacity:.3f}"/>'
    )


def path(points: Iterable[Point], colour: str = INK, width: float = 1.5, dash: str = "") -> str:
    """Return a line through points."""
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def circle(x: float, y: float, radius: float, fill: str = WHITE, stroke: str = INK, line: float = 1.5) -> str:
    """Return a circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" stroke="{stroke}" stroke-width="{line}"/>'


def arrow(start: Point, end: Point, colour: str = INK, width: float = 1.5, *, gap: float = 0.0) -> str:
    """Return a straight arrow that keeps `gap` away from both of its ends."""
    length = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    head = 3.0 + 3.0 * width
    x0, y0 = start[0] + dx * gap, start[1] + dy * gap
    x1, y1 = end[0] - dx * gap, end[1] - dy * gap
    xb, yb = x1 - dx * head, y1 - dy * head
    side = head * 0.45
    tip = f"{x1:.1f},{y1:.1f} {xb - dy * side:.1f},{yb + dx * side:.1f} {xb + dy * side:.1f},{yb - dx * side:.1f}"
    return path([(x0, y0), (xb, yb)], colour, width) + f'<polygon points="{tip}" fill="{colour}"/>'


def named_graph(
    places: Mapping[str, Point], edges: Iterable[tuple[str, str]], marked: Mapping[tuple[str, str], str]
) -> str:
    """Return a graph with names in ovals; marked edges have a colour."""
    shapes = []
    for edge in edges:
        colour = marked.get(edge, INK)
        shapes.append(_arrow_between(places[edge[0]], places[edge[1]], edge, colour))
    for name, (x, y) in places.items():
        shapes.append(_oval(x, y, name))
    return "".join(shapes)


def _half_width(name: str) -> float:
    return 10 + 4.1 * len(name)


def _oval(x: float, y: float, name: str) -> str:
    half = _half_width(name)
    return box(x - half, y - 14, 2 * half, 28, stroke=GREY, round_=14) + text(x, y + 5, name)


def _arrow_between(start: Point, end: Point, edge: tuple[str, str], colour: str) -> str:
    """Return an arrow that begins and ends at the rims of two ovals."""
    length = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / length, (end[1] - start[1]) / length

    def rim(name: str) -> float:
        sideways = _half_width(name) / abs(dx) if dx else math.inf
        return min(sideways, 14 / abs(dy) if dy else math.inf) + 4

    first, last = rim(edge[0]), rim(edge[1])
    return arrow((start[0] + dx * first, start[1] + dy * first), (end[0] - dx * last, end[1] - dy * last), colour, 2.2)


def write(file: Path, width: float, height: float, title: str, shapes: Iterable[str]) -> None:
    """Write a figure on a white ground, which stays readable on dark pages."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{html.escape(title)}">',
        box(0, 0, width, height, WHITE, round_=6),
        *shapes,
        "</svg>",
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
