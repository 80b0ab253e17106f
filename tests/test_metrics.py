from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dags import distance_by_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from parnidag import metrics
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph, as_graph
from parnidag.metrics import distances
from parnidag.metrics.causal import has_gadjid
from parnidag.simulation import simulate

NAMES = ("a", "b", "c")
FORK = [("a", "b"), ("a", "c")]
COLLIDER = [("b", "a"), ("c", "a")]
CHAIN = [("a", "b"), ("b", "c")]


def on_nodes(edges, kind="dag"):
    return Graph(NAMES, as_graph(edges, NAMES).adjacency, kind)


def random_digraph(rng, n, density=0.3):
    matrix = rng.random((n, n)) < density
    np.fill_diagonal(matrix, False)
    return matrix


# ── structural Hamming distance ───────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**31), st.sampled_from(["once", "twice"]), st.booleans())
def test_shd_against_a_table_of_costs(n, seed, reversal, undirected):
    rng = np.random.default_rng(seed)
    names = tuple(map(str, range(n)))
    one, other = random_digraph(rng, n), random_digraph(rng, n)
    if undirected:  # one-way edges along an order, so that both are partially directed graphs without cycles
        one, other = ((np.triu(x) | (x & x.T)) for x in (one, other))
    kind = "cpdag" if undirected else "digraph"
    found = metrics.shd(Graph(names, one, kind), Graph(names, other, kind), reversal)
    assert found == distance_by_pairs(one, other, 1 if reversal == "once" else 2, undirected)
    assert found == metrics.shd(Graph(names, other, kind), Graph(names, one, kind), reversal)


def test_shd_by_hand():
    assert metrics.shd(FORK, FORK) == 0
    assert metrics.shd(FORK, COLLIDER) == 2
    assert metrics.shd(FORK, COLLIDER, reversal="twice") == 4
    assert metrics.shd([], FORK) == metrics.shd([], FORK, "twice") == 2
    undirected = Graph(("a", "b"), [[0, 1], [1, 0]], "cpdag")
    assert metrics.shd(undirected, [("a", "b")]) == 1
    assert metrics.shd(undirected, []) == 1
    assert metrics.shd(Graph(("a", "b"), [[0, 1], [1, 0]], "digraph"), []) == 2


def test_shd_of_classes():
    reverse = [(child, parent) for parent, child in CHAIN]
    assert metrics.shd_cpdag(CHAIN, reverse) == 0 < metrics.shd(CHAIN, reverse)
    assert metrics.shd_cpdag(FORK, CHAIN) == 2  # the pairs are others: b — a — c against a — b — c
    assert metrics.shd_cpdag(COLLIDER, FORK) == 2  # the same pairs, directed in one and not in the other
    assert metrics.shd_cpdag(COLLIDER, FORK, "twice") == 2
    assert metrics.shd_cpdag(on_nodes(COLLIDER).cpdag(), COLLIDER) == 0
    cycle = Graph(("a", "b"), [[0, 1], [1, 0]], "digraph")
    with pytest.raises(ParnidagError, match="truth: it has a directed cycle"):
        metrics.shd_cpdag([], cycle)
    with pytest.raises(ParnidagError, match="graph: it has a directed cycle"):
        metrics.shd_cpdag(cycle, [])


# ── precision and recall ──────────────────────────────────────────────────────────────────────────────────────────────


def test_scores_by_hand():
    truth = [("a", "b"), ("b", "c"), ("c", "d")]
    found = [("b", "a"), ("b", "c"), ("a", "d"), ("b", "d")]
    assert metrics.skeleton_scores(found, truth) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    assert metrics.orientation_scores(found, truth) == pytest.approx((1 / 4, 1 / 3, 2 / 7))
    assert metrics.orientation_scores(found, truth, among="shared") == pytest.approx((1 / 2, 1 / 2, 1 / 2))
    assert metrics.skeleton_scores(truth, found).precision == metrics.skeleton_scores(found, truth).recall


