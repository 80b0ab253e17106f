"""A skeleton given to `sample` says where PARNI looks first, and forbids nothing."""

from __future__ import annotations

import numpy as np
import pytest
from judging import SMALLEST_P, chain_probabilities, smallest_p_value

import parnidag
from parnidag import ParnidagError, samplers


@pytest.fixture(scope="module")
def table():
    return parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values


def quick(data, **options):
    return parnidag.sample(data, progress=False, **{"seed": 1, "draws": 100, **options})


def test_a_skeleton_steers_the_warm_start_and_forbids_nothing(table):
    """With the wrong skeleton the answer stays right, since every other edge remains possible."""
    exact = parnidag.exact(table).edge_probabilities.to_numpy()
    for space in (
        parnidag.space.pc(table, alpha=0.05),
        parnidag.space.pc(table, alpha=0.0),
        np.roll(np.eye(9), 1, axis=1),
    ):
        found = quick(table, space=space, chains=16, draws=500, thin=200)
        assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P
    assert len(found.settings["space"]["edges"]) == 18


def test_a_space_that_is_too_rich_is_refused_before_it_is_built():
    wide = np.random.default_rng(1).normal(size=(60, 40))
    for sampler in (samplers.PARNI(), samplers.OrderMCMC()):
        with pytest.raises(ParnidagError, match=r"space: .* 39 candidate parents"):
            quick(wide, sampler=sampler, space=1 - np.eye(40))


def test_samplers_without_a_space_say_so(table):
    with pytest.raises(ParnidagError, match="space is not used by ADR"):
        quick(table, sampler=samplers.ADR(), space=np.zeros((9, 9)))
