"""Empty cells of tables of classes: graphs and cells have the law of BDeu, by enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from reference_cells import dags
from scipy import stats

import parnidag
from parnidag import Data, EdgePrior, samplers, scores
from parnidag.cells import class_sweep
from parnidag.kernels.random import random_state
from parnidag.samplers.base import Prepared, new_chain
from parnidag.samplers.levels import draw_cells
from parnidag.target import Target

GRAPHS = list(dags(3))
ESS = 2.0


def small_table(empty=((0, 0), (4, 1), (9, 0))):
    rng = np.random.default_rng(5)
    one = rng.integers(0, 2, 12)
    two = np.where(rng.random(12) < 0.75, one, rng.integers(0, 3, 12))
    three = np.where(rng.random(12) < 0.7, two > 0, rng.integers(0, 2, 12))
    table = np.column_stack([one, two, three]).astype(float)
    for place in empty:
        table[place] = np.nan
    return Data(table, kind="discrete")


def chain_of(data, seed, twin=False):
    target = Target.build(data, scores.BDeu(ess=ESS), EdgePrior(h=0.4))
    completed = target.cells.begin(random_state(seed, 1))
    chain = new_chain(target, np.zeros((3, 3), bool), seed, 0, cells=completed)
    samplers.MC3().begin(chain.law, Prepared(), chain, 0)
    if twin:
        completed._recount = lambda: None
    return chain


def exact_law(data):
    """Probabilities of graphs, and of the levels of the first empty cell, over all ways to fill the cells."""
    target = Target.build(data, scores.BDeu(ess=ESS), EdgePrior(h=0.4))
    completed = target.cells.completed()
    law = target.with_cells(completed)
    nodes = np.nonzero(target.cells.codes < 0)[0]
    weights = {}
    for levels in itertools.product(*(range(target.cells.arity[j]) for j in nodes)):
        completed.arrays.classes[:] = levels
        completed.settle()
        for g, graph in enumerate(GRAPHS):
            weights[g, levels] = law.log_posterior(graph)
    top = max(weights.values())
    graphs, cell = np.zeros(len(GRAPHS)), np.zeros(target.cells.arity[nodes[0]])
    for (g, levels), weight in weights.items():
        graphs[g] += np.exp(weight - top)
        cell[levels[0]] += np.exp(weight - top)
    return graphs / graphs.sum(), cell / cell.sum()


def largest_difference(twin=False, sweeps=6000, batches=40):
    """Of shares of graphs and of a cell's levels from the exact ones, in standard errors."""
    data = small_table()
    expected = np.concatenate(exact_law(data))
    chain = chain_of(data, 1, twin)
    number = {graph.tobytes(): k for k, graph in enumerate(GRAPHS)}
    found = np.zeros((batches, expected.size))
    for k in range(sweeps):
        samplers.MC3().advance(chain.law, chain, 5)
        draw_cells(chain.law, chain)
        batch = found[k * batches // sweeps]
        batch[number[np.asarray(chain.graph.position != -1).tobytes()]] += batches / sweeps
        batch[len(GRAPHS) + chain.cells.arrays.classes[0]] += batches / sweeps
    errors = np.maximum(found.std(axis=0, ddof=1), 0.01) / np.sqrt(batches)
    return np.abs((found.mean(axis=0) - expected) / errors).max()


def test_graphs_and_cells_have_their_law():
    assert largest_difference() < 4.2


def test_counts_that_are_never_made_anew_are_noticed():
    assert largest_difference(twin=True) > 6


def test_cells_follow_parents_and_children():
    """One cell's law given a graph, against the score of every way to fill it."""
    data = small_table(empty=((4, 1),))
    graph = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    chain = chain_of(data, 2)
    completed = chain.law.cells.completed()
    law, logs = chain.law.with_cells(completed), []
    for completed.arrays.classes[0] in range(3):
        completed.settle()
        logs.append(law.log_posterior(graph))
    expected, counts = np.exp(logs - np.max(logs)), np.zeros(3)
    parents, degree, rng = np.array([[0], [0], [1]], np.int32), np.array([0, 1, 1]), random_state(3)
    for _ in range(3000):
        chain.cells.draw(0, parents, degree, rng)
        counts[chain.cells.arrays.classes[0]] += 1
    assert stats.chisquare(counts, 3000 * expected / expected.sum()).pvalue > 1e-4


def test_counts_follow_every_change():
    codes, arity = np.random.default_rng(1).integers(0, 3, (4, 50)), np.full(4, 3)
    parents, degree = np.array([[0, 0], [0, 0], [0, 1], [2, 0]], np.int32), np.array([0, 1, 2, 1])
    counts = class_sweep.count_all(codes, arity, np.array([0, 5, 5, 5, 5]), parents, degree)
    key = class_sweep.key_of(codes, arity, parents, degree, 2, 7)
    same = (codes[:2] == codes[:2, [7]]).all(axis=0)
    assert class_sweep.number_of(counts, 2, key + arity[2]) == same.sum()
    assert class_sweep.number_of(counts, 2, key + codes[2, 7]) == (same & (codes[2] == codes[2, 7])).sum()
    assert class_sweep.number_of(counts, 2, 10**9) == 0


def test_a_table_of_classes_with_gaps_needs_no_options():
    rng = np.random.default_rng(2)
    weather = rng.choice(["dry", "wet", "snow"], 200)
    late = (weather != "dry") ^ (rng.random(200) < 0.1)
    table = pd.DataFrame({"weather": weather, "late": late, "coin": rng.random(200) < 0.5})
    table = table.mask(rng.random(table.shape) < 0.15)
    posterior = parnidag.sample(table, draws=60, tune=200, thin=20, chains=2, seed=1, progress=False)
    assert posterior.record.settings["score"]["name"] == "BDeu"
    probabilities = np.asarray(posterior.edge_probabilities)
    assert probabilities[0, 1] + probabilities[1, 0] == pytest.approx(1.0, abs=0.05)
