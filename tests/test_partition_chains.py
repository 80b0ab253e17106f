"""The chains of partition MCMC, and what they have in common with those of order MCMC."""

import functools
import math

import dags
import numpy as np
import pytest
import reference
import reference_spaces as twin
from judging import SMALLEST_P, chain_probabilities, smallest_p_value
from space_cases import CONSTRAINED, assert_cuts_do_not_change_a_bit, exact_laws, make_target
from test_order import graph_in_step, ranges_of_scores
from test_partition import LOST_DIGITS, MOVES, begin, quick
from test_sums import build, far_apart, rewritten

import parnidag
from parnidag import EdgePrior, ParnidagError
from parnidag.kernels import random as _random
from parnidag.kernels.declare import named
from parnidag.kernels.jit import entry
from parnidag.samplers import OrderMCMC
from parnidag.samplers.partition import PartitionMCMC, held_graph, layers
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.build import build_tables
from parnidag.tables.orders import MOVES as ORDER_MOVES
from parnidag.tables.partition_moves import MOVE_WEIGHTS, decide, list_changed, partition_step, propose
from parnidag.tables.partition_moves import MOVES as PARTITION_MOVES
from parnidag.tables.partitions import (
    close_partition,
    exact_value,
    make_partition,
    open_partition,
    value_after,
    value_all,
)


@pytest.fixture(scope="module")
def table():
    return parnidag.simulate(nodes=9, edges=12, rows=80, seed=5).values


def assert_partition_is_consistent(walk, sets):
    """The lists agree with each other, and the stored sums with sums over permitted sets written out."""
    level, parts = walk.level, named(walk).parts
    assert sorted(walk.order.tolist()) == list(range(len(level)))
    assert (np.diff(level[walk.order]) >= 0).all()
    assert set(level.tolist()) == set(range(parts))
    assert (walk.starts[: parts + 1] == np.searchsorted(level[walk.order], np.arange(parts + 1))).all()
    permitted = (twin.permitted(sets[j], level, level[j], hitting=level[j] > 0) for j in range(len(level)))
    expected = [twin.log_total(found.values()) for found in permitted]
    assert walk.values == pytest.approx(np.array(expected), rel=1e-12, abs=LOST_DIGITS)


@pytest.mark.parametrize("plus_one", [True, False])
@pytest.mark.parametrize("prior", [EdgePrior(h=0.2), CONSTRAINED])
def test_graph_and_partition_stay_consistent(table, prior, plus_one):
    target = make_target(table[:20], prior)
    considered = np.random.default_rng(1).random((9, 9)) < 0.4
    sampler, chain = begin(target, considered, plus_one=plus_one, graph_every=3)
    sets = twin.scored_sets(target, considered, plus_one)
    seen, partitions = set(), set()
    for k in range(60):
        sampler.advance(target, chain, 100 + k % 3)
        adjacency = graph_in_step(target, chain, considered, plus_one)
        walk = chain.own.walk
        assert_partition_is_consistent(walk, sets)
        if chain.iteration % 3 == 0:  # the partition has just been taken from the graph
            assert (walk.level == layers(adjacency)).all()
        seen.add(adjacency.tobytes())
        partitions.add(walk.level.tobytes())
    assert len(seen) > 20
    assert len(partitions) > 5
    totals = sampler.totals(chain)
    assert sum(totals[f"{move}_tried"] for move in PARTITION_MOVES) == chain.iteration
    assert totals["edge_reversal_tried"] == chain.iteration // 3 * 3
    assert totals["tried"] == sum(totals[f"{move}_tried"] for move in MOVES)


def test_partitions_as_fine_and_as_coarse_as_can_be():
    """Chains that visit a single part and parts of one node each, again and again."""
    target = make_target(np.random.default_rng(5).normal(size=(12, 3)), EdgePrior(h=0.6))
    considered = np.ones((3, 3), bool)
    sets = twin.scored_sets(target, considered, False)
    sampler, chain = begin(target, considered, plus_one=False, graph_every=2)
    counts = np.zeros(4, int)
    for _ in range(300):
        sampler.advance(target, chain, 7)
        assert_partition_is_consistent(chain.own.walk, sets)
        counts[named(chain.own.walk).parts] += 1
    assert counts[1:].min() >= 5


