"""The exact solver against enumeration of every DAG, known counts, and its own draws."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from parnidag import referee
from parnidag.errors import ParnidagError

DAG_COUNTS = {
    1: 1,
    2: 3,
    3: 25,
    4: 543,
    5: 29281,
    6: 3781503,
    7: 1138779265,
    8: 783702329343,
    9: 1213442454842881,
    10: 4175098976430598143,
}
FALSE_ALARM = 1e-3
"""Probability with which a correct program fails one statistical comparison, whatever the number of figures in it."""


# --- the slow, obvious way -----------------------------------------------------------------------------------------


def is_acyclic(graphs):
    """Whether each adjacency matrix is nilpotent: no walk of length n."""
    walks = graphs.astype(np.int64)
    for _ in range(graphs.shape[-1] - 1):
        walks = (walks @ graphs.astype(np.int64) > 0).astype(np.int64)
    return ~walks.any(axis=(-2, -1))


def all_dags(n):
    """Every DAG: each pair has no edge or one of two directions, and no cycle."""
    pairs = list(itertools.combinations(range(n), 2))
    choices = np.array(list(itertools.product(range(3), repeat=len(pairs))), dtype=np.int8)
    graphs = np.zeros((len(choices), n, n), dtype=bool)
    for column, (i, j) in enumerate(pairs):
        graphs[:, i, j] = choices[:, column] == 1
        graphs[:, j, i] = choices[:, column] == 2
    return graphs[is_acyclic(graphs)]


def column_of(parents, j):
    """Column of a parent set: the other nodes in order are the binary digits."""
    return sum(1 << (i - (i > j)) for i in parents)


def log_weights_of(graphs, log_weights):
    n = graphs.shape[-1]
    total = np.zeros(len(graphs))
    for j in range(n):
        others = np.delete(graphs[:, :, j], j, axis=1)
        total += log_weights[j, others @ (1 << np.arange(n - 1))]
    return total


def enumerate_dags(log_weights):
    """All DAGs, their probabilities and the log of the total weight."""
    graphs = all_dags(len(log_weights))
    logs = log_weights_of(graphs, log_weights)
    log_total = np.logaddexp.reduce(logs)
    return graphs, np.exp(logs - log_total), log_total


def edge_probabilities_of(graphs, probabilities):
    return np.tensordot(probabilities, graphs.astype(float), axes=1)


def sum_over_sinks(log_weights, sign):
    """Plain inclusion–exclusion over sink sets; a wrong sign counts a DAG once for each of its sets of sinks."""
    n = len(log_weights)
    f = {frozenset(): 1.0}
    for size in range(1, n + 1):
        for nodes in map(frozenset, itertools.combinations(range(n), size)):
            f[nodes] = 0.0
            for sinks in subsets(nodes):
                if sinks:
                    rest = nodes - sinks
                    product = math.prod(
                        sum(math.exp(log_weights[j, column_of(parents, j)]) for parents in subsets(rest)) for j in sinks
                    )
                    f[nodes] += sign ** (len(sinks) + 1) * f[rest] * product
    return f[frozenset(range(n))]


def subsets(nodes):
    ordered = sorted(nodes)
    return [frozenset(c) for size in range(len(ordered) + 1) for c in itertools.combinations(ordered, size)]


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


# --- weights to try ------------------------------------------------------------------------------------------------


def random_weights(n, seed, spread=2.0):
    return np.random.default_rng(seed).normal(scale=spread, size=(n, 2 ** (n - 1)))


def spanning_weights(n, seed, span=2000.0):
    """Weights of which no common scale fits into a double."""
    return np.random.default_rng(seed).uniform(-span, 0.0, size=(n, 2 ** (n - 1)))


def strong_signal_weights(n, penalty, rows=20_000):
    """Scores of a causal chain 0 → 1 → … from many rows: the n graphs equivalent to it tie, far above most others."""
    chain = np.linalg.inv(np.eye(n) - np.diag(np.ones(n - 1), 1))
    covariance = chain.T @ chain
    log_weights = np.empty((n, 2 ** (n - 1)))
    for j in range(n):
        for parents in subsets(set(range(n)) - {j}):
            before, after = (np.linalg.slogdet(covariance[np.ix_(s, s)])[1] for s in (sorted(parents), [*parents, j]))
            log_weights[j, column_of(parents, j)] = rows / 2 * (before - after) - penalty * len(parents)
    return log_weights


def constrain(log_weights, forbidden=(), required=(), max_parents=None):
    constrained = log_weights.copy()
    n = len(log_weights)
    for j in range(n):
        for parents in subsets(set(range(n)) - {j}):
            refused = any(i in parents for i, child in forbidden if child == j)
            refused |= any(i not in parents for i, child in required if child == j)
            refused |= max_parents is not None and len(parents) > max_parents
            if refused:
                constrained[j, column_of(parents, j)] = -np.inf
    return constrained


def per_edge_weights(n, log_odds):
    return np.tile([log_odds * column.bit_count() for column in range(2 ** (n - 1))], (n, 1))


def rounding(log_weights):
    """Worst relative error: each of at most 3ⁿ bounded terms carries the rounding of the logs it is made from."""
    n = len(log_weights)
    finite = log_weights[np.isfinite(log_weights)]
    largest_log = 1.0 + n * (finite.max() - finite.min()) + abs(finite).max()
    return np.finfo(float).eps * 3**n * largest_log


def assert_solves(log_weights):
    graphs, probabilities, log_total = enumerate_dags(log_weights)
    solution = referee.solve(log_weights)
    tolerance = rounding(log_weights)
    assert tolerance < 1e-7
    assert solution.log_total == pytest.approx(log_total, rel=0, abs=tolerance)
    expected = edge_probabilities_of(graphs, probabilities)
    np.testing.assert_allclose(solution.edge_probabilities, expected, rtol=0, atol=tolerance)
    assert 1.0 <= solution.cancellation <= 2 ** len(log_weights)


# --- sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", DAG_COUNTS)
def test_counts_all_dags(n):
    solution = referee.solve(np.zeros((n, 2 ** (n - 1))))
    # The terms of the count add up to 2.2 times the count, at n layers of rounding of a log of at most 43.
    assert solution.cancellation < 2.2
    assert solution.log_total == pytest.approx(math.log(DAG_COUNTS[n]), rel=4 * np.finfo(float).eps, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_random_weights_match_enumeration(n):
    for seed in range(1 if n == 5 else 10):
        assert_solves(random_weights(n, seed))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_weights_spanning_thousands_of_nats_match_enumeration(n):
    for seed in range(1 if n == 5 else 10):
        assert_solves(spanning_weights(n, seed))


def test_strong_signal_matches_enumeration():
    assert np.ptp(strong_signal_weights(5, penalty=2.0)) > 5000
    assert_solves(strong_signal_weights(5, penalty=2.0))
    # A strong penalty leaves only the five equivalent graphs, one for each root: i → i+1 when the root is not after i.
    probabilities = referee.solve(strong_signal_weights(5, penalty=50.0)).edge_probabilities
    np.testing.assert_allclose(np.diag(probabilities, 1), [0.2, 0.4, 0.6, 0.8], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diag(probabilities, -1), [0.8, 0.6, 0.4, 0.2], rtol=0, atol=1e-9)


def test_near_empty_posterior_cancels_most_and_is_still_right():
    log_weights = per_edge_weights(5, -30.0)
    assert_solves(log_weights)
    assert referee.solve(log_weights).cancellation == pytest.approx(2**5 - 1, rel=1e-6)


@pytest.mark.parametrize(
    "constraints",
    [
        {"forbidden": [(0, 1), (2, 1), (3, 0)]},
        {"required": [(0, 1), (1, 2)]},
        {"required": [(2, 0)], "forbidden": [(3, 0), (1, 3)], "max_parents": 2},
        {"max_parents": 1},
        {"max_parents": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [random_weights, spanning_weights])
def test_constraints_match_enumeration_and_hold_exactly(constraints, weights):
    log_weights = constrain(weights(4, 7), **constraints)
    assert_solves(log_weights)
    probabilities = referee.solve(log_weights).edge_probabilities
    assert all(probabilities[i, j] == 0.0 for i, j in constraints.get("forbidden", ()))
    assert all(probabilities[i, j] == 1.0 for i, j in constraints.get("required", ()))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_arbitrary_missing_parent_sets_match_enumeration(n):
    solved = refused = 0
    for seed in range(40):
        log_weights = random_weights(n, seed)
        log_weights[np.random.default_rng(seed + 1000).random(log_weights.shape) < 0.6] = -np.inf
        if np.any(log_weights_of(all_dags(n), log_weights) > -np.inf):
            assert_solves(log_weights)
            solved += 1
        else:
            with pytest.raises(ParnidagError, match="no graph at all"):
                referee.solve(log_weights)
            with pytest.raises(ParnidagError, match="no graph at all"):
                referee.draw_graphs(log_weights, draws=1, seed=0)
            refused += 1
    assert solved > 0
    assert refused > 0


def test_prior_alone_has_the_known_marginals():
    h = 1 / 11
    probabilities = referee.solve(per_edge_weights(11, math.log(h / (1 - h)))).edge_probabilities
    edges = probabilities[~np.eye(11, dtype=bool)]
    assert np.all(np.round(edges, 5) == 0.07776)
    assert round(edges.sum(), 2) == 8.55


def test_symmetric_weights_give_equal_probabilities():
    log_weights = per_edge_weights(8, 0.7)
    probabilities = referee.solve(log_weights).edge_probabilities
    off_diagonal = probabilities[~np.eye(8, dtype=bool)]
    assert np.ptp(off_diagonal) < rounding(log_weights)
    assert np.all(np.diag(probabilities) == 0.0)


def test_relabelling_the_nodes_relabels_the_answer():
    n, order = 6, np.array([3, 0, 5, 1, 4, 2])
    log_weights = spanning_weights(n, 3, span=20.0)
    relabelled = np.empty_like(log_weights)
    for j in range(n):
        for parents in subsets(set(range(n)) - {j}):
            column = column_of([order[i] for i in parents], order[j])
            relabelled[order[j], column] = log_weights[j, column_of(parents, j)]
    there = referee.solve(relabelled).edge_probabilities
    np.testing.assert_allclose(
        there[np.ix_(order, order)], referee.solve(log_weights).edge_probabilities, rtol=0, atol=rounding(log_weights)
    )


@pytest.mark.parametrize("weights", [random_weights, spanning_weights])
def test_alternating_sum_agrees_with_the_sum_over_layers(weights):
    log_weights = weights(9, 5)
    largest = log_weights.max(axis=1)
    layered = referee._sum_layers(referee._subset_sums(log_weights - largest[:, None]))[0] + largest.sum()
    assert layered == pytest.approx(referee.solve(log_weights).log_total, rel=0, abs=rounding(log_weights))


def test_a_wrong_sign_would_be_noticed():
    log_weights = random_weights(4, 2)
    log_total = referee.solve(log_weights).log_total
    right, wrong = (math.log(sum_over_sinks(log_weights, sign)) for sign in (-1, +1))
    assert right == pytest.approx(log_total, rel=0, abs=rounding(log_weights))
    assert wrong > log_total + 1000 * rounding(log_weights)


# --- draws ---------------------------------------------------------------------------------------------------------


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
    drawn = referee.draw_graphs(log_weights, draws=50_000, seed=1)
    assert frequencies_p_value(drawn, graphs, probabilities) > FALSE_ALARM
    over_counted = probabilities * [count_orderings(graph) for graph in graphs]
    assert frequencies_p_value(drawn, graphs, over_counted / over_counted.sum()) < FALSE_ALARM / 1e6


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("spread", [0.5, 3.0, 300.0])
def test_draws_have_the_solved_marginals(n, spread):
    log_weights = random_weights(n, 11, spread)
    drawn = referee.draw_graphs(log_weights, draws=20_000, seed=2)
    assert is_acyclic(drawn).all()
    assert marginals_p_value(drawn, referee.solve(log_weights).edge_probabilities) > FALSE_ALARM


def test_wrong_marginals_would_be_noticed():
    log_weights = random_weights(4, 11, 1.0)
    graphs, probabilities, _ = enumerate_dags(log_weights)
    drawn = referee.draw_graphs(log_weights, draws=20_000, seed=2)
    assert marginals_p_value(drawn, edge_probabilities_of(graphs, probabilities)) > FALSE_ALARM
    over_counted = probabilities * [count_orderings(graph) for graph in graphs]
    wrong = edge_probabilities_of(graphs, over_counted / over_counted.sum())
    assert marginals_p_value(drawn, wrong) < FALSE_ALARM / 1e6


@pytest.mark.parametrize("weights", [random_weights, spanning_weights])
def test_draws_respect_constraints(weights):
    log_weights = constrain(weights(5, 8), required=[(3, 1), (1, 0)], forbidden=[(2, 4), (4, 2)], max_parents=2)
    drawn = referee.draw_graphs(log_weights, draws=5_000, seed=3)
    assert is_acyclic(drawn).all()
    assert np.all(log_weights_of(drawn, log_weights) > -np.inf)
    assert marginals_p_value(drawn, referee.solve(log_weights).edge_probabilities) > FALSE_ALARM


def test_draws_mix_equally_likely_graphs_that_are_thousands_of_nats_above_the_rest():
    log_weights = strong_signal_weights(5, penalty=2.0)
    graphs, probabilities, _ = enumerate_dags(log_weights)
    drawn = referee.draw_graphs(log_weights, draws=20_000, seed=6)
    assert frequencies_p_value(drawn, graphs, probabilities) > FALSE_ALARM


def test_draws_repeat_with_the_seed_and_differ_without():
    log_weights = random_weights(5, 1, 0.5)
    first = referee.draw_graphs(log_weights, draws=50, seed=9)
    assert first.shape == (50, 5, 5)
    assert first.dtype == np.bool_
    assert np.array_equal(first, referee.draw_graphs(log_weights, draws=50, seed=9))
    assert np.array_equal(first[:20], referee.draw_graphs(log_weights, draws=20, seed=9))
    assert not np.array_equal(first, referee.draw_graphs(log_weights, draws=50, seed=10))
    assert referee.draw_graphs(log_weights, draws=0, seed=9).shape == (0, 5, 5)


# --- what is refused -----------------------------------------------------------------------------------------------


def test_impossible_demands_are_refused():
    cyclic = constrain(np.zeros((3, 4)), required=[(0, 1), (1, 2), (2, 0)])
    for run in (referee.solve, lambda weights: referee.draw_graphs(weights, draws=1, seed=0)):
        with pytest.raises(ParnidagError, match="no graph at all"):
            run(cyclic)


@pytest.mark.parametrize(
    ("log_weights", "message"),
    [
        (np.zeros((3, 5)), "4 columns for 3 nodes, got 5"),
        (np.zeros(4), r"shape \(n, 2\*\*\(n-1\)\)"),
        (np.zeros((0, 0)), "n ≥ 1"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), "NaN"),
        (np.array([[0.0, np.inf], [0.0, 0.0]]), "inf"),
    ],
)
def test_unusable_weights_are_refused(log_weights, message):
    with pytest.raises(ParnidagError, match=message):
        referee.solve(log_weights)


def test_negative_number_of_draws_is_refused():
    with pytest.raises(ParnidagError, match="draws must not be negative, got -1"):
        referee.draw_graphs(np.zeros((2, 2)), draws=-1, seed=0)


def test_sizes_up_to_the_limits_pass():
    referee.check_size(referee.MAX_NODES, draws=False)
    referee.check_size(referee.MAX_NODES_FOR_DRAWS, draws=True)


@pytest.mark.parametrize("n", [21, 25, 40, 1000])
@pytest.mark.parametrize("draws", [False, True])
def test_larger_sizes_are_refused_with_an_estimate(n, draws):
    limit = referee.MAX_NODES_FOR_DRAWS if draws else referee.MAX_NODES
    with pytest.raises(ParnidagError, match=rf"limited to {limit} nodes, got {n}: .* memory and .* parnidag\.sample"):
        referee.check_size(n, draws)


def test_solve_and_draw_refuse_before_they_allocate():
    n = referee.MAX_NODES + 1
    free_of_memory = np.broadcast_to(0.0, (n, 2 ** (n - 1)))
    with pytest.raises(ParnidagError, match=f"got {n}"):
        referee.solve(free_of_memory)
    with pytest.raises(ParnidagError, match=f"got {n}"):
        referee.draw_graphs(free_of_memory, draws=1, seed=0)


def test_the_same_code_runs_uncompiled():
    script = (
        "import numpy as np; from parnidag import referee; w = np.zeros((3, 4)); w[0, 1] = -np.inf; "
        "print(referee.solve(w).log_total, *referee.draw_graphs(w, 20, 5).astype(int).ravel())"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    plain = subprocess.run(
        command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True
    ).stdout.split()
    log_weights = np.zeros((3, 4))
    log_weights[0, 1] = -np.inf
    assert float(plain[0]) == pytest.approx(referee.solve(log_weights).log_total, rel=1e-14)
    assert plain[1:] == referee.draw_graphs(log_weights, 20, 5).astype(int).ravel().astype(str).tolist()
