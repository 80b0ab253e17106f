"""Candidate tables against the target's own scores and brute-force sums; their size, refusal and travels."""

from __future__ import annotations

import gc
import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import reference_spaces as twin

from parnidag import EdgePrior, ParnidagError, scores
from parnidag.data import Data
from parnidag.space.default import default_skeleton
from parnidag.space.expansion import MOST_CANDIDATES
from parnidag.space.pc import pc
from parnidag.tables import build as tables_module
from parnidag.tables.build import build_tables, table_bytes
from parnidag.target import Target

EPSILON = np.finfo(float).eps
CONSTRAINTS = {"required": [(0, 1), (2, 1), (3, 4)], "forbidden": [(1, 3), (4, 2), (4, 0)]}
PRIORS = {
    "free": EdgePrior(h="paper"),
    "constrained": EdgePrior(**CONSTRAINTS),
    "bounded": EdgePrior(**CONSTRAINTS, max_parents=4, log_odds={(1, 0): 2.5, (3, 2): -1.5}),
    "no room": EdgePrior(**CONSTRAINTS, max_parents=2),
}


def make_target(values, prior=None, g=10.0):
    return Target.build(Data(values), scores.Gaussian(g=g), EdgePrior(h="paper") if prior is None else prior)


def well_conditioned(n, rows, seed=0):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return rng.normal(size=(rows, n)) @ (rotation * rng.uniform(0.5, 2.0, n))


def nearly_collinear(n, rows, seed=0):
    """All columns are mixtures of three, but for a hundred-thousandth."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 3)) @ rng.normal(size=(3, n)) + 1e-5 * rng.normal(size=(rows, n))


def random_space(n, candidates, seed=0):
    rng = np.random.default_rng(seed)
    considered = np.zeros((n, n), bool)
    for j in range(n):
        considered[rng.choice(n, rng.integers(candidates + 1), replace=False), j] = True
    return considered


def some_entries(arrays, count, seed=0):
    """Yield (node, parents, stored score) of random entries."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        j = int(rng.integers(len(arrays.candidate_count)))
        width = 1 + int(arrays.extra_count[j])
        row, column = int(rng.integers(1 << arrays.candidate_count[j])), int(rng.integers(width))
        parents = [int(arrays.candidates[j, k]) for k in range(arrays.candidate_count[j]) if row >> k & 1]
        parents += arrays.required[j, : arrays.required_count[j]].tolist()
        parents += arrays.extras[j, column - 1 : column].tolist() if column else []
        yield j, parents, float(arrays.scores[arrays.first_entry[j] + row * width + column])


def largest_error(target, tables, tolerance):
    """Compare random entries; sets that are too large must be −inf, all others within tolerance(score, j, parents)."""
    too_large = compared = 0
    for j, parents, stored in some_entries(tables.arrays, 600):
        assert len(set(parents)) == len(parents)
        assert j not in parents
        if len(parents) > target.max_parents:
            assert stored == -math.inf
            too_large += 1
            continue
        expected = target.local(j, parents)
        assert abs(stored - expected) <= tolerance(expected, j, parents)
        compared += 1
    assert compared > 50
    return too_large


# --- scores ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("n", "rows"), [(6, 40), (30, 400), (30, 20)])
def test_scores_are_those_of_the_target(n, rows, prior):
    target = make_target(well_conditioned(n, rows), PRIORS[prior])
    tables = build_tables(target, random_space(n, min(n - 1, 9)), plus_one=True)
    too_large = largest_error(target, tables, lambda score, j, parents: 1e-12 * abs(score))
    assert (too_large > 0) == (prior in ("bounded", "no room"))


