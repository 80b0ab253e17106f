from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parnidag.data import Data
from parnidag.space.pc import pc
from parnidag.space.pc_discrete import ROWS_PER_FREEDOM, CountTests, occurring_levels

# ---------------------------------------------------------------------------------------------------------------------
# The slow twin


def g_square(columns, i, j, given):
    """G² and its degrees of freedom, by dictionaries of counts, stratum by stratum."""
    strata = {}
    for row in columns.T.tolist():
        strata.setdefault(tuple(row[k] for k in given), []).append((row[i], row[j]))
    statistic, freedom = 0.0, 0
    for pairs in strata.values():
        both = Counter(pairs)
        one, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        freedom += (len(one) - 1) * (len(other) - 1)
        statistic += sum(2 * n * math.log(n * len(pairs) / (one[a] * other[b])) for (a, b), n in both.items())
    return statistic, freedom, len(strata)


def p_value(columns, i, j, given, rows_per_freedom=5):
    """The p-value of the test, None if it is not made."""
    levels = [len(set(columns[k].tolist())) for k in (i, j)]
    statistic, freedom, strata = g_square(columns, i, j, given)
    if columns.shape[1] < rows_per_freedom * (levels[0] - 1) * (levels[1] - 1) * strata:
        return None
    if freedom == 0:
        return None if given else 1.0
    return stats.chi2.sf(statistic, freedom)


def naive_pc(columns, alpha, max_conditioning=None, stable=True, **options):
    """PC-stable as its definition reads; not stable: neighbours change within a level, as in the original PC."""
    n = len(columns)
    adjacency = ~np.eye(n, dtype=bool)
    sizes = np.full((n, n), -1)
    tests = 0
    for size in range(n if max_conditioning is None else max_conditioning + 1):
        frozen = adjacency.copy() if stable else adjacency
        for i, j in itertools.permutations(range(n), 2):
            if not adjacency[i, j] or (size == 0 and i > j):
                continue
            others = [k for k in np.flatnonzero(frozen[i]).tolist() if k != j]
            for given in itertools.combinations(others, size):
                p = p_value(columns, i, j, given, **options)
                tests += p is not None
                if p is not None and p > alpha:
                    adjacency[i, j] = adjacency[j, i] = False
                    sizes[i, j] = sizes[j, i] = size
                    break
    return adjacency, sizes, tests


def random_columns(n, rows, seed, strength=0.5):
    """Columns of 2 to 4 levels; each repeats one of the two before it in half of the rows, up to its own levels."""
    rng = np.random.default_rng(seed)
    arity = rng.integers(2, 5, size=n)
    columns = rng.integers(arity[:, None], size=(n, rows))
    for j in range(1, n):
        for parent in range(max(0, j - 2), j):
            follow = rng.random(rows) < strength
            columns[j, follow] = columns[parent, follow] % arity[j]
    return columns


CASES = [
    (nodes, rows, alpha, seed)
    for nodes, rows, alpha in ((4, 60, 0.05), (6, 200, 0.2), (6, 1000, 0.01), (7, 500, 0.5))
    for seed in range(3)
]


def skeleton_of(columns, *settings):
    return pc(Data(columns.T, kind="discrete"), *settings)


@pytest.mark.parametrize(("nodes", "rows", "alpha", "seed"), CASES)
def test_equals_the_naive_twin(nodes, rows, alpha, seed):
    columns = random_columns(nodes, rows, seed)
    skeleton = skeleton_of(columns, alpha)
    adjacency, sizes, tests = naive_pc(columns, alpha)
    assert np.array_equal(skeleton.adjacency, adjacency)
    assert np.array_equal(skeleton.separating_sizes, sizes)
    assert skeleton.tests == tests


def tells_apart(**options):
    """Whether a twin with another rule makes other tests, in some case."""
    drawn = ((random_columns(nodes, rows, seed), alpha) for nodes, rows, alpha, seed in CASES)
    return any(skeleton_of(columns, alpha).tests != naive_pc(columns, alpha, **options)[2] for columns, alpha in drawn)


def test_cases_are_deep_and_tell_other_rules_apart():
    deepest = max(skeleton_of(random_columns(*case[:2], case[3]), case[2]).separating_sizes.max() for case in CASES)
    assert deepest >= 2
    assert tells_apart(stable=False)
    assert tells_apart(rows_per_freedom=0)
    assert tells_apart(rows_per_freedom=10)


@pytest.mark.parametrize("seed", range(4))
def test_order_of_columns_and_names_of_levels_do_not_matter(seed):
    columns = random_columns(15, 300, seed)
    skeleton = skeleton_of(columns, 0.1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(15)
    renamed = np.array([rng.permutation(9)[column] for column in columns[order]])[:, rng.permutation(300)]
    permuted = skeleton_of(renamed, 0.1)
    assert skeleton.separating_sizes.max() >= 1
    assert np.array_equal(permuted.adjacency, skeleton.adjacency[np.ix_(order, order)])
    assert np.array_equal(permuted.separating_sizes, skeleton.separating_sizes[np.ix_(order, order)])


# ---------------------------------------------------------------------------------------------------------------------
# What is found


def noisy_copy(rng, column, keep, levels):
    return np.where(rng.random(column.size) < keep, column, rng.integers(levels, size=column.size))


def test_a_chain_and_a_collider():
    rng = np.random.default_rng(2)
    a, d = rng.integers(3, size=(2, 20_000))
    b = noisy_copy(rng, a, 0.6, 3)
    c = noisy_copy(rng, b, 0.6, 3)
    e = noisy_copy(rng, np.maximum(c, d), 0.7, 3)
    skeleton = pc(pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e}).astype(str), 1e-4)
    assert skeleton.edges == [("a", "b"), ("b", "c"), ("c", "e"), ("d", "e")]
    names = list(skeleton.names)
    size = skeleton.separating_sizes
    assert size[names.index("a"), names.index("c")] == 1  # by the one between them
    assert size[names.index("c"), names.index("d")] == 0  # the parents of a collider


