"""The edge prior: what it means for given nodes, and every contradiction refused."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parnidag.errors import PriorError
from parnidag.kernels.problem import FORBIDDEN, FREE, REQUIRED
from parnidag.priors.edge_prior import MOST_LISTED_EDGES, EdgePrior

NAMES = ["season", "rain", "sprinkler", "wet"]


def refusal(names=NAMES, **arguments):
    with pytest.raises(PriorError) as caught:
        EdgePrior(**arguments).resolve(names)
    message = str(caught.value)
    assert "\n" not in message
    return message


def refusal_when_made(**arguments):
    with pytest.raises(PriorError) as caught:
        EdgePrior(**arguments)
    return str(caught.value)


def free_status(n):
    status = np.full((n, n), FREE, dtype=np.uint8)
    np.fill_diagonal(status, FORBIDDEN)
    return status


# --- what it means ----------------------------------------------------------------------------------------------------


def test_default_prior_expects_about_as_many_edges_as_nodes():
    assert EdgePrior().resolve([f"N{j}" for j in range(20)]).h == (0.1,)
    assert EdgePrior().resolve(NAMES).h == EdgePrior().resolve(NAMES[:2]).h == (0.5,)


def test_the_prior_of_the_paper_has_odds_one_to_n_minus_one():
    resolved = EdgePrior(h="paper").resolve(NAMES)
    assert resolved.h == (0.25,)
    assert resolved.shifts.tolist() == resolved.log_weights.tolist() == [0.0]
    assert resolved.max_parents == 3
    np.testing.assert_array_equal(resolved.status, free_status(4))
    assert resolved.status.dtype == np.uint8
    expected = np.where(np.eye(4, dtype=bool), 0.0, math.log(1 / 3))
    np.testing.assert_allclose(resolved.log_odds, expected, rtol=1e-15)
    assert resolved.log_odds.flags.c_contiguous


@pytest.mark.parametrize("h", [1e-300, 0.1, 0.5, np.float32(0.5), 1 - 2**-53])
def test_h_sets_the_odds(h):
    resolved = EdgePrior(h=h).resolve(NAMES)
    assert resolved.h == (h,)
    assert resolved.log_odds[0, 1] == pytest.approx(math.log(h) - math.log1p(-h), rel=1e-15)


def test_h_is_not_the_marginal_probability_of_an_edge():
    # Two nodes, three graphs: empty with weight 1, each edge with weight w.
    h = 0.3
    weight = math.exp(EdgePrior(h=h).resolve(["a", "b"]).log_odds[0, 1])
    marginal = weight / (1 + 2 * weight)
    assert marginal == pytest.approx(h / (1 + h), rel=1e-14)


FORBIDDEN_PAIRS = [("rain", "season"), (3, 0), ("wet", 1)]


def forbidden_mask():
    mask = np.zeros((4, 4), dtype=bool)
    mask[1, 0] = mask[3, 0] = mask[3, 1] = True
    return mask


@pytest.mark.parametrize(
    "edges",
    [
        FORBIDDEN_PAIRS,
        [list(pair) for pair in FORBIDDEN_PAIRS],
        set(FORBIDDEN_PAIRS),
        (pair for pair in FORBIDDEN_PAIRS),
        np.array([[1, 0], [3, 0], [3, 1]]),
        np.array([["rain", "season"], ["wet", "season"], ["wet", "rain"]]),
        forbidden_mask(),
        forbidden_mask() | np.eye(4, dtype=bool),
        pd.DataFrame(forbidden_mask() | np.eye(4, dtype=bool), index=NAMES, columns=NAMES),
        pd.DataFrame(forbidden_mask(), index=NAMES, columns=NAMES).iloc[::-1, [2, 0, 3, 1]],
        pd.DataFrame(forbidden_mask()),
    ],
)
def test_forbidden_edges_in_any_form(edges):
    expected = free_status(4)
    expected[forbidden_mask()] = FORBIDDEN
    np.testing.assert_array_equal(EdgePrior(forbidden=edges).resolve(NAMES).status, expected)


@pytest.mark.parametrize("edges", [[("rain", "wet"), (0, 2)], np.array([[1, 3], [0, 2]]), nx.DiGraph([(1, 3), (0, 2)])])
def test_required_edges_forbid_their_reverse(edges):
    expected = free_status(4)
    expected[1, 3] = expected[0, 2] = REQUIRED
    expected[3, 1] = expected[2, 0] = FORBIDDEN
    np.testing.assert_array_equal(EdgePrior(required=edges).resolve(NAMES).status, expected)


@pytest.mark.parametrize(
    "tiers",
    [
        [["season"], ["rain", 2]],
        (("season",), (1, "sprinkler")),
        [{"season"}, [], ["sprinkler", "rain"]],
        {"season": -1.5, "rain": 2, "sprinkler": 2},
        {1: 10, "season": 1, 2: 10},
    ],
)
def test_tiers_forbid_later_to_earlier_only(tiers):
    expected = free_status(4)
    expected[1, 0] = expected[2, 0] = FORBIDDEN
    np.testing.assert_array_equal(EdgePrior(tiers=tiers).resolve(NAMES).status, expected)


EXTRA = np.array([[0, 1.5, 0, 0], [0, 0, 0, -2.0], [0, 0, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "log_odds",
    [
        {("season", "rain"): 1.5, (1, "wet"): -2},
        EXTRA,
        EXTRA.tolist(),
        EXTRA + 7 * np.eye(4),
        pd.DataFrame(EXTRA, index=NAMES, columns=NAMES),
        pd.DataFrame(EXTRA + 7 * np.eye(4), index=NAMES, columns=NAMES),
    ],
)
def test_log_odds_are_added_to_those_of_h(log_odds):
    prior = EdgePrior(h=0.2, log_odds=log_odds)
    base = EdgePrior(h=0.2).resolve(NAMES).log_odds
    np.testing.assert_allclose(prior.resolve(NAMES).log_odds, base + EXTRA, rtol=1e-15)
    assert prior.describe(NAMES)["log_odds_edges"] == 2


@pytest.mark.parametrize(("given_bound", "bound"), [(None, 3), (0, 0), (2, 2), (np.int64(2), 2), (50, 3)])
def test_max_parents(given_bound, bound):
    resolved = EdgePrior(max_parents=given_bound).resolve(NAMES)
    assert resolved.max_parents == bound
    assert type(resolved.max_parents) is int


def test_integers_are_indices_even_if_names_look_like_numbers():
    status = EdgePrior(forbidden=[(0, "0")]).resolve(["2", "1", "0"]).status
    assert status[0, 2] == FORBIDDEN
    assert np.count_nonzero(status == FORBIDDEN) == 4


# --- the object itself ------------------------------------------------------------------------------------------------


def test_arrays_are_copied_and_read_only():
    mask, extra = forbidden_mask(), EXTRA.copy()
    prior = EdgePrior(forbidden=mask, log_odds=extra)
    before = prior.resolve(NAMES)
    mask[:], extra[:] = True, 9
    after = prior.resolve(NAMES)
    np.testing.assert_array_equal(after.status, before.status)
    np.testing.assert_array_equal(after.log_odds, before.log_odds)
    for array in (prior.forbidden, prior.log_odds):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 1] = 1


def test_priors_are_frozen_comparable_copyable():
    prior = EdgePrior(h=0.2, forbidden=[("rain", "season")], required=forbidden_mask().T, tiers=[["season"]])
    same = EdgePrior(h=0.2, forbidden=(("rain", "season"),), required=forbidden_mask().T, tiers=(("season",),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.h = 0.3
    assert prior == same
    assert hash(prior) == hash(same)
    assert pickle.loads(pickle.dumps(prior)) == prior
    assert dataclasses.replace(prior, h=0.2) == prior
    assert dataclasses.replace(prior, h=0.3) != prior
    assert dataclasses.replace(prior, required=forbidden_mask().T & False) != prior
    assert prior != "prior"


def test_description_fits_json_and_names_everything():
    prior = EdgePrior(
        forbidden=[(3, 0)],
        required=[("rain", "wet")],
        tiers={"season": 0, 1: 1, "wet": 2},
        log_odds={("season", "rain"): 1.0, ("season", "wet"): 0.0},
        max_parents=np.int64(2),
    )
    described = prior.describe(NAMES)
    assert json.loads(json.dumps(described)) == {
        "h": 0.5,
        "forbidden": [["wet", "season"]],
        "forbidden_edges": 1,
        "required": [["rain", "wet"]],
        "required_edges": 1,
        "tiers": [["season"], ["rain"], ["wet"]],
        "forbidden_by_tiers": 3,
        "max_parents": 2,
        "log_odds_edges": 1,
    }
    assert EdgePrior().describe(NAMES)["tiers"] is None


def test_description_of_a_dense_mask_lists_the_first_edges_and_counts_them_all():
    n = 80
    names = [f"N{j}" for j in range(n)]
    later_to_earlier = np.tri(n, k=-1, dtype=bool)
    described = EdgePrior(forbidden=later_to_earlier, required=later_to_earlier.T).describe(names)
    upper = [[names[i], names[j]] for i in range(n) for j in range(n) if i < j]
    lower = [[names[i], names[j]] for i in range(n) for j in range(n) if i > j]
    assert len(upper) == len(lower) > MOST_LISTED_EDGES == 1000
    assert described["forbidden"] == lower[:1000]
    assert described["required"] == upper[:1000]
    assert described["forbidden_edges"] == described["required_edges"] == n * (n - 1) // 2


# --- refusals that need no names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0, 1, -0.1, 1.5, math.nan, math.inf, True, "0.1", 0.5j, np.bool_(True)])
def test_h_outside_its_range(h):
    message = refusal_when_made(h=h)
    assert (
        message
        == f'h must be a number between 0 and 1 (both excluded), a Beta, "paper" for 1/n, or None for 2/n, got {h!r}'
    )


@pytest.mark.parametrize("bound", [-1, 1.0, True, "2", np.array([1, 2])])
def test_max_parents_that_are_no_count(bound):
    assert refusal_when_made(max_parents=bound).startswith("max_parents must be a whole number, 0 or more")


@pytest.mark.parametrize("argument", ["forbidden", "required"])
@pytest.mark.parametrize(
    ("edges", "part"),
    [
        ("rain", "='rain' must be a list of (parent, child) pairs"),
        (5, "=5 must be a list"),
        (("rain", "wet"), "'rain' is not a (parent, child) pair"),
        ([("rain",)], "is not a (parent, child) pair"),
        ([("rain", "wet", "season")], "is not a (parent, child) pair"),
        ([("rain", 1.0)], "1.0 is not a node"),
        ([(True, "rain")], "True is not a node"),
        ([(None, "rain")], "None is not a node"),
        ([(0, -1)], "index -1 is negative"),
        ([("rain", "rain")], "'rain' → 'rain' leads from a node to itself"),
        ([(2, 2)], "leads from a node to itself"),
        (np.zeros((4, 4)), "float64 with shape (4, 4)"),
        (np.zeros((4, 3), dtype=bool), "bool with shape (4, 3)"),
        (np.zeros((4, 2), dtype=bool), "bool with shape (4, 2)"),
        (pd.DataFrame(EXTRA, index=NAMES, columns=NAMES), "must hold booleans"),
        (pd.DataFrame(forbidden_mask()).iloc[:2], "must be n × n"),
    ],
)
def test_malformed_edges(argument, edges, part):
    message = refusal_when_made(**{argument: edges})
    assert message.startswith(argument)
    assert part in message


@pytest.mark.parametrize(
    ("argument", "value", "part"),
    [
        ("required", np.eye(4, dtype=bool), "from a node to itself"),
        ("required", pd.DataFrame(np.eye(4, dtype=bool), index=NAMES, columns=NAMES), "to itself"),
        ("tiers", "season", "tiers='season'"),
        ("tiers", 3, "tiers=3"),
        ("tiers", ["season", "rain"], "'season' is not a list of nodes"),
        ("tiers", [["season"], 4], "4 is not a list of nodes"),
        ("tiers", [["season"], ["rain", "season"]], "'season' is listed twice"),
        ("tiers", [["season", "season"]], "'season' is listed twice"),
        ("tiers", [[0.5]], "0.5 is not a node"),
        ("tiers", [[-2]], "index -2 is negative"),
        ("tiers", {"season": "first"}, "tiers['season'] must be a finite number, got 'first'"),
        ("tiers", {"season": math.nan}, "a finite number, got nan"),
        ("tiers", {"season": True}, "a finite number, got True"),
        ("log_odds", {("rain", "wet"): math.inf}, "use forbidden= or required="),
        ("log_odds", {("rain", "wet"): -math.inf}, "log_odds[('rain', 'wet')] must be a finite number"),
        ("log_odds", {("rain", "wet"): math.nan}, "got nan"),
        ("log_odds", {("rain", "wet"): "2"}, "got '2'"),
        ("log_odds", {("rain", "wet"): True}, "got True"),
        ("log_odds", {("rain", "rain"): 1.0}, "to itself"),
        ("log_odds", {"rain": 1.0}, "is not a (parent, child) pair"),
        ("log_odds", np.full((4, 4), np.inf), "entry (0, 0) is inf"),
        ("log_odds", np.zeros((4, 3)), "shape (4, 3)"),
        ("log_odds", np.zeros((4, 4), dtype=bool), "bool with shape"),
        ("log_odds", [[1.0, 2.0], [3.0]], "must map"),
        ("log_odds", 1.5, "must map"),
        ("log_odds", "rain", "must map"),
    ],
)
def test_malformed_arguments(argument, value, part):
    message = refusal_when_made(**{argument: value})
    assert message.startswith(argument)
    assert part in message


# --- refusals that need the names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"required": [("rain", "wet"), (0, 1)], "forbidden": [(1, 3)]}, "required and forbidden: rain → wet;"),
        ({"required": [("rain", "season")], "tiers": [["season"], ["rain"]]}, "earlier tier): rain → season;"),
        ({"required": [("rain", "wet"), ("wet", "rain")]}, "form a cycle: rain → wet → rain;"),
        ({"required": [(0, 1), (1, 2), (2, 0), (2, 3)]}, "a cycle: season → rain → sprinkler → season;"),
        ({"required": [(0, 1), (1, 2), (2, 3), (3, 1)]}, "a cycle: rain → sprinkler → wet → rain;"),
        ({"required": [(1, 3), (2, 3)], "max_parents": 1}, "=1 is less than the required parents of wet (2)"),
        ({"forbidden": [("sesaon", "wet")]}, "forbidden: unknown node 'sesaon'; did you mean 'season'?"),
        ({"required": [("wet", "sesaon")]}, "required: unknown node 'sesaon'; did you mean 'season'?"),
        ({"tiers": [["sesaon"]]}, "tiers: unknown node 'sesaon'; did you mean 'season'?"),
        ({"log_odds": {("sesaon", "wet"): 1.0}}, "log_odds: unknown node 'sesaon'; did you mean 'season'?"),
        ({"forbidden": [("xyzzy", "wet")]}, "known are season, rain, sprinkler, wet"),
        ({"forbidden": [("xyzzy", "N1")], "names": [f"N{j}" for j in range(30)]}, "N4 and 25 more"),
        ({"forbidden": [(0, 4)]}, "forbidden: index 4 is out of range; there are 4 nodes"),
        ({"tiers": [[4]]}, "tiers: index 4 is out of range"),
        ({"log_odds": {(4, 0): 1.0}}, "log_odds: index 4 is out of range"),
        ({"forbidden": np.eye(5, k=1, dtype=bool)}, "forbidden: the array is 5 × 5, but there are 4 nodes"),
        ({"log_odds": np.eye(5, k=1)}, "log_odds: the array is 5 × 5, but there are 4 nodes"),
        ({"required": [("rain", 1)]}, "leads from rain to itself"),
        ({"log_odds": {("rain", "wet"): 1.0, (1, 3): 2.0}}, "rain → wet is given twice"),
        ({"tiers": [["rain"], [1]]}, "'rain' is listed twice"),
        ({"names": []}, "at least 2 nodes"),
        ({"names": ["a"]}, "at least 2 nodes"),
    ],
)
def test_what_the_nodes_contradict(arguments, part):
    assert part in refusal(**arguments)


# --- properties -------------------------------------------------------------------------------------------------------

pairs = st.sets(st.sampled_from(list(itertools.permutations(range(4), 2))), max_size=6)


def is_acyclic(edges):
    orders = itertools.permutations(range(4))
    return any(all(order.index(i) < order.index(j) for i, j in edges) for order in orders)


@settings(max_examples=200, deadline=None)
@given(pairs, pairs, st.permutations(range(4)), st.integers(0, 4), st.integers(0, 3))
def test_constraints_are_refused_exactly_when_no_graph_meets_them(required, forbidden, order, n_early, max_parents):
    early, late = order[:n_early], order[n_early:]
    banned = forbidden | set(itertools.product(late, early))
    prior = EdgePrior(required=required, forbidden=forbidden, tiers=[early, late], max_parents=max_parents)
    crowded = any(sum(child == j for _, child in required) > max_parents for j in range(4))
    if required & banned or not is_acyclic(required) or crowded:
        with pytest.raises(PriorError):
            prior.resolve(NAMES)
        return
    status = prior.resolve(NAMES).status
    for i, j in itertools.product(range(4), repeat=2):
        if (i, j) in required:
            assert status[i, j] == REQUIRED
        elif i == j or (i, j) in banned or (j, i) in required:
            assert status[i, j] == FORBIDDEN
        else:
            assert status[i, j] == FREE
