"""Slow and obvious versions of what the library computes fast; every kernel is compared with one of these."""

from __future__ import annotations

import math

import numpy as np
from dags import all_dags


def gaussian_local_score(values, node, parents, g):
    """Appendix A, written down with dense matrices and every constant."""
    n_rows = len(values)
    z = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    x, w = z[:, node], z[:, sorted(parents)]
    q = w.shape[1]
    sigma = w.T @ w + np.eye(q) / g
    residual = x @ x - (x @ w) @ np.linalg.solve(sigma, w.T @ x) if q else x @ x
    log_determinant = np.linalg.slogdet(sigma)[1] if q else 0.0
    return (
        -n_rows / 2 * math.log(2 * math.pi)
        - q / 2 * math.log(g)
        - log_determinant / 2
        + math.lgamma(n_rows / 2)
        - n_rows / 2 * math.log(residual / 2)
    )


def log_target(values, adjacency, g, log_odds):
    """Log p(D | G) plus the log prior weight."""
    total = 0.0
    for node in range(len(adjacency)):
        parents = np.flatnonzero(adjacency[:, node])
        total += gaussian_local_score(values, node, parents, g) + log_odds[parents, node].sum()
    return total


def is_acyclic(adjacency):
    """A DAG's adjacency matrix is nilpotent."""
    power = np.linalg.matrix_power(np.asarray(adjacency, dtype=float), len(adjacency))
    return not power.any()


def log_weight_of_children(target, adjacency):
    """What nodes add by their number of children, beside the odds of edges."""
    by_children = target.problem.by_children
    return by_children[adjacency.sum(axis=1)].sum() if by_children.size else 0.0


def enumerate_posterior(target, values, g):
    """All allowed DAGs with their posterior probabilities, by the naive score."""
    status, log_odds = target.problem.status, target.problem.log_odds
    graphs, scores = [], []
    for adjacency in all_dags(target.n_nodes):
        allowed = not (adjacency & (status == 0)).any() and not (~adjacency & (status == 2)).any()
        if allowed and adjacency.sum(axis=0).max() <= target.max_parents:
            graphs.append(adjacency)
            scores.append(log_target(values, adjacency, g, log_odds) + log_weight_of_children(target, adjacency))
    scores = np.array(scores)
    weights = np.exp(scores - scores.max())
    return graphs, weights / weights.sum(), scores


def small_values(n, n_rows=12, seed=7):
    """A small table with real dependence, so that no posterior probability is negligible at n = 3."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n))
    for j in range(1, n):
        values[:, j] += 0.8 * values[:, j - 1]
    return values
