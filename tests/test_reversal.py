"""The edge reversal move and REV: exact at n = 3 and 4, right by sampling at 4, 5 and 10, the same bits everywhere."""

import functools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import reference
from judging import SMALLEST_P, assert_same_run, chain_probabilities, smallest_p_value
from plain_python import digest_of, plain_value, script_figures
from test_kernels import CONSTRAINTS, assert_state_is_consistent, weak_target
from test_moves import PRIORS, assert_exact

import parnidag
from parnidag import EdgePrior, ParnidagError, scores
from parnidag.data import Data
from parnidag.samplers.base import Asked, Prepared, new_chain
from parnidag.samplers.rev import REV
from parnidag.target import Target

NUMBER_OF_GRAPHS = {
    "free": 25,
    "constrained": 6,
    "one parent": 16,
    "a path through a required parent": 8,
    "no room beside the required parent": 4,
    "an unlikely parent": 25,
    "a hopeless parent": 25,
    "regulators": 17,
}
SPACES = ("full", "gaps", "gaps plus one")


figures = functools.partial(script_figures, "transitions_reversal.py")


# exact transition matrices


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", NUMBER_OF_GRAPHS)
@pytest.mark.parametrize("kernel", ["reversal", "REV"])
def test_posterior_is_invariant_over_all_graphs_of_three_nodes(kernel, prior, space):
    found = figures("three")[f"{kernel}, {prior}, {space}"]
    assert found["graphs"] == NUMBER_OF_GRAPHS[prior]
    assert_exact(found)
    if (prior, space) != ("no room beside the required parent", "gaps"):  # there no edge can be turned round
        assert found["moves"] > 0.02  # a kernel that never moves is invariant too
    if kernel == "REV":  # and all graphs are reached, so that there is no other law
        assert found["total_variation"] < 1e-10


@pytest.mark.parametrize("space", SPACES)
def test_posterior_is_invariant_over_all_graphs_of_four_nodes(space):
    found = figures("four")[f"reversal, {space}"]
    assert found["graphs"] == 128
    assert_exact(found)
    assert found["moves"] > 0.5


def test_states_outside_the_tables_are_met_only_where_there_are_some():
    outside = {name: found["outside"] for name, found in (figures("three") | figures("four")).items()}
    assert all(count == 0 for name, count in outside.items() if name.endswith(", full"))
    assert all(count > 0 for name, count in outside.items() if name.endswith(", gaps"))
    assert outside["reversal, free, gaps plus one"] > 0
    assert outside["reversal, gaps plus one"] > 0


@pytest.mark.parametrize(
    ("twin", "prior", "space"),
    [
        ("without edge counts", "free", "full"),
        ("wrong graph", "free", "full"),
        ("outside forgotten", "free", "gaps"),
        ("outside forgotten", "free", "gaps plus one"),
        ("children forgotten", "regulators", "full"),
    ],
)
def test_broken_variant_is_caught(twin, prior, space):
    broken = figures("three", twin)
    assert broken[f"reversal, {prior}, {space}"]["invariance"] > 1e-3
    assert broken[f"reversal, {prior}, {space}"]["rows"] < 1e-12
    assert broken[f"REV, {prior}, {space}"]["total_variation"] > 1e-3


def test_permitted_parents_are_those_of_the_definition():
    """Descendants in G⊙, G⊕ and G̃⊕ by brute force, in random graphs with required edges."""
    found = figures("levels")
    assert found["edges"] > 300
    assert found["impossible"] > 30
    assert found["wrong"] == 0


# sampling


def quick(data, **options):
    return parnidag.sample(data, progress=False, **{"seed": 1, "draws": 100, "sampler": REV(), **options})


def path_skeleton(n):
    """Neighbours in a row may be joined, others not."""
    return np.eye(n, k=1, dtype=int)


TABLES = {"full": (None, None), "path": (path_skeleton, False), "path plus one": (path_skeleton, True)}


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nodes", [4, 5])
def test_few_nodes_against_the_exact_posterior(nodes, prior, tables):
    values = reference.small_values(nodes)
    expected = parnidag.exact(values, prior=PRIORS[prior]).edge_probabilities.to_numpy()
    space, plus_one = TABLES[tables]
    found = quick(
        values,
        prior=PRIORS[prior],
        sampler=REV(probability=0.4, plus_one=plus_one),
        space=None if space is None else space(nodes),
        chains=16,
        draws=1000,
        thin=100,
        tune=5_000,
    )
    assert smallest_p_value(chain_probabilities(found), expected) > SMALLEST_P


def test_ten_nodes_against_the_exact_posterior():
    table = parnidag.simulate(nodes=10, edges=14, rows=40, seed=11)
    expected = parnidag.exact(table.values).edge_probabilities.to_numpy()
    found = quick(table.values, space=parnidag.space.pc(table.values), chains=16, draws=500, thin=1_000, tune=50_000)
    assert smallest_p_value(chain_probabilities(found), expected) > SMALLEST_P


# the state


def some_candidates(n, share=0.4):
    """A share of all pairs may be joined; if it is small, chains leave the tables again and again."""
    joined = np.triu(np.random.default_rng(3).random((n, n)) < share, 1)
    return joined | joined.T


