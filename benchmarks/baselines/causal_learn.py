"""PC, GES and LiNGAM of causal-learn.

Its LiNGAM is the code of the package `lingam`, by the same authors, in an older version (1.5.4). The package itself
holds SciPy back (1.13.0 needs scipy<=1.13.1), and with it everything else that is installed here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Baseline, Estimate, Package

CAUSAL_LEARN = Package(
    "causallearn",
    "causal-learn",
    "baselines",
    (
        "causallearn.search.ConstraintBased.PC",
        "causallearn.search.ScoreBased.GES",
        "causallearn.search.FCMBased.lingam",
    ),
)
Values = NDArray[np.float64]


def run_pc(values: Values, seed: int, seconds: float, *, alpha: float, test: str, uc_rule: int, uc_priority: int):
    from causallearn.search.ConstraintBased.PC import pc

    with few_rows_are_known():
        found = pc(values, alpha, test, uc_rule=uc_rule, uc_priority=uc_priority, show_progress=False)
    return Estimate(from_marks(found.G.graph))


def run_ges(values: Values, seed: int, seconds: float, *, score: str, edge_penalty: float) -> Estimate:
    """Run GES with edge_penalty · log(nodes) for each edge; its authors' BIC would be ½ log(rows)."""
    from causallearn.search.ScoreBased.GES import ges

    rows, nodes = values.shape
    with few_rows_are_known():
        found = ges(values, score, lambda_value=edge_penalty * np.log(nodes) / np.log(rows))
    return Estimate(from_marks(found["G"].graph))


def run_ica_lingam(values: Values, seed: int, seconds: float, *, max_iter: int) -> Estimate:
    from causallearn.search.FCMBased.lingam import ICALiNGAM
    from sklearn.exceptions import ConvergenceWarning

    rows, nodes = values.shape
    if rows <= nodes:
        return Estimate(note=f"ICA needs more rows than nodes, here are {rows} and {nodes}")
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        estimate = from_effects(ICALiNGAM(seed, max_iter).fit(values).adjacency_matrix_)
    if any(issubclass(warning.category, ConvergenceWarning) for warning in raised):
        return Estimate(estimate, note=f"FastICA did not converge in {max_iter} iterations")
    return Estimate(estimate)


def run_direct_lingam(values: Values, seed: int, seconds: float, *, measure: str) -> Estimate:
    from causallearn.search.FCMBased.lingam import DirectLiNGAM

    rows, nodes = values.shape
    if rows <= nodes:
        return Estimate(note=f"its regressions need more rows than nodes, here are {rows} and {nodes}")
    return Estimate(from_effects(DirectLiNGAM(seed, measure=measure).fit(values).adjacency_matrix_))


def from_marks(marks: NDArray[Any]) -> NDArray[np.bool_]:
    """Read endpoint marks, where −1 at [i, j] and 1 at [j, i] is i → j; all other edges have no known direction.

    The reader of `parnidag.as_graph` refuses arrows at both ends, which here mean that tests contradict each other.
    """
    directed = (marks == -1) & (marks.T == 1)
    return ((marks != 0) | (marks.T != 0)) & ~directed.T


def from_effects(effects: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Read a matrix of LiNGAM, whose entry [i, j] is the effect of j on i."""
    return effects.T != 0


@contextmanager
def few_rows_are_known() -> Iterator[None]:
    """Keep causal-learn from warning that there are fewer rows than nodes: the studies mean it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of features is much larger than the sample size")
        yield


PC = Baseline(
    "PC",
    CAUSAL_LEARN,
    run_pc,
    {"standardise": True, "alpha": 0.01, "test": "fisherz", "uc_rule": 0, "uc_priority": 2},
)
GES = Baseline("GES", CAUSAL_LEARN, run_ges, {"standardise": True, "score": "local_score_BIC", "edge_penalty": 2.0})
"""With the paper's edge penalty, 2 log n for n nodes."""
LINGAM = Baseline("LiNGAM", CAUSAL_LEARN, run_ica_lingam, {"standardise": True, "max_iter": 1000})
"""By ICA, as in the paper."""
DIRECT_LINGAM = Baseline("DirectLiNGAM", CAUSAL_LEARN, run_direct_lingam, {"standardise": True, "measure": "pwling"})
