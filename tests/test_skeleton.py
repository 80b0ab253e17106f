from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from naive_pc import pc_by_definition
from plain_python import plain_value
from scipy import stats

from parnidag.data import Data
from parnidag.errors import ParnidagError
from parnidag.simulation import simulate
from parnidag.space.pc import pc, squared_bound
from parnidag.space.read import as_considered

NAMES = ["a", "b", "c", "d"]
PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], bool)  # a – b – c, and d alone


# ---------------------------------------------------------------------------------------------------------------------
# The slow twin


def p_value(values, i, j, given):
    """Fisher's z test of the partial correlation, by inverting the correlation matrix of everything involved."""
    if len(values) - len(given) <= 3:
        return None
    precision = np.linalg.inv(np.corrcoef(values[:, [i, j, *given]], rowvar=False))
    r = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
    return 2 * stats.norm.sf(abs(math.atanh(r)) * math.sqrt(len(values) - len(given) - 3))


def naive_pc(values, alpha, max_conditioning=None, stable=True):
    return pc_by_definition(values.shape[1], functools.partial(p_value, values), alpha, max_conditioning, stable)


CASES = [
    (nodes, rows, alpha, seed)
    for nodes, rows, alpha in ((4, 30, 0.05), (6, 60, 0.2), (7, 200, 0.01), (8, 100, 0.5), (8, 1000, 0.3))
    for seed in range(4)
]


