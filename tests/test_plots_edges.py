"""Plots of edges: heat map, evidence, prior and posterior, two results."""

import math
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from plotting import exact, four_chains, legend_texts, names_of, sampled, texts_of, tick_texts, upper
from scipy import stats

from parnidag import plots
from parnidag.errors import ParnidagError
from parnidag.plots._axes import EVIDENCE_LOOKS
from parnidag.plots.comparison import differing


def scattered(n, seed=7):
    """Probabilities of a DAG whose order is not that of the columns."""
    order = np.random.default_rng(seed).permutation(n)
    matrix = np.zeros((n, n))
    matrix[np.ix_(order, order)] = upper(n, share=0.4)
    return matrix


# ── heat map ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["causal", "given", "cluster"])
@pytest.mark.parametrize("n", [2, 9, 100])
def test_the_map_is_the_matrix_in_the_order_of_its_labels(order, n):
    matrix = scattered(n)
    ax = plots.heatmap(exact(matrix), order=order)
    rows, columns = tick_texts(ax.yaxis), tick_texts(ax.xaxis)
    assert rows == columns
    assert sorted(rows) == sorted(names_of(n))  # at this size every label is shown
    places = [int(name[1:]) - 1 for name in rows]
    if order == "given":
        assert places == list(range(n))
    expected = matrix[np.ix_(places, places)]
    np.fill_diagonal(expected, np.nan)
    image = ax.images[0]
    np.testing.assert_array_equal(np.ma.filled(image.get_array(), np.nan), expected)
    assert image.get_clim() == (0.0, 1.0)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("parent", "child")


def test_causes_come_before_effects():
    matrix = scattered(9)
    array = np.ma.filled(plots.heatmap(exact(matrix)).images[0].get_array(), 0.0)
    assert (array > 0.5).any()
    assert not (np.tril(array) > 0.5).any()
    given = np.ma.filled(plots.heatmap(exact(matrix), order="given").images[0].get_array(), 0.0)
    assert (np.tril(given) > 0.5).any()


def test_clusters_are_kept_together():
    matrix = np.zeros((6, 6))
    for i, j in ((0, 2), (2, 4), (0, 4), (1, 3), (3, 5)):
        matrix[i, j] = 0.9
    names = tick_texts(plots.heatmap(exact(matrix), order="cluster").yaxis)
    groups = ["".join(sorted(name[1] for name in half)) for half in (names[:3], names[3:])]
    assert sorted(groups) == ["135", "246"]


def test_small_maps_hold_numbers_that_can_be_read():
    matrix = np.zeros((3, 3))
    matrix[0, 1], matrix[1, 2], matrix[0, 2] = 0.97, 0.02, 0.001
    ax = plots.heatmap(exact(matrix), order="given")
    found = {text.get_position(): (text.get_text(), text.get_color()) for text in ax.texts}
    assert found == {(1, 0): ("0.97", "white"), (2, 1): ("0.02", "black")}
    assert texts_of(plots.heatmap(exact(scattered(20)))) == []


def test_labels_are_thinned_where_there_is_no_room():
    ax = plots.heatmap(exact(scattered(100)), order="given", ax=plt.subplots(figsize=(4, 4), layout="constrained")[1])
    names = tick_texts(ax.yaxis)
    assert 10 < len(names) < 50
    steps = np.diff([int(name[1:]) for name in names])
    assert len(set(steps.tolist())) == 1
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(a.y0 > b.y0 + 0.8 * b.height for a, b in pairwise(boxes))


# ── evidence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def with_evidence():
    """Edges of each class; a prior of 0.1 has odds of 1/9, so that a probability of 0.5 has a Bayes factor of 9."""
    matrix = np.zeros((4, 4))
    matrix[0, 1:] = 0.9, 0.5, 1.0
    matrix[1, 2:] = 0.1, 0.005
    prior = np.where(np.eye(4, dtype=bool), 0.0, 0.1)
    prior[3, 0], prior[3, 1] = 0.0, 1.0
    matrix[3, 1] = 1.0
    return exact(matrix, prior_probabilities=prior)


