"""Simulation-based calibration: the truth is one more draw from its posterior, and twins that are not are found out."""

import numpy as np
import pytest
from dags import all_dags, edge_probabilities_of
from judging import SMALLEST_P
from scipy import stats
from scipy.special import logsumexp

from benchmarks import calibration
from benchmarks.calibration import Classes, Normal, Outcome
from parnidag import EdgePrior
from parnidag.tables.all_sets import all_local_scores
from parnidag.target import Target

NODES, ROWS = 4, 20
REPLICATIONS, TWIN_REPLICATIONS, LEARNED_REPLICATIONS = 400, 200, 150
SEED = 11
KINDS = ("bge", "bdeu")
STANDARD_ERRORS = 4.5
"""Of a mean over draws of parameters: passed by a right one but once in 10⁵."""


def twin_cases():
    cases = [(kind, calibration.right_case(kind, NODES, ROWS)) for kind in KINDS]
    return [(kind, twin) for kind, right in cases for twin in calibration.twins(kind, right)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_is_calibrated(kind):
    outcome = calibration.replicate(calibration.right_case(kind, NODES, ROWS), REPLICATIONS, SEED)
    assert calibration.verdict(outcome) > SMALLEST_P
    predicted = [each.predicted for each in calibration.reliability(outcome)]
    assert min(predicted) < 0.1
    assert max(predicted) > 0.5, "probabilities that hardly differ say nothing about calibration"


def test_the_posterior_is_calibrated_where_scale_and_odds_are_learned():
    outcome = calibration.replicate(calibration.right_case("learned", NODES, ROWS), LEARNED_REPLICATIONS, SEED)
    assert calibration.verdict(outcome) > SMALLEST_P


@pytest.mark.parametrize("twin", ["odds the other way round", "noise variance × 10"])
def test_values_from_another_prior_are_found_out(twin):
    case = calibration.twins("learned", calibration.right_case("learned", NODES, ROWS))[twin]
    assert calibration.verdict(calibration.replicate(case, LEARNED_REPLICATIONS, SEED)) < SMALLEST_P


@pytest.mark.parametrize(("kind", "twin"), twin_cases())
def test_a_posterior_that_supposes_something_else_is_found_out(kind, twin):
    case = calibration.twins(kind, calibration.right_case(kind, NODES, ROWS))[twin]
    assert calibration.verdict(calibration.replicate(case, TWIN_REPLICATIONS, SEED)) < SMALLEST_P


def test_a_short_run_of_the_sampler_is_calibrated():
    case = calibration.right_case("bge", NODES, ROWS, method="sample")
    assert calibration.verdict(calibration.replicate(case, 60, SEED)) > SMALLEST_P


# --- what the simulation rests on -------------------------------------------------------------------------------------


def local_score(data, score, node, parents):
    """Return the log score of a node, from the table of all of them."""
    scores = all_local_scores(Target.build(data, score, EdgePrior(h=0.5)))
    return scores[node, sum(1 << (i - (i > node)) for i in parents)]


def z_of_mean_likelihood(log_likelihoods, log_score):
    """By how many standard errors the mean likelihood over the prior differs from the marginal one of the score."""
    ratio = np.exp(log_likelihoods - log_score)
    return (ratio.mean() - 1.0) / (ratio.std() / np.sqrt(len(ratio)))


def normal_z(truth, parents, draws=200_000):
    rng = np.random.default_rng(3)
    data = Normal().draw(rng, np.triu(np.ones((3, 3), bool), 1), 4)
    variance, weights, intercept = truth.draw_parameters(rng, 3, len(parents), draws)
    centre = intercept[:, None] + weights @ data.values[:, parents].T
    logs = stats.norm.logpdf(data.values[:, 2], centre, np.sqrt(variance)[:, None]).sum(axis=1)
    return z_of_mean_likelihood(logs, local_score(data, Normal().score(3), 2, parents))


@pytest.mark.parametrize("parents", [[], [0], [0, 1]])
def test_parameters_of_bge_are_those_that_the_score_integrates_out(parents):
    assert abs(normal_z(Normal(), parents)) < STANDARD_ERRORS
    assert abs(normal_z(Normal(scale=1.5), parents)) > STANDARD_ERRORS


def classes_z(truth, parents, draws=100_000):
    rng = np.random.default_rng(3)
    data = next(filter(None, (Classes().draw(rng, np.zeros((3, 3), bool), 6) for _ in range(100))))
    values, levels = data.values.astype(int), (2, 3, 2)
    state, states = np.zeros(6, int), 1
    for i in parents:
        state, states = state * levels[i] + values[:, i], states * levels[i]
    tables = truth.draw_parameters(rng, levels[2], states, draws)
    likelihoods = tables[:, state, values[:, 2]].prod(axis=1)
    with np.errstate(divide="ignore"):
        return z_of_mean_likelihood(np.log(likelihoods), local_score(data, Classes().score(3), 2, parents))


@pytest.mark.parametrize("parents", [[], [0], [0, 1]])
def test_tables_of_bdeu_are_those_that_the_score_integrates_out(parents):
    assert abs(classes_z(Classes(), parents)) < STANDARD_ERRORS
    assert abs(classes_z(Classes(ess=2.0), parents)) > STANDARD_ERRORS


def test_graphs_come_from_the_prior():
    graphs, h, draws = all_dags(4), 0.3, 20_000
    weights = graphs.sum(axis=(1, 2)) * np.log(h / (1 - h))
    expected = edge_probabilities_of(graphs, np.exp(weights - logsumexp(weights)))
    found = calibration.prior_graphs(4, h, draws, seed=1).mean(axis=0)
    off_diagonal = ~np.eye(4, dtype=bool)
    z = (found - expected)[off_diagonal] / np.sqrt(expected * (1 - expected) / draws)[off_diagonal]
    assert abs(z).max() < STANDARD_ERRORS


# --- the questions ----------------------------------------------------------------------------------------------------


def made_up(overconfidence=1.0, replications=500):
    """Edges that are there with known probabilities, and predictions that are too extreme by a factor of the logit."""
    rng = np.random.default_rng(5)
    logits = rng.normal(-1.0, 1.0, (replications, 3, 3))
    truth = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    predicted = 1 / (1 + np.exp(-overconfidence * logits))
    off_diagonal = ~np.eye(3, dtype=bool)
    ranks = rng.integers(calibration.RANKED + 1, size=(replications, 2))
    return Outcome(truth & off_diagonal, predicted * off_diagonal, ranks)


def test_questions_pass_what_is_right_and_fail_what_is_overconfident():
    assert min(calibration.p_values(made_up()).values()) > 0.001
    assert calibration.p_values(made_up(overconfidence=2.0))["bins"] < SMALLEST_P


def test_ranks_are_asked_to_be_uniform():
    right = made_up()
    squeezed = right._replace(ranks=right.ranks // 2 + 5)
    assert min(calibration.rank_p_values(squeezed)) < SMALLEST_P


def test_a_rank_among_equals_is_any_of_theirs():
    rng = np.random.default_rng(1)
    ranks = [calibration.rank(rng, 1.0, np.array([0.0, 1.0, 1.0, 2.0])) for _ in range(300)]
    assert set(ranks) == {1, 2, 3}
