"""The moves and their mixtures: exact at n = 3 and 4, by their definition at 6 to 8, right by sampling, well kept."""

from __future__ import annotations

import functools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import dags
import numpy as np
import pytest
import reference
from judging import SMALLEST_P, chain_probabilities, graph_p_value, smallest_p_value
from test_kernels import CONSTRAINTS, assert_state_is_consistent, begin, weak_target

import parnidag
from parnidag import EdgePrior, ParnidagError, samplers, scores
from parnidag._jit import entry
from parnidag.data import Data
from parnidag.memo import family_score, flipped_score, make_scratch, write_parents, write_replaced
from parnidag.moves.node_swap import PAIRS_A_NODE, make_node_swap
from parnidag.net import open_net
from parnidag.samplers.base import new_chain
from parnidag.samplers.mixture import KINDS, PRESETS, move_weights
from parnidag.target import Target

SCRIPT = Path(__file__).with_name("transitions_moves.py")
MOVES = ("exchange", "swap_parent", "node_swap")
THREE = {"free": 25, "constrained": 6, "one parent": 16, "required beside": 8, "forbidden beside": 17}
FOUR = {"free": 543, "constrained": 84, "two parents": 127, "forbidden": 259}
MIXTURES = ("mixed", "parni and exchange", "printed and all", "without blocks", "ADR", "MC3")


@functools.cache
def figures(what):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), what],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


@pytest.mark.parametrize("prior", THREE)
@pytest.mark.parametrize("move", MOVES)
def test_move_is_reversible_over_all_graphs_of_three_nodes(move, prior):
    found = figures("three")[f"{move}, {prior}"]
    assert found["graphs"] == THREE[prior]
    if move == "node_swap" and prior in ("constrained", "required beside"):
        assert found["pairs"] == 0 == found["moves"]  # every pair touches the required edge
    else:
        assert_as_defined(found)


@pytest.mark.parametrize("prior", FOUR)
@pytest.mark.parametrize("move", MOVES)
def test_move_is_reversible_over_all_graphs_of_four_nodes(move, prior):
    found = figures("four")[f"{move}, {prior}"]
    assert found["graphs"] == FOUR[prior]
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
    ("exchange, possible exchanges, free", "invariance"),
    ("exchange, possible exchanges, required beside", "invariance"),
    ("swap_parent, a parent twice, free", "invariance"),
    ("swap_parent, a parent twice, required beside", "invariance"),
    ("swap_parent, cycles unnoticed, free", "rows"),
    ("swap_parent, forbidden edges, forbidden beside", "rows"),
    ("swap_parent, parents alike, free", "invariance"),
    ("node_swap, forbidden edges, forbidden beside", "rows"),
    ("node_swap, present pairs, free", "invariance"),
    ("node_swap, present pairs, forbidden beside", "invariance"),
    ("kinds by graph", "invariance"),
]


