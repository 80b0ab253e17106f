"""Partition MCMC: exact at three and four nodes; it, and order MCMC, against enumeration by sampling."""

import functools

import dags
import numpy as np
import pytest
import reference
import reference_spaces as twin
from judging import SMALLEST_P, chain_probabilities, graph_p_value, smallest_p_value
from plain_python import digest_of, plain_value, script_figures
from space_cases import LAWS, exact_laws, make_target

import parnidag
from parnidag import EdgePrior
from parnidag.exact_solver import sums as referee
from parnidag.samplers import OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Asked, new_chain
from parnidag.tables.partition_moves import MOVES as PARTITION_MOVES

MOVES = (*PARTITION_MOVES, "edge_reversal")
LOST_DIGITS = 1e-11
"""Sums keep 12 digits or more, see KEPT_DIGITS."""


def quick(data, **options):
    given = {"seed": 1, "draws": 100, "sampler": PartitionMCMC(), **options}
    return parnidag.sample(data, score="paper", progress=False, **given)


def begin(target, considered, start=None, **settings):
    sampler = PartitionMCMC(**settings)
    chain = new_chain(target, target.required if start is None else start, 1, 0)
    sampler.begin(target, sampler.prepare(target, Asked(considered)), chain, 0)
    return sampler, chain


# --- exact, at three and four nodes ---------------------------------------------------------------------------------


figures = functools.partial(script_figures, "transitions_partition.py")


PRIORS = ("free", "constrained", "one parent", "an unlikely parent", "a hopeless parent", "a parent only")
SPACES = ("full", "plus one", "extras only", "candidates only")
GRAPHS = {"free, full": (13, 25), "constrained, full": (4, 6), "one parent, full": (13, 16), "free, plus one": (13, 25)}


def assert_exact(moved):
    assert moved["escaped"] == 0.0
    assert moved["rows"] < 1e-12
    assert moved["invariance"] < 1e-12
    assert moved["reversibility"] < 1e-12
    assert moved["stale"] < LOST_DIGITS


