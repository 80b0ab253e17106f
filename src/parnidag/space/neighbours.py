"""Which nodes are near each other, by tests of independence or by the score: where search spaces begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.data.table import Data
from parnidag.space.pc import pc
from parnidag.target import Target


def pc_fits(data: Data, target: Target) -> bool:
    """Do the tests of PC suit data and score?"""
    return not data.has_interventions and (target.problem.table.walks or data.kind == "discrete")


def neighbours(data: Data, target: Target, alpha: float, max_conditioning: int | None) -> NDArray[np.bool_]:
    """Return a symmetric matrix of pairs: the PC skeleton where its tests suit data and score.

    They test linear relations or tables of counts, in rows that nobody interfered with. Otherwise two nodes are near
    when one of them explains the other better than nothing does.
    """
    if pc_fits(data, target):
        return pc(data, alpha=alpha, max_conditioning=max_conditioning).adjacency
    helps = target.pair_gains > 0.0
    return np.asarray(helps | helps.T)
