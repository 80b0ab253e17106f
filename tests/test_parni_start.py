"""The initialiser: does every chain start at a good graph, found with random numbers of its own?"""

import math

import numpy as np
import pytest
import reference

import parnidag
from parnidag import EdgePrior, samplers, scores
from parnidag.data import Data
from parnidag.exact_solver import sums as referee
from parnidag.kernels.dag import ABSENT
from parnidag.kernels.problem import FORBIDDEN, FREE
from parnidag.samplers.base import new_chain
from parnidag.samplers.parni import start as initial
from parnidag.samplers.parni.start import Climb, annealed, climb, initialise, shared_candidates, walker_at
from parnidag.space import expansion, search
from parnidag.tables.all_sets import all_local_scores
from parnidag.tables.build import build_tables
from parnidag.target import Target

SAME = 1e-6
"""Sums of the same local scores in another order differ by rounding, other graphs by more than this."""


def target_of(nodes, edges, rows, seed, prior=None):
    values = parnidag.simulate(nodes=nodes, edges=edges, rows=rows, seed=seed).values
    return Target.build(Data(values), scores.Gaussian(), EdgePrior(h="paper") if prior is None else prior)


def free(target):
    return np.asarray(target.problem.status == FREE)


def nothing(target):
    return np.zeros((target.n_nodes, target.n_nodes), bool)


def best_of_all(target):
    """Largest log posterior of any graph: the best last node of every set of nodes, one set after the other."""
    n, peaks = target.n_nodes, all_local_scores(target)
    for bit in range(n - 1):
        halves = peaks.reshape(n, -1, 2, 1 << bit)
        np.maximum(halves[:, :, 0], halves[:, :, 1], out=halves[:, :, 1])
    best = [0.0]
    for nodes in range(1, 1 << n):
        last = [(j, nodes ^ (1 << j)) for j in range(n) if nodes >> j & 1]
        best.append(max(best[rest] + peaks[j, rest % (1 << j) | rest >> j + 1 << j] for j, rest in last))
    return best[-1]


def short_of(target, graphs):
    """How far the worst of the graphs is below the best of all."""
    return best_of_all(target) - min(target.log_posterior(graph) for graph in graphs)


def assert_allowed(target, graph):
    assert reference.is_acyclic(graph)
    target.check_graph(graph, "start")


# ── what it finds ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_optimum_is_that_of_enumeration():
    target = target_of(4, 4, 30, 1, EdgePrior(required=[(0, 1)], forbidden=[(2, 3)], max_parents=2))
    allowed = [
        target.log_posterior(graph)
        for graph in reference.all_dags(4)
        if graph[0, 1] and not graph[2, 3] and graph.sum(axis=0).max() <= 2
    ]
    assert best_of_all(target) == pytest.approx(max(allowed), abs=1e-9)


@pytest.mark.parametrize(("nodes", "edges", "rows"), [(8, 20, 100), (8, 20, 1000), (10, 15, 200), (10, 25, 1000)])
def test_every_chain_starts_at_the_best_of_all_graphs(nodes, edges, rows):
    for seed in range(1, 4):
        target = target_of(nodes, edges, rows, seed)
        found = initialise(target, free(target), seed, 3)
        assert len(found.graphs) == 3
        assert short_of(target, found.graphs) < SAME
        assert found.space.log_posterior == pytest.approx(best_of_all(target), abs=SAME)


BLIND = [(8, 20, 300, 1), (10, 25, 1000, 6), (10, 25, 1000, 8)]
"""Problems that an expansion from no candidates gets wrong: reversing an edge takes several new parents at once."""


def not_closed(target, considered, graphs, sets=0.0):
    """The candidates and the graphs' neighbours, without the parents of the other end."""
    for graph in graphs:
        considered = considered | graph | graph.T
    return considered & free(target)


def stay(target, tables, graph, seed, chain):
    """Do not climb."""
    return Climb(graph, target.log_posterior(graph), np.zeros(graph.shape))


@pytest.mark.parametrize("problem", BLIND)
def test_thin_candidates_are_enough(problem):
    target = target_of(*problem)
    for seed in (0, 2):
        found = initialise(target, nothing(target), seed, 2)
        assert short_of(target, found.graphs) < SAME
        assert not (np.logical_or.reduce(found.graphs) & ~found.space.considered).any()


