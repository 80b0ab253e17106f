"""The studies of speed and of how costs grow: slopes, lists of tasks, small measurements."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.chains import BATCHES, Walk
from benchmarks.growth import Point, draw_figures, open_edge_counts
from benchmarks.harness.study import Request
from benchmarks.harness.summaries import Interval
from benchmarks.harness.task import Outcome
from benchmarks.problems import simulated
from benchmarks.slopes import ALARM, fit_growth
from benchmarks.studies.scaling import QUANTITIES, SCALING, task_at
from benchmarks.studies.speed import SPEED, run_rate
from parnidag.samplers import ADR
from parnidag.samplers.base import Asked, new_chain

PLACES = (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)


# ── slopes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def made(rng, power, replications=3, noise=0.1, bend=None):
    """Costs that grow as a known power, with noise, and perhaps with another power from some place on."""
    x = np.repeat(PLACES, replications)
    y = 3.0 * x**power * np.exp(noise * rng.normal(size=x.size))
    return x, y * np.where(x > bend[0], x / bend[0], 1.0) ** bend[1] if bend else y


def misses(fit, seed=1, runs=400):
    """How often the 95 % interval misses the power that the costs were made with."""
    rng = np.random.default_rng(seed)
    found = [fit(*made(rng, 0.7)) for _ in range(runs)]
    return sum(not low <= 0.7 <= high for _, low, high in found)


def test_intervals_hold_what_they_promise():
    """Of 400 intervals 20 miss on average; between 5 and 38 do, up to four standard deviations of 4.4."""
    assert 5 <= misses(lambda x, y: fit_growth(x, y).power) <= 38


def test_a_wrong_interval_would_be_noticed():
    """One of standard deviations in place of standard errors never misses, one of half the width does too often."""

    def scaled(factor):
        def fit(x, y):
            middle, low, high = fit_growth(x, y).power
            return Interval(middle, middle - factor * (middle - low), middle + factor * (high - middle))

        return fit

    assert misses(scaled(0.5)) > 38
    assert misses(scaled(math.sqrt(len(PLACES) * 3))) < 5
    assert misses(lambda x, y: fit_growth(y, x).power) > 38


def test_a_bend_is_found_where_it_is():
    found = fit_growth(*made(np.random.default_rng(1), 0.1, bend=(200.0, 0.9))).bend
    assert found is not None
    assert found.at == pytest.approx(200.0)
    assert found.below.low <= 0.1 <= found.below.high
    assert found.above.low <= 1.0 <= found.above.high


def test_straight_lines_have_no_bend():
    """At most one in a hundred is thought to have one; four standard deviations above that are 14 of 500."""
    rng = np.random.default_rng(2)
    bends = sum(fit_growth(*made(rng, 0.5, noise=1.0)).bend is not None for _ in range(500))
    assert bends <= 500 * ALARM + 4 * math.sqrt(500 * ALARM)


def test_too_few_places_say_so():
    assert math.isnan(fit_growth([20.0, 20.0], [1.0, 2.0]).power.middle)
    two = fit_growth([10.0, 1000.0], [1.0, 10.0])
    assert two.power.middle == pytest.approx(0.5)
    assert math.isnan(two.power.low)


# ── lists of tasks ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_user_asks_for():
    request = Request(scale="standard", methods=("adr",), replications=2, seconds=0.25)
    tasks = SCALING.tasks(request, SCALING.sizes["standard"])
    assert {task.labels["method"] for task in tasks} == {"adr"}
    assert {task.labels["replication"] for task in tasks} == {0, 1}
    assert min(task.settings["point"]["seconds"] for task in tasks) == 0.25
    speed = SPEED.tasks(request, SPEED.sizes["standard"])
    assert {task.labels["sampler"] for task in speed} == {"adr"}
    assert {task.settings["seconds"] for task in speed} == {0.25}


# ── small measurements ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_task_in_a_process_of_its_own():
    """It knows its memory."""
    point = Point(nodes=14, edges=20, rows=200_000, seconds=0.05, tuning_draws=1, seed=1)
    task = task_at("nodes", 14, "adr", point, 0)
    outcome = replace(task, settings={**task.settings, "alone": True}).run()
    assert set(QUANTITIES) <= set(outcome.figures)
    assert outcome.figures["microseconds_an_iteration"] == pytest.approx(
        0.05e6 / outcome.figures["iterations"], rel=0.5
    )
    assert min(outcome.figures["search_seconds"], outcome.figures["reading_seconds"]) > 0
    if outcome.figures["peak_megabytes"] is not None:
        assert outcome.figures["peak_megabytes"] >= 200_000 * 14 * 8 / 1e6


@pytest.fixture
def walk():
    problem = simulated("small", nodes=8, edges=8, rows=40)
    chain = new_chain(problem.target, problem.target.required, 1, 0)
    sampler = ADR()
    sampler.begin(problem.target, sampler.prepare(problem.target, Asked()), chain, 10)
    sampler.advance(problem.target, chain, 10)
    return Walk(sampler, problem, chain, 10_000.0)


def test_counts_are_those_of_the_chain(walk):
    visits, first = walk.chain.graph.visits.copy(), walk.chain.iteration
    counts, lengths = open_edge_counts(walk, 0.1)
    gained = (walk.chain.graph.visits - visits).ravel()
    share = gained / (walk.chain.iteration - first)
    assert counts.shape[:2] == lengths.shape == (1, BATCHES)
    assert lengths.sum() == walk.chain.iteration - first
    is_open = (share > 0.05) & (share < 0.95)
    assert is_open.any()
    assert counts.sum(axis=(0, 1)).tolist() == gained[is_open].tolist()
    assert (counts <= lengths[:, :, None]).all()


@pytest.mark.parametrize("stretch", [1, 10])
def test_effective_draws_of_known_edges(stretch):
    """Edges that are there by independent draws are worth as many; the same for ten iterations each, a tenth.

    Of 20 batches the variance has a relative error of √(2/19) = 0.32, the median of 40 edges √(π/2/40) = 0.2 of that;
    the median of a χ² with 19 degrees of freedom is 0.965 of its mean.
    """
    there = np.random.default_rng(1).random((BATCHES, 1000 // stretch, 40)) < 0.5
    counts = stretch * there.sum(axis=1)[None]
    figures = draw_figures(counts, np.full((1, BATCHES), 1000), used=2.0)
    worth = 20_000 / stretch
    assert figures["effective_draws_typical"] == pytest.approx(worth / 0.965, rel=4 * 0.32 * 0.2)
    assert figures["effective_draws_slow"] < figures["effective_draws_typical"]
    assert figures["seconds_a_draw_typical"] == pytest.approx(2.0 / figures["effective_draws_typical"])
    assert figures["microseconds_an_iteration"] == pytest.approx(100.0)
    assert figures["open_edges"] == 40


def test_too_few_effective_draws_are_not_counted():
    """An edge that is there in the first half only is worth hardly more than one draw a batch, whatever it does."""
    counts = np.zeros((1, BATCHES, 3), int)
    counts[0, : BATCHES // 2] = 1000
    figures = draw_figures(counts, np.full((1, BATCHES), 1000), used=2.0)
    assert figures["effective_draws_slow"] < BATCHES
    assert figures["seconds_a_draw_slow"] is None
    none = draw_figures(counts[:, :, :0], np.full((1, BATCHES), 1000), used=2.0)
    assert none["seconds_a_draw_typical"] is None


def test_a_rate_is_measured():
    tasks = SPEED.tasks(Request(methods=("adr",)), SPEED.sizes["quick"])
    task = next(task for task in tasks if task.settings["data"] == "gsim100")
    outcome = run_rate(**{**task.settings, "seconds": 0.05, "tune": 1000}, **task.place)
    assert outcome.figures["iterations_per_second"] > 0
    assert len(outcome.arrays["rates"]) == 5
    with pytest.raises(AssertionError):
        run_rate(**{**task.settings, "digest": "another"}, **task.place)


# ── reports ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("study", [SCALING, SPEED], ids=lambda study: study.name)
def test_what_failed_is_in_the_report(study):
    """What reports say of figures is compared with the kept tables of docs/results."""
    request = Request(methods=("adr",))
    found = [(task, Outcome("crashed", note="out of luck")) for task in study.tasks(request, study.sizes["quick"])]
    assert "out of luck" in study.report(request, study.sizes["quick"], found).markdown
