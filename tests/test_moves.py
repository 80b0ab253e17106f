"""The moves and their mixtures: exact at n = 3 and 4, by their definition at 6 to 8, right by sampling, well kept."""

import functools
import pickle
from dataclasses import replace

import dags
import numpy as np
import pytest
import reference
from judging import SMALLEST_P, chain_probabilities, graph_p_value, smallest_p_value
from plain_python import script_figures
from test_kernels import CONSTRAINTS, REMEMBERED, assert_state_is_consistent, begin, weak_target
from test_sampling import PRIORS

import parnidag
from parnidag import EdgePrior, samplers, scores
from parnidag.data import Data
from parnidag.kernels.dag import ABSENT, open_dag
from parnidag.kernels.jit import entry
from parnidag.kernels.score_cache import MOST_DIRECT, NOBODY, family_score, flipped_score, make_scratch, write_family
from parnidag.moves import MOVES as REGISTERED
from parnidag.moves.node_swap import PAIRS_A_NODE, make_node_swap
from parnidag.samplers.base import new_chain
from parnidag.samplers.parni.mixture import KINDS, PRESETS
from parnidag.target import Target

MOVES = tuple(move.name for move in REGISTERED if not (move.needs_tables or move.reaches_all))
GRAPHS = {
    "three": {
        "free": 25,
        "constrained": 6,
        "one parent": 16,
        "required beside": 8,
        "forbidden beside": 17,
        "regulators": 17,
    },
    "four": {"free": 543, "constrained": 84, "two parents": 127, "forbidden": 259},
}
MIXTURES = ("mixed", "parni and exchange", "printed and all", "without blocks", "in bursts", "ADR", "MC3")


figures = functools.partial(script_figures, "transitions_moves.py")


# exact transition matrices


def assert_exact(found):
    """The step stays among the allowed graphs and leaves the posterior invariant, by detailed balance."""
    assert found["rows"] < 1e-12
    assert found["invariance"] < 1e-12
    assert found["reversibility"] < 1e-12


def assert_as_defined(found):
    assert_exact(found)
    assert found["definition"] < 1e-12
    assert found["misreported"] == 0
    assert found["moves"] > 0.004  # a move that never moves is invariant too


@pytest.mark.parametrize(("nodes", "prior"), [(nodes, prior) for nodes, priors in GRAPHS.items() for prior in priors])
@pytest.mark.parametrize("move", MOVES)
def test_move_is_reversible_over_all_graphs(move, nodes, prior):
    found = figures(nodes)[f"{move}, {prior}"]
    assert found["graphs"] == GRAPHS[nodes][prior]
    if nodes == "three" and move == "node_swap" and prior in ("constrained", "required beside"):
        assert found["pairs"] == 0 == found["moves"]  # every pair touches the required edge
    else:
        assert_as_defined(found)


@pytest.mark.parametrize("nodes", ["three", "four"])
def test_node_swap_is_reversible_whatever_its_pairs(nodes):
    found = figures(nodes)["node_swap, some pairs"]
    assert found["pairs"] == 2
    assert_as_defined(found)


@pytest.mark.parametrize("name", MIXTURES)
def test_mixture_has_the_posterior_for_its_only_law(name):
    """Through `advance`, so that choosing the kind of move belongs to what is proven."""
    cases = {case: found for case, found in figures("mixtures").items() if case.startswith(f"{name}, ")}
    assert len(cases) >= 3
    for found in cases.values():
        assert_only_law(found)


@pytest.mark.slow
def test_all_graphs_of_three_nodes_have_the_posterior_for_the_only_law_of_the_default():
    found = figures("all moves")
    assert found["graphs"] == 25
    assert_only_law(found)


def assert_only_law(found):
    assert_exact(found)
    assert found["moves"] > 0.05
    assert found["total_variation"] < 1e-10