@entry
def compare_values(arrays, own, walk, rng, steps, worst):
    """Walk, and keep in `worst` the largest error of a corrected value, of a bound, and of a stored sum.

    Returns how many values were exact, and how many were bounds.
    """
    tables, run = open_tables(arrays, own), open_partition(walk)
    value_all(tables, run)
    exact, bounds = 0, 0
    for step in range(steps):
        if propose(rng, run, np.int64(step % 4)):
            for k in range(list_changed(run)):
                value, is_exact = value_after(tables, run, run.changed[k])
                fresh = exact_value(tables, run.changed[k], run.next_level)
                if is_exact and value != fresh:
                    worst[0] = max(worst[0], abs(value - fresh))
                if not is_exact:
                    worst[1] = max(worst[1], fresh - value)
                exact += is_exact
                bounds += not is_exact
            decide(rng, tables, run)
        partition_step(rng, tables, run)
        for j in range(run.n):
            worst[2] = max(worst[2], abs(run.values[j] - exact_value(tables, np.int64(j), run.level)))
    close_partition(run, walk)
    return exact, bounds


@ranges_of_scores
def test_values_are_right_whatever_the_range_of_scores(name, far):
    """Corrected values equal those of a fresh count, bounds are never too low, and nothing drifts."""
    tables = build(name)
    tables = rewritten(tables, far_apart(1)) if far else tables
    walk = make_partition(layers(tables.target.required), MOVE_WEIGHTS)
    worst = np.zeros(3)
    exact, bounds = compare_values(
        tables.arrays, draw_arrays(tables.arrays), walk, _random.random_state(1, 0), np.int64(2000), worst
    )
    scale = abs(tables.arrays.scores[np.isfinite(tables.arrays.scores)]).max()
    assert worst[0] < LOST_DIGITS + 10.0 * np.finfo(float).eps * scale
    assert worst[1] < LOST_DIGITS + 10.0 * np.finfo(float).eps * scale
    assert worst[2] == 0.0
    assert exact > 1000
    if (far or "strong" in name) and name != "extras only":  # where no candidates are, no difference is taken
        assert bounds > 0
    sets = [
        {parents: score for parents, score in twin.stored_sets(tables.arrays, j).items() if score > -math.inf}
        for j in range(7)
    ]
    assert_partition_is_consistent(walk, sets)


# --- where a chain starts -------------------------------------------------------------------------------------------


def random_dag(rng, n, density):
    order = rng.permutation(n)
    graph = np.zeros((n, n), bool)
    graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < density, 1)
    return graph


def test_layers_are_those_of_peeling_a_graph():
    rng = np.random.default_rng(4)
    for _ in range(100):
        graph = random_dag(rng, 8, rng.uniform(0.0, 0.9))
        level = layers(graph)
        assert [np.flatnonzero(level == part).tolist() for part in range(level.max() + 1)] == twin.layers(graph)


def test_layers_put_every_node_just_above_its_highest_parent():
    graph = np.zeros((5, 5), bool)
    graph[0, 1] = graph[1, 2] = graph[0, 2] = graph[3, 2] = True
    assert twin.layers(graph) == [[0, 3, 4], [1], [2]]


@pytest.mark.parametrize("plus_one", [True, False])
def test_a_chain_starts_at_the_partition_of_what_the_tables_hold(table, plus_one):
    target = make_target(table, CONSTRAINED)
    considered = np.random.default_rng(1).random((9, 9)) < 0.3
    tables = build_tables(target, considered, plus_one=plus_one)
    sets = twin.scored_sets(target, considered, plus_one)
    rng, reduced = np.random.default_rng(2), 0
    for _ in range(60):
        start = random_dag(rng, 9, 0.25) | target.required
        if not reference.is_acyclic(start) or (start & (target.problem.status == 0)).any():
            continue
        if start.sum(axis=0).max() > target.max_parents:
            continue
        held = held_graph(tables, start)
        families = [frozenset(np.flatnonzero(held[:, j]).tolist()) for j in range(9)]
        assert all(family in sets[j] for j, family in enumerate(families))
        assert not (held & ~start).any()
        if all(frozenset(np.flatnonzero(start[:, j]).tolist()) in sets[j] for j in range(9)):
            assert (held == start).all()
        else:
            reduced += 1
        sampler, chain = begin(target, considered, start=start, plus_one=plus_one)
        assert (chain.own.walk.level == layers(held)).all()
        sampler.advance(target, chain, 1)
        assert_partition_is_consistent(chain.own.walk, sets)
    assert reduced > 3


# --- as those of order MCMC -----------------------------------------------------------------------------------------

both = pytest.mark.parametrize("kind", [OrderMCMC, PartitionMCMC])


@both
def test_segment_lengths_and_processes_do_not_change_a_bit(kind, table, monkeypatch):
    assert_cuts_do_not_change_a_bit(functools.partial(quick, sampler=kind()), table, monkeypatch)


