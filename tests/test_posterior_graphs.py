"""The graphs of a result, against sums over its stored draws and against enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from dags import all_dags
from test_posterior import EDGES, NODES, exact_record, simulated

import parnidag
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.graph import Graph, as_graph
from parnidag.metrics import shd
from parnidag.results.posterior import Posterior


@pytest.fixture(scope="module")
def exact():
    table = parnidag.simulate(nodes=4, edges=4, rows=60, seed=3)
    return parnidag.exact(table.values, score="paper", draws=4000, seed=1)


def test_top_graphs_are_the_best_and_their_probabilities_exact(exact):
    top = exact.top_graphs(5)
    scores = np.unique(exact.log_posterior)[::-1]
    assert [graph.log_posterior for graph in top] == sorted((graph.log_posterior for graph in top), reverse=True)
    assert top[0].log_posterior == scores[0]
    share = (exact.graphs[0] == top[0].adjacency).all(axis=(1, 2)).mean()
    error = np.sqrt(share * (1 - share) / 4000)
    assert top[0].probability == pytest.approx(np.exp(top[0].log_posterior - exact.log_evidence))
    assert abs(top[0].probability - share) < 5 * error


def test_top_graphs_of_a_sampled_result_have_their_share_of_the_draws():
    result = Posterior(simulated()[0])
    graphs = result.graphs.reshape(-1, 4, 4)
    for graph in result.top_graphs(3):
        assert graph.probability == pytest.approx((graphs == graph.adjacency).all(axis=(1, 2)).mean())
    assert len(result.top_graphs(1000)) == result.n_graphs


@pytest.mark.parametrize("k", [0, 1.5, True, "3"])
def test_senseless_numbers_of_graphs_are_refused(k):
    result = Posterior(simulated()[0])
    for listed in (result.top_graphs, result.top_classes):
        with pytest.raises(ParnidagError, match="k must be a whole number"):
            listed(k)


def test_top_classes_gather_the_draws_of_equivalent_graphs(exact):
    drawn = Counter(as_graph(graph, exact.nodes).cpdag().adjacency.tobytes() for graph in exact.graphs[0])
    top = exact.top_classes(1000)
    assert {found.kind for found in top} == {"cpdag"}
    assert {found.adjacency.tobytes(): found.probability for found in top} == {
        adjacency: times / 4000 for adjacency, times in drawn.items()
    }
    shares = [found.probability for found in top]
    assert shares == sorted(shares, reverse=True)
    assert len(exact.top_classes(2)) == 2
    # The twin: graphs one by one are more, and each less frequent than its class.
    assert len(top) < exact.n_graphs
    assert exact.top_graphs(1)[0].probability < shares[0] - 0.01


def test_a_pair_probable_both_ways_stays_two_edges():
    probabilities = np.zeros((4, 4))
    probabilities[0, 1] = probabilities[1, 0] = 0.4
    result = Posterior(exact_record(exact_probabilities=probabilities))
    drawn = result.graph(0.3)
    read = as_graph(drawn, result.nodes)
    assert (read.kind, read.edges) == ("digraph", [("A", "B"), ("B", "A")])
    # The twin: without its kind it is read as one undirected edge.
    drawn.graph.clear()
    assert as_graph(drawn, result.nodes).undirected == [("A", "B")]


@pytest.mark.parametrize("reversal", ["once", "twice"])
def test_expected_distances_count_a_pair_joined_both_ways_as_distances_do(exact, reversal):
    both = np.zeros((4, 4), bool)
    both[0, 1] = both[1, 0] = both[2, 3] = True
    shares = exact.graphs[0].mean(axis=0)
    result = Posterior(exact_record(nodes=exact.nodes, exact_probabilities=shares))
    found = {}
    for kind in ("digraph", "cpdag"):
        graph = Graph(tuple(exact.nodes), both, kind)
        found[kind] = result.expected_shd(graph, reversal)
        distances = [shd(as_graph(drawn, exact.nodes), graph, reversal) for drawn in exact.graphs[0]]
        assert found[kind] == pytest.approx(np.mean(distances), abs=1e-9)
    # By as much as there are draws in which the two are not joined.
    assert found["digraph"] - found["cpdag"] == pytest.approx(1 - shares[0, 1] - shares[1, 0])


def test_median_graph_has_the_edges_above_one_half():
    result = Posterior(exact_record())
    assert set(result.median_graph().edges) == {edge for edge, probability in EDGES.items() if probability > 0.5}
    assert result.median_graph().kind == "dag"


def test_a_median_graph_with_a_cycle_says_so_and_the_consensus_has_none():
    probabilities = np.zeros((4, 4))
    probabilities[0, 1] = probabilities[1, 2] = probabilities[2, 0] = 0.6
    result = Posterior(exact_record(exact_probabilities=probabilities))
    assert result.median_graph().kind == "digraph"
    assert topological_order(result.consensus_graph().adjacency) is not None


def test_consensus_graph_has_the_smallest_expected_distance_of_all_graphs(exact):
    graphs = all_dags(4)
    distances = [exact.expected_shd(graph) for graph in graphs]
    assert exact.expected_shd(exact.consensus_graph()) == pytest.approx(min(distances), abs=1e-12)
    assert exact.expected_shd(exact.median_graph()) >= min(distances)


@pytest.mark.parametrize("reversal", ["once", "twice"])
def test_expected_distance_is_the_mean_distance_of_the_draws(exact, reversal):
    graph = exact.best
    record = exact.record
    unique = [exact.graph_at(0, int(np.flatnonzero(record.graph_index[0] == u)[0])) for u in range(exact.n_graphs)]
    share = np.bincount(record.graph_index[0]) / record.graph_index.size
    distances = np.array([shd(drawn, graph.adjacency, reversal=reversal) for drawn in unique])
    mean = share @ distances
    error = np.sqrt(share @ (distances - mean) ** 2 / record.graph_index.size)
    assert abs(exact.expected_shd(graph, reversal) - mean) < 5 * error


def test_an_unknown_convention_is_refused(exact):
    with pytest.raises(ParnidagError, match="reversal"):
        exact.expected_shd(exact.best, "thrice")


def test_class_probabilities_add_up(exact):
    found = exact.cpdag_probabilities
    shares = exact.graphs[0].mean(axis=0)
    np.testing.assert_allclose(found.adjacent.to_numpy(), shares + shares.T, atol=1e-12)
    assert (found.reversible.to_numpy() == found.reversible.to_numpy().T).all()
    assert (found.compelled.to_numpy() <= shares + 1e-12).all()
    found.compelled.iloc[:, :] = 9.0
    assert exact.cpdag_probabilities.compelled.to_numpy().max() <= 1.0


def test_paths_and_blankets_bound_the_edges(exact):
    shares = exact.graphs[0].mean(axis=0)
    paths, blankets = exact.path_probabilities, exact.blanket_probabilities
    assert (paths.index.name, paths.columns.name) == ("ancestor", "descendant")
    assert (paths.to_numpy() >= shares - 1e-12).all()
    assert (blankets.to_numpy() >= shares + shares.T - 1e-12).all()
    assert (blankets.to_numpy() == blankets.to_numpy().T).all()


def test_prior_probabilities_are_the_true_marginals(exact):
    graphs = all_dags(4)
    weights = (1 / 3) ** graphs.sum(axis=(1, 2))
    expected = np.tensordot(weights / weights.sum(), graphs.astype(float), axes=1)
    np.testing.assert_allclose(exact.prior_probabilities.to_numpy(), expected, rtol=1e-12)
    assert exact.prior_probabilities.loc["X0", "X1"] < 1 / 4


def test_chains_by_themselves():
    record, values = simulated()
    found = Posterior(record).chain_probabilities
    assert found.shape == (3, 4, 4)
    place = tuple(NODES.index(name) for name in ("B", "C"))
    np.testing.assert_allclose(found[(slice(None), *place)], values[:, :, 2].mean(axis=1))
    assert Posterior(exact_record()).chain_probabilities.shape == (0, 4, 4)


def test_diagnostics_say_how_the_draws_spread_over_graphs():
    record, _ = simulated()
    record = replace(record, statistics={"cpu_seconds": np.array([1.0, 2.0, 1.0])})
    found = Posterior(record).diagnostics()
    counts = np.sort(np.bincount(record.graph_index.ravel()))[::-1]
    assert found.distinct_graphs == len(counts)
    assert found.top_graphs_mass[1] == counts[0] / counts.sum()
    assert found.top_graphs_mass[100] == 1.0
    assert found.effective_draws_per_second == pytest.approx(found.ess_log_posterior / 4)
    assert "distinct" in repr(found)
    exact = Posterior(exact_record()).diagnostics()
    assert (exact.distinct_graphs, exact.top_graphs_mass, exact.effective_draws_per_second) == (0, {}, None)
