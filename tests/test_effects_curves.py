"""Dose-response curves: splines against regressions written out, chains of them against simulation, and calibration."""

import math

import numpy as np
import pytest
from scipy import stats
from test_effects import covered
from test_interventions_asked import only

import parnidag
from parnidag import Data, scores
from parnidag._util.splines import curve_weights, curves
from parnidag.effects import curves as effect_curves

SCORE = scores.Spline(df=4, g=8.0, g_curve=0.3)
PAIR = np.array([[0, 1], [0, 0]], bool)
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)


def bent_values(n, rows=60, seed=2):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, n))
    for j in range(1, n):
        values[:, j] += np.cos(values[:, j - 1])
    return values * np.array([3.0, 0.2, 40.0])[:n] + [10.0, -1.0, 5.0][:n]


@pytest.mark.parametrize("kind", ["many", "few", "two"])
def test_columns_can_be_had_anywhere(kind):
    x = np.random.default_rng(1).normal(size=200)
    x = {"many": x, "few": np.round(x), "two": (x > 0).astype(float)}[kind]
    knots, weights = curve_weights(x, 4)
    terms = np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0) ** 3 for knot in knots)])
    assert np.allclose(terms @ weights, curves(x, 4), atol=1e-9)
    far = np.array([x.max() + 1, x.max() + 2, x.max() + 3])
    terms = np.column_stack([np.ones(3), far, *(np.maximum(far - knot, 0) ** 3 for knot in knots)])
    assert np.allclose(np.diff(terms @ weights, 2, axis=0), 0, atol=1e-8)  # straight beyond the data


def regression(values, dose, used=slice(None)):
    """Mean and variance of E[X1 | do(X0 = dose)] if X0 → X1, from the rows."""
    unit = values.std(axis=0, ddof=1)
    z = (values - values.mean(axis=0)) / unit
    knots, weights = curve_weights(z[:, 0], 3)

    def basis(x):
        x = np.atleast_1d(x)
        terms = np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0) ** 3 for knot in knots)])
        return np.column_stack([x, terms @ weights])

    x, y = basis(z[used, 0]), z[used, 1]
    centre, middle = x.mean(axis=0), y.mean()
    x, y = x - centre, y - middle
    rows = len(y)
    precision = x.T @ x + np.diag([1 / 8.0] + [1 / 0.3] * 3)
    beta = np.linalg.solve(precision, x.T @ y)
    noise = (y @ y - x.T @ y @ beta) / 2 / (rows / 2 - 1)
    at = basis((dose - values[:, 0].mean()) / unit[0])[0] - centre
    mean, variance = middle + at @ beta, noise * (at @ np.linalg.solve(precision, at) + 1 / rows)
    return values[:, 1].mean() + unit[1] * mean, unit[1] ** 2 * variance


def test_a_curve_has_the_mean_and_variance_of_its_regression():
    values = bent_values(2)
    posterior = parnidag.exact(values, score=SCORE, prior=only(PAIR), draws=4000, seed=1)
    doses = [4.0, 10.0, 13.0, 25.0]
    found = posterior.dose_response("X0", "X1", doses)
    assert found.no_effect == 0
    assert "X0 = 25 lies outside the data" in found.notes[0]
    for place, dose in enumerate(doses):
        mean, variance = regression(values, dose)
        drawn = found.draws()[:, :, place].ravel()
        assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / drawn.size)
        assert abs(drawn.var() / variance - 1) < 0.15


def test_rows_in_which_a_node_was_set_do_not_inform_it():
    values = bent_values(2, rows=90)
    mask = np.zeros((90, 2), bool)
    mask[60:, 1] = True
    values[60:, 1] = np.random.default_rng(1).normal(3.0, 1.0, 30)
    data = Data(values, interventions=mask)
    posterior = parnidag.exact(data, score=SCORE, prior=only(PAIR), draws=4000, seed=1)
    drawn = posterior.dose_response("X0", "X1", [12.0]).draws().ravel()
    mean, variance = regression(values, 12.0, slice(60))
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / drawn.size)
    wrong, _ = regression(values, 12.0)
    assert abs(drawn.mean() - wrong) > 8 * math.sqrt(variance / drawn.size)


