"""The search space that is used when the user gives none."""

from __future__ import annotations

import numpy as np

from parnidag.data.table import Data
from parnidag.kernels.problem import FREE
from parnidag.space.expansion import candidate_limit, expand, strongest
from parnidag.space.neighbours import neighbours
from parnidag.space.search_space import SearchSpace
from parnidag.target import Target

FEW_NODES = 12
"""Up to this many nodes every parent is considered."""
ALPHA, MAX_CONDITIONING = 0.05, 3
"""Of the PC skeleton. Larger conditioning sets take very long around hubs, and expansion mends what they would find."""


def default_skeleton(data: Data, target: Target) -> SearchSpace:
    """Return all parents when there are few nodes, else the neighbours by PC, the strongest where there are many."""
    free = np.asarray(target.problem.status == FREE)
    if target.n_nodes <= FEW_NODES:
        return SearchSpace(target.names, free)
    near = neighbours(data, target, ALPHA, MAX_CONDITIONING) & free
    return SearchSpace(target.names, strongest(target, near, None, candidate_limit(target)))


def grown(target: Target, space: SearchSpace, seed: int) -> SearchSpace:
    """Return the space after iterative expansion; as it is when it already holds every free edge."""
    if space.considered.sum() == (target.problem.status == FREE).sum():
        return space
    return expand(target, space.considered, seed=seed)