@pytest.mark.parametrize(("twin", "symptom"), BROKEN)
def test_broken_twin_is_caught(twin, symptom):
    """By leaving the allowed graphs, or by another law; and by its distance from the definition."""
    found = figures("twins")[twin]
    assert found[symptom] > 1e-4
    assert found["moves"] > 0.03
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
    "mixed": samplers.PARNI(),
    "parni and exchange": samplers.PARNI(moves={"parni": 0.5, "exchange": 0.5}),
    "all": samplers.PARNI(moves=dict.fromkeys(KINDS, 1)),
    "ADR": samplers.ADR(exchange=0.3),
    "MC3": samplers.MC3(exchange=0.3),
}
PRIORS = {
    "free": EdgePrior(),
    "constrained": EdgePrior(h=0.3, required=[(0, 2)], forbidden=[(3, 1), (1, 0)], max_parents=2),
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


def p_values(name, nodes, prior, seed=1, judged_by=None, **options):
    """Sample, and compare edges and whole graphs with enumeration."""
    values = reference.small_values(nodes)
    graphs, posterior = enumerated(values, PRIORS[prior] if judged_by is None else judged_by)
    found = parnidag.sample(
        values,
        prior=PRIORS[prior],
        sampler=SAMPLERS[name],
        seed=seed,
        progress=False,
        **{"chains": 16, "draws": 400, "thin": 100, "tune": 5000, **options},
    )
    edges = smallest_p_value(chain_probabilities(found), dags.edge_probabilities_of(graphs, posterior))
    return edges, graph_p_value(found.graphs, graphs, posterior)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize("name", SAMPLERS)
def test_few_nodes_against_enumeration(name, nodes, prior):
    edges, graphs = p_values(name, nodes, prior)
    assert edges > SMALLEST_P
    assert graphs > SMALLEST_P


def test_edge_reversals_on_a_narrow_space_leave_the_law_alone():
    """Chains leave the tables again and again; the mixture must not mind."""
    edges, graphs = p_values("mixed", 5, "free", space=np.eye(5, k=1))
    assert edges > SMALLEST_P
    assert graphs > SMALLEST_P


def test_the_comparison_notices_a_slightly_wrong_posterior():
    """The broken twin of the checks above: the same chains against another prior."""
    edges, graphs = p_values("all", 5, "free", judged_by=EdgePrior(h=0.24))
    assert edges < SMALLEST_P
    assert graphs < SMALLEST_P


# scores from the memo


@entry
def score_every_way(problem, graph, scratch, node, other, old):
    """Score the parents of a node as they are, with `other` flipped by either way, and in the place of `old`."""
    net = open_net(problem, graph, scratch)
    found = np.full(4, -np.inf)
    write_parents(net, node)
    found[0] = family_score(net, node, net.degree[node])
    found[1] = flipped_score(net, node, other)
    if net.position[other, node] == -1 and old >= 0:
        write_replaced(net, node, old, other)
        found[2] = family_score(net, node, net.degree[node])
        for k in range(net.degree[node]):
            found[3] += net.family[k] if k else 1.0
    return found


def same_hash(target):
    """The same target with words that give all sets of parents one place and one tag in the memo."""
    problem = target.problem._replace(words=np.zeros_like(target.problem.words))
    return Target(target.names, problem, target.settings)


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
    compared = 0
    for _ in range(1500):
        node = int(rng.choice([1, 2, 3, 4, 23, 24, 25, 26, 27]))
        other = int(rng.choice(np.delete(np.arange(nodes), node)))
        old = int(rng.integers(node))
        if other > node:
            other = int(rng.integers(node, nodes - 1)) + 1
        found = score_every_way(target.problem, chain.graph, scratch, np.int64(node), np.int64(other), np.int64(old))
        parents = set(range(node))
        assert found[0] == target.local(node, parents)
        assert found[1] == target.local(node, parents ^ {other})
        if other > node:
            assert found[2] == target.local(node, parents - {old} | {other})
            compared += 1
    assert compared > 200


@pytest.mark.parametrize("name", ["mixed", "all", "ADR"])
def test_sets_with_one_hash_never_change_a_chain(name):
    target = weak_target(CONSTRAINTS["constrained"], nodes=9)
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
    sampler = samplers.PARNI(moves={"adr": 0.1, move: 0.9})
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
    into_two = {(i, j): 8.0 for j in (0, 1) for i in range(nodes) if i != j}
    target = Target.build(Data(values), scores.Gaussian(), EdgePrior(log_odds=into_two))
    sampler = samplers.PARNI(moves={"adr": 0.4, "exchange": 0.2, "swap_parent": 0.2, "node_swap": 0.2})
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


# settings


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ("default", r"moves must be one of \('paper', 'mixed'\) or weights by move, got 'default'"),
        (None, "moves must be a name or weights by move"),
        (0.5, "moves must be a name or weights by move"),
        ([("parni", 1.0)], "moves must be a name or weights by move"),
        ({}, 'moves needs a .*weight of "parni" or "adr"'),
        ({"exchange": 1.0}, 'moves needs a .*weight of "parni" or "adr"'),
        ({"parni": 0, "adr": 0.0, "node_swap": 1}, 'moves needs a .*weight of "parni" or "adr"'),
        ({"parni": 1.0, "exchanges": 1.0}, "moves has 'exchanges'; known moves are parni, adr, exchange"),
        ({"parni": 1.0, 3: 1.0}, "moves has 3; known moves"),
        ({"parni": 1.0, "adr": -0.1}, r"moves\['adr'\] must be a number, 0 or more, got -0.1"),
        ({"parni": float("nan")}, r"moves\['parni'\] must be a number"),
        ({"parni": 1.0, "exchange": float("inf")}, r"moves\['exchange'\] must be a number"),
        ({"parni": True}, r"moves\['parni'\] must be a number"),
        ({"parni": "1"}, r"moves\['parni'\] must be a number"),
        ({"parni": None}, r"moves\['parni'\] must be a number"),
    ],
)
def test_wrong_moves_are_refused_by_name(moves, message):
    with pytest.raises(ParnidagError, match=message):
        samplers.PARNI(moves=moves)


