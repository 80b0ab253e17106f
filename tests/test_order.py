"""Order MCMC: its moves are exact at three nodes, and its chains stay in step. `test_partition.py` samples its law."""

import functools
from dataclasses import replace

import dags
import numpy as np
import pytest
import reference_spaces as twin
from plain_python import digest_of, plain_value, script_figures
from space_cases import CONSTRAINED, make_target
from test_kernels import assert_state_is_consistent
from test_sums import build, far_apart, rewritten

import parnidag
from parnidag import EdgePrior, samplers
from parnidag.graphs.adjacency import random_topological_order
from parnidag.kernels import random as _random
from parnidag.kernels.jit import entry
from parnidag.kernels.score_cache import make_scratch
from parnidag.samplers.base import Asked, new_chain
from parnidag.space.search import best_inside
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.orders import MOVES, make_order, open_order, order_step, value_all, value_of
from parnidag.target import lay_graph


def begin(target, considered, sampler=None, seed=1, plus_one=None):
    sampler = samplers.OrderMCMC(plus_one=plus_one) if sampler is None else sampler
    chain = new_chain(target, target.required, seed, 0)
    sampler.begin(target, sampler.prepare(target, Asked(considered)), chain, 0)
    return sampler, chain


# --- exact, at three nodes ------------------------------------------------------------------------------------------


figures = functools.partial(script_figures, "transitions_order.py")


CASES = [
    f"{prior}, {space}"
    for prior in ("free", "constrained", "one parent")
    for space in ("full", "plus one", "candidates only", "extras only")
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("move", [*MOVES, "mixture"])
def test_every_move_leaves_the_law_of_orders_invariant(case, move):
    found = figures()[case]
    assert found["orders"] == (3 if "constrained" in case else 6)
    assert found["spread"] > 0.01  # a uniform law would forgive almost anything
    moved = found["moves"][move]
    assert moved["escaped"] == 0.0
    assert moved["rows"] < 1e-12
    assert moved["invariance"] < 1e-12
    assert moved["reversibility"] < 1e-12
    assert moved["stale"] < 1e-12
    assert moved["moves"] > 0.04
    assert moved["irreducible"]


@pytest.mark.parametrize("case", CASES)
def test_graphs_are_drawn_with_their_weight_times_the_number_of_their_orders(case):
    found = figures()[case]
    assert found["graphs"] == found["possible"] > 1
    assert found["graph_law"] < 1e-12
    assert found["bias"] > 0.05  # which is not the posterior


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [("swap forgets those between", {"global_swap", "mixture"}), ("old sums", {*MOVES, "mixture"})],
)
def test_a_broken_move_is_caught(broken, wrong):
    for found in figures(broken).values():
        for name, moved in found["moves"].items():
            if name in wrong:
                assert moved["invariance"] > 1e-3
            else:
                assert moved["invariance"] < 1e-12


def trajectory():
    """A digest of a chain's state after some hundred iterations."""
    values = parnidag.simulate(nodes=9, edges=12, rows=25, seed=4).values
    target = make_target(values, EdgePrior(h=0.2, required=[(0, 1), (5, 3)], forbidden=[(2, 4)], max_parents=4))
    considered = np.random.default_rng(2).random((9, 9)) < 0.3
    with np.errstate(over="ignore"):
        sampler, chain = begin(target, considered, plus_one=True)
        sampler.advance(target, chain, 400)
    state = [*chain.graph[:-2], chain.own.walk.order, chain.own.walk.values]
    return [digest_of(state), sampler.totals(chain)]


def test_compiled_kernels_make_the_same_moves_as_plain_python():
    """Ties the compiled code to the one whose transition matrices are enumerated."""
    compiled = trajectory()
    assert plain_value("test_order.trajectory()") == compiled
    assert all(compiled[1][f"{move}_accepted"] > 10 for move in MOVES)


def test_linear_extensions_are_counted_alike():
    graphs = dags.all_dags(4)
    counts = twin.linear_extensions_of_all(graphs)
    assert counts.sum() == 24 * 2**6  # every order agrees with 2⁶ graphs
    for k in range(0, len(graphs), 40):
        assert counts[k] == twin.linear_extensions(graphs[k])


