"""Search spaces that grow: what they find, what they keep to, and what `sample` does with them."""

from __future__ import annotations

import numpy as np
import pytest
from judging import SMALLEST_P, chain_probabilities, smallest_p_value

import parnidag
from parnidag import EdgePrior, ParnidagError, api, samplers, scores, space
from parnidag.data import Data
from parnidag.kernels.problem import FREE
from parnidag.samplers.parni import settings as parni
from parnidag.samplers.parni.start import initialise
from parnidag.space import default
from parnidag.space.default import FEW_NODES, default_skeleton, grown
from parnidag.space.expansion import expand, strongest
from parnidag.target import Target


@pytest.fixture(scope="module")
def network():
    return parnidag.simulate(nodes=20, edges=30, rows=150, seed=3)


@pytest.fixture(scope="module")
def target(network):
    return Target.build(Data(network.values, names=network.names), scores.Gaussian(), EdgePrior(h="paper"))


def quick(data, **options):
    return parnidag.sample(
        data, score="paper", progress=False, **{"seed": 1, "draws": 40, "thin": 50, "chains": 2, **options}
    )


def test_expansion_mends_a_skeleton_that_misses_edges(network, target):
    """From no candidates at all the search ends where it ends from the PC skeleton, and beats the true graph."""
    true_graph = np.zeros((20, 20), bool)
    for parent, child in network.edges:
        true_graph[network.names.index(parent), network.names.index(child)] = True
    from_pc = space.iterative(network.values, score="paper", seed=1)
    from_nothing = space.iterative(network.values, skeleton=np.zeros((20, 20)), score="paper", seed=1)
    for found in (from_pc, from_nothing):
        assert found.log_posterior == pytest.approx(target.log_posterior(found.best), abs=1e-8)
        assert found.log_posterior >= target.log_posterior(true_graph) - 1e-8
        scores_by_round = [entry.log_posterior for entry in found.rounds]
        assert found.log_posterior == pytest.approx(max(scores_by_round), abs=1e-8)
        assert scores_by_round[0] < max(scores_by_round)
        missing = found.best & ~found.considered
        assert not missing.any()  # what was found became candidates
    assert from_nothing.log_posterior == pytest.approx(from_pc.log_posterior, abs=1e-6)


def test_the_same_seed_grows_the_same_space(network):
    first, again = (space.iterative(network.values, seed=7) for _ in range(2))
    assert np.array_equal(first.considered, again.considered)
    assert np.array_equal(first.best, again.best)
    assert [entry[:2] for entry in first.rounds] == [entry[:2] for entry in again.rounds]


def test_an_expansion_keeps_to_the_prior_and_to_its_bounds(network):
    everywhere = space.iterative(network.values, score="paper", seed=1)
    i, j = np.argwhere(everywhere.best)[0].tolist()
    a, b = np.argwhere(everywhere.best)[-1].tolist()
    prior = EdgePrior(forbidden=[(i, j)], required=[(b, a)], max_parents=2)
    found = space.iterative(network.values, prior=prior, max_candidates=3, seed=1)
    assert not found.considered[i, j]
    assert not found.considered[a, b]  # its opposite is required
    assert found.best[b, a]
    assert found.best.sum(axis=0).max() <= 2
    assert found.considered.sum(axis=0).max() <= 3


@pytest.mark.parametrize(
    ("options", "limit"), [({}, 3), ({"max_conditioning": 1}, 1), ({"max_conditioning": None}, None)]
)
def test_the_first_tests_have_the_limit_of_the_default(network, monkeypatch, options, limit):
    asked = []

    def recorded(data, *, alpha, max_conditioning):
        asked.append((alpha, max_conditioning))
        return space.pc(data, alpha, max_conditioning)

    monkeypatch.setattr(default, "pc", recorded)
    space.iterative(network.values, seed=1, **options)
    assert asked == [(0.05, limit)]


