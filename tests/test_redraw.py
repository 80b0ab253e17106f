"""Graphs drawn anew from all there are: the law of graph and cells, without cells that of exact sums."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cells_model import ALPHA_MU, chain_of, graph_of, prior_table, target_of
from test_cells_law import GRAPHS, exact_shares, number_target

import parnidag
from parnidag import samplers
from parnidag.cells.columns import plain_number
from parnidag.cells.gaussian import GaussianCells
from parnidag.errors import ParnidagError
from parnidag.kernels.problem import FREE
from parnidag.priors.odds import Beta
from parnidag.samplers.base import Prepared
from parnidag.samplers.levels import MY_TURN, draw_cells
from parnidag.samplers.redraw import is_quick
from parnidag.scores import BGe
from parnidag.tables.all_sets import all_local_scores
from parnidag.target import Target

REDRAW = samplers.Redraw()


def distances(sweeps=6000, batches=40, forgets_cells=False):
    """How far the shares of all graphs of three nodes are from quadrature over the empty cell, in standard errors."""
    z = prior_table(np.random.default_rng(11), GRAPHS[-1], rows=4) * 1.5 + 2.0
    target = number_target(z)
    chain = chain_of(target, 3)
    REDRAW.begin(chain.law, Prepared(), chain, 0)
    if forgets_cells:
        chain.cells.arrays.latent[:] = 8.0
        chain.cells.settle()
    number = {graph.tobytes(): k for k, graph in enumerate(GRAPHS)}
    counts = np.zeros((batches, len(GRAPHS)))
    for k in range(sweeps):
        REDRAW.advance(chain.law, chain, 1)
        counts[k * batches // sweeps, number[graph_of(chain).tobytes()]] += 1
        if not forgets_cells:
            draw_cells(chain.law, chain)
    shares = counts / counts.sum(axis=1, keepdims=True)
    errors = np.maximum(shares.std(axis=0, ddof=1), 0.01) / np.sqrt(batches)
    return np.abs((shares.mean(axis=0) - exact_shares(z)) / errors).max()


def test_graphs_have_their_posterior_with_the_cell_averaged_over():
    assert distances() < 4.2


def test_cells_that_are_never_drawn_anew_are_noticed():
    assert distances(3000, forgets_cells=True) > 6


def some_numbers(rows=40, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    x[:, 1] += 0.5 * x[:, 0]
    x[:, 3] += 0.4 * x[:, 1] - 0.4 * x[:, 2]
    return x


@pytest.mark.parametrize("prior", [None, parnidag.EdgePrior(h=Beta(1, 3), required=[(0, 1)], max_parents=2)])
def test_without_cells_its_law_is_that_of_exact_sums(prior):
    """Learned values are drawn given the graph and the graph given these."""
    table = some_numbers()
    given = {"prior": prior, "seed": 2, "progress": False}
    found = parnidag.sample(table, sampler=REDRAW, draws=800, **given)
    truth = np.asarray(parnidag.exact(table, prior=prior).edge_probabilities)
    claimed = found.summary()["mcse"].max()
    assert np.abs(np.asarray(found.edge_probabilities) - truth).max() < 5 * claimed < 0.05
    assert found.diagnostics().converged


def test_only_a_chain_that_has_a_target_of_its_own_writes_over_its_scores():
    target = Target.build(parnidag.Data(some_numbers()), BGe(), parnidag.EdgePrior())
    for own in (False, True):
        asked = replace(target, redrawn=own)
        first, second = all_local_scores(asked), all_local_scores(asked)
        np.testing.assert_array_equal(first, second)
        assert np.shares_memory(first, second) == own


def mixed_table(rows=80, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    table = {name: x[:, k] for k, name in enumerate("abc")} | {"d": np.where(x[:, 3] + x[:, 2] > 0.3, "yes", "no")}
    return parnidag.Data(pd.DataFrame({**table, "a": np.where(rng.random(rows) < 0.1, np.nan, x[:, 0])}))


def test_it_is_the_default_for_few_columns_with_cells_and_agrees_with_single_edges():
    data = mixed_table()
    found = parnidag.sample(data, seed=1, progress=False)
    assert found.settings["sampler"]["name"] == "Redraw"
    assert found.diagnostics().converged
    other = parnidag.sample(data, sampler=samplers.ADR(), draws=500, seed=2, progress=False)
    difference = np.abs(np.asarray(found.edge_probabilities) - np.asarray(other.edge_probabilities)).max()
    assert difference < 0.06
    thinned = parnidag.sample(data, thin=200, draws=20, seed=1, progress=False)
    assert thinned.settings["sampler"]["name"] == "PARNI"  # counts of iterations are meant for it


@pytest.mark.parametrize("pays", [True, False])
def test_a_chain_that_fails_leaves_the_turn_to_others(monkeypatch, pays):
    def advance(self, target, chain, steps):
        assert MY_TURN.locked() != pays
        raise ParnidagError("no step today")

    monkeypatch.setattr(samplers.Redraw, "works_long", lambda self, target: pays)
    monkeypatch.setattr(samplers.Redraw, "advance", advance)
    with pytest.raises(ParnidagError, match="no step today"):
        parnidag.sample(some_numbers(), sampler=REDRAW, draws=5, tune=5, chains=1, progress=False)
    assert not MY_TURN.locked()


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    data, given = mixed_table(), {"seed": 4, "progress": False}
    path = tmp_path / "run.ckpt"
    parnidag.sample(data, draws=30, tune=20, sampler=REDRAW, checkpoint=path, **given)
    longer = parnidag.sample(data, draws=60, tune=20, sampler=REDRAW, checkpoint=path, **given)
    at_once = parnidag.sample(data, draws=60, tune=20, sampler=REDRAW, **given)
    np.testing.assert_array_equal(longer.graphs, at_once.graphs)
    np.testing.assert_array_equal(longer.log_posterior, at_once.log_posterior)


def test_many_columns_are_refused_and_left_to_parni():
    table = np.random.default_rng(1).normal(size=(30, 19))
    with pytest.raises(ParnidagError, match="at most 18 nodes, got 19"):
        parnidag.sample(table, sampler=REDRAW, progress=False)
    with pytest.raises(ParnidagError, match="no use for a search space"):
        parnidag.sample(some_numbers(), sampler=REDRAW, space=np.ones((4, 4)) - np.eye(4), progress=False)
    rng, gaps = np.random.default_rng(2), np.arange(30) < 1
    for n, quick in ((12, True), (15, True), (17, False)):
        z = rng.normal(size=(30, n))
        nodes = [plain_number(z[:, j], gaps, 0.0, 1.0) for j in range(n)]
        cells = GaussianCells.of(nodes, ALPHA_MU, [n + 3.0])
        status = np.where(np.eye(n, dtype=bool), 0, FREE).astype(np.uint8)
        problem = target_of(z[:, :3], np.tile(gaps[:, None], 3)).problem._replace(status=status, max_parents=n - 1)
        target = Target(tuple(map(str, range(n))), problem, {}, BGe(), cells=cells)
        assert is_quick(target) == quick
