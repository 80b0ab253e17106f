"""Every kernel leaves the posterior exactly invariant at n = 3, and the misprinted variants do not."""

from __future__ import annotations

import functools

import pytest
from plain_python import script_figures

KERNELS = ("MC3", "ADR", "PARNI gibbs", "PARNI printed")
NUMBER_OF_GRAPHS = {"free": 25, "constrained": 6, "one parent": 16, "regulators": 17}


figures = functools.partial(script_figures, "transitions.py")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prior", NUMBER_OF_GRAPHS)
def test_kernel_leaves_the_posterior_invariant(kernel, prior):
    found = figures(kernel, prior)
    assert found["graphs"] == NUMBER_OF_GRAPHS[prior]
    assert found["rows"] < 1e-12
    assert found["invariance"] < 1e-12
    assert found["moves"] > 0.05  # a kernel that never moves is invariant too


def test_metropolised_gibbs_moves_more_than_plain_gibbs():
    """Both are exact; moving more in every direction is why the Metropolised one was chosen (Peskun's order)."""
    chosen, plain = figures("PARNI gibbs", "free"), figures("PARNI gibbs", "free", "plain Gibbs")
    assert plain["invariance"] < 1e-12
    assert chosen["moves"] > 1.2 * plain["moves"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_that_forgets_what_children_weigh_is_caught(kernel):
    found = figures(kernel, "regulators", "children forgotten")
    assert found["rows"] < 1e-12
    assert found["invariance"] > 1e-3


@pytest.mark.parametrize("twin", ["equation 7 as printed", "phantom states", "fixed order"])
def test_misprinted_variant_is_caught(twin):
    found = figures("PARNI printed", "free", twin)
    assert found["rows"] < 1e-12
    assert found["invariance"] > 1e-4
    assert found["total_variation"] > 1e-3