def test_an_expansion_ends_though_a_hub_has_more_neighbours_than_candidates():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300, 30))
    values[:, 1:20] += values[:, [0]]
    found = space.iterative(values, seed=1)
    assert found.considered.sum(axis=0).max() == 12
    assert len(found.rounds) <= 10
    assert (found.best[0, 1:20] | found.best[1:20, 0]).all()


def test_the_best_graph_of_the_search_is_kept_wherever_chains_start(network):
    posterior = quick(network.values, sampler=samplers.IterativeMCMC(), start="empty", draws=2, thin=1, tune=0)
    assert posterior.best.log_posterior >= posterior.space.log_posterior - 1e-8
    assert np.array_equal(posterior.best.adjacency, posterior.space.best)


def test_parni_searches_its_start_on_a_part_of_a_rich_space():
    values = parnidag.simulate(nodes=17, edges=20, rows=60, seed=1).values
    posterior = quick(values, space=1 - np.eye(17), chains=2)
    assert posterior.space.considered.sum() == 17 * 16


def test_sampled_expansion_adds_probable_edges():
    values = parnidag.simulate(nodes=14, edges=20, rows=150, seed=3).values
    start = np.zeros((14, 14))
    few = space.iterative(values, skeleton=start, by="sampled", threshold=0.95, seed=1)
    many = space.iterative(values, skeleton=start, by="sampled", threshold=0.2, seed=1)
    assert 0 < few.considered.sum() < many.considered.sum()
    probable = parnidag.exact(values, score="paper").edge_probabilities.to_numpy()
    certain = (probable + probable.T) > 0.98
    assert (many.considered | ~certain).mean() > 0.98  # edges beyond doubt are candidates


def test_without_memory_for_a_parent_from_outside_there_is_one_search(target):
    considered = strongest(target, ~np.eye(20, dtype=bool), None, 3)
    found = expand(target, considered, seed=1, memory=5_000)
    assert len(found.rounds) == 1
    assert not (found.best & ~considered).any()
    with pytest.raises(ParnidagError, match="larger memory="):
        expand(target, considered, seed=1, memory=500)


def test_strongest_prefers_used_neighbours_then_correlation(target):
    gram = target.problem.table.gram[0]
    correlation = np.abs(gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram))))
    everything = ~np.eye(20, dtype=bool)
    used = np.zeros((20, 20), bool)
    weakest = int(np.where(everything[:, 0], correlation[:, 0], 2.0).argmin())
    used[0, weakest] = True
    kept = strongest(target, everything, used, 4)
    assert (kept.sum(axis=0) == 4).all()
    assert kept[weakest, 0]
    others = np.flatnonzero(kept[:, 0] & (np.arange(20) != weakest))
    ranked = np.argsort(-np.where(everything[:, 0], correlation[:, 0], -1.0))
    assert set(others) == set(ranked[:3].tolist())


def test_few_nodes_consider_every_parent(target):
    small = parnidag.simulate(nodes=FEW_NODES, edges=12, rows=50, seed=1)
    few = Target.build(Data(small.values), scores.Gaussian(), EdgePrior(forbidden=[(0, 1)], required=[(1, 2)]))
    skeleton = default_skeleton(Data(small.values), few)
    assert np.array_equal(skeleton.considered, few.problem.status == FREE)
    assert skeleton.considered.sum() == FEW_NODES * (FEW_NODES - 1) - 3
    assert grown(few, skeleton, 1) is skeleton
    assert default_skeleton(Data(np.random.default_rng(1).normal(size=(30, 20))), target).considered.sum() < 380


@pytest.mark.parametrize(
    "sampler",
    [samplers.PARNI(), samplers.OrderMCMC(), samplers.PartitionMCMC(), samplers.IterativeMCMC(), samplers.REV()],
    ids=lambda sampler: sampler.name,
)
def test_every_sampler_accepts_a_grown_space_and_saves_it(network, sampler, tmp_path):
    found = space.iterative(network.values, score="paper", seed=1)
    posterior = quick(network.values, sampler=sampler, space=found)
    assert (posterior.space.considered | ~found.considered).all()
    posterior.save(tmp_path / "result.nc")
    loaded = parnidag.load(tmp_path / "result.nc").space
    assert np.array_equal(loaded.considered, posterior.space.considered)
    assert loaded.rounds == posterior.space.rounds
    again = quick(network.values, sampler=sampler, space=loaded)
    assert again.space.considered.any()


