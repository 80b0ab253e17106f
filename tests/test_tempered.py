"""Tempered partition MCMC: exact at three and four nodes; against the exact solver by sampling."""

import functools

import numba
import numpy as np
import pytest
from judging import SMALLEST_P, chain_probabilities, smallest_p_value
from plain_python import script_figures

import parnidag
from parnidag import EdgePrior, ParnidagError
from parnidag.samplers import Tempered
from parnidag.tables import ladder as ladders

figures = functools.partial(script_figures, "transitions_tempered.py")


def quick(data, **options):
    given = {"seed": 1, "draws": 200, "sampler": Tempered(), **options}
    return parnidag.sample(data, progress=False, **{"score": "paper", **given})


# --- exact, at three and four nodes ---------------------------------------------------------------------------------


def is_exact(found):
    moves = found["cold"], found["hot"], found["edges"], found["exchange"]
    return found["drawn"] < 1e-11 and all(
        move["escaped"] == 0.0 and move["stale"] < 1e-9 and move["rows"] < 1e-12 and move["reversibility"] < 1e-12
        for move in moves
    )


@pytest.mark.parametrize("prior", ["free", "constrained", "one parent", "an unlikely parent", "another g"])
def test_every_step_of_the_ladder_leaves_its_law_invariant(prior):
    found = figures("3", prior)
    assert is_exact(found)
    assert found["cold"]["irreducible"]
    assert found["hot"]["irreducible"]
    assert found["exchange"]["moves"] > 0.1
    assert found["hot"]["moves"] > found["cold"]["moves"]


def test_four_nodes_are_exact_too():
    assert is_exact(figures("4", "constrained"))


@pytest.mark.parametrize(
    "broken",
    ["in front is not ahead", "never alone first", "always exchanged", "wrong ratio", "nothing is taken away"],
)
def test_broken_twins_are_noticed(broken):
    assert not is_exact(figures("3", "free", broken))


def test_a_ladder_that_forgets_what_its_rungs_weigh_by_is_noticed():
    assert not is_exact(figures("3", "another g", "never apart"))


# --- against the exact solver -----------------------------------------------------------------------------------------

