"""How far a graph, or the probabilities of edges, are from a known truth.

Graphs come in any form that `parnidag.as_graph` takes: a `Graph`, an adjacency matrix, a data frame, a networkx
graph, a list of (parent, child) pairs, causal-learn's GeneralGraph, a `Simulation`, or a CSV file. Names are matched
where both have them.
"""

from parnidag.metrics.causal import ancestor_distance, oset_distance, parent_distance, sid
from parnidag.metrics.curves import (
    CalibrationCurve,
    PrecisionRecallCurve,
    RocCurve,
    area,
    calibration_curve,
    precision_recall_curve,
    roc_curve,
)
from parnidag.metrics.distances import Scores, evaluate, orientation_scores, shd, shd_cpdag, skeleton_scores

__all__ = [
    "CalibrationCurve",
    "PrecisionRecallCurve",
    "RocCurve",
    "Scores",
    "ancestor_distance",
    "area",
    "calibration_curve",
    "evaluate",
    "orientation_scores",
    "oset_distance",
    "parent_distance",
    "precision_recall_curve",
    "roc_curve",
    "shd",
    "shd_cpdag",
    "sid",
    "skeleton_scores",
]
