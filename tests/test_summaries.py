"""Summaries against direct averages over expanded draws."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from dags import all_dags
from made_results import bare_record, packed

from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import edge_codes
from parnidag.graphs.equivalence import cpdag
from parnidag.results.summaries import (
    blanket_probabilities,
    cpdag_probabilities,
    path_probabilities,
    top_classes,
    top_graphs,
)

FROM_DRAWS = {
    "cpdag": cpdag_probabilities,
    "path": path_probabilities,
    "blanket": blanket_probabilities,
    "graphs": lambda record: top_graphs(record, 1),
    "classes": lambda record: top_classes(record, 1),
}


def record_of(graphs, log_posterior=None, **changes):
    """A record of draws (chain, draw, parent, child)."""
    nodes = tuple(f"x{j}" for j in range(graphs.shape[2]))
    heights = np.zeros(graphs.shape[:2]) if log_posterior is None else log_posterior
    return bare_record(**({"nodes": nodes, "log_posterior": heights} | packed(graphs) | changes))


def random_dags(count, n, density, rng):
    """Few different ones among many, so that graphs come again."""
    graphs = np.triu(rng.random((count, n, n)) < density, 1)
    orders = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return np.array([graph[np.ix_(order, order)] for graph, order in zip(graphs, orders, strict=True)])


def drawn(n, density=0.3, seed=1, different=20, chains=3, draws=40):
    rng = np.random.default_rng(seed)
    pool = random_dags(different, n, density, rng)
    return pool[rng.choice(different, (chains, draws), p=rng.dirichlet(np.ones(different)))]


def mean_over_draws(function, graphs):
    return np.mean([np.mean([function(graph) for graph in chain], axis=0) for chain in graphs], axis=0)


def ancestors(graph):
    """[i, j]: a walk leads from i to j; walks of at most k steps, doubled, are walks of at most 2k."""
    reached = graph
    for _ in range(len(graph).bit_length()):
        reached = reached | (reached.astype(np.float32) @ reached.astype(np.float32) > 0)
    return reached


def blankets(graph, spouses=True):
    shared_child = graph.astype(np.int64) @ graph.T.astype(np.int64) > 0
    return (graph | graph.T | (shared_child & spouses)) & ~np.eye(len(graph), dtype=bool)


# --- probabilities from draws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "density"), [(1, 0.0), (4, 0.5), (9, 0.3), (20, 0.15), (70, 0.02)])
def test_probabilities_are_means_over_chains_and_draws(n, density):
    graphs = drawn(n, density)
    record = record_of(graphs)
    compelled, reversible = cpdag_probabilities(record)
    classes = {graph.tobytes(): cpdag(graph) for graph in graphs.reshape(-1, n, n)}
    arrows = mean_over_draws(lambda g: classes[g.tobytes()] & ~classes[g.tobytes()].T, graphs)
    lines = mean_over_draws(lambda g: classes[g.tobytes()] & classes[g.tobytes()].T, graphs)
    np.testing.assert_allclose(compelled, arrows, rtol=0, atol=1e-14)
    np.testing.assert_allclose(reversible, lines, rtol=0, atol=1e-14)
    np.testing.assert_allclose(path_probabilities(record), mean_over_draws(ancestors, graphs), rtol=0, atol=1e-14)
    np.testing.assert_allclose(blanket_probabilities(record), mean_over_draws(blankets, graphs), rtol=0, atol=1e-14)


def test_wrong_summaries_would_be_noticed():
    graphs = drawn(9)
    record = record_of(graphs)
    unique = np.unique(graphs.reshape(-1, 9, 9), axis=0)
    paths = path_probabilities(record)
    once = np.mean([ancestors(graph) for graph in unique], axis=0)
    assert abs(once - paths).max() > 0.05  # each graph once, however often it was drawn
    assert abs(graphs.mean(axis=(0, 1)) - paths).max() > 0.05  # parents only
    without_spouses = mean_over_draws(lambda graph: blankets(graph, spouses=False), graphs)
    assert abs(without_spouses - blanket_probabilities(record)).max() > 0.05


def test_certain_things_have_probability_one_exactly():
    always = np.zeros((3, 7, 3, 3), bool)
    always[..., 0, 1] = always[..., 2, 1] = True
    record = record_of(always)
    compelled, reversible = cpdag_probabilities(record)
    assert compelled[0, 1] == compelled[2, 1] == blanket_probabilities(record)[0, 2] == 1.0
    assert not reversible.any()
    assert path_probabilities(record).sum() == 2.0


def test_all_graphs_of_four_nodes_drawn_once_treat_all_nodes_alike():
    graphs = all_dags(4)
    record = record_of(graphs[None])
    off_diagonal = ~np.eye(4, dtype=bool)
    compelled, reversible = cpdag_probabilities(record)
    for matrix in (compelled, reversible, path_probabilities(record), blanket_probabilities(record)):
        assert not matrix.diagonal().any()
        assert np.unique(matrix[off_diagonal]).size == 1
    either = compelled + compelled.T + reversible
    np.testing.assert_allclose(either, (graphs | graphs.transpose(0, 2, 1)).mean(axis=0), rtol=0, atol=1e-14)
    assert len(top_classes(record, 1000)) == 185


def test_stored_graphs_that_no_draw_is_do_not_count():
    record = record_of(np.array([[[[0, 1], [0, 0]], [[0, 0], [1, 0]]]], bool), graph_index=np.array([[1, 1]]))
    assert path_probabilities(record).tolist() == [[0, 0], [1, 0]]
    assert blanket_probabilities(record).tolist() == cpdag_probabilities(record)[1].tolist() == [[0, 1], [1, 0]]
    assert [adjacency.tolist() for adjacency, _, _ in top_graphs(record, 5)] == [[[False, False], [True, False]]]
    assert [share for _, share in top_classes(record, 5)] == [1.0]


@pytest.mark.parametrize("name", FROM_DRAWS)
def test_results_without_draws_say_what_to_do(name):
    empty = np.zeros((1, 0, 2, 2), bool)
    with pytest.raises(ParnidagError, match=r"ask for draws: parnidag\.exact\(\.\.\., draws=1000\)"):
        FROM_DRAWS[name](record_of(empty, exact_probabilities=np.zeros((2, 2))))
    with pytest.raises(ParnidagError, match="stored no draws"):
        FROM_DRAWS[name](record_of(empty))


def test_four_thousand_graphs_of_a_hundred_nodes_take_well_under_a_second():
    rng = np.random.default_rng(5)
    codes = [edge_codes(graph) for graph in random_dags(400, 100, 0.04, rng)] * 10
    offsets = np.cumsum([0, *(code.size for code in codes)])
    record = bare_record(
        nodes=tuple(map(str, range(100))),
        log_posterior=np.zeros((4, 1000)),
        graph_index=np.arange(4000).reshape(4, 1000),
        graph_offsets=offsets,
        graph_edges=np.concatenate(codes),
    )
    for function in (cpdag_probabilities, path_probabilities, blanket_probabilities):
        function(record)  # compiled now
        start = time.thread_time()
        function(record)
        assert time.thread_time() - start < 0.8


# --- graphs on top ---------------------------------------------------------------------------------------------------


def test_top_graphs_are_the_best_and_come_with_their_share():
    graphs = drawn(6)
    heights = {graph.tobytes(): height for height, graph in enumerate(np.unique(graphs.reshape(-1, 6, 6), axis=0))}
    log_posterior = np.array([[-50.0 + heights[graph.tobytes()] for graph in chain] for chain in graphs])
    top = top_graphs(record_of(graphs, log_posterior), 5)
    assert [height for _, _, height in top] == [-50.0 + len(heights) - 1 - rank for rank in range(5)]
    for adjacency, share, log_height in top:
        same = (graphs == adjacency).all(axis=(2, 3))
        assert (log_posterior[same] == log_height).all()
        assert share == pytest.approx(same.mean(axis=1).mean())
    assert len(top_graphs(record_of(graphs, log_posterior), 1000)) == len(heights)


def test_equal_graphs_come_in_the_same_order_whatever_was_drawn_first():
    pool = all_dags(3)
    rng = np.random.default_rng(4)
    listed = []
    for _ in range(5):
        rounding = -1000.0 * (1 + 2e-16 * rng.integers(-3, 4, size=(1, 25)))
        listed.append(top_graphs(record_of(rng.permutation(pool)[None], rounding), 7))
    for other in listed[1:]:
        for one, two in zip(listed[0], other, strict=True):
            assert (one[0] == two[0]).all()
            assert one[1] == two[1] == 1 / 25
    codes = [edge_codes(adjacency).tolist() for adjacency, _, _ in listed[0]]
    assert codes == sorted(edge_codes(graph).tolist() for graph in pool)[:7]


def test_codes_are_compared_as_numbers():
    graphs = np.zeros((1, 380, 20, 20), bool)
    edges = np.random.default_rng(3).permutation(np.argwhere(~np.eye(20, dtype=bool)))
    graphs[0, np.arange(380), edges[:, 0], edges[:, 1]] = True
    codes = [int(edge_codes(adjacency)[0]) for adjacency, _, _ in top_graphs(record_of(graphs), 380)]
    assert codes == sorted(codes)


def test_top_classes_gather_equivalent_graphs():
    rng = np.random.default_rng(6)
    graphs = all_dags(4)[rng.integers(0, 543, (2, 400))]
    classes = Counter(cpdag(graph).tobytes() for graph in graphs.reshape(-1, 4, 4))
    top = top_classes(record_of(graphs), 1000)
    assert len(top) == len(classes)
    for adjacency, share in top:
        assert share == classes[adjacency.tobytes()] / 800
    shares = [share for _, share in top]
    assert shares == sorted(shares, reverse=True)
    shuffled = top_classes(record_of(rng.permutation(graphs.reshape(1, -1, 4, 4), axis=1)), 1000)
    assert all((one[0] == two[0]).all() for one, two in zip(top, shuffled, strict=True))
    assert len(top_classes(record_of(graphs), 3)) == 3


def test_portions_of_the_graphs_do_not_change_anything(monkeypatch):
    """Results larger than memory are looked at in portions; here a portion is a graph or two."""
    record = record_of(drawn(6))

    def summaries():
        return [matrix.tolist() for matrix in cpdag_probabilities(record)], list(map(repr, top_classes(record, 5)))

    whole = summaries()
    monkeypatch.setattr("parnidag.results.summaries.EDGES_AT_ONCE", 7)
    assert summaries() == whole


def test_very_many_equally_frequent_classes_come_as_they_were_drawn(monkeypatch):
    graphs = random_dags(30, 6, 0.4, np.random.default_rng(3))[None]
    record = record_of(graphs)
    monkeypatch.setattr("parnidag.results.summaries.MOST_TIED", 2)
    found = top_classes(record, 3)
    assert len(found) == 3
    assert found[0][1] == max(share for _, share in top_classes(record, 30))
