"""How fast: iterations a second of CPU time beside the peers' figures, two threads against one, and the commands.

Rates are CPU time of one chain after tuning. Samplers with a search space start from a searched graph in the space of
the PC skeleton and one more parent, which is the kind that the peers use; replications share the search and have chains
of their own. The peers' figures were measured on another machine (one core of an AMD EPYC virtual machine), so ratios
across machines are rough. Threads and commands are wall time: they come last, in one task, and mean something on a
machine that does nothing else (`--jobs 1`).
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.methods import METHODS
from benchmarks.problems import Problem, paper_problem, simulated
from benchmarks.rates_drawing import rates_figure
from benchmarks.wall import wall_figures
from parnidag.samplers import ADR, MC3, PARNI, REV, OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Asked, Chain, Prepared, Sampler, new_chain
from parnidag.space.default import default_skeleton

SAMPLERS: dict[str, tuple[str, Sampler]] = {
    "parni-gibbs": ("PARNI, block Gibbs", PARNI(moves="paper")),
    "parni": ("parnidag, default", PARNI()),
    "parni-printed": (METHODS["parni-printed"].label, METHODS["parni-printed"].sampler),
    "adr": ("ADR", ADR()),
    "mc3": ("MC3", MC3()),
    "order": ("OrderMCMC", OrderMCMC()),
    "partition": ("PartitionMCMC", PartitionMCMC()),
    "rev": ("REV", REV()),
}
"""By the name that `--methods` takes: what it is called, and the sampler."""
PEERS = {  # iterations a second
    ("parni-printed", "protein"): ("authors' R code", 903),
    ("parni-printed", "gsim100"): ("authors' R code", 154),
    ("adr", "protein"): ("authors' R code", 8_751),
    ("adr", "gsim100"): ("authors' R code", 855),
    ("order", "gsim100"): ("BiDAG", 12_500),
    ("partition", "gsim100"): ("BiDAG", 1_100),
    ("partition", "protein"): ("BiDAG", 450),
}
DATA = ("protein", "gsim100", "n=1000")
OWN_FILE = "file"
STRETCHES = 5
"""The median of so many stretches is a chain's rate."""
FIRST_STEPS = 2_000


@dataclass(frozen=True)
class Size:
    """How much of it."""

    data: tuple[str, ...]
    seconds: float
    """CPU seconds of a measurement."""
    tune: int
    """Iterations of tuning; ten times as many for samplers without a search, which start without edges."""
    replications: int
    cold: bool
    """Whether the first demo ever is timed too, which compiles everything."""


@functools.cache
def problem_at(name: str, path: str | None) -> Problem:
    """Return one of `DATA`, or the user's own file."""
    if name == "n=1000":
        return simulated("simulated, n=1000, N=200", 1000, 1500, 200)
    return paper_problem(name, path)


@functools.cache
def digest_at(name: str, path: str | None) -> str:
    """Return the digest of the data, which takes a while where there are many tasks."""
    return problem_at(name, path).data.digest()


@functools.cache
def prepared_at(sampler: str, data: str, path: str | None) -> Prepared:
    """Do once in each process what all chains of a sampler share."""
    problem, chosen = problem_at(data, path), SAMPLERS[sampler][1]
    none = chosen.default_space == "none"
    considered = None if none else default_skeleton(problem.data, problem.target).considered
    return chosen.prepare(problem.target, Asked(considered, 1, chains=1))


def tuned_chain(sampler: str, data: str, path: str | None, tune: int, seed: int) -> Chain:
    """Return a chain after tuning, with everything compiled."""
    target, chosen, prepared = problem_at(data, path).target, SAMPLERS[sampler][1], prepared_at(sampler, data, path)
    assert prepared.starts is not None
    chain = new_chain(target, prepared.starts[0], seed, 0)
    chosen.begin(target, prepared, chain, tune)
    chosen.advance(target, chain, tune)
    return chain


def run_rate(
    sampler: str, described: object, data: str, digest: str, seconds: float, tune: int, seed: int, path: str | None
) -> Outcome:
    """Measure one chain."""
    problem, chosen = problem_at(data, path), SAMPLERS[sampler][1]
    assert (digest_at(data, path), chosen.describe()) == (digest, described)
    chain = tuned_chain(sampler, data, path, tune, seed)
    before, first = chosen.totals(chain).get("evaluations", 0.0), chain.iteration
    rates = stretches(chosen, problem, chain, seconds / STRETCHES)
    evaluations = chosen.totals(chain).get("evaluations", 0.0) - before
    return Outcome(
        figures={
            "iterations_per_second": float(np.median(rates)),
            "evaluations": evaluations / (chain.iteration - first),
            "memo_hits": chain.memo_hit_rate,
        },
        arrays={"rates": np.array(rates)},
    )


def stretches(sampler: Sampler, problem: Problem, chain: Chain, seconds: float) -> list[float]:
    """Return iterations a CPU second in stretches of at least so many seconds."""
    steps, rates = FIRST_STEPS, list[float]()
    while len(rates) < STRETCHES:
        start = time.thread_time()
        sampler.advance(problem.target, chain, steps)
        taken = time.thread_time() - start
        if taken < seconds:
            steps = int(steps * max(1.2, min(10.0, seconds / max(taken, 1e-4))))
            continue
        rates.append(steps / taken)
    return rates