def begin(sampler, target, considered):
    chain = new_chain(target, target.required, 1, 0)
    sampler.begin(target, sampler.prepare(target, Asked(considered)), chain, 0)
    return chain


@pytest.mark.parametrize("plus_one", [False, True])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_incremental_state_equals_recomputation(constraint, plus_one):
    target = weak_target(CONSTRAINTS[constraint])
    sampler = REV(probability=0.5, plus_one=plus_one)
    chain = begin(sampler, target, some_candidates(12))
    for _ in range(30):
        sampler.advance(target, chain, 3_000)
        assert_state_is_consistent(target, chain)
    totals = sampler.totals(chain)
    assert totals["edge_reversal_accepted"] > 500
    assert 0 < totals["edge_reversal_outside"] < totals["edge_reversal_tried"] - totals["edge_reversal_accepted"]
    assert not chain.graph.visits[target.problem.status == 0].any()
    assert chain.graph.degree.max() <= target.max_parents


def trajectory(iterations):
    """A digest of a chain's graph and counts after so many iterations, and its counters."""
    with np.errstate(over="ignore"):
        target = weak_target(CONSTRAINTS["constrained"], nodes=9)
        sampler = REV(probability=0.5)
        chain = begin(sampler, target, some_candidates(9))
        sampler.advance(target, chain, iterations)
    return [digest_of(chain.graph[:-2]), sampler.totals(chain)]


def test_compiled_kernels_make_the_same_moves_as_plain_python():
    """Ties the compiled code to the one whose transition matrices are enumerated."""
    compiled = trajectory(600)
    assert plain_value("test_reversal.trajectory(600)") == compiled
    assert compiled[1]["edge_reversal_accepted"] > 10


def test_chain_finds_its_way_from_a_start_outside_the_tables():
    target = weak_target(CONSTRAINTS["free"])
    start = np.triu(np.ones((12, 12), bool), 1)
    sampler = REV(probability=0.5, plus_one=False)
    chain = new_chain(target, start, 1, 0)
    sampler.begin(target, sampler.prepare(target, Asked(some_candidates(12))), chain, 0)
    sampler.advance(target, chain, 20)
    totals = sampler.totals(chain)
    assert totals["edge_reversal_outside"] == totals["edge_reversal_tried"] > 0
    sampler.advance(target, chain, 20_000)
    assert sampler.totals(chain)["edge_reversal_accepted"] > 0
    assert chain.edge_count < 40


# the same bits


@pytest.fixture(scope="module")
def table():
    return parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values


def test_other_processes_give_the_same_bits(table):
    options = {"draws": 30, "thin": 90, "space": path_skeleton(9)}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert_same_run(quick(table, **options), quick(table, executor=pool, **options))


# settings and counters


@pytest.mark.parametrize("probability", [-0.1, 1.0, 1.5, float("nan"), "often", None, True])
def test_wrong_probability_is_refused(probability):
    with pytest.raises(ParnidagError, match="probability must be a number from 0"):
        REV(probability=probability)


def test_settings_of_the_search_space_are_checked_too():
    with pytest.raises(ParnidagError, match="memory"):
        REV(memory=-1.0)
    with pytest.raises(ParnidagError, match="search space"):
        REV().prepare(weak_target(CONSTRAINTS["free"]), Asked())


def test_no_caveat_whatever_the_space(table):
    target = Target.build(Data(table), scores.Gaussian(), EdgePrior(h="paper"))
    sampler = REV(plus_one=False)
    prepared = sampler.prepare(target, Asked(path_skeleton(9).astype(bool), chains=3))
    assert isinstance(prepared, Prepared)
    assert not prepared.tables.covers_everything
    assert sampler.caveats(prepared) == []
    assert len(prepared.starts) == 3
    assert sampler.describe() == {"name": "REV", "plus_one": False, "memory": 2e9, "probability": 1 / 15}


def test_moves_are_counted_by_kind(table):
    target = Target.build(Data(table), scores.Gaussian(), EdgePrior(h="paper"))
    sampler = REV(probability=0.25)
    chain = begin(sampler, target, some_candidates(9))
    sampler.advance(target, chain, 40_000)
    totals = sampler.totals(chain)
    moves = ("add", "delete", "reverse", "edge_reversal")
    assert set(totals) == {
        "tried",
        "accepted",
        "edge_reversal_outside",
        *(f"{move}_{outcome}" for move in moves for outcome in ("tried", "accepted")),
    }
    assert totals["tried"] == 40_000 == sum(totals[f"{move}_tried"] for move in moves)
    assert totals["accepted"] == sum(totals[f"{move}_accepted"] for move in moves)
    error = np.sqrt(0.25 * 0.75 / 40_000)
    assert totals["edge_reversal_tried"] / 40_000 == pytest.approx(0.25, abs=5 * error)


def test_probability_zero_tries_the_moves_of_adr_alone(table):
    target = Target.build(Data(table), scores.Gaussian(), EdgePrior(h="paper"))
    sampler = REV(probability=0.0)
    chain = begin(sampler, target, some_candidates(9))
    sampler.advance(target, chain, 3_000)
    assert "edge_reversal_tried" not in sampler.totals(chain)
    assert sampler.totals(chain)["add_tried"] > 0
