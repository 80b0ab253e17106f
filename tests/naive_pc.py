"""PC-stable as its definition reads, for any test of independence."""

from __future__ import annotations

import itertools

import numpy as np


def pc_by_definition(n, p_value, alpha, max_conditioning=None, stable=True):
    """Edges that stay, sizes of separating sets and the number of tests; `p_value(i, j, given)` is None for no test.

    Not stable: neighbours change within a level, as in the original PC.
    """
    adjacency = ~np.eye(n, dtype=bool)
    sizes = np.full((n, n), -1)
    tests = 0
    for size in range(n if max_conditioning is None else max_conditioning + 1):
        frozen = adjacency.copy() if stable else adjacency
        for i, j in itertools.permutations(range(n), 2):
            if not adjacency[i, j] or (size == 0 and i > j):
                continue
            others = [k for k in np.flatnonzero(frozen[i]).tolist() if k != j]
            for given in itertools.combinations(others, size):
                p = p_value(i, j, given)
                tests += p is not None
                if p is not None and p > alpha:
                    adjacency[i, j] = adjacency[j, i] = False
                    sizes[i, j] = sizes[j, i] = size
                    break
    return adjacency, sizes, tests
