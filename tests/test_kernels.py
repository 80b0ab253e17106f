"""The compiled state against recomputation, and one chain against itself in every other form."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from plain_python import digest_of, plain_value

from parnidag import EdgePrior, samplers, scores, simulate
from parnidag.data import Data
from parnidag.graphs.adjacency import arcs_of, random_topological_order
from parnidag.kernels.dag import close_dag, drop_parents, open_dag, take_parents
from parnidag.kernels.declare import named
from parnidag.kernels.jit import entry
from parnidag.kernels.score_cache import MOST_DIRECT, QUICK, empty_cache, make_scratch
from parnidag.samplers.base import Asked, new_chain
from parnidag.samplers.parni.mixture import PRESETS
from parnidag.target import Target, lay_graph

SAMPLERS = {
    "MC3": samplers.MC3(),
    "ADR": samplers.ADR(),
    "gibbs": samplers.PARNI(moves="paper"),
    "printed": samplers.PARNI(kernel="printed", eta="paper", adapt="always", moves="paper"),
    "mixed": samplers.PARNI(moves=PRESETS["mixed"]),
    "moves": samplers.PARNI(moves={"adr": 0.1, "exchange": 0.3, "swap_parent": 0.3, "node_swap": 0.3}),
    "MC3 and exchange": samplers.MC3(exchange=0.5),
}
CONSTRAINTS = {
    "free": EdgePrior(h=0.2),
    "constrained": EdgePrior(h=0.2, required=[(0, 1), (5, 3)], forbidden=[(2, 4), (7, 0)], max_parents=3),
}

REMEMBERED = scores.Spline()
"""A score that takes longer to compute than to find in memory, whatever the parents."""


def begin(sampler, target, tune, seed=1):
    chain = new_chain(target, target.required, seed, 0)
    sampler.begin(target, sampler.prepare(target, Asked()), chain, tune)
    return chain


def weak_target(prior, nodes=12, score=None):
    """Few rows and a generous prior: chains add, delete and turn edges all the time."""
    simulation = simulate(nodes=nodes, edges=14, rows=20, seed=4)
    return Target.build(Data(simulation.values), score or scores.Gaussian(), prior)


def assert_state_is_consistent(target, chain):
    """Every derived array equals what a fresh layout of the same graph gives."""
    graph = chain.graph
    adjacency = graph.position != -1
    assert reference.is_acyclic(adjacency)
    fresh = target.empty_graph()
    lay_graph(target.problem, fresh, make_scratch(target.n_nodes, target.max_parents, 2), adjacency)
    assert (graph.degree == fresh.degree).all()
    for j in range(target.n_nodes):
        assert (graph.parents[j, : graph.degree[j]] == fresh.parents[j, : fresh.degree[j]]).all()
    assert (graph.key == fresh.key).all()
    assert (graph.local == fresh.local).all()  # a score is a pure function: the same bits
    mine, expected = named(graph), named(fresh)
    assert (mine.edge_count, mine.addable) == (expected.edge_count, expected.addable)
    assert mine.log_posterior == pytest.approx(expected.log_posterior, abs=1e-6)
    free = adjacency & ~target.required
    edges = graph.edges[: mine.edge_count]
    assert (np.sort(edges) == np.sort(arcs_of(free))).all()
    assert (graph.position[edges >> 16, edges & 0xFFFF] == np.arange(edges.size)).all()
    assert (graph.position[target.required] == -2).all()


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_incremental_state_equals_recomputation(name, constraint):
    target = weak_target(CONSTRAINTS[constraint])
    sampler = SAMPLERS[name]
    chain = begin(sampler, target, tune=100_000)
    for _ in range(50):
        sampler.advance(target, chain, 5_000)
        assert_state_is_consistent(target, chain)
    assert sampler.totals(chain)["accepted"] > 10_000
    allowed = target.problem.status != 0
    assert not chain.graph.visits[~allowed].any()
    assert (chain.graph.position != -1).sum(axis=0).max() <= target.max_parents


@pytest.mark.parametrize("name", SAMPLERS)
def test_lazy_edge_counts_equal_counting_every_iteration(name):
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    sampler = SAMPLERS[name]
    chain = begin(sampler, target, tune=0)
    named(chain.recorder).until_draw = named(chain.recorder).thin = 1  # store every iteration
    counted = np.zeros((8, 8), np.int64)
    draws = 0
    while draws < 3_000:
        sampler.advance(target, chain, 200)
        ends = chain.recorder.draw_ends[: named(chain.recorder).buffered]
        arcs = chain.recorder.draw_codes[: ends[-1]]
        np.add.at(counted, (arcs >> 16, arcs & 0xFFFF), 1)
        draws += ends.size
        named(chain.recorder).buffered = 0
    assert chain.iteration == draws
    assert (chain.graph.visits == counted).all()
    assert counted.max() > 0


@pytest.mark.parametrize("name", SAMPLERS)
def test_memo_never_changes_a_chain(name):
    """With room for two scores almost everything is recomputed; the chain must not notice."""
    target = weak_target(CONSTRAINTS["free"], nodes=MOST_DIRECT + 1, score=REMEMBERED)
    sampler = SAMPLERS[name]
    chains = [begin(sampler, target, tune=2_000) for _ in range(2)]
    chains[1]._scratch = make_scratch(target.n_nodes, target.max_parents, 2, target.problem.table.widest)
    for chain in chains:
        sampler.advance(target, chain, 20_000)
    assert chains[1].memo_hit_rate < chains[0].memo_hit_rate - 0.2
    for mine, other in zip(chains[0].graph[:-2], chains[1].graph[:-2], strict=True):
        assert (mine == other).all()


@pytest.mark.parametrize("name", ["ADR", "mixed"])
def test_few_nodes_need_no_memo_and_do_not_notice(name):
    """With hash words in place of bits, and a cache in place of the table of all sets."""
    target = weak_target(CONSTRAINTS["constrained"], nodes=MOST_DIRECT)
    words = np.random.default_rng(1).integers(2**63, size=(2, MOST_DIRECT)).astype(np.uint64)
    hashed = replace(target, problem=target.problem._replace(words=words))
    chains = [begin(SAMPLERS[name], each, tune=500) for each in (target, hashed)]
    scratch = target.scratch()
    assert scratch.direct.size > 0
    chains[1]._scratch = scratch._replace(direct=np.zeros(0), cache=empty_cache(2**12))
    for chain, each in zip(chains, (target, hashed), strict=True):
        SAMPLERS[name].advance(each, chain, 20_000)
    for field in ("parents", "degree", "local", "visits", "rng"):
        assert (getattr(chains[0].graph, field) == getattr(chains[1].graph, field)).all()
    assert chains[0].memo_hit_rate > 0.9


def test_the_memo_is_not_asked_for_what_is_quicker_computed():
    target = weak_target(CONSTRAINTS["free"], nodes=MOST_DIRECT + 1)
    chain = begin(SAMPLERS["mixed"], target, tune=500)
    SAMPLERS["mixed"].advance(target, chain, 20_000)
    kept = chain.scratch(target).cache
    assert (kept["degree"][kept["owner"] > 0] > QUICK).all()
    assert named(chain.graph).misses > 100_000
    assert_state_is_consistent(target, chain)


def test_parent_sets_too_large_for_the_memo_are_scored_too():
    nodes = 30
    values = np.random.default_rng(6).normal(size=(60, nodes))
    into_first = {(i, 0): 8.0 for i in range(1, nodes)}  # the prior makes nearly every node a parent of node 0
    target = Target.build(Data(values), scores.Gaussian(), EdgePrior(log_odds=into_first))
    chain = begin(samplers.ADR(), target, tune=0)
    samplers.ADR().advance(target, chain, 300_000)
    assert chain.graph.degree.max() > 24
    assert_state_is_consistent(target, chain)


def test_full_draw_buffer_ends_a_segment():
    target = weak_target(CONSTRAINTS["free"])
    sampler = samplers.ADR()
    chain = begin(sampler, target, tune=0)
    named(chain.recorder).until_draw = named(chain.recorder).thin = 3
    room = chain.recorder.draw_ends.size
    assert sampler.advance(target, chain, 10_000) == 3 * room
    assert named(chain.recorder).buffered == room
    assert sampler.advance(target, chain, 10) == 0  # still no room
    named(chain.recorder).buffered = 0
    assert sampler.advance(target, chain, 4) == 4
    assert named(chain.recorder).buffered == 1


def test_draw_buffer_ends_a_segment_before_a_dense_graph_overflows_it():
    target = weak_target(CONSTRAINTS["free"])
    chain = begin(samplers.ADR(), target, tune=0)
    most = chain.recorder.best_codes.size
    named(chain.recorder).until_draw = named(chain.recorder).thin = 1
    chain.recorder = chain.recorder._replace(draw_codes=np.zeros(most + 5, np.int32))
    samplers.ADR().advance(target, chain, 10_000)
    used = chain.recorder.draw_ends[named(chain.recorder).buffered - 1]
    assert used > 5
    assert used <= most + 5


def trajectories(iterations):
    """A digest of every sampler's state after so many iterations."""
    found = {}
    with np.errstate(over="ignore"):
        target = weak_target(CONSTRAINTS["constrained"], nodes=9)
        for name, sampler in SAMPLERS.items():
            chain = begin(sampler, target, tune=iterations // 2)
            sampler.advance(target, chain, iterations)
            found[name] = [digest_of(chain.graph[:-2]), int(sampler.totals(chain)["accepted"])]
    return found


def test_compiled_kernels_make_the_same_moves_as_plain_python():
    """Ties the compiled code to the one whose transition matrices are enumerated."""
    compiled = trajectories(600)
    assert plain_value("test_kernels.trajectories(600)") == compiled
    assert all(accepted > 10 for _, accepted in compiled.values())


@entry
def replace_parents(problem, graph, scratch, families, degrees, scores_of):
    """Give every node other parents: all drop before any takes."""
    dag = open_dag(problem, graph, scratch)
    for k in range(degrees.size):
        drop_parents(dag, np.int64(k), families[k], degrees[k], scores_of[k])
    for k in range(degrees.size):
        take_parents(dag, np.int64(k), families[k], degrees[k], scores_of[k])
    close_dag(dag, graph)


def test_replaced_parents_leave_the_state_of_a_fresh_layout():
    values = simulate(nodes=9, edges=12, rows=80, seed=5).values[:20]
    target = Target.build(Data(values), scores.Gaussian(), CONSTRAINTS["constrained"])
    chain = new_chain(target, target.required, 1, 0)
    rng = np.random.default_rng(3)
    allowed = target.problem.status == 1
    for _ in range(200):
        level = np.argsort(random_topological_order(target.required, rng))
        adjacency = target.required | (
            allowed & (level[:, None] < level[None, :]) & (rng.random((9, 9)) < rng.uniform(0.0, 0.8))
        )
        for j in np.flatnonzero(adjacency.sum(axis=0) > 3):
            spare = np.flatnonzero(adjacency[:, j] & ~target.required[:, j])
            adjacency[rng.permutation(spare)[: adjacency[:, j].sum() - 3], j] = False
        fresh = target.empty_graph()
        lay_graph(target.problem, fresh, make_scratch(9, 3, 2), adjacency)
        replace_parents(target.problem, chain.graph, chain.scratch(target), fresh.parents, fresh.degree, fresh.local)
        assert ((chain.graph.position != -1) == adjacency).all()
        assert_state_is_consistent(target, chain)
