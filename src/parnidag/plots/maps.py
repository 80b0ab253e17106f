"""Edge probabilities as a map: rows are parents, columns children."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import one_of
from parnidag.graphs.adjacency import topological_order
from parnidag.plots._axes import PALE, PLAIN, PROBABILITY_MAP, axes_for, check_posterior, describe, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_NUMBERS_UP_TO = 12
"""Nodes up to which cells hold numbers."""
_MOST_CELLS = 200
"""Cells along a side: with more, single edges would be smaller than the dots of a screen."""


def heatmap(
    posterior: Posterior, *, order: Literal["causal", "given", "cluster"] = "causal", ax: Axes | None = None
) -> Axes:
    """Plot the probabilities of all edges as a map: rows are parents, columns children.

    Beyond 200 nodes a cell stands for several neighbouring nodes and shows the most probable of their edges, so that no
    probable edge is lost; the title then says so.

    Parameters
    ----------
    order : {"causal", "given", "cluster"}, default "causal"
        The order of the nodes: causes before effects, so that edges of the consensus graph are above the diagonal and
        what is below it speaks against that order; as in the data; or nodes with probable edges between them together.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> ax = plots.heatmap(exact(simulate(nodes=3, edges=2, rows=50, seed=1).values), order="given")
    >>> ax.get_ylabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('parent', ['X0', 'X1', 'X2'])
    """
    check_posterior(posterior)
    one_of(order, "order", ("causal", "given", "cluster"))
    probabilities = posterior.edge_probabilities.to_numpy()
    n = len(probabilities)
    places = node_order(posterior, order)
    joined = -(-n // _MOST_CELLS)
    names = [short(posterior.nodes[node]) for node in places[::joined]]
    shown = probabilities[np.ix_(places, places)]
    np.fill_diagonal(shown, np.nan)
    if joined > 1:
        shown = largest_in_blocks(shown, joined)
    n = len(shown)
    cell = float(np.clip(6.0 / n, 0.1, 0.55))
    margin = 0.09 * max(map(len, names)) * (1.0 if n <= 25 else 0.65) + 0.6
    ax, own = axes_for(ax, (max(n * cell + margin + 1.2, 3.6), max(n * cell + margin + 0.1, 2.8)), square=True)
    image = ax.imshow(
        shown, cmap=PROBABILITY_MAP.with_extremes(bad=PALE), vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal"
    )
    if n <= _NUMBERS_UP_TO:
        for (row, column), value in np.ndenumerate(shown):
            if value >= 0.005:
                colour = "white" if value > 0.55 else "black"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="small", color=colour)
    name_cells(ax, names, cell if own else ax.get_window_extent().height / ax.figure.dpi / n)
    block = f", the largest of each {joined} × {joined}" if joined > 1 else ""
    describe(ax, f"Edge probabilities{block}", "child", "parent", closed=True)
    ax.figure.colorbar(image, ax=ax, label="probability of parent → child", fraction=0.046, pad=0.03, aspect=25)
    return ax


def largest_in_blocks(matrix: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the largest number of every block of rows and columns, NaN left out."""
    starts = np.arange(0, len(matrix), size)
    known = np.where(np.isnan(matrix), -np.inf, matrix)
    largest = np.maximum.reduceat(np.maximum.reduceat(known, starts, axis=0), starts, axis=1)
    return np.where(np.isneginf(largest), np.nan, largest)


def node_order(posterior: Posterior, order: str) -> list[int]:
    n = len(posterior.nodes)
    if order == "causal":
        found = topological_order(posterior.consensus_graph().adjacency)
        assert found is not None
        return found
    if order == "given" or n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage

    probabilities = posterior.edge_probabilities.to_numpy()
    apart = 1.0 - (probabilities + probabilities.T)[np.triu_indices(n, 1)]
    clustered: list[int] = leaves_list(linkage(np.maximum(apart, 0.0), "average", optimal_ordering=True)).tolist()
    return clustered


def name_cells(ax: Axes, names: list[str], inches: float) -> None:
    """Write names along both sides, as many as there is room for in cells of this size."""
    n = len(names)
    size = 10.0 if n <= 25 else 6.5
    every = math.ceil(1.08 * size / (72 * inches))
    shown = np.arange(0, n, every)
    labels = [names[k] for k in shown]
    sideways = n > 6 or max(map(len, names)) > 6
    ax.set_xticks(shown, labels, rotation=90 if sideways else 0, fontsize=size, **PLAIN)
    ax.set_yticks(shown, labels, fontsize=size, **PLAIN)
    ax.tick_params(length=2 if n > 25 else 3)
