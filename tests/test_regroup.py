"""Regroup: exact at n = 3 and 4, by its definition at 5 and 6, right by sampling, across modes."""

import functools

import numpy as np
import pytest
import reference
from judging import SMALLEST_P, FlatScore, chain_probabilities, graph_p_value, smallest_p_value
from plain_python import digest_of, plain_value, script_figures
from reference_moves import allowed
from scipy import stats
from test_kernels import CONSTRAINTS, assert_state_is_consistent, weak_target
from test_moves import PRIORS, assert_exact, p_values
from test_reversal import NUMBER_OF_GRAPHS, SPACES, some_candidates
from transitions_moves import random_case
from transitions_regroup import Definition

import parnidag
from parnidag import EdgePrior, samplers, scores
from parnidag.data import Data
from parnidag.moves.regroup import LARGEST, NEIGHBOURS, TRIES, make_regroup
from parnidag.samplers.base import Prepared, new_chain
from parnidag.samplers.parni.mixture import KINDS
from parnidag.tables.build import build_tables
from parnidag.target import Target

figures = functools.partial(script_figures, "transitions_regroup.py")


# exact transition matrices


def assert_as_defined(found):
    """The law of the next graph is that of the definition, which reaches every DAG that it should."""
    assert found["definition"] < 1e-12
    assert found["missed"] == 0
    assert found["misreported"] == 0


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", NUMBER_OF_GRAPHS)
def test_posterior_is_invariant_over_all_graphs_of_three_nodes(prior, space):
    found = figures("three")[f"{prior}, {space}"]
    assert found["graphs"] == NUMBER_OF_GRAPHS[prior]
    assert found["sizes"] == [2, 3]
    assert_exact(found)
    assert_as_defined(found)
    assert found["moves"] > 0.1  # a move that never moves is invariant too


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("case", ["alone", "raw"])
def test_single_nodes_and_every_decision_by_itself(case, space):
    found = figures("three")[f"{case}, {space}"]
    assert found["sizes"] == {"alone": [1], "raw": [2, 3]}[case]
    assert_exact(found)
    assert_as_defined(found)
    assert found["moves"] > 0.1


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("prior", "graphs"), [("", 44), ("free, ", 543)])
def test_posterior_is_invariant_over_all_graphs_of_four_nodes(prior, graphs, space):
    """Of the free graphs some rows only; all 543 in the definition that these are compared with."""
    found = figures("four")[prior + space]
    assert found["graphs"] == graphs
    assert found["sizes"] == [2, 3, 4]
    assert found["next"] > 400
    assert_exact(found)
    assert_as_defined(found)
    assert found["moves"] > 0.2


def test_states_outside_the_tables_are_met_only_where_there_are_some():
    outside = {name: found["outside"] for name, found in (figures("three") | figures("four")).items()}
    assert all(count == 0 for name, count in outside.items() if name.endswith("full"))
    assert all(count > 0 for name, count in outside.items() if name.endswith("gaps"))
    one_parent = ("one parent", "no room beside the required parent")  # every set fits: none has two
    for name, count in outside.items():
        if name.endswith("gaps plus one"):
            assert (count > 0) != name.startswith(one_parent)


def test_mixture_has_the_posterior_for_its_only_law():
    found = figures("mixed")
    assert len(found) == 4
    for case in found.values():
        assert_exact(case)
        assert case["moves"] > 0.15
        assert case["total_variation"] < 1e-10


def test_next_graph_has_the_law_of_the_definition_in_larger_graphs():
    """Groups of four in graphs of five and six nodes, with random tables, required and forbidden edges."""
    found = figures("random")
    assert_as_defined(found)
    assert found["next"] > 500
    assert found["outside"] > 5


TWINS = {
    "orders uncounted": "invariance",
    "orders upside down": "invariance",
    "orders alike": "invariance",
    "paths unseen": "invariance",
    "nobody orphaned": "invariance",
    "only own descendants barred": "rows",
    "only later descendants barred": "rows",
    "required unseen": "rows",
    "children forgotten": "invariance",
    "outside forgotten": "invariance",
    "outside forgotten, plus one": "invariance",
    "groups by graph": "invariance",
}


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twin_is_caught(twin):
    """By leaving the DAGs, or by another law; and by its distance from the definition."""
    found = figures("twins")[twin]
    assert found[TWINS[twin]] > 1e-3
    assert found["definition"] > 0.01


# the compiled move, one step at a time

ALONE = samplers.PARNI(target_evaluations=1, moves={"adr": 0.5, "regroup": 0.5})


def begin(target, considered, plus_one, start, seed=1, alone=True):
    """A chain with tables of any kind; `alone` it makes no other move."""
    n = target.n_nodes
    warm = np.random.default_rng(3).uniform(0.05, 0.95, (n, n))
    chain = new_chain(target, start, seed, 0)
    ALONE.begin(target, Prepared(None, build_tables(target, considered, plus_one=plus_one), warm), chain, 0)
    if alone:
        chain.own.mixture.weights[:] = np.array(KINDS) == "regroup"
    return chain