PRIORS = {
    "free": None,
    "constrained": EdgePrior(required=[("X0", "X1")], forbidden=[("X3", "X2"), ("X2", "X3")], max_parents=3),
    "tiers": EdgePrior(tiers=[["X0", "X1"], ["X2", "X3", "X4"]]),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_chains_agree_with_the_exact_solver(prior):
    data = parnidag.simulate(nodes=5, edges=6, rows=60, seed=8).values
    chosen = PRIORS[prior]
    posterior = quick(data, prior=chosen, chains=24, draws=150, thin=4)
    truth = parnidag.exact(data, score="paper", prior=chosen).edge_probabilities.to_numpy()
    assert smallest_p_value(chain_probabilities(posterior), truth) > SMALLEST_P


@pytest.mark.parametrize("score", ["bge", "bdeu"])
def test_other_scores_agree_too(score):
    values = parnidag.simulate(nodes=4, edges=4, rows=80, seed=3).values
    data = parnidag.Data((values > 0).astype(int), kind="discrete") if score == "bdeu" else parnidag.Data(values)
    posterior = quick(data, score=score, chains=24, draws=150, thin=4)
    truth = parnidag.exact(data, score=score).edge_probabilities.to_numpy()
    assert smallest_p_value(chain_probabilities(posterior), truth) > SMALLEST_P


@pytest.mark.parametrize("prior", [None, EdgePrior(h=parnidag.Beta(1, 4))])
def test_what_is_learned_has_its_exact_probabilities(prior):
    data = parnidag.simulate(nodes=4, edges=4, rows=60, seed=5).values
    posterior = quick(data, score=None, prior=prior, chains=24, draws=300, thin=10)
    truth = parnidag.exact(data, prior=prior)
    assert smallest_p_value(chain_probabilities(posterior), truth.edge_probabilities.to_numpy()) > SMALLEST_P
    found, exact = (np.mean(one.record.settings["learned"]["posterior"], axis=0) for one in (posterior, truth))
    assert abs(found - exact).max() < 0.05


def test_nodes_that_must_change_their_parts_together_do():
    """Only a → x is open; x → y and b → c are required, so that no single node can leave its part."""
    names = list("axybc")
    allowed = {("a", "x"), ("x", "y"), ("b", "c")}
    prior = EdgePrior(
        required=[("x", "y"), ("b", "c")],
        forbidden=[(i, j) for i in names for j in names if i != j and (i, j) not in allowed],
    )
    data = parnidag.Data(np.random.default_rng(3).normal(size=(40, 5)), names=names)
    truth = parnidag.exact(data, score="paper", prior=prior).edge_probabilities.loc["a", "x"]
    found = quick(data, prior=prior, draws=500).edge_probabilities.loc["a", "x"]
    assert 0.02 < truth < 0.98
    assert found == pytest.approx(truth, abs=0.03)


def test_modes_that_trap_other_chains_are_crossed():
    """Fourteen nodes with 60 edges: chains of PARNI stay where they start, by the exact solver wrong by up to 1."""
    data = parnidag.simulate(nodes=14, edges=60, rows=1000, seed=1).values
    posterior = quick(data, draws=1000)
    truth = parnidag.exact(data, score="paper").edge_probabilities.to_numpy()
    assert abs(posterior.edge_probabilities.to_numpy() - truth).max() < 0.15
    assert posterior.record.statistics["round_trips"].min() > 20


# --- what it is made of -----------------------------------------------------------------------------------------------


@numba.njit
def space_anew(arrays):
    ladders.space_anew(ladders.open_ladder(arrays))


def test_the_ladder_is_spaced_so_that_all_pairs_refuse_equally_often():
    arrays = ladders.make_ladder(np.zeros(3, np.int64), np.geomspace(1.0, 0.1, 5))
    arrays.exchanges[:] = 100
    arrays.refusals[:] = [80.0, 40.0, 20.0, 20.0]
    before = arrays.powers.copy()
    space_anew(arrays)
    after = arrays.powers
    assert after[0] == 1.0
    assert after[-1] == before[-1]
    assert (np.diff(after) < 0).all()
    # A quarter of the refusals, 40 of 160, is half-way through the first pair.
    assert after[1] == pytest.approx((before[0] + before[1]) / 2)
    assert after[2] == pytest.approx(before[1])
    assert after[3] == pytest.approx(before[2])


def test_too_many_nodes_and_spaces_are_refused():
    with pytest.raises(ParnidagError, match=r"at most 22 nodes, got 23.*PARNI"):
        quick(np.random.default_rng(1).normal(size=(50, 23)))
    small = np.random.default_rng(1).normal(size=(50, 4))
    with pytest.raises(ParnidagError, match="has no use for a search space"):
        quick(small, space=np.ones((4, 4)) - np.eye(4))
    with pytest.raises(ParnidagError, match="rungs must be"):
        Tempered(rungs=0)
    with pytest.raises(ParnidagError, match="hottest must be"):
        Tempered(hottest=0.0)


def test_one_rung_is_a_plain_walk():
    data = np.random.default_rng(1).normal(size=(50, 4))
    assert quick(data, sampler=Tempered(rungs=1)).graphs.shape == (4, 200, 4, 4)


def test_a_run_goes_on_from_its_checkpoint_to_the_bit(tmp_path):
    data = np.random.default_rng(2).normal(size=(60, 5))
    straight = quick(data, draws=60, tune=200)
    for draws in (20, 60):
        resumed = quick(data, draws=draws, tune=200, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(straight.graphs, resumed.graphs)
    np.testing.assert_array_equal(straight.edge_probabilities, resumed.edge_probabilities)