BROKEN = [
    ("exchange, edge counts, free", "invariance"),
    ("exchange, edge counts, forbidden beside", "invariance"),
    ("exchange, one parent not given up, free", "invariance"),
    ("exchange, parents stay, free", "invariance"),
    ("exchange, cycles unnoticed, free", "rows"),
    ("exchange, prior unasked, required beside", "rows"),
    ("exchange, prior unasked, forbidden beside", "rows"),
    ("exchange, forbidden edges, forbidden beside", "rows"),
    ("exchange, children forgotten, regulators", "invariance"),
    ("swap_parent, children forgotten, regulators", "invariance"),
    ("exchange, possible exchanges, four nodes", "invariance"),
    ("exchange, possible exchanges, required beside", "invariance"),
    ("swap_parent, a parent twice, free", "invariance"),
    ("swap_parent, a parent twice, required beside", "invariance"),
    ("swap_parent, cycles unnoticed, free", "rows"),
    ("swap_parent, forbidden edges, forbidden beside", "rows"),
    ("swap_parent, parents alike, four nodes", "invariance"),
    ("node_swap, forbidden edges, forbidden beside", "rows"),
    ("node_swap, present pairs, free", "invariance"),
    ("node_swap, present pairs, forbidden beside", "invariance"),
    ("kinds by graph", "invariance"),
]


@pytest.mark.parametrize(("twin", "symptom"), BROKEN)
def test_broken_twin_is_caught(twin, symptom):
    """By leaving the allowed graphs, or by another law; and by its distance from the definition."""
    found = script_figures("transitions_twins.py")[twin]
    assert found[symptom] > 1e-4
    assert found["moves"] > 0.01
    assert found.get("definition", 1.0) > 0.02


def test_next_graph_has_the_law_of_the_definition_in_larger_graphs():
    """Six to eight nodes with random required and forbidden edges and limits on parents."""
    found = figures("definitions")
    assert set(found) == set(MOVES)
    for move in MOVES:
        assert found[move]["wrong"] < 1e-12
        assert found[move]["possible"] > 200


def test_only_a_detour_closes_a_cycle_in_an_exchange():
    found = figures("cycles")
    assert found["wrong"] == 0
    assert found["cycles"] > 1000
    assert found["none"] > 1000


# sampling

SAMPLERS = {
    "mixed": samplers.PARNI(moves=PRESETS["mixed"]),
    "parni and exchange": samplers.PARNI(moves={"parni": 0.5, "exchange": 0.5}),
    "all": samplers.PARNI(moves=dict.fromkeys(KINDS, 1)),
    "ADR": samplers.ADR(exchange=0.3),
    "MC3": samplers.MC3(exchange=0.3),
}


def enumerated(values, prior):
    """All DAGs and their posterior, by the slow score."""
    n = values.shape[1]
    log_odds = Target.build(Data(values), scores.Gaussian(), prior).problem.log_odds
    log_weights = np.empty((n, 2 ** (n - 1)))
    for j in range(n):
        for parents in dags.subsets(set(range(n)) - {j}):
            chosen = sorted(parents)
            score = reference.gaussian_local_score(values, j, chosen, 10.0) + log_odds[chosen, j].sum()
            log_weights[j, dags.column_of(parents, j)] = score
    limits = {"forbidden": prior.forbidden, "required": prior.required, "max_parents": prior.max_parents}
    graphs, posterior, _ = dags.enumerate_dags(dags.constrain(log_weights, **limits))
    return graphs, posterior


def p_values(sampler, nodes, prior, judged_by=None, **options):
    """Sample, and compare edges and whole graphs with enumeration; draws must be nearly independent."""
    values = reference.small_values(nodes)
    graphs, posterior = enumerated(values, PRIORS[prior] if judged_by is None else judged_by)
    if isinstance(sampler, samplers.PARNI):  # leave nothing to find before sampling, which takes longer
        options = {"start": "empty", "space": 1 - np.eye(nodes), **options}
    found = parnidag.sample(
        values,
        score="paper",
        prior=PRIORS[prior],
        sampler=sampler,
        progress=False,
        **{"seed": 1, "chains": 16, "draws": 400, "thin": 100, "tune": 5000, **options},
    )
    edges = smallest_p_value(chain_probabilities(found), dags.edge_probabilities_of(graphs, posterior))
    return edges, graph_p_value(found.graphs, graphs, posterior)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize("name", SAMPLERS)