@pytest.mark.parametrize("rows", [15, 4000])
@pytest.mark.parametrize("g", [10.0, 1e4])
def test_scores_of_nearly_collinear_columns_agree_as_far_as_rounding_allows(rows, g):
    """Two factorisations of M differ by the rounding that its condition number magnifies."""
    target = make_target(nearly_collinear(30, rows), g=g)
    tables = build_tables(target, random_space(30, 8), plus_one=True)
    gram = target.problem.table.gram[0]

    def tolerance(score, j, parents):
        condition = np.linalg.cond(gram[np.ix_([*parents, j], [*parents, j])])
        return EPSILON * (abs(score) + rows * (1 + len(parents)) * condition)

    assert largest_error(target, tables, tolerance) == 0


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("plus_one", [True, False])
def test_tables_hold_exactly_the_sets_of_the_space(prior, plus_one):
    target, considered = make_target(well_conditioned(7, 40), PRIORS[prior]), random_space(7, 4, seed=1)
    tables = build_tables(target, considered, plus_one=plus_one)
    for j in range(7):
        stored = {parents for parents, score in twin.stored_sets(tables.arrays, j).items() if score > -math.inf}
        assert stored == twin.space_sets(target, considered, plus_one, j)


# --- sums -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_parents", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("plus_one", [True, False])
def test_sums_inside_every_subset_are_brute_force_sums(max_parents, plus_one):
    required = {} if max_parents in (0, 1) else CONSTRAINTS
    target = make_target(well_conditioned(7, 40), EdgePrior(**required, max_parents=max_parents))
    arrays = build_tables(target, random_space(7, 5, seed=2), plus_one=plus_one).arrays
    for j in range(7):
        width = 1 + int(arrays.extra_count[j])
        scores_of = arrays.scores[arrays.first_entry[j] : arrays.first_entry[j + 1]].reshape(-1, width)
        ratios = arrays.ratios[arrays.first_entry[j] : arrays.first_entry[j + 1]].reshape(-1, width)
        log_alone = arrays.log_alone[arrays.first_row[j] : arrays.first_row[j + 1]]
        for row in range(len(scores_of)):
            inside = [m for m in range(len(scores_of)) if m & row == m]
            sums = [twin.log_total(scores_of[inside, column]) for column in range(width)]
            assert log_alone[row] == pytest.approx(sums[0], abs=1e-12)
            assert ratios[row] == pytest.approx(np.exp(np.array(sums) - sums[0]), rel=1e-11)


def test_everything_is_covered_when_every_allowed_set_is_stored():
    values, everything = well_conditioned(5, 40), np.ones((5, 5), bool)
    one_short = everything.copy()
    one_short[1, 0] = False
    two_short = one_short.copy()
    two_short[2, 0] = False
    for considered in (everything, one_short, two_short, np.zeros((5, 5), bool)):
        for prior in (
            EdgePrior(h="paper"),
            EdgePrior(max_parents=2),
            EdgePrior(max_parents=1),
            EdgePrior(max_parents=0),
        ):
            target = make_target(values, prior)
            everywhere = [twin.space_sets(target, everything, False, j) for j in range(5)]
            for plus_one in (True, False):
                held = [twin.space_sets(target, considered, plus_one, j) for j in range(5)]
                tables = build_tables(target, considered, plus_one=plus_one)
                assert tables.covers_everything == (held == everywhere)


# --- size and refusal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plus_one", [True, False])
@pytest.mark.parametrize("prior", PRIORS)
def test_the_estimated_size_is_the_size(prior, plus_one):
    target, considered = make_target(well_conditioned(12, 40), PRIORS[prior]), random_space(12, 7)
    arrays = build_tables(target, considered, plus_one=plus_one).arrays
    actual = arrays.scores.nbytes + arrays.ratios.nbytes + arrays.log_alone.nbytes
    assert table_bytes(target, considered, plus_one) == actual


def test_tables_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    target = make_target(well_conditioned(61, 80))
    hub = np.zeros((61, 61), bool)
    hub[:, 7] = True
    monkeypatch.setattr(tables_module, "_empty_tables", None)  # nothing is laid out, let alone allocated
    for plus_one in (None, False):
        with pytest.raises(ParnidagError) as caught:
            build_tables(target, hub, plus_one=plus_one)
        message = str(caught.value)
        for part in ("space", "X7", "60 candidate", "GB", "2.0 GB allowed", "alpha", "memory="):
            assert part in message
        assert "plus_one" not in message  # would not help


