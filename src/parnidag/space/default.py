"""Which parents to consider when the user does not say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parnidag.data import Data
from parnidag.prior import FREE
from parnidag.space.skeleton import pc
from parnidag.target import Target

FEW_NODES = 12
"""Up to this many nodes every parent is considered."""
ALPHA = 0.05
MOST_CANDIDATES = 10
"""Most candidates of a node that the automatic choice keeps."""


def default_considered(data: Data, target: Target) -> NDArray[np.bool_]:
    """Return the parents to consider (parent × child): all when there are few nodes, else the neighbours by PC.

    A node with too many neighbours keeps those most correlated with it.
    """
    n = target.n_nodes
    free = target.problem.status == FREE
    if n <= FEW_NODES:
        return np.asarray(free)
    return strongest(target, pc(data, alpha=ALPHA).adjacency & free, MOST_CANDIDATES)


def strongest(target: Target, considered: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Return the considered parents of each node, at most `most`: those most correlated with it."""
    gram = target.problem.table.gram
    scale = np.sqrt(np.diag(gram))
    association = np.where(considered, np.abs(gram / np.outer(scale, scale)), -1.0)
    ranked = np.argsort(-association, axis=0, kind="stable")
    rank = np.empty_like(ranked)
    np.put_along_axis(rank, ranked, np.arange(len(gram))[:, None], axis=0)
    return np.asarray(considered & (rank < most))
