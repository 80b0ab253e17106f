"""What columns let their cells be, blocks of classes in the score, and tables in which nothing is missing."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cells_model import ALPHA_MU, chain_of, target_of
from reference_cells import bge_log_likelihood
from scipy import stats

from parnidag import Data, EdgePrior, scores
from parnidag.cells.columns import ANYTHING, KNOWN, ordered_class, plain_number, scored_number, unordered_class
from parnidag.samplers.levels import draw_cells
from parnidag.target import Target

NOWHERE = np.zeros(60, bool)
ALPHA_W = 12.0


def some_table(rows=60, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    site = np.array(["u", "v", "w"])[np.digitize(x + rng.normal(size=rows), [-0.5, 0.8])]
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=rows), "site": site})


# --- columns ----------------------------------------------------------------------------------------------------------


def test_numbers_have_the_scores_of_their_ranks():
    values = np.exp(np.random.default_rng(2).normal(size=60))
    column = scored_number(values, NOWHERE)
    assert (column.bound == KNOWN).all()
    np.testing.assert_array_equal(np.argsort(column.fixed[0]), np.argsort(values))
    assert column.fixed[0].std(ddof=1) == pytest.approx(1.0)
    np.testing.assert_allclose(scored_number(np.log(values), NOWHERE).fixed, column.fixed)


def test_values_that_many_rows_share_are_intervals_between_which_others_have_scores():
    values = np.concatenate([np.zeros(20), np.linspace(1, 2, 40)])
    empty = NOWHERE.copy()
    empty[59] = True
    column = scored_number(values, empty)
    np.testing.assert_array_equal(column.bound, [1] * 20 + [KNOWN] * 39 + [ANYTHING])
    assert (column.low[1], column.high[1]) == (-np.inf, column.high[1])
    assert column.high[1] < column.fixed[0, 20]
    unit = column.fixed[0, 40] / stats.norm.ppf(40.5 / 59)
    assert column.high[1] == pytest.approx(stats.norm.ppf(20 / 59) * unit)


def test_ordered_classes_are_cut_at_their_shares():
    column = ordered_class(np.repeat([3.0, 5.0, 9.0], 20), NOWHERE)
    np.testing.assert_array_equal(column.bound, np.repeat([1, 2, 3], 20))
    np.testing.assert_allclose(column.low[2:], column.high[1:3])
    assert column.high[1] / column.high[2] == pytest.approx(-1.0)
    assert np.isinf([column.low[1], column.high[3]]).all()


def test_contrasts_of_classes_have_mean_0_and_variance_1():
    column = unordered_class(np.repeat([0.0, 1.0, 2.0, 3.0], [30, 15, 10, 5]), NOWHERE)
    np.testing.assert_allclose(column.fixed @ column.fixed.T, 59 * np.eye(3), atol=1e-9)
    np.testing.assert_allclose(column.fixed.sum(axis=1), 0.0, atol=1e-9)


# --- the score --------------------------------------------------------------------------------------------------------


def block_target(codes, x, empty=None):
    """A node of classes and a number, with the order of the classes as their codes say."""
    nodes = [unordered_class(codes, NOWHERE if empty is None else empty), plain_number(x, NOWHERE, 0.0, 1.0)]
    return target_of(np.column_stack([codes, x]), np.zeros((60, 2), bool), alpha_w=ALPHA_W, nodes=nodes)


@pytest.mark.parametrize("graph", [[[0, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]])
def test_the_score_of_a_block_is_that_of_its_columns_together(graph):
    table, graph = some_table(), np.array(graph, bool)
    codes = np.unique(table.site, return_inverse=True)[1].astype(float)
    target = block_target(codes, table.x.to_numpy())
    z = target.cells.fixed.T
    whole = np.zeros((3, 3), bool)
    whole[0, 1] = True  # columns of a block depend on those before
    whole[:2, 2], whole[2, :2] = graph[0, 1], graph[1, 0]
    expected = bge_log_likelihood(z, whole, ALPHA_MU, ALPHA_W)
    prior = target.problem.log_odds[0, 1] * graph.sum()
    assert target.log_posterior(graph) == pytest.approx(expected + prior)
    for order in itertools.permutations(range(3)):
        renamed = block_target(np.array(order, float)[codes.astype(int)], table.x.to_numpy())
        assert renamed.log_posterior(graph) == pytest.approx(expected + prior)


def test_edges_between_blocks_can_be_turned():
    rng = np.random.default_rng(3)
    one = rng.integers(0, 3, 60)
    two = np.where(rng.random(60) < 0.5, one, rng.integers(0, 4, 60))
    nodes = [unordered_class(column.astype(float), NOWHERE) for column in (one, two)]
    target = target_of(np.column_stack([one, two]), np.zeros((60, 2), bool), alpha_w=ALPHA_W, nodes=nodes)
    forward, backward = np.array([[0, 1], [0, 0]], bool), np.array([[0, 0], [1, 0]], bool)
    assert target.log_posterior(forward) == pytest.approx(target.log_posterior(backward))
    assert target.log_posterior(forward) > target.log_posterior(np.zeros((2, 2), bool)) + 2


def test_a_complete_table_of_numbers_has_the_score_that_it_has_without_cells():
    table = some_table()[["x", "y"]].to_numpy()
    whole = Target.build(Data(table), scores.BGe(alpha_w=8.0), EdgePrior())
    nodes = [plain_number(x, NOWHERE, x.mean(), x.std(ddof=1)) for x in table.T]
    drawn = target_of(table, np.zeros(table.shape, bool), alpha_mu=1.0, alpha_w=8.0, nodes=nodes)
    np.testing.assert_allclose(drawn.problem.table.gram, whole.problem.table.gram, rtol=1e-12)
    np.testing.assert_allclose(drawn.problem.table.coefficients, whole.problem.table.coefficients)


# --- an empty cell of classes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [[[0, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]])
def test_an_empty_cell_is_each_class_as_often_as_the_law_says(graph):
    table, graph, empty = some_table(), np.array(graph, bool), NOWHERE.copy()
    empty[7] = True
    codes = np.unique(table.site, return_inverse=True)[1].astype(float)
    target = block_target(codes, table.x.to_numpy() * 2.0, empty)
    chain = chain_of(target, 1, graph)
    layout, completed = target.cells.layout, target.cells.completed()
    logs = []
    for completed.arrays.classes[0] in range(3):
        completed.settle()
        logs.append(target.with_cells(completed).log_posterior(graph))
    expected = np.exp(logs - np.max(logs))
    counts = np.zeros(3)
    for _ in range(4000):
        draw_cells(chain.law, chain)
        counts[chain.cells.arrays.classes[0]] += 1
    assert layout.empty_rows.tolist() == [7]
    assert stats.chisquare(counts, 4000 * expected / expected.sum()).pvalue > 1e-4
