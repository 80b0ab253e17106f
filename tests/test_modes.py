"""Chains in different modes: found, named, told from slow mixing. Synthetic chains; `test_modes_runs` has real ones."""

from __future__ import annotations

import itertools
import json
import math
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import bare_record

from parnidag.results.diagnostics import DISAGREEMENT_LIMIT, diagnose
from parnidag.results.modes import _gaps, _groups, _heights, find_modes, gap_sides

NODES = ("A", "B", "C", "D", "E")
CHAINS, BATCHES, BATCH = 4, 20, 1000


def code(edge):
    return NODES.index(edge[0]) * len(NODES) + NODES.index(edge[1])


def record_of(probabilities, *, seed=1, iterations=None, log_posterior=None, starts=None, **settings):
    """A record whose chains see each edge, such as "AB", with these probabilities: a number, one a chain, or
    (chain, batch); `starts` gives each chain's first edges."""
    names = sorted(probabilities, key=code)
    shape = (CHAINS, BATCHES)
    columns = [np.asarray(probabilities[name], float) for name in names]
    columns = [column[:, None] if column.ndim == 1 else column for column in columns]
    iterations = np.full(shape, BATCH) if iterations is None else iterations
    stacked = np.stack([np.broadcast_to(column, shape) for column in columns], axis=-1)
    counts = np.random.default_rng(seed).binomial(iterations[:, :, None], stacked)
    if log_posterior is None:
        log_posterior = np.random.default_rng(seed + 1).normal(size=(CHAINS, 500))
    fields = {}
    if starts is not None:
        codes = [np.sort([code(edge) for edge in start]).astype(np.int32) for start in starts]
        fields["start_offsets"] = np.cumsum([0, *map(len, codes)])
        fields["start_edges"] = np.concatenate(codes)
    return bare_record(
        nodes=NODES,
        log_posterior=log_posterior,
        edge_codes=np.array([code(name) for name in names], dtype=np.int32),
        batch_counts=counts,
        batch_iterations=iterations,
        settings=settings,
        **fields,
    )


def assert_fits_a_terminal(found):
    assert max(map(len, repr(found).splitlines())) <= 80
    json.dumps(found.to_dict(), allow_nan=False)


# ── synthetic chains ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_separated_modes_are_found_and_what_mixes_is_not_named():
    apart = [1.0, 0.02, 0.98, 0.0]
    record = record_of({"AB": apart, "BA": 1 - np.array(apart), "CB": [0.7, 0.3, 0.7, 0.3], "DE": 0.4, "ED": 0.5})
    found = diagnose(record)
    assert found.converged is False
    said = "chains sit in 2 separated modes (chains 1 and 3 | 2 and 4), at nodes A, B and C"
    assert found.verdict == f"not converged: {said}"
    (group,) = found.modes
    assert (group.nodes, group.kind, group.chain_groups) == (["A", "B", "C"], "separated", [[0, 2], [1, 3]])
    assert [edge[:2] for edge in group.edges] == [("A", "B"), ("B", "A"), ("C", "B")]
    assert group.edges[0][2] == pytest.approx(apart, abs=0.01)
    assert group.by_start is None
    assert found.chain_groups == [[0, 2], [1, 3]]
    assert "try samplers.PARNI()" in found.advice[1]
    assert not any("run longer" in line or "tune" in line for line in found.advice)
    assert_fits_a_terminal(found)
    plain = found.to_dict()
    assert plain["modes"][0]["nodes"] == ["A", "B", "C"]
    assert plain["modes"][0]["edges"][0][:2] == ["A", "B"]


def test_three_modes_and_two_places():
    found = diagnose(record_of({"AB": [1, 0, 1, 0], "AC": [1, 1, 0, 1], "DE": [0, 0, 0, 1]}))
    assert [group.nodes for group in found.modes] == [["A", "B", "C"], ["D", "E"]]
    assert [group.chain_groups for group in found.modes] == [[[0], [1, 3], [2]], [[0, 1, 2], [3]]]
    assert found.chain_groups == [[0], [1], [2], [3]]
    assert "4 separated modes (chains 1 | 2 | 3 | 4), at nodes A, B, C, D and E" in found.verdict
    assert_fits_a_terminal(found)


