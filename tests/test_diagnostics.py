from __future__ import annotations

import json
import math

import numpy as np
import pytest
from made_results import bare_record
from test_convergence import BATCH, BATCHES, CHAINS, bernoulli_counts

from parnidag.results.convergence import bulk_ess, rank_rhat
from parnidag.results.diagnostics import RHAT_LIMIT, diagnose


def record_of(counts, iterations, log_posterior, **changes):
    """A record of a run on three nodes whose stored graphs do not matter."""
    codes = np.array([1, 2, 5], dtype=np.int32)[: counts.shape[2]]
    counted = {"edge_codes": codes, "batch_counts": counts, "batch_iterations": iterations}
    return bare_record(log_posterior=log_posterior, **counted, **changes)


def settled_log_posterior(chains=CHAINS, draws=500):
    return np.random.default_rng(17).normal(size=(chains, draws))


def diagnosed(probabilities=(0.2, 0.5, 0.7), log_posterior=None, chains=CHAINS, **changes):
    """What is said of chains that see three edges, independently, with these probabilities."""
    counts, iterations = bernoulli_counts(np.random.default_rng(18), np.asarray(probabilities), chains)
    draws = settled_log_posterior(chains) if log_posterior is None else log_posterior
    return diagnose(record_of(counts, iterations, draws, **changes))


def diagnosed_still(log_posterior):
    """What is said of chains that never move."""
    counts, iterations = np.full((CHAINS, BATCHES, 2), BATCH), np.full((CHAINS, BATCHES), BATCH)
    return diagnose(record_of(counts, iterations, log_posterior))


def test_good_chains_are_called_converged():
    found = diagnosed([0.2, 0.5, 1.0])
    assert found.converged is True
    assert found.verdict.startswith("converged: 4 chains agree")
    assert found.advice == []
    assert found.edges_rhat_above == 0
    assert found.ess_edges_min <= CHAINS * BATCHES * BATCH
    assert found.disagreement_max < 0.1


def test_the_verdict_names_the_law_that_chains_converged_to():
    law = "the posterior, within its search space alone"
    assert diagnosed([0.2, 0.5, 1.0], settings={"law": law}).verdict.startswith(f"converged to {law}: 4 chains agree")


def test_chains_frozen_apart_are_not_converged_and_the_edge_is_named():
    probabilities = np.tile([0.2, 0.5, 1.0], (CHAINS, 1, 1))
    probabilities[3, 0, 2] = 0.0
    found = diagnosed(probabilities)
    assert found.converged is False
    modes = "chains sit in 2 separated modes (chains 1, 2 and 3 | 4), at nodes B and C"
    assert found.verdict == f"not converged: {modes}"
    assert found.rhat_edges_max == math.inf
    assert found.edges_rhat_above == 1
    assert found.worst_edges[0] == ("B", "C", [1.0, 1.0, 1.0, 0.0])
    assert "chains disagree on 1 edge, most on B → C (0.00 … 1.00)" in found.advice[0]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rhat_edges_max"] == "inf"


