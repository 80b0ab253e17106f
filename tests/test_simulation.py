from __future__ import annotations

import csv

import numpy as np
import pytest
from reference import is_acyclic

from parnidag._util.files import write_csv
from parnidag.errors import ParnidagError
from parnidag.simulation import example_network, simulate


@pytest.mark.parametrize("edges", [0, 1, 7, 45])
@pytest.mark.parametrize("seed", range(5))
def test_exactly_as_many_edges_as_asked_and_no_cycle(edges, seed):
    simulation = simulate(nodes=10, edges=edges, rows=3, seed=seed)
    assert simulation.adjacency.sum() == edges
    assert is_acyclic(simulation.adjacency)
    assert np.array_equal(simulation.weights != 0, simulation.adjacency)
    assert len(simulation.edges) == edges


def test_default_number_of_edges():
    assert simulate(rows=2, seed=0).adjacency.sum() == 30
    assert simulate(nodes=2, rows=2, seed=0).adjacency.sum() == 1  # 3 do not fit
    assert simulate(nodes=1, rows=2, seed=0).adjacency.sum() == 0


def test_every_ordered_pair_is_equally_likely():
    trials, nodes, edges = 3000, 4, 2
    counts = sum(simulate(nodes, edges, 1, seed).adjacency.astype(int) for seed in range(trials))
    off_diagonal = counts[~np.eye(nodes, dtype=bool)]
    p = edges / (nodes * (nodes - 1))
    # 12 cells, so a Bonferroni-corrected 4.5 standard deviations has a false alarm rate below 1e-4.
    assert np.abs(off_diagonal - trials * p).max() < 4.5 * np.sqrt(trials * p * (1 - p))
    assert counts.trace() == 0


def test_seed_repeats_and_the_graph_does_not_depend_on_rows():
    first, again, longer = simulate(rows=10, seed=4), simulate(rows=10, seed=4), simulate(rows=20, seed=4)
    assert np.array_equal(first.values, again.values)
    assert np.array_equal(first.weights, longer.weights)
    assert not np.array_equal(first.weights, simulate(rows=10, seed=5).weights)


def test_fresh_seed_is_kept_in_the_result():
    fresh = simulate(nodes=5, rows=10)
    assert np.array_equal(fresh.values, simulate(nodes=5, rows=10, seed=fresh.seed).values)
    assert fresh.seed != simulate(nodes=5, rows=10).seed


@pytest.mark.parametrize("edges", [30, 190])
def test_population_variances_are_one(edges):
    simulation = simulate(nodes=20, edges=edges, rows=1, seed=7)
    inverse = np.linalg.inv(np.eye(20) - simulation.weights)
    covariance = inverse.T @ np.diag(simulation.noise**2) @ inverse
    np.testing.assert_allclose(np.diag(covariance), 1.0, rtol=1e-9)


def test_data_follow_the_stated_equations():
    simulation = simulate(nodes=8, edges=12, rows=20_000, seed=3)
    residuals = simulation.values - simulation.values @ simulation.weights
    # A variance estimate from N normal rows has relative standard error √(2/N); 8 of them at 4.5 deviations.
    variance = residuals.var(axis=0) / simulation.noise**2
    assert np.abs(variance - 1).max() < 4.5 * np.sqrt(2 / 20_000)
    correlations = np.corrcoef(residuals.T) - np.eye(8)
    assert np.abs(correlations).max() < 4.5 / np.sqrt(20_000)


def test_weights_respect_the_range_before_the_division():
    simulation = simulate(nodes=15, edges=40, rows=1, seed=2, weights=(0.5, 0.6), noise=2.0)
    raw = simulation.weights * 2.0 / simulation.noise
    sizes = np.abs(raw[simulation.adjacency])
    assert sizes.min() >= 0.5 - 1e-12
    assert sizes.max() <= 0.6 + 1e-12
    assert (raw < 0).any()
    assert (raw > 0).any()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"nodes": 0}, "nodes must be"),
        ({"nodes": 2.5}, "nodes must be"),
        ({"nodes": True}, "nodes must be"),
        ({"rows": 0}, "rows must be"),
        ({"edges": -1}, "edges must be"),
        ({"nodes": 4, "edges": 7}, "at most 6"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "one"}, "seed must be"),
        ({"noise": 0.0}, "noise must be"),
        ({"noise": float("nan")}, "noise must be"),
        ({"weights": (0.0, 1.0)}, "weights"),
        ({"weights": (2.0, 1.0)}, "weights"),
        ({"weights": 1.0}, "weights"),
        ({"weights": (1.0, float("inf"))}, "weights"),
    ],
)
def test_mistakes_are_named(arguments, named):
    with pytest.raises(ParnidagError, match=named):
        simulate(**arguments)


def test_example_network_is_the_documented_one():
    garden = example_network()
    assert garden.values.shape == (400, 20)
    assert len(garden.edges) == 28
    assert is_acyclic(garden.adjacency)
    assert ("altitude", "temperature") in garden.edges
    assert ("temperature", "altitude") not in garden.edges
    assert garden.weights[garden.names.index("altitude"), garden.names.index("temperature")] < 0
    assert np.array_equal(garden.values, example_network().values)
    assert example_network(rows=50, seed=1).values.shape == (50, 20)


def test_csv_reads_back_exactly(tmp_path):
    path = tmp_path / "table.csv"
    values = np.array([[0.1, 1 / 3], [1e-300, -2.5e17]])
    write_csv(path, ["plain", 'a "quoted", name'], values)
    with path.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.reader(handle))
    assert rows[0] == ["plain", 'a "quoted", name']
    assert np.array_equal(np.array(rows[1:], dtype=float), values)
