"""Distances between graphs, shares of edges found, and everything at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph
from parnidag.metrics.aligned import paired, with_truth
from parnidag.metrics.causal import ancestor_distance, has_gadjid, oset_distance, parent_distance, sid
from parnidag.metrics.curves import Of, area, candidates, precision_recall_curve, roc_curve

if TYPE_CHECKING:
    import pandas as pd

Reversal = Literal["once", "twice"]


class Scores(NamedTuple):
    """Precision, recall and their harmonic mean; NaN where there is nothing to count."""

    precision: float
    """Of what the graph has, the share that is true."""
    recall: float
    """Of what is true, the share that the graph has."""
    f1: float


def shd(graph: object, truth: object, reversal: Reversal = "once") -> int:
    """Return the structural Hamming distance: how many edges to add, remove or turn to make one graph the other.

    Parameters
    ----------
    graph, truth
        Two graphs. An undirected edge of a CPDAG is one edge: it takes one step to direct or to remove it.
    reversal : {"once", "twice"}, default "once"
        Whether to turn an edge around counts as one step, or as removing one and adding another.

    Examples
    --------
    >>> found, truth = [("wet", "rain"), ("wet", "slippery")], [("rain", "wet")]
    >>> shd(found, truth), shd(found, truth, reversal="twice")
    (2, 3)
    """
    return _distance(*paired(graph, truth), reversal)


def shd_cpdag(graph: object, truth: object, reversal: Reversal = "once") -> int:
    """Return the structural Hamming distance between the CPDAGs: what data alone could have told apart.

    Arguments are those of `shd`; of a DAG the CPDAG is taken.

    Examples
    --------
    >>> shd_cpdag([("wet", "rain")], [("rain", "wet")])
    0
    >>> shd_cpdag([("rain", "wet"), ("hose", "wet")], [("wet", "rain"), ("hose", "wet")])
    2
    """
    one, other = paired(graph, truth)
    for given, argument in ((one, "graph"), (other, "truth")):
        if not given.is_acyclic:
            raise ParnidagError(f"{argument}: it has a directed cycle, so it is no DAG and has no CPDAG")
    return _distance(one.cpdag(), other.cpdag(), reversal)


def skeleton_scores(graph: object, truth: object) -> Scores:
    """Score the pairs of nodes that are joined, whatever the direction.

    Examples
    --------
    >>> skeleton_scores([("wet", "rain"), ("wet", "slippery")], [("rain", "wet")])
    Scores(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    one, other = paired(graph, truth)
    return _scores(*(np.triu(x.adjacency | x.adjacency.T) for x in (one, other)))


def orientation_scores(graph: object, truth: object, among: Literal["all", "shared"] = "all") -> Scores:
    """Score the edges that have a direction: right is what has the same direction in both.

    Parameters
    ----------
    graph, truth
        Two graphs. The undirected edges of a CPDAG have no direction to be right or wrong.
    among : {"all", "shared"}, default "all"
        "all" counts every edge, so that one between nodes that are not joined in `truth` is wrong and one that `graph`
        lacks is missing. "shared" counts only pairs that both graphs join: how well directions were told where there
        was one to tell.

    Examples
    --------
    >>> found, truth = [("rain", "wet"), ("wet", "slippery")], [("rain", "wet")]
    >>> orientation_scores(found, truth).precision, orientation_scores(found, truth, among="shared").precision
    (0.5, 1.0)
    """
    if among not in ("all", "shared"):
        raise ParnidagError(f'among={among!r} must be "all" or "shared"')
    one, other = paired(graph, truth)
    shared = np.ones_like(one.adjacency)
    if among == "shared":
        shared = (one.adjacency | one.adjacency.T) & (other.adjacency | other.adjacency.T)
    return _scores(one.directed & shared, other.directed & shared)


def evaluate(probabilities: object, truth: object) -> pd.Series[float]:
    """Judge edge probabilities, and the graphs that sum them up, against a known truth: everything at once.

    Parameters
    ----------
    probabilities
        A `Posterior`, or a matrix or data frame of edge probabilities: rows are parents, columns children. The two
        directions of a pair may add up to 1 at most, as no DAG has both.
    truth
        The true graph.

    Returns
    -------
    pandas.Series
        `roc_area` and `average_precision` of edges, and the same with `skeleton_` in front for pairs. Then, for the
        graph of all edges of probability above one half (`median_…`) and for the DAG of smallest expected distance
        (`consensus_…`): `edges`, `shd`, `shd_twice` (a turned edge counts twice), `shd_cpdag`, precision, recall and f1
        of `skeleton` and `orientation`, and if gadjid is installed `sid`, `parent_distance`, `ancestor_distance` and
        `oset_distance`. What is not defined is NaN: areas if nothing is true or everything is, the last five of a
        median graph with a cycle, and what a truth with undirected edges leaves open.

    Examples
    --------
    >>> found = evaluate([[0, 0.9, 0.1], [0.1, 0, 0.3], [0, 0.6, 0]], [(0, 1), (1, 2)])
    >>> found["roc_area"].item(), found["median_shd"].item()
    (0.875, 1.0)
    """
    import pandas as pd

    from parnidag.graphs.consensus import consensus  # only here: it brings in the compiler

    matrix, true = with_truth(probabilities, truth, of_dags=True)
    figures = {f"{prefix}{name}": value for prefix, of in _CURVES for name, value in _areas(matrix, true, of).items()}
    for name, adjacency in (("median", matrix > 0.5), ("consensus", consensus(matrix))):
        graph = Graph(true.nodes, adjacency, "digraph")
        figures |= {f"{name}_{figure}": value for figure, value in _figures(graph, true).items()}
    return pd.Series(figures, dtype=float)


_CURVES: tuple[tuple[str, Of], ...] = (("", "edges"), ("skeleton_", "skeleton"))
_CAUSAL = (sid, parent_distance, ancestor_distance, oset_distance)


def _areas(matrix: NDArray[np.float64], truth: Graph, of: Of) -> dict[str, float]:
    true = candidates(truth, of)
    if not true.any() or true.all() or (of == "edges" and truth.undirected):
        return {"roc_area": np.nan, "average_precision": np.nan}
    return {
        "roc_area": area(roc_curve(matrix, truth, of)),
        "average_precision": area(precision_recall_curve(matrix, truth, of)),
    }


def _figures(graph: Graph, truth: Graph) -> dict[str, float]:
    has_classes = graph.is_acyclic and truth.is_acyclic
    figures: dict[str, Any] = {
        "edges": graph.adjacency.sum(),
        "shd": shd(graph, truth),
        "shd_twice": shd(graph, truth, "twice"),
        "shd_cpdag": shd_cpdag(graph, truth) if has_classes else np.nan,
    }
    for name, scores in (("skeleton", skeleton_scores), ("orientation", orientation_scores)):
        figures |= {f"{name}_{key}": value for key, value in scores(graph, truth)._asdict().items()}
    for distance in _CAUSAL if has_gadjid() else ():
        defined = has_classes and not (distance is sid and truth.kind == "cpdag")
        figures[distance.__name__] = distance(graph, truth) if defined else np.nan
    return figures


def _distance(graph: Graph, truth: Graph, reversal: Reversal) -> int:
    if reversal not in ("once", "twice"):
        raise ParnidagError(f'reversal={reversal!r} must be "once" or "twice"')
    one, other = graph.adjacency, truth.adjacency
    differ = one != other
    turned = (one & ~one.T) & (other.T & ~other)
    # An undirected edge against none differs in two places, but is one edge.
    undirected = "cpdag" in (graph.kind, truth.kind)
    lone = differ & differ.T & ((one & one.T) | (other & other.T)) & undirected
    return int(differ.sum() - np.triu(lone).sum() - (turned.sum() if reversal == "once" else 0))


def _scores(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> Scores:
    right, listed, wanted = int((found & true).sum()), int(found.sum()), int(true.sum())
    return Scores(_share(right, listed), _share(right, wanted), _share(2 * right, listed + wanted))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
