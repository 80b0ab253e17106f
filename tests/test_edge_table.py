from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_posterior import exact_record, simulated

import parnidag
from parnidag.results.edge_table import BAYES_FACTOR_LIMIT, independent_visits
from parnidag.results.posterior import Posterior


def with_prior(probabilities, prior):
    """The summary of an exact result whose first row has these probabilities and prior marginals."""
    matrices = np.zeros((2, 4, 4))
    matrices[0, 0, 1:], matrices[1, 0, 1:] = probabilities, prior
    record = exact_record(exact_probabilities=matrices[0], prior_probabilities=matrices[1])
    return Posterior(record).summary(min_probability=0).set_index(["parent", "child"]).loc["A"]


def test_evidence_is_the_change_of_odds_from_the_prior_marginal():
    prior = 0.2
    at_limit = prior * BAYES_FACTOR_LIMIT / (1 - prior + prior * BAYES_FACTOR_LIMIT)
    low = prior / BAYES_FACTOR_LIMIT / (1 - prior + prior / BAYES_FACTOR_LIMIT)
    table = with_prior([at_limit + 1e-9, at_limit - 1e-9, low - 1e-9], prior)
    assert table["evidence"].to_dict() == {"B": "included", "C": "inconclusive", "D": "excluded"}
    assert table["bayes_factor"]["B"] == pytest.approx(10, rel=1e-6)
    assert table["bayes_factor"]["D"] == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize(
    ("probabilities", "prior", "factors", "evidence"),
    [
        ([0.3, 0.3, 0.3], [0.01, 0.3, 0.9], [99 * 3 / 7, 1, 1 / 21], ["included", "inconclusive", "excluded"]),
        ([1.0, 1e-17, 0.5], 0.1, [np.inf, 0, 9], ["included", "excluded", "inconclusive"]),
        # What the prior decides is not evidence.
        ([1.0, 0.0, 0.5], [1.0, 0.0, 0.5], [np.nan, np.nan, 1], ["required", "forbidden", "inconclusive"]),
    ],
)
def test_the_same_probability_is_evidence_or_not_depending_on_the_prior(probabilities, prior, factors, evidence):
    table = with_prior(probabilities, prior).loc[["B", "C", "D"]]
    assert table["evidence"].tolist() == evidence
    assert table["bayes_factor"].isna().tolist() == np.isnan(factors).tolist()
    assert table["bayes_factor"].to_numpy(float, na_value=np.nan) == pytest.approx(factors, nan_ok=True)


def test_older_results_do_not_know_their_prior():
    record, _ = simulated()
    table = Posterior(replace(record, prior_probabilities=None)).summary()
    assert set(table["evidence"]) == {"unknown"}
    assert table["prior"].isna().all()
    assert Posterior(record).prior_probabilities is None
    assert "nan" not in table.to_string().lower()


def test_a_run_bounds_what_it_never_saw_by_its_independent_visits():
    """Always or never in m visits: as if in all but half of one, or in half of one."""
    record, _ = simulated()
    table = Posterior(replace(record, prior_probabilities=np.full((4, 4), 0.25))).summary(0)
    table = table.set_index(["parent", "child"])
    visits = independent_visits(record)
    assert 1 < visits < record.batch_iterations.sum()
    assert table["bayes_factor"]["D", "A"] == pytest.approx(3 * 0.5 / (visits - 0.5))
    assert table["bayes_factor"]["B", "D"] == pytest.approx(3 * (visits - 0.5) / 0.5)
    short = replace(
        record,
        prior_probabilities=np.full((4, 4), 0.25),
        log_posterior=record.log_posterior[:1],
        graph_index=record.graph_index[:1],
        batch_counts=np.minimum(record.batch_counts[:1, :1], 1),
        batch_iterations=np.full((1, 1), 3),
        statistics={},
    )
    assert set(Posterior(short).summary(0)["evidence"]) == {"inconclusive"}


