from __future__ import annotations

import math

import numpy as np
import pytest
import reference

from parnidag import EdgePrior, ParnidagError, scores
from parnidag.data import Data
from parnidag.exact_solver.all_sets import all_local_scores
from parnidag.target import Target


def build(values, prior=None, g=10.0):
    return Target.build(Data(values), scores.Gaussian(g=g), EdgePrior() if prior is None else prior)


def test_random_parent_sets_against_dense_algebra():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 12))
    target = build(values, EdgePrior(h=0.2, log_odds={(3, 4): 1.25}), g=3.0)
    odds = np.full((12, 12), math.log(0.25))
    odds[3, 4] += 1.25
    for _ in range(200):
        node = int(rng.integers(12))
        parents = [p for p in range(12) if p != node and rng.random() < 0.4]
        naive = reference.gaussian_local_score(values, node, parents, 3.0) + odds[parents, node].sum()
        assert target.local(node, parents) == pytest.approx(naive, rel=1e-11)


def test_more_parents_than_rows_is_well_defined():
    values = np.random.default_rng(2).normal(size=(5, 9))
    target = build(values)
    naive = reference.gaussian_local_score(values, 0, range(1, 9), 10.0) + 8 * math.log((1 / 9) / (8 / 9))
    assert target.local(0, range(1, 9)) == pytest.approx(naive, rel=1e-10)


def test_number_of_rows_enters_only_through_the_gram_matrix():
    values = np.random.default_rng(3).normal(size=(50, 4))
    problem = build(values).problem
    assert problem.table.gram.shape == (1, 4, 4)
    assert problem.table.own == pytest.approx(np.full(4, 49.0))


def test_tables_hold_every_allowed_parent_set():
    values = np.random.default_rng(4).normal(size=(30, 5))
    target = build(values, EdgePrior(forbidden=[(0, 3)], required=[(2, 1)], max_parents=2))
    tables = all_local_scores(target)
    for node in range(5):
        others = [k for k in range(5) if k != node]
        for subset in range(16):
            parents = {other for bit, other in enumerate(others) if subset >> bit & 1}
            allowed = len(parents) <= 2 and not (node == 3 and 0 in parents) and (node != 1 or 2 in parents)
            allowed = allowed and not (node == 2 and 1 in parents)  # the reverse of a required edge
            found = tables[node, subset]
            assert found == (pytest.approx(target.local(node, parents), rel=1e-12) if allowed else -math.inf)


@pytest.mark.parametrize("g", [0, -1.0, 1e-310, 1e13, math.inf, math.nan, "10", True, None])
def test_slab_variance_must_be_positive(g):
    with pytest.raises(ParnidagError, match="g must be a positive number"):
        scores.Gaussian(g=g)


def test_log_posterior_of_a_graph_sums_local_scores():
    values = reference.small_values(4)
    target = build(values)
    graph = np.zeros((4, 4), bool)
    graph[0, 1] = graph[1, 3] = graph[0, 3] = True
    assert target.log_posterior(graph) == pytest.approx(
        reference.log_target(values, graph, 10.0, target.problem.log_odds), rel=1e-12
    )