@pytest.mark.parametrize("sampler", [samplers.ADR, samplers.MC3])
@pytest.mark.parametrize("exchange", [-0.1, 1.0, 2, float("nan"), float("inf"), True, "often", None])
def test_wrong_share_of_exchanges_is_refused(sampler, exchange):
    with pytest.raises(ParnidagError, match="exchange must be a probability from 0"):
        sampler(exchange=exchange)


def test_weights_become_probabilities():
    assert move_weights({"parni": 2, "exchange": 2}) == {"parni": 0.5, "exchange": 0.5}
    assert move_weights({"exchange": np.float32(0.5), "adr": np.int64(1), "parni": 0}) == {
        "adr": pytest.approx(2 / 3),
        "exchange": pytest.approx(1 / 3),
    }
    for name, weights in PRESETS.items():
        assert move_weights(name) == pytest.approx(weights)
        assert sum(move_weights(name).values()) == pytest.approx(1.0)
    assert move_weights("paper") == {"parni": 1.0}
    assert samplers.PARNI().moves == "mixed"


def test_proportional_weights_make_the_same_chain():
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    chains = []
    for moves in ({"adr": 2, "exchange": 2, "node_swap": 0}, {"adr": 0.5, "exchange": 0.5}):
        sampler = samplers.PARNI(moves=moves)
        chains.append(begin(sampler, target, tune=0))
        sampler.advance(target, chains[-1], 2_000)
    for mine, other in zip(chains[0].graph[:-2], chains[1].graph[:-2], strict=True):
        assert (mine == other).all()


@pytest.mark.parametrize(
    ("sampler", "key", "expected"),
    [
        (samplers.PARNI(), "moves", PRESETS["mixed"]),
        (samplers.PARNI(moves="paper"), "moves", {"parni": 1.0}),
        (samplers.PARNI(moves={"adr": np.float32(3), "exchange": np.int64(1)}), "moves", {"adr": 0.75, "exchange": 0.25}),
        (samplers.ADR(exchange=np.float32(0.5)), "exchange", 0.5),
        (samplers.MC3(exchange=0), "exchange", 0.0),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_settings_are_described_in_json(sampler, key, expected):
    described = json.loads(json.dumps(sampler.describe()))
    assert described["name"] == sampler.name
    assert described[key] == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(sampler)) == sampler


def test_moves_are_tried_as_often_as_their_weights_say():
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    sampler = samplers.PARNI(moves={"parni": 1, "adr": 3, "exchange": 2, "swap_parent": 1, "edge_reversal": 1})
    chain = begin(sampler, target, tune=0)
    iterations = 40_000
    sampler.advance(target, chain, iterations)
    totals = sampler.totals(chain)
    expected = {"add": 1 / 8, "delete": 1 / 8, "reverse": 1 / 8, "exchange": 2 / 8, "swap_parent": 1 / 8}
    for move, share in (expected | {"edge_reversal": 1 / 8}).items():
        error = np.sqrt(share * (1 - share) / iterations)
        assert totals[f"{move}_tried"] / iterations == pytest.approx(share, abs=5 * error)
        assert 0 < totals[f"{move}_accepted"] < totals[f"{move}_tried"]
    assert "node_swap_tried" not in totals
    others = sum(totals[f"{move}_tried"] for move in (*expected, "edge_reversal"))
    assert totals["parni_iterations"] + others == iterations


@pytest.mark.parametrize("name", ["ADR", "MC3"])
def test_exchanges_are_counted(name):
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    chain = begin(SAMPLERS[name], target, tune=0)
    SAMPLERS[name].advance(target, chain, 20_000)
    totals = SAMPLERS[name].totals(chain)
    assert totals["tried"] == 20_000
    assert totals["exchange_tried"] / 20_000 == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 20_000))
    assert 0 < totals["exchange_accepted"] < totals["exchange_tried"]
    plain = begin(type(SAMPLERS[name])(), target, tune=0)
    type(SAMPLERS[name])().advance(target, plain, 2_000)
    assert "exchange_tried" not in SAMPLERS[name].totals(plain)