def test_a_slow_edge_beside_a_separated_mode_does_not_blur_it():
    wandering = np.full((CHAINS, BATCHES), 0.0)
    wandering[0, 5:] = wandering[2, :12] = 1.0
    found = diagnose(record_of({"AB": [1, 0, 1, 0], "BC": wandering, "AD": [1, 0, 1, 0], "DB": wandering}))
    separated, slow = found.modes
    assert (separated.nodes, separated.kind) == (["A", "B", "D"], "separated")
    assert ("D", "B") in [edge[:2] for edge in separated.edges]
    assert (slow.nodes, slow.kind, slow.chain_groups) == (["B", "C"], "slow", [[0, 1, 2, 3]])
    assert any("at nodes B and C chains do move" in line for line in found.advice)


def switching(rng, crossings):
    """(chain, batch) frequencies of an edge that comes or goes about `crossings` times in a run."""
    steps = 50
    switches = rng.random((CHAINS, BATCHES * steps)) < crossings / (BATCHES * steps)
    state = (rng.integers(2, size=(CHAINS, 1)) + switches.cumsum(axis=1)) % 2
    return state.reshape(CHAINS, BATCHES, steps).mean(axis=2)


def means_apart(record):
    """The broken twin: compares chain means with the standard errors of their batches, as if these were independent."""
    frequencies = record.batch_counts[:, :, 0] / record.batch_iterations
    means, squares = frequencies.mean(axis=1), frequencies.var(axis=1, ddof=1) / BATCHES
    pairs = itertools.combinations(range(CHAINS), 2)
    return any(abs(means[a] - means[b]) > 4 * math.sqrt(squares[a] + squares[b] + 1e-9) for a, b in pairs)


def test_chains_that_wander_are_slow_not_separated():
    rng = np.random.default_rng(3)
    judged = twin_fooled = 0
    for seed in range(200):
        frequencies = switching(rng, 2.0)
        record = record_of({"AB": frequencies}, seed=seed)
        crossed = ((frequencies == 0).any(axis=1) & (frequencies == 1).any(axis=1)).any()
        groups = find_modes(record, record.log_posterior, DISAGREEMENT_LIMIT)
        if crossed and groups:
            judged += 1
            assert groups[0].kind == "slow"
            twin_fooled += means_apart(record)
    assert judged > 150
    assert twin_fooled > judged / 2
    found = diagnose(record)
    assert found.verdict.startswith("not converged: chains disagree on 1 edge")
    assert found.chain_groups == []
    assert "run longer" in found.advice[0]


@pytest.mark.parametrize("crossings", [0.25, 0.5, 1.0, 2.0])
def test_what_is_said_of_chains_that_did_not_cross_is_true(crossings):
    """Nobody is told that a longer run is of no use, and the stay that is claimed is hardly ever longer than it is."""
    rng = np.random.default_rng(8)
    runs, told_otherwise, true_stay = 300, 0, BATCHES * BATCH / crossings
    for seed in range(runs):
        advice = " ".join(diagnose(record_of({"AB": switching(rng, crossings)}, seed=seed)).advice)
        claimed = re.search(r"a stay lasts about ([\d,]+) iterations or more", advice)
        too_long = claimed is not None and int(claimed[1].replace(",", "")) > true_stay
        told_otherwise += too_long or "hardly help" in advice
    assert told_otherwise <= 0.05 * runs


def test_well_mixed_chains_of_noisy_batches_are_never_separated():
    """Batches with an error of 0.15, so that chains do disagree by more than the limit, by chance alone."""
    rng = np.random.default_rng(4)
    disagreed = 0
    for seed in range(300):
        noisy = np.clip(rng.normal(0.5, 0.15, (CHAINS, BATCHES)), 0, 1)
        record = record_of({"AB": noisy, "CD": np.clip(rng.normal(0.3, 0.15, (CHAINS, BATCHES)), 0, 1)}, seed=seed)
        groups = find_modes(record, record.log_posterior, DISAGREEMENT_LIMIT)
        disagreed += bool(groups)
        assert all(group.kind == "slow" for group in groups)
    assert disagreed > 20