def test_undirected_edges_are_joined_but_have_no_direction():
    truth = on_nodes([("a", "b"), ("c", "b")])
    found = Graph(NAMES, [[0, 1, 0], [0, 0, 1], [0, 1, 0]], "cpdag")  # a → b — c
    assert metrics.skeleton_scores(found, truth) == (1.0, 1.0, 1.0)
    assert metrics.orientation_scores(found, truth) == pytest.approx((1.0, 0.5, 2 / 3))
    turned = Graph(NAMES, [[0, 1, 0], [0, 0, 1], [0, 1, 0]], "digraph")  # b ⇄ c: two edges, one of them right
    assert metrics.orientation_scores(turned, truth) == pytest.approx((2 / 3, 1.0, 4 / 5))


def test_scores_of_nothing_are_not_a_number():
    empty = metrics.skeleton_scores([], FORK)
    assert math.isnan(empty.precision)
    assert (empty.recall, empty.f1) == (0.0, 0.0)
    assert math.isnan(metrics.orientation_scores(FORK, []).recall)
    assert all(math.isnan(value) for value in metrics.skeleton_scores([], []))


# ── curves ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def naive_counts(scores, true):
    """(threshold, found and true, found and false) for every distinct score, the highest first."""
    for threshold in sorted(set(scores), reverse=True):
        found = [x >= threshold for x in scores]
        right = sum(f and t for f, t in zip(found, true, strict=True))
        yield threshold, right, sum(found) - right


def chance_of_higher(scores, true):
    """The area under a ROC curve as a share of pairs: true ones that score higher than false ones, ties one half."""
    pairs = [(x, y) for x, t in zip(scores, true, strict=True) if t for y, u in zip(scores, true, strict=True) if not u]
    return sum((x > y) + (x == y) / 2 for x, y in pairs) / len(pairs)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 6), st.integers(0, 2**31), st.sampled_from(["edges", "skeleton"]))
def test_curves_against_naive_counting(n, seed, of):
    rng = np.random.default_rng(seed)
    # few values, so that there are ties; half as large, so that the two directions add up to a probability
    probabilities = rng.integers(0, 6, (n, n)) / 10
    np.fill_diagonal(probabilities, 0)
    matrix = np.triu(random_digraph(rng, n, 0.5))
    matrix[0, 1], matrix[1, 2] = True, False
    truth = Graph(tuple(map(str, range(n))), matrix)
    if of == "edges":
        cells = list(itertools.permutations(range(n), 2))
        scores, true = [probabilities[c] for c in cells], [bool(matrix[c]) for c in cells]
    else:
        cells = list(itertools.combinations(range(n), 2))
        # whole tenths: the sums of the naive twin must not differ by rounding
        scores = [round(10 * probabilities[i, j] + 10 * probabilities[j, i]) / 10 for i, j in cells]
        true = [bool(matrix[i, j] or matrix[j, i]) for i, j in cells]
    positives, negatives = sum(true), len(true) - sum(true)
    counts = list(naive_counts(scores, true))

    curve = metrics.roc_curve(probabilities, truth, of)
    np.testing.assert_allclose(curve.thresholds, [np.inf, *(t for t, _, _ in counts)], atol=1e-12)
    np.testing.assert_allclose(curve.true_positive_rate, [0, *(right / positives for _, right, _ in counts)])
    np.testing.assert_allclose(curve.false_positive_rate, [0, *(wrong / negatives for _, _, wrong in counts)])
    assert (curve.true_positive_rate[-1], curve.false_positive_rate[-1]) == (1.0, 1.0)
    assert metrics.area(curve) == pytest.approx(chance_of_higher(scores, true))

    curve = metrics.precision_recall_curve(probabilities, truth, of)
    np.testing.assert_allclose(curve.precision, [1, *(right / (right + wrong) for _, right, wrong in counts)])
    np.testing.assert_allclose(curve.recall, [0, *(right / positives for _, right, _ in counts)])
    before, expected = 0, 0.0
    for _, right, wrong in counts:
        expected += (right - before) / positives * right / (right + wrong)
        before = right
    assert metrics.area(curve) == pytest.approx(expected)


def test_rounding_of_sums_is_no_difference():
    """0.1 + 0.2 and 0.3 + 0 are the same probability of a pair, though not the same float."""
    assert 0.1 + 0.2 != 0.3
    probabilities = np.array([[0, 0.1, 0.3], [0.2, 0, 0], [0, 0, 0]])
    curve = metrics.roc_curve(probabilities, np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]), "skeleton")
    assert len(curve.thresholds) == 3
    assert metrics.area(curve) == pytest.approx((0.5 + 1) / 2)


