"""Odds of their own for every node as a parent: closed forms, chains against enumeration, and clear refusals."""

import numpy as np
import pytest
from dags import all_dags, edge_probabilities_of
from judging import SMALLEST_P, chain_probabilities, smallest_p_value
from scipy.integrate import quad
from scipy.special import betaln, logsumexp
from scipy.stats import beta

import parnidag
from parnidag import Beta, Data, EdgePrior, samplers, scores
from parnidag.errors import ParnidagError
from parnidag.priors.odds import weights_by_children
from parnidag.results.prior_marginals import prior_marginals
from parnidag.target import Target

VALUES = parnidag.simulate(nodes=4, edges=4, rows=30, seed=3).values
GRAPHS = all_dags(4)
H, A = 0.3, 0.3
PRIOR = EdgePrior(h=H, regulators=A)
SCORE = scores.BGe()
SAMPLERS = {
    "ADR": samplers.ADR(exchange=0.2),
    "REV": samplers.REV(probability=0.3),
    "PARNI": samplers.PARNI(),
    "printed": samplers.PARNI(kernel="printed", moves="paper"),
    "all moves": samplers.PARNI(moves={"parni": 0.5, "swap_parent": 0.2, "node_swap": 0.2, "exchange": 0.1}),
    "ladder": samplers.PARNI(rungs=3),
}


def log_prior(graphs, a=A, h=H):
    """By the Beta function alone."""
    b, children = a * (1 - h) / h, graphs.sum(axis=2)
    return (betaln(a + children, b + graphs.shape[1] - 1 - children) - betaln(a, b)).sum(axis=1)


def enumerated(log_weights):
    return edge_probabilities_of(GRAPHS, np.exp(log_weights - logsumexp(log_weights)))


def log_likelihoods():
    flat = Target.build(Data(VALUES), SCORE, EdgePrior(h=0.5))
    return np.array([flat.log_posterior(graph) for graph in GRAPHS])


def short_run(sampler, **options):
    usual = {"draws": 200, "thin": 50, "chains": 20, "seed": 5, "progress": False}
    return parnidag.sample(VALUES, score=SCORE, prior=PRIOR, sampler=sampler, **usual | options)


@pytest.mark.parametrize(("n", "h", "a"), [(4, 0.3, 0.3), (9, 0.05, 1.0), (6, 0.5, 40.0)])
def test_weights_of_children_are_integrals_over_their_odds(n, h, a):
    weights = weights_by_children(n, h, a)
    law = beta(a, a * (1 - h) / h)
    for c in range(n):
        integral = quad(lambda x, c=c: x**c * (1 - x) ** (n - 1 - c) * law.pdf(x), 0, 1, points=[1e-3], limit=200)[0]
        assert weights[c] + c * np.log(h / (1 - h)) == pytest.approx(np.log(integral), abs=1e-5)


def test_nodes_that_are_all_alike_have_one_h():
    weights = weights_by_children(8, 0.2, 1e8)
    np.testing.assert_allclose(weights, weights[0], atol=1e-5)
    assert np.ptp(weights_by_children(8, 0.2, 1.0)) > 1.0


def test_a_graph_weighs_what_is_said():
    target = Target.build(Data(VALUES), SCORE, PRIOR)
    found = np.array([target.log_posterior(graph) for graph in GRAPHS])
    np.testing.assert_allclose(found, log_likelihoods() + log_prior(GRAPHS), atol=1e-9)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_agree_with_enumeration(sampler):
    found = chain_probabilities(short_run(SAMPLERS[sampler]))
    truth = enumerated(log_likelihoods() + log_prior(GRAPHS))
    assert smallest_p_value(found, truth) > SMALLEST_P
    alike = enumerated(log_likelihoods() + GRAPHS.sum(axis=(1, 2)) * np.log(H / (1 - H)))
    assert smallest_p_value(found, alike) < 1e-8


def test_scores_that_are_learned_go_along():
    found = parnidag.sample(VALUES, prior=PRIOR, sampler=samplers.ADR(), draws=400, thin=500, seed=1, progress=False)
    target = Target.build(Data(VALUES), scores.BGe(alpha_w="learn"), PRIOR)
    logs = [logsumexp([target.at(k).log_posterior(graph) for k in range(target.levels.count)]) for graph in GRAPHS]
    np.testing.assert_allclose(found.edge_probabilities, enumerated(np.array(logs)), atol=0.03)


@pytest.mark.parametrize(
    ("given", "error"), [({}, 0.01), ({"forbidden": [(2, 0)], "required": [(0, 1)], "max_parents": 2}, 0.03)]
)
def test_prior_probabilities_are_those_of_all_graphs(given, error):
    resolved = EdgePrior(h=H, regulators=A, **given).resolve(list("abcd"))
    status = resolved.status
    allowed = ((status > 0) >= GRAPHS).all(axis=(1, 2)) & ((status == 2) <= GRAPHS).all(axis=(1, 2))
    allowed &= GRAPHS.sum(axis=1).max(axis=1) <= resolved.max_parents
    truth = enumerated(np.where(allowed, log_prior(GRAPHS), -np.inf))
    found = prior_marginals(resolved.log_odds, status, resolved.max_parents, resolved.by_children)
    np.testing.assert_allclose(found, truth, atol=error)
    forgetting = prior_marginals(resolved.log_odds, status, resolved.max_parents)
    assert abs(forgetting - truth).max() > 2 * error


def test_few_columns_go_to_chains_and_these_go_on_from_checkpoints(tmp_path):
    whole = parnidag.sample(VALUES, prior=PRIOR, draws=40, chains=2, seed=3, progress=False)
    assert whole.settings["sampler"]["name"] == "PARNI"
    assert whole.settings["prior"]["regulators"] == A
    options = {"thin": 500, "chains": 2, "tune": 1000}
    at_once = short_run(samplers.PARNI(), draws=40, **options)
    path = tmp_path / "run.ckpt"
    short_run(samplers.PARNI(), draws=15, checkpoint=path, **options)
    resumed = short_run(samplers.PARNI(), draws=40, checkpoint=path, **options)
    assert (resumed.log_posterior == at_once.log_posterior).all()
    assert (resumed.graphs == at_once.graphs).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: parnidag.exact(VALUES, prior=PRIOR), "the exact sum weighs the parents of every node by themselves"),
        *(
            (lambda sampler=sampler: short_run(sampler), f"{sampler.name} weighs the parents .* use samplers.PARNI")
            for sampler in (
                samplers.Tempered(),
                samplers.OrderMCMC(),
                samplers.PartitionMCMC(),
                samplers.IterativeMCMC(),
            )
        ),
        (lambda: EdgePrior(h=Beta(1, 5), regulators=1.0), "of mean h, which must be a number then"),
        (lambda: EdgePrior(regulators=0.0), "regulators must be"),
    ],
)
def test_who_cannot_carry_it_says_so(make, words):
    with pytest.raises(ParnidagError, match=words):
        make()
