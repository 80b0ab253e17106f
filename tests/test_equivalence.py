"""CPDAGs against the definition on all small DAGs, and against Meek's rules on larger ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dags import all_dags

from parnidag.graphs.adjacency import edge_codes
from parnidag.graphs.equivalence import compelled_edges, cpdag, cpdag_codes
from parnidag.results.packing import pack_graphs

CLASSES = {3: 11, 4: 185, 5: 8782}
"""Number of equivalence classes of DAGs (OEIS A007984)."""


# --- slow and obvious twins ------------------------------------------------------------------------------------------


def v_structures(graph):
    """All (i, k, j) with i → k ← j and no edge between i < j."""
    joined = graph | graph.T
    return {
        (i, k, j)
        for k in range(len(graph))
        for i, j in itertools.combinations(np.flatnonzero(graph[:, k]).tolist(), 2)
        if not joined[i, j]
    }


def cpdags_by_definition(graphs):
    """The CPDAG of each of all DAGs: an edge has every direction that some equivalent DAG gives it."""
    keys = [((graph | graph.T).tobytes(), frozenset(v_structures(graph))) for graph in graphs]
    unions = {}
    for key, graph in zip(keys, graphs, strict=True):
        unions[key] = unions.get(key, False) | graph
    return np.array([unions[key] for key in keys])


def cpdag_by_rules(graph, meek=True):
    """V-structures as arrows, all else as lines, then Meek's first three rules as long as one applies."""
    n = len(graph)
    joined = graph | graph.T
    mixed = joined.copy()
    for i, k, j in v_structures(graph):
        mixed[k, i] = mixed[k, j] = False
    while meek:
        arrow, line = mixed & ~mixed.T, mixed & mixed.T
        forced = np.zeros_like(mixed)
        for a, b in np.argwhere(line):
            first = any(arrow[c, a] and not joined[c, b] for c in range(n))
            second = any(arrow[a, c] and arrow[c, b] for c in range(n))
            into = [c for c in range(n) if line[a, c] and arrow[c, b]]
            third = any(not joined[c, d] for c, d in itertools.combinations(into, 2))
            forced[a, b] = first or second or third
        if not forced.any():
            break
        mixed &= ~forced.T
    return mixed


def packed(graphs):
    codes = [edge_codes(graph) for graph in graphs]
    return np.cumsum([0, *(code.size for code in codes)]), np.concatenate(codes)


def cpdags_in_a_batch(graphs):
    n = graphs.shape[-1]
    codes, ends = cpdag_codes(n, *packed(graphs))
    result = np.zeros((len(graphs), n * n), bool)
    result[np.repeat(np.arange(len(graphs)), np.diff(ends, prepend=0)), codes] = True
    return result.reshape(graphs.shape)


def random_dag(n, edges, rng):
    order, graph = rng.permutation(n), np.zeros((n, n), bool)
    rows, columns = np.triu_indices(n, 1)
    chosen = rng.choice(rows.size, edges, replace=False)
    graph[order[rows[chosen]], order[columns[chosen]]] = True
    return graph


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_dags_agree_with_the_definition(n):
    graphs = all_dags(n)
    expected = cpdags_by_definition(graphs)
    assert (cpdags_in_a_batch(graphs) == expected).all()
    if n < 5:
        assert (np.array([cpdag(graph) for graph in graphs]) == expected).all()


@pytest.mark.parametrize(("n", "classes"), CLASSES.items())
def test_dags_are_equivalent_exactly_if_their_cpdags_are_equal(n, classes):
    graphs = all_dags(n)
    index, offsets, _ = pack_graphs(*cpdag_codes(n, *packed(graphs)))
    assert len(offsets) - 1 == classes
    assert index.max() == classes - 1
    skeletons = {(graph | graph.T).tobytes() for graph in graphs}
    assert len(skeletons) < classes  # edges up to direction alone would merge classes


def test_rules_agree_with_the_definition_and_v_structures_alone_do_not():
    graphs = all_dags(4)
    expected = cpdags_by_definition(graphs)
    assert all((cpdag_by_rules(graph) == right).all() for graph, right in zip(graphs, expected, strict=True))
    broken = np.array([cpdag_by_rules(graph, meek=False) for graph in graphs])
    assert (broken != expected).any()


@pytest.mark.parametrize("edges", [15, 40, 90, 250, 400])
def test_thirty_nodes_agree_with_the_rules(edges):
    rng = np.random.default_rng(edges)
    graphs = np.array([random_dag(30, edges, rng) for _ in range(5)])
    expected = np.array([cpdag_by_rules(graph) for graph in graphs])
    assert (cpdags_in_a_batch(graphs) == expected).all()
    if edges < 400:
        assert (expected & ~expected.transpose(0, 2, 1)).any()  # some arrows
        assert (expected & expected.transpose(0, 2, 1)).any()  # some lines


def test_order_of_the_packed_codes_does_not_matter():
    rng = np.random.default_rng(2)
    graph = random_dag(12, 30, rng)
    offsets, codes = packed([graph])
    shuffled = rng.permutation(codes.size)
    assert (compelled_edges(12, offsets, codes[shuffled]) == compelled_edges(12, offsets, codes)[shuffled]).all()


def test_graphs_without_edges_and_no_graphs():
    assert not cpdag(np.zeros((3, 3), bool)).any()
    codes, ends = cpdag_codes(3, np.array([0, 0, 0]), np.zeros(0, np.int32))
    assert (codes.tolist(), ends.tolist()) == ([], [0, 0])
    codes, ends = cpdag_codes(3, np.zeros(1, np.int64), np.zeros(0, np.int32))
    assert (codes.tolist(), ends.tolist()) == ([], [])


def test_the_argument_is_left_alone():
    graph = np.array([[0, 1], [0, 0]], bool)
    assert cpdag(graph).tolist() == [[False, True], [True, False]]
    assert graph.sum() == 1