def test_agreement_and_one_chain_have_no_modes():
    found = diagnose(record_of({"AB": 0.5, "BC": 1.0}))
    assert (found.converged, found.modes, found.chain_groups) == (True, [], [])
    alone = np.zeros((CHAINS, BATCHES), np.int64)
    alone[2] = BATCH
    found = diagnose(record_of({"AB": [1, 0, 1, 0], "CD": 0.5}, iterations=alone))
    assert (found.modes, found.chain_groups, found.disagreement_max) == ([], [], None)


def test_interrupted_chains_are_judged_by_what_they_did():
    iterations = np.full((CHAINS, BATCHES), BATCH)
    iterations[:, 12:] = 0
    iterations[1, 3:] = 0  # too short to prove anything, but it sits with chain 4
    iterations[2] = 0
    found = diagnose(record_of({"AB": [1, 0, 1, 0]}, iterations=iterations))
    assert [group.chain_groups for group in found.modes] == [[[0], [1, 3]]]
    assert len(found.modes[0].edges[0][2]) == 3
    assert "chains 1 | 2 and 4" in found.verdict
    iterations[3, 3:] = 0  # now no chain without the edge has shown that it is trapped
    found = diagnose(record_of({"AB": [1, 0, 1, 0]}, iterations=iterations))
    assert [group.kind for group in found.modes] == ["slow"]


def test_a_run_too_short_to_try_every_edge_proves_no_modes():
    few = np.full((CHAINS, BATCHES), 3)
    (group,) = find_modes(record_of({"AB": [1, 0, 1, 0]}, iterations=few), np.zeros((CHAINS, 60)), 0.1)
    assert group.kind == "slow"
    enough = np.full((CHAINS, BATCHES), 20)
    (group,) = find_modes(record_of({"AB": [1, 0, 1, 0]}, iterations=enough), np.zeros((CHAINS, 60)), 0.1)
    assert group.kind == "separated"


def test_chains_that_still_climb_are_not_in_modes():
    climbing = np.random.default_rng(5).normal(size=(CHAINS, 500)) + np.linspace(0, 20, 500)
    found = diagnose(record_of({"AB": [1, 0, 1, 0]}, log_posterior=climbing))
    assert [group.kind for group in found.modes] == ["slow"]
    assert any("raise tune" in line for line in found.advice)


def test_frozen_chains_at_different_graphs_are_separated():
    found = diagnose(record_of({"AB": [1, 1, 0, 0], "BA": [0, 0, 1, 1]}, log_posterior=np.full((CHAINS, 100), -5.0)))
    assert found.converged is False
    assert found.chain_groups == [[0, 1], [2, 3]]
    assert found.modes[0].log_posterior_gap == [0.0, 0.0]
    assert any("both matter" in line for line in found.advice)


# ── starts and heights ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("starts", "by_start"),
    [
        (["AB", "BA", "AB", "BA"], True),
        (["BA", "AB", "AB", "BA"], False),
        (["AB", "AB", "AB", "AB"], False),
        (None, None),
    ],
)
def test_chains_that_stay_where_they_started(starts, by_start):
    starts = None if starts is None else [[start, "CD"] for start in starts]
    found = diagnose(record_of({"AB": [1, 0, 1, 0], "BA": [0, 1, 0, 0.9], "CD": 0.5}, starts=starts))
    assert found.modes[0].by_start is by_start
    assert any("each chain stays where it started" in line for line in found.advice) is bool(by_start)
    assert ("each where it started" in " ".join(repr(found).split())) is bool(by_start)


@pytest.mark.parametrize(
    ("start", "settings", "noted"),
    [
        (["AB"], {}, "weak evidence"),
        (["AB"], {"start": "given"}, "weak evidence"),
        (["AB"], {"start": "searched"}, "no search met"),
        ([], {}, "as is common"),
        (["BC"], {"prior": {"required_edges": 1}}, "the required edges alone, as is common"),
    ],
)
def test_agreement_from_a_single_start_is_weak_evidence(start, settings, noted):
    found = diagnose(record_of({"AB": 0.5, "BC": 0.99}, starts=[start] * CHAINS, **settings))
    assert found.converged is True
    assert [noted in line for line in found.advice] == [True]


def test_starts_that_differ_in_an_edge_that_no_chain_kept_are_several():
    assert diagnose(record_of({"AB": 0.5, "BC": 0.99}, starts=[["AB"], ["AB"], ["AB", "DE"], ["AB"]])).advice == []


