"""Local scores of all parent sets at once, for the exact solver."""

from __future__ import annotations

import math

import numpy as np

from parnidag.kernels.problem import FREE
from parnidag.kernels.types import Floats, Integers
from parnidag.tables.build import build_tables
from parnidag.target import Target


def all_local_scores(target: Target) -> Floats:
    """Return the local log target of every node for every parent set, −inf where the prior does not allow it.

    Columns are bit sets over the other nodes: bit b stands for node b below the row's own index, b + 1 from there on.
    """
    n = target.n_nodes
    every = target.problem.status == FREE
    tables = build_tables(target, every, plus_one=False, sums=False, memory=math.inf).arrays
    scores = np.full((n, 2 ** (n - 1)), -math.inf)
    for j in range(n):
        required = tables.required[j, : tables.required_count[j]]
        columns = np.array([_bits(required, j).sum()])
        for bit in _bits(tables.candidates[j, : tables.candidate_count[j]], j):
            columns = np.append(columns, columns | bit)
        scores[j, columns] = tables.scores[tables.first_entry[j] : tables.first_entry[j + 1]]
    return scores


def _bits(parents: Integers, j: int) -> Integers:
    return np.left_shift(1, parents - (parents > j), dtype=np.int64)
