"""Plots of chains: the lines, bars and dots are the data."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from plotting import boxes_of, exact, four_chains, legend_texts, sampled, tick_texts, upper

from parnidag import plots
from parnidag.errors import ParnidagError
from parnidag.plots._axes import PALETTE
from parnidag.results.convergence import rank_counts

# ── trace ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_trace_shows_every_draw_of_every_chain():
    posterior = sampled(four_chains(upper(5)))
    ax = plots.trace(posterior)
    assert len(ax.lines) == 4
    for line, values in zip(ax.lines, posterior.log_posterior, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 41))
    assert [to_hex(line.get_color()) for line in ax.lines] == list(PALETTE[:4])
    assert legend_texts(ax) == ["chain 1", "chain 2", "chain 3", "chain 4"]
    assert ax.get_xlabel() == "draw (one every 25 iterations)"


def test_long_traces_also_show_means_in_the_style_of_the_chain():
    posterior = sampled(four_chains(upper(5)), draws=400)
    ax = plots.trace(posterior)
    draws, means = ax.lines[:4], ax.lines[4:]
    for line, values in zip(draws, posterior.log_posterior, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    for line, values in zip(means, posterior.log_posterior, strict=True):
        np.testing.assert_allclose(line.get_ydata(), values.reshape(40, 10).mean(axis=1))
        np.testing.assert_allclose(line.get_xdata(), np.arange(40) * 10 + 5.5)
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in means}) == 4


def test_large_log_posteriors_are_written_out():
    values = -32900.0 + np.random.default_rng(1).normal(size=(2, 40))
    ax = plots.trace(sampled(np.repeat(upper(5)[None], 2, axis=0), log_posterior=values))
    ax.figure.canvas.draw()
    assert ax.yaxis.get_offset_text().get_text() == ""


# ── ranks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rank_bars_are_each_chains_counts_on_its_own_row():
    posterior = sampled(four_chains(upper(5)), draws=100)
    ax = plots.rank(posterior, bins=8)
    counts = rank_counts(posterior.log_posterior, 8)
    bars = np.array([bar.get_height() for bar in ax.patches if bar.get_height() <= 1]).reshape(4, 8)
    scale = bars[0, 0] / counts[0, 0]
    np.testing.assert_allclose(bars, scale * counts)
    feet = np.array([bar.get_y() for bar in ax.patches]).reshape(4, 8)
    assert feet[:, 0].tolist() == [3, 2, 1, 0]  # the first chain on top
    assert bars.max() < 1  # no row reaches into the next
    assert tick_texts(ax.yaxis) == ["chain 1", "chain 2", "chain 3", "chain 4"]
    levels = [line.get_ydata()[0] for line in ax.lines]
    np.testing.assert_allclose(levels, feet[:, 0] + scale * 100 / 8)


def test_ranks_without_ties_are_plain_counts():
    values = np.random.default_rng(3).normal(size=(3, 40))
    ranks = values.ravel().argsort().argsort().reshape(values.shape)
    expected = [np.histogram(row, np.linspace(0, 120, 7))[0] for row in ranks]
    np.testing.assert_allclose(rank_counts(values, 6), expected)


def test_ties_are_shared_evenly_so_that_equal_chains_are_flat():
    values = np.tile(np.repeat([1.0, 2.0, 5.0], [70, 20, 10]), (3, 1))
    np.testing.assert_allclose(rank_counts(values, 10), 10.0)
    # the twin: average ranks would heap all 70 draws into one bar
    averaged = np.repeat([105.0, 240.0, 285.0], [70, 20, 10])
    assert np.histogram(averaged, np.linspace(0, 300, 11))[0].max() == 70


def test_a_chain_in_a_worse_mode_has_low_ranks():
    values = np.random.default_rng(4).normal(size=(2, 50))
    values[1] -= 100
    counts = rank_counts(values, 4)
    np.testing.assert_allclose(counts, [[0, 0, 25, 25], [25, 25, 0, 0]])


# ── number of edges ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_shares_of_draws_by_number_of_edges():
    posterior = sampled(four_chains(upper(5, share=0.8)), draws=200)
    ax = plots.edge_count(posterior)
    sizes = posterior.graphs.sum(axis=(2, 3))
    for line, row in zip(ax.lines, sizes, strict=True):
        for number, share in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert share == pytest.approx((row == number).mean())
        assert sum(line.get_ydata()) == pytest.approx(1.0)
    assert len({line.get_marker() for line in ax.lines}) == 4


def test_many_numbers_of_edges_are_put_together():
    n = 100
    ax = plots.edge_count(sampled(np.tile(np.triu(np.full((n, n), 0.5), 1), (2, 1, 1)), draws=300, batches=2))
    for line in ax.lines:
        assert len(line.get_xdata()) <= 43
        assert sum(line.get_ydata()) == pytest.approx(1.0)
        middle = float(np.dot(line.get_xdata(), line.get_ydata()))
        assert middle == pytest.approx(n * (n - 1) / 4, rel=0.01)
    assert "in steps of" in ax.get_ylabel()


def test_exact_draws_have_a_distribution_but_no_chains():
    record = sampled(upper(4, share=0.8)[None], draws=50).record
    names = ("log_posterior", "graph_index", "graph_offsets", "graph_edges")
    ax = plots.edge_count(exact(upper(4, share=0.8), **{name: getattr(record, name) for name in names}))
    assert len(ax.lines) == 1
    assert ax.get_legend() is None


# ── running probabilities ─────────────────────────────────────────────────────────────────────────────────────────────


def moving(**changes):
    """Two chains of two edges; the second chain was stopped after three of five batches."""
    fields = {
        "batch_counts": np.array(
            [[[0, 1], [2, 3], [10, 5], [0, 0], [8, 4]], [[10, 10], [0, 5], [5, 5], [0, 0], [0, 0]]]
        ),
        "batch_iterations": np.array([[10, 10, 10, 10, 10], [10, 10, 10, 0, 0]]),
        "edge_codes": np.array([1, 5], dtype=np.int32),
    }
    return sampled(np.repeat(upper(3, share=0)[None], 2, axis=0), **(fields | changes))


def test_running_probabilities_are_cumulative_shares_of_each_chain():
    ax = plots.running(moving(), [("V1", "V2"), ("V2", "V3")])
    found = [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in ax.lines]
    assert found[0] == ([10, 20, 30, 40, 50], [0.0, 0.1, 0.4, 0.3, 0.4])
    assert found[1] == ([10, 20, 30], [1.0, 0.5, 0.5])
    assert found[2][1] == pytest.approx([0.1, 0.2, 0.3, 9 / 40, 13 / 50])
    assert found[3] == ([10, 20, 30], [1.0, 0.75, pytest.approx(2 / 3)])
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    styles = [str(line._dash_pattern) for line in ax.lines]
    assert styles[0] == styles[2] != styles[1] == styles[3]
    assert legend_texts(ax) == ["V1 → V2", "V2 → V3", "chain 1", "chain 2"]


def test_an_edge_that_was_never_seen_runs_along_zero():
    assert all(not line.get_ydata().any() for line in plots.running(moving(), [("V3", "V1")]).lines)


def test_which_edges_run():
    chains = four_chains(np.zeros((4, 4)))
    chains[:, 0, 1] = 0.5  # most uncertain, but all chains agree
    chains[:, 0, 2] = 0.1, 0.9, 0.1, 0.9
    chains[:, 0, 3] = 0.05, 0.2, 0.05, 0.2
    chains[:, 1, 2] = 1.0
    posterior = sampled(chains)
    assert legend_texts(plots.running(posterior, count=2))[:2] == ["V1 → V3", "V1 → V4"]
    assert legend_texts(plots.running(posterior, "uncertain", count=2))[:2] == ["V1 → V2", "V1 → V3"]


def test_rare_edges_and_runs_without_edges_are_refused():
    rare = moving(rare_codes=np.array([2], np.int32), rare_probabilities=np.array([1e-6]))
    with pytest.raises(ParnidagError, match=r"^edges: V1 → V3 is among the rarest"):
        plots.running(rare, [("V1", "V3")])
    nothing = moving(edge_codes=np.zeros(0, np.int32), batch_counts=np.zeros((2, 5, 0), np.int64))
    with pytest.raises(ParnidagError, match=r"^edges: no edge was ever present"):
        plots.running(nothing)
    assert len(plots.agreement(nothing).texts) == 0


# ── chains against chains ─────────────────────────────────────────────────────────────────────────────────────────────


def test_each_chain_against_the_mean_of_the_others():
    chains = four_chains(upper(5, share=0.8))
    chains[2, 0, 1] = 0.876
    posterior = sampled(chains)
    ax = plots.agreement(posterior)
    by_chain = chains.reshape(4, -1)[:, posterior.record.edge_codes]
    assert len(ax.collections) == 4
    for chain, dots in enumerate(ax.collections):
        others = np.delete(by_chain, chain, axis=0).mean(axis=0)
        np.testing.assert_allclose(dots.get_offsets(), np.column_stack([others, by_chain[chain]]))
    assert legend_texts(ax) == ["chain 1", "chain 2", "chain 3", "chain 4"]


def test_two_chains_against_each_other_once():
    chains = np.repeat(upper(5, share=0.8)[None], 2, axis=0)
    chains[1, 0, 1] = 0.5
    posterior = sampled(chains)
    ax = plots.agreement(posterior)
    x, y = ax.collections[0].get_offsets().T
    first, second = chains.reshape(2, -1)[:, posterior.record.edge_codes]
    np.testing.assert_allclose(x, second)
    np.testing.assert_allclose(y, first)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("edge probability in chain 2", "edge probability in chain 1")
    assert len(ax.collections) == 1


def test_a_chain_that_kept_nothing_is_left_out_and_the_others_keep_their_numbers():
    chains = four_chains(upper(5, share=0.8))
    iterations = np.full((4, 8), 1000)
    iterations[1] = 0
    counts = sampled(chains).record.batch_counts.copy()
    counts[1] = 0
    posterior = sampled(chains, batch_iterations=iterations, batch_counts=counts)
    assert legend_texts(plots.agreement(posterior)) == ["chain 1", "chain 3", "chain 4"]
    assert legend_texts(plots.running(posterior, count=1))[1:] == ["chain 1", "chain 3", "chain 4"]


def test_edges_on_which_chains_differ_are_named_where_they_differ_most():
    chains = four_chains(np.zeros((4, 4)))
    chains[:, 0, 1] = 0.30, 0.30, 0.30, 0.30
    chains[:, 0, 2] = 0.50, 0.50, 0.59, 0.50  # below the limit
    chains[:, 1, 3] = 0.20, 0.21, 0.35, 0.21
    chains[:, 2, 3] = 1.00, 1.00, 1.00, 0.00
    ax = plots.agreement(sampled(chains))
    assert [label.get_text() for label in ax.texts] == ["V3 → V4", "V2 → V4"]
    assert ax.texts[0].xy == (1.0, 0.0)
    assert ax.texts[1].xy == pytest.approx((0.62 / 3, 0.35))
    assert ax.get_title() == "Chains differ by more than 0.1 on 2 edges"
    assert plots.agreement(sampled(four_chains(upper(4)))).get_title() == "Chains differ by more than 0.1 on no edge"


def test_at_most_ten_labels_none_on_another_all_on_the_axes_even_when_the_figure_changes():
    ax = plots.agreement(sampled(np.triu(np.random.default_rng(5).random((4, 12, 12)), 1)))
    for inches in ((5.8, 5.0), (9, 8)):
        ax.figure.set_size_inches(inches)
        boxes = boxes_of(ax, ax.texts)
        assert len(boxes) == 10
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
        room = ax.get_window_extent()
        assert all(room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1 for box in boxes)
    ax.figure.canvas.draw()
    assert not ax.figure.stale  # drawing did not ask for another drawing