def test_a_lower_mode_is_called_local_and_equal_ones_are_not():
    probabilities = {"AB": [1, 0, 1, 0]}
    draws = np.random.default_rng(6).normal(size=(CHAINS, 500))
    lower = draws - np.array([[0.0], [12.0], [0.0], [12.0]])
    found = diagnose(record_of(probabilities, log_posterior=lower))
    assert found.modes[0].log_posterior_gap == pytest.approx([0.0, 12.0], abs=0.3)
    assert found.modes[0].log_posterior_gap_error[1] < 0.15
    assert any(
        line.startswith("chains 2 and 4 sit 1") and "local mode that they cannot" in line for line in found.advice
    )
    assert not any("both matter" in line for line in found.advice)
    equal = diagnose(record_of(probabilities, log_posterior=draws))
    assert any("both matter" in line for line in equal.advice)
    assert not any("local mode" in line for line in equal.advice)
    assert diagnose(record_of(probabilities, log_posterior=draws[:, :3])).modes[0].log_posterior_gap is None


def test_the_error_of_a_gap_allows_for_autocorrelation():
    rng = np.random.default_rng(7)
    gaps, errors = [], []
    for _ in range(150):
        noise = rng.normal(size=(2, 1500))
        for step in range(1, 1500):
            noise[:, step] += 0.8 * noise[:, step - 1]
        below, error = _gaps(_heights(noise[:, 500:] + [[0.0], [5.0]]), [[0], [1]])
        gaps.append(below[0])
        errors.append(error[0])
    # the standard deviation of 150 gaps is known to 6 %
    assert np.std(gaps) == pytest.approx(np.mean(errors), rel=0.25)
    assert np.mean(gaps) == pytest.approx(5.0, abs=4 * np.std(gaps) / math.sqrt(150))


def test_words_stay_short_however_many_nodes_and_chains():
    n, chains = 40, 30
    names = tuple(f"a very long name of column {node}" for node in range(n))
    counts = np.zeros((chains, BATCHES, n - 1), np.int64)
    for chain in range(chains):
        counts[chain, :, chain] = BATCH * 100
    record = bare_record(
        nodes=names,
        log_posterior=np.random.default_rng(8).normal(size=(chains, 500)),
        edge_codes=(np.arange(n - 1) * n + np.arange(1, n)).astype(np.int32),
        batch_counts=counts,
        batch_iterations=np.full((chains, BATCHES), BATCH * 100),
    )
    found = diagnose(record)
    assert len(found.chain_groups) == chains
    assert "chains 1 | 2 | 3 | and 27 more modes" in found.verdict
    assert "and 25 more" in found.verdict
    assert len(repr(found).splitlines()) < 50
    assert_fits_a_terminal(found)


# ── twins ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def naive_sides(low, high, mean, limit):
    """Try every way of cutting the chains in two."""
    chains = range(len(low))
    cuts = [
        lower
        for size in range(1, len(low))
        for lower in itertools.combinations(chains, size)
        if max(high[list(lower)]) < min(np.delete(low, lower))
        and min(np.delete(mean, lower)) - max(mean[list(lower)]) > limit
    ]
    return [sum(chain not in lower for lower in cuts) for chain in chains]


@given(st.lists(st.tuples(*[st.integers(0, 8)] * 3), min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 2.0]))
def test_gaps_against_a_naive_twin(intervals, limit):
    low, mean, high = np.sort(np.array(intervals, float), axis=1).T
    sides = gap_sides(low[:, None], high[:, None], mean[:, None], limit)
    assert sides.ravel().tolist() == naive_sides(low, high, mean, limit)


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=14))
def test_groups_against_networkx(edges):
    edges = [edge for edge in edges if edge[0] != edge[1]]
    codes = np.array([one * 12 + other for one, other in edges], dtype=np.int32)
    place = {node: k for k, nodes in enumerate(nx.connected_components(nx.Graph(edges))) for node in nodes}
    for separated in (np.ones(len(edges), bool), np.zeros(len(edges), bool)):
        found = _groups(codes, separated, 12).tolist()
        assert len(set(found)) == len(set(place.values()))
        assert len(set(zip(found, (place[one] for one, _ in edges), strict=True))) == len(set(found))
