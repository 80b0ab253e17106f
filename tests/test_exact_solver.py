"""The exact solver against enumeration of every DAG and known counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from dags import (
    all_dags,
    column_of,
    constrain,
    edge_probabilities_of,
    enumerate_dags,
    log_weights_of,
    random_weights,
    rounding,
    spanning_weights,
    strong_signal_weights,
    subsets,
)
from plain_python import plain_value

from parnidag.errors import ParnidagError
from parnidag.exact_solver import draws as exact_draws
from parnidag.exact_solver import sums as exact_sums
from parnidag.exact_solver.size import MAX_NODES, check_size
from parnidag.tables.all_sets import set_sums

COUNTS = (1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343, 1213442454842881, 4175098976430598143)
"""Of the DAGs on 1, 2, … nodes."""


# --- the slow, obvious way -----------------------------------------------------------------------------------------


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


def per_edge_weights(n, log_odds):
    return np.tile([log_odds * column.bit_count() for column in range(2 ** (n - 1))], (n, 1))


def assert_solves(log_weights):
    graphs, probabilities, log_total = enumerate_dags(log_weights)
    solution = exact_sums.solve(log_weights)
    tolerance = rounding(log_weights)
    assert tolerance < 1e-7
    assert solution.log_total == pytest.approx(log_total, rel=0, abs=tolerance)
    expected = edge_probabilities_of(graphs, probabilities)
    np.testing.assert_allclose(solution.edge_probabilities, expected, rtol=0, atol=tolerance)
    assert 1.0 <= solution.cancellation <= 2 ** len(log_weights)


# --- sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "count"), list(enumerate(COUNTS, start=1)))
def test_counts_all_dags(n, count):
    solution = exact_sums.solve(np.zeros((n, 2 ** (n - 1))))
    # The terms of the count add up to 2.2 times the count, at n layers of rounding of a log of at most 43.
    assert solution.cancellation < 2.2
    assert solution.log_total == pytest.approx(math.log(count), rel=4 * np.finfo(float).eps, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("weights", [random_weights, spanning_weights])  # the latter over thousands of nats
def test_weights_match_enumeration(n, weights):
    for seed in range(1 if n == 5 else 10):
        assert_solves(weights(n, seed))


def test_strong_signal_matches_enumeration():
    assert np.ptp(strong_signal_weights(5, penalty=2.0)) > 5000
    assert_solves(strong_signal_weights(5, penalty=2.0))
    # A strong penalty leaves only the five equivalent graphs, one for each root: i → i+1 when the root is not after i.
    probabilities = exact_sums.solve(strong_signal_weights(5, penalty=50.0)).edge_probabilities
    np.testing.assert_allclose(np.diag(probabilities, 1), [0.2, 0.4, 0.6, 0.8], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diag(probabilities, -1), [0.8, 0.6, 0.4, 0.2], rtol=0, atol=1e-9)


@pytest.mark.parametrize("height", [1e6, 1.87e8, 1e10])
def test_any_distance_between_graphs_and_best_parents_is_summed(height):
    """Every node is far better off with all others as parents, which only one of them can have."""
    log_weights = random_weights(4, 3) + height * (np.arange(8) == 7)
    solution = exact_sums.solve(log_weights)
    graphs, probabilities, log_total = enumerate_dags(log_weights)
    assert solution.log_total == pytest.approx(log_total, rel=1e-12)
    expected = edge_probabilities_of(graphs, probabilities)
    np.testing.assert_allclose(solution.edge_probabilities, expected, rtol=0, atol=1e-15 * height + 1e-12)


@pytest.mark.parametrize("depth", [5.0, 600.0, 1100.0, 1290.0, 4000.0])
def test_subsets_are_summed_as_in_logs_however_far_apart_weights_are(depth):
    """Beyond `LEAST_LOG` numbers would go out of range: there the sums of what is small would be lost."""
    rng = np.random.default_rng(17)
    weights = -depth * rng.random((5, 16)) ** 2
    weights[rng.random(weights.shape) < 0.3] = -np.inf
    weights[:, rng.integers(16)] = 0.0
    expected = weights.copy()
    for bit in range(4):
        halves = expected.reshape(5, -1, 2, 1 << bit)
        halves[:, :, 1] = np.logaddexp(halves[:, :, 0], halves[:, :, 1])
    np.testing.assert_allclose(set_sums(weights.copy()).sums, expected, rtol=1e-14, atol=1e-14)


def test_bounds_are_sums_over_all_orders():
    sums = set_sums(random_weights(5, 8) * 3.0)
    found = exact_sums.bounded(sums)
    orders = np.array(
        [
            sum(sums.sums[j, column_of(order[:place], j)] for place, j in enumerate(order))
            for order in itertools.permutations(range(5))
        ]
    )
    every = np.logaddexp.reduce(orders)
    assert found.log_after[0] == pytest.approx(every, abs=1e-12)
    assert found.log_before[-1] == pytest.approx(every, abs=1e-12)
    assert found.least[0] == pytest.approx(max(orders.max(), every - math.log(120)) - exact_sums.NEGLIGIBLE, abs=1e-12)


def test_near_empty_posterior_cancels_most_and_is_still_right():
    log_weights = per_edge_weights(5, -30.0)
    assert_solves(log_weights)
    assert exact_sums.solve(log_weights).cancellation == pytest.approx(2**5 - 1, rel=1e-6)


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
    probabilities = exact_sums.solve(log_weights).edge_probabilities
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
            drawn = exact_draws.draw_graphs(exact_sums.solve(log_weights), 1, 0)
            assert log_weights_of(drawn, log_weights) > -np.inf
            solved += 1
        else:
            with pytest.raises(ParnidagError, match="no graph is possible"):
                exact_sums.solve(log_weights)
            refused += 1
    assert solved > 0
    assert refused > 0


def test_prior_alone_has_the_known_marginals():
    h = 1 / 11
    probabilities = exact_sums.solve(per_edge_weights(11, math.log(h / (1 - h)))).edge_probabilities
    edges = probabilities[~np.eye(11, dtype=bool)]
    assert np.all(np.round(edges, 5) == 0.07776)
    assert round(edges.sum(), 2) == 8.55


def test_a_wrong_sign_would_be_noticed():
    log_weights = random_weights(4, 2)
    log_total = exact_sums.solve(log_weights).log_total
    right, wrong = (math.log(sum_over_sinks(log_weights, sign)) for sign in (-1, +1))
    assert right == pytest.approx(log_total, rel=0, abs=rounding(log_weights))
    assert wrong > log_total + 1000 * rounding(log_weights)


# --- what is refused -----------------------------------------------------------------------------------------------


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
        exact_sums.solve(log_weights)


@pytest.mark.parametrize("n", [23, 25, 40, 1000])
def test_larger_sizes_are_refused_with_an_estimate(n):
    with pytest.raises(ParnidagError, match=rf"limited to 22 nodes, got {n}: .* memory and .* parnidag\.sample"):
        check_size(n)


def test_too_many_nodes_are_refused_before_anything_is_allocated():
    free_of_memory = np.broadcast_to(0.0, (MAX_NODES + 1, 2**MAX_NODES))
    with pytest.raises(ParnidagError, match=f"got {MAX_NODES + 1}"):
        exact_sums.solve(free_of_memory)


def uncompiled():
    log_weights = np.zeros((3, 4))
    log_weights[0, 1] = -np.inf
    solution = exact_sums.solve(log_weights)
    with np.errstate(over="ignore"):  # random words
        return solution.log_total, exact_draws.draw_graphs(solution, 20, 5).tolist()


def test_the_same_code_runs_uncompiled():
    (total, drawn), (plain_total, plain_drawn) = uncompiled(), plain_value("test_exact_solver.uncompiled()")
    assert plain_total == pytest.approx(total, rel=1e-14)
    assert plain_drawn == drawn
