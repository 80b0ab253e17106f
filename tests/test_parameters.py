"""Draws of coefficients and noise variances: their moments are those of the conjugate posterior, for every score."""

import numpy as np
import pytest
from scipy import stats

from parnidag import Data, scores
from parnidag.kernels import parameters
from parnidag.kernels.random import random_state

DRAWS = 20_000
GRAPH = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], bool)
RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(12, 4)) @ (np.eye(4) + 0.6 * GRAPH)
LINEAR = {
    "gaussian": scores.Gaussian(g=3.0),
    "gprior": scores.GPrior(g=5.0),
    "bge": scores.BGe(alpha_w=7.5, alpha_mu=2.0, standardise=False),
}


def draw(score, draws=DRAWS, graph=GRAPH, seed=1):
    table = score.table(Data(VALUES))
    columns = len(table.gram[0])
    factor, parents = np.zeros((columns + 1, columns + 1)), np.zeros(4, np.int64)
    drawn, noise = np.zeros((draws, columns, 4)), np.zeros((draws, 4))
    rng = random_state(seed)
    for k in range(draws):
        parameters.draw_parameters(table, graph, rng, parents, factor, drawn[k], noise[k])
    return drawn, noise


def law_of(name, node):
    """Shape and rate of the inverse gamma, mean and precision of the normal, from textbook formulas on the rows."""
    x = VALUES - VALUES.mean(axis=0)
    parents, rows = np.flatnonzero(GRAPH[:, node]), len(VALUES)
    score = LINEAR[name]
    if name == "bge":  # normal-Wishart: R = T + S + correction for the mean
        n, mu = 4, VALUES.mean(axis=0)
        t = score.alpha_mu * (score.alpha_w - n - 1) / (score.alpha_mu + 1)
        r = t * np.eye(4) + x.T @ x + rows * score.alpha_mu / (rows + score.alpha_mu) * np.outer(mu, mu)
        gram, cross, own = r[np.ix_(parents, parents)], r[parents, node], r[node, node]
        mean = np.linalg.solve(gram, cross)
        shape = (rows + score.alpha_w - n + len(parents) + 1) / 2
        return shape, (own - cross @ mean) / 2, mean, gram
    x /= x.std(axis=0, ddof=1)
    gram, cross, own = x[:, parents].T @ x[:, parents], x[:, parents].T @ x[:, node], x[:, node] @ x[:, node]
    precision = gram + np.eye(len(parents)) / score.g if name == "gaussian" else gram * (1 + 1 / score.g)
    mean = np.linalg.solve(precision, cross)
    return rows / 2, (own - cross @ mean) / 2, mean, precision


def z_scores(name, drawn, noise):
    """Of means and second moments, and of Kolmogorov's distance of the variances."""
    found = []
    for node in range(4):
        shape, rate, mean, precision = law_of(name, node)
        parents = np.flatnonzero(GRAPH[:, node])
        assert stats.kstest(noise[:, node], stats.invgamma(shape, scale=rate).cdf).pvalue > 1e-4
        whitened = (drawn[:, parents, node] - mean) @ np.linalg.cholesky(precision)
        whitened /= np.sqrt(noise[:, node, None])
        found += [stats.kstest(column, stats.norm.cdf).pvalue for column in whitened.T]
        others = np.setdiff1d(np.arange(4), parents)
        assert (drawn[:, others, node] == 0).all()
        if len(parents) == 2:
            found.append(stats.pearsonr(*whitened.T).pvalue)
    return np.array(found)


@pytest.mark.parametrize("name", LINEAR)
def test_draws_have_the_conjugate_posterior(name):
    assert z_scores(name, *draw(LINEAR[name])).min() > 1e-4


def test_twins_are_noticed(monkeypatch):
    """A twin that forgets the noise of coefficients, and draws of another score."""
    drawn, noise = draw(LINEAR["gaussian"])
    assert z_scores("gaussian", drawn * 1.05, noise).min() < 1e-6
    with pytest.raises(AssertionError):
        z_scores("gprior", drawn, noise)


def test_curved_parents_have_a_coefficient_for_each_column():
    score = scores.Spline()
    drawn, _ = draw(score, draws=200)
    table = score.table(Data(VALUES))
    used = np.abs(drawn).max(axis=0) > 0
    for node in range(4):
        columns = [c for i in np.flatnonzero(GRAPH[:, node]) for c in range(*table.first_column[i : i + 2])]
        assert set(np.flatnonzero(used[:, node])) == set(columns)
        if columns:
            gram = table.gram[table.pattern[node]]
            mean = np.linalg.solve(gram[np.ix_(columns, columns)], gram[columns, table.child_column[node]])
            error = drawn[:, columns, node].std(axis=0) / np.sqrt(200)
            assert (np.abs(drawn[:, columns, node].mean(axis=0) - mean) < 5 * error + 1e-12).all()
