"""Interventions, contrasts and direct effects against closed forms."""

import numpy as np
import pytest
from test_effects import GRAPH, LINEAR, data_of_covariance, law, true_system, values_of

import parnidag
from parnidag import Data, scores


def only(graph):
    """A prior that leaves this graph alone."""
    n = len(graph)
    named = lambda mask: [(f"X{i}", f"X{j}") for i, j in np.argwhere(mask)]  # noqa: E731
    return parnidag.EdgePrior(required=named(graph), forbidden=named(~graph & ~np.eye(n, dtype=bool)))


@pytest.mark.parametrize("seed", range(20))
def test_joint_interventions_have_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    graph, total, covariance = true_system(rng)
    posterior = parnidag.exact(data_of_covariance(covariance), score=scores.BIC(), prior=only(graph), draws=2, seed=1)
    do = dict(zip(rng.permutation(5)[:2].tolist(), rng.normal(size=2).tolist(), strict=True))
    coefficients = np.eye(5) - np.linalg.inv(total)
    coefficients[:, list(do)] = 0.0  # those that are set follow nobody
    closed = np.array([do.get(k, 0.0) for k in range(5)]) @ np.linalg.inv(np.eye(5) - coefficients)
    outcomes = posterior.intervene({f"X{k}": value for k, value in do.items()})
    assert np.allclose(outcomes.mean, closed, atol=1e-10)
    other = posterior.contrast(do={f"X{k}": value for k, value in do.items()}, versus={})
    assert np.allclose(other.mean, closed, atol=1e-10)


def test_new_rows_have_the_closed_covariance():
    rng = np.random.default_rng(1)
    graph, total, covariance = true_system(rng)
    data = data_of_covariance(covariance, rows=10**7)
    posterior = parnidag.exact(data, score=scores.BIC(), prior=only(graph), draws=20_000, seed=1)
    rows = posterior.contrast(do={}, versus={})
    assert (rows.difference == 0).all()
    root = next(int(j) for j in range(5) if not graph[:, j].any())
    rows = posterior.intervene({f"X{root}": 0.5}).single[0]
    noise = np.diagonal(np.linalg.inv(total).T @ covariance @ np.linalg.inv(total)).copy()
    noise[root] = 0.0
    expected = total.T @ np.diag(noise) @ total
    scale = np.sqrt(np.diagonal(covariance))
    assert np.abs((np.cov(rows.T) - expected) / np.outer(scale, scale)).max() < 6 / np.sqrt(20_000)


def test_regressions_are_centred_on_the_rows_they_use():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 3)) @ np.array([[1, 0.8, 0], [0, 1, 0.5], [0, 0, 1]]) + [3, -2, 7]
    mask = np.zeros((60, 3), bool)
    mask[40:, 1] = True
    values[40:, 1] = rng.normal(5, 1, 20)
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    data = Data(values, interventions=mask)
    posterior = parnidag.exact(data, score=scores.BIC(), prior=only(chain), draws=2, seed=1)
    found = posterior.intervene({"X0": 4.0}).mean
    b, a = np.polyfit(values[:40, 0], values[:40, 1], 1)
    d, c = np.polyfit(values[:, 1], values[:, 2], 1)
    assert np.allclose(found, [4.0, a + b * 4.0, c + d * (a + b * 4.0)], atol=1e-10)
    assert np.allclose(posterior.intervene({"X1": 1.0}).mean, [values[:, 0].mean(), 1.0, c + d], atol=1e-10)


@pytest.mark.parametrize("name", LINEAR)
def test_coefficients_have_the_conjugate_posterior(name):
    score, values = LINEAR[name], values_of(4, rows=20)
    table = parnidag.exact(values, score=score, prior=only(GRAPH), draws=20_000, seed=1).coefficients()
    assert len(table) == GRAPH.sum()
    for row in table.itertuples():
        i, j = int(row.parent[1:]), int(row.child[1:])
        parents = np.flatnonzero(GRAPH[:, j])
        mean, covariance = law(score, values, j, parents)
        k = parents.tolist().index(i)
        sd = np.sqrt(covariance[k, k])
        assert abs(row.mean - mean[k]) < 1e-10
        assert abs(row.sd / sd - 1) < 0.05
        assert row.positive + row.negative == pytest.approx(1.0)
        assert row._6 < mean[k] < row._7


def test_contrasts_of_one_node_are_effects_times_the_change():
    data = parnidag.simulate(nodes=5, edges=6, rows=60, seed=1).values
    posterior = parnidag.sample(data, draws=100, seed=1, progress=False)
    effects = posterior.effects()
    contrast = posterior.contrast(do={"X1": 3.0}, versus={"X1": 1.0})
    for node in ("X0", "X2", "X4"):
        assert np.allclose(contrast.draws(node), 2 * effects.draws("X1", node), atol=1e-10)
        assert contrast.mean[node] == pytest.approx(2 * effects.mean.loc["X1", node], abs=1e-10)
    table = contrast.summary().set_index("node")
    # differences of what does not change are exact zeros, so that their share is that of graphs without a path
    assert table.loc["X0", "zero"] == pytest.approx(1 - effects.probability.loc["X1", "X0"])


def test_values_far_from_the_data_are_noted_and_nonsense_is_refused():
    data = parnidag.simulate(nodes=3, edges=2, rows=60, seed=1).values
    posterior = parnidag.sample(data, draws=50, seed=1, progress=False)
    assert "outside the data" in posterior.intervene({"X1": 99.0}).notes[0]
    assert not posterior.intervene({"X1": 0.0}).notes
    for wrong, message in (
        ({}, "do must say which nodes"),
        ({"Y": 1.0}, "do must be the name of a node, got 'Y'"),
        ({"X1": "high"}, r"do\['X1'\] must be a number"),
        ({"X1": float("nan")}, r"do\['X1'\] must be a number"),
        (["X1"], "do must say which nodes"),
    ):
        with pytest.raises(parnidag.ParnidagError, match=message):
            posterior.intervene(wrong)
    with pytest.raises(parnidag.ParnidagError, match="no stored graphs"):
        parnidag.exact(data).effects()


def test_classes_and_curves_have_no_coefficients():
    values = np.random.default_rng(1).integers(2, size=(50, 3))
    posterior = parnidag.exact(Data(values, kind="discrete"), draws=10, seed=1)
    with pytest.raises(parnidag.ParnidagError, match="coefficients are for linear relations, but columns are classes"):
        posterior.coefficients()