@pytest.mark.parametrize(
    ("probabilities", "truth", "of", "message"),
    [
        (np.zeros((3, 3)), np.zeros((3, 3)), "edges", "truth: it has 0 of 6 edges; a curve needs some and not all"),
        (np.zeros((2, 2)), np.array([[0, 1], [0, 0]]), "skeleton", "truth: it has 1 of 1 skeleton"),
        (np.zeros((3, 3)), Graph(NAMES, [[0, 1, 0], [1, 0, 0], [0, 0, 0]], "cpdag"), "edges", "truth: it has undirect"),
        (np.zeros((3, 3)), FORK, "arrows", "of='arrows' must be"),
        (np.full((3, 3), 0.5), FORK, "edges", "probabilities: the matrix must hold .* 0 on the diagonal"),
        (np.full((3, 3), np.nan), FORK, "edges", "probabilities: the matrix must hold numbers"),
        (np.zeros((2, 3)), FORK, "edges", r"probabilities: the matrix must be square, got shape \(2, 3\)"),
    ],
)
def test_curves_that_do_not_exist_are_refused(probabilities, truth, of, message):
    with pytest.raises(ParnidagError, match=message):
        metrics.roc_curve(probabilities, truth, of)


# ── which node is which ───────────────────────────────────────────────────────────────────────────────────────────────


def test_nodes_are_matched_by_name_where_there_are_names():
    truth = on_nodes(CHAIN)
    turned_around = as_graph(truth, ("c", "a", "b"))
    frame = pd.DataFrame(turned_around.adjacency, index=turned_around.nodes, columns=turned_around.nodes)
    for found in (turned_around, frame, turned_around.to_networkx(), turned_around.to_causal_learn(), truth.adjacency):
        assert metrics.shd(found, truth) == metrics.shd(truth, found) == 0
        assert metrics.sid(found, truth) == 0
    assert metrics.shd(turned_around.adjacency, truth) > 0  # without names only the position counts
    assert metrics.shd(truth.adjacency, truth.adjacency) == 0
    assert metrics.shd([(0, 1), (1, 2)], [(1, 2)]) == 1
    assert metrics.shd([(0, 1)], truth.adjacency) == 1
    assert metrics.shd(nx.DiGraph([("a", "b")]), nx.DiGraph([("b", "c")])) == 2


def test_probabilities_are_matched_by_name():
    truth = simulate(nodes=5, edges=4, rows=2, seed=1)
    frame = pd.DataFrame(truth.adjacency * 0.9, index=truth.names, columns=truth.names)
    order = ["V3", "V1", "V5", "V2", "V4"]
    for probabilities in (frame, frame.loc[order, order], SimpleNamespace(edge_probabilities=frame.loc[order, order])):
        for form in (truth, truth.edges, nx.DiGraph(truth.edges)):
            assert metrics.area(metrics.roc_curve(probabilities, form)) == 1.0
    assert metrics.area(metrics.roc_curve(truth.adjacency * 0.9, truth)) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.shd([], [], "thrice"), "reversal='thrice' must be"),
        (lambda: metrics.shd_cpdag([], [], "thrice"), "reversal='thrice' must be"),
        (lambda: metrics.orientation_scores([], [], among="some"), "among='some' must be"),
        (lambda: metrics.shd(3, []), "graph: int is not understood"),
        (lambda: metrics.shd([], 3), "truth: int is not understood"),
        (lambda: metrics.shd(on_nodes(CHAIN), [("a", "z")]), "truth: unknown nodes 'z'"),
        (lambda: metrics.shd([("a", "z")], on_nodes(CHAIN)), "graph: unknown nodes 'z'"),
        (lambda: metrics.shd(on_nodes(CHAIN), Graph(("a", "b"), np.zeros((2, 2)))), "truth: the graph is on other"),
        (lambda: metrics.shd(np.zeros((3, 3)), np.zeros((4, 4))), "truth: the matrix must be 3 × 3"),
        (lambda: metrics.area([1.0, 2.0]), "curve: list is not understood"),
    ],
)
def test_senseless_arguments_are_refused(call, message):
    with pytest.raises(ParnidagError, match=message):
        call()


