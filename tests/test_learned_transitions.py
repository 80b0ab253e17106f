"""Chains that learn values leave the joint law of graph and values exactly invariant at n = 3; broken twins do not."""

from __future__ import annotations

import functools

import pytest
from plain_python import script_figures

GRAPHS, VALUES = 6, {"both": 6, "odds": 3}
WAYS = 10
"""Of an order and a graph that agree with each other."""
CASES = [
    *((sampler, "both") for sampler in ("MC3", "ADR", "REV", "moves", "PARNI")),
    *((sampler, "odds") for sampler in ("printed", "order", "partition")),
]
figures = functools.partial(script_figures, "transitions_levels.py")


@pytest.mark.parametrize(("sampler", "learned"), CASES)
def test_the_joint_law_is_the_only_one_that_stays(sampler, learned):
    found = figures(sampler, learned)
    assert found["graphs"] == VALUES[learned] * (WAYS if sampler == "order" else GRAPHS)
    assert found["rows"] < 1e-12
    assert found["invariance"] < 1e-12
    assert found["total_variation"] < 1e-10
    assert found["moves"] > 0.3


def test_rungs_that_exchange_values_with_their_graphs_keep_both_laws():
    found = figures("exchange", "odds")
    assert found["graphs"] == (GRAPHS * VALUES["odds"]) ** 2
    assert found["rows"] < 1e-12
    assert found["invariance"] < 1e-12
    assert found["reversibility"] < 1e-12
    assert found["moves"] > 0.3


@pytest.mark.parametrize(
    ("sampler", "twin"),
    [
        ("REV", "tables lag behind unnoticed"),
        ("moves", "tables lag behind unnoticed"),
        ("ADR", "stale scores"),
        ("ADR", "edges forgotten"),
        ("exchange", "levels exchanged for nothing"),
    ],
)
def test_broken_twin_is_caught(sampler, twin):
    found = figures(sampler, "odds", twin)
    assert found["rows"] < 1e-12
    assert found["invariance"] > 1e-3
