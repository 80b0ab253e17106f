"""Ladders of PARNI chains: exact at three nodes, against the exact solver by sampling, and as default where needed."""

import functools
import itertools

import numpy as np
import pytest
from judging import SMALLEST_P, assert_same_run, chain_probabilities, smallest_p_value
from plain_python import script_figures

import parnidag
from parnidag import ParnidagError, api
from parnidag.data import Data
from parnidag.exact_solver import affordable
from parnidag.exact_solver.sums import add_up, bounded
from parnidag.priors.edge_prior import EdgePrior
from parnidag.run.loop import Run
from parnidag.samplers import PARNI
from parnidag.samplers.base import Asked, new_chain
from parnidag.samplers.parni import rungs
from parnidag.samplers.state import chain_state, restored_chain
from parnidag.scores import Gaussian
from parnidag.tables.all_sets import AllSets
from parnidag.target import Target

figures = functools.partial(script_figures, "transitions_rungs.py")
SMALL = parnidag.simulate(nodes=5, edges=6, rows=60, seed=8).values
DENSE = parnidag.simulate(nodes=14, edges=60, rows=1000, seed=1).values
TABLED = {"parni": 0.2, "regroup": 0.4, "edge_reversal": 0.4}


def quick(data=SMALL, **options):
    given = {"seed": 1, "draws": 40, "thin": 100, "sampler": PARNI(rungs=3), **options}
    return parnidag.sample(data, progress=False, **given)


@pytest.fixture
def short_rounds(monkeypatch):
    monkeypatch.setattr(rungs, "ROUND", 20)


# --- exact, at three nodes --------------------------------------------------------------------------------------------


def is_exact(found):
    return found["escaped"] == 0.0 and found["stale"] < 1e-9 and max(found["rows"], found["reversibility"]) < 1e-12


@pytest.mark.parametrize("prior", ["free", "constrained", "regulators"])
def test_an_exchange_leaves_the_product_of_both_laws_invariant(prior):
    found = figures(prior)
    assert is_exact(found)
    assert found["moves"] > 0.1


@pytest.mark.parametrize("broken", ["always", "wrong way round", "one law alone"])
def test_broken_twins_are_noticed(broken):
    assert not is_exact(figures("free", broken))


# --- against the exact solver -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "moves"),
    [
        (None, "mixed"),
        (None, TABLED),
        (EdgePrior(required=[("X0", "X1")], forbidden=[("X3", "X2"), ("X2", "X3")], max_parents=3), "mixed"),
    ],
    ids=["free", "tables", "constrained"],
)
def test_the_first_rung_agrees_with_the_exact_solver(short_rounds, prior, moves):
    posterior = quick(prior=prior, sampler=PARNI(rungs=3, hottest=0.2, moves=moves), chains=24, draws=200, thin=20)
    truth = parnidag.exact(SMALL, prior=prior).edge_probabilities.to_numpy()
    assert smallest_p_value(chain_probabilities(posterior), truth) > SMALLEST_P
    assert posterior.record.statistics["round_trips"].min() > 5


def ladder_chain(sampler, index=0, tune=2000):
    target = Target.build(Data(SMALL), Gaussian(g=10), EdgePrior(h="paper"))
    prepared = sampler.prepare(target, Asked(chains=1))
    chain = new_chain(target, target.required, 1, index)
    sampler.begin(target, prepared, chain, tune)
    return target, prepared, chain


def test_every_rung_follows_its_own_law(short_rounds):
    sampler, kept = PARNI(rungs=3, hottest=0.2, moves=TABLED), 6000
    seen = []
    for index in range(16):
        target, _, chain = ladder_chain(sampler, index)
        sampler.advance(target, chain, 2000)
        before = [rung.chain.graph.visits.copy() for rung in chain.rungs]
        sampler.advance(target, chain, kept)
        seen.append([(rung.chain.graph.visits - old) / kept for rung, old in zip(chain.rungs, before, strict=True)])
    for rung in range(2):
        sets = AllSets.of(chain.rungs[rung].target).sums
        truth = add_up(sets, bounded(sets)).edge_probabilities
        assert smallest_p_value(np.array([one[rung] for one in seen]), truth) > SMALLEST_P
    assert truth.max() < 0.9 * parnidag.exact(SMALL).edge_probabilities.to_numpy().max()


# --- segments, workers, checkpoints -----------------------------------------------------------------------------------


def test_a_chain_is_the_same_however_it_is_cut(short_rounds):
    sampler = PARNI(rungs=3)
    target, prepared, whole = ladder_chain(sampler)
    _, _, cut = ladder_chain(sampler)
    sampler.advance(target, whole, 500)
    for steps in (7, 33, 160, 300):
        sampler.advance(target, cut, steps)
        cut = restored_chain(target, sampler, prepared, 2000, 0, chain_state(cut))
    assert whole.iteration == cut.iteration == 500
    one, other = chain_state(whole), chain_state(cut)
    forgetful = {"graph.integers"}  # how often a score was remembered depends on where the chain has been
    for name in one.keys() - {f"{path}{name}" for path in ("", "rung1.", "rung2.") for name in forgetful}:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert whole.counts.accepted.sum() > 0