def run_wall(data: str, digest: str, seconds: float, tune: int, repeats: int, cold: bool, path: str | None) -> Outcome:
    """Time what is counted in wall time, one thing after the other."""
    problem, sampler = problem_at(data, path), SAMPLERS["parni"][1]
    assert digest_at(data, path) == digest
    chains = [tuned_chain("parni", data, path, tune, seed=1) for _ in range(2)]
    return Outcome(figures=wall_figures(sampler, problem.target, chains, seconds, repeats, cold))


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the chains, replication by replication, and then what is counted in wall time."""
    path = None if request.data is None else str(request.data)
    names = size.data if request.file is None else (OWN_FILE,)
    replications, seconds = request.replications or size.replications, request.seconds or size.seconds
    found = [
        Task(
            function="benchmarks.studies.speed:run_rate",
            settings={
                "sampler": sampler,
                "described": SAMPLERS[sampler][1].describe(),
                "data": name,
                "digest": digest_at(name, path),
                "seconds": seconds,
                "tune": size.tune * (10 if SAMPLERS[sampler][1].default_space == "none" else 1),
                "seed": request.seed_of(replication),
            },
            labels={"sampler": sampler, "data": problem_at(name, path).name, "replication": replication},
            place={"path": path},
        )
        for replication in range(replications)
        for sampler in request.chosen(tuple(SAMPLERS))
        for name in names
    ]
    if request.methods is not None and "parni" not in request.methods:
        return found
    last = names[min(1, len(names) - 1)]
    return [*found, wall_task(last, path, seconds, size, replications)]


def wall_task(data: str, path: str | None, seconds: float, size: Size, repeats: int) -> Task:
    """Return the task of what is counted in wall time."""
    return Task(
        function="benchmarks.studies.speed:run_wall",
        settings={
            "data": data,
            "digest": digest_at(data, path),
            "seconds": seconds,
            "tune": size.tune,
            "repeats": repeats,
            "cold": size.cold,
        },
        labels={"sampler": "wall time", "data": problem_at(data, path).name, "replication": 0},
        place={"path": path},
    )


def report(request: Request, size: Size, found: Found) -> Report:
    """Return rates beside the peers'."""
    rates = [(task, outcome) for task, outcome in found if task.labels["sampler"] in SAMPLERS]
    lines, shown, peers = [], dict[tuple[str, str], list[float]](), dict[tuple[str, str], tuple[str, float]]()
    for (sampler, data), members in grouped(rates, ["sampler", "data"]).items():
        label, key = SAMPLERS[str(sampler)][0], (SAMPLERS[str(sampler)][0], str(data))
        done = [outcome.figures for _, outcome in members if outcome.status == "done"]
        if not done:
            lines.append([label, str(data), "–", "", "", members[0][1].note, ""])
            continue
        values = [float(figures["iterations_per_second"] or 0) for figures in done]
        shown[key] = values
        evaluated = float(np.median([float(figures["evaluations"] or 0) for figures in done]))
        peer = PEERS.get((str(sampler), str(data)))  # none for data that only look like those of the peers
        if peer is not None:
            peers[key] = peer
        lines.append(
            [
                label,
                str(data),
                f"{thousands(float(np.median(values)))} ({thousands(min(values))} – {thousands(max(values))})",
                str(len(values)),
                f"{evaluated:.1f}" if evaluated else "",
                "" if peer is None else f"{peer[0]} {peer[1]:,}",
                "" if peer is None else f"{np.median(values) / peer[1]:,.0f}×",
            ]
        )
    table = markdown_table(
        ["sampler", "data", "iterations/s (range)", "chains", "evaluated", "peer", "ratio"], lines, left=2
    )
    text = (
        "Iterations a second of CPU time, one chain after tuning: median over chains and range; evaluated "
        "neighbourhoods an iteration, where a sampler counts them. Neither compiling nor the search that precedes "
        "sampling is charged. The ratio divides by what the peer reached on another machine, some time ago, and counts "
        "iterations, not effective draws; those of different algorithms are different amounts of work: compare within "
        f"a row.\n\n{table}"
    )
    wall = [outcome for task, outcome in found if task.labels["sampler"] == "wall time"]
    text += "".join(f"\n\n{wall_text(outcome)}" for outcome in wall)
    return Report(rows_of(found), text, {"": rates_figure(shown, peers)} if shown else {})


def wall_text(outcome: Outcome) -> str:
    """Say what was counted in wall time."""
    if outcome.status != "done":
        return f"Wall time: {outcome.note}"
    said = [("first demo ever, with compilation", "cold_demo_seconds"), ("demo", "demo_seconds")]
    said.append(("`--help`", "help_seconds"))
    times = [f"{words} {float(value):.1f} s" for words, key in said if (value := outcome.figures.get(key)) is not None]
    return (
        f"Wall time, medians: two chains on two threads {float(outcome.figures['threads_gain'] or 0):.2f} times as "
        f"fast as one after the other ({outcome.figures['cores']} cores); {', '.join(times)}."
    )


def thousands(value: float) -> str:
    """Round to three digits and group them."""
    digits = max(0, int(np.floor(np.log10(max(value, 1.0)))) - 2)
    return f"{round(value, -digits):,.0f}"


SPEED = Study(
    name="speed",
    about="iterations a second of every sampler, beside the peers'",
    methods=tuple(SAMPLERS),
    sizes={
        "quick": Size(("protein", "gsim100"), seconds=0.5, tune=30_000, replications=2, cold=False),
        "standard": Size(DATA, seconds=1.5, tune=300_000, replications=5, cold=True),
        "paper": Size(DATA, seconds=5.0, tune=300_000, replications=20, cold=True),
    },
    tasks=tasks,
    report=report,
    data=("a file", "a folder"),
)