def test_the_classes_of_evidence_are_those_of_the_summary():
    """Sampled zeros have a bound for a Bayes factor, and edges that the sampler could not visit none at all."""
    space = {"edges": np.flatnonzero(np.triu(np.ones((4, 4)), 1)).tolist()}
    settings = {"sampler": {"name": "OrderMCMC"}, "space": space}
    prior = np.where(np.eye(4, dtype=bool), 0.0, 0.01)
    result = sampled(four_chains(upper(4)), settings=settings, batch=1, batches=2, prior_probabilities=prior)
    table = result.summary(0)
    ax = plots.evidence(result)
    counted = {text.split(" (")[0]: int(text.split("(")[1][:-1]) for text in legend_texts(ax)}
    assert counted == {"included": 0, "inconclusive": 0, "excluded": 0} | table["evidence"].value_counts().to_dict()
    assert counted["not considered"] == 6
    heights = np.concatenate([dots.get_offsets().data[:, 1] for dots in ax.collections if dots.get_offsets().size])
    expected = np.log10(table["bayes_factor"].dropna().to_numpy(float))
    assert np.isin(np.round(expected, 6), np.round(heights, 6)).all()
    classes = {text.split(", ")[-1] for text in legend_texts(plots.prior_posterior(result, min_probability=0))[1:]}
    assert classes == set(table["evidence"])


def test_evidence_is_the_bayes_factor_by_class():
    ax = plots.evidence(with_evidence())
    points = {
        to_hex(dots.get_facecolors()[0][:3]): dots.get_offsets().data
        for dots in ax.collections
        if len(dots.get_offsets()) and hasattr(dots, "get_sizes") and len(dots.get_sizes())
    }
    included, inconclusive, excluded = (
        points[EVIDENCE_LOOKS[name][0]] for name in ("included", "inconclusive", "excluded")
    )
    np.testing.assert_allclose(included[:, 0], [0.9, 1.0])
    np.testing.assert_allclose(included[0, 1], math.log10(9 * 9))
    assert included[1, 1] > 2  # infinite: beyond the scale
    np.testing.assert_allclose(inconclusive, [[0.5, math.log10(9)], [0.1, 0.0]])
    assert excluded[excluded[:, 0] > 0][0] == pytest.approx([0.005, math.log10(0.005 / 0.995 * 9)])
    assert (excluded[excluded[:, 0] == 0][:, 1] < -2).all()
    assert legend_texts(ax) == ["included (2)", "inconclusive (2)", "excluded (6)", "set by the prior (2)"]
    levels = sorted(line.get_ydata()[0] for line in ax.lines)
    np.testing.assert_allclose(levels, [-1.0, 1.0])
    ticks = tick_texts(ax.yaxis)
    assert (ticks[0], ticks[-1]) == ("< −2", "> 2")
    shapes = {dots.get_paths()[0].vertices.tobytes() for dots in ax.collections[-3:]}
    assert len(shapes) == 3  # classes differ in shape as well
    # named are those next to the upper limit
    labels = [text for text in ax.texts if "→" in text.get_text()]
    assert [text.get_text() for text in labels] == ["V1 → V3", "V1 → V2"]
    assert labels[0].xy == pytest.approx((0.5, math.log10(9)))


@pytest.mark.parametrize("plot", [plots.evidence, plots.prior_posterior])
def test_results_without_a_prior_are_refused(plot):
    with pytest.raises(ParnidagError, match=r"^posterior: .* under the prior"):
        plot(exact(upper(4), prior_probabilities=None))


# ── prior and posterior ───────────────────────────────────────────────────────────────────────────────────────────────


def test_every_edge_goes_from_its_prior_to_its_posterior():
    ax = plots.prior_posterior(with_evidence())
    assert tick_texts(ax.xaxis) == ["V1 → V4", "V4 → V2", "V1 → V2", "V1 → V3", "V2 → V3"]
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose(
        [segment[:, 1] for segment in segments], [[0.1, 1], [1, 1], [0.1, 0.9], [0.1, 0.5], [0.1, 0.1]]
    )
    before = ax.collections[1].get_offsets()
    np.testing.assert_allclose(before, [[1, 0.1], [2, 1.0], [3, 0.1], [4, 0.1], [5, 0.1]])
    assert legend_texts(ax) == ["prior", "posterior, included", "posterior, required", "posterior, inconclusive"]
    after = {
        text: dots.get_offsets().data.tolist()
        for text, dots in zip(legend_texts(ax)[1:], ax.collections[2:], strict=True)
    }
    assert after["posterior, included"] == [[1, 1.0], [3, 0.9]]
    assert after["posterior, inconclusive"] == [[4, 0.5], [5, 0.1]]
    assert ax.get_title() == "From prior to posterior: 2.0 → 3.5 edges expected"
    chosen = plots.prior_posterior(with_evidence(), [("V2", "V4"), ("V1", "V2")])
    assert tick_texts(chosen.xaxis) == ["V1 → V2", "V2 → V4"]


