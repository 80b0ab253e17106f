"""How well edge probabilities tell true edges from others, over all thresholds at once."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import whole
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph
from parnidag.metrics.aligned import with_truth

Of = Literal["edges", "skeleton"]

_DIGITS = 12
"""Probabilities that agree to so many digits are tied: adding up two directions rounds."""


class RocCurve(NamedTuple):
    """Points of a ROC curve, from the highest threshold, where nothing is found, to the lowest, where everything is."""

    false_positive_rate: NDArray[np.float64]
    true_positive_rate: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    """An edge counts as found from this probability on; infinite at the first point."""


class PrecisionRecallCurve(NamedTuple):
    """Points of a precision-recall curve, from the highest threshold to the lowest."""

    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    """At the first point nothing is found; the precision there is 1 by convention."""
    thresholds: NDArray[np.float64]
    """An edge counts as found from this probability on; infinite at the first point."""


def roc_curve(probabilities: object, truth: object, of: Of = "edges") -> RocCurve:
    """Return the rates of true and false positives over all thresholds.

    Edges of the same probability are found together, as one step, so that their order does not matter.

    Parameters
    ----------
    probabilities
        A `Posterior`, or a matrix or data frame of edge probabilities: rows are parents, columns children.
    truth
        The true graph, in any form that `parnidag.as_graph` takes; it needs an edge, and a pair without one.
    of : {"edges", "skeleton"}, default "edges"
        "edges" judges all n(n − 1) edges, so the wrong direction is a false positive. "skeleton" judges pairs: the
        probability that they are joined, either way, against whether they are.

    Returns
    -------
    RocCurve
        Arrays `false_positive_rate`, `true_positive_rate` and `thresholds`; `area` gives the area under it.

    Examples
    --------
    >>> curve = roc_curve([[0, 0.9, 0.2], [0, 0, 0.4], [0, 0.6, 0]], [(0, 1), (1, 2)])
    >>> curve.true_positive_rate
    array([0. , 0.5, 0.5, 1. , 1. , 1. ])
    >>> area(curve)
    0.875
    """
    found, false, thresholds, positives, negatives = _steps(probabilities, truth, of)
    return RocCurve(false / negatives, found / positives, thresholds)


def precision_recall_curve(probabilities: object, truth: object, of: Of = "edges") -> PrecisionRecallCurve:
    """Return precision and recall over all thresholds.

    Arguments are those of `roc_curve`.

    Returns
    -------
    PrecisionRecallCurve
        Arrays `recall`, `precision` and `thresholds`; `area` gives the average precision.

    Examples
    --------
    >>> curve = precision_recall_curve([[0, 0.9], [0.1, 0]], [(0, 1)])
    >>> curve.precision, curve.recall
    (array([1. , 1. , 0.5]), array([0., 1., 1.]))
    """
    found, false, thresholds, positives, _ = _steps(probabilities, truth, of)
    precision = np.ones(len(found))
    precision[1:] = found[1:] / (found[1:] + false[1:])
    return PrecisionRecallCurve(found / positives, precision, thresholds)


class CalibrationCurve(NamedTuple):
    """Edges by their probability, in bins of equal width from 0 to 1."""

    edges: NDArray[np.int64]
    """How many edges have a probability in each bin."""
    mean_probability: NDArray[np.float64]
    """Of these edges; NaN where there are none."""
    share_present: NDArray[np.float64]
    """The share of them that the true graph has."""


def calibration_curve(probabilities: object, truth: object, bins: int = 10, of: Of = "edges") -> CalibrationCurve:
    """Set the probabilities of edges beside the share of them that is there.

    Of edges with probability 0.3, three in ten should be in the true graph. One graph has few edges, so that much of
    what a single curve shows is chance; curves of several data sets say more together.

    Parameters
    ----------
    probabilities, truth, of
        As for `roc_curve`.
    bins
        How many there are; a probability of 1 is in the last.

    Examples
    --------
    >>> curve = calibration_curve([[0, 0.9, 0.2], [0, 0, 0.4], [0, 0.6, 0]], [(0, 1), (1, 2)], bins=2)
    >>> curve.edges, curve.share_present
    (array([4, 2]), array([0.25, 0.5 ]))
    """
    whole(bins, "bins", 1)
    matrix, true_graph = _judged(probabilities, truth, of)
    found, true = np.clip(_of_candidates(matrix, of), 0.0, 1.0), candidates(true_graph, of)
    place = np.minimum((found * bins).astype(np.int64), bins - 1)
    edges = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        means, shares = (np.bincount(place, weights, minlength=bins) / edges for weights in (found, true))
    return CalibrationCurve(edges, means, shares)


def area(curve: RocCurve | PrecisionRecallCurve) -> float:
    """Return the area under a curve.

    Under a ROC curve it is the chance that a true edge has a higher probability than another, ties counting one half.
    Of precision and recall it is the average precision: each step in recall times the precision reached there, without
    the straight lines between points that would flatter it.

    Examples
    --------
    >>> area(roc_curve([[0, 0.9], [0.9, 0]], [(0, 1)])), area(precision_recall_curve([[0, 0.9], [0.9, 0]], [(0, 1)]))
    (0.5, 0.5)
    """
    if isinstance(curve, RocCurve):
        return float(np.trapezoid(curve.true_positive_rate, curve.false_positive_rate))
    if isinstance(curve, PrecisionRecallCurve):
        return float(np.diff(curve.recall) @ curve.precision[1:])
    raise ParnidagError(f"curve: {type(curve).__name__} is not understood; use what roc_curve or its sister returned")


def candidates(truth: Graph, of: Of) -> NDArray[np.bool_]:
    """Return for every candidate, an edge or a pair, whether it is true."""
    return np.asarray(_of_candidates(truth.adjacency, of))


def _of_candidates(matrix: NDArray[Any], of: Of) -> NDArray[Any]:
    """Take the entries of all edges, or the sums of both directions of all pairs (of truth values: either)."""
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    return matrix[off_diagonal] if of == "edges" else (matrix + matrix.T)[np.triu(off_diagonal)]


def _judged(probabilities: object, truth: object, of: Of) -> tuple[NDArray[np.float64], Graph]:
    if of not in ("edges", "skeleton"):
        raise ParnidagError(f'of={of!r} must be "edges" or "skeleton"')
    matrix, true_graph = with_truth(probabilities, truth)
    if of == "edges" and true_graph.undirected:
        raise ParnidagError('truth: it has undirected edges, which are neither right nor wrong; use of="skeleton"')
    return matrix, true_graph


def _steps(
    probabilities: object, truth: object, of: Of
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], int, int]:
    """Count the true and the false among what is found at each threshold; also the number of both in all."""
    matrix, true_graph = _judged(probabilities, truth, of)
    true = candidates(true_graph, of)
    positives = int(true.sum())
    negatives = len(true) - positives
    if not positives or not negatives:
        raise ParnidagError(f"truth: it has {positives} of {len(true)} {of}; a curve needs some and not all")
    thresholds, place = np.unique(-np.round(_of_candidates(matrix, of), _DIGITS), return_inverse=True)
    found, false = (np.cumsum(np.bincount(place + 1, weights=chosen)) for chosen in (true, ~true))
    return found, false, np.concatenate([[np.inf], -thresholds]), positives, negatives