def test_curves_of_curves_are_averaged_over_the_noise_between(monkeypatch):
    """E[X2 | do(X0)] is the mean of a curve, not the curve of a mean: many more simulated rows say the same."""
    posterior = parnidag.exact(bent_values(3, rows=200), score=SCORE, prior=only(CHAIN), draws=100, seed=1)
    found = posterior.contrast(do={"X0": 12.0}, versus={"X0": 9.0})
    monkeypatch.setattr(effect_curves, "PAIRS", 4000)
    many = posterior.contrast(do={"X0": 12.0}, versus={"X0": 9.0})
    unit = many.draws("X2").std()
    assert np.allclose(found.draws("X1"), many.draws("X1"), atol=1e-10)  # one curve alone has no error
    assert np.abs(found.draws("X2") - many.draws("X2")).max() < 0.5 * unit
    assert abs(found.mean["X2"] - many.mean["X2"]) < 0.1 * unit
    assert np.allclose(many.draws("X0"), 3.0, atol=1e-12)


def test_nodes_that_do_not_follow_differ_by_nothing():
    posterior = parnidag.exact(bent_values(3), score=SCORE, draws=300, seed=1)
    contrast = posterior.contrast(do={"X1": 0.0}, versus={"X1": -2.0})
    table = contrast.summary().set_index("node")
    for node in ("X0", "X2"):
        assert table.loc[node, "zero"] == pytest.approx(1 - posterior.path_probabilities.loc["X1", node])


def test_linear_relations_give_straight_lines():
    data = parnidag.simulate(nodes=4, edges=5, rows=80, seed=1).values
    posterior = parnidag.sample(data, draws=100, seed=1, progress=False)
    found = posterior.dose_response("X1", "X2")
    assert len(found.values) == 25
    assert (found.values[0], found.values[-1]) == pytest.approx((data[:, 1].min(), data[:, 1].max()), rel=1e-5)
    slope = posterior.effects().mean.loc["X1", "X2"]
    assert np.allclose(np.diff(found.mean) / np.diff(found.values), slope)
    assert found.no_effect == pytest.approx(1 - posterior.path_probabilities.loc["X1", "X2"], abs=1e-12)


SETS, DRAWS, ROWS = 250, 100, 40


def curve_from_prior(rng):
    """Two columns, standardised as the score has them, and the mean of the second where the first is 1."""
    x = rng.normal(size=ROWS)
    x = (x - x.mean()) / x.std(ddof=1)
    knots, weights = curve_weights(x, 3)
    beta = rng.normal(size=4) * np.sqrt([8.0, 0.3, 0.3, 0.3])

    def curve(at):
        terms = np.column_stack([np.ones_like(at), at, *(np.maximum(at - knot, 0) ** 3 for knot in knots)])
        return np.column_stack([at, terms @ weights]) @ beta

    y = curve(x) + rng.normal(size=ROWS)
    return np.column_stack([x, y]), float((curve(np.array([1.0])) - curve(np.array([-1.0])))[0])


@pytest.mark.parametrize("right", [True, False], ids=["drawn", "means alone"])
def test_bands_cover_what_they_say(right):
    """Given the graph; the twin that takes the mean of the curve for the curve fails."""
    rng, found = np.random.default_rng(4), []
    for repeat in range(SETS):
        values, truth = curve_from_prior(rng)
        posterior = parnidag.exact(values, score=SCORE, prior=only(PAIR), draws=DRAWS, seed=repeat)
        drawn = posterior.contrast(do={"X0": 1.0}, versus={"X0": -1.0}).draws("X1").ravel()
        drawn = drawn if right else np.full(DRAWS, drawn.mean())
        found.append(((drawn < truth).sum() + rng.random()) / (DRAWS + 1))
    p = min(covered(np.array(found)), stats.kstest(found, "uniform").pvalue)
    assert p > 1e-3 if right else p < 1e-4


def test_mistakes_are_named(tmp_path):
    posterior = parnidag.exact(bent_values(3), score=SCORE, draws=20, seed=1)
    for arguments, message in (
        (("X0", "X0"), "effect must be another node than cause"),
        (("X0", "Y"), "effect must be the name of a node"),
        (("X0", "X1", ["a"]), "values must be a list of numbers"),
        (("X0", "X1", []), "values must be a list of numbers"),
    ):
        with pytest.raises(parnidag.ParnidagError, match=message):
            posterior.dose_response(*arguments)
    with pytest.raises(parnidag.ParnidagError, match="relations are curved here: dose_response"):
        posterior.effects()
    again = parnidag.load(posterior.save(tmp_path / "p.nc"))
    with pytest.raises(parnidag.ParnidagError, match="pass the table of the run as data="):
        again.dose_response("X0", "X1")
    same = again.dose_response("X0", "X1", data=bent_values(3))
    assert same.summary().equals(posterior.dose_response("X0", "X1").summary())
    classes = parnidag.exact(Data(np.random.default_rng(1).integers(2, size=(40, 2)), kind="discrete"), draws=5, seed=1)
    with pytest.raises(parnidag.ParnidagError, match="intervene sets a class to each of its levels"):
        classes.dose_response("X0", "X1")
