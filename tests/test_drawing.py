import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.drawing import GAP, layered


def random_graph(nodes, edges, seed, acyclic):
    rng = np.random.default_rng(seed)
    mask = np.triu(np.ones((nodes, nodes), bool), 1) if acyclic else ~np.eye(nodes, dtype=bool)
    graph = np.zeros((nodes, nodes), bool)
    pairs = np.argwhere(mask)
    chosen = pairs[rng.permutation(len(pairs))[:edges]]
    graph[chosen[:, 0], chosen[:, 1]] = True
    order = rng.permutation(nodes)
    return graph[np.ix_(order, order)]


graphs = st.builds(
    random_graph,
    nodes=st.integers(1, 25),
    edges=st.integers(0, 40),
    seed=st.integers(0, 1000),
    acyclic=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_layers_bends_and_room(graph):
    n = len(graph)
    widths = np.random.default_rng(n).uniform(0.4, 2.5, n)
    layout = layered(graph, widths=widths)
    assert layout.xy.shape == (n, 2)
    assert np.isfinite(layout.xy).all()
    np.testing.assert_array_equal(layout.xy[:, 1], np.rint(layout.xy[:, 1]))
    assert set(layout.bends) == {tuple(edge) for edge in np.argwhere(graph).tolist()}
    if topological_order(graph) is not None:
        assert all(layout.xy[j, 1] > layout.xy[i, 1] for i, j in layout.bends)
    for (i, j), bends in layout.bends.items():
        start, end = layout.xy[i, 1], layout.xy[j, 1]
        step = 1 if end > start else -1
        np.testing.assert_array_equal(bends[:, 1], np.arange(start + step, end, step))
    for row in np.unique(layout.xy[:, 1]):
        nodes = np.flatnonzero(layout.xy[:, 1] == row)
        nodes = nodes[np.argsort(layout.xy[nodes, 0])]
        gaps = np.diff(layout.xy[nodes, 0]) - (widths[nodes][1:] + widths[nodes][:-1]) / 2
        assert (gaps > GAP - 1e-9).all()


@settings(max_examples=20, deadline=None)
@given(graphs)
def test_edges_do_not_run_through_boxes(graph):
    """A bend keeps clear of every box in its layer; a layout that forgot its bends would not."""
    layout = layered(graph)
    for bends in layout.bends.values():
        for x, y in bends:
            others = layout.xy[layout.xy[:, 1] == y, 0]
            assert (np.abs(others - x) > 0.5).all()


def test_the_same_graph_gets_the_same_layout():
    graph = random_graph(30, 60, 3, acyclic=False)
    weights = np.random.default_rng(1).random((30, 30))
    first, again = layered(graph, weights), layered(graph.copy(), weights.copy())
    np.testing.assert_array_equal(first.xy, again.xy)
    for edge, bends in first.bends.items():
        np.testing.assert_array_equal(bends, again.bends[edge])


def test_of_a_cycle_the_lightest_edge_runs_upwards():
    cycle = np.zeros((3, 3), bool)
    cycle[0, 1] = cycle[1, 2] = cycle[2, 0] = True
    for light in ((0, 1), (1, 2), (2, 0)):
        weights = np.ones((3, 3))
        weights[light] = 0.1
        y = layered(cycle, weights).xy[:, 1]
        upwards = [edge for edge in ((0, 1), (1, 2), (2, 0)) if y[edge[1]] < y[edge[0]]]
        assert upwards == [light]


def test_both_directions_share_a_way():
    graph = np.zeros((4, 4), bool)
    graph[0, 1] = graph[1, 2] = graph[0, 2] = graph[2, 0] = True
    weights = np.ones((4, 4))
    weights[2, 0] = 0.5
    layout = layered(graph, weights)
    assert layout.xy[0, 1] < layout.xy[2, 1]
    assert len(layout.bends[0, 2]) == 1
    np.testing.assert_array_equal(layout.bends[0, 2], layout.bends[2, 0][::-1])


def test_nodes_without_edges_are_below_the_rest():
    graph = np.zeros((6, 6), bool)
    graph[1, 3] = True
    layout = layered(graph)
    assert layout.xy[[1, 3], 1].max() < layout.xy[[0, 2, 4, 5], 1].min()


def test_parts_do_not_overlap():
    graph = np.zeros((12, 12), bool)
    for first in range(0, 12, 3):
        graph[first, first + 1] = graph[first, first + 2] = True
    xy = layered(graph).xy
    boxes = [(xy[k : k + 3].min(axis=0), xy[k : k + 3].max(axis=0)) for k in range(0, 12, 3)]
    for a, (low_a, high_a) in enumerate(boxes):
        for low_b, high_b in boxes[a + 1 :]:
            assert (low_a > high_b).any() or (low_b > high_a).any()


def test_many_children_do_not_make_one_endless_layer():
    star = np.zeros((101, 101), bool)
    star[0, 1:] = True
    xy = layered(star).xy
    assert np.ptp(xy[:, 0]) < 50  # side by side they would take 135
    assert len(np.unique(xy[:, 1])) > 5


def test_long_edges_run_straight_where_they_can():
    chain = np.zeros((6, 6), bool)
    for node in range(5):
        chain[node, node + 1] = True
    chain[0, 5] = True
    bends = layered(chain).bends[0, 5]
    assert len(bends) == 4
    assert np.ptp(bends[:, 0]) < 0.2


def test_tiny_graphs():
    assert layered(np.zeros((0, 0), bool)).xy.shape == (0, 2)
    alone = layered(np.zeros((1, 1), bool))
    assert (alone.xy.shape, alone.bends) == ((1, 2), {})
