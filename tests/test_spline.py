"""The curved columns of the spline score, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from test_scores import covariance_score, example, standardised, target_of

import parnidag
from parnidag import scores
from parnidag.scores.spline import curves


def test_curved_columns_are_orthogonal_to_a_line_and_to_each_other():
    x = standardised(np.random.default_rng(1).gamma(2.0, size=(200, 1)))[:, 0]
    found = curves(x, 4)
    assert found.T @ found == pytest.approx(199 * np.eye(4), abs=1e-8)
    assert found.T @ np.column_stack([np.ones(200), x]) == pytest.approx(np.zeros((4, 2)), abs=1e-8)


def test_two_values_have_no_bends():
    x = standardised(np.repeat([0.0, 1.0], 20)[:, None])[:, 0]
    assert not curves(x, 3).any()


def test_spline_score_is_a_regression_on_its_columns():
    values = example()
    z = standardised(values)
    score = scores.Spline(df=3, g=5.0, g_curve=0.5)
    design = np.column_stack([np.column_stack([z[:, k], curves(z[:, k], 2)]) for k in (0, 4)])
    slab = np.diag(np.tile([5.0, 0.5, 0.5], 2))
    expected = covariance_score(z[:, 2], np.eye(len(z)) + design @ slab @ design.T)
    assert target_of(values, score).local(2, [0, 4]) == pytest.approx(expected, abs=1e-7)


def test_curved_relations_tell_cause_from_effect():
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    values = np.column_stack([x, np.tanh(2 * x) + 0.3 * x**2 + 0.3 * rng.normal(size=300)])
    found = parnidag.exact(values, score=scores.Spline()).edge_probabilities
    assert found.iloc[0, 1] > 0.99
    u_shaped = np.column_stack([x, x**2 + 0.2 * rng.normal(size=300)])
    straight = parnidag.exact(u_shaped, score=scores.Gaussian()).edge_probabilities
    curved = parnidag.exact(u_shaped, score=scores.Spline()).edge_probabilities
    assert straight.values.sum() < 0.5
    assert curved.iloc[0, 1] > 0.99
