from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import threading
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from parnidag import EdgePrior, ParnidagError
from parnidag.data import Data
from parnidag.kernels.by_address import call_score
from parnidag.scores.bdeu import (
    MOST_SET_CELLS,
    SHORTER,
    TABLE_CELLS,
    TABLE_SHARE,
    BDeu,
    different_rows,
    pack,
)
from parnidag.scores.bdeu_counts import make_places, renumber
from parnidag.target import Target

EIGHT_ROWS = np.array([(0, 0), (0, 1), (1, 1), (1, 1), (0, 0), (1, 0), (1, 1), (0, 0)]).T
VECTORS = [((), -6.8418596469), ((0,), -7.2397731653)]


# ---------------------------------------------------------------------------------------------------------------------
# Slow and obvious versions


def ask(content, node, parents):
    members = np.array([*sorted(parents), 0], np.int64)
    return call_score(BDeu().function(), node, members, len(members) - 1, content)


def content_of(codes, arity, ess=1.0, pattern=None, masks=(None,)):
    pattern = np.zeros(len(codes), np.int64) if pattern is None else pattern
    return pack(np.asarray(codes, np.int32), np.asarray(arity, np.int64), pattern, list(masks), ess)


def urn(codes, arity, node, parents, ess=1.0, divided=True):
    """The probability of the column, row after row: each level has the share of pseudo-counts and earlier rows.

    A chain rule that knows no gamma function, in exact numbers up to the logarithm. Not divided: pseudo-counts as if
    there were one combination of parents.
    """
    combinations = math.prod(int(arity[p]) for p in parents) if divided else 1
    whole = Fraction(ess) / combinations
    cell = whole / int(arity[node])
    seen, total = {}, 0.0
    for row in np.asarray(codes).T.tolist():
        key = tuple(row[p] for p in parents)
        counts = seen.setdefault(key, {})
        before = sum(counts.values())
        share = (cell + counts.get(row[node], 0)) / (whole + before)
        total += math.log(share.numerator) - math.log(share.denominator)
        counts[row[node]] = counts.get(row[node], 0) + 1
    return total


def by_gammas(codes, arity, node, parents, ess=1.0):
    """The formula with gamma functions over a dense table, for many rows."""
    sizes = [int(arity[p]) for p in (*parents, node)]
    index = np.ravel_multi_index([codes[p] for p in (*parents, node)], sizes)
    table = np.bincount(index, minlength=math.prod(sizes)).reshape(-1, sizes[-1])
    cell, whole = ess / table.size, ess / len(table)
    return (gammaln(cell + table) - gammaln(cell)).sum() - (gammaln(whole + table.sum(axis=1)) - gammaln(whole)).sum()


