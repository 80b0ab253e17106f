"""Chains under a budget of CPU time give what chains give, and studies judge them rightly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import parnidag
from benchmarks import __main__ as command
from benchmarks.harness.study import Request
from benchmarks.harness.task import Outcome, Task
from benchmarks.learners import LEARNERS, METHODS, describe, label_of, learn, weight
from benchmarks.methods import METHODS as SAMPLERS
from benchmarks.networks import Network
from benchmarks.problems import simulated
from benchmarks.studies import accuracy, gsim, laws, priors, settings
from benchmarks.timed import timed_chain
from parnidag import scores
from parnidag.metrics import shd
from parnidag.samplers.base import new_chain

PROBLEM = simulated("small", nodes=6, edges=7, rows=60, seed=3)


@pytest.mark.parametrize("name", ["adr", "parni-printed", "parni-gibbs", "parni", "partition"])
def test_a_timed_chain_has_the_posterior_as_its_law(name):
    """Within 5 standard errors of one effective draw in 200 iterations (2000 of ADR); order MCMC is far off."""
    exact = parnidag.exact(PROBLEM.data).edge_probabilities.to_numpy()
    method = SAMPLERS[name]
    chain = timed_chain(PROBLEM, method.sampler, 0.4, 1, space=method.space or "all", search=method.search)
    found = chain.probabilities[-1]
    effective = chain.iterations / (2000 if name == "adr" else 200)
    assert np.abs(found - exact).max() < 5 * math.sqrt(0.25 / effective)
    assert chain.seconds == pytest.approx(0.4, rel=0.5)
    assert chain.best_score == pytest.approx(new_chain(PROBLEM.target, chain.best, 1, 0).log_posterior, abs=1e-9)


def test_marks_before_the_end_of_tuning_are_unknown():
    chain = timed_chain(PROBLEM, SAMPLERS["adr"].sampler, 0.2, 1, space="none", search=False, marks=(0.001, 0.15, 9.0))
    assert chain.marks.tolist() == [0.001, 0.15, 0.2]
    assert np.isnan(chain.probabilities[0]).all()
    assert np.isfinite(chain.probabilities[1:]).all()


def test_order_mcmc_would_be_noticed():
    exact = parnidag.exact(PROBLEM.data).edge_probabilities.to_numpy()
    found = timed_chain(PROBLEM, SAMPLERS["order"].sampler, 0.4, 1, space="all", search=False).probabilities[-1]
    assert np.abs(found - exact).max() > 0.02


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


def test_errors_are_against_the_reference():
    rng = np.random.default_rng(1)
    reference = gsim.split(chains_of("reference", 0.5, 0.0, 3, rng))[1]
    outcome = Outcome(
        arrays={"probabilities": np.full((2, 5, 5), 0.6), "times": np.arange(2.0), "trace": np.zeros((3, 1))}
    )
    ((_, judged),) = gsim.judged([(Task("m:f", {}, {"method": "adr"}), outcome)], reference)
    assert judged.figures["mse"] == pytest.approx(0.01)


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


def test_equivalent_graphs_have_no_distance_between_classes():
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    assert shd(chain.T, chain) == 2
    assert shd(accuracy.class_of(chain.T), accuracy.class_of(chain)) == 0


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


def test_names_and_settings_of_all_methods():
    assert len({label_of(method) for method in METHODS}) == len(METHODS)
    for method in METHODS:
        assert describe(method)


def outcomes(method, values, best=0.0, column="net"):
    """Distances of three estimates, all alike but that of the best graph, which is so much more."""
    return [
        (
            Task("m:f", {}, {"method": method, "network": column, "replication": k}),
            Outcome(
                figures={
                    f"{d}_{e}": v + (best if e == "best" else 0.0)
                    for d in ("shd", "cpdag")
                    for e in ("median", "mode", "best")
                }
            ),
        )
        for k, v in enumerate(values)
    ]


def test_methods_are_compared_data_set_by_data_set():
    """Ours is better by exactly one on each: the interval has no width, though distances differ by tens."""
    found = outcomes("parni", [10.0, 30.0, 50.0]) + outcomes("adr", [11.0, 31.0, 51.0])
    assert accuracy.paired_table(found, "network", "shd").count("+1.00 ± 0.00") == 3, "by each of three estimates"


def test_estimates_are_compared_like_with_like():
    """Another sampler has the same pairwise modes, and best graphs that are ten worse: of both, as ours."""
    found = outcomes("parni", [10.0, 30.0], best=10.0) + outcomes("order", [10.0, 30.0], best=10.0)
    table = accuracy.paired_table(found, "network", "shd")
    assert table.count("+0.00 ± 0.00") == 3
    assert "+10.00" not in table


def test_undirected_edges_are_not_counted_against_a_method_twice():
    """One graph: its DAG with directions drawn against our mode; between classes it stands as it is."""
    found = outcomes("parni", [10.0, 30.0]) + outcomes("GES", [25.0, 45.0], best=-14.0)
    assert "+1.00 ± 0.00" in accuracy.paired_table(found, "network", "shd")
    assert "+15.00 ± 0.00" in accuracy.paired_table(found, "network", "cpdag")


def test_what_did_not_run_says_so():
    found = outcomes("parni", [10.0])
    for method, status in (("PC", "missing"), ("GES", "stopped"), ("LiNGAM", "failed")):
        found.append((Task("m:f", {}, {"method": method, "network": "net", "replication": 0}), Outcome(status)))
    table = accuracy.estimates_table(found, "network", "shd")
    for text in ("not installed", "no time", "cannot"):
        assert text in table


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
    one, other = np.linalg.qr(np.column_stack([np.ones(rows), np.random.default_rng(1).standard_normal((rows, 2))]))[
        0
    ].T[1:]
    for factor, wanted in ((1.0, True), (0.7, False), (1.4, False)):
        share = priors.price(10, h, rows) * factor
        values = np.column_stack([one, math.sqrt(share) * one + math.sqrt(1 - share) * other])
        posterior = parnidag.exact(values, score=scores.Gaussian(g=10), prior=parnidag.EdgePrior(h=h))
        ratio = float(posterior.edge_probabilities.iloc[0, 1]) / (
            1 - float(posterior.edge_probabilities.to_numpy().sum())
        )
        assert (abs(math.log(ratio)) < 0.2) == wanted, (factor, ratio)


# ── settings on the same data ─────────────────────────────────────────────────────────────────────────────────────────


def made_up(distances, replications=3):
    """Outcomes of the laws on one network: SHD by setting, and a little more on every further data set."""
    return [
        (
            Task("m:f", {}, {"network": "net", "setting": setting, "replication": k}),
            Outcome(figures={"shd_mode": shd + 7 * k, "right": 10, "turned": 2, **dict.fromkeys(laws.KINDS, 1 + k)}),
        )
        for k in range(replications)
        for setting, shd in distances.items()
    ]


def test_settings_are_compared_data_set_by_data_set():
    """Paired, the difference is exact however much data sets differ; turned round, it would have the other sign."""
    found = made_up({"parni-gaussian": 20, "iterative-bge": 17})
    table = settings.differences_table(found, laws.SETTINGS, "parni-gaussian")
    assert table.splitlines()[2:] == [f"| {laws.SETTINGS['iterative-bge'].label} | -3.00 ± 0.00 |"]
    # one data set of the base is missing: its partner does not count
    table = settings.differences_table(found[2:] + found[1:2], laws.SETTINGS, "parni-gaussian")
    assert "-3.00 ± 0.00" in table


def test_turned_edges_are_told_apart():
    """A star of three whose directions no data tell, a pair like it, and a collider whose directions are told."""
    truth = np.zeros((9, 9), bool)
    truth[0, 1:4] = truth[4, 5] = truth[6, 8] = truth[7, 8] = True
    assert settings.turned_edges(truth, truth) == {"turned_told": 0, "turned_hub": 0, "turned_untold": 0}
    assert settings.turned_edges(truth.T, truth) == {"turned_told": 2, "turned_hub": 3, "turned_untold": 1}
    assert not any(settings.turned_edges(np.zeros_like(truth), truth).values())  # missing is another matter
    truth[0, 3] = False  # two children are no hub
    assert settings.turned_edges(truth.T, truth) == {"turned_told": 2, "turned_hub": 0, "turned_untold": 3}


def test_the_laws_are_reported_without_a_base_and_with_failures():
    size = laws.LAWS.sizes["quick"]
    whole = laws.LAWS.report(Request(), size, made_up(dict.fromkeys(laws.SETTINGS, 5)))
    assert "less that of the default" in whole.markdown
    assert "| BGe, odds 1/(2 log n): edges of no true pair | +0.00 ± 0.00 |" in whole.markdown
    found = made_up({"iterative-bge": 17})
    part = laws.LAWS.report(Request(), size, [(found[0][0], Outcome("crashed", note="no")), *found[1:]])
    assert "less that of the default" not in part.markdown
    assert "less all graphs" not in part.markdown


def test_the_laws_differ_in_one_thing_at_a_time():
    described = {name: learner.describe() for name, learner in laws.SETTINGS.items()}
    for law in ("parni", "partition", "iterative"):
        one, other = described[f"{law}-gaussian"], described[f"{law}-bge"]
        assert {key for key in one if one[key] != other[key]} == {"score", "odds"}
    assert len({str((one["score"], one["odds"])) for one in described.values()}) == 2


# ── for real ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_study_from_the_command_line(tmp_path, capsys):
    words = ["table1", "--seconds", "0.2", "--replications", "1", "--methods", "adr,parni"]
    words += ["--jobs", "1", "--out", str(tmp_path)]
    assert command.main(words) == 0
    said = capsys.readouterr().out
    assert "parnidag, default" in said
    assert {path.name for path in tmp_path.iterdir()} == {
        "cache",
        *(f"table1-quick{end}" for end in (".csv", ".md", ".json", ".svg", "-trace.svg")),
    }
    assert command.main(words) == 0
    assert "2 of 2 tasks are known from before" in capsys.readouterr().out
