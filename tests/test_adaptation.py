"""PARNI's warm start, η and ω against the formulae of the paper, written out slowly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference

import parnidag
from parnidag import EdgePrior, samplers, scores
from parnidag.data import Data
from parnidag.kernels.declare import named
from parnidag.samplers.base import Asked, Prepared, new_chain
from parnidag.samplers.parni import warm_start as warmstart
from parnidag.samplers.parni.adaptation import next_refresh
from parnidag.target import Target


def naive_unconstrained(target, considered):
    """u_ij of Appendix C: all subsets of the candidates, alone and with one parent more, required ones always there."""
    n, status = target.n_nodes, target.problem.status
    u = np.zeros((n, n))
    for j in range(n):
        fixed = {i for i in range(n) if status[i, j] == 2}
        chosen = [i for i in range(n) if considered[i, j] and status[i, j] == 1]
        outside = [i for i in range(n) if status[i, j] == 1 and i not in chosen]
        sets = set()
        for k in range(len(chosen) + 1):
            for subset in itertools.combinations(chosen, k):
                sets |= {frozenset(fixed | set(subset) | extra) for extra in (set(), *({o} for o in outside))}
        sets = {s for s in sets if len(s) <= target.max_parents}
        logs = np.array([target.local(j, s) for s in sets])
        weights = np.exp(logs - logs.max())
        for s, weight in zip(sets, weights / weights.sum(), strict=True):
            u[list(s), j] += weight
    return u


@pytest.mark.parametrize(
    "prior",
    [EdgePrior(h="paper"), EdgePrior(required=[(0, 4), (2, 1)], forbidden=[(3, 0)]), EdgePrior(h=0.4, max_parents=2)],
    ids=["free", "constrained", "two parents"],
)
def test_warm_start_is_appendix_c(prior):
    target = Target.build(Data(reference.small_values(6)), scores.Gaussian(), prior)
    considered = np.random.default_rng(2).random((6, 6)) < 0.5  # so that there is an outside
    kappa = 0.02
    u = naive_unconstrained(target, considered)
    free = target.problem.status == 1
    shrunk = np.where(free, kappa + (1 - 2 * kappa) * u, 0.0)
    numerator = shrunk * (1 - shrunk.T)
    expected = numerator / (numerator + (1 - shrunk) * shrunk.T + (1 - shrunk) * (1 - shrunk.T))
    found = warmstart.warm_start(target, kappa, considered)
    assert found == pytest.approx(expected, rel=1e-10)
    assert (found[free] > 0).all()
    assert (found[~free] == 0).all()
    assert abs(found - found.T).max() > 0.01  # a transposed result would show


def adapted(sampler, tune, iterations, seed=3):
    target = Target.build(Data(reference.small_values(8, n_rows=30)), scores.Gaussian(), EdgePrior(h="paper"))
    chain = new_chain(target, target.required, seed, 0)
    sampler.begin(target, sampler.prepare(target, Asked()), chain, tune)
    sampler.advance(target, chain, iterations)
    return target, chain


def eta(chain):
    odds = chain.own.parni.eta_odds
    return odds / (1 + odds)


@pytest.mark.parametrize("kind", ["symmetric", "paper"])
def test_eta_follows_equation_9(kind):
    """At the end of tuning φ = ½, and the frequencies are those of all iterations before the last."""
    tune, kappa = 1000, 0.01
    _, before = adapted(samplers.PARNI(eta=kind), tune, tune - 1)
    _, chain = adapted(samplers.PARNI(eta=kind), tune, tune)
    warm, seen = chain.own.parni.warm, before.graph.visits / (tune - 1)
    off = ~np.eye(8, dtype=bool)
    if kind == "symmetric":
        mixed = kappa + (1 - 2 * kappa) * (0.5 * warm + 0.25 * (seen + seen.T))
        expected = np.maximum(mixed, 0.5 * warm + 0.5 * kappa)
    else:
        expected = kappa + (1 - 2 * kappa) * (0.5 * warm + 0.5 * seen)
    assert eta(chain)[off] == pytest.approx(expected[off], rel=1e-12)
    assert chain.own.parni.eta_logit[off] == pytest.approx(np.log(chain.own.parni.eta_odds[off]), rel=1e-12)


def test_tuning_freezes_eta_and_omega_and_always_goes_on():
    for adapt, moves_on in (("tune", False), ("always", True)):
        _, at_end = adapted(samplers.PARNI(adapt=adapt), 2000, 2000)
        _, later = adapted(samplers.PARNI(adapt=adapt), 2000, 20_000)
        assert (eta(at_end) != eta(later)).any() == moves_on
        assert (named(at_end.own.parni).omega != named(later.own.parni).omega) == moves_on


def test_kappa_bounds_eta():
    for kappa in (0.001, 0.2):
        _, chain = adapted(samplers.PARNI(kappa=kappa), 2000, 2000)
        off = ~np.eye(8, dtype=bool)
        assert eta(chain)[off].min() >= kappa * (1 - 1e-9)
        assert eta(chain)[off].max() <= 1 - kappa + 1e-9
        assert eta(chain)[off].min() < 2 * kappa + 0.01


@pytest.mark.parametrize("kernel", ["gibbs", "printed"])
@pytest.mark.parametrize("evaluations", [3.0, 10.0])
def test_omega_meets_the_target(kernel, evaluations):
    table = parnidag.simulate(nodes=30, edges=45, rows=60, seed=8)
    sampler = samplers.PARNI(kernel=kernel, target_evaluations=evaluations)
    posterior = parnidag.sample(table.values, sampler=sampler, draws=40, thin=500, tune=60_000, seed=1, progress=False)
    found = posterior.record.statistics["evaluations"]
    # Robbins–Monro with steps t^−0.7 leaves ω within some per cent of its root; the chain itself wanders
    assert found == pytest.approx(np.full(4, evaluations), rel=0.25)


def test_epochs_grow():
    assert next_refresh(10, 0) == 100
    assert next_refresh(1000, 0) == 10_000
    assert next_refresh(10, 100_000) == 105_000


def test_every_pair_is_in_its_bucket():
    """The table from which neighbourhoods are drawn holds each pair once, under a bound that covers it."""
    target = Target.build(Data(reference.small_values(8)), scores.Gaussian(), EdgePrior(h="paper"))
    chain = new_chain(target, target.required, 1, 0)
    sampler = samplers.PARNI(kappa=1e-7, moves="paper")
    sampler.begin(target, Prepared(warm=np.exp(np.random.default_rng(4).uniform(-14.0, -0.1, (8, 8)))), chain, 0)
    sampler.advance(target, chain, 1)
    own = chain.own.parni
    a = np.minimum(1.0, own.eta_odds)
    chance = a + a.T - a * a.T
    pairs = own.pairs[: own.bucket_start[-1]]
    assert sorted(pairs.tolist()) == sorted(i << 16 | j for i in range(8) for j in range(i + 1, 8))
    for bucket in range(len(own.bucket_bound)):
        members = own.pairs[own.bucket_start[bucket] : own.bucket_start[bucket + 1]]
        found = chance[members >> 16, members & 0xFFFF]
        if members.size:
            assert own.bucket_bound[bucket] == pytest.approx(found.max(), rel=1e-15)
    assert chance[~np.eye(8, dtype=bool)].min() < 2.0**-11  # the last bucket, which takes the rest, is used