def next_graphs(target, chain, steps, restart):
    """Yield the group and the graph after each step, from where the chain stood or from its start again."""
    saved = [array.copy() for array in chain.graph]
    names = chain.graph._fields
    for _ in range(steps):
        chain.own.regroup.group[:] = -1
        ALONE.advance(target, chain, 1)
        group = chain.own.regroup.group
        yield tuple(sorted(group[group >= 0].tolist())), chain.graph.position != -1
        if restart:
            for name, array, old in zip(names, chain.graph, saved, strict=True):
                if name != "rng":
                    array[...] = old


def law_of_groups(arrays, n):
    """Probability of each group, by sets instead of lists: who is in, and one more with a likely neighbour."""
    law = {frozenset([v]): 1.0 / n for v in range(n)}
    near = arrays.nearness / arrays.nearness.sum(axis=1, keepdims=True)
    for _ in range(TRIES):
        after = {}
        for group, weight in law.items():
            if len(group) == LARGEST:
                after[group] = after.get(group, 0.0) + weight
                continue
            for member in group:
                for other, chance in zip(arrays.neighbours[member].tolist(), near[member], strict=True):
                    larger = group | {other}
                    after[larger] = after.get(larger, 0.0) + weight * chance / len(group)
        law = after
    return {tuple(sorted(group)): weight for group, weight in law.items()}


COMPILED = {
    "free": (EdgePrior(max_parents=2), False),
    "constrained": (EdgePrior(h=0.4, required=[(0, 2), (1, 3)], forbidden=[(4, 0)], max_parents=3), False),
    "plus one": (EdgePrior(h=0.4, required=[(0, 2)], max_parents=2), True),
}


def compiled_p_values(case, seed=1, steps=10_000):
    """From one graph of five nodes again and again: of the groups, and of the graphs given each group."""
    prior, plus_one = COMPILED[case]
    values = reference.small_values(5)
    target = Target.build(Data(values), scores.Gaussian(), prior)
    path = np.eye(5, k=1, dtype=bool)
    considered = path | path.T if plus_one else ~np.eye(5, dtype=bool)
    start = target.required | (path & (target.problem.status > 0))
    chain = begin(target, considered, plus_one, start, seed)
    found = {}
    for group, graph in next_graphs(target, chain, steps, restart=True):
        found.setdefault(group, []).append(graph)
    law = law_of_groups(chain.own.regroup, 5)
    assert found.keys() <= law.keys()
    frequent = [group for group in law if law[group] * steps > 20]
    counts, weights = np.transpose([(len(found[group]), law[group]) for group in frequent])
    p_values = {"groups": stats.chisquare(counts, weights * counts.sum() / weights.sum()).pvalue}
    definition = Definition(target, values, considered, plus_one)
    for group in (group for group in frequent if law[group] * steps > 1000):
        expected = definition.law(start, {group: 1.0})
        graphs = [np.frombuffer(key, bool).reshape(5, 5) for key in expected]
        p_values[group] = graph_p_value(np.array(found[group]), graphs, list(expected.values()))
    return p_values


@pytest.mark.parametrize("case", COMPILED)
def test_compiled_steps_have_the_law_of_the_definition(case):
    found = compiled_p_values(case)
    assert len(found) == 6  # of five nodes one is left out
    assert min(found.values()) > SMALLEST_P / len(found)


def test_compiled_steps_change_the_parents_of_the_group_alone_and_never_close_a_cycle():
    """Six to eight nodes with required and forbidden edges; what is drawn is also what the counters say."""
    rng = np.random.default_rng(8)
    changed = np.zeros(LARGEST + 1, int)
    for seed in range(25):
        _, target, graph = random_case(rng)
        considered = graph | (rng.random(graph.shape) < 0.6)
        chain = begin(target, considered & ~np.eye(len(graph), dtype=bool), False, graph, seed)
        before, accepted = graph, 0
        for group, after in next_graphs(target, chain, 400, restart=False):
            new = (after != before).any(axis=0)
            assert set(np.flatnonzero(new).tolist()) <= set(group)
            assert allowed(target, after)
            changed[new.sum()] += 1
            accepted += new.any()
            before = after
        assert ALONE.totals(chain)["regroup_accepted"] == accepted
        assert_state_is_consistent(target, chain)
    assert (changed[1:] > 100).all()


# sampling


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nodes", [4, 5])
def test_few_nodes_against_enumeration(nodes, prior):
    assert min(p_values(ALONE, nodes, prior, thin=60, tune=2000)) > SMALLEST_P


def test_narrow_tables_leave_the_law_alone():
    """Chains leave the tables again and again; the move must not mind."""
    assert min(p_values(ALONE, 5, "free", space=np.eye(5, k=1), thin=150, tune=2000)) > SMALLEST_P