def test_many_edges_are_ranked_and_the_open_ones_named():
    matrix = np.triu(np.linspace(1.0, 0.02, 400).reshape(20, 20), 1)
    ax = plots.prior_posterior(exact(matrix))
    assert ax.get_xlabel() == "edge (rank by posterior probability)"
    assert len(ax.texts) == 10
    heights = ax.collections[2].get_offsets()[:, 1]
    assert (np.diff(heights) <= 0).all()
    for text in ax.texts:
        parent, child = (int(name[1:]) - 1 for name in text.get_text().split(" → "))
        assert text.xy[1] == pytest.approx(matrix[parent, child])


# ── two results ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_results_are_compared_by_name_not_by_place():
    matrix = upper(5, share=0.7)
    turned = [3, 0, 4, 1, 2]
    other = exact(matrix[np.ix_(turned, turned)], nodes=[names_of(5)[k] for k in turned])
    ax = plots.compare(exact(matrix), other, names=("one", "other"))
    x, y = ax.lines[1].get_xdata(), ax.lines[1].get_ydata()
    np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(np.sort(x), np.sort(matrix[matrix > 0]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("edge probability, one", "edge probability, other")
    assert ax.get_title() == "No edge apart"
    assert texts_of(ax) == []


def test_differences_of_exact_results_are_real_but_only_visible_ones_are_named():
    first, second = np.zeros((3, 3)), np.zeros((3, 3))
    first[0, 1], second[0, 1] = 0.5, 0.62
    first[0, 2], second[0, 2] = 0.5, 0.505
    ax = plots.compare(exact(first), exact(second))
    assert texts_of(ax) == ["V1 → V2"]
    assert ax.texts[0].xy == (0.5, 0.62)
    assert ax.get_title() == "1 edge apart"


def test_bars_are_two_standard_errors():
    chains = four_chains(np.zeros((3, 3)))
    chains[:, 0, 1] = 0.4, 0.5, 0.6, 0.5
    chains[:, 0, 2] = 1.0
    posterior = sampled(chains)
    ax = plots.compare(posterior, exact(chains.mean(axis=0)))
    error = posterior.summary(0.0).query("parent == 'V1' and child == 'V2'")["mcse"].item()
    assert error > 0.01
    horizontal = [segment for segment in ax.collections[0].get_segments() if segment[0][1] == pytest.approx(0.5)]
    np.testing.assert_allclose(horizontal[0][:, 0], [0.5 - 2 * error, 0.5 + 2 * error])
    assert ax.get_title() == "No edge apart beyond Monte-Carlo error"


def test_noise_is_not_called_a_difference_but_differences_are():
    """Over 200 pairs of runs on 90 edges, at most 5 % may show any; a limit of two errors would always."""
    rng = np.random.default_rng(11)
    edges, pairs_of_runs, error = 90, 200, 0.01
    truth = rng.uniform(0.1, 0.9, edges)
    false = naive = missed = 0
    for _ in range(pairs_of_runs):
        x, y = rng.normal(truth, error), rng.normal(truth, error)
        errors = np.full(edges, error)
        false += differing(x, y, errors, errors, (1e3, 1e3)).any()
        naive += (np.abs(x - y) > 2 * error * math.sqrt(2)).any()
        y[0] += 0.1
        missed += not differing(x, y, errors, errors, (1e3, 1e3))[0]
    assert stats.binomtest(int(false), pairs_of_runs, 0.05, alternative="greater").pvalue > 0.001
    assert naive > 0.9 * pairs_of_runs
    assert missed < 0.05 * pairs_of_runs


def test_an_edge_one_run_never_saw_is_no_difference_if_the_run_was_short():
    x, y = np.array([0.0]), np.array([0.02])
    unknown, known = np.array([np.nan]), np.array([0.001])
    assert not differing(x, y, unknown, known, (50.0, 1e5))[0]
    assert differing(x, y, unknown, known, (1e5, 1e5))[0]
    # the twin: an unknown error taken for none would call it a difference in both
    assert differing(x, y, np.zeros(1), known, (50.0, 1e5))[0]


def test_results_on_other_nodes_or_without_edges_are_refused():
    with pytest.raises(ParnidagError, match=r"^b: must be on the same nodes as a; only one of them has V4"):
        plots.compare(exact(upper(3)), exact(upper(4)))
    with pytest.raises(ParnidagError, match=r"^b: must be a Posterior"):
        plots.compare(exact(upper(3)), upper(3))
    with pytest.raises(ParnidagError, match=r"^min_probability: no edge"):
        plots.prior_posterior(exact(np.zeros((3, 3))), min_probability=0.5)
