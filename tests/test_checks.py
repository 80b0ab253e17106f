"""What arguments may be: numbers in a range, words of a list."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from parnidag._util.checks import as_whole, number, one_of, whole
from parnidag.errors import ParnidagError, PriorError


def refusal(check, *arguments, **options):
    with pytest.raises(ParnidagError) as caught:
        check(*arguments, **options)
    assert caught.value.argument == arguments[1]
    return str(caught.value)


@pytest.mark.parametrize("value", [True, np.bool_(False), 2.0, "2", None, np.arange(2)])
def test_what_is_no_whole_number(value):
    assert as_whole(value) is None
    assert refusal(whole, value, "n").startswith("n must be a whole number, 0 or more, got")


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2)])
def test_whole_numbers_of_any_type(value):
    assert (as_whole(value), type(whole(value, "n", 1, 2))) == (2, int)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        ({"least": 0, "most": 1}, [0, 1, np.float32(0.5), Fraction(1, 3)], [-0.1, 1.1], "from 0 to 1"),
        ({"least": 0, "below": 1}, [0], [1], "from 0 to below 1"),
        ({"above": 0, "most": 1}, [1], [0, Fraction(1, 10**400)], "above 0 and at most 1"),
        ({"above": 0, "below": 1}, [0.5], [0, 1], "between 0 and 1 (both excluded)"),
        ({"above": 0}, [1e300], [0, math.inf, 10**400], "above 0"),
        ({"above": 0, "most": math.inf}, [math.inf], [0], "above 0"),
        ({"least": 2}, [2], [1], ", 2 or more"),
        ({}, [-1e300], [math.inf, -math.inf], ""),
    ],
)
def test_ranges_of_numbers(bounds, inside, outside, words):
    for value in inside:
        assert number(value, "x", **bounds) == float(value)
    for value in [*outside, math.nan, True, np.True_, "1", None, 1j]:
        wanted = f"x must be a number {words}".replace(" ,", ",").strip()
        assert refusal(number, value, "x", **bounds, note="or None") == f"{wanted}, or None, got {value!r}"


def test_errors_can_be_of_another_kind_and_travel():
    import pickle

    with pytest.raises(PriorError) as caught:
        one_of(1, "flag", [True, "yes"], PriorError)
    assert str(caught.value) == "flag must be one of True, 'yes', got 1"
    assert pickle.loads(pickle.dumps(caught.value)).argument == "flag"
