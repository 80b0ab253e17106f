"""The studies of speed and of how costs grow: slopes, lists of tasks, small measurements, reports."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import parnidag
from benchmarks import growth
from benchmarks.chains import BATCHES, Walk
from benchmarks.growth import Memory, Point, draw_figures, open_edge_counts
from benchmarks.growth_drawing import Panel, growth_figure
from benchmarks.harness.study import SCALES, Request
from benchmarks.harness.summaries import Interval
from benchmarks.harness.task import Outcome
from benchmarks.problems import simulated
from benchmarks.slopes import ALARM, fit_growth, growth_text, power_text
from benchmarks.studies.scaling import CHOICE, DEFAULT, QUANTITIES, SCALING, SWEEPS, task_at
from benchmarks.studies.speed import PEERS, SAMPLERS, SPEED, run_rate, thousands, wall_text
from benchmarks.wall import threads_gain
from parnidag.samplers import ADR
from parnidag.samplers.base import new_chain

PLACES = (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)


# ── slopes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def made(rng, power, replications=3, noise=0.1, bend=None):
    """Costs that grow as a known power, with noise, and perhaps with another power from some place on."""
    x = np.repeat(PLACES, replications)
    y = 3.0 * x**power * np.exp(noise * rng.normal(size=x.size))
    return x, y * np.where(x > bend[0], x / bend[0], 1.0) ** bend[1] if bend else y


def test_the_power_without_noise():
    x = np.array(PLACES)
    growth_ = fit_growth(x, 7.0 * x**0.3)
    assert growth_.power == pytest.approx((0.3, 0.3, 0.3), abs=1e-12)
    assert growth_.bend is None


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
    assert math.isnan(fit_growth([], []).power.middle)
    two = fit_growth([10.0, 1000.0], [1.0, 10.0])
    assert two.power.middle == pytest.approx(0.5)
    assert math.isnan(two.power.low)
    assert power_text("n", fit_growth([], []).power) == "–"


def test_growth_in_words():
    x = np.array(PLACES)
    assert growth_text("n", "cost", fit_growth(x, x**0.3)) == "cost ∝ n^0.30 (0.30 – 0.30)"
    assert power_text("N", Interval(-0.001, -0.25, 0.1)) == "N^0.00 (−0.25 – 0.10)"
    bent = growth_text("n", "cost", fit_growth(*made(np.random.default_rng(1), 0.1, bend=(200.0, 0.9))))
    assert "which bends at n ≈ 200: n^0." in bent


# ── lists of tasks ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("study", [SCALING, SPEED], ids=lambda study: study.name)
def test_tasks_are_well_formed(study, scale):
    request = Request(scale=scale)
    tasks = study.tasks(request, study.sizes[scale])
    assert len({task.digest for task in tasks}) == len(tasks)
    assert len({task.describe() for task in tasks}) == len(tasks)
    again = study.tasks(request, study.sizes[scale])
    assert [task.digest for task in again] == [task.digest for task in tasks]
    other = study.tasks(Request(scale=scale, seed=50), study.sizes[scale])
    shared = {task.digest for task in other} & {task.digest for task in tasks}
    assert shared <= {task.digest for task in tasks if task.labels.get("sampler") == "wall time"}


def test_sweeps_change_one_thing():
    tasks = SCALING.tasks(Request(scale="standard"), SCALING.sizes["standard"])
    for name, column in (("nodes", "nodes"), ("rows", "rows"), ("density", "edges")):
        points = [task.settings["point"] for task in tasks if task.labels["sweep"] == name]
        for other in {"nodes", "rows", "edges"} - {column} - ({"edges"} if name == "nodes" else set()):
            assert len({point[other] for point in points}) == 1
        assert len({point[column] for point in points}) == len(SCALING.sizes["standard"].values[name])


def test_only_first_chains_of_the_default_have_a_process_of_their_own():
    for task in SCALING.tasks(Request(scale="paper"), SCALING.sizes["paper"]):
        first = task.labels["method"] == DEFAULT and task.labels["replication"] == 0
        assert task.settings["alone"] == first


def test_what_the_user_asks_for():
    request = Request(scale="standard", methods=("adr",), replications=2, seconds=0.25)
    tasks = SCALING.tasks(request, SCALING.sizes["standard"])
    assert {task.labels["method"] for task in tasks} == {"adr"}
    assert {task.labels["replication"] for task in tasks} == {0, 1}
    assert min(task.settings["point"]["seconds"] for task in tasks) == 0.25
    speed = SPEED.tasks(request, SPEED.sizes["standard"])
    assert {task.labels["sampler"] for task in speed} == {"adr"}
    assert {task.settings["seconds"] for task in speed} == {0.25}


def test_a_file_of_ones_own(tmp_path):
    table = parnidag.simulate(nodes=4, rows=30, seed=1)
    path = tmp_path / "own.csv"
    np.savetxt(path, table.values, delimiter=",", header="a,b,c,d", comments="")
    tasks = SPEED.tasks(Request(data=path), SPEED.sizes["quick"])
    assert {task.settings["data"] for task in tasks} == {"file"}
    assert {task.place["path"] for task in tasks} == {str(path)}


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


def test_what_goes_wrong_in_a_process_is_told():
    sent = []
    impossible = Point(nodes=14, edges=200, rows=10, seconds=0.05, tuning_draws=1, seed=1)
    growth._send_measured(SimpleNamespace(send=sent.append), "adr", impossible)
    assert "edges=200" in str(sent[0])
    assert isinstance(pickle.loads(pickle.dumps(sent[0])), parnidag.ParnidagError)


@pytest.fixture
def walk():
    problem = simulated("small", nodes=8, edges=8, rows=40)
    chain = new_chain(problem.target, problem.target.required, 1, 0)
    sampler = ADR()
    sampler.begin(problem.target, sampler.prepare(problem.target), chain, 10)
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


def test_memory_sees_what_came_and_went():
    """Arrays above 32 MiB, which the C library always asks of the system: smaller ones may fit into what was freed."""
    memory = Memory()
    memory.begin()
    if memory.before is None:
        pytest.skip("this system does not tell")
    kept = np.ones(8_000_000)
    passing = np.ones(16_000_000)
    del passing
    figures = memory.figures()
    assert figures["peak_megabytes"] == pytest.approx(192, abs=5)
    assert figures["held_megabytes"] == pytest.approx(kept.nbytes / 1e6, abs=5)


def test_a_rate_is_measured():
    task = next(
        task
        for task in SPEED.tasks(Request(methods=("adr",)), SPEED.sizes["quick"])
        if task.settings["data"] == "gsim100"
    )
    outcome = run_rate(**{**task.settings, "seconds": 0.05, "tune": 1000}, **task.place)
    assert outcome.figures["iterations_per_second"] > 0
    assert len(outcome.arrays["rates"]) == 5
    with pytest.raises(AssertionError):
        run_rate(**{**task.settings, "digest": "another"}, **task.place)


def test_two_threads_run_side_by_side(walk):
    """Chains do the same iterations with and without threads; how much faster is the machine's affair."""
    problem = simulated("small", nodes=8, edges=8, rows=40)
    other = new_chain(problem.target, problem.target.required, 1, 1)
    walk.sampler.begin(problem.target, walk.sampler.prepare(problem.target), other, 10)
    walk.sampler.advance(problem.target, other, 10)
    assert threads_gain(walk.sampler, problem.target, [walk.chain, other], 0.01) > 0
    assert walk.chain.iteration == other.iteration > 10