def slow_and_flickering(crossings):
    """Four chains of 20 batches: one edge stays for whole batches, one is there for 1 iteration in 1000."""
    record, _ = simulated()
    counts = np.zeros((4, 20, 2), np.int64)
    counts[:, :, 0] = 1000 * (np.arange(20) * crossings // 20 % 2)
    counts[:, :, 1] = 1
    return replace(
        record,
        edge_codes=np.array([1, 2], np.int32),
        batch_counts=counts,
        batch_iterations=np.full((4, 20), 1000),
        log_posterior=np.random.default_rng(1).normal(size=(4, 50)),
        graph_index=np.zeros((4, 50), np.int64),
        prior_probabilities=np.full((4, 4), 0.25),
        statistics={},
    )


@pytest.mark.parametrize("crossings", [2, 20])
def test_edges_that_flicker_know_no_more_than_the_slowest_edge(crossings):
    record = slow_and_flickering(crossings)
    table = Posterior(record).summary(0).query("parent == 'A'").set_index("child")
    visits = independent_visits(record)
    assert visits <= table["ess"]["B"]
    assert visits <= 8 * crossings
    assert table["ess"]["C"] <= visits * (1 + 1e-9)
    # Present in one iteration of a thousand, but in how many of some forty visits?
    assert table["bayes_factor"]["C"] == pytest.approx(3 * 0.5 / (visits - 0.5))


def test_visits_of_chains_that_never_moved_are_their_different_starts():
    record = replace(slow_and_flickering(2), batch_counts=np.zeros((4, 20, 2), np.int64))
    frozen = replace(record, log_posterior=np.zeros_like(record.log_posterior))
    for last, visits in ((2, 4), (1, 1)):
        edges = np.array([1, 1, 1, last], np.int32)
        assert independent_visits(replace(frozen, start_offsets=np.arange(5), start_edges=edges)) == visits


def test_walkers_that_came_back_are_visits():
    record = replace(slow_and_flickering(20), statistics={"round_trips": np.array([2.0, 0.0, 2.0, 1.0])})
    assert independent_visits(record) == 5


def record_of_space(settings):
    """A record whose search space has one edge."""
    record, _ = simulated()
    return replace(record, settings=settings | {"space": {"edges": [1]}})


def test_edges_that_a_sampler_cannot_visit_are_not_evidence():
    table = parnidag.simulate(nodes=6, edges=5, rows=100, seed=1).values
    space = np.triu(np.ones((6, 6), bool), 1)
    space[0] = False  # X0 has no neighbours
    sampler = parnidag.samplers.OrderMCMC(plus_one=False)
    options = {"draws": 50, "thin": 20, "seed": 1, "progress": False, "space": space | space.T}
    found = parnidag.sample(table, sampler=sampler, **options).summary(0)
    touching = (found["parent"] == "X0") | (found["child"] == "X0")
    assert set(found["evidence"][touching]) == {"not considered"}
    assert "not considered" not in set(found["evidence"][~touching])
    everywhere = parnidag.sample(table, sampler=parnidag.samplers.PARNI(), **options).summary(0)
    assert "not considered" not in set(everywhere["evidence"])


def test_classes_within_error_are_counted():
    record, _ = simulated()
    p = Posterior(record).edge_probabilities.to_numpy()
    at_limit = np.full((4, 4), 0.5)
    at_limit[0, 2] = p[0, 2] / (p[0, 2] + 10 * (1 - p[0, 2]))  # its Bayes factor is 10 exactly
    assert Posterior(replace(record, prior_probabilities=at_limit)).diagnostics().evidence_unsure >= 1
    clear = np.where(p > 0.5, 0.01, 0.99)
    assert Posterior(replace(record, prior_probabilities=clear)).diagnostics().evidence_unsure == 0


def test_edges_say_whether_they_raise_or_lower_and_by_how_much():
    """The mean of what `coefficients` tabulates, for learned values too; sampled, exact, loaded."""
    data = parnidag.simulate(nodes=5, edges=6, rows=60, seed=2).values * [1, 10, 0.1, 1, 1]
    for score in (None, parnidag.scores.Gaussian()):
        posterior = parnidag.exact(data, score=score, draws=800, seed=1)
        table = posterior.summary(0).set_index(["parent", "child"])["coefficient"]
        wanted = posterior.coefficients(0, standardised=True).set_index(["parent", "child"])["mean"]
        assert np.allclose(table[wanted.index].to_numpy(float), wanted, atol=1e-10)
        assert table.isna().sum() == 20 - len(wanted)
    assert parnidag.exact(data).summary()["coefficient"].isna().all()  # no draws
    curved = parnidag.exact(data, score=parnidag.scores.Spline(), draws=20, seed=1)
    assert curved.summary()["coefficient"].isna().all()
