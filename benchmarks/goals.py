"""The default sampler beside its goals: `python -m benchmarks.mixing --goals`.

Everything is done as `sample()` does it: default starts, default search space, default settings.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

import parnidag
from benchmarks.chains import warm_up
from benchmarks.figures import BestKnown, Cell, Referee, measure
from benchmarks.problems import Problem, replicate
from parnidag.samplers import PARNI

AGREEMENT_GOALS = {"gsim100": (1.0, 0.35, 0.005), "strong50": (None, 0.1, 0.005), "strong100": (None, 0.1, 0.005)}
"""CPU seconds to the best score known (in every chain), disagreement of chains on any edge, and its rms."""
ERROR_GOALS = {2.0: 2e-8, 60.0: 1e-9}
"""CPU seconds of one chain on the protein data: mean squared error of its edge probabilities."""
PEERS_BEST = -12627.1976
"""The best score of gsim100 that the peers' searches found, without the constants of the nodes."""
SETUP_GOAL, SETUP_PROBLEMS = 0.25, ("gsim100", "strong50", "protein")
"""Share of a default run that is not sampling."""

Say = Callable[[str], None]


def show_goals(options: argparse.Namespace, known: BestKnown, console: Console, say: Say) -> None:
    """Measure and print every goal."""
    warm_up([PARNI()])
    for name in AGREEMENT_GOALS:
        console.print(agreement_table(name, options, known, say))
    console.print(error_table(options, say))
    console.print(setup_table(options, say))


def problem_of(name: str, options: argparse.Namespace, number: int = 0) -> Problem:
    problem = replicate(name, options.data_dir, number)
    assert problem is not None  # these problems have simulated stand-ins
    return problem


def agreement_table(name: str, options: argparse.Namespace, known: BestKnown, say: Say) -> Table:
    """Return time to the best score and disagreement of chains, replicate by replicate."""
    cells: list[Cell] = []
    for number in range(options.seeds):
        problem = problem_of(name, options, number)
        cells.append(
            measure(
                problem,
                "parni",
                PARNI(),
                "found",
                number,
                chains=options.chains,
                seconds=options.seconds,
                jobs=options.jobs,
                referee=Referee(most_nodes=0),
            )
        )
        say(f"{problem.name} #{number}: max {cells[-1].figures['disagreement_max']:.3f}")
    wanted, most, rms = AGREEMENT_GOALS[name]
    within = "" if wanted is None else f"every chain at the best known in {wanted:g} CPU seconds, "
    table = Table(
        title=f"{cells[0].problem}: PARNI(), {options.chains} chains of {options.seconds:g} CPU seconds; "
        f"goals: {within}max ≤ {most:g}, rms ≤ {rms:g}",
        caption="Best known: the best score of this study (or of --known) on the data set, with all constants.",
    )
    for heading in ("replicate", "best known", "s to best, slowest chain", "reached", "max", "rms", "goals met"):
        table.add_column(heading, justify="right")
    met_all = 0
    for row, cell in zip(known.rows(cells), cells, strict=True):
        slowest = max(cell.times_to(float(row["best_known"])))
        found = float(row["disagreement_max"]), float(row["disagreement_rms"])
        met = [slowest <= (wanted or math.inf), found[0] <= most, found[1] <= rms]
        met_all += all(met)
        table.add_row(
            str(cell.replicate),
            f"{row['best_known']:.4f}",
            f"{slowest:.2f}".replace("inf", "never"),
            f"{row['reached_best']}/{row['chains']}",
            f"{found[0]:.3f}",
            f"{found[1]:.4f}",
            "yes" if all(met) else "no",
        )
    if cells[0].problem == "gsim100":
        table.caption = f"{table.caption} {beside_peers(problem_of(name, options), known)}"
    table.add_section()
    table.add_row("met", "", "", "", "", "", f"{met_all}/{len(cells)}")
    return table


def beside_peers(problem: Problem, known: BestKnown) -> str:
    """Return the best score known without the constants of the nodes' likelihoods, as the peers give it."""
    n, rows = problem.data.n_nodes, problem.data.n_rows
    constant = n * (math.lgamma(rows / 2) - rows / 2 * math.log(2 * math.pi))
    return f"Without those of the nodes: {known[problem.name, problem.data_set] - constant:.4f}; peers {PEERS_BEST}."


def error_table(options: argparse.Namespace, say: Say) -> Table:
    """Return the error of single chains on the protein data, replicate by replicate."""
    problem, referee = problem_of("protein", options), Referee()
    table = Table(title=f"{problem.name}: mean squared error of one chain, median (range)")
    for heading in ("CPU seconds", "chains", "MSE", "goal", "met"):
        table.add_column(heading, justify="right")
    for seconds, goal in ERROR_GOALS.items():
        if seconds > min(ERROR_GOALS) and not options.long:
            say(f"{problem.name}: the chains of {seconds:g} s are left out without --long")
            continue
        cell = measure(
            problem,
            "parni",
            PARNI(),
            "found",
            0,
            chains=options.chains,
            seconds=seconds,
            jobs=options.jobs,
            referee=referee,
        )
        median, lowest, highest = (float(cell.figures[f"mse_{which}"]) for which in ("median", "lowest", "highest"))
        error = f"{median:.1e} ({lowest:.1e} – {highest:.1e})"
        table.add_row(f"{seconds:g}", str(options.chains), error, f"{goal:.0e}", "yes" if median <= goal else "no")
    return table


def setup_table(options: argparse.Namespace, say: Say) -> Table:
    """Return which share of a default run precedes or follows sampling, in wall time."""
    table = Table(title="share of the set-up in a default sample()")
    for heading in ("problem", "set-up s", "sampling s", "total s", "share", "goal", "met"):
        table.add_column(heading, justify="left" if heading == "problem" else "right")
    for name in SETUP_PROBLEMS:
        problem = problem_of(name, options)
        timings = parnidag.sample(problem.data, seed=1, progress=False).diagnostics().timings
        stages = {stage: seconds for stage, seconds in timings.items() if stage not in ("sampling", "total")}
        say(f"{problem.name}: {', '.join(f'{stage} {seconds:.3f}' for stage, seconds in stages.items())}")
        before, total = sum(stages.values()), timings["total"]
        table.add_row(
            problem.name,
            f"{before:.2f}",
            f"{timings['sampling']:.2f}",
            f"{total:.2f}",
            f"{before / total:.0%}",
            f"{SETUP_GOAL:.0%}",
            "yes" if before / total <= SETUP_GOAL else "no",
        )
    return table