# ── reports ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def made_outcome(task, power):
    figures = {key: 2.0 * float(task.labels["value"]) ** power for key in QUANTITIES}
    if not task.settings["alone"]:
        del figures["peak_megabytes"]
    return Outcome(figures=figures)


def test_report_of_scaling():
    size = SCALING.sizes["quick"]
    tasks = SCALING.tasks(Request(), size)
    found = [(task, made_outcome(task, 0.5)) for task in tasks]
    found[0] = (found[0][0], Outcome("crashed", note="out of luck"))
    report = SCALING.report(Request(), size, found)
    assert len(report.rows) == len(tasks)
    assert "- cost of an iteration ∝ n^0.50 (0.50 – 0.50)\n" in report.markdown
    assert "| rows | ADR | N^0.50 (0.50 – 0.50) |" in report.markdown
    assert "out of luck" in report.markdown
    assert "| N = 10,000 | 200 | 2e+05 |" in report.markdown
    assert set(report.figures) == {"", "-setup"}
    assert len(report.figures[""].axes) == 2 * len(SWEEPS)


def test_report_of_scaling_without_some_methods():
    request, size = Request(methods=("adr",)), SCALING.sizes["quick"]
    found = [(task, Outcome("failed", note="no")) for task in SCALING.tasks(request, size)]
    assert "| – |" in SCALING.report(request, size, found).markdown


@pytest.mark.parametrize("high", [30.0, 3e6])
def test_every_axis_has_numbers(high):
    """A range within one power of ten too, which has no power of ten in it."""
    panel = Panel("x", "y", "", {"one": ([20.0, 50.0], [12.0, high])})
    figure = growth_figure([[panel]], ["one"])
    figure.canvas.draw()
    axis = figure.axes[0].yaxis
    low, top = figure.axes[0].get_ylim()
    shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= top and tick.label1.get_text()]
    assert len(shown) >= 1
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["20", "50"]


def test_report_of_speed():
    size = SPEED.sizes["quick"]
    tasks = SPEED.tasks(Request(), size)
    wall = {"threads_gain": 1.9, "cores": 2, "cold_demo_seconds": None, "demo_seconds": 9.04, "help_seconds": 0.5}
    found = [
        (task, Outcome(figures=wall))
        if task.labels["sampler"] == "wall time"
        else (
            task,
            Outcome(figures={"iterations_per_second": 1540.0 * (1 + task.labels["replication"]), "evaluations": 9}),
        )
        for task in tasks
    ]
    found[0] = (found[0][0], Outcome("crashed", note="out of luck"))
    report = SPEED.report(Request(), size, found)
    line = next(line for line in report.markdown.splitlines() if "as printed | gsim100" in line)
    assert "2,310 (1,540 – 3,080) | 2 | 9.0 |  |  |" in line  # simulated: nothing that the peers ran on
    real = [(replace(task, labels=task.labels | {"data": task.settings["data"]}), outcome) for task, outcome in found]
    line = next(
        line for line in SPEED.report(Request(), size, real).markdown.splitlines() if "as printed | gsim100" in line
    )
    assert "2,310 (1,540 – 3,080) | 2 | 9.0 | authors' R code 154 | 15× |" in line
    assert "1.90 times" in report.markdown
    assert "demo 9.0 s, `--help` 0.5 s" in report.markdown
    assert "first demo" not in report.markdown
    assert "first demo ever, with compilation 70.0 s" in wall_text(Outcome(figures={**wall, "cold_demo_seconds": 70.0}))
    assert len(report.figures[""].axes) == 2


def test_peers_and_choices_are_known():
    assert {sampler for sampler, _ in PEERS} <= set(SAMPLERS)
    assert {method for sweep in SWEEPS.values() for method in sweep.methods} <= set(CHOICE)


@pytest.mark.parametrize(
    ("value", "text"), [(3.4, "3"), (1234.0, "1,230"), (1_234_567.0, "1,230,000"), (999.6, "1,000")]
)
def test_three_digits(value, text):
    assert thousands(value) == text