def test_chains_that_disagree_but_move_should_run_longer():
    probabilities = np.tile([0.2, 0.5, 1.0], (CHAINS, BATCHES, 1))
    probabilities[3, BATCHES // 2 :, 2] = 0.0
    found = diagnosed(probabilities, settings={"draws": 500})
    assert found.converged is False
    assert found.verdict == "not converged: chains disagree on 1 edge, by up to 0.50"
    assert [group.kind for group in found.modes] == ["slow"]
    assert "B → C (0.50 … 1.00)" in found.advice[0]
    assert "draws=2000" in found.advice[0]


def test_a_log_posterior_that_has_not_settled_is_not_converged():
    found = diagnosed(log_posterior=settled_log_posterior() + np.linspace(0, 5, 500))
    assert found.converged is False
    assert "log posterior" in found.verdict
    assert "tune" in found.advice[0]


@pytest.mark.parametrize(
    ("settings", "advised"), [({}, True), ({"prior": {"regulators": 2.0}}, False), ({"cells": {"share": 0.1}}, False)]
)
def test_exact_sums_are_advised_where_they_can_be_had(settings, advised):
    found = diagnosed(chains=1, settings=settings)
    assert any("parnidag.exact(data) adds up" in line for line in found.advice) == advised


def test_one_chain_cannot_be_known():
    found = diagnosed(chains=1)
    assert found.converged is None
    assert found.verdict.startswith("cannot be known")
    assert "chains=4" in found.advice[0]
    assert (found.disagreement_max, found.disagreement_rms, found.worst_edges) == (None, None, [])
    assert found.rhat_log_posterior < RHAT_LIMIT


def test_one_chain_whose_halves_differ_is_not_converged():
    counts = np.array([[[BATCH]] * 10 + [[0]] * 10])
    found = diagnose(record_of(counts, np.full((1, 20), BATCH), settled_log_posterior(1)))
    assert (found.converged, found.rhat_edges_max) == (False, math.inf)


def test_few_effective_draws_are_too_short_to_say():
    # The same slow wave in every chain: halves agree exactly, but an oscillation of four periods is few draws.
    wave = np.tile(np.sin(np.arange(400) * 2 * math.pi / 100), (CHAINS, 1))
    assert bulk_ess(wave) < 50 * CHAINS
    for draws in (settled_log_posterior(CHAINS, 3), wave):
        found = diagnosed(log_posterior=draws, settings={"draws": 400})
        assert found.converged is None
        assert found.verdict.startswith("too short")
        assert "draws=1600" in found.advice[0]


def test_chains_that_agree_by_chance_on_an_edge_that_seldom_changes_are_too_short_to_say():
    """Every half of every chain has the edge for half of its time, in one long stay: sixteen stays in all."""
    counts, iterations = bernoulli_counts(np.random.default_rng(18), np.array([0.2, 0.5, 0.7]))
    stays = np.tile(np.repeat([BATCH, 0], BATCHES // 4), 2)
    counts[:, :, 1] = stays
    found = diagnose(record_of(counts, iterations, settled_log_posterior(), settings={"draws": 400}))
    assert found.disagreement_max < 0.1
    assert found.rhat_edges_max < RHAT_LIMIT
    assert found.converged is None
    assert found.verdict.endswith(f"known to ±{2 * found.mcse_edges_max:.2f} only")
    assert "draws=1600" in found.advice[0]


@pytest.mark.parametrize(("draws", "converged"), [(4, None), (49, None), (50, True)])
def test_draws_that_all_score_the_same_must_not_be_too_few(draws, converged):
    assert diagnosed(log_posterior=np.zeros((CHAINS, draws))).converged is converged


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_log_posterior_that_is_no_number_is_a_problem(value):
    draws = settled_log_posterior()
    draws[1, 7] = value
    found = diagnosed(log_posterior=draws)
    assert found.converged is False
    assert "no finite number" in found.verdict


def test_chains_that_never_moved_prove_nothing():
    found = diagnosed_still(np.full((CHAINS, 100), -10.0))
    assert found.converged is None
    assert "no chain ever left" in found.verdict
    assert (found.rhat_edges_max, found.ess_edges_min, found.rhat_log_posterior) == (None, None, None)


def test_the_verdict_does_not_mistake_rounding_for_disagreement():
    rounded = np.full((CHAINS, 100), -1234.5) + 2.3e-13 * np.arange(CHAINS)[:, None]
    assert rank_rhat(rounded) == math.inf
    found = diagnosed_still(rounded)
    assert (found.converged, found.rhat_log_posterior) == (None, None)


def test_figures_of_the_run_are_carried_over():
    statistics = {
        "acceptance": np.array([0.1, 0.2, 0.3, 0.4]),
        "iterations": np.full(4, 10_000),
        "tune_iterations": np.full(4, 2_000),
        "cpu_seconds": np.array([1.0, 2.0, 3.0, 4.0]),
    }
    settings = {"timings": {"prepare": 0.5, "sample": 10}, "interrupted": True}
    found = diagnosed(statistics=statistics, settings=settings)
    assert found.acceptance == [0.1, 0.2, 0.3, 0.4]
    assert found.iterations_per_second == [12_000, 6_000, 4_000, 3_000]
    assert found.omega is None
    assert found.timings == {"prepare": 0.5, "sample": 10.0}
    assert any("interrupted" in line for line in found.advice)
    without = diagnosed()
    assert (without.iterations, without.iterations_per_second) == ([BATCHES * BATCH] * CHAINS, None)


def test_representation_fits_a_terminal_and_never_says_nan():
    names = ("a very long name of a measured column " * 3, "B", "C")
    probabilities = np.array([1.0, 0.5, 0.0, 0.5])[:, None, None] * np.ones(3)
    statistics = {"acceptance": np.full(4, 1 / 3), "omega": np.array([1e-5, np.nan, 2.0, 3e9])}
    text = repr(diagnosed(probabilities, nodes=names, statistics=statistics))
    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text.lower().replace("a very long name", "")
    assert "not converged" in text
    assert "1e-05  –  2  3,000,000,000" in text


@pytest.mark.parametrize("chains", [1, 4, 30])
def test_moves_are_shown_with_their_acceptance(chains):
    names = ("parni", "add", "delete", "reverse", "exchange", "edge_reversal")
    statistics = {f"{name}_acceptance": np.full(chains, 0.12345) for name in names}
    statistics |= {"acceptance": np.full(chains, 0.1), "edge_reversal_outside": np.full(chains, 0.01)}
    found = diagnosed(chains=chains, statistics=statistics)
    assert max(map(len, repr(found).splitlines())) <= 80
    assert "0.123 (1.0% off tables)" in " ".join(repr(found).split())
    json.dumps(found.to_dict(), allow_nan=False)