@pytest.mark.parametrize("problem", BLIND)
def test_without_closing_they_are_not(problem, monkeypatch):
    """The same searches and restarts, on candidates that were not closed: as many random numbers, fewer parents."""
    monkeypatch.setattr(expansion, "closed", not_closed)
    monkeypatch.setattr(initial, "shared_candidates", not_closed)
    monkeypatch.setattr(initial, "climb", stay)
    target = target_of(*problem)
    assert max(short_of(target, initialise(target, nothing(target), seed, 2).graphs) for seed in (0, 2)) > 0.1


def test_tables_that_chains_share_are_larger_for_few_nodes():
    for nodes, most in (
        (8, 7),
        (16, 15),
        (30, math.floor(math.log2(2**20 / 30))),
        (80, math.floor(math.log2(2**19 / 80))),
    ):
        target = target_of(nodes, 20, 40, 1)
        assert shared_candidates(target, free(target), []).sum(axis=0).tolist() == [most] * nodes


@pytest.mark.parametrize("nodes", [2, 3])
def test_few_nodes(nodes):
    target = target_of(nodes, nodes - 1, 60, 2)
    found = initialise(target, free(target), 1, 2)
    assert short_of(target, found.graphs) < SAME
    assert found.space.seconds > 0.0


def test_without_free_edges_every_chain_starts_at_the_required_ones():
    everything = ~np.eye(4, dtype=bool)
    for required in ([], [(0, 1), (1, 3)]):
        others = everything.copy()
        for edge in required:
            others[edge] = False
        target = target_of(4, 3, 50, 1, EdgePrior(forbidden=others, required=required))
        found = initialise(target, free(target), 1, 2)
        assert all(np.array_equal(graph, target.required) for graph in found.graphs)
        assert not found.space.considered.any()
        assert found.space.log_posterior == pytest.approx(target.log_posterior(target.required), abs=SAME)


CONSTRAINED = EdgePrior(required=[(0, 1), (5, 3)], forbidden=[(2, 4), (7, 0), (1, 6)], max_parents=2)


def test_starts_keep_to_the_prior():
    target = target_of(8, 20, 300, 3, CONSTRAINED)
    for considered in (free(target), nothing(target)):
        found = initialise(target, considered, 1, 2)
        for graph in found.graphs:
            assert_allowed(target, graph)
        assert not (found.space.considered & ~free(target)).any()
    assert short_of(target, initialise(target, free(target), 1, 2).graphs) < SAME


# ── random numbers ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_seed_gives_the_same_start_on_any_number_of_threads(monkeypatch):
    target = target_of(15, 30, 60, 1)
    found = []
    for cores in (1, 4, 4):
        monkeypatch.setattr("parnidag._util.cores.usable_cores", lambda cores=cores: cores)
        found.append(initialise(target, nothing(target), 7, 3))
    for other in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(found[0].graphs, other.graphs, strict=True))
        assert np.array_equal(found[0].space.considered, other.space.considered)
        assert np.array_equal(found[0].space.best, other.space.best)
        assert found[0].space.log_posterior == other.space.log_posterior


class Streams(dict):
    """Which states of random generators each chain's part of the initialiser began with, by what they were for."""

    def __init__(self, monkeypatch):
        super().__init__(searches=[], orders=[], walkers=[])
        self.chain = None
        monkeypatch.setattr(initial, "side_by_side", self.one_after_the_other)
        for module, name, kind, state in (
            (search, "search_orders", "searches", lambda tables, own, walk, rng, *rest: rng),
            (search, "random_topological_order", "orders", self.words),
            (expansion, "random_topological_order", "orders", self.words),
            (initial, "advance_chain", "walkers", lambda target, walker, steps: walker.graph.rng),
        ):
            monkeypatch.setattr(module, name, self.recorded(getattr(module, name), kind, state))

    @staticmethod
    def words(graph, rng):
        return list(rng.bit_generator.state["state"].values())

    def one_after_the_other(self, work, chains):
        found = []
        for self.chain in range(chains):
            found.append(work(self.chain))
        return found

    def recorded(self, function, kind, state):
        def call(*arguments):
            self[kind].append((self.chain, *map(int, state(*arguments))))
            return function(*arguments)

        return call

    def shared(self, kind):
        """Starts of generators that more than one chain had."""
        chains = {}
        for chain, *state in self[kind]:
            chains.setdefault(tuple(state), set()).add(chain)
        return [sorted(which) for which in chains.values() if len(which) > 1]