def test_few_nodes_against_enumeration(name, nodes, prior):
    assert min(p_values(SAMPLERS[name], nodes, prior)) > SMALLEST_P


def test_edge_reversals_on_a_narrow_space_leave_the_law_alone():
    """Chains leave the tables again and again; the mixture must not mind."""
    assert min(p_values(SAMPLERS["mixed"], 5, "free", space=np.eye(5, k=1))) > SMALLEST_P


def test_the_comparison_notices_a_slightly_wrong_posterior():
    """The broken twin of the checks above: the same chains against another prior."""
    assert max(p_values(SAMPLERS["all"], 5, "free", judged_by=EdgePrior(h=0.24))) < SMALLEST_P


# scores from the cache


@entry
def score_every_way(problem, graph, scratch, node, other, old):
    """Score the parents of a node as they are, with `other` flipped, and with `other` in the place of `old`."""
    dag = open_dag(problem, graph, scratch)
    found = np.full(3, -np.inf)
    write_family(dag, node, NOBODY, NOBODY)
    found[0] = family_score(dag, node, dag.degree[node])
    found[1] = flipped_score(dag, node, other)
    if dag.position[other, node] == ABSENT:
        write_family(dag, node, old, other)
        found[2] = family_score(dag, node, dag.degree[node])
    return found


def same_hash(target):
    """The same target with words that give all sets of parents one place and one tag in the cache."""
    problem = target.problem._replace(words=np.zeros_like(target.problem.words))
    return replace(target, problem=problem)


@pytest.mark.parametrize("records", [2, 4096])
@pytest.mark.parametrize("hashed", [True, False])
def test_scores_are_the_same_by_whatever_way_they_were_remembered(records, hashed):
    """Sets beyond the size that is remembered included; without a hash only the comparison of sets tells them apart."""
    nodes = 28
    target = Target.build(Data(np.random.default_rng(6).normal(size=(60, nodes))), scores.Gaussian(), EdgePrior(h=0.3))
    target = target if hashed else same_hash(target)
    chain = new_chain(target, np.triu(np.ones((nodes, nodes), bool), 1), 1, 0)
    scratch = make_scratch(nodes, target.max_parents, records)
    rng = np.random.default_rng(7)
    for _ in range(1500):
        node = int(rng.choice([1, 2, 3, 4, 23, 24, 25, 26]))
        other = int(rng.integers(node, nodes - 1)) + 1 if rng.random() < 0.5 else int(rng.integers(node))
        old = int(rng.integers(node))
        found = score_every_way(target.problem, chain.graph, scratch, np.int64(node), np.int64(other), np.int64(old))
        parents = set(range(node))
        assert found[0] == target.local(node, parents)
        assert found[1] == target.local(node, parents ^ {other})
        if other > node:
            assert found[2] == target.local(node, parents - {old} | {other})


@pytest.mark.parametrize("name", ["mixed", "all", "ADR"])
def test_sets_with_one_hash_never_change_a_chain(name):
    target = weak_target(CONSTRAINTS["constrained"], nodes=MOST_DIRECT + 1, score=REMEMBERED)
    chains = [begin(SAMPLERS[name], each, tune=500) for each in (target, same_hash(target))]
    for chain, each in zip(chains, (target, same_hash(target)), strict=True):
        SAMPLERS[name].advance(each, chain, 20_000)
    assert chains[1].memo_hit_rate < chains[0].memo_hit_rate
    for field in ("parents", "degree", "local", "visits", "rng"):
        assert (getattr(chains[0].graph, field) == getattr(chains[1].graph, field)).all()


