"""How users weigh the moves of a mixture: what is refused, what becomes of the weights, what is counted."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from test_kernels import CONSTRAINTS, begin, weak_target

from parnidag import ParnidagError, samplers
from parnidag.samplers.parni import mixture
from parnidag.samplers.parni.adaptation import make_parni
from parnidag.samplers.parni.mixture import KINDS, MIXED_FOR_FEW, MOVES, PRESETS, make_mixture, move_weights


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
        ({"parni": 1.0, "adr": -0.1}, r"moves\['adr'\] must be a number from 0 to 1e\+09, got -0.1"),
        ({"parni": 1.0, "adr": 2e9}, r"moves\['adr'\] must be a number from 0 to 1e\+09"),
        ({"parni": float("nan")}, r"moves\['parni'\] must be a number"),
        ({"parni": 1.0, "exchange": float("inf")}, r"moves\['exchange'\] must be a number"),
        ({"parni": True}, r"moves\['parni'\] must be a number"),
        ({"parni": "1"}, r"moves\['parni'\] must be a number"),
    ],
)
def test_wrong_moves_are_refused_by_name(moves, message):
    with pytest.raises(ParnidagError, match=message):
        samplers.PARNI(moves=moves)


@pytest.mark.parametrize("sampler", [samplers.ADR, samplers.MC3])
@pytest.mark.parametrize("exchange", [-0.1, 1.0, float("nan"), True, "often", None])
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
        (samplers.PARNI(), "moves", "mixed"),
        (samplers.PARNI(moves="paper"), "moves", "paper"),
        (
            samplers.PARNI(moves={"adr": np.float32(3), "exchange": np.int64(1)}),
            "moves",
            {"adr": 0.75, "exchange": 0.25},
        ),
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
    weights = {"parni": 1, "adr": 3, "exchange": 2, "swap_parent": 1, "edge_reversal": 1}
    sampler = samplers.PARNI(target_evaluations=1, moves=weights)
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


STRUCTURE = {"ADR": samplers.ADR(exchange=0.3), "MC3": samplers.MC3(exchange=0.3)}


@pytest.mark.parametrize("name", STRUCTURE)
def test_exchanges_are_counted(name):
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    chain = begin(STRUCTURE[name], target, tune=0)
    STRUCTURE[name].advance(target, chain, 20_000)
    totals = STRUCTURE[name].totals(chain)
    assert totals["tried"] == 20_000
    assert totals["exchange_tried"] / 20_000 == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 20_000))
    assert 0 < totals["exchange_accepted"] < totals["exchange_tried"]
    plain = begin(type(STRUCTURE[name])(), target, tune=0)
    type(STRUCTURE[name])().advance(target, plain, 2_000)
    assert "exchange_tried" not in STRUCTURE[name].totals(plain)


@pytest.mark.parametrize("kind", [float, int, np.float32, np.int64, Fraction])
def test_weights_are_plain_numbers_whatever_was_given(kind):
    weights = samplers.PARNI(moves={"parni": kind(3), "exchange": kind(1)}).moves
    assert weights == {"parni": 0.75, "exchange": 0.25}
    assert {type(weight) for weight in weights.values()} == {float}


def test_a_mapping_that_changes_later_does_not_matter():
    mine = {"parni": 1.0, "adr": 1.0}
    sampler = samplers.PARNI(moves=mine)
    mine["adr"] = 7.0
    sampler.describe()["moves"]["adr"] = 0.0
    assert sampler.moves == sampler.describe()["moves"] == {"parni": 0.5, "adr": 0.5}


def test_samplers_with_weights_can_be_hashed():
    one, same, other = (samplers.PARNI(moves={"parni": weight, "adr": 1}) for weight in (1, 1.0, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, other}) == 2
    assert samplers.PARNI(moves="paper") != samplers.PARNI()


def test_presets_cannot_be_changed_through_what_is_returned():
    move_weights("paper")["parni"] = 0.0
    assert move_weights("paper") == {"parni": 1.0}
    assert move_weights("mixed")["parni"] == pytest.approx(0.5)
    assert move_weights("mixed", 12) == pytest.approx(MIXED_FOR_FEW)
    assert move_weights("mixed", 13) == pytest.approx(PRESETS["mixed"])


def test_huge_numbers_of_evaluations_run():
    target = weak_target(CONSTRAINTS["free"], nodes=6)
    sampler = samplers.PARNI(target_evaluations=1e300, moves={"parni": 1, "adr": 1})
    chain = begin(sampler, target, tune=200)
    assert sampler.advance(target, chain, 400) == 400
    assert np.isfinite(sampler.gauges(chain)["omega"])


@pytest.mark.parametrize(("evaluations", "burst"), [(0.01, 1), (3.4, 3), (10, 10), (30, 28)])
def test_moves_of_one_change_are_made_as_often_as_parni_evaluates(evaluations, burst):
    target = weak_target(CONSTRAINTS["free"], nodes=8)
    sampler = samplers.PARNI(target_evaluations=evaluations, moves={"adr": 1})
    chain = begin(sampler, target, tune=0)
    sampler.advance(target, chain, 100)
    assert sampler.totals(chain)["tried"] == 100 * burst


def test_some_moves_need_tables():
    target = weak_target(CONSTRAINTS["free"], nodes=6)
    own = make_parni(np.full((6, 6), 0.1), tune=0)
    for move in ("edge_reversal", "regroup"):
        with pytest.raises(ParnidagError, match=f"{move} need tables"):
            make_mixture(target, {"adr": 0.5, move: 0.5}, own, None)
    assert make_mixture(target, {"adr": 1.0}, own, None).mixture.weights.tolist() == [
        float(kind == "adr") for kind in KINDS
    ]


def test_a_kind_of_move_that_a_chain_does_not_have_is_never_made():
    """Neither an unknown number nor a move whose arrays were not made may become another move."""
    iteration = mixture.mixture_iteration.py_func
    structs = [None] * sum(move.open is not None for move in MOVES)
    with pytest.raises(RuntimeError, match="not set up for"):
        iteration(None, None, None, len(KINDS), *structs)
    target = weak_target(CONSTRAINTS["free"], nodes=6)
    sampler = samplers.PARNI(moves="paper")
    chain = begin(sampler, target, tune=0)
    chain.own.mixture.weights[:] = np.array(KINDS) == "edge_reversal"
    with pytest.raises(RuntimeError, match="not set up for"):
        sampler.advance(target, chain, 1)


def test_every_number_leads_to_the_move_of_its_place():
    """Each with what it asked for, as often as it should be, and counted as itself."""
    made = []
    moves = tuple(
        move._replace(step=lambda *given, name=move.name: made.append((name, *given)) or name == "adr")
        for move in MOVES
    )
    iteration = mixture.choice_among(moves)[1].py_func
    structs = [f"struct of {move.name}" for move in MOVES if move.open is not None]
    for kind, move in enumerate(MOVES):
        made.clear()
        counts = mixture.Mixture(
            np.zeros(8, np.uint8), np.zeros(0), *np.zeros((2, len(MOVES)), np.int64), burst=np.array([3])
        )
        iteration("dag", "tables", counts, kind, *structs)
        asked = ["tables"] * move.needs_tables + [f"struct of {move.name}"] * (move.open is not None)
        times = 3 if move.burst else 1
        assert made == [(move.name, "dag", *asked)] * times
        own = np.eye(len(MOVES), dtype=int)[kind]
        assert counts.tried.tolist() == (times * own).tolist()
        assert counts.accepted.tolist() == (times * own * (move.name == "adr")).tolist()


def test_every_move_explains_itself():
    with pytest.raises(ParnidagError) as refused:
        samplers.PARNI(moves={"unheard of": 1})
    for move in MOVES:
        assert f"``{move.name}``: {move.about}" in samplers.PARNI.__doc__
        assert move.name in str(refused.value)
