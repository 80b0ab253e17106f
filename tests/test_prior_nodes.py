"""Nodes by name and by index, as a prior meets them."""

from __future__ import annotations

import numpy as np
import pytest

from parnidag.errors import PriorError
from parnidag.kernels.problem import FORBIDDEN
from parnidag.priors.edge_prior import EdgePrior

NAMES = ["season", "rain", "sprinkler", "wet"]


def refusal(names=NAMES, **arguments):
    with pytest.raises(PriorError) as caught:
        EdgePrior(**arguments).resolve(names)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("forbidden", [("sesaon", "wet")]),
        ("required", [("wet", "sesaon")]),
        ("tiers", [["sesaon"]]),
        ("log_odds", {("sesaon", "wet"): 1.0}),
    ],
)
def test_unknown_names_come_with_the_closest_one(argument, value):
    message = refusal(**{argument: value})
    assert message.startswith(f"{argument}: unknown node 'sesaon'")
    assert "did you mean 'season'?" in message


def test_names_close_to_nothing_come_with_the_known_ones():
    assert "known are season, rain, sprinkler, wet" in refusal(forbidden=[("xyzzy", "wet")])
    many = [f"N{j}" for j in range(30)]
    assert "N4 and 25 more" in refusal(many, forbidden=[("xyzzy", "N1")])


@pytest.mark.parametrize(
    ("argument", "value"),
    [("forbidden", [(0, 4)]), ("required", [(4, 0)]), ("tiers", [[4]]), ("log_odds", {(4, 0): 1.0})],
)
def test_indices_out_of_range(argument, value):
    message = refusal(**{argument: value})
    assert message.startswith(f"{argument}: index 4 is out of range")
    assert "4 nodes" in message


@pytest.mark.parametrize(
    ("argument", "value"),
    [("forbidden", np.eye(4, k=1, dtype=bool)), ("required", np.eye(4, k=1, dtype=bool)), ("log_odds", np.eye(4, k=1))],
)
def test_arrays_of_another_size(argument, value):
    message = refusal(["a", "b", "c"], **{argument: value})
    assert message.startswith(f"{argument}: the array is 4 × 4, but there are 3 nodes")


@pytest.mark.parametrize("argument", ["forbidden", "required"])
def test_self_loops_by_name_and_index(argument):
    assert "leads from rain to itself" in refusal(**{argument: [("rain", 1)]})


def test_log_odds_given_twice():
    assert "rain → wet is given twice" in refusal(log_odds={("rain", "wet"): 1.0, (1, 3): 2.0})


def test_node_in_two_tiers_by_name_and_index():
    assert "'rain' is listed twice" in refusal(tiers=[["rain"], [1]])


@pytest.mark.parametrize("names", [[], ["a"]])
def test_too_few_nodes(names):
    assert "at least 2 nodes" in refusal(names)


def test_integers_are_indices_even_if_names_look_like_numbers():
    status = EdgePrior(forbidden=[(0, "0")]).resolve(["2", "1", "0"]).status
    assert status[0, 2] == FORBIDDEN
    assert np.count_nonzero(status == FORBIDDEN) == 4
