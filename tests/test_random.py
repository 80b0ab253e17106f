from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from parnidag import _random
from parnidag._jit import kernel


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
