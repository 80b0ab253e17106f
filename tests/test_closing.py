"""Closed candidates: what they hold, and what a search on them finds that growing by one edge at a time does not."""

from __future__ import annotations

import numpy as np
import pytest

import parnidag
from parnidag import EdgePrior, scores
from parnidag.data import Data
from parnidag.kernels.problem import FREE
from parnidag.space import expansion
from parnidag.space.expansion import closed, expand, restarted, search_closed, strongest
from parnidag.space.search import best_inside
from parnidag.tables.build import build_tables
from parnidag.target import Target


@pytest.fixture(scope="module")
def network():
    return parnidag.simulate(nodes=20, edges=30, rows=150, seed=3)


@pytest.fixture(scope="module")
def target(network):
    return Target.build(Data(network.values), scores.Gaussian(), EdgePrior(h="paper"))


def random_dag(rng, nodes, edges):
    """A random graph that agrees with a random order."""
    order = rng.permutation(nodes)
    graph = np.zeros((nodes, nodes), bool)
    later = [(order[a], order[b]) for a in range(nodes) for b in range(a + 1, nodes)]
    for place in rng.choice(len(later), edges, replace=False):
        graph[later[place]] = True
    return graph


def slowly_closed(considered, graphs):
    """The definition, edge by edge: each end of a → b gets the other as a candidate, and the other's parents."""
    wide = considered.copy()
    for graph in graphs:
        for a, b in np.argwhere(graph):
            wide[a, b] = wide[b, a] = True
            for parent in range(len(graph)):
                wide[parent, b] |= graph[parent, a]
                wide[parent, a] |= graph[parent, b]
    return wide


def test_closing_gives_each_end_of_an_edge_the_parents_of_the_other(network):
    rng = np.random.default_rng(5)
    prior = EdgePrior(required=[(0, 1), (2, 3)], forbidden=[(i, 4) for i in range(5, 15)])
    for trial, options in enumerate(({}, {"prior": prior}) * 5):
        limited = Target.build(Data(network.values), scores.Gaussian(), options.get("prior", EdgePrior(h="paper")))
        considered = rng.random((20, 20)) < 0.1
        graphs = [random_dag(rng, 20, 15) | limited.required for _ in range(trial % 4)]
        found = closed(limited, considered, graphs, sets=2.0**30)
        expected = slowly_closed(considered, graphs) & (limited.problem.status == FREE)
        assert expected.sum(axis=0).max() <= expansion.MOST_CLOSED
        assert np.array_equal(found, expected)
        if len(graphs):
            assert not np.array_equal(found, slowly_closed(considered, []) & (limited.problem.status == FREE))


def test_closing_leaves_its_arguments_alone(target):
    considered, graph = np.zeros((20, 20), bool), random_dag(np.random.default_rng(1), 20, 30)
    before = graph.copy()
    closed(target, considered, [graph, graph])
    assert not considered.any()
    assert np.array_equal(graph, before)


@pytest.mark.parametrize(("sets", "most"), [(1.0, 6), (20 * 2.0**8, 8), (20 * 2.0**8 - 1, 7), (2.0**60, 18)])
def test_closing_keeps_to_its_bound_and_to_the_neighbours_first(target, sets, most):
    everything = ~np.eye(20, dtype=bool)
    graphs = [random_dag(np.random.default_rng(seed), 20, 10) for seed in (1, 2)]
    found = closed(target, everything, graphs, sets)
    assert (found.sum(axis=0) == most).all()
    neighbours = np.logical_or.reduce([graph | graph.T for graph in graphs])
    few = neighbours.sum(axis=0) <= most
    assert few.any()
    assert found[:, few][neighbours[:, few]].all()
    assert not (found & ~neighbours)[:, ~few].any()
    assert np.array_equal(found, strongest(target, everything, neighbours, most))


@pytest.fixture(scope="module")
def blind():
    """A problem whose best graph an expansion from no candidates does not find by adding one edge at a time."""
    simulation = parnidag.simulate(nodes=8, edges=20, rows=300, seed=1)
    return Target.build(Data(simulation.values), scores.Gaussian(), EdgePrior(h="paper"))


def test_closing_finds_what_one_edge_at_a_time_does_not(blind, monkeypatch):
    nothing = np.zeros((8, 8), bool)
    whole = expand(blind, blind.problem.status == FREE, seed=1)
    for seed in range(3):
        plain = expand(blind, nothing, seed=seed)
        found = expand(blind, nothing, seed=seed, closing=True, stream=seed)
        assert plain.log_posterior < whole.log_posterior - 0.1
        assert found.log_posterior == pytest.approx(whole.log_posterior, abs=1e-6)
        assert found.log_posterior == pytest.approx(blind.log_posterior(found.best), abs=1e-8)
        assert not (found.best & ~found.considered).any()
        graph, score = search_closed(blind, plain.considered, plain.best, seed, 1)
        assert score == pytest.approx(whole.log_posterior, abs=1e-6)
        assert score == pytest.approx(blind.log_posterior(graph), abs=1e-8)
    # restarts alone do not do it
    monkeypatch.setattr(expansion, "closed", lambda target, considered, graphs: considered)
    assert expand(blind, nothing, seed=0, closing=True).log_posterior < whole.log_posterior - 0.1


def test_a_search_of_closed_candidates_is_never_below_where_it_begins(target):
    best = expand(target, np.zeros((20, 20), bool), seed=1)
    for seed in range(3):
        graph, score = search_closed(target, best.considered, best.best, seed, 1)
        assert score >= best.log_posterior - 1e-8
        assert score == pytest.approx(target.log_posterior(graph), abs=1e-8)


def test_restarts_grow_fewer_with_the_nodes(target, monkeypatch):
    streams = []

    def counted(tables, peaks, seed, stream, order=None):
        assert order is None
        streams.append(stream)
        return np.zeros((2, 2), bool), float(stream == 3 + 2 * expansion.STREAMS)

    monkeypatch.setattr(expansion, "search", counted)
    for nodes, restarts in ((2, 8), (20, 8), (60, 5), (301, 1)):
        streams.clear()
        tables = build_tables(target, np.zeros((20, 20), bool), plus_one=False)
        object.__setattr__(tables, "target", type("Size", (), {"n_nodes": nodes}))
        assert restarted(tables, best_inside(tables), 1, 3)[1] == (restarts > 1)  # the best of them
        assert len(set(streams)) == restarts


def test_streams_are_independent_expansions_of_one_seed(network, target):
    nothing = np.zeros((20, 20), bool)
    first, again, other = (expand(target, nothing, seed=1, closing=True, stream=stream) for stream in (3, 3, 4))
    assert np.array_equal(first.considered, again.considered)
    assert np.array_equal(first.best, again.best)
    trajectories = [[entry[:2] for entry in found.rounds] for found in (first, again, other)]
    assert trajectories[0] == trajectories[1]
    plain = [expand(target, nothing, seed=1, **options) for options in ({}, {"stream": 0})]
    assert np.array_equal(plain[0].considered, plain[1].considered)
    assert other.log_posterior >= plain[0].log_posterior - 1e-8
