"""Draw the figure of mixing in docs/all-studies.md from the table of decision 10, so that they stay the same.

python docs/make_benchmark_figures.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import svg
from svg import BLUE, GREY, ORANGE, PALE, WHITE

DOCS = Path(__file__).parent
FOLDER = DOCS / "figures"
WIDTH = 560
PROBLEMS = {"gsim100": 1, "strong100": 2}
"""Columns of the table of decision 10 that are drawn."""


def table_after(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, its own heading left out."""
    lines = text[text.index(heading) :].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def log_scale(low: float, high: float, left: float, width: float) -> Callable[[float], float]:
    """Return what places a number on a logarithmic axis."""
    return lambda value: left + width * (math.log10(value) - low) / (high - low)


def draw_mixing(folder: Path = FOLDER) -> None:
    """By how much chains disagree at most: from nothing, and from the initialiser's starts."""
    text = (DOCS / "adr" / "0010-mixture-and-initialiser.md").read_text(encoding="utf-8")
    rows = table_after(text, "## The comparison")
    left, top, step, panel, gap = 196, 62, 30, 164, 26
    bottom = top + step * len(rows)
    shapes = [svg.text(left, 20, "largest difference between chains on any edge", anchor="start", bold=True)]
    shapes += [svg.text(left - 10, top + step * k + 5, row[0], size=13, anchor="end") for k, row in enumerate(rows)]
    for column, (problem, cell) in enumerate(PROBLEMS.items()):
        place = log_scale(-2, 0, left + column * (panel + gap), panel)
        shapes.append(svg.text(place(0.1), 42, problem, size=14))
        for tick in (0.01, 0.1, 1.0):
            shapes.append(svg.path([(place(tick), top - 14), (place(tick), bottom - 8)], PALE, 1))
            shapes.append(svg.text(place(tick), bottom + 10, f"{tick:g}", size=12, colour=GREY))
        for k, row in enumerate(rows):
            y = top + step * k
            empty, found = (float(re.match(r"[\d.]+", part.strip()).group()) for part in row[cell].split("→"))
            shapes.append(svg.path([(place(empty), y), (place(found), y)], GREY, 1.2))
            shapes.append(svg.circle(place(empty), y, 5.5, WHITE, ORANGE, 2.5))
            shapes.append(svg.circle(place(found), y, 6, BLUE, BLUE))
    y = bottom + 36
    shapes += [
        svg.circle(left + 6, y - 5, 5.5, WHITE, ORANGE, 2.5),
        svg.text(left + 18, y, "started without edges", anchor="start"),
        svg.circle(left + 196, y - 5, 6, BLUE, BLUE),
        svg.text(left + 208, y, "from a search", anchor="start"),
    ]
    svg.write(folder / "mixing.svg", WIDTH, y + 14, "Disagreement of chains, by sampler", shapes)


if __name__ == "__main__":
    draw_mixing()
