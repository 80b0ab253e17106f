from __future__ import annotations

import numpy as np
import pytest
from judging import SMALLEST_P
from scipy import stats

from parnidag.kernels import random as _random
from parnidag.kernels.jit import entry, kernel


@kernel
def _words(rng, count):
    words = np.zeros(count, np.uint64)
    for k in range(count):
        words[k] = _random.next_word(rng)
    return words


@kernel
def _skips(rng, hit, log_miss, limit, count):
    found = np.zeros(count, np.int64)
    for k in range(count):
        found[k] = _random.skip(rng, hit, log_miss, limit)
    return found


@kernel
def _picks(rng, first, second, count):
    found = np.zeros(count, np.int64)
    for k in range(count):
        found[k] = _random.pick(rng, first, second)
    return found


def test_generator_gives_the_published_numbers():
    # reference outputs of xoshiro256++ for the state 1, 2, 3, 4
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162]
    assert _words(np.array([1, 2, 3, 4], np.uint64), 6).tolist() == expected


def test_chains_of_a_seed_have_their_own_streams():
    assert (_random.random_state(5, 0) != _random.random_state(5, 1)).all()
    assert (_random.random_state(5, 0) == _random.random_state(5, 0)).all()


def test_uniform_is_uniform():
    words = _words(_random.random_state(1, 0), 100_000)
    assert stats.kstest((words >> np.uint64(11)) / 2.0**53, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("hit", [0.004, 0.05, 0.1, 0.2, 0.7, 0.99])
def test_skip_is_geometric_on_both_its_paths(hit):
    limit = 12
    found = np.bincount(_skips(_random.random_state(2, 0), hit, np.log1p(-hit), limit, 100_000), minlength=limit + 1)
    chances = np.append(hit * (1 - hit) ** np.arange(limit), (1 - hit) ** limit)
    likely = chances * 100_000 > 5
    assert found.size == limit + 1
    observed = np.append(found[likely], found[~likely].sum())
    expected = np.append(chances[likely], chances[~likely].sum()) * 100_000
    keep = expected > 0
    assert stats.chisquare(observed[keep], expected[keep]).pvalue > 1e-4


def test_pick_has_the_stated_probabilities():
    found = np.bincount(_picks(_random.random_state(3, 0), 0.2, 0.5, 100_000), minlength=3)
    assert stats.chisquare(found, [30_000, 20_000, 50_000]).pvalue > 1e-4


@entry
def choose_many(rng, weights, found):
    for k in range(found.size):
        found[k] = _random.choose(rng, weights, np.int64(weights.size))


def choices(weights, count=50_000, seed=4):
    found = np.zeros(count, np.int64)
    choose_many(_random.random_state(seed, 0), np.asarray(weights, float), found)
    return np.bincount(found, minlength=len(weights))


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_choices_are_made_in_proportion_to_their_weights(scale):
    weights = np.array([0.0, 3.0, 0.0, 1.0, 0.5, 5.0, 0.0]) * scale
    found = choices(weights)
    possible = weights > 0.0
    assert not found[~possible].any()
    expected = weights[possible] / scale / 9.5 * found.sum()
    assert stats.chisquare(found[possible], expected).pvalue > SMALLEST_P


def test_a_single_possible_choice_is_always_made():
    for place in (0, 2, 4):
        weights = np.zeros(5)
        weights[place] = 1e-12
        assert choices(weights, 2000)[place] == 2000


def test_weights_of_very_different_size():
    found = choices([1e-200, 1.0, 1e-9, 1.0, 1e-200])
    assert found[[0, 2, 4]].sum() == 0
    assert stats.binomtest(int(found[1]), int(found.sum())).pvalue > SMALLEST_P
