"""How well edge probabilities recover a graph that is known, as numbers; and tables of their means over data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table


class Recovery(NamedTuple):
    """The figures of one data set."""

    true_edges: float
    """Mean probability of the true edges."""
    false_edges: float
    """Mean probability of an edge, in one direction, between nodes that have none."""
    orientation: float
    """Of the probability of true edges in either direction, the share that has the right one."""
    precision: float
    """Area under the precision–recall curve (average precision) of directed edges."""


HEADINGS = ("true edges", "false edges", "right direction", "PR area")


def recovery(truth: np.ndarray, probabilities: np.ndarray) -> Recovery:
    """Compare edge probabilities with the true graph."""
    apart = ~(truth | truth.T) & ~np.eye(len(truth), dtype=bool)
    right, wrong = probabilities[truth].sum(), probabilities.T[truth].sum()
    return Recovery(
        float(probabilities[truth].mean()),
        float(probabilities[apart].mean()),
        float(right / (right + wrong)),
        average_precision(truth, probabilities),
    )


def average_precision(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the mean precision at which true edges are found; edges with equal probabilities are found together."""
    off_diagonal = ~np.eye(len(truth), dtype=bool)
    true, p = truth[off_diagonal], probabilities[off_diagonal]
    order = np.argsort(-p, kind="stable")
    last = np.flatnonzero(np.append(np.diff(p[order]) != 0, True))
    found = true[order].cumsum()[last]
    return float((np.diff(found, prepend=0) * found / (last + 1)).sum() / true.sum())


def mean_table(title: str, first: str, rows: Mapping[str, Sequence[Recovery]]) -> Table:
    """Show the mean of each figure over data sets, with its standard error."""
    table = Table(first, *HEADINGS, title=title, padding=0)
    for name, found in rows.items():
        values = np.array(found)
        means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        cells = (f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
        table.add_row(name, *cells)
    return table
