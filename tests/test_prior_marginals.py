from __future__ import annotations

import numpy as np
import pytest
from dags import all_dags
from judging import SMALLEST_P, smallest_p_value

from parnidag.prior import FREE, EdgePrior
from parnidag.prior_marginals import MOST_COUNTED, counted_marginal, drawn_marginals, prior_marginals

CHAINS, DRAWS = 12, 400


def names(n):
    return [f"X{k}" for k in range(n)]


def arrays(prior, n):
    resolved = prior.resolve(names(n))
    return resolved.log_odds, resolved.status, resolved.max_parents


def enumerated(prior, n):
    """The prior marginals as a sum over all graphs that the prior allows."""
    log_odds, status, max_parents = arrays(prior, n)
    graphs = all_dags(n)
    required = status == 2
    allowed = (~graphs[:, status == 0].any(axis=1)) & graphs[:, required].all(axis=1)
    allowed &= graphs.sum(axis=1).max(axis=1) <= max_parents
    weights = np.exp((graphs * log_odds)[:, status == FREE].sum(axis=1)) * allowed
    return np.tensordot(weights / weights.sum(), graphs.astype(float), axes=1)


@pytest.mark.parametrize("h", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_counting_equals_enumeration(n, h):
    expected = enumerated(EdgePrior(h=h), n)[0, 1]
    assert counted_marginal(n, h / (1 - h)) == pytest.approx(expected, rel=1e-12)


def test_known_value():
    assert counted_marginal(11, 0.1) == pytest.approx(0.07776, abs=5e-6)


@pytest.mark.parametrize("n", [50, MOST_COUNTED])
def test_many_nodes_keep_their_digits(n):
    """Cancellation must not show: the marginal lies below h, where few graphs are cyclic only just."""
    h = 0.2 / n
    found = counted_marginal(n, h / (1 - h))
    assert 0.9 * h < found < h
    assert prior_marginals(*arrays(EdgePrior(h=h), n))[3, 1] == pytest.approx(found, rel=1e-12)


PRIORS = {
    "odds": EdgePrior(h=0.3, log_odds={(0, 1): 2.0, (2, 1): -1.0, (3, 0): 3.0}),
    "forbidden": EdgePrior(h=0.4, forbidden=[(0, 1), (2, 3), (3, 2)]),
    "required": EdgePrior(h=0.3, required=[(0, 1), (1, 2)]),
    "tiers": EdgePrior(h=0.3, tiers=[[0, 1], [2, 3]]),
    "few parents": EdgePrior(h=0.6, max_parents=1),
    "everything": EdgePrior(h=0.5, required=[(3, 0)], forbidden=[(1, 2)], log_odds={(0, 2): 1.0}, max_parents=2),
    "dense": EdgePrior(h=0.9, log_odds={(0, 1): 0.1}),
}


def replicates(prior, n=4):
    return np.array([drawn_marginals(*arrays(prior, n), draws=DRAWS, seed=seed) for seed in range(CHAINS)])


@pytest.mark.parametrize("name", PRIORS)
def test_drawing_agrees_with_enumeration(name):
    drawn, exact = replicates(PRIORS[name]), enumerated(PRIORS[name], 4)
    known = np.ptp(drawn, axis=0) < 1e-12  # an edge that no other can forbid: nothing is left to chance
    np.testing.assert_allclose(drawn[0][known], exact[known], rtol=1e-12)
    assert smallest_p_value(np.where(known, 0.0, drawn), np.where(known, 0.0, exact)) > SMALLEST_P


def test_a_prior_that_forgets_cycles_would_be_noticed():
    prior = PRIORS["odds"]
    log_odds, status, _ = arrays(prior, 4)
    forgetful = np.where(status == FREE, 1 / (1 + np.exp(-log_odds)), 0.0)
    assert smallest_p_value(replicates(prior), forgetful) < SMALLEST_P


def test_more_nodes_than_bits_in_a_word():
    """At 70 nodes a row of bits has two words; all edges are alike, so their mean is known exactly."""
    prior = EdgePrior(h=1 / 70)
    drawn = drawn_marginals(*arrays(prior, 70), draws=100)
    off_diagonal = ~np.eye(70, dtype=bool)
    means = drawn[off_diagonal]
    expected = counted_marginal(70, 1 / 69)
    assert means.mean() == pytest.approx(expected, rel=0.01)
    words_apart = drawn[:60, 64:].mean(), drawn[64:, :60].mean()
    assert words_apart == pytest.approx([expected, expected], rel=0.03)


def test_a_limit_on_parents_that_treats_all_edges_alike_is_pooled():
    found = prior_marginals(*arrays(EdgePrior(h=0.3, max_parents=1), 6))
    assert len(np.unique(found[~np.eye(6, dtype=bool)])) == 1
    assert (found.diagonal() == 0).all()


def test_nothing_is_free():
    prior = EdgePrior(required=[(0, 1)])
    assert (prior_marginals(*arrays(prior, 2)) == [[0, 1], [0, 0]]).all()