def dense_values(nodes, rows, seed):
    return simulate(nodes, min(2 * nodes, nodes * (nodes - 1) // 2), rows, seed).values


@pytest.mark.parametrize(("nodes", "rows", "alpha", "seed"), CASES)
def test_equals_the_naive_twin(nodes, rows, alpha, seed):
    values = dense_values(nodes, rows, seed)
    skeleton = pc(values, alpha)
    adjacency, sizes, tests = naive_pc(values, alpha)
    assert np.array_equal(skeleton.adjacency, adjacency)
    assert np.array_equal(skeleton.separating_sizes, sizes)
    assert skeleton.tests == tests


def test_removing_within_a_level_would_be_noticed():
    drawn = [(dense_values(nodes, rows, seed), alpha) for nodes, rows, alpha, seed in CASES]
    found = [pc(*case) for case in drawn]
    assert any(
        (one.adjacency != naive_pc(*case, stable=False)[0]).any() for one, case in zip(found, drawn, strict=True)
    )
    assert max(one.separating_sizes.max() for one in found) >= 3


@pytest.mark.parametrize("seed", range(5))
def test_order_of_columns_does_not_matter(seed):
    values = simulate(30, 60, 80, seed).values
    skeleton = pc(values, 0.1)
    order = np.random.default_rng(seed).permutation(30)
    permuted = pc(values[:, order], 0.1)
    assert skeleton.separating_sizes.max() >= 2
    assert np.array_equal(permuted.adjacency, skeleton.adjacency[np.ix_(order, order)])
    assert np.array_equal(permuted.separating_sizes, skeleton.separating_sizes[np.ix_(order, order)])


# ---------------------------------------------------------------------------------------------------------------------
# What the settings do


@pytest.mark.parametrize("rows", [3, 50])
def test_alpha_zero_keeps_nothing(rows):
    skeleton = pc(simulate(10, 15, rows, 1, weights=(20, 30)).values, alpha=0)
    assert not skeleton.adjacency.any()
    assert skeleton.edges == []


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_independent_columns_survive_level_zero_at_rate_alpha(alpha):
    n, repeats = 20, 20
    pairs = n * (n - 1) // 2 * repeats
    rng = np.random.default_rng(5)
    kept = sum(len(pc(rng.normal(size=(200, n)), alpha, max_conditioning=0).edges) for _ in range(repeats))
    # correlations of independent normal columns are pairwise independent, so the variance is binomial
    assert abs(kept - pairs * alpha) < 4 * math.sqrt(pairs * alpha * (1 - alpha))


def test_recovers_a_sparse_strong_network():
    truth = simulate(30, 35, 5000, seed=8, weights=(0.8, 1.2))
    skeleton = pc(truth.values, alpha=0.001)
    wrong = np.triu(skeleton.adjacency ^ (truth.adjacency | truth.adjacency.T)).sum()
    assert wrong <= 2


def test_max_conditioning_bounds_the_sets():
    values = dense_values(8, 200, 3)
    for largest in range(3):
        skeleton = pc(values, 0.2, max_conditioning=largest)
        adjacency, sizes, _ = naive_pc(values, 0.2, largest)
        assert [level.conditioning for level in skeleton.levels] == list(range(largest + 1))
        assert np.array_equal(skeleton.adjacency, adjacency)
        assert np.array_equal(skeleton.separating_sizes, sizes)
    assert pc(values, 0.2).separating_sizes.max() > 1  # so the bounds above did something


def test_stops_when_no_degree_of_freedom_is_left():
    values = dense_values(8, 5, 2)
    skeleton = pc(values, 0.9)
    assert [level.conditioning for level in skeleton.levels] == [0, 1]  # 5 − 2 − 3 = 0
    assert np.array_equal(skeleton.adjacency, naive_pc(values, 0.9)[0])
    untested = pc(values[:3], 0.9)
    assert untested.tests == 0
    assert len(untested.edges) == 28


@pytest.mark.parametrize("seed", range(10))
def test_a_node_that_the_set_determines_is_not_tested(seed):
    # total = a + b + c up to rounding, so given all three the correlation of total and its child is rounding only
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(200, 3))
    total = parts.sum(axis=1, keepdims=True)
    skeleton = pc(np.hstack([parts, total, total + rng.normal(size=(200, 1))]), 0.05)
    assert skeleton.adjacency[3, [0, 1, 2, 4]].all()
    assert len(skeleton.levels) == 4  # so the set of all three was tried


def test_bound_is_where_the_p_value_is_alpha():
    for alpha, freedom in ((0.05, 97), (0.5, 1), (1e-12, 40)):
        z = math.atanh(math.sqrt(squared_bound(alpha, freedom))) * math.sqrt(freedom)
        assert 2 * stats.norm.sf(z) == pytest.approx(alpha, rel=1e-9)
    assert squared_bound(1e-300, 1) == squared_bound(0.0, 0) == math.inf  # beyond the clip


def test_result_describes_itself():
    data = Data(simulate(12, 15, 100, 3).values, names=[f"gene{k}" for k in range(12)])
    skeleton = pc(data, 0.1, max_conditioning=2)
    count = int(skeleton.adjacency.sum()) // 2
    assert skeleton.names == data.names
    assert len(skeleton.edges) == count == skeleton.levels[-1].edges
    assert all(skeleton.adjacency[data.names.index(a), data.names.index(b)] for a, b in skeleton.edges)
    assert np.array_equal(skeleton.adjacency, skeleton.adjacency.T)
    assert np.array_equal(skeleton.separating_sizes == -1, skeleton.adjacency | np.eye(12, dtype=bool))
    assert 0 < sum(level.seconds for level in skeleton.levels) <= skeleton.seconds
    assert repr(skeleton).startswith(f"Skeleton(12 nodes, {count} edges; alpha=0.1, max_conditioning=2")
    for array in (skeleton.adjacency, skeleton.separating_sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 1] = 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [("alpha", value) for value in (-0.1, 1, 1.5, math.nan, "0.05", None, True)]
    + [("max_conditioning", value) for value in (-1, 1.5, "2", True)],
)
def test_refuses_settings(setting, value):
    with pytest.raises(ParnidagError, match=f"{setting} must be"):
        pc(dense_values(4, 20, 0), **{setting: value})


def without_compilation():
    found = pc(simulate(7, 14, 100, 3).values, 0.2)
    return [found.separating_sizes.tolist(), int(found.tests)]


