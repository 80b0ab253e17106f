"""Slow, obvious twins of the draws of latent cells, and the law they come from, on plain NumPy arrays."""

import itertools
import math

import numpy as np
from scipy.special import gammaln

from parnidag.kernels.random import normal
from parnidag.kernels.truncated import normal_between


def bge_log_likelihood(z, graph, alpha_mu, alpha_w):
    """log p(Z | G) of the normal-Wishart model, from the determinants of families (Kuipers, Moffa and Heckerman)."""
    rows, n = z.shape
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    mean = z.mean(axis=0)
    r = t * np.eye(n) + (z - mean).T @ (z - mean) + rows * alpha_mu / (rows + alpha_mu) * np.outer(mean, mean)
    return sum(
        _log_marginal(r, t, rows, n, alpha_mu, alpha_w, [*np.flatnonzero(graph[:, j]), j])
        - _log_marginal(r, t, rows, n, alpha_mu, alpha_w, [*np.flatnonzero(graph[:, j])])
        for j in range(n)
    )


def _log_marginal(r, t, rows, n, alpha_mu, alpha_w, columns):
    """log p of some columns together, with their own degrees of freedom."""
    l = len(columns)
    if l == 0:
        return 0.0
    before, after = alpha_w - n + l, rows + alpha_w - n + l
    gammas = sum(gammaln((after + 1 - k) / 2) - gammaln((before + 1 - k) / 2) for k in range(1, l + 1))
    determinant = np.linalg.slogdet(r[np.ix_(columns, columns)])[1]
    return (
        l / 2 * math.log(alpha_mu / (rows + alpha_mu))
        - l * rows / 2 * math.log(math.pi)
        + gammas
        + l * before / 2 * math.log(t)
        - after / 2 * determinant
    )


def dags(n):
    """All DAGs of n nodes, as matrices."""
    places = [(i, j) for i in range(n) for j in range(n) if i != j]
    for bits in itertools.product((False, True), repeat=len(places)):
        graph = np.zeros((n, n), bool)
        for place, bit in zip(places, bits, strict=True):
            graph[place] = bit
        if not np.linalg.matrix_power(graph.astype(float), n).any():
            yield graph


def sweep_twin(z, bounds, graph, coefficients, intercepts, noise, rng):
    """Draw all latent cells, column by column, from what the joint precision of a row says of each.

    `bounds` has for each column a list of (row, low, high); z (rows × columns) is changed in place.
    """
    n = z.shape[1]
    left = np.eye(n) - np.where(graph, coefficients, 0.0)
    precision = left @ np.diag(1 / noise) @ left.T
    means = np.linalg.solve(left.T, intercepts)
    for c in range(n):
        others = np.arange(n) != c
        spread = 1 / math.sqrt(precision[c, c])
        for row, low, high in bounds[c]:
            mean = means[c] - precision[c, others] @ (z[row, others] - means[others]) / precision[c, c]
            if np.isinf(low) and np.isinf(high):
                z[row, c] = mean + spread * normal(rng)
            else:
                z[row, c] = mean + spread * normal_between(rng, (low - mean) / spread, (high - mean) / spread)