def test_the_result_of_iterative_mcmc_has_the_best_graph_and_the_space(network):
    posterior = quick(network.values, sampler=samplers.IterativeMCMC())
    assert len(posterior.space.rounds) > 1
    assert posterior.best.log_posterior >= posterior.space.log_posterior - 1e-8
    notes = posterior.diagnostics().caveats
    assert any("orders" in note for note in notes)
    assert any("search space" in note for note in notes)
    assert "search space" in posterior.diagnostics().timings
    assert set(posterior.diagnostics().move_acceptance) == {"local swap", "global swap", "relocate"}
    narrow = quick(network.values, sampler=samplers.IterativeMCMC(plus_one=False))
    outside = narrow.edge_probabilities.to_numpy()[~narrow.space.considered]
    assert outside.max() == 0.0


def test_samplers_without_a_space_have_none_and_say_so(network):
    assert quick(network.values, sampler=samplers.ADR()).space is None
    with pytest.raises(ParnidagError, match="space is not used by ADR"):
        quick(network.values, sampler=samplers.ADR(), space=np.zeros((20, 20)))


def test_a_skeleton_steers_the_warm_start_and_forbids_nothing():
    """With the wrong skeleton the answer stays right, since every other edge remains possible."""
    table = parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values
    exact = parnidag.exact(table, score="paper").edge_probabilities.to_numpy()
    for skeleton in (space.pc(table, alpha=0.05), space.pc(table, alpha=0.0), np.roll(np.eye(9), 1, axis=1)):
        found = quick(table, space=skeleton, chains=16, draws=500, thin=200)
        assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P
    assert len(found.settings["space"]["edges"]) == 18


def test_a_space_that_is_too_rich_is_refused_before_it_is_built():
    wide = np.random.default_rng(1).normal(size=(60, 40))
    for sampler in (samplers.PARNI(), samplers.OrderMCMC()):
        with pytest.raises(ParnidagError, match=r"space: .* 39 candidate parents"):
            quick(wide, sampler=sampler, space=1 - np.eye(40))


# ── what `sample` makes of the initialiser ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def asked(monkeypatch):
    """For how many chains the initialiser is asked, and which candidates the warm start gets."""
    calls = {"chains": [], "warm": []}

    def recorded_initialise(target, considered, seed, chains):
        calls["chains"].append(chains)
        return initialise(target, considered, seed, chains)

    def recorded_warm_start(target, kappa, considered):
        calls["warm"].append(considered)
        return warm_start(target, kappa, considered)

    warm_start = parni.warm_start
    monkeypatch.setattr(parni, "initialise", recorded_initialise)
    monkeypatch.setattr(parni, "warm_start", recorded_warm_start)
    return calls


@pytest.fixture(autouse=True)
def without_exact_checks(monkeypatch):
    """These tests are about where chains begin, not about what twenty columns say when all graphs are added up."""
    monkeypatch.setattr(api, "check_of_chains", lambda target: None)


SHORTEST = {"draws": 4, "thin": 5, "tune": 0, "chains": 3}


def starts_of(posterior):
    return [set(start.tolist()) for start in posterior.record.starts]


def test_by_default_chains_start_where_the_initialiser_ends(network, target, asked):
    posterior = quick(network.values, **SHORTEST)
    assert asked["chains"] == [3]
    assert {"skeleton", "initialiser", "tables", "warm start"} <= posterior.diagnostics().timings.keys()
    found = initialise(target, default_skeleton(Data(network.values), target).considered, 1, 3)
    assert starts_of(posterior) == [set(np.flatnonzero(graph).tolist()) for graph in found.starts]
    assert np.array_equal(posterior.space.considered, found.space.considered)
    assert np.array_equal(posterior.space.considered, asked["warm"][0])
    assert posterior.best.log_posterior >= found.space.log_posterior - 1e-6
    assert posterior.diagnostics().caveats == []


