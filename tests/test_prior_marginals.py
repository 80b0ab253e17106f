from __future__ import annotations

import numpy as np
import pytest
from dags import all_dags
from judging import SMALLEST_P, smallest_p_value

from parnidag.graphs.adjacency import topological_order
from parnidag.kernels.problem import FREE
from parnidag.priors.edge_prior import EdgePrior
from parnidag.results.prior_marginals import (
    EXACT_UP_TO,
    _possible,
    counted_marginal,
    drawn_marginals,
    exchangeable_nodes,
    prior_marginals,
    summed_marginals,
)

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
    assert counted_marginal(n, np.log(h / (1 - h))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [50, 250])
def test_many_nodes_keep_their_digits(n):
    """Cancellation must not show: the marginal lies below h, where few graphs are cyclic only just."""
    h = 0.2 / n
    found = counted_marginal(n, np.log(h / (1 - h)))
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
    "dense and forbidden": EdgePrior(h=0.95, forbidden=[(0, 1)], log_odds={(2, 3): -1.0}, required=[(3, 1)]),
}


def replicates(prior, n=4):
    return np.array([drawn_marginals(*arrays(prior, n), draws=DRAWS, seed=seed) for seed in range(CHAINS)])


@pytest.mark.parametrize("name", PRIORS)
def test_drawing_agrees_with_enumeration(name):
    drawn, exact = replicates(PRIORS[name]), enumerated(PRIORS[name], 4)
    known = np.ptp(drawn, axis=0) < 1e-12  # an edge that no other can forbid: nothing is left to chance
    np.testing.assert_allclose(drawn[0][known], exact[known], rtol=1e-12)
    if not known.all():
        assert smallest_p_value(np.where(known, 0.0, drawn), np.where(known, 0.0, exact)) > SMALLEST_P


def test_dense_graphs_in_which_nodes_trade_places_agree_with_the_sum():
    """Every edge has odds of its own, so that it matters which nodes trade places."""
    n = 7
    odds = np.random.default_rng(3).normal(0.0, 1.0, (n, n))
    prior = EdgePrior(h=0.95, log_odds=odds, required=[(3, 1)], forbidden=[(0, 5)])
    drawn, exact = replicates(prior, n), summed_marginals(*arrays(prior, n))
    known = np.ptp(drawn, axis=0) < 1e-12
    assert known.sum() < 12
    assert smallest_p_value(np.where(known, 0.0, drawn), np.where(known, 0.0, exact)) > SMALLEST_P


@pytest.mark.parametrize(("n", "share"), [(6, 0.5), (110, 0.9)])
def test_edges_for_which_the_others_leave_a_place(n, share):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    graph = (np.triu(rng.random((n, n)) < share, 1))[np.ix_(order, order)]
    found = _possible(graph, n // 2)
    for i, j in rng.choice(n, (150, 2)):
        if i != j:
            other = graph.copy()
            other[[i, j], [j, i]] = True, False
            allowed = topological_order(other) is not None and other[:, j].sum() <= n // 2
            assert found[i, j] == allowed


def test_a_prior_that_forgets_cycles_would_be_noticed():
    prior = PRIORS["odds"]
    log_odds, status, _ = arrays(prior, 4)
    forgetful = np.where(status == FREE, 1 / (1 + np.exp(-log_odds)), 0.0)
    assert smallest_p_value(replicates(prior), forgetful) < SMALLEST_P


@pytest.mark.parametrize("name", PRIORS)
def test_few_nodes_are_summed_exactly(name):
    np.testing.assert_allclose(prior_marginals(*arrays(PRIORS[name], 4)), enumerated(PRIORS[name], 4), rtol=1e-9)


@pytest.mark.parametrize("h", [1 / 20, 0.3, 0.9])
def test_nodes_that_can_be_exchanged_have_the_same_marginals(h):
    """In dense graphs a walk is slow: edges that must have the same marginal get the same, and about the right one."""
    n = EXACT_UP_TO + 8
    found = prior_marginals(*arrays(EdgePrior(h=h, forbidden=[(0, 1)]), n))
    others = found[2:, 2:][~np.eye(n - 2, dtype=bool)]
    assert np.ptp(others) < 1e-12
    # one edge less hardly matters to the rest
    assert others[0] == pytest.approx(counted_marginal(n, np.log(h / (1 - h))), rel=0.05)


def test_groups_of_exchangeable_nodes():
    labels = exchangeable_nodes(*arrays(EdgePrior(tiers=[[0, 2], [1, 3, 4]]), 5)[:2])
    assert labels.tolist() == [0, 1, 0, 1, 1]
    labels = exchangeable_nodes(*arrays(EdgePrior(required=[(0, 1), (2, 3)]), 5)[:2])
    assert labels.tolist() == [0, 1, 2, 3, 4]  # pairs could only be exchanged together
    labels = exchangeable_nodes(*arrays(EdgePrior(log_odds={(0, 1): 1.0, (0, 2): 1.0}), 5)[:2])
    assert labels.tolist() == [0, 1, 1, 2, 2]
    labels = exchangeable_nodes(*arrays(EdgePrior(log_odds={(2, 0): 1.0, (3, 1): 1.0}), 5)[:2])
    assert labels.tolist() == [0, 1, 2, 3, 4]  # alike as parents or as children only


@pytest.mark.parametrize("n", [3, EXACT_UP_TO + 3])
def test_only_what_the_prior_decides_is_certain(n):
    """Strong odds come close to 0 and 1; the reverse of a required path and a parent too many are ruled out."""
    strong = prior_marginals(*arrays(EdgePrior(log_odds={(0, 1): 40.0}), n))
    assert 0 < strong[1, 0] < 1e-6
    assert 0.99 < strong[0, 1] < 1
    path = prior_marginals(*arrays(EdgePrior(required=[(0, 1), (1, 2)], max_parents=1), n))
    assert path[2, 0] == 0  # against the path
    assert path[0, 2] == 0  # a second parent
    assert path[0, 1] == 1


def test_the_strongest_odds_that_are_accepted_do_no_harm():
    for odds in (-1e4, 800.0, 1e4):
        found = prior_marginals(*arrays(EdgePrior(log_odds=np.full((3, 3), odds)), 3))
        assert np.isfinite(found).all()
        assert found[0, 1] == pytest.approx(0.5 if odds > 0 else 0.0, abs=1e-6)


def test_a_limit_on_parents_that_treats_all_edges_alike_is_pooled():
    found = prior_marginals(*arrays(EdgePrior(h=0.3, max_parents=1), 15))
    assert np.ptp(found[~np.eye(15, dtype=bool)]) < 1e-12
    assert (found.diagonal() == 0).all()


def test_nothing_is_free():
    prior = EdgePrior(required=[(0, 1)])
    assert (prior_marginals(*arrays(prior, 2)) == [[0, 1], [0, 0]]).all()
