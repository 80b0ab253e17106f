"""What `sample` does when no sampler is named: exact where that is cheap, else what suits the size of the table."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from judging import assert_same_run

import parnidag
from parnidag import Beta, EdgePrior, api, scores
from parnidag.exact_solver import affordable, over_levels
from parnidag.samplers import PARNI, OrderMCMC, PartitionMCMC

VALUES = parnidag.simulate(nodes=6, edges=7, rows=80, seed=2).values


def quick(data=VALUES, **options):
    return parnidag.sample(data, **{"draws": 30, "chains": 3, "seed": 5, "progress": False, **options})


def sampler_of(posterior):
    return posterior.settings["sampler"]["name"]


def test_few_columns_are_added_up():
    posterior, truth = quick(), parnidag.exact(VALUES)
    assert posterior.settings["method"] == "exact"
    np.testing.assert_array_equal(posterior.edge_probabilities, truth.edge_probabilities)
    assert posterior.log_evidence == truth.log_evidence
    assert posterior.diagnostics().verdict.startswith("exact")
    assert posterior.graphs.shape == (3, 30, 6, 6)
    assert posterior.best is not None
    assert len(np.unique(posterior.log_posterior)) > 5


def test_draws_of_all_chains_are_independent_draws_from_the_posterior():
    posterior = quick(draws=2000, chains=4)
    truth = posterior.edge_probabilities.to_numpy()
    error = np.sqrt(truth * (1 - truth) / 8000)
    assert (abs(posterior.graphs.mean(axis=(0, 1)) - truth) <= 5 * error + 1e-12).all()
    assert not (posterior.graphs[0] == posterior.graphs[1]).all()


def test_where_it_runs_changes_nothing(tmp_path):
    here = quick()
    assert_same_run(here, quick(executor=functools.partial(pytest.fail, "nothing is to be distributed")))
    assert_same_run(here, quick(checkpoint=tmp_path / "run.ckpt"))
    assert_same_run(here, quick(output=tmp_path / "posterior.nc"))
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.nc"]


def test_what_is_meant_for_chains_makes_chains(tmp_path):
    for options in ({"thin": 20}, {"tune": 50}, {"start": "empty"}, {"space": np.ones((6, 6)) - np.eye(6)}):
        assert sampler_of(quick(**options)) == "PARNI"
    assert sampler_of(quick(sampler=PARNI())) == "PARNI"
    checkpoint = tmp_path / "run.ckpt"
    first = quick(thin=20, checkpoint=checkpoint)
    assert sampler_of(first) == "PARNI"
    assert_same_run(first, quick(checkpoint=checkpoint))  # a run that began goes on, whatever a new one would be


def test_where_the_sum_takes_too_long_partitions_are_tempered(monkeypatch):
    monkeypatch.setattr(affordable, "count_terms", lambda completions: 1e30)
    assert sampler_of(quick(score="paper")) == "Tempered"
    assert sampler_of(quick()) == "Tempered"  # tables for each value of the scale
    assert sampler_of(quick(prior=EdgePrior(h=Beta(1, 5)))) == "PARNI"  # the odds have too many values for tables


def test_more_draws_than_memory_holds_are_left_to_chains(monkeypatch):
    monkeypatch.setattr(api, "MOST_EXACT_DRAWS", 3 * 30 * 36 - 1)
    assert sampler_of(quick(score="paper")) == "Tempered"


def test_where_there_is_no_room_for_tables_parni_samples(monkeypatch):
    monkeypatch.setattr(affordable, "LARGE", 5)
    monkeypatch.setattr(affordable, "free_bytes", lambda: 1e4)
    assert sampler_of(quick()) == "PARNI"


def test_where_tables_take_too_long_parni_samples(monkeypatch):
    monkeypatch.setattr(affordable, "WALKED", 1.0)
    assert sampler_of(quick()) == "PARNI"


@pytest.mark.parametrize(
    ("nodes", "score", "most_parents", "is_cheap"),
    [
        (20, "gaussian", None, True),
        (22, "gaussian", None, True),
        (23, "gaussian", None, False),
        (16, "bdeu", None, True),
        (20, "bdeu", None, False),
        (20, "bdeu", 3, True),
        (12, scores.PythonScore(lambda node, parents: 0.0), None, True),
        (16, scores.PythonScore(lambda node, parents: 0.0), None, False),
    ],
)
def test_what_counts_as_cheap(nodes, score, most_parents, is_cheap):
    rng = np.random.default_rng(1)
    discrete = score == "bdeu"
    data = parnidag.Data(rng.integers(0, 2, (50, nodes)) if discrete else rng.normal(size=(50, nodes)))
    target = api._target(data, score, EdgePrior(max_parents=most_parents))
    assert affordable.tables_are_affordable(target) == is_cheap


def test_progress_says_what_was_done(capsys):
    quick(progress=True)
    assert "6 columns: all graphs were added up, which is exact" in capsys.readouterr().err


# --- chains on tables for which the exact answer takes seconds are judged by it -----------------------------------


def test_chains_of_few_columns_are_checked(tmp_path):
    posterior = quick(sampler=PARNI(), draws=200, output=tmp_path / "posterior.nc")
    truth = parnidag.exact(VALUES).edge_probabilities
    error = abs(posterior.edge_probabilities - truth).to_numpy().max()
    assert posterior.diagnostics().true_error_max == pytest.approx(error)
    assert 0 < error < 0.05
    assert posterior.diagnostics().converged


def test_agreement_that_the_exact_sum_contradicts_is_no_convergence():
    right = quick(sampler=PARNI(), draws=200)
    truth = right.record.true_probabilities.copy()
    truth[0, 1] += 0.2 if truth[0, 1] < 0.5 else -0.2
    wrong = parnidag.Posterior(replace(right.record, true_probabilities=truth)).diagnostics()
    assert right.diagnostics().converged
    assert wrong.converged is False
    assert wrong.verdict.startswith("not converged: the exact sum over all graphs differs, by up to 0.")
    assert any("parnidag.exact(data) adds up all graphs of these 6 columns" in line for line in wrong.advice)


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": OrderMCMC()},  # has a law of its own
        {"sampler": PartitionMCMC(), "space": np.eye(6, k=1)},  # so has what a given space holds
        {"sampler": PARNI(), "score": scores.PythonScore(lambda node, parents: -float(len(parents)))},
    ],
)
def test_laws_and_scores_of_their_own_are_not_checked(options):
    assert quick(**options).diagnostics().true_error_max is None


def test_no_trouble_of_the_check_costs_a_finished_run(monkeypatch):
    def refuse(target):
        raise parnidag.ParnidagError("no graph is possible")

    monkeypatch.setattr(over_levels.AllSets, "of", staticmethod(refuse))
    assert quick(sampler=PARNI()).diagnostics().true_error_max is None