# ── everything at once ────────────────────────────────────────────────────────────────────────────────────────────────


def test_evaluate_agrees_with_each_metric():
    truth = simulate(nodes=6, edges=7, rows=2, seed=4)
    rng = np.random.default_rng(5)
    probabilities = np.where(truth.adjacency, rng.uniform(0.3, 0.7, (6, 6)), rng.uniform(0, 0.3, (6, 6)))
    np.fill_diagonal(probabilities, 0)
    frame = pd.DataFrame(probabilities, index=truth.names, columns=truth.names)
    found = metrics.evaluate(SimpleNamespace(edge_probabilities=frame), truth)
    assert isinstance(found, pd.Series)
    median = Graph(truth.names, probabilities > 0.5)
    assert 0 < median.adjacency.sum() < 7
    expected = {
        "roc_area": metrics.area(metrics.roc_curve(frame, truth)),
        "average_precision": metrics.area(metrics.precision_recall_curve(frame, truth)),
        "skeleton_roc_area": metrics.area(metrics.roc_curve(frame, truth, "skeleton")),
        "skeleton_average_precision": metrics.area(metrics.precision_recall_curve(frame, truth, "skeleton")),
        "median_edges": median.adjacency.sum(),
        "median_shd": metrics.shd(median, truth),
        "median_shd_twice": metrics.shd(median, truth, "twice"),
        "median_shd_cpdag": metrics.shd_cpdag(median, truth),
        "median_skeleton_recall": metrics.skeleton_scores(median, truth).recall,
        "median_orientation_f1": metrics.orientation_scores(median, truth).f1,
    }
    if has_gadjid():
        expected |= {"median_sid": metrics.sid(median, truth)}
    for name, value in expected.items():
        assert found[name] == value, name
    assert found["consensus_shd"] <= found["median_shd"]
    assert found.notna().all()
    pd.testing.assert_series_equal(metrics.evaluate(frame.iloc[::-1, ::-1], truth), found)


def test_evaluate_says_what_is_undefined():
    cycle = np.roll(np.eye(3), 1, axis=1) * 0.6
    found = metrics.evaluate(cycle, np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    assert math.isnan(found["median_shd_cpdag"])
    assert found["median_shd"] == 1
    assert found["consensus_edges"] == 2
    assert not math.isnan(found["consensus_shd_cpdag"])
    nothing = metrics.evaluate(cycle, np.zeros((3, 3)))
    assert math.isnan(nothing["roc_area"])
    assert nothing["consensus_shd"] == 2
    open_truth = metrics.evaluate(cycle, on_nodes(CHAIN).cpdag())
    assert math.isnan(open_truth["roc_area"])
    assert open_truth["skeleton_roc_area"] == metrics.area(metrics.roc_curve(cycle, on_nodes(CHAIN), "skeleton"))
    if has_gadjid():
        assert math.isnan(found["median_sid"])
        assert math.isnan(open_truth["consensus_sid"])
        assert not math.isnan(open_truth["consensus_parent_distance"])


@pytest.mark.parametrize(("back", "refused"), [(0.4, False), (0.4 + 1e-12, False), (0.41, True), (0.9, True)])
def test_two_directions_cannot_be_more_probable_than_certain(back, refused):
    probabilities, truth = [[0, 0.6, 0], [back, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert metrics.area(metrics.roc_curve(probabilities, truth)) == 1.0 - 0.2 * (back > 0.6)  # any scores will do
    if refused:
        with pytest.raises(ParnidagError, match=r"^probabilities: X0 → X1 and X1 → X0 add up to 1"):
            metrics.evaluate(probabilities, truth)
    else:
        assert metrics.evaluate(probabilities, truth)["median_shd"] == 0


def test_evaluate_without_gadjid_leaves_its_distances_out(monkeypatch):
    monkeypatch.setattr(distances, "has_gadjid", lambda: False)
    found = metrics.evaluate(np.array([[0, 0.9], [0, 0]]), np.array([[0, 1], [0, 0]]))
    assert "median_sid" not in found
    assert found["median_shd"] == 0