def dependent_codes(arity, rows, seed, strength=0.6):
    """Columns that tend to follow the one before, so that parents matter."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(a, size=rows) for a in arity]
    for j in range(1, len(arity)):
        follow = rng.random(rows) < strength
        codes[j][follow] = codes[j - 1][follow] % arity[j]
    return np.array(codes, np.int32)


# ---------------------------------------------------------------------------------------------------------------------
# The numbers


@pytest.mark.parametrize(("parents", "expected"), VECTORS)
def test_published_vectors(parents, expected):
    assert ask(content_of(EIGHT_ROWS, [2, 2]), 1, parents) == pytest.approx(expected, abs=1e-10)
    assert urn(EIGHT_ROWS, [2, 2], 1, parents) == pytest.approx(expected, abs=1e-10)
    target = Target.build(Data(EIGHT_ROWS.T, kind="discrete"), BDeu(), EdgePrior(h=0.5))  # even odds: no prior term
    assert target.local(1, parents) == pytest.approx(expected, abs=1e-10)


WAYS = {
    # what the cells are counted with, arities, rows, parents of the last column
    "sets": ([9, 9, 6, 2, 3, 2, 4], 300, 3),
    "sets, parents with one level": ([9, 9, 9, 1, 5, 1, 3], 300, 3),
    "sets, one column": ([7, 3, 9, 9, 9, 4], 300, 0),
    "table": ([9, 9, 9, 3, 4, 5, 4], 400, 3),
    "table, many levels": ([20, 9, 9, 9, 20], 400, 1),
    "one level": ([1, 2, 1, 9, 9, 9, 1], 200, 3),
    "numbers": ([4, 5, 6, 7, 3, 3, 2], 300, 6),
    "numbers, many levels": ([20, 19, 18, 17, 16, 20], 250, 5),
    "numbers, wrapping around": ([20] * 40, 150, 39),
    "numbers, beyond floating point": ([2] * 1100, 60, 1099),
    "repeated rows": ([2, 3, 2, 2], 500, 3),
    "repeated rows, many cells": ([9, 9, 9, 9], 500, 3),
}


def case(way, seed):
    arity, rows, count = WAYS[way]
    codes = dependent_codes(arity, rows, seed)
    if way == "repeated rows, many cells":
        codes = codes[:, np.arange(rows) % 30]
    if len(arity) > 20:  # so that combinations of parents occur more than once
        codes[:-1] = codes[:-1, np.arange(rows) % 15]
    return codes, arity, len(arity) - 1, range(len(arity) - 1 - count, len(arity) - 1)


@pytest.mark.parametrize("ess", [1e-6, 1.0, 7.5, 1e6])
@pytest.mark.parametrize("way", WAYS)
def test_equals_the_urn(way, ess):
    for seed in range(3):
        codes, arity, node, parents = case(way, seed)
        expected = urn(codes, arity, node, parents, ess)
        assert ask(content_of(codes, arity, ess), node, parents) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_cases_take_the_way_they_are_named_after(way):
    codes, arity, node, parents = case(way, 0)
    cells = math.prod(arity[k] for k in (*parents, node))
    rows = len(different_rows(codes)[0])
    packed = rows * SHORTER <= codes.shape[1]
    assert packed == way.startswith("repeated rows")
    limit = TABLE_CELLS + TABLE_SHARE * (rows if packed else codes.shape[1])
    assert (cells > limit) == (way.startswith("numbers") or way == "repeated rows, many cells")
    if way.startswith("table"):
        assert cells > MOST_SET_CELLS
    if way.startswith("sets"):
        assert cells <= MOST_SET_CELLS
    if way == "numbers, wrapping around":
        assert cells > 2**63
    if way == "numbers, beyond floating point":
        assert cells > 2**1024


@pytest.mark.parametrize("parents", [(), (3,), (1, 2), (0, 1, 2, 3)])
def test_long_tables(parents):
    # more rows than are worked on at a time, and no multiple of them
    arity = [3, 4, 3, 5, 2, 30, 30, 30]
    codes = dependent_codes(arity, 70_001, 5)
    content = content_of(codes, arity)
    assert ask(content, 4, parents) == pytest.approx(by_gammas(codes, arity, 4, parents), rel=1e-11)
    assert by_gammas(codes[:, :200], arity, 4, parents) == pytest.approx(urn(codes[:, :200], arity, 4, parents))


def test_probabilities_of_all_columns_sum_to_one():
    # a constant that is missing, or depends on the counts, would show
    arity, parents = [2, 3, 3], np.array([[0, 1, 1, 0], [2, 0, 1, 2]])
    for members in ((), (0,), (0, 1)):
        total = 0.0
        for column in itertools.product(range(3), repeat=4):
            codes = np.vstack([parents, column])
            total += math.exp(ask(content_of(codes, arity, 2.0), 2, members))
        assert total == pytest.approx(1.0, rel=1e-12)


def test_levels_that_never_occur_count():
    codes = dependent_codes([2, 3, 2], 50, 1)
    few, many = content_of(codes, [2, 3, 2]), content_of(codes, [4, 5, 2])
    assert ask(many, 0, (1,)) == pytest.approx(urn(codes, [4, 5, 2], 0, (1,)), rel=1e-12)
    assert abs(ask(many, 0, (1,)) - ask(few, 0, (1,))) > 0.1
    frame = pd.DataFrame({"x": pd.Categorical.from_codes(codes[0], categories=list("abcd")), "y": codes[1]})
    expected = urn(codes, [4, 3], 0, (1,))
    assert ask(BDeu().table(Data(frame, kind="discrete")).content, 0, (1,)) == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Rows that a node may not use


@pytest.mark.parametrize("way", ["sets", "table", "numbers", "repeated rows", "repeated rows, many cells"])
def test_a_node_uses_only_its_own_rows(way):
    codes, arity, node, parents = case(way, 4)
    rng = np.random.default_rng(0)
    masks = [None, rng.random(codes.shape[1]) < 0.7, rng.random(codes.shape[1]) < 0.2]
    pattern = np.zeros(len(arity), np.int64)
    for group, mask in enumerate(masks):
        pattern[node] = group
        rows = slice(None) if mask is None else mask
        expected = urn(codes[:, rows], arity, node, parents)
        assert ask(content_of(codes, arity, 1.0, pattern, masks), node, parents) == pytest.approx(expected, rel=1e-9)


def test_rows_in_which_a_node_was_set_are_left_out():
    arity = [3, 2, 9, 9, 9]
    codes = dependent_codes(arity, 200, 3)
    intervened = np.zeros((200, 5), bool)
    intervened[:70, 1] = True
    intervened[60:90, 0] = True
    content = BDeu().table(Data(codes.T, kind="discrete", interventions=intervened)).content
    for node, parents in ((1, (0,)), (0, (1, 2)), (2, (0, 1)), (1, (0, 2, 3, 4))):
        kept = codes[:, ~intervened[:, node]]
        assert ask(content, node, parents) == pytest.approx(urn(kept, arity, node, parents), rel=1e-10)
        if node != 2:
            assert abs(urn(codes, arity, node, parents) - urn(kept, arity, node, parents)) > 1.0


# ---------------------------------------------------------------------------------------------------------------------
# What does not change the score


def graph_score(local, graph):
    return sum(local(j, tuple(np.flatnonzero(graph[:, j]))) for j in range(len(graph)))


def random_dag(n, rng):
    order = rng.permutation(n)
    graph = np.zeros((n, n), bool)
    graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.5, 1)
    return graph


def covered_edges(graph):
    """Edges i → j such that j has the parents of i, and i: reversing one leaves the independences as they are."""
    parents = [set(np.flatnonzero(column).tolist()) for column in graph.T]
    return [(i, j) for i, j in np.argwhere(graph).tolist() if parents[j] == parents[i] | {i}]


def largest_change(local, n, seed, repeats=30):
    """The largest relative change of a graph's score when a covered edge is turned round."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(repeats):
        graph = random_dag(n, rng)
        for i, j in covered_edges(graph):
            turned = graph.copy()
            turned[i, j], turned[j, i] = False, True
            before, after = graph_score(local, graph), graph_score(local, turned)
            worst = max(worst, abs(before - after) / abs(before))
    return worst


