"""Random decisions of the kernels: every one goes through a function of this file.

The generator is xoshiro256++ (Blackman and Vigna, 2021): four 64-bit words that fit a checkpoint, a nanosecond a
draw. The samplers never look at a raw uniform: they ask `happens`, `pick`, `choose`, `below` or `skip`. So a test can
put an enumerator of all outcomes in their place and compute the exact transition matrix of the production code.
Continuous numbers, `normal` and `gamma`, are for parameters and latent cells.
"""

from __future__ import annotations

import math

import numpy as np

from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.types import Floats, Words, float64, int64, uint64

RandomState = Words

COINS_FROM = 0.1
"""Tossing coins is faster than taking a logarithm for events at least this likely."""


def random_state(seed: int, *key: int) -> RandomState:
    """Return the four words that start a generator; those of one seed with other keys never overlap in practice.

    The key of a chain is its number.
    """
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)


@leaf
def next_word(rng: RandomState) -> uint64:
    """Advance xoshiro256++ by one step and return 64 random bits."""
    total = rng[0] + rng[3]
    result = ((total << uint64(23)) | (total >> uint64(41))) + rng[0]
    shifted = rng[1] << uint64(17)
    rng[2] ^= rng[0]
    rng[3] ^= rng[1]
    rng[1] ^= rng[2]
    rng[0] ^= rng[3]
    rng[2] ^= shifted
    rng[3] = (rng[3] << uint64(45)) | (rng[3] >> uint64(19))
    return result


@kernel
def uniform(rng: RandomState) -> float:
    """Return a number in [0, 1) with 53 random bits."""
    return float64(next_word(rng) >> uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def happens(rng: RandomState, probability: float) -> bool:
    """Decide an event of the given probability. One uniform is drawn even when the answer is certain."""
    return uniform(rng) < probability


@kernel
def pick(rng: RandomState, first: float, second: float) -> int:
    """Return 1 with probability `first`, 2 with probability `second`, else 0."""
    u = uniform(rng)
    if u < first:
        return 1
    if u < first + second:
        return 2
    return 0


@kernel
def choose(rng: RandomState, weights: Floats, count: int) -> int:
    """Return one of the first `count` places, with probability in proportion to its weight."""
    total = 0.0
    for k in range(count):
        total += weights[k]
    left = uniform(rng) * total
    last = int64(0)
    for k in range(count):
        if weights[k] > 0.0:
            last = int64(k)  # rounding may leave a crumb at the end: it belongs to the last possible place
            left -= weights[k]
            if left < 0.0:
                break
    return last


@kernel
def below(rng: RandomState, count: int) -> int:
    """Return a uniformly random integer in 0 … count − 1."""
    return int64(uniform(rng) * count)


@kernel
def skip(rng: RandomState, hit: float, log_miss: float, limit: int) -> int:
    """Return how many events of probability `hit` fail before the first that happens, at most `limit`.

    Walking through a list by such skips visits each place independently with that probability. `log_miss` is
    log(1 − hit): rare events are skipped in one go by a geometric number, frequent ones by tossing coins.
    """
    if hit > COINS_FROM:
        failures = int64(0)
        while failures < limit and uniform(rng) >= hit:
            failures += int64(1)
        return failures
    skipped = math.log(1.0 - uniform(rng)) / log_miss
    if skipped >= limit:
        return limit
    return int64(skipped)


@kernel
def normal(rng: RandomState) -> float:
    """Return a standard normal number, by the polar method of Marsaglia and Bray (1964)."""
    while True:
        x, y = 2.0 * uniform(rng) - 1.0, 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def gamma(rng: RandomState, shape: float) -> float:
    """Return a gamma number of scale 1, by the method of Marsaglia and Tsang (2000)."""
    boost = 1.0
    if shape < 1.0:  # from one of shape + 1
        boost = (1.0 - uniform(rng)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@kernel
def log_gamma(rng: RandomState, shape: float) -> float:
    """Return the logarithm of a gamma number of scale 1, which small shapes would let vanish."""
    if shape < 1.0:
        return math.log(gamma(rng, shape + 1.0)) + math.log(1.0 - uniform(rng)) / shape
    return math.log(gamma(rng, shape))