@both
def test_constraints_hold_in_every_draw(kind, table):
    posterior = quick(table, prior=CONSTRAINED, sampler=kind(), draws=400, thin=9)
    graphs = posterior.graphs.reshape(-1, 9, 9)
    assert graphs[:, 0, 1].all()
    assert graphs[:, 5, 3].all()
    assert not graphs[:, 2, 4].any()
    assert not graphs[:, 7, 0].any()
    assert graphs.sum(axis=1).max() == 3
    target = make_target(table, CONSTRAINED)
    for chain, draw in ((0, 0), (3, 399)):
        expected = target.log_posterior(posterior.graph_at(chain, draw))
        assert posterior.log_posterior[chain, draw] == pytest.approx(expected, rel=1e-12)
    best = posterior.best
    target.check_graph(best.adjacency, "best")
    assert best.log_posterior == pytest.approx(target.log_posterior(best.adjacency), rel=1e-12)
    assert best.log_posterior >= posterior.log_posterior.max() - 1e-9


@both
def test_edge_counts_are_those_of_the_kept_iterations(kind, table):
    posterior = quick(table, sampler=kind(graph_every=3), draws=700, thin=1, tune=300, chains=2)
    assert (posterior.record.batch_iterations.sum(axis=1) == 700).all()
    assert chain_probabilities(posterior) == pytest.approx(posterior.graphs.mean(axis=1), abs=1e-14)
    changed = (posterior.graphs[:, 1:] != posterior.graphs[:, :-1]).any(axis=(2, 3))
    assert len(np.unique(np.nonzero(changed)[1] % 3)) == 1  # a new graph comes every third iteration, at no other


@both
def test_the_smallest_and_the_most_constrained_problems_work(kind):
    two = reference.small_values(2)
    graphs, posterior, weighted = exact_laws(two, EdgePrior(h="paper"), None, None)
    expected = dags.edge_probabilities_of(graphs, weighted if kind is OrderMCMC else posterior)
    found = quick(two, sampler=kind(), chains=16, draws=500, thin=20)
    assert smallest_p_value(chain_probabilities(found), expected) > SMALLEST_P
    three = reference.small_values(3)
    for plus_one in (True, False):
        sampler = kind(plus_one=plus_one)
        assert not quick(three, prior=EdgePrior(max_parents=0), sampler=sampler, thin=3).graphs.any()
        everything = EdgePrior(required=[(0, 1), (0, 2), (1, 2)])  # one graph, one order, one partition
        graphs = quick(three, prior=everything, sampler=sampler, thin=3).graphs
        assert (graphs == np.triu(np.ones((3, 3), bool), 1)).all()
        empty = EdgePrior(forbidden=~np.eye(3, dtype=bool))
        assert not quick(three, prior=empty, sampler=sampler, thin=3).graphs.any()


@pytest.mark.parametrize(
    ("kind", "moves", "always", "law"),
    [
        (OrderMCMC, ORDER_MOVES, ["number of orders"], "the law of orders, not the posterior"),
        (PartitionMCMC, MOVES, [], ""),
    ],
)
def test_the_reader_is_told_of_law_and_space(kind, moves, always, law, table):
    everything = quick(table, sampler=kind())
    part = quick(table, space=np.eye(9, k=1), sampler=kind(plus_one=False))
    for found, words in ((everything, always), (part, [*always, "search space"])):
        assert all(word in said for word, said in zip(words, found.settings["caveats"], strict=True))
    assert everything.settings["law"] == law
    assert part.settings["law"] == f"{law or 'the posterior'}, within its search space alone"
    for move in moves:
        acceptance = everything.record.statistics[f"{move}_acceptance"]
        assert acceptance.shape == (4,)
        assert ((acceptance > 0.0) & (acceptance < 1.0)).all()


@both
def test_a_start_outside_the_space_leaves_no_trace_in_the_draws(kind, table):
    start = np.triu(np.ones((9, 9), bool), 1)
    options = {"space": np.eye(9, k=1), "sampler": kind(plus_one=False), "start": start}
    graphs = quick(table, tune=0, thin=1, draws=5, **options).graphs.reshape(-1, 9, 9)
    assert not graphs[:, (np.eye(9, k=1) + np.eye(9, k=-1)) == 0].any()


@both
def test_settings_are_checked(kind):
    wrong = {"graph_every": (0, 2.5, True), "plus_one": (2, "yes"), "memory": (0, "2 GB", float("nan"))}
    for name, value in ((name, value) for name, values in wrong.items() for value in values):
        with pytest.raises(ParnidagError, match=name):
            kind(**{name: value})


def test_settings_are_described():
    sampler = PartitionMCMC(graph_every=7)
    assert sampler.describe() == {"name": "PartitionMCMC", "plus_one": None, "memory": 2e9, "graph_every": 7}
    assert sampler.default_thin(20) == 500
    assert sampler.default_thin(100) == 1000