# the state


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("move", KINDS[2:])
def test_each_move_keeps_the_state_in_step(move, constraint):
    target = weak_target(CONSTRAINTS[constraint])
    sampler = samplers.PARNI(target_evaluations=1, moves={"adr": 0.1, move: 0.9})
    chain = begin(sampler, target, tune=0)
    for _ in range(20):
        sampler.advance(target, chain, 6_000)
        assert_state_is_consistent(target, chain)
    totals = sampler.totals(chain)
    assert totals[f"{move}_accepted"] > 400
    assert totals[f"{move}_tried"] == pytest.approx(0.9 * 120_000, abs=5 * np.sqrt(0.09 * 120_000))
    assert not chain.graph.visits[target.problem.status == 0].any()
    assert chain.graph.degree.max() <= target.max_parents


def test_parent_sets_too_large_for_the_memo_are_exchanged_too():
    nodes = 30
    values = np.random.default_rng(6).normal(size=(60, nodes))
    into_two = {(i, j): 12.0 for j in (0, 1) for i in range(nodes) if i != j}
    target = Target.build(Data(values), scores.Gaussian(), EdgePrior(log_odds=into_two))
    sampler = samplers.PARNI(target_evaluations=1, moves={"adr": 0.4} | dict.fromkeys(MOVES, 0.2))
    chain = begin(sampler, target, tune=0)
    for _ in range(5):
        sampler.advance(target, chain, 40_000)
        assert np.sort(chain.graph.degree)[-2] > 24
        assert_state_is_consistent(target, chain)
    assert all(sampler.totals(chain)[f"{move}_accepted"] > 50 for move in MOVES)


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_cut_up_and_sent_about_make_the_same_moves(name):
    target = weak_target(CONSTRAINTS["constrained"], nodes=9)
    sampler = SAMPLERS[name]
    whole, cut = (begin(sampler, target, tune=700) for _ in range(2))
    sampler.advance(target, whole, 3_000)
    done = 0
    for steps in (1, 6, 693, 1, 299, 1_000, 1_000):
        done += sampler.advance(target, cut, steps)
        cut = pickle.loads(pickle.dumps(cut))
    assert done == 3_000
    for mine, other in zip(whole.graph[:-2], cut.graph[:-2], strict=True):
        assert (mine == other).all()
    assert sampler.totals(whole) == sampler.totals(cut)


# the pairs of the node swap


def test_pairs_are_the_likeliest_that_touch_no_required_edge():
    nodes = 10
    target = Target.build(
        Data(reference.small_values(nodes)), scores.Gaussian(), EdgePrior(required=[(0, 3)], max_parents=4)
    )
    likely = np.random.default_rng(1).random((nodes, nodes))
    likely[5, 6] = likely[6, 5] = 0.0  # thought impossible
    together = {(a, b): likely[a, b] + likely[b, a] for a in range(nodes) for b in range(a + 1, nodes)}
    possible = [pair for pair in together if not {0, 3} & set(pair) and together[pair] > 0.0]
    ranked = sorted(possible, key=together.__getitem__)[::-1]
    assert len(ranked) > PAIRS_A_NODE * nodes
    found = make_node_swap(target, likely).pairs
    assert {(int(code) >> 16, int(code) & 0xFFFF) for code in found} == set(ranked[: PAIRS_A_NODE * nodes])


def test_no_pair_at_all_means_staying():
    target = weak_target(CONSTRAINTS["free"])
    assert make_node_swap(target, np.zeros((12, 12))).pairs.size == 0
    every = EdgePrior(required=[(k, k + 1) for k in range(0, 8, 2)])
    target = weak_target(every, nodes=8)
    sampler = samplers.PARNI(moves={"adr": 0.5, "node_swap": 0.5})
    chain = begin(sampler, target, tune=0)
    sampler.advance(target, chain, 2_000)
    assert sampler.totals(chain)["node_swap_accepted"] == 0
    assert sampler.totals(chain)["node_swap_tried"] > 900
