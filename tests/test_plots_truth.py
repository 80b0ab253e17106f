"""Plots against a known graph: curves and distances are those of `parnidag.metrics`."""

import networkx as nx
import numpy as np
import pytest
from plotting import exact, legend_texts, names_of

from parnidag import metrics, plots
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import Graph


def known(n=6, seed=3):
    """Probabilities that are often right about a graph, not always about its directions."""
    rng = np.random.default_rng(seed)
    truth = np.triu(rng.random((n, n)) < 0.4, 1)
    matrix = np.where(truth, rng.uniform(0.2, 0.7, (n, n)), rng.uniform(0.0, 0.3, (n, n)))
    np.fill_diagonal(matrix, 0.0)
    return np.round(matrix, 2), truth


def test_roc_curves_of_edges_and_of_pairs():
    matrix, truth = known()
    ax = plots.roc(exact(matrix), truth)
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    for line, of in zip(curves, ("edges", "skeleton"), strict=True):
        expected = metrics.roc_curve(matrix, truth, of)
        np.testing.assert_array_equal(line.get_xdata(), expected.false_positive_rate)
        np.testing.assert_array_equal(line.get_ydata(), expected.true_positive_rate)
    areas = [metrics.area(metrics.roc_curve(matrix, truth, of)) for of in ("edges", "skeleton")]
    assert legend_texts(ax) == [f"edges (area {areas[0]:.3f})", f"skeleton (area {areas[1]:.3f})"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false positive rate", "true positive rate")


def test_dots_are_at_a_threshold_of_one_half():
    matrix, truth = known()
    matrix[0, 1] = 0.5  # not above one half, so not in the median graph
    ax = plots.roc(exact(matrix), truth)
    dots = [line for line in ax.lines if len(line.get_xdata()) == 1]
    found, edges = matrix > 0.5, ~np.eye(6, dtype=bool)
    assert dots[0].get_xdata()[0] == pytest.approx((found & ~truth)[edges].sum() / (~truth)[edges].sum())
    assert dots[0].get_ydata()[0] == pytest.approx((found & truth).sum() / truth.sum())


def test_precision_and_recall():
    matrix, truth = known()
    ax = plots.roc(exact(matrix), truth, kind="precision_recall")
    expected = metrics.precision_recall_curve(matrix, truth)
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    np.testing.assert_array_equal(curves[0].get_xdata(), expected.recall)
    np.testing.assert_array_equal(curves[0].get_ydata(), expected.precision)
    # a step reaches the precision at its own end: a straight line, or the other kind of step, would flatter it
    assert curves[0].get_drawstyle() == "steps-pre"
    assert legend_texts(ax)[0] == f"edges (average precision {metrics.area(expected):.3f})"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("recall", "precision")


def test_a_truth_by_names_is_matched_by_name():
    matrix, truth = known()
    names = names_of(6)
    graph = nx.DiGraph()
    graph.add_nodes_from(reversed(names))
    graph.add_edges_from((names[i], names[j]) for i, j in np.argwhere(truth))
    by_name, by_place = plots.roc(exact(matrix), graph), plots.roc(exact(matrix), truth)
    assert legend_texts(by_name) == legend_texts(by_place)


def test_undirected_edges_have_a_skeleton_only():
    matrix, truth = known()
    ax = plots.roc(exact(matrix), exact(truth).median_graph().cpdag())
    assert [text.split()[0] for text in legend_texts(ax)][-1] == "skeleton"
    joined = np.array([[0, 1], [0, 0]])
    assert [text.split()[0] for text in legend_texts(plots.roc(exact(joined * 0.5), joined))] == ["edges"]


@pytest.mark.parametrize("reversal", ["once", "twice"])
def test_distances_by_threshold_with_the_median_and_the_consensus_graph(reversal):
    matrix, truth = known()
    posterior = exact(matrix)
    ax = plots.shd_threshold(posterior, truth, reversal=reversal)
    line, dot, level = ax.lines
    for threshold, distance in list(zip(line.get_xdata(), line.get_ydata(), strict=True))[::20]:
        graph = Graph(names_of(6), matrix >= threshold, "digraph")  # both directions are two edges, not an open one
        assert distance == metrics.shd(graph, truth, reversal)
    assert line.get_drawstyle() == "steps-pre"  # the graph changes just above a probability
    median = metrics.shd(posterior.median_graph(), truth, reversal)
    consensus = metrics.shd(posterior.consensus_graph(), truth, reversal)
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (0.5, median)
    assert set(level.get_ydata()) == {consensus}
    assert legend_texts(ax)[1:] == [f"median graph: {median}", f"consensus graph: {consensus}"]
    assert ax.get_ylim()[0] == 0


def test_a_truth_that_does_not_fit_is_refused():
    matrix, truth = known()
    for wrong in (truth[:4, :4], np.zeros((6, 6))):
        with pytest.raises(ParnidagError, match="truth"):
            plots.roc(exact(matrix), wrong)