@pytest.mark.parametrize("kind", ["searches", "orders", "walkers"])
def test_chains_share_no_random_numbers(kind, monkeypatch):
    target = target_of(10, 25, 1000, 6)
    streams = Streams(monkeypatch)
    initialise(target, nothing(target), 3, 3)
    assert {chain for chain, *_ in streams[kind]} == {0, 1, 2}
    assert streams.shared(kind) == []
    states = [tuple(state) for used in (streams["searches"], streams["walkers"]) for _, *state in used]
    assert len(set(states)) == len(states)  # nor does a chain use the same ones twice
    sampling = {tuple(map(int, new_chain(target, target.required, 3, chain).graph.rng)) for chain in range(50)}
    assert not sampling & set(states)


def test_chains_that_do_share_them_are_noticed(monkeypatch):
    target = target_of(10, 25, 1000, 6)

    def one_stream(*arguments, stream, **options):
        return expansion.expand(*arguments, **options)

    streams = Streams(monkeypatch)
    monkeypatch.setattr(initial, "expand", one_stream)
    initialise(target, nothing(target), 3, 2)
    assert [0, 1] in streams.shared("searches")
    assert [0, 1] in streams.shared("orders")
    monkeypatch.setattr(
        initial, "random_state", lambda seed, *key: new_chain(target, target.required, seed, 0).graph.rng
    )
    initialise(target, nothing(target), 3, 2)
    assert [0, 1] in streams.shared("walkers")


# ── the climb ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def short_climb(monkeypatch):
    monkeypatch.setattr(initial, "MIXED_STEPS_A_NODE", 0)
    monkeypatch.setattr(initial, "FEWEST_MIXED_STEPS", 30)
    monkeypatch.setattr(initial, "GREEDY_STEPS_A_NODE", 1)


def random_graph(target, rng):
    """A graph that the prior allows: the required edges, and others while they fit."""
    graph = target.required.copy()
    for i, j in rng.permutation(np.argwhere(free(target))):
        graph[i, j] = rng.random() < 0.5
        graph[i, j] &= reference.is_acyclic(graph) and graph[:, j].sum() <= target.max_parents
    return graph


@pytest.mark.usefixtures("short_climb")
@pytest.mark.parametrize("prior", [EdgePrior(h=0.4), CONSTRAINED], ids=["free", "constrained"])
def test_a_climb_never_ends_lower_and_keeps_to_the_prior(prior):
    target = target_of(8, 10, 15, 4, prior)
    rng, higher = np.random.default_rng(1), 0
    for considered in (free(target), nothing(target)):
        tables = build_tables(target, considered, plus_one=False)
        best = initialise(target, free(target), 1, 1).graphs[0]
        for seed, graph in enumerate([best, *(random_graph(target, rng) for _ in range(30))]):
            assert_allowed(target, graph)
            found = climb(target, tables, graph, seed, 0)
            assert_allowed(target, found.graph)
            assert found.score == pytest.approx(target.log_posterior(found.graph), abs=1e-9)
            assert found.score >= target.log_posterior(graph) - 1e-9
            higher += found.score > target.log_posterior(graph) + SAME
    assert higher > 30


@pytest.mark.usefixtures("short_climb")
def test_a_walk_that_forgets_its_best_graph_ends_lower(monkeypatch):
    monkeypatch.setattr(initial, "best_of", lambda target, walker: np.asarray(walker.graph.position != ABSENT))
    monkeypatch.setattr(initial, "GREEDY_STEPS_A_NODE", 0)
    target = target_of(8, 10, 15, 4, EdgePrior(h=0.4))
    best = initialise(target, free(target), 1, 1).space.best
    tables = build_tables(target, free(target), plus_one=False)
    assert min(climb(target, tables, best, seed, 0).score for seed in range(5)) < best_of_all(target) - 0.1


def test_a_climb_reaches_what_its_tables_do_not_hold():
    target = target_of(6, 9, 200, 1)
    empty = build_tables(target, nothing(target), plus_one=False)
    found = climb(target, empty, nothing(target), 1, 0)
    assert found.graph.any()
    assert found.score == pytest.approx(best_of_all(target), abs=SAME)