def test_processes_and_checkpoints_change_nothing(tmp_path):
    here = quick()
    assert_same_run(here, quick(executor=parnidag.processes(2)))
    quick(draws=15, tune=1000, checkpoint=tmp_path / "run.ckpt")
    extended = quick(tune=1000, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(extended.graphs, here.graphs)
    np.testing.assert_array_equal(extended.log_posterior, here.log_posterior)


def test_settings_are_checked():
    with pytest.raises(ParnidagError, match="rungs must be"):
        PARNI(rungs=0)
    with pytest.raises(ParnidagError, match="hottest must be"):
        PARNI(rungs=2, hottest=1.0)
    assert PARNI().graphs_of_a_chain == 1
    assert PARNI(rungs=4).graphs_of_a_chain == 4


# --- by default -------------------------------------------------------------------------------------------------------


@pytest.fixture
def by_chains(monkeypatch):
    """Let no table be exact, so that the default is what it is for more columns."""
    monkeypatch.setattr(affordable, "WALKED", 1.0)


def default(data, **options):
    return parnidag.sample(data, **{"draws": 100, "seed": 3, "progress": False, **options})


@functools.cache
def by_default():
    """What the first test that asks has sampled, by chains."""
    return default(DENSE)


def test_chains_that_disagree_go_on_as_ladders(by_chains, tmp_path):
    alone = default(DENSE, sampler=PARNI())
    assert alone.diagnostics().converged is False
    posterior = by_default()
    assert posterior.settings["sampler"]["rungs"] == api.LADDER.rungs
    assert posterior.settings["ladders_after"] == alone.diagnostics().verdict
    assert posterior.graphs.shape == alone.graphs.shape
    assert {"going on", "initialiser"} <= posterior.settings["timings"].keys()
    # every ladder begins where a chain of the first run ended
    starts = np.split(posterior.record.start_edges, posterior.record.start_offsets[1:-1])
    last = [np.flatnonzero(alone.graph_at(chain, 99)) for chain in range(4)]
    assert all(np.array_equal(start, end) for start, end in zip(starts, last, strict=True))
    assert any(not np.array_equal(one, other) for one, other in itertools.combinations(starts, 2))
    assert_same_run(posterior, default(DENSE, output=tmp_path / "posterior.nc"))
    assert "sampler=" not in posterior.report(tmp_path / "report.html").read_text().split("parnidag.sample(")[1][:300]


def test_a_checkpoint_changes_nothing(by_chains, tmp_path, monkeypatch):
    kept = tmp_path / "run.ckpt"
    with monkeypatch.context() as stopped:  # before its ladders
        stopped.setattr(api, "_further", lambda run: None)
        default(DENSE, checkpoint=kept)
    resumed = default(DENSE, checkpoint=kept)
    assert_same_run(resumed, by_default())
    assert_same_run(resumed, default(DENSE, checkpoint=kept))


def test_a_run_whose_sampler_was_chosen_keeps_it(by_chains, tmp_path):
    kept = tmp_path / "run.ckpt"
    alone = default(DENSE, sampler=PARNI(), checkpoint=kept)
    assert_same_run(alone, default(DENSE, checkpoint=kept))


def test_chains_that_agree_do_not(by_chains):
    assert default(SMALL).settings["sampler"]["rungs"] == 1


@pytest.mark.parametrize("options", [{"sampler": PARNI()}, {"thin": 500}, {"start": "empty"}])
def test_what_was_asked_for_is_done(by_chains, options):
    assert default(DENSE, **options).settings["sampler"]["rungs"] == 1


@pytest.mark.parametrize("limit", ["MOST_LADDER_NODES", "MOST_LADDER_ITERATIONS"])
def test_a_run_of_hours_is_not_made_longer(by_chains, monkeypatch, limit):
    monkeypatch.setattr(api, limit, 10)
    assert default(DENSE).settings["sampler"]["rungs"] == 1


def test_a_second_run_that_is_stopped_leaves_the_first(by_chains, monkeypatch):
    execute = Run.execute

    def stopped(run, executor, progress):
        if run.sampler.graphs_of_a_chain > 1:
            run.stopped = "SIGINT"
            raise KeyboardInterrupt
        execute(run, executor, progress)

    monkeypatch.setattr(Run, "execute", stopped)
    posterior = default(DENSE)
    assert posterior.settings["sampler"]["rungs"] == 1
    assert posterior.settings["interrupted"] is False
    assert posterior.graphs.shape[:2] == (4, 100)
