"""`sample` and `exact` from end to end: the right posterior, the same bits everywhere, honest errors."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
import reference
from judging import (
    SMALLEST_P,
    FlatScore,
    assert_same_run,
    chain_probabilities,
    graph_p_value,
    short_segments,
    smallest_p_value,
)

import parnidag
from parnidag import EdgePrior, ParnidagError, samplers, scores
from parnidag.data import Data
from parnidag.results import assemble
from parnidag.run import loop as run_module
from parnidag.samplers.parni.mixture import PRESETS
from parnidag.target import Target

SAMPLERS = {
    "MC3": samplers.MC3(),
    "ADR": samplers.ADR(),
    "mixed": samplers.PARNI(moves=PRESETS["mixed"]),
    "gibbs": samplers.PARNI(moves="paper"),
    "printed": samplers.PARNI(kernel="printed", moves="paper"),
    "paper": samplers.PARNI(kernel="printed", eta="paper", adapt="always", moves="paper"),
    "REV": samplers.REV(probability=0.2),
    "partition": samplers.PartitionMCMC(graph_every=4),
}
PRIORS = {
    "free": EdgePrior(h="paper"),
    "constrained": EdgePrior(h=0.3, required=[(0, 2)], forbidden=[(3, 1), (1, 0)], max_parents=2),
}


def quick(data, **options):
    return parnidag.sample(data, progress=False, **{"score": "paper", "seed": 1, "draws": 100, **options})


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_four_nodes_against_enumeration(name, prior):
    values = reference.small_values(4)
    target = Target.build(Data(values), scores.Gaussian(), PRIORS[prior])
    graphs, posterior, log_scores = reference.enumerate_posterior(target, values, 10.0)
    exact_edges = np.einsum("g,gij->ij", posterior, np.array(graphs))
    steps = 200 if name in ("MC3", "ADR", "REV") else 30
    found = quick(values, prior=PRIORS[prior], sampler=SAMPLERS[name], chains=16, draws=1000, thin=steps, tune=20_000)
    assert smallest_p_value(chain_probabilities(found), exact_edges) > SMALLEST_P
    # the stored graphs visit every DAG in proportion to its posterior; draws this far apart are nearly independent
    assert graph_p_value(found.graphs, graphs, posterior) > SMALLEST_P
    # and each carries its own score
    first = found.graphs[0, 0]
    assert found.log_posterior[0, 0] == pytest.approx(
        log_scores[next(k for k, graph in enumerate(graphs) if (graph == first).all())], rel=1e-11
    )


def test_the_comparison_notices_a_slightly_wrong_posterior():
    """The broken twin of the checks above: the same chains against another prior."""
    values = reference.small_values(4)
    other = Target.build(Data(values), scores.Gaussian(), EdgePrior(h=0.27))
    graphs, posterior, _ = reference.enumerate_posterior(other, values, 10.0)
    wrong_edges = np.einsum("g,gij->ij", posterior, np.array(graphs))
    found = quick(values, chains=16, draws=1000, thin=30, tune=20_000)
    assert smallest_p_value(chain_probabilities(found), wrong_edges) < SMALLEST_P


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("ADR", "gibbs", "printed", "paper", "REV", "partition")]


@pytest.mark.parametrize("name", ["mixed", *SLOW])
def test_ten_nodes_against_the_exact_referee(name):
    table = parnidag.simulate(nodes=10, edges=14, rows=40, seed=11)
    exact = parnidag.exact(table.values, score="paper").edge_probabilities.to_numpy()
    thin = 2_000 if name == "ADR" else 200
    found = quick(table.values, sampler=SAMPLERS[name], chains=16, draws=1000, thin=thin, tune=50_000)
    assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P


def test_prior_alone_has_its_known_marginals():
    values = np.random.default_rng(0).normal(size=(10, 11))
    exact = parnidag.exact(values, score=FlatScore(), prior="paper")
    probabilities = exact.edge_probabilities.to_numpy()
    assert probabilities[~np.eye(11, dtype=bool)] == pytest.approx(0.07776, abs=5e-6)
    assert probabilities.sum() == pytest.approx(8.55, abs=5e-3)
    found = quick(values, score=FlatScore(), prior="paper", chains=16, draws=500, thin=200)
    assert smallest_p_value(chain_probabilities(found), probabilities) > SMALLEST_P


def test_required_and_forbidden_edges_hold_in_every_graph():
    table = parnidag.simulate(nodes=6, edges=7, rows=60, seed=2)
    prior = EdgePrior(required=[("V1", "V2")], forbidden=[("V3", "V4")], tiers=[["V1", "V2"], ["V3", "V4", "V5", "V6"]])
    data = Data(table.values, names=table.names)
    for posterior in (quick(data, prior=prior), parnidag.exact(data, score="paper", prior=prior, draws=50, seed=3)):
        graphs = posterior.graphs.reshape(-1, 6, 6)
        assert graphs[:, 0, 1].all()
        assert not graphs[:, 2, 3].any()
        assert not graphs[:, 2:, :2].any()
        probabilities = posterior.edge_probabilities
        assert probabilities.loc["V1", "V2"] == 1.0
        assert probabilities.loc["V3", "V4"] == 0.0
        assert posterior.best.adjacency[0, 1]


def test_exact_and_sampled_log_posteriors_speak_of_the_same_thing():
    values = reference.small_values(4)
    exact = parnidag.exact(values, score="paper", draws=200, seed=1)
    target = Target.build(Data(values), scores.Gaussian(), EdgePrior(h="paper"))
    _, _, log_scores = reference.enumerate_posterior(target, values, 10.0)
    assert exact.log_evidence == pytest.approx(np.logaddexp.reduce(log_scores), rel=1e-12)
    sampled = quick(values)
    for chain, draw in ((0, 0), (3, 99)):
        graph = sampled.graph_at(chain, draw)
        assert sampled.log_posterior[chain, draw] == pytest.approx(target.log_posterior(graph), rel=1e-11)
    assert sampled.best.log_posterior == pytest.approx(max(log_scores), rel=1e-11)


# the same bits


@pytest.fixture(scope="module")
def table():
    return parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values


@pytest.mark.parametrize("name", SAMPLERS)
def test_threads_and_segment_lengths_do_not_change_a_bit(name, table, monkeypatch):
    options = {"sampler": SAMPLERS[name], "thin": 90}
    expected = quick(table, **options)
    with ThreadPoolExecutor(1) as single:
        assert_same_run(expected, quick(table, executor=single, **options))
    short_segments(monkeypatch, 7)
    assert_same_run(expected, quick(table, **options))


def test_seed_decides(table):
    assert_same_run(quick(table), quick(table))
    assert (quick(table, seed=2).log_posterior != quick(table).log_posterior).any()
    unseeded = quick(table, seed=None)
    assert_same_run(unseeded, quick(table, seed=unseeded.settings["seed"]))


def test_more_chains_leave_the_first_ones_as_they_are(table):
    few, many = quick(table, chains=2), quick(table, chains=3)
    assert (few.log_posterior == many.log_posterior[:2]).all()


# what is recorded


@pytest.mark.parametrize("name", SAMPLERS)
def test_counts_are_those_of_the_kept_iterations_and_no_others(name, table):
    posterior = quick(table, sampler=SAMPLERS[name], draws=700, thin=1, tune=300, chains=2)
    assert (posterior.record.batch_iterations.sum(axis=1) == 700).all()
    assert chain_probabilities(posterior) == pytest.approx(posterior.graphs.mean(axis=1), abs=1e-14)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_draw_is_stored_after_every_thin_iterations(name, table):
    every = quick(table, sampler=SAMPLERS[name], draws=600, thin=1, tune=100, chains=2)
    some = quick(table, sampler=SAMPLERS[name], draws=100, thin=6, tune=100, chains=2)
    assert (every.graphs[:, 5::6] == some.graphs).all()


def test_no_draw_is_lost_where_the_buffer_fills_up(monkeypatch):
    values = reference.small_values(4)
    options = {"draws": 5139, "thin": 1, "tune": 2000, "chains": 2, "sampler": samplers.ADR()}
    expected = quick(values, **options)
    assert expected.log_posterior.shape == (2, 5139)
    short_segments(monkeypatch, 50)
    assert_same_run(expected, quick(values, **options))


@pytest.mark.parametrize("name", SAMPLERS)
def test_best_graph_is_the_best_of_all_chains_with_its_own_score(name):
    table = parnidag.simulate(nodes=9, edges=14, rows=300, seed=6).values
    target = Target.build(Data(table), scores.Gaussian(), EdgePrior(h="paper"))
    short = {"sampler": SAMPLERS[name], "draws": 5, "thin": 1 if "P" in SAMPLERS[name].name else 20, "tune": 0}
    if SAMPLERS[name].name == "PARNI":  # its initialiser would find the best graph for every chain
        short |= {"start": "empty", "space": 1 - np.eye(9)}
    posterior = quick(table, chains=6, **short)
    assert posterior.best.log_posterior == pytest.approx(target.log_posterior(posterior.best.adjacency), rel=1e-13)
    assert posterior.best.log_posterior >= posterior.log_posterior.max() - 1e-6
    improved = 0
    for seed in range(5):
        so_far = [quick(table, chains=chains, seed=seed, **short).best.log_posterior for chains in range(1, 7)]
        assert so_far == sorted(so_far)
        improved += len(set(so_far)) - 1
    assert improved > 0  # a later chain found a better one


def test_the_start_counts_for_the_best_graph(table):
    best = quick(table, draws=500).best
    again = quick(table, start=best.adjacency, draws=1, thin=1, tune=0, chains=1, sampler=samplers.MC3())
    assert again.best.log_posterior == pytest.approx(best.log_posterior, rel=1e-13)


@pytest.mark.parametrize("name", ["MC3", "ADR"])
def test_acceptance_is_the_share_of_iterations_that_moved(name, table):
    posterior = quick(table, sampler=SAMPLERS[name], draws=3000, thin=1, tune=500, chains=1)
    graphs = posterior.graphs[0]
    moved = (graphs[1:] != graphs[:-1]).any(axis=(1, 2)).sum()
    accepted = posterior.record.statistics["acceptance"][0] * 3000
    assert moved <= accepted + 1e-6
    assert accepted <= moved + 1 + 1e-6  # the first iteration moves from a graph that is not stored


# starts, sizes, mistakes


def test_a_start_for_each_chain(table):
    starts = np.zeros((2, 9, 9), bool)
    starts[0, 0, 1] = starts[1, 2, 3] = starts[1, 3, 4] = True
    one_step = {"tune": 0, "thin": 1, "draws": 1, "chains": 2, "sampler": samplers.MC3(), "seed": 9}
    earlier = quick(table, chains=2)
    for given, expected in ((starts, starts), (earlier, earlier.graphs[:, -1])):
        found = quick(table, start=given, **one_step)
        for chain in range(2):
            assert (found.graph_at(chain, 0) != expected[chain]).sum() <= 1


WRONG = {
    "draws": (0, 2.5, None),
    "chains": (0,),
    "tune": (-1,),
    "thin": (0, True),
    "seed": (-3, "x"),
    "space": ("pc",),
    "start": ("full", np.ones((9, 9)), np.zeros((3, 3)), np.full((9, 9), 0.5), nx.DiGraph([("a", "b")]), 5),
    "sampler": ("parni",),
    "score": ("bayes", 3),
    "prior": (0.1,),
    "executor": (4,),
    "progress": ("yes",),
}


@pytest.mark.parametrize(
    ("options", "message"),
    [({name: value}, name) for name, values in WRONG.items() for value in values]
    + [
        ({"checkpoint": "no/such/folder/x"}, "the folder no/such/folder does not exist"),
        ({"checkpoint": 5}, "checkpoint must be the path of a file"),
        ({"output": "x.csv"}, r"output is a netCDF file, so name it \*.nc"),
        ({"output": "no/such/folder/x.nc"}, "output: cannot write"),
        ({"output": 3}, "output must be the path of a netCDF file"),
        ({"start": np.zeros((9, 9)), "prior": EdgePrior(required=[(0, 1)])}, "required but missing"),
        ({"sampler": samplers.PARNI}, r"call it: PARNI\(\)"),
    ],
)
def test_mistakes_are_named(table, options, message):
    with pytest.raises(ParnidagError, match=message):
        parnidag.sample(table, **{"seed": 1, "progress": False, **options})


def test_sampler_settings_are_checked():
    wrong = {"kernel": ("exact",), "eta": (None,), "adapt": ("never",), "target_evaluations": (0, "10")}
    wrong["kappa"] = (0.5, True, 1e-17)
    for name, value in ((name, value) for name, values in wrong.items() for value in values):
        with pytest.raises(ParnidagError, match=name):
            samplers.PARNI(**{name: value})


def test_exact_refuses_what_it_cannot_do():
    wide = np.random.default_rng(0).normal(size=(30, 40))
    with pytest.raises(ParnidagError, match="40"):
        parnidag.exact(wide, score="paper")
    with pytest.raises(ParnidagError, match="draws"):
        parnidag.exact(wide[:, :4], score="paper", draws=-1)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("nodes", [2, 3])
def test_the_smallest_tables_work(name, nodes):
    values = reference.small_values(nodes)
    exact = parnidag.exact(values, score="paper").edge_probabilities.to_numpy()
    found = quick(values, sampler=SAMPLERS[name], chains=16, draws=500, thin=50)
    assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P


def test_a_single_draw_and_no_tuning(table):
    posterior = quick(table, draws=1, thin=1, tune=0, chains=1)
    assert posterior.log_posterior.shape == (1, 1)
    assert repr(posterior)
    assert posterior.diagnostics().converged is not True


def test_nothing_free_to_move():
    """When the prior decides every edge the only graph is returned, by every sampler."""
    values = reference.small_values(3)
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    prior = EdgePrior(required=[(0, 1)], forbidden=[p for p in pairs if p not in ((0, 1), (1, 0))])
    for sampler in SAMPLERS.values():
        graphs = quick(values, prior=prior, sampler=sampler, draws=5).graphs
        assert graphs.sum() == graphs.shape[0] * graphs.shape[1]
        assert graphs[..., 0, 1].all()


# interruption


def enough_draws(logs):
    """Has every chain made at least 10 draws, 20 iterations apart after 1000?"""
    return logs and min(log.chain.iteration for log in logs) >= 1200


def interrupt_soon(monkeypatch, after):
    """Press Ctrl-C once `after(logs)` holds."""
    real = run_module.wait

    def impatient(waiting, **options):
        result = real(waiting, **options)
        logs = [value[0] for value in waiting.values() if isinstance(value, tuple)]
        if logs and after(logs):
            os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(run_module, "wait", impatient)


def test_ctrl_c_returns_what_there_is(table, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    interrupt_soon(monkeypatch, enough_draws)
    posterior = quick(table, draws=100_000, thin=20, tune=1000, chains=2)
    drawn = posterior.log_posterior.shape[1]
    assert posterior.settings["interrupted"]
    assert 10 <= drawn < 100_000
    assert np.isfinite(posterior.edge_probabilities.to_numpy()).all()
    monkeypatch.undo()
    expected = quick(table, draws=drawn, thin=20, tune=1000, chains=2)
    assert (posterior.log_posterior == expected.log_posterior).all()
    assert repr(posterior.diagnostics())
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_the_first_batch_claims_nothing(table, monkeypatch):
    interrupt_soon(monkeypatch, enough_draws)
    posterior = quick(table, draws=1_000_000, thin=20, tune=1000, chains=2)
    assert posterior.record.batch_iterations.shape[1] == 1
    assert posterior.diagnostics().rhat_edges_max is None
    assert posterior.diagnostics().converged is not True


def test_second_ctrl_c_gives_up(table, monkeypatch):
    real = run_module.Run._stop

    def stubborn(self, pool, waiting):
        os.kill(os.getpid(), signal.SIGINT)
        real(self, pool, waiting)

    interrupt_soon(monkeypatch, enough_draws)
    monkeypatch.setattr(run_module.Run, "_stop", stubborn)
    with pytest.raises(KeyboardInterrupt):
        quick(table, draws=100_000, thin=20, tune=1000, chains=2)


def test_ctrl_c_before_the_first_draw_has_nothing_to_return(table, monkeypatch):
    interrupt_soon(monkeypatch, lambda logs: True)
    with pytest.raises(KeyboardInterrupt):
        quick(table, tune=10**9, draws=10, chains=2)


def test_an_error_in_a_worker_reaches_the_caller(table):
    class Broken(samplers.ADR):
        def advance(self, target, chain, steps):
            raise RuntimeError("worker trouble")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="worker trouble"):
        quick(table, sampler=Broken())
    time.sleep(0.05)
    assert threading.active_count() <= before + 1


def test_rare_edges_keep_their_probability_when_details_are_bounded(table, monkeypatch):
    everything = quick(table, sampler=samplers.PARNI())
    monkeypatch.setattr(assemble, "DETAILED_EDGES", 10)
    bounded = quick(table, sampler=samplers.PARNI())
    assert len(bounded.record.edge_codes) == 10
    assert len(bounded.record.rare_codes) == len(everything.record.edge_codes) - 10
    difference = bounded.edge_probabilities - everything.edge_probabilities
    assert abs(difference.to_numpy()).max() < 1e-14
    assert bounded.summary(0.0)["mcse"].notna().sum() <= 10