def test_edges_that_the_mixture_met_often_become_candidates(monkeypatch):
    """Their shares are those of the posterior, roughly: a mixture of a few thousand iterations is a short run."""
    target = target_of(8, 10, 15, 4, EdgePrior(h=0.4, forbidden=[(2, 4), (7, 0)], required=[(0, 1)]))
    exact = referee.solve(all_local_scores(target)).edge_probabilities
    tables = build_tables(target, free(target), plus_one=False)
    seen = climb(target, tables, target.required, 1, 0).seen
    assert ((seen + seen.T)[free(target)] <= 1.0 + 1e-12).all()
    assert not seen[(target.problem.status == FORBIDDEN)].any()
    assert np.abs(seen - exact)[free(target)].max() < 0.2
    assert np.abs(seen.T - exact)[free(target)].max() > 0.3  # which the other directions are not

    found = initialise(target, nothing(target), 1, 2)
    assert not ((found.seen[0] | found.seen[0].T) & free(target) & ~found.space.considered).any()
    monkeypatch.setattr(initial, "OFTEN", 2.0)
    without = initialise(target, nothing(target), 1, 2)
    assert not without.seen[0].any()
    assert without.space.considered.sum() < found.space.considered.sum()


def always_kept(target, graph, chains=20):
    """Edges of a graph that no chain lost when it was sent away."""
    tables = build_tables(target, free(target), plus_one=False)
    return np.logical_and.reduce([graph, *(annealed(target, tables, graph, 1, chain) for chain in range(chains))]).sum()


def test_chains_that_are_sent_away_leave_their_mode(monkeypatch):
    target = target_of(10, 35, 1000, 2)
    best = initialise(target, free(target), 1, 1).graphs[0]
    assert always_kept(target, best) < 0.2 * best.sum()
    monkeypatch.setattr(initial, "HOTTEST", 0.999)  # a walk that is not heated stays where it is
    assert always_kept(target, best) > 0.7 * best.sum()


@pytest.mark.parametrize("considered", [free, nothing], ids=["all parents", "none but those found"])
def test_every_second_chain_is_sent_away(considered):
    target = target_of(10, 35, 1000, 2, CONSTRAINED)
    found, again = (initialise(target, considered(target), 1, 5) for _ in range(2))
    for graph in found.starts:
        assert_allowed(target, graph)
    assert all(map(np.array_equal, found.starts, again.starts))
    stayed = [np.array_equal(*pair) for pair in zip(found.starts, found.graphs, strict=True)]
    assert stayed[::2] == [True] * 3
    assert not all(stayed[1::2])


def test_slow_scores_and_very_many_nodes_are_spared_that(monkeypatch):
    monkeypatch.setattr(initial, "MANY_NODES", 7)
    target = target_of(8, 12, 40, 1)
    graph = nothing(target)
    assert annealed(target, build_tables(target, free(target), plus_one=False), graph, 1, 1) is graph


def test_walkers_make_the_given_moves_alone():
    target = target_of(8, 12, 30, 1, EdgePrior(h=0.3))
    tables = build_tables(target, free(target), plus_one=False)
    for weights in (initial.MIXED, initial.GREEDY):
        walker = walker_at(target, nothing(target), tables, weights, (1, 0, 0))
        initial.advance_chain(target, walker, 2_000)
        totals = samplers.PARNI().totals(walker)
        assert totals.get("parni_iterations", 0) == 0
        assert ("regroup_tried" in totals) == ("regroup" in weights)
        for move in ("add", "exchange", "swap_parent", "node_swap"):
            assert totals[f"{move}_tried"] > 0


@pytest.mark.parametrize("temperature", [0.02, 1.0, 3.0])
def test_a_tempered_target_divides_the_log_posterior(temperature):
    target = target_of(8, 12, 40, 1, EdgePrior(required=[(0, 1)], log_odds={(2, 3): 4.0}, max_parents=3))
    tempered, rng = target.tempered(temperature), np.random.default_rng(2)
    for _ in range(20):
        graph = random_graph(target, rng)
        before = target.log_posterior(graph)
        assert tempered.log_posterior(graph) == pytest.approx(before / temperature, rel=1e-12)
        assert target.log_posterior(graph) == before
    assert tempered.names == target.names
    assert np.array_equal(tempered.required, target.required)
    assert tempered.max_parents == 3
