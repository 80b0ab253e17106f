"""Normal numbers between bounds have the law that SciPy knows, from the middle to far out in the tails."""

import numpy as np
import pytest
from scipy import stats

from parnidag.kernels.jit import entry
from parnidag.kernels.random import normal, random_state
from parnidag.kernels.truncated import normal_between

BOUNDS = [
    (-np.inf, np.inf),
    (-np.inf, 0.3),
    (0.0, np.inf),
    (-0.4, np.inf),
    (1.0, np.inf),
    (6.0, np.inf),
    (-np.inf, -9.0),
    (-3.0, 2.0),
    (-0.3, 0.4),
    (0.1, 0.6),
    (0.5, 3.0),
    (2.0, 2.01),
    (4.0, 8.0),
    (-30.0, -29.0),
]
DRAWS = 4000


@entry
def draw_many(rng, low, high, found):
    for k in range(found.size):
        found[k] = normal_between(rng, low, high)


@entry
def draw_untruncated(rng, low, high, found):
    for k in range(found.size):
        found[k] = normal(rng)


def p_value(low, high, draw=draw_many):
    found = np.zeros(DRAWS)
    draw(random_state(3, abs(hash((low, high))) % 2**31), low, high, found)
    return found, stats.kstest(found, stats.truncnorm(low, high).cdf).pvalue


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_numbers_between_bounds(low, high):
    found, p = p_value(low, high)
    assert low <= found.min()
    assert found.max() <= high
    assert p > 1e-4


def test_numbers_without_bounds_are_noticed():
    assert p_value(-0.4, np.inf, draw_untruncated)[1] < 1e-10