@pytest.mark.parametrize("edges", [0, 1])
def test_given_starts_are_kept_and_the_default_space_grows_all_the_same(network, asked, edges):
    graph = np.zeros((20, 20), bool)
    graph[0, 1] = edges
    posterior = quick(network.values, start=graph if edges else "empty", **SHORTEST)
    assert starts_of(posterior) == [set(np.flatnonzero(graph).tolist())] * 3
    assert asked["chains"] == [1]  # it grows the space, and finds no starts
    assert len(posterior.space.rounds) > 0
    assert np.array_equal(posterior.space.considered, asked["warm"][0])
    assert not (posterior.space.best & ~posterior.space.considered).any()


def test_a_given_space_is_used_as_it_is(network, asked):
    thin = np.zeros((20, 20), bool)
    thin[0, 1:4] = thin[1:4, 0] = True
    posterior = quick(network.values, space=thin, **SHORTEST)
    assert asked["chains"] == [3]
    assert "initialiser" in posterior.diagnostics().timings
    assert np.array_equal(posterior.space.considered, thin)
    assert np.array_equal(asked["warm"][0], thin)
    assert all(len(start) > 10 for start in starts_of(posterior))  # though the space has three pairs
    given = quick(network.values, space=thin, start="empty", **SHORTEST)
    assert asked["chains"] == [3]  # not asked again
    assert "initialiser" not in given.diagnostics().timings
    assert np.array_equal(given.space.considered, thin)


def test_nothing_is_searched_when_starts_are_given_and_every_parent_is_considered(asked):
    few = parnidag.simulate(nodes=5, edges=5, rows=50, seed=1).values
    posterior = quick(few, start="empty", **SHORTEST)
    assert "initialiser" not in posterior.diagnostics().timings
    assert asked["chains"] == []
    assert posterior.space.considered.sum() == 20


def test_the_settings_tell_searched_starts_from_given_ones(network, tmp_path):
    first = quick(network.values, **SHORTEST)
    assert first.settings["start"] == "searched"
    for options, expected in (
        ({"start": "empty"}, "given"),
        ({"start": first}, "given"),
        ({"space": first}, "searched"),
        ({"sampler": samplers.OrderMCMC()}, "searched"),
        ({"sampler": samplers.OrderMCMC(), "start": "empty"}, "given"),
        ({"sampler": samplers.ADR()}, "given"),
        ({"sampler": samplers.MC3(), "start": "empty"}, "given"),
    ):
        assert quick(network.values, **SHORTEST, **options).settings["start"] == expected
    first.save(tmp_path / "first.nc")
    assert parnidag.load(tmp_path / "first.nc").settings["start"] == "searched"


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "worst"}, "by must be"),
        ({"threshold": 0.0}, "threshold must be"),
        ({"max_candidates": 0}, "max_candidates must be"),
        ({"memory": -1}, "memory must be"),
        ({"seed": -1}, "seed must be"),
        ({"skeleton": "pc"}, "space: 'pc' is not understood"),
        ({"alpha": 2}, "alpha must be"),
        ({"max_conditioning": -1}, "max_conditioning must be"),
    ],
)
def test_mistakes_are_named(network, options, message):
    with pytest.raises(ParnidagError, match=message):
        space.iterative(network.values, **options)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (samplers.OrderMCMC, {"plus_one": "yes"}, "plus_one must be"),
        (samplers.OrderMCMC, {"memory": 0}, "memory must be"),
        (samplers.OrderMCMC, {"graph_every": 0}, "graph_every must be"),
        (samplers.PartitionMCMC, {"graph_every": 1.5}, "graph_every must be"),
        (samplers.IterativeMCMC, {"by": "worst"}, "by must be"),
        (samplers.IterativeMCMC, {"threshold": 2}, "threshold must be"),
        (samplers.REV, {"probability": 2}, "probability must be"),
    ],
)
def test_settings_of_samplers_are_checked(kind, options, message):
    with pytest.raises(ParnidagError, match=message):
        kind(**options)
