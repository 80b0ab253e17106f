"""The consensus graph, and the distances it minimises, against all DAGs of a few nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dags import all_dags, distance_by_pairs, is_acyclic
from test_summaries import ancestors, drawn, mean_over_draws

from parnidag.graphs import consensus as hamming
from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.consensus import (
    EXACT_UP_TO,
    best_order,
    consensus,
    exact_order,
    expected_shd,
    improve_order,
    total_gain,
)

# --- expected SHD ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("reversal", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_expected_shd_is_the_mean_over_draws(n, reversal, undirected):
    graphs = drawn(n, density=0.5)
    probabilities = graphs.mean(axis=(0, 1))
    for graph in [*graphs[0, :5], np.zeros((n, n), int), np.random.default_rng(2).random((n, n)) < 0.5]:
        graph = graph & ~np.eye(n, dtype=bool)
        distances = mean_over_draws(lambda draw, g=graph: distance_by_pairs(draw, g, reversal, undirected), graphs)
        found = expected_shd(probabilities, graph, reversal, undirected=undirected)
        assert found == pytest.approx(distances, rel=0, abs=1e-12)
        if (graph & graph.T).any():  # the other reading of a pair joined both ways would be noticed
            assert abs(expected_shd(probabilities, graph, reversal, undirected=not undirected) - distances) > 0.1


# --- the consensus graph ---------------------------------------------------------------------------------------------


def random_probabilities(n, rng, sharpness=1.0, none=0.5):
    """Three states for each pair, without regard to any graph, so that the pairwise mode often has cycles."""
    result = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        result[i, j], result[j, i], _ = rng.dirichlet([sharpness, sharpness, none])
    return result


def pairwise_mode(probabilities):
    none = 1 - probabilities - probabilities.T
    return (probabilities > none) & (probabilities > probabilities.T)


def drop_weakest(probabilities):
    """Broken twin: take the least probable edge out of a cycle until there is none."""
    graph = pairwise_mode(probabilities)
    while topological_order(graph) is None:
        in_cycle = graph & ancestors(graph).T
        graph.flat[np.where(in_cycle, probabilities, 2.0).argmin()] = False
    return graph


def drop_only(probabilities, dags):
    """Broken twin: the cheapest DAG among the subgraphs of the mode, so that no edge is ever turned."""
    mode = pairwise_mode(probabilities)
    below = dags[~(dags & ~mode).any(axis=(1, 2))]
    return below[costs_of(probabilities, below).argmin()]


def costs_of(probabilities, graphs):
    """Expected SHD of many graphs at once."""
    none = 1 - probabilities - probabilities.T
    agreement = np.tensordot(graphs, probabilities, axes=2)
    empty = np.triu(~(graphs | graphs.transpose(0, 2, 1)), 1)
    n = len(probabilities)
    return n * (n - 1) / 2 - agreement - np.tensordot(empty, none, axes=2)


@pytest.mark.parametrize(("n", "cases"), [(3, 200), (4, 300), (5, 60)])
def test_consensus_is_the_best_of_all_dags(n, cases):
    rng, dags = np.random.default_rng(n), all_dags(n)
    worse = {"drop_weakest": 0, "drop_only": 0, "cyclic": 0}
    for case in range(cases):
        probabilities = random_probabilities(n, rng, sharpness=1.0 + 4.0 * (case % 2))
        found = consensus(probabilities)
        least = costs_of(probabilities, dags).min()
        assert is_acyclic(found[None])[0]
        assert expected_shd(probabilities, found) == pytest.approx(least, rel=0, abs=1e-9)
        worse["cyclic"] += not is_acyclic(pairwise_mode(probabilities)[None])[0]
        worse["drop_weakest"] += expected_shd(probabilities, drop_weakest(probabilities)) > least + 1e-6
        worse["drop_only"] += expected_shd(probabilities, drop_only(probabilities, dags)) > least + 1e-6
    assert worse["cyclic"] >= cases / 10
    assert min(worse.values()) > 0


def test_tangles_are_solved_on_their_own_at_no_loss(monkeypatch):
    """Two cycles joined one way: as cheap as the best order of all nodes together."""
    rng, solved = np.random.default_rng(8), []
    monkeypatch.setattr(hamming, "best_order", lambda gains: (solved.append(len(gains)), best_order(gains))[1])
    several = 0
    for _ in range(20):
        probabilities = np.zeros((10, 10))
        for block in (slice(0, 5), slice(5, 10)):
            probabilities[block, block] = random_probabilities(5, rng, sharpness=5.0)
        probabilities[:5, 5:] = rng.uniform(0.3, 0.7, (5, 5))
        probabilities[5:, :5] = rng.uniform(0.0, 0.3, (5, 5))  # less than the other way, though maybe more than none
        new = rng.permutation(10)
        probabilities = probabilities[np.ix_(new, new)]
        none = 1 - probabilities - probabilities.T
        gains = np.maximum(probabilities - none, 0) * ~np.eye(10, dtype=bool)
        order = exact_order(np.rint(gains * 2**30).astype(np.int64))
        position = np.argsort(order)
        whole = (position[:, None] < position) & (gains > 0)
        found = consensus(probabilities)
        assert is_acyclic(found[None])[0]
        assert expected_shd(probabilities, found) == pytest.approx(expected_shd(probabilities, whole), rel=0, abs=1e-6)
        several += not is_acyclic(pairwise_mode(probabilities)[None])[0]
    assert several >= 10
    assert 3 <= min(solved) <= max(solved) <= 5


def test_ties_go_to_no_edge_and_then_to_the_earlier_parent():
    half = np.array([[0.0, 0.5], [0.0, 0.0]])
    assert not consensus(half).any()
    assert not consensus(half.T).any()
    assert not consensus(np.array([[0.0, 1 / 3], [1 / 3, 0.0]])).any()
    assert consensus(np.array([[0.0, 0.45], [0.45, 0.0]])).tolist() == [[False, True], [False, False]]
    nearly = np.array([[0.0, 0.45], [0.45 + 1e-16, 0.0]])
    assert consensus(nearly).tolist() == [[False, True], [False, False]]
    undecided = np.full((6, 6), 0.5) - 0.5 * np.eye(6)
    assert (consensus(undecided) == np.triu(np.ones((6, 6), bool), 1)).all()
    assert consensus(np.zeros((0, 0))).shape == (0, 0)


def test_rounding_beyond_the_bounds_is_forgiven():
    assert consensus(np.array([[0.0, 1.0 + 1e-12], [-1e-13, 0.0]]))[0, 1]


def test_a_large_tangle_becomes_a_dag_that_beats_dropping_the_weakest():
    rng = np.random.default_rng(9)
    for n in (EXACT_UP_TO + 5, 40):
        probabilities = random_probabilities(n, rng, sharpness=3.0)
        found = consensus(probabilities)
        assert topological_order(found) is not None
        assert (found == consensus(probabilities)).all()
        assert expected_shd(probabilities, found) < expected_shd(probabilities, drop_weakest(probabilities))


# --- orders ----------------------------------------------------------------------------------------------------------


def random_gains(k, rng):
    gains = rng.integers(0, 100, (k, k)) * (rng.random((k, k)) < 0.7)
    np.fill_diagonal(gains, 0)
    return gains


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_orders_are_the_best_of_all(k):
    rng = np.random.default_rng(k)
    for _ in range(10):
        gains = random_gains(k, rng)
        most = max(total_gain(gains, np.array(order)) for order in itertools.permutations(range(k)))
        assert total_gain(gains, best_order(gains)) == most


def test_equally_good_orders_go_by_index():
    for k in (5, EXACT_UP_TO + 1):
        assert (best_order(np.zeros((k, k), np.int64)) == np.arange(k)).all()


def test_local_search_stops_where_no_single_move_gains_and_often_finds_the_best():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(20):
        gains = random_gains(10, rng)
        starts = [rng.permutation(10) for _ in range(10)]
        orders = [improve_order(gains, start) for start in starts]
        totals = [total_gain(gains, order) for order in orders]
        for start, order, total in zip(starts, orders, totals, strict=True):
            assert sorted(order) == list(range(10))
            assert total >= total_gain(gains, start)
            for node, place in itertools.product(range(10), range(10)):
                moved = np.insert(order[order != node], place, node)
                assert total_gain(gains, moved) <= total
        best = total_gain(gains, exact_order(gains))
        assert max(totals) <= best
        found += max(totals) == best
    assert found >= 15


def test_many_nodes_with_one_right_order_are_put_into_it():
    rng = np.random.default_rng(2)
    k = EXACT_UP_TO + 20
    right = rng.permutation(k)
    gains = np.zeros((k, k), np.int64)
    gains[np.ix_(right, right)] = np.triu(rng.integers(1, 100, (k, k)), 1)
    assert (best_order(gains) == right).all()
