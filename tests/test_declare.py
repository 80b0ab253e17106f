"""Structs declared once: their numbers go to kernels and come back, and Python finds them by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from parnidag.kernels.declare import closer, first_numbers, named, opener, size_of, struct_over
from parnidag.kernels.jit import entry, make_frame


class PointArrays(NamedTuple):
    frame: Any
    values: Any
    flags: Any
    integers: Any
    floats: Any


class OtherArrays(NamedTuple):
    weights: Any


@struct_over
class Point(OtherArrays, PointArrays):
    steps: int
    height: float
    is_up: bool
    limit: int
    passing: float = 0.5
    n: int = size_of("values")


open_point, close_point = opener(Point), closer(Point)


@entry
def climb(others, arrays):
    point = open_point(others, arrays)
    point.passing += point.weights[0]
    point.height += point.passing * point.n
    point.steps += 1
    point.is_up = point.height > 0.0
    point.values[0] = point.limit
    close_point(point, arrays)


def test_numbers_are_kept_by_name_and_others_begin_anew():
    arrays = PointArrays(make_frame(), np.zeros(3), **first_numbers(Point, height=-2.0, limit=7))
    numbers = named(arrays)
    assert (numbers.steps, numbers.height, numbers.is_up, numbers.limit) == (0, -2.0, False, 7)
    for expected in (1.0, 4.0):
        climb(OtherArrays(np.array([0.5])), arrays)
        assert numbers.height == expected
    assert (numbers.steps, numbers.is_up, arrays.values[0]) == (2, True, 7.0)
    numbers.steps = 40
    assert arrays.integers.tolist() == [40, 7]


def test_unknown_numbers_are_named():
    arrays = PointArrays(make_frame(), np.zeros(3), **first_numbers(Point))
    for name in ("values", "passing", "unheard_of"):
        with pytest.raises(AttributeError, match=f"keeps no number {name}; it has steps, height, is_up, limit"):
            getattr(named(arrays), name)
        with pytest.raises(AttributeError):
            setattr(named(arrays), name, 1)