@pytest.mark.parametrize("ess", [0.3, 1.0, 20.0])
def test_equivalent_graphs_have_the_same_score(ess):
    arity = [2, 3, 4, 2, 5, 3, 9, 9]
    codes = dependent_codes(arity, 150, 8)
    content = content_of(codes, arity, ess)
    assert largest_change(lambda node, parents: ask(content, node, parents), 8, 1) < 1e-12


def test_unequal_pseudo_counts_would_break_equivalence():
    arity = [2, 3, 4]
    codes = dependent_codes(arity, 60, 8)
    assert largest_change(lambda node, parents: urn(codes, arity, node, parents), 3, 1) < 1e-12
    assert largest_change(lambda node, parents: urn(codes, arity, node, parents, divided=False), 3, 1) > 1e-3


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_names_of_levels_and_order_of_rows_and_parents_do_not_matter(draw):
    arity = draw.draw(st.lists(st.integers(1, 20), min_size=2, max_size=7))
    rows = draw.draw(st.integers(3, 60))
    rng = np.random.default_rng(draw.draw(st.integers(0, 2**32 - 1)))
    codes = dependent_codes(arity, rows, rng)
    node = draw.draw(st.integers(0, len(arity) - 1))
    others = [k for k in range(len(arity)) if k != node]
    parents = draw.draw(st.lists(st.sampled_from(others), unique=True))
    renamed = np.array([rng.permutation(arity[j])[codes[j]] for j in range(len(arity))])[:, rng.permutation(rows)]
    score = ask(content_of(codes, arity), node, parents)
    assert ask(content_of(renamed, arity), node, parents) == pytest.approx(score, rel=1e-11, abs=1e-11)
    assert score == pytest.approx(urn(codes, arity, node, parents), rel=1e-10, abs=1e-10)
    assert score <= 1e-12  # the log of a probability
    members = np.array([*rng.permutation(parents), 0], np.int64)
    shuffled = call_score(BDeu().function(), node, members, len(parents), content_of(codes, arity))
    assert shuffled == pytest.approx(score, rel=1e-11, abs=1e-11)


