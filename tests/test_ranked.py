"""Draws of parent sets by rank: the law of weighing draws, by all their decisions and by sampling."""

from __future__ import annotations

import numpy as np
import pytest
from judging import SMALLEST_P
from plain_python import script_figures
from test_sums import NODES, Asked, build, draw_p_value, questions

RANKED = {"free": 160, "constrained": 128, "one parent": 160, "a hopeless parent": 160}


@pytest.mark.parametrize("prior", RANKED)
def test_draws_by_rank_have_the_law_of_weighing_draws(prior):
    found = script_figures("transitions_ranked.py")[f"ranked, {prior}"]
    assert found["questions"] == RANKED[prior]
    assert found["weights"] < 1e-12
    assert found["weighing"] < 1e-12


def test_broken_draws_by_rank_are_caught():
    found = script_figures("transitions_ranked.py")
    assert found["unranked, one parent"]["weights"] > 0.1
    assert found["unranked, one parent"]["weighing"] > 0.1
    assert all(found[f"all weighed, {prior}"]["weights"] > 0.1 for prior in RANKED)


def ranked_p_values(name, seed=1, count=15_000):
    """Of the compiled draws."""
    asked = Asked(build(name))
    assert asked.arrays.ranked.size
    asks = enumerate(questions(seed, 40))
    found = [draw_p_value(asked, *question, False, 1000 * seed + k, count) for k, question in asks]
    return np.array([p_value for p_value in found if p_value is not None])


@pytest.mark.parametrize("name", ["full", "candidates only", "constrained, full", "one parent allowed", "strong, full"])
def test_compiled_draws_by_rank_are_in_proportion_to_weight(name):
    found = ranked_p_values(name)
    assert len(found) > 15
    assert found.min() > SMALLEST_P / len(found)


@pytest.mark.parametrize("name", ["full", "constrained, full", "strong, full"])
def test_ranks_list_every_subset_best_first(name):
    arrays = build(name).arrays
    for j in range(NODES):
        first, end = arrays.first_row[j : j + 2]
        ranks = arrays.ranked[first:end]
        assert sorted(ranks.tolist()) == list(range(end - first))
        ordered = arrays.scores[first:end][ranks]
        assert (ordered[:-1] >= ordered[1:]).all()


def test_no_ranks_where_there_are_extras():
    assert build("plus one").arrays.ranked.size == 0