# --- chains ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values


def graph_in_step(target, chain, considered, plus_one):
    """The graph of a chain of nine nodes, all of whose arrays agree and which the space holds."""
    adjacency = chain.graph.position != -1
    assert chain.log_posterior == pytest.approx(target.log_posterior(adjacency), rel=1e-12)
    fresh = target.empty_graph()
    lay_graph(target.problem, fresh, make_scratch(9, target.max_parents, 2), adjacency)
    # the tables factorise in another order than single scores do
    assert chain.graph.local == pytest.approx(fresh.local, rel=1e-12)
    assert_state_is_consistent(target, replace(chain, graph=chain.graph._replace(local=fresh.local)))
    outside = adjacency & ~considered & ~target.required
    assert outside.sum(axis=0).max() <= int(plus_one)
    return adjacency


@pytest.mark.parametrize("plus_one", [True, False])
@pytest.mark.parametrize("prior", [EdgePrior(h=0.2), CONSTRAINED])
def test_the_graph_stays_consistent_over_many_draws(table, prior, plus_one):
    target = make_target(table[:20], prior)
    considered = np.random.default_rng(1).random((9, 9)) < 0.4
    sampler, chain = begin(target, considered, samplers.OrderMCMC(plus_one=plus_one, graph_every=1))
    seen = set()
    for _ in range(40):
        sampler.advance(target, chain, 97)
        adjacency = graph_in_step(target, chain, considered, plus_one)
        seen.add(adjacency.tobytes())
    assert len(seen) > 10
    assert not chain.graph.visits[target.problem.status == 0].any()
    walk = chain.own.walk
    assert (walk.level[walk.order] == np.arange(9)).all()
    assert sampler.totals(chain)["tried"] == 40 * 97


def test_sums_kept_by_the_walk_are_those_of_its_order(table):
    """After thousands of moves the value of every node is what the sets before it weigh."""
    target = make_target(table[:20], CONSTRAINED)
    considered = np.random.default_rng(1).random((9, 9)) < 0.4
    sampler, chain = begin(target, considered, plus_one=True)
    sampler.advance(target, chain, 5000)
    sets = twin.scored_sets(target, considered, True)
    level = chain.own.walk.level
    expected = [twin.log_total(twin.permitted(sets[j], level, level[j]).values()) for j in range(9)]
    assert chain.own.walk.values == pytest.approx(np.array(expected), abs=1e-10)


@entry
def walk_on(arrays, own, walk, rng, steps):
    """Walk over orders; return the largest error of a node's value and of the total at any time."""
    tables, run = open_tables(arrays, own), open_order(walk)
    value_all(tables, run)
    worst = 0.0
    for _ in range(steps):
        order_step(rng, tables, run)
        total = 0.0
        for j in range(run.order.size):
            fresh = value_of(tables, run, np.int64(j), run.level[j])
            total += fresh
            worst = max(worst, abs(fresh - run.values[j]))
        worst = max(worst, abs(total - run.total))
    return worst


ranges_of_scores = pytest.mark.parametrize(
    ("name", "far"),
    [(name, far) for name in ("plus one", "extras only", "constrained", "full") for far in (False, True)]
    + [("strong", False), ("strong, constrained", False)],
)


@ranges_of_scores
@pytest.mark.parametrize("maximise", [False, True])
def test_values_stay_in_step_whatever_the_range_of_scores(name, far, maximise):
    """Thousands of moves bring values up to date by small changes; those of a fresh count must not differ."""
    tables = build(name)
    tables = rewritten(tables, far_apart(1)) if far else tables
    finite = tables.arrays.scores[np.isfinite(tables.arrays.scores)]
    order = random_topological_order(tables.target.required, np.random.default_rng(1))
    walk = make_order(order, 2.0, 2.0, maximise)
    own = draw_arrays(tables.arrays, best_inside(tables))
    worst = walk_on(tables.arrays, own, walk, _random.random_state(1, 0), np.int64(3000))
    # a few roundings of a sum of seven scores at each of 3000 moves, most of which cancel
    assert worst < 1e3 * np.finfo(float).eps * abs(finite).max()
    assert (walk.accepted > 0).all()
