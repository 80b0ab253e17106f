"""Exact draws against enumeration of every DAG and against the solved edge probabilities."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from dags import (
    column_of,
    constrain,
    enumerate_dags,
    is_acyclic,
    log_weights_of,
    random_weights,
    rounding,
    spanning_weights,
    strong_signal_weights,
    subsets,
)
from scipy import stats

from parnidag.errors import ParnidagError
from parnidag.exact_solver import draws as exact_draws
from parnidag.exact_solver import sums as exact_sums

FALSE_ALARM = 1e-3
"""Probability with which a correct program fails one statistical comparison, whatever the number of figures in it."""


def count_orderings(graph):
    """Ways to stack a DAG in layers when a node need not have a parent in the layer below: the over-count."""
    n = len(graph)
    ways = {frozenset(): 1}
    for size in range(1, n + 1):
        for nodes in map(frozenset, itertools.combinations(range(n), size)):
            ways[nodes] = sum(
                ways[nodes - layer]
                for layer in subsets(nodes)
                if layer and all(set(np.flatnonzero(graph[:, j])) <= nodes - layer for j in layer)
            )
    return ways[frozenset(range(n))]


def draw(log_weights, draws, seed):
    return exact_draws.draw_graphs(exact_sums.solve(log_weights), draws, seed)


def sum_over_layers(log_weights):
    """Log of the sum over all DAGs, each built layer by layer: no signs, no bounds, nothing left out."""
    n = len(log_weights)
    everyone = frozenset(range(n))

    def log_ways(j, inside, last):
        meeting = [p for p in subsets(inside) if p & last or (not last and not p)]
        return np.logaddexp.reduce([log_weights[j, column_of(p, j)] for p in meeting] or [-np.inf])

    @functools.cache
    def go_on(placed, last):
        if placed == everyone:
            return 0.0
        each = {j: log_ways(j, placed, last) for j in everyone - placed}
        return np.logaddexp.reduce(
            [
                sum(each[j] for j in layer) + go_on(placed | layer, layer)
                for layer in subsets(everyone - placed)
                if layer
            ]
        )

    return go_on(frozenset(), frozenset())


@pytest.mark.parametrize("weights", [random_weights, spanning_weights, lambda n, seed: strong_signal_weights(n, 2.0)])
def test_alternating_sum_agrees_with_the_sum_over_layers(weights):
    log_weights = weights(6, 5)
    total = exact_sums.solve(log_weights).log_total
    assert sum_over_layers(log_weights) == pytest.approx(total, rel=0, abs=rounding(log_weights))


def frequencies_p_value(drawn, graphs, probabilities):
    """Chi-square test of the frequencies of whole graphs; graphs expected less than five times are pooled."""
    code = 1 << np.arange(graphs[0].size, dtype=np.int64)
    order = {key: k for k, key in enumerate((graphs.reshape(len(graphs), -1) @ code).tolist())}
    counts = np.bincount([order[key] for key in (drawn.reshape(len(drawn), -1) @ code).tolist()], minlength=len(graphs))
    expected = probabilities * len(drawn)
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert np.all(counts[expected == 0] == 0)
    counts, expected = counts[expected > 0], expected[expected > 0]
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1)


def marginals_p_value(drawn, edge_probabilities):
    """Smallest two-sided binomial p-value over the edges, times the number of edges (Bonferroni)."""
    draws, counts = len(drawn), drawn.sum(axis=0)
    below, above = (
        stats.binom.cdf(counts, draws, edge_probabilities),
        stats.binom.sf(counts - 1, draws, edge_probabilities),
    )
    n = len(edge_probabilities)
    return 2 * np.minimum(below, above)[~np.eye(n, dtype=bool)].min() * n * (n - 1)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_draws_of_three_nodes_have_the_right_frequencies(spread):
    log_weights = random_weights(3, 4, spread)
    graphs, probabilities, _ = enumerate_dags(log_weights)
    drawn = draw(log_weights, draws=50_000, seed=1)
    assert frequencies_p_value(drawn, graphs, probabilities) > FALSE_ALARM
    over_counted = probabilities * [count_orderings(graph) for graph in graphs]
    assert frequencies_p_value(drawn, graphs, over_counted / over_counted.sum()) < FALSE_ALARM / 1e6


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("spread", [0.5, 3.0, 300.0])
def test_draws_have_the_solved_marginals(n, spread):
    log_weights = random_weights(n, 11, spread)
    drawn = draw(log_weights, draws=20_000, seed=2)
    assert is_acyclic(drawn).all()
    assert marginals_p_value(drawn, exact_sums.solve(log_weights).edge_probabilities) > FALSE_ALARM


@pytest.mark.parametrize("weights", [random_weights, spanning_weights])
def test_draws_respect_constraints(weights):
    log_weights = constrain(weights(5, 8), required=[(3, 1), (1, 0)], forbidden=[(2, 4), (4, 2)], max_parents=2)
    drawn = draw(log_weights, draws=5_000, seed=1)
    assert is_acyclic(drawn).all()
    assert np.all(log_weights_of(drawn, log_weights) > -np.inf)
    assert marginals_p_value(drawn, exact_sums.solve(log_weights).edge_probabilities) > FALSE_ALARM


def test_draws_mix_equally_likely_graphs_that_are_thousands_of_nats_above_the_rest():
    log_weights = strong_signal_weights(5, penalty=2.0)
    graphs, probabilities, _ = enumerate_dags(log_weights)
    drawn = draw(log_weights, draws=20_000, seed=6)
    assert frequencies_p_value(drawn, graphs, probabilities) > FALSE_ALARM


def test_draws_repeat_with_the_seed_and_differ_without():
    log_weights = random_weights(5, 1, 0.5)
    first = draw(log_weights, draws=50, seed=9)
    assert first.shape == (50, 5, 5)
    assert first.dtype == np.bool_
    assert np.array_equal(first, draw(log_weights, draws=50, seed=9))
    assert np.array_equal(first[:20], draw(log_weights, draws=20, seed=9))
    assert not np.array_equal(first, draw(log_weights, draws=50, seed=10))
    assert draw(log_weights, draws=0, seed=9).shape == (0, 5, 5)


def test_negative_number_of_draws_is_refused():
    with pytest.raises(ParnidagError, match="draws must not be negative, got -1"):
        draw(np.zeros((2, 2)), draws=-1, seed=0)