# modes

STEP, BARRIER = 60.0, 20.0
AHEAD = np.eye(4, k=1, dtype=bool)


def path_with_two_ends():
    """A path 0 – 1 – 2 – 3 on which every node has one parent at most, so that a single node can have none.

    Edges are so welcome that none may be missing, and the first node that has no parent must be an end of the path:
    0 → 1 and 3 → 2 are e²⁰ times as welcome as the others. To get from one end to the other all parents change at once.
    """
    log_odds = {(i, j): STEP for i in range(4) for j in range(4) if abs(i - j) == 1}
    log_odds |= {(0, 1): STEP + BARRIER, (3, 2): STEP + BARRIER}
    forbidden = [(i, j) for i in range(4) for j in range(4) if abs(i - j) > 1]
    return EdgePrior(log_odds=log_odds, forbidden=forbidden, max_parents=1)


def sampled_path(moves, **options):
    found = parnidag.sample(
        reference.small_values(4),
        score=FlatScore(),
        prior=path_with_two_ends(),
        sampler=samplers.PARNI(moves=moves),
        start=[AHEAD, AHEAD.T] * 4,
        space=1 - np.eye(4),
        chains=8,
        progress=False,
        **{"seed": 1, "draws": 200, "thin": 50, "tune": 1000, **options},
    )
    return chain_probabilities(found)


def test_a_mode_that_no_other_move_leaves_is_left():
    probabilities = parnidag.exact(
        reference.small_values(4), score=FlatScore(), prior=path_with_two_ends()
    ).edge_probabilities.to_numpy()
    assert probabilities == pytest.approx(0.5 * (AHEAD + AHEAD.T), abs=1e-6)
    others = sampled_path({kind: 1.0 for kind in KINDS if kind != "regroup"})
    assert (others == np.array([AHEAD, AHEAD.T] * 4)).all()
    assert smallest_p_value(sampled_path({"adr": 0.5, "regroup": 0.5}), probabilities) > SMALLEST_P


# the state


MOST = 5 / 6
"""Of all pairs: if so many may be joined, chains leave the tables now and then."""


@pytest.mark.parametrize("plus_one", [False, True])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_incremental_state_equals_recomputation(constraint, plus_one):
    target = weak_target(CONSTRAINTS[constraint], nodes=10)
    chain = begin(target, some_candidates(10, MOST), plus_one, target.required, alone=False)
    for _ in range(20):
        ALONE.advance(target, chain, 1_500)
        assert_state_is_consistent(target, chain)
    totals = ALONE.totals(chain)
    assert totals["regroup_accepted"] > 2_000
    assert 0 < totals["regroup_outside"] < totals["regroup_tried"] - totals["regroup_accepted"]
    assert not chain.graph.visits[target.problem.status == 0].any()
    assert chain.graph.degree.max() <= target.max_parents


def trajectory(plus_one, iterations=400):
    """A digest of a chain's graph and counts after so many iterations, and its counters."""
    with np.errstate(over="ignore"):
        target = weak_target(CONSTRAINTS["constrained"], nodes=9)
        chain = begin(target, some_candidates(9, MOST), plus_one, target.required, alone=False)
        ALONE.advance(target, chain, iterations)
    return [digest_of(chain.graph[:-2]), ALONE.totals(chain)]


def test_compiled_kernels_make_the_same_moves_as_plain_python():
    """Ties the compiled code to the one whose transition matrices are enumerated."""
    for plus_one in (False, True):
        compiled = trajectory(plus_one)
        assert plain_value(f"test_regroup.trajectory({plus_one})") == compiled
        assert compiled[1]["regroup_accepted"] > 20


def test_two_nodes_are_a_group_too():
    target = Target.build(Data(reference.small_values(2)), scores.Gaussian(), EdgePrior(h="paper"))
    chain = begin(target, ~np.eye(2, dtype=bool), False, np.zeros((2, 2), bool))
    seen = {graph.tobytes() for _, graph in next_graphs(target, chain, 200, restart=False)}
    assert len(seen) == 3


def test_groups_grow_to_the_likeliest_neighbours():
    nodes = 12
    target = weak_target(CONSTRAINTS["free"])
    likely = np.random.default_rng(2).random((nodes, nodes))
    arrays = make_regroup(target, likely)
    assert arrays.neighbours.shape == arrays.nearness.shape == (nodes, NEIGHBOURS)
    for v in range(nodes):
        others = sorted(set(range(nodes)) - {v}, key=lambda u: -(likely[u, v] + likely[v, u]))
        assert arrays.neighbours[v].tolist() == others[:NEIGHBOURS]
        assert arrays.nearness[v] == pytest.approx([likely[u, v] + likely[v, u] for u in others[:NEIGHBOURS]])
