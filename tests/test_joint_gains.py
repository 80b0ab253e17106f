"""Parents that explain a node only together: what sets of them gain, and that chains find them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag import EdgePrior
from parnidag.data.table import as_data
from parnidag.kernels.joint_gains import binomials
from parnidag.samplers import PARNI
from parnidag.samplers.parni import start
from parnidag.scores import BDeu, Gaussian
from parnidag.target import Target


def parity(nodes, parents=3, levels=2, rows=1000, seed=1):
    """Independent columns, of which the last is mostly the sum of the first ones, modulo their levels."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, levels, (rows, nodes))
    noise = rng.random(rows) < 0.1
    table[:, -1] = np.where(noise, table[:, -1], table[:, :parents].sum(axis=1) % levels)
    return pd.DataFrame(table.astype(str), columns=[f"x{j}" for j in range(nodes)])


def target_of(table, score=None, **prior):
    return Target.build(as_data(table), BDeu() if score is None else score, EdgePrior(**prior))


def slow_gains(target, largest):
    """The definition, set by set."""
    n = target.n_nodes
    gains = np.full((n, n), -np.inf)
    for j in range(n):
        required = np.flatnonzero(target.required[:, j]).tolist()
        free = np.flatnonzero(target.problem.status[:, j] == 1).tolist()
        scores = {
            members: target.local(j, [*required, *members])
            if len(required) + len(members) <= target.max_parents
            else -np.inf
            for size in range(largest + 1)
            for members in combinations(free, size)
        }
        for members, score in scores.items():
            below = [scores[part] for size in range(len(members)) for part in combinations(members, size)]
            for i in members:
                gains[i, j] = max(gains[i, j], score - max(below))
    return gains


@pytest.mark.parametrize(
    "prior",
    [
        {},
        {"forbidden": [("x0", "x5"), ("x3", "x2")], "required": [("x1", "x6")]},
        {"max_parents": 2, "required": [("x1", "x6")]},
    ],
)
def test_gains_of_sets_are_what_they_are_defined_to_be(prior):
    target = target_of(parity(7, rows=200), **prior)
    assert target.largest_joint == 3
    np.testing.assert_allclose(target.gains, slow_gains(target, 3), rtol=1e-9, atol=1e-9)


def test_of_a_linear_score_only_single_edges_are_looked_at():
    target = target_of(parnidag.simulate(nodes=6, edges=6, rows=50, seed=1).values, Gaussian())
    assert target.largest_joint == 1
    np.testing.assert_allclose(target.gains, slow_gains(target, 1), rtol=1e-9, atol=1e-9)


def test_as_many_together_as_are_soon_done():
    sizes = {nodes: target_of(parity(nodes, rows=50)).largest_joint for nodes in (5, 20, 28, 50, 200, 202)}
    assert sizes == {5: 2, 20: 5, 28: 4, 50: 3, 200: 2, 202: 1}
    assert binomials(4, 2).tolist() == [[1, 0, 0], [1, 1, 0], [1, 2, 1], [1, 3, 3], [1, 4, 6]]


@pytest.mark.parametrize(("parents", "levels"), [(3, 2), (2, 3)])
def test_chains_find_what_only_sets_explain(parents, levels, monkeypatch):
    table = parity(18, parents, levels)
    family = [*range(parents), 17]

    def adjacent():
        found = parnidag.sample(table, sampler=PARNI(), draws=200, thin=100, seed=1, progress=False)
        probable = np.asarray(found.edge_probabilities)
        return (probable + probable.T)[np.ix_(family, family)].sum() / 2

    assert adjacent() > parents - 0.01  # each of them may be the child
    monkeypatch.setattr(BDeu, "joint", False)
    monkeypatch.setattr(start, "annealed", lambda target, tables, graph, seed, chain: graph)  # which may find it too
    assert adjacent() < 0.2


def test_they_have_the_probabilities_of_the_exact_sum():
    table = parity(14, 4, rows=500)
    chains = parnidag.sample(table, sampler=PARNI(), draws=500, seed=1, progress=False)
    truth = np.asarray(parnidag.exact(table).edge_probabilities)
    assert np.abs(np.asarray(chains.edge_probabilities) - truth).max() < 0.03
