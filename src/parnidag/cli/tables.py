"""What `parnidag compare` shows: two results side by side, or results beside a known graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parnidag.cli.screens import cell, print_table, say

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

MOST_ROWS = 30
"""Differences that are listed; more are only counted."""


def print_differences(first: Posterior, second: Posterior, least: float) -> None:
    """Print the edges on which two results differ, and how far they are apart over all."""
    from parnidag.results.compare import compare, root_mean_square

    table = compare(first, second)
    shown = table[table["difference"].abs() > least]
    largest = table["difference"].abs().max() if len(table) else 0.0
    rms = root_mean_square(first, second)
    say(f"Over all {len(first.nodes)} nodes: largest difference {largest:.3f}, root mean square {rms:.4f}.")
    if shown.empty:
        say(f"No edge differs by more than {least:g}.")
        return
    formats = {"parent": "", "child": "", "first": ".3f", "second": ".3f", "difference": "+.3f", "z": "+.1f"}
    rows = [
        [cell(row[name], number_format) for name, number_format in formats.items()]
        for row in shown.head(MOST_ROWS).astype(object).where(shown.notna(), None).to_dict("records")
    ]
    print_table(["parent", "child", "first", "second", "difference", "in MC errors"], rows)
    if len(shown) > MOST_ROWS:
        say(f"… and {len(shown) - MOST_ROWS} more edges that differ by more than {least:g}.")


def print_against_truth(results: Mapping[str, Posterior], truth: Path) -> None:
    """Print how far each result is from a known graph: a row for each figure, a column for each result."""
    from parnidag.metrics.distances import evaluate

    columns = {name: evaluate(posterior, truth) for name, posterior in results.items()}
    figures = next(iter(columns.values())).index
    rows = [[figure, *(cell(column[figure], _format(figure)) for column in columns.values())] for figure in figures]
    print_table(["against the truth", *columns], rows)


def _format(figure: str) -> str:
    """Choose how to write a figure by its name: a distance of 1 is a count, an area of 1 is not."""
    return ".0f" if re.search(r"(edges|shd|shd_twice|shd_cpdag|sid|_distance)$", figure) else ".3f"
