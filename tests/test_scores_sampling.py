"""Samplers under every score: exact at three nodes, against enumeration at four, and in use at fourteen."""

from __future__ import annotations

import dags
import numpy as np
import pandas as pd
import pytest
from judging import FlatScore
from plain_python import script_figures
from score_cases import SCORES, data_for, values_for

import parnidag
from parnidag import EdgePrior, samplers, scores
from parnidag.data import Data
from parnidag.scores.base import Score
from parnidag.target import Target


@pytest.mark.parametrize("case", [*SCORES, "PythonScore", "BGe, interventions"])
def test_posterior_is_invariant_over_all_graphs_of_three_nodes(case):
    for found in script_figures("transitions_scores.py")[case].values():
        assert found["graphs"] == 25
        assert max(found["rows"], found["invariance"], found["reversibility"]) < 1e-12
        assert found["total_variation"] < 1e-10
        assert found["moves"] > 0.05


@pytest.mark.parametrize("name", SCORES)
def test_one_sampler_agrees_with_enumeration(name):
    """The exact solver reads tables, which are filled in another way than a chain's scores are computed."""
    values, score = data_for(name, values_for(name, 4)), SCORES[name]
    graphs = dags.all_dags(4)
    target = Target.build(values, score, EdgePrior())
    log_weights = np.array([target.log_posterior(graph) for graph in graphs])
    weights = np.exp(log_weights - log_weights.max())
    expected = np.einsum("g,gij->ij", weights / weights.sum(), graphs)
    solved = parnidag.exact(values, score=score).edge_probabilities.values
    assert solved == pytest.approx(expected, abs=1e-9)
    posterior = parnidag.sample(values, score=score, draws=1000, thin=100, chains=4, seed=2, progress=False)
    errors = posterior.summary().set_index(["parent", "child"])
    names = list(posterior.nodes)
    for i, j in np.argwhere(~np.eye(4, dtype=bool)):
        found = posterior.edge_probabilities.values[i, j]
        error = errors.loc[(names[i], names[j]), "mcse"] if (names[i], names[j]) in errors.index else 0.0
        assert abs(found - expected[i, j]) < 5 * (error or 0.0) + 2e-3


@pytest.mark.parametrize("name", SCORES)
def test_values_that_were_set_say_nothing_about_parents(name):
    """Exchanged among the rows in which a node was set, they are another experiment with the same columns."""
    values = values_for(name, 4, rows=60)
    mask = np.zeros(values.shape, bool)
    mask[:30, 2] = True
    moved = values.copy()
    moved[:30, 2] = np.sort(values[:30, 2])
    before, after, unaware, unaware_after = (
        Target.build(data_for(name, table, interventions=where), SCORES[name], EdgePrior())
        for where in (mask, None)
        for table in (values, moved)
    )
    for parents in ([], [0], [1, 3], [0, 1, 3]):
        assert after.local(2, parents) == pytest.approx(before.local(2, parents), rel=1e-9)
    assert abs(after.local(0, [2]) - before.local(0, [2])) > 1e-3
    assert abs(unaware_after.local(2, [0]) - unaware.local(2, [0])) > 1e-3


def test_a_score_cannot_overlook_interventions():
    with pytest.raises(TypeError, match="must define by_pattern"):
        type("Forgetful", (Score,), {"table": lambda self, data: None})
    with pytest.raises(TypeError, match="abstract"):
        type("Empty", (Score,), {})()
    values = values_for("", 4)
    Target.build(Data(values), FlatScore(), EdgePrior())
    with pytest.raises(parnidag.ParnidagError, match="not told of interventions"):
        Target.build(Data(values, interventions={0: "X1"}), FlatScore(), EdgePrior())


def random_classes(n, rows, seed):
    """Text in columns of two to four levels, each depending on the one before."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, rows)]
    for k in range(1, n):
        levels = 2 + k % 3
        columns.append(np.where(rng.random(rows) < 0.5, columns[-1] % levels, rng.integers(0, levels, rows)))
    return pd.DataFrame({f"v{k}": [f"level {value}" for value in column] for k, column in enumerate(columns)})


@pytest.mark.parametrize("sampler", [samplers.PartitionMCMC(), samplers.REV(), samplers.PARNI(moves="paper")])
def test_other_samplers_take_classes(sampler):
    table = random_classes(5, 60, 3)
    expected = parnidag.exact(table).edge_probabilities.values
    found = parnidag.sample(table, sampler=sampler, draws=1000, seed=4, progress=False)
    assert found.settings["score"] == {"name": "BDeu", "ess": 1.0}
    assert found.edge_probabilities.values == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("sampler", [samplers.PARNI(), samplers.OrderMCMC(), samplers.IterativeMCMC()])
def test_larger_tables_of_classes_begin_with_a_skeleton(sampler):
    table = random_classes(14, 500, 5)
    found = parnidag.sample(table, sampler=sampler, draws=50, seed=4, progress=False)
    together = found.edge_probabilities.values + found.edge_probabilities.values.T
    assert np.diag(together, 1).min() > 0.9


# where the search space is found rather than given


def path_with_interventions(n=14, rows=420, seed=5):
    """A path 0 → 1 → …, each node of which was set in rows of its own."""
    rng = np.random.default_rng(seed)
    mask = np.repeat(np.eye(n, dtype=bool), rows // n, axis=0)
    values = rng.normal(size=(rows, n))
    for j in range(1, n):
        values[:, j] += np.where(mask[:, j], 0.0, 0.8 * values[:, j - 1])
    return values, mask


@pytest.mark.parametrize("sampler", [samplers.PARNI(), samplers.PartitionMCMC()])
def test_interventions_direct_a_path_of_many_nodes(sampler):
    """A path has fourteen directions without colliders, and only what was set tells them apart."""
    values, mask = path_with_interventions()
    data, score = Data(values, interventions=mask), scores.BGe(standardise=False)
    options = {"score": score, "sampler": sampler, "draws": 50, "chains": 2, "seed": 4, "progress": False}
    found = parnidag.sample(data, **options)
    probabilities = found.edge_probabilities.values
    assert np.diag(probabilities, 1).min() > 0.95
    assert (probabilities - np.eye(14, k=1)).max() < 0.5  # and no other edge is likely
    target = Target.build(data, score, EdgePrior())
    assert found.log_posterior[1, -1] == pytest.approx(target.log_posterior(found.graph_at(1, 49)), rel=1e-12)
    forgotten = parnidag.sample(values, **options).edge_probabilities.values
    assert (np.diag(forgotten, 1) + np.diag(forgotten, -1)).min() > 0.95
    assert np.diag(forgotten, 1).min() < 0.5


@pytest.mark.parametrize("sampler", [samplers.PARNI(), samplers.OrderMCMC()])
def test_curves_are_found_among_many_nodes(sampler):
    """Every other node is the square of the one before it, which no test of linear relations could see."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=(250, 14))
    values[:, 1::2] = values[:, ::2] ** 2 + 0.4 * values[:, 1::2]
    options = {"sampler": sampler, "draws": 50, "chains": 2, "seed": 4, "progress": False}
    curved = parnidag.sample(values, score=scores.Spline(), **options).edge_probabilities.values
    straight = parnidag.sample(values, score=scores.Gaussian(), **options).edge_probabilities.values
    assert np.diag(curved, 1)[::2].min() > 0.95
    assert (curved > 0.5).sum() == 7
    assert np.diag(straight, 1)[::2].mean() < 0.3