@pytest.mark.parametrize("n", [70, 1030])  # subsets that do not fit into a word, sizes that do not fit into a number
def test_no_memory_is_enough_for_more_than_sixty_candidates(n):
    target = make_target(np.random.default_rng(0).normal(size=(80, n)))
    hub = np.zeros((n, n), bool)
    hub[:, 0] = True
    with pytest.raises(ParnidagError, match=f"{n - 1} candidate parents"):
        build_tables(target, hub, plus_one=False, memory=math.inf)


def test_extras_are_dropped_or_their_dropping_is_advised_where_that_is_enough():
    target, considered = make_target(well_conditioned(12, 40)), random_space(12, 6, seed=4)
    without, everything = (table_bytes(target, considered, plus_one) for plus_one in (False, True))
    assert build_tables(target, considered, memory=everything).plus_one is True
    assert build_tables(target, considered, memory=everything - 1.0).arrays.extra_count.max() == 0
    with pytest.raises(ParnidagError, match="plus_one=False"):
        build_tables(target, considered, plus_one=True, memory=without + 1.0)
    assert build_tables(target, considered, plus_one=False, memory=without).plus_one is False
    with pytest.raises(ParnidagError, match="memory="):
        build_tables(target, considered, memory=without - 1.0)


# --- other processes ------------------------------------------------------------------------------------------------


def received(tables):
    """What a worker got, and which object it is."""
    return tables.arrays, id(tables)


def test_tables_are_made_again_elsewhere_and_only_once():
    target = make_target(well_conditioned(14, 40), EdgePrior(max_parents=6))
    tables = build_tables(target, random_space(14, 10), plus_one=True)
    assert len(pickle.dumps(tables)) < tables.nbytes / 20
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        (arrays, first), (_, second) = pool.map(received, [tables, tables])
    assert first == second
    for mine, other in zip(tables.arrays, arrays, strict=True):
        assert mine.dtype == other.dtype
        assert (mine == other).all()


def test_a_copy_here_is_the_same_object_and_others_are_not_mistaken_for_it():
    values, considered = well_conditioned(6, 40), random_space(6, 3)
    made = [
        build_tables(make_target(values, prior, g), considered, plus_one=plus_one)
        for prior in (EdgePrior(h="paper"), EdgePrior(max_parents=1), EdgePrior(h=0.3), EdgePrior(forbidden=[(0, 1)]))
        for g in (10.0, 20.0)
        for plus_one in (True, False)
    ]
    assert len({tables.key for tables in made}) == len(made)
    for tables in made:
        assert pickle.loads(pickle.dumps(tables)) is tables


def test_tables_that_stay_here_are_not_hashed(monkeypatch):
    monkeypatch.setattr(tables_module, "_digest", None)
    assert build_tables(make_target(well_conditioned(4, 20)), random_space(4, 2)).nbytes > 0


def test_bounds_on_parents_far_apart_are_told_apart():
    values, considered = well_conditioned(260, 20), np.zeros((260, 260), bool)
    considered[:3, 5] = True
    targets = [make_target(values, EdgePrior(max_parents=most)) for most in (257, 1)]
    for tables in [build_tables(target, considered, plus_one=False) for target in targets]:
        assert pickle.loads(pickle.dumps(tables)) is tables


def test_tables_are_let_go_when_no_one_needs_them():
    key = build_tables(make_target(well_conditioned(6, 40, seed=9)), random_space(6, 3)).key
    gc.collect()
    assert key not in tables_module._KNOWN


# --- the default space ----------------------------------------------------------------------------------------------


def test_many_nodes_consider_their_most_correlated_neighbours():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(500, 16))
    values[:, 0] += values[:, 1:] @ np.linspace(0.4, 1.2, 15)
    target = make_target(values, EdgePrior(forbidden=[(15, 0)]))
    considered = default_skeleton(Data(values), target).considered
    neighbours = set(np.flatnonzero(pc(values, alpha=0.05).adjacency[:, 0])) - {15}
    assert len(neighbours) > MOST_CANDIDATES
    correlation = abs(np.corrcoef(values.T)[:, 0])
    strongest = sorted(neighbours, key=lambda i: -correlation[i])[:MOST_CANDIDATES]
    assert set(np.flatnonzero(considered[:, 0])) == set(strongest)
    assert not considered.diagonal().any()
