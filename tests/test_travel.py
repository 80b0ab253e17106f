"""Chains as bytes: the same to the bit when they arrive, and small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from parnidag.run.travel import arrays_of, pack, unpack

RNG = np.random.default_rng(1)


class Pair(NamedTuple):
    one: object
    other: object


def same_bits(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


ARRAYS = {
    "floats": RNG.normal(size=(30, 40)),
    "odd bytes": RNG.integers(0, 255, 1001, dtype=np.uint8),
    "short integers": RNG.integers(-9, 9, 400, dtype=np.int32),
    "an odd number of short integers": RNG.integers(-9, 9, 401, dtype=np.int32),
    "not numbers": np.array([np.nan, -0.0, 0.0, np.inf] * 50),
    "nothing": np.zeros(0),
    "a single number": np.array(3.5),
    "turned": RNG.normal(size=(30, 40)).T,
    "every other": RNG.normal(size=200)[::2],
    "records": np.zeros(20, [("score", "f8"), ("owner", "u2"), ("rest", "u2", (3,))]),
    "logical": RNG.random(333) < 0.5,
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("known", ["the same", "a little", "another", "another shape", "another type", "nothing"])
def test_arrays_arrive_as_they_left(name, known):
    array = ARRAYS[name]
    base = {
        "the same": array.copy(),
        "a little": array.copy(),
        "another": np.frombuffer(RNG.bytes(array.nbytes), array.dtype).reshape(array.shape),
        "another shape": np.zeros(7),
        "another type": np.zeros(array.shape, np.float16),
    }
    if known == "a little" and array.size:
        base["a little"].reshape(-1)[-1:] = np.zeros(1, array.dtype)
    bases = [] if known == "nothing" else [base[known]]
    arrived = unpack(pack(Pair(array, "text"), bases), bases)
    assert arrived.other == "text"
    assert same_bits(arrived.one, np.ascontiguousarray(array).reshape(array.shape))
    assert arrived.one.flags.writeable
    for kept in bases:
        assert not np.shares_memory(arrived.one, kept)


def test_zeros_of_both_signs_are_told_apart():
    base = [np.zeros(100)]
    changed = np.zeros(100)
    changed[7] = -0.0
    assert np.signbit(unpack(pack(changed, base), base)[7])


def test_only_what_differs_is_sent():
    base = [RNG.normal(size=100_000), np.zeros(100_000)]
    few, most = base[0].copy(), base[1] + 1.0
    few[[5, 70_000]] = 0.0
    assert len(pack(Pair(few, base[1]), base)) < 500
    assert 0 <= len(pack(Pair(few, most), base)) - most.nbytes < 500
    assert len(pack(Pair(few, base[1]), [])) > 2 * few.nbytes


def test_an_array_that_is_there_twice_stays_one():
    array = np.arange(10.0)
    thing = Pair(array, Pair(array, array.copy()))
    assert len(arrays_of(thing)) == 2
    arrived = unpack(pack(thing, arrays_of(thing)), arrays_of(thing))
    assert arrived.one is arrived.other.one
    assert arrived.one is not arrived.other.other