def test_runs_without_compilation():
    assert plain_value("test_skeleton.without_compilation()") == without_compilation()
    assert pc(simulate(7, 14, 100, 3).values, 0.2).separating_sizes.max() >= 2


# ---------------------------------------------------------------------------------------------------------------------
# Skeletons from elsewhere


def assert_path(space):
    skeleton = as_considered(space, NAMES)
    assert skeleton.dtype == bool
    assert np.array_equal(skeleton, PATH)


def test_reads_a_skeleton_in_any_order():
    data = Data(simulate(4, 3, 60, 2).values, names=NAMES)
    skeleton = pc(data)
    assert skeleton.adjacency.any()
    assert np.array_equal(as_considered(skeleton, NAMES), skeleton.adjacency)
    order = [2, 0, 3, 1]
    renamed = as_considered(skeleton, [NAMES[k] for k in order])
    assert np.array_equal(renamed, skeleton.adjacency[np.ix_(order, order)])
    with pytest.raises(ParnidagError, match="other nodes"):
        as_considered(skeleton, ["a", "b", "c", "e"])


def test_a_frame_with_misleading_labels_is_still_a_frame():
    names = ["G", "edges", "nodes", "graph"]
    frame = pd.DataFrame(PATH, index=names, columns=names)
    assert np.array_equal(as_considered(frame, names), PATH)


def test_reads_results_by_their_probabilities():
    probabilities = np.zeros((4, 4))
    probabilities[0, 1], probabilities[1, 0] = 0.3, 0.25  # together enough, neither alone
    probabilities[2, 1] = 0.9
    probabilities[3, 0] = 0.4
    assert_path(SimpleNamespace(edge_probabilities=probabilities))
    frame = pd.DataFrame(probabilities, index=NAMES, columns=NAMES)
    shuffled = ["d", "b", "a", "c"]
    assert_path(SimpleNamespace(edge_probabilities=frame.loc[shuffled, shuffled]))
    with pytest.raises(ParnidagError, match="from 0 to 1"):
        as_considered(SimpleNamespace(edge_probabilities=frame * 5), NAMES)


def test_reads_a_posterior():
    from parnidag.api import exact

    values = simulate(4, 3, 200, 4).values
    posterior = exact(Data(values, names=NAMES))
    table = posterior.edge_probabilities.to_numpy()
    expected = table + table.T >= 0.5
    assert expected.any()
    assert np.array_equal(as_considered(posterior, NAMES), expected)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (None, "NoneType is not understood"),
        ("pc", "'pc' is not understood"),
        ({"score": 1.0}, "dict is not understood"),
        (np.zeros((3, 3)), r"must be 4 × 4, got shape \(3, 3\)"),
        ([[0, 1], [1]], "square matrix"),
        (np.eye(4), "itself"),
        (PATH * 2, "only 0 and 1"),
        (np.full((4, 4), np.nan), "only 0 and 1"),
        (np.full((4, 4), "x"), "only 0 and 1"),
    ],
)
def test_refuses_what_is_no_skeleton(space, message):
    with pytest.raises(ParnidagError, match=f"space: .*{message}"):
        as_considered(space, NAMES)


def test_results_of_causal_learn_itself_are_read():
    """The library runs on the same columns: its adjacencies, whatever their marks, are the pairs."""
    from causallearn.search.ConstraintBased.PC import pc as their_pc
    from causallearn.search.ScoreBased.GES import ges

    values = simulate(nodes=8, edges=9, rows=200, seed=1).values
    names = [f"X{k}" for k in range(8)]
    found = their_pc(values, alpha=0.05, show_progress=False)
    expected = found.G.graph != 0
    assert np.array_equal(as_considered(found, names), expected)
    assert np.array_equal(as_considered(found.G, names), expected)
    assert np.array_equal(expected, pc(values, alpha=0.05).adjacency)  # the same tests, the same skeleton
    scored = ges(values)
    assert np.array_equal(as_considered(scored, names), scored["G"].graph != 0)
    assert as_considered(scored, names).any()