def test_levels_are_no_numbers():
    # y is determined by x up to noise, but uncorrelated with it
    rng = np.random.default_rng(4)
    x = rng.integers(3, size=3000)
    y = noisy_copy(rng, x == 1, 0.5, 2)
    assert pc(Data(np.array([x, y]).T, kind="continuous"), 1e-6).edges == []
    assert skeleton_of(np.array([x, y]), 1e-6).edges == [("X0", "X1")]


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_independent_columns_survive_at_rate_alpha(alpha):
    # pairs of independent columns are pairwise independent up to the discreteness of G², so the variance is binomial
    n, repeats, rows = 16, 20, 1000
    rng = np.random.default_rng(5)
    kept = sum(len(skeleton_of(rng.integers(3, size=(n, rows)), alpha, 0).edges) for _ in range(repeats))
    pairs = n * (n - 1) // 2 * repeats
    assert abs(kept - pairs * alpha) < 4 * math.sqrt(pairs * alpha * (1 - alpha))


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_conditionally_independent_columns_survive_at_rate_alpha(alpha):
    # two copies of a third column with noise: dependent, but not given the third one
    repeats = 600
    rng = np.random.default_rng(6)
    kept = 0
    for _ in range(repeats):
        z = rng.integers(3, size=1500)
        columns = np.array([noisy_copy(rng, z, 0.4, 3), noisy_copy(rng, z, 0.4, 3), z])
        skeleton = skeleton_of(columns, alpha)
        assert skeleton.separating_sizes[0, 1] != 0
        kept += skeleton.adjacency[0, 1]
    assert abs(kept - repeats * alpha) < 4 * math.sqrt(repeats * alpha * (1 - alpha))


def test_degrees_of_freedom_count_what_occurs():
    # y has 4 levels, two of them in each stratum of z: 2 degrees of freedom, not 6. With 6 the rate would be near 0.
    alpha, repeats = 0.05, 600
    rng = np.random.default_rng(7)
    kept = 0
    for _ in range(repeats):
        z = rng.integers(2, size=600)
        y = 2 * z + rng.integers(2, size=600)
        x = noisy_copy(rng, z, 0.5, 2)
        skeleton = skeleton_of(np.array([x, y, z]), alpha, 1)
        kept += skeleton.adjacency[0, 1]
    assert abs(kept - repeats * alpha) < 4 * math.sqrt(repeats * alpha * (1 - alpha))
    assert stats.chi2.sf(stats.chi2.isf(alpha, 6), 2) < alpha / 20


# ---------------------------------------------------------------------------------------------------------------------
# What is not tested


@pytest.mark.parametrize("rows", [12, 80])
def test_alpha_zero_keeps_nothing(rows):
    skeleton = skeleton_of(random_columns(6, rows, 1), 0)
    assert skeleton.edges == []
    assert (skeleton.tests, len(skeleton.levels)) == (15, 1)


@pytest.mark.parametrize(("rows", "tests"), [(ROWS_PER_FREEDOM * 4 - 1, 0), (ROWS_PER_FREEDOM * 4, 1)])
def test_too_few_rows_count_as_dependent(rows, tests):
    columns = np.array([np.arange(rows) % 3, np.arange(rows) // 3 % 3])  # as independent as can be
    skeleton = skeleton_of(columns, 0.05)
    assert skeleton.tests == tests
    assert len(skeleton.edges) == 1 - tests
    assert len(skeleton.levels) == tests


def test_sets_with_too_many_strata_are_not_tried():
    rng = np.random.default_rng(3)
    x = rng.integers(2, size=100)
    copies = [noisy_copy(rng, x, 0.8, 2) for _ in range(2)]
    columns = np.array([x, *copies, np.arange(100) % 21])  # 5 · 21 rows are too many
    tests = CountTests(Data(columns.T, kind="discrete"), 0.05)
    adjacency = ~np.eye(4, dtype=bool)
    removed, made = tests.separated(adjacency, 1)
    assert 3 <= made <= 6  # three pairs given the third one, around either node unless separated
    assert not removed[3].any()
    assert tests.separated(adjacency, 2) is None
    assert len(skeleton_of(columns, 0.05).levels) == 2


def test_a_node_that_the_set_determines_is_not_tested():
    # total = a + b: given both there is nothing left to test between total and its child
    rng = np.random.default_rng(9)
    a, b = rng.integers(2, size=(2, 2000))
    total = a + b
    child = noisy_copy(rng, total, 0.6, 3)
    skeleton = skeleton_of(np.array([a, b, total, child]), 0.01)
    assert skeleton.adjacency[2, [0, 1, 3]].all()
    assert naive_pc(np.array([a, b, total, child]), 0.01)[2] == skeleton.tests


def test_unseen_levels_do_not_count():
    columns = random_columns(5, 400, 2)
    frame = pd.DataFrame({f"X{j}": pd.Categorical.from_codes(2 * columns[j], categories=range(9)) for j in range(5)})
    declared, plain = pc(frame, 0.05), skeleton_of(columns, 0.05)
    assert np.array_equal(declared.separating_sizes, plain.separating_sizes)
    assert declared.tests == plain.tests
    assert occurring_levels(np.array([4, 1, 4, 7])).tolist() == [1, 0, 1, 2]
