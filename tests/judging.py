"""Statistical comparisons whose tolerance is the Monte-Carlo error of independent chains."""

from __future__ import annotations

import numpy as np
from scipy import stats

from parnidag.data import Data
from parnidag.kernels.problem import ScoreTable, gaussian_table

SMALLEST_P = 1e-4
"""A correct sampler fails a check about once in ten thousand seeds, whatever the number of edges compared."""

RARE = 0.01


def smallest_p_value(chain_probabilities, exact):
    """Bonferroni-corrected smallest p-value of t-tests, chain means against exact values, edge by edge."""
    chains = len(chain_probabilities)
    flat, expected = chain_probabilities.reshape(chains, -1), np.asarray(exact).ravel()
    off_diagonal = ~np.eye(len(exact), dtype=bool).ravel()
    spread = flat.std(axis=0, ddof=1)
    fixed = (expected < 1e-12) | (expected > 1.0 - 1e-12)
    assert np.allclose(flat[:, fixed & off_diagonal], expected[fixed & off_diagonal], atol=0, rtol=1e-12)
    # the chain means of a rare edge are too skewed for a t-test
    judged = off_diagonal & (expected > RARE) & (expected < 1.0 - RARE)
    assert (spread[judged] > 0.0).all(), "an edge that should vary never did"
    assert judged.sum() >= 2
    z = (flat.mean(axis=0) - expected)[judged] / (spread[judged] / np.sqrt(chains))
    return min(1.0, float(2.0 * stats.t.sf(abs(z), chains - 1).min() * judged.sum()))


def chain_probabilities(posterior):
    """Edge probabilities of each chain (chain, parent, child)."""
    record = posterior.record
    n = len(record.nodes)
    per_chain = record.batch_counts.sum(axis=1) / record.batch_iterations.sum(axis=1)[:, None]
    result = np.zeros((len(per_chain), n * n))
    result[:, record.edge_codes] = per_chain
    return result.reshape(-1, n, n)


def graph_p_value(drawn, graphs, law):
    """p-value of a χ² test of stored draws, nearly independent, against the law of graphs; rare graphs count as one."""
    index = {graph.tobytes(): k for k, graph in enumerate(graphs)}
    flat = drawn.reshape(-1, *drawn.shape[-2:])
    visits = np.bincount([index[graph.tobytes()] for graph in flat], minlength=len(graphs))
    law = np.asarray(law)
    assert not visits[law == 0.0].any(), "a graph that the law rules out was drawn"
    likely = law * visits.sum() > 20
    observed = np.append(visits[likely], visits[~likely].sum())
    expected = np.append(law[likely], law[~likely].sum()) * visits.sum()
    keep = expected > 0.0
    return stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected.sum()).pvalue


def assert_same_run(one, other):
    """The same bits throughout."""
    assert (one.log_posterior == other.log_posterior).all()
    assert (one.graphs == other.graphs).all()
    assert (one.record.batch_counts == other.record.batch_counts).all()
    assert (one.best.adjacency == other.best.adjacency).all()
    assert one.best.log_posterior == other.best.log_posterior


class FlatScore:
    """A score that ignores the data, so that the posterior is the prior."""

    def table(self, data: Data) -> ScoreTable:
        n = data.n_nodes
        return gaussian_table(np.eye(n)[None], np.ones(n), np.zeros((1, 3, n)), np.zeros(n, int))

    def describe(self):
        return {"name": "flat"}


def short_segments(monkeypatch, steps):
    """Cut runs into segments of so few steps, which must not change anything."""
    monkeypatch.setattr("parnidag.run.chain_log.FIRST_SEGMENT", steps)
    monkeypatch.setattr("parnidag.run.pools.Pool.seconds", 1e-5)
