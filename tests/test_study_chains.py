"""Chains under a budget of CPU time give what chains give, and studies judge them rightly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import parnidag
from benchmarks import __main__ as command
from benchmarks.chains import Walk
from benchmarks.harness.task import Outcome, Task
from benchmarks.learners import LEARNERS, learn, weight
from benchmarks.methods import METHODS as SAMPLERS
from benchmarks.networks import Network
from benchmarks.problems import simulated
from benchmarks.studies import accuracy, gsim, laws, priors, settings
from benchmarks.timed import timed_chain
from parnidag import scores
from parnidag.metrics import shd
from parnidag.samplers.base import Asked, new_chain

PROBLEM = simulated("small", nodes=6, edges=7, rows=60, seed=3)


@pytest.mark.parametrize("name", ["adr", "parni-printed", "parni-gibbs", "parni", "partition", "order"])
def test_a_timed_chain_has_the_posterior_as_its_law(name):
    """Within 5 standard errors of one effective draw in 200 iterations (2000 of ADR); order MCMC is far off."""
    exact = parnidag.exact(PROBLEM.data, score="paper").edge_probabilities.to_numpy()
    method, marks = SAMPLERS[name], (0.001, 0.3, 9.0)
    chain = timed_chain(PROBLEM, method.sampler, 0.4, 1, space=method.space or "all", search=method.search, marks=marks)
    error = np.abs(chain.probabilities[-1] - exact).max()
    effective = chain.iterations / (2000 if name == "adr" else 200)
    assert error > 0.02 if name == "order" else error < 5 * math.sqrt(0.25 / effective)
    assert chain.seconds == pytest.approx(0.4, rel=0.5)
    assert chain.best_score == pytest.approx(new_chain(PROBLEM.target, chain.best, 1, 0).log_posterior, abs=1e-9)
    assert chain.marks.tolist() == [0.001, 0.3, 0.4]
    assert np.isnan(chain.probabilities[0]).all(), "before the end of tuning nothing is known"


def test_a_chain_under_a_clock_learns_as_any_other():
    learner = LEARNERS["default"]
    problem = learner.problem(PROBLEM.data)
    target = problem.target
    prepared = learner.sampler.prepare(target, Asked())
    chain = new_chain(target, target.required, 1, 0)
    learner.sampler.begin(target, prepared, chain, 100)
    walk = Walk(learner.sampler, problem, chain, 1e5)
    walk.until(0.1)
    assert chain.level_draws.sum() == chain.iteration // learner.sampler.steps_a_level(target) > 0


# ── the reference of gsim100 ──────────────────────────────────────────────────────────────────────────────────────────


def chains_of(method, centre, spread, count, rng):
    return [
        (
            Task("m:f", {}, {"method": method}),
            Outcome(arrays={"probabilities": (centre + spread * rng.standard_normal((5, 5)))[None]}),
        )
        for _ in range(count)
    ]


def test_the_error_of_the_reference_is_that_of_a_mean():
    rng, truth = np.random.default_rng(1), np.full((5, 5), 0.5)
    errors, said = [], []
    for _ in range(400):
        found = chains_of("reference", truth, 0.01, 8, rng) + chains_of("other", truth, 0.02, 4, rng)
        rest, reference = gsim.split(found)
        assert not rest
        errors.append(((reference.probabilities - truth) ** 2).mean())
        said.append((reference.error, reference.contradiction, reference.expected))
    error, contradiction, expected = np.mean(said, axis=0)
    assert error == pytest.approx(np.mean(errors), rel=0.1)
    assert contradiction == pytest.approx(expected, rel=0.1)


def test_a_family_that_contradicts_is_seen():
    rng = np.random.default_rng(1)
    found = chains_of("reference", 0.5, 0.01, 8, rng) + chains_of("other", 0.6, 0.01, 4, rng)
    reference = gsim.split(found)[1]
    assert reference.contradiction > 50 * reference.expected


# ── how far graphs are from the truth ─────────────────────────────────────────────────────────────────────────────────


def random_graph(rng, n=7, undirected=False):
    graph = np.triu(rng.random((n, n)) < 0.4, 1)
    place = rng.permutation(n)
    graph = graph[np.ix_(place, place)]
    return graph | (graph.T & (rng.random((n, n)) < 0.3)) if undirected else graph


@pytest.mark.parametrize("undirected", [False, True])
def test_pairs_are_counted_as_the_distance_counts_them(undirected):
    rng = np.random.default_rng(1)
    for _ in range(50):
        graph, truth = random_graph(rng, undirected=undirected), random_graph(rng)
        parts = accuracy.counts(graph, truth)
        assert parts["turned"] + parts["missing"] + parts["extra"] == shd(graph, truth)
        assert parts["right"] + parts["turned"] + parts["missing"] == truth.sum()
        if not undirected:
            assert sum(settings.turned_edges(graph, truth).values()) == parts["turned"]


COLLIDERS = Network(
    "colliders",
    tuple("abcdef"),
    np.array([[0, 0, 2, 0, 0, 0], [0, 0, 2, 0, 0, 0], [0] * 6, [0, 0, 0, 0, 0, 2], [0, 0, 0, 0, 0, 2], [0] * 6], float),
    np.zeros(6),
    np.ones(6),
)
"""a → c ← b and d → f ← e, strong: data tell every direction."""


@pytest.mark.parametrize("method", LEARNERS)
def test_every_sampler_finds_what_is_plain_to_see(method):
    outcome = accuracy.run_on(COLLIDERS, method, 500, 0.2, 1)
    assert outcome.figures["shd_mode"] <= 1
    assert outcome.figures["right"] >= 3
    graphs, _ = learn(method, COLLIDERS.draw(500, 1), 0.1, 1)
    assert shd(graphs["mode"].T, COLLIDERS.adjacency) >= 3, "the transposed twin"


def test_odds_are_those_of_the_penalty():
    h = weight("1/(2 log n)", 44)
    assert h / (1 - h) == pytest.approx(1 / (2 * math.log(44)))
    assert (weight("1/100", 44), weight("1/n", 44)) == (0.01, 1 / 44)


def outcomes(method, values, best=0.0):
    """Distances of three estimates, all alike but that of the best graph, which is so much more."""
    kinds = [f"{distance}_{estimate}" for distance in ("shd", "cpdag") for estimate in ("median", "mode", "best")]
    return [
        (
            Task("m:f", {}, {"method": method, "network": "net", "replication": k}),
            Outcome(figures={kind: value + best * kind.endswith("best") for kind in kinds}),
        )
        for k, value in enumerate(values)
    ]


def test_every_sampler_says_how_far_it_expects_to_be():
    found = [
        (task, Outcome(figures={**outcome.figures, "expected_shd_mode": 7.0}))
        for task, outcome in outcomes("default", [1, 2])
    ]
    lines = accuracy.expected_table([*found, *outcomes("GES", [3.0, 4.0])], "network").splitlines()
    assert lines[2:] == ["| parnidag, default | 7.00 ± 0.00 |"]


@pytest.mark.parametrize(
    ("ours", "theirs", "distance", "difference", "times"),
    [
        # better by exactly one on each data set: the interval has no width, though distances differ by tens
        (outcomes("default", [10.0, 30.0, 50.0]), outcomes("adr", [11.0, 31.0, 51.0]), "shd", "+1.00 ± 0.00", 3),
        # like with like: best graphs that are ten worse, of both
        (outcomes("default", [10.0, 30.0], 10.0), outcomes("order", [10.0, 30.0], 10.0), "shd", "+0.00 ± 0.00", 3),
        # one graph: its DAG with directions drawn against our mode; between classes it stands as it is
        (outcomes("default", [10.0, 30.0]), outcomes("GES", [25.0, 45.0], -14.0), "shd", "+1.00 ± 0.00", 1),
        (outcomes("default", [10.0, 30.0]), outcomes("GES", [25.0, 45.0], -14.0), "cpdag", "+15.00 ± 0.00", 1),
    ],
)
def test_methods_are_compared_data_set_by_data_set(ours, theirs, distance, difference, times):
    assert accuracy.paired_table(ours + theirs, "network", distance).count(difference) >= times


# ── what there is to find ─────────────────────────────────────────────────────────────────────────────────────────────

DIAMOND = Network(
    "diamond",
    tuple("abcd"),
    np.array([[0, 1.0, -0.5, 0.3], [0, 0, 0, 0.7], [0, 0, 0, 0.2], [0, 0, 0, 0]]),
    np.zeros(4),
    np.array([1.0, 0.5, 2.0, 1.5]),
)


def test_the_share_that_an_edge_explains_is_that_of_a_regression():
    """By the residuals of two regressions on many rows; the marginal correlation, a likely mistake, is far off."""
    values = DIAMOND.draw(400_000, 1)
    found = dict(zip(map(tuple, np.argwhere(DIAMOND.adjacency)), priors.shares_explained(DIAMOND), strict=True))

    def left(child, parents):
        chosen = values[:, parents]
        return (values[:, child] - chosen @ np.linalg.lstsq(chosen, values[:, child], rcond=None)[0]).var()

    for parent, child in ((0, 1), (0, 3), (1, 3), (2, 3)):
        parents = np.flatnonzero(DIAMOND.adjacency[:, child])
        share = 1 - left(child, parents) / left(child, parents[parents != parent])
        assert found[parent, child] == pytest.approx(share, abs=5 / math.sqrt(400_000))
    assert abs(found[0, 3] - np.corrcoef(values[:, 0], values[:, 3])[0, 1] ** 2) > 0.02


def test_the_price_of_an_edge_is_that_of_the_score():
    """Two columns whose correlation is exactly the price: the posterior is undecided between an edge and none."""
    rows, h = 100, 0.05
    columns = np.column_stack([np.ones(rows), np.random.default_rng(1).standard_normal((rows, 2))])
    _, one, other = np.linalg.qr(columns)[0].T
    for factor, wanted in ((1.0, True), (0.7, False), (1.4, False)):
        share = priors.price(10, h, rows) * factor
        values = np.column_stack([one, math.sqrt(share) * one + math.sqrt(1 - share) * other])
        posterior = parnidag.exact(values, score=scores.Gaussian(g=10), prior=parnidag.EdgePrior(h=h))
        edge = posterior.edge_probabilities.to_numpy()
        ratio = edge[0, 1] / (1 - edge.sum())
        assert (abs(math.log(ratio)) < 0.2) == wanted, (factor, ratio)


# ── settings on the same data ─────────────────────────────────────────────────────────────────────────────────────────


def test_settings_are_compared_data_set_by_data_set():
    """Paired, the difference is exact however much data sets differ; a data set without its partner does not count."""
    found = [
        (
            Task("m:f", {}, {"network": "net", "setting": setting, "replication": k}),
            Outcome(figures={"shd_mode": distance + 7 * k}),
        )
        for k in range(4)
        for setting, distance in (("parni-gaussian", 20), ("iterative-bge", 17))
    ]
    table = settings.differences_table(found[1:], laws.SETTINGS, "parni-gaussian")
    assert table.splitlines()[2:] == [f"| {laws.SETTINGS['iterative-bge'].label} | -3.00 ± 0.00 |"]


def test_turned_edges_are_told_apart():
    """A star of three whose directions no data tell, a pair like it, and a collider whose directions are told."""
    truth = np.zeros((9, 9), bool)
    truth[0, 1:4] = truth[4, 5] = truth[6, 8] = truth[7, 8] = True
    assert settings.turned_edges(truth, truth) == {"turned_told": 0, "turned_hub": 0, "turned_untold": 0}
    assert settings.turned_edges(truth.T, truth) == {"turned_told": 2, "turned_hub": 3, "turned_untold": 1}
    assert not any(settings.turned_edges(np.zeros_like(truth), truth).values())  # missing is another matter
    truth[0, 3] = False  # two children are no hub
    assert settings.turned_edges(truth.T, truth) == {"turned_told": 2, "turned_hub": 0, "turned_untold": 3}


# ── for real ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_study_from_the_command_line(tmp_path, capsys):
    words = ["table1", "--seconds", "0.2", "--replications", "1", "--methods", "adr,parni"]
    words += ["--jobs", "1", "--out", str(tmp_path)]
    assert command.main(words) == 0
    assert "parnidag, default" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"table1-quick.csv", "table1-quick.md", "table1-quick.svg"}
    assert command.main(words) == 0
    assert "2 of 2 tasks are known from before" in capsys.readouterr().out
