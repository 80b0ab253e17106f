"""Searches for the best graph: they find it, stay in their space, and are decided by their seed."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import reference_spaces as twin
from test_order import make_target

import parnidag
from parnidag import EdgePrior
from parnidag.graphs.adjacency import random_topological_order
from parnidag.space.search import best_inside, search, starting_graphs
from parnidag.tables.build import build_tables


def search_problem(edges, rows, prior=None):
    return make_target(parnidag.simulate(nodes=8, edges=edges, rows=rows, seed=edges).values, prior)


@pytest.mark.parametrize(
    "prior", [EdgePrior(h="paper"), EdgePrior(required=[(0, 1)], forbidden=[(4, 5)], max_parents=3)]
)
@pytest.mark.parametrize(("edges", "rows", "enough"), [(8, 20, 9), (8, 1000, 9), (14, 100, 9), (20, 1000, 9)])
def test_searches_find_the_best_of_all_graphs(edges, rows, enough, prior):
    """Nearly every search of ten does, on dense graphs with strong signals too."""
    target = search_problem(edges, rows, prior)
    everything = np.ones((8, 8), bool)
    best = twin.best_score(twin.scored_sets(target, everything, False))
    tables = build_tables(target, everything, plus_one=False)
    peaks = best_inside(tables)
    found = [search(tables, peaks, seed, 0) for seed in range(10)]
    assert sum(score > best - 1e-9 * abs(best) for _, score in found) >= enough
    for graph, score in found:
        target.check_graph(graph, "found")
        assert reference.is_acyclic(graph)
        assert score == pytest.approx(target.log_posterior(graph), rel=1e-12)
        assert score < best + 1e-9 * abs(best)


def test_the_best_score_is_that_of_enumeration():
    values = reference.small_values(4)
    target = make_target(values, EdgePrior(required=[(0, 2)], max_parents=2))
    _, _, log_scores = reference.enumerate_posterior(target, values, 10.0)
    sets = twin.scored_sets(target, np.ones((4, 4), bool), False)
    assert twin.best_score(sets) == pytest.approx(log_scores.max(), rel=1e-12)


def test_searches_stay_in_their_space_and_find_its_best_graph():
    target = search_problem(14, 100, EdgePrior(required=[(0, 1), (2, 3)], forbidden=[(4, 5)], max_parents=3))
    considered = np.random.default_rng(1).random((8, 8)) < 0.4
    for plus_one in (True, False):
        tables = build_tables(target, considered, plus_one=plus_one)
        best = twin.best_score(twin.scored_sets(target, considered, plus_one))
        found = starting_graphs(tables, seed=1, chains=20)
        for graph in found:
            target.check_graph(graph, "found")
            outside = graph & ~considered & ~target.required
            assert outside.sum(axis=0).max() <= int(plus_one)
        assert max(target.log_posterior(graph) for graph in found) == pytest.approx(best, rel=1e-12)


def test_a_search_is_decided_by_its_seed_and_stream(monkeypatch):
    target = search_problem(14, 100)
    tables = build_tables(target, np.ones((8, 8), bool), plus_one=False)
    peaks = best_inside(tables)
    starts = []
    real = random_topological_order

    def noting(adjacency, rng):
        starts.append(real(adjacency, rng))
        return starts[-1]

    monkeypatch.setattr("parnidag.space.search.random_topological_order", noting)
    found = [search(tables, peaks, seed, stream) for seed, stream in ((1, 0), (1, 0), (1, 1), (2, 0))]
    assert (found[0][0] == found[1][0]).all()
    assert found[0][1] == found[1][1]
    assert starts[0] == starts[1]
    assert len({tuple(start) for start in starts}) == 3
    given = list(range(8))
    assert search(tables, peaks, 1, 0, order=given)[1] <= max(score for _, score in found) + 1e-9
    assert len(starts) == 4  # a given order is not replaced


def test_every_order_of_a_graph_can_be_the_first():
    graph = np.zeros((4, 4), bool)
    graph[0, 1] = graph[2, 1] = True
    rng = np.random.default_rng(0)
    seen = {tuple(random_topological_order(graph, rng)) for _ in range(400)}
    assert len(seen) == twin.linear_extensions(graph)
    assert all(order.index(1) > max(order.index(0), order.index(2)) for order in seen)