# ---------------------------------------------------------------------------------------------------------------------
# Parts


def test_different_rows():
    codes = np.array([[0, 1, 0, 1, 0], [2, 0, 2, 1, 1]])
    members, place = different_rows(codes)
    assert len(members) == 4
    assert np.array_equal(codes[:, members][:, place], codes)
    wide = np.random.default_rng(0).integers(0, 2, size=(40, 5000))
    assert len(different_rows(wide)[0]) == 5000


def test_what_python_calls_is_kept_on_disk():
    """Otherwise it would be compiled anew in every process."""
    assert make_places.stats.cache_path


@pytest.mark.parametrize("bound", [10, 5000, 2**62])
def test_renumbering(bound):
    rng = np.random.default_rng(1)
    pool = rng.integers(bound, size=300) if bound < 2**62 else (rng.integers(2**20, size=300) << 42)
    numbers = rng.choice(pool, size=1000)
    renumbered = numbers.copy()
    found = renumber(renumbered, float(bound), make_places(1000))
    assert found == len(np.unique(numbers))
    assert list(dict.fromkeys(renumbered.tolist())) == list(range(found))
    assert len(set(zip(numbers.tolist(), renumbered.tolist(), strict=True))) == found


def test_threads_share_a_content():
    codes, arity, node, parents = case("numbers", 0)
    content = content_of(codes, arity)
    content.flags.writeable = False
    kept = content.copy()
    families = [tuple(parents)[:k] for k in range(len(parents) + 1)]
    expected = [ask(content, node, family) for family in families]
    found = [[] for _ in range(4)]

    def work(results):
        for _ in range(20):
            results.append([ask(content, node, family) for family in families])

    threads = [threading.Thread(target=work, args=(results,)) for results in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == expected for results in found for result in results)
    assert np.array_equal(content, kept)


@pytest.mark.parametrize("ess", [0, -1.0, 1e-7, 1e7, math.inf, math.nan, "1", True, None])
def test_refuses_ess(ess):
    with pytest.raises(ParnidagError, match="ess must be a positive number"):
        BDeu(ess=ess)


def test_refuses_columns_with_too_many_levels():
    labels = ((str(k) for k in range(2)), tuple(range(70_000)))
    levels = SimpleNamespace(codes=np.zeros((2, 3), np.int32), labels=tuple(map(tuple, labels)))
    data = SimpleNamespace(names=("sex", "person"), discrete=lambda: levels)
    with pytest.raises(ParnidagError, match="person has 70000 levels"):
        BDeu().by_pattern(data, None)


def test_runs_without_compilation(tmp_path):
    program = (
        "import numpy as np\n"
        "from parnidag.scores.bdeu import BDeu, pack\n"
        "from parnidag.kernels.by_address import call_score\n"
        "for arity, rows in (([2, 3, 2, 9, 9], 40), ([9, 9, 9, 2, 9], 40), ([2, 2, 2, 2, 2], 300)):\n"
        "    rng = np.random.default_rng(1)\n"
        "    codes = np.array([rng.integers(a, size=rows) for a in arity], np.int32)\n"
        "    content = pack(codes, np.array(arity), np.zeros(5, np.int64), [rng.random(rows) < 0.8], 1.0)\n"
        "    for parents in ([], [1], [1, 2, 3], [1, 2, 3, 4]):\n"
        "        members = np.array([*parents, 0])\n"
        "        print(repr(float(call_score(BDeu().function(), 0, members, len(parents), content))))\n"
    )
    found = []
    for disabled in ("0", "1"):
        cache = {"PARNIDAG_CACHE_DIR": str(tmp_path)} if disabled == "1" else {}  # nothing compiled is to be found
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, **cache}
        finished = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        found.append([float(line) for line in finished.stdout.split()])
    assert len(found[0]) == 12
    assert found[1] == pytest.approx(found[0], rel=1e-12)