@pytest.mark.parametrize("move", [*MOVES, "mixture"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", PRIORS)
def test_every_move_leaves_the_law_of_partitions_invariant(prior, space, move):
    found = figures("3")[f"{prior}, {space}"]
    assert (found["partitions"], found["graphs"]) == GRAPHS.get(
        f"{prior}, {space}", (found["partitions"], found["graphs"])
    )
    assert_exact(found["moves"][move])
    if prior in ("free", "one parent") and space != "candidates only":
        assert found["moves"][move]["moves"] > 0.1  # a move that never moves is exact too
    if move == "mixture" and prior != "a hopeless parent":
        assert found["moves"][move]["irreducible"]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", PRIORS)
def test_drawn_graphs_follow_the_posterior_exactly(prior, space):
    found = figures("3")[f"{prior}, {space}"]
    assert found["drawn"] < 1e-12
    assert found["reversed"] < 1e-12


@pytest.mark.parametrize("move", [*PARTITION_MOVES, "mixture"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", ["free", "constrained", "a parent only"])
def test_every_move_is_exact_with_four_nodes_too(prior, space, move):
    found = figures("4")[f"{prior}, {space}"]
    assert_exact(found["moves"][move])
    assert found["moves"][move]["moves"] > 0.04
    assert found["moves"]["mixture"]["irreducible"]
    assert figures("4")["free, full"]["partitions"] == 75
    assert figures("4")["free, full"]["graphs"] == 543


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        ("splits not counted", {"split_join"}),
        ("splits counted the wrong way", {"split_join"}),
        ("sizes not counted", {"split_join"}),
        ("neighbours forgotten", {"swap", "adjacent_swap", "move_node"}),
    ],
)
def test_a_broken_move_is_caught(broken, wrong):
    for found in figures("3", "free", broken).values():
        for name, moved in found["moves"].items():
            if name in wrong:
                assert moved["invariance"] > 5e-3
            elif name == "mixture":
                assert moved["invariance"] > 1e-3
            else:
                assert_exact(moved)


def test_a_correction_where_another_part_became_the_neighbour_is_caught():
    found = figures("3", "free", "too many shortcuts")
    for space in SPACES[1:]:
        assert found[f"free, {space}"]["moves"]["move_node"]["invariance"] > 5e-3


def test_bounds_only_save_time():
    """Bounds far too high change nothing but the number of decisions, unless the second one is left out."""
    loose, unconfirmed = (figures("3", "an unlikely parent", twin) for twin in ("loose bounds", "not confirmed"))
    for found in loose.values():
        for moved in found["moves"].values():
            assert_exact(moved)
    for space in ("full", "plus one", "candidates only"):
        for move in (*PARTITION_MOVES, "mixture"):
            assert unconfirmed[f"an unlikely parent, {space}"]["moves"][move]["invariance"] > 5e-3


def trajectory():
    """A digest of a chain's state after some hundred iterations."""
    values = parnidag.simulate(nodes=9, edges=12, rows=12, seed=4).values
    target = make_target(values, EdgePrior(h=0.4, required=[(0, 1), (5, 3)], forbidden=[(2, 4)], max_parents=4))
    considered = np.random.default_rng(2).random((9, 9)) < 0.3
    with np.errstate(over="ignore"):
        sampler, chain = begin(target, considered, plus_one=True)
        sampler.advance(target, chain, 1000)
    walk = chain.own.walk
    state = [*chain.graph[:-2], walk.order, walk.level, walk.values]
    return [digest_of(state), sampler.totals(chain)]


def test_compiled_kernels_make_the_same_moves_as_plain_python():
    """Ties the compiled code to the one whose transition matrices are enumerated."""
    compiled = trajectory()
    assert plain_value("test_partition.trajectory()") == compiled
    assert all(compiled[1][f"{move}_accepted"] >= 3 for move in MOVES)


# --- by sampling, at four to ten nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [OrderMCMC, PartitionMCMC])
@pytest.mark.parametrize("name", LAWS)
def test_sampled_graphs_follow_their_law_and_not_the_other(name, kind):
    """That of order MCMC is weighted by the number of orders, that of partition MCMC is the posterior."""
    n, prior, space, plus_one = LAWS[name]
    values = reference.small_values(n)
    graphs, posterior, weighted = exact_laws(values, prior, space, plus_one)
    law, other = (weighted, posterior) if kind is OrderMCMC else (posterior, weighted)
    sampler = kind(plus_one=plus_one)
    found = quick(values, prior=prior, space=space, sampler=sampler, chains=16, draws=1000, thin=10 * n, tune=1000)
    chains = chain_probabilities(found)
    assert smallest_p_value(chains, dags.edge_probabilities_of(graphs, law)) > SMALLEST_P
    assert smallest_p_value(chains, dags.edge_probabilities_of(graphs, other)) < SMALLEST_P
    # whole graphs too: after ten graphs that were not stored, draws are nearly independent
    assert graph_p_value(found.graphs, graphs, law) > SMALLEST_P


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior", [EdgePrior(h="paper"), EdgePrior(required=[(3, 1)], forbidden=[(0, 4)], max_parents=3)]
)
def test_ten_nodes_against_the_exact_referee(prior):
    table = parnidag.simulate(nodes=10, edges=14, rows=40, seed=11)
    exact = parnidag.exact(table.values, score="paper", prior=prior).edge_probabilities.to_numpy()
    found = quick(table.values, prior=prior, chains=16, draws=1000, thin=100, tune=20_000)
    assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P


@pytest.mark.slow
def test_ten_nodes_on_a_space_against_the_exact_solver_on_the_same_sets():
    values = parnidag.simulate(nodes=10, edges=14, rows=40, seed=11).values
    skeleton = np.abs(np.corrcoef(values.T)) > 0.35
    target = make_target(values)
    sets = twin.scored_sets(target, skeleton & ~np.eye(10, dtype=bool), True)
    log_weights = np.full((10, 2**9), -np.inf)
    for j, scored in enumerate(sets):
        for parents, score in scored.items():
            log_weights[j, dags.column_of(parents, j)] = score
    exact = referee.solve(log_weights).edge_probabilities
    everything = parnidag.exact(values, score="paper").edge_probabilities.to_numpy()
    assert abs(exact - everything).max() > 0.02  # so it matters which graphs the space holds
    sampler = PartitionMCMC(plus_one=True)
    found = quick(values, space=skeleton & ~np.eye(10, dtype=bool), sampler=sampler, chains=16, draws=1000, thin=100)
    assert smallest_p_value(chain_probabilities(found), exact) > SMALLEST_P
