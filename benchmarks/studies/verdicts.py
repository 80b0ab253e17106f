"""Does "converged" mean right? The verdict of every sampler against the exact posterior, on data sets easy and nasty.

The data sets are those of `benchmarks.battery`; with `--data FOLDER` also the tables of numbers that a folder holds.
Limits of a verdict are to be chosen with one `--seed` and reported with another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from benchmarks.battery import FAMILIES, LARGE_Z, REAL, SAMPLERS, Shape, real_tables
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task
from parnidag.results.verdict import SUM_DIFFERS, TRUE_ERROR_LIMIT

LENGTHS = {"default": 1000, "short": 100}
"""Draws by the name of a length."""
LIMITS = (0.02, 0.05, 0.2)
"""Largest errors of an edge probability; the first is small enough for any use."""
SERIOUS = LIMITS[1]
DATA_SET = ("family", "shape", "replication")
"""The labels that name a data set."""
BY_NAME = ("default", "parni", "tempered", "partition")


@dataclass(frozen=True)
class Size:
    """Shapes of each family, how many of them have runs of default length, data sets of each, and samplers."""

    shapes: int | None
    long: int | None
    replications: int
    methods: tuple[str, ...] = BY_NAME


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the runs, data set by data set; those of a few nodes first, so that a part is a sample of all families."""
    methods = request.chosen(tuple(SAMPLERS)) if request.methods else size.methods
    asked: list[tuple[str, Shape | str, int]] = [
        (name, shape, number)
        for name, family in FAMILIES.items()
        for number, shape in enumerate(family.shapes[: size.shapes])
    ]
    if request.data is not None:
        asked += [(REAL, file, number) for number, file in enumerate(real_tables(request.data)[: size.shapes])]
    asked.sort(key=lambda one: one[2])
    return [
        Task(
            function="benchmarks.battery:judge_run",
            settings={
                "family": family,
                "shape": shape,
                "method": method,
                "draws": draws,
                "seed": request.seed_of(100 * replication + number),
            },
            labels={
                "family": family,
                "shape": shape if isinstance(shape, str) else "-".join(map(str, shape)),
                "replication": replication,
                "method": method,
                "length": length,
            },
            place={"folder": request.folder},
        )
        for replication in range(request.replications or size.replications)
        for family, shape, number in asked
        for length, draws in LENGTHS.items()
        if length == "short" or size.long is None or number < size.long
        for method in methods
    ]


HEADINGS = [
    "runs",
    "converged",
    *(f"of these wrong by > {limit}" for limit in LIMITS),
    "worst",
    "agreed, and caught by the check",
    f"alarms at error ≤ {LIMITS[0]}",
    "rms z",
    f"z > {LARGE_Z:g}",
    "CPU s",
]


def line_of(members: Found) -> list[str]:
    """Return the cells below `HEADINGS` for some runs."""
    runs = pd.DataFrame([outcome.figures for _, outcome in members if outcome.status == "done"])
    if runs.empty:
        return ["0", *["–"] * (len(HEADINGS) - 1)]
    believed, right = runs[runs.converged == "yes"], runs[runs.error <= LIMITS[0]]
    errors, count = believed.error, int(believed.z_count.sum())
    return [
        str(len(runs)),
        f"{len(believed) / len(runs):.0%}",
        *(_share((errors > limit).sum(), len(errors)) for limit in LIMITS),
        f"{errors.max():.3f}" if len(errors) else "–",
        str(runs.verdict.str.startswith(SUM_DIFFERS).sum()),
        _share((right.converged != "yes").sum(), len(right)),
        f"{math.sqrt(believed.z_squares.sum() / count):.2f}" if count else "–",
        f"{believed.z_large.sum() / count:.1%}" if count else "–",
        f"{runs.cpu_seconds.mean():.1f}",
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})" if whole else "–"


def report(request: Request, size: Size, found: Found) -> Report:
    """Return how often each sampler's verdict was right: in all, by family, and the runs that were wrong."""
    by_method = grouped(found, ["method", "length"])
    by_family = grouped(found, ["method", "length", "family"])
    lines = [[*map(str, key), *line_of(members)] for key, members in sorted(by_method.items())]
    parts = [
        f"Largest error of any edge probability against the exact posterior, {len(grouped(found, DATA_SET))} data "
        "sets. Converged includes exact. Caught: chains that agreed and were wrong by more than "
        f"{TRUE_ERROR_LIMIT}, where a sum over all graphs was cheap enough to tell; beyond some 17 columns it is not. "
        f"Alarms: runs not said to have converged though right to {LIMITS[0]}. Z: errors over claimed Monte-Carlo "
        "errors, in converged runs. Default length: "
        f"{LENGTHS['default']} draws, short: {LENGTHS['short']}.",
        markdown_table(["sampler", "length", *HEADINGS], lines, left=2),
        "By family:",
        markdown_table(
            ["sampler", "length", "family", *HEADINGS],
            [
                [*map(str, key), *line_of(members)]
                for key, members in sorted(by_family.items(), key=lambda item: item[0][:2])
            ],
            left=3,
        ),
    ]
    wrong = [member for member in found if is_believed(member[1]) and error_of(member[1]) > SERIOUS]
    if wrong:
        parts += [f"Said to have converged, and wrong by more than {SERIOUS}:", wrong_table(wrong)]
    failed = [f"- {task.describe()}: {outcome.note.strip()}" for task, outcome in found if outcome.status != "done"]
    parts += ["Without an answer:", "\n".join(failed)] if failed else []
    return Report(rows_of(found), "\n\n".join(parts))


def is_believed(outcome: Outcome) -> bool:
    return outcome.figures.get("converged") == "yes"


def error_of(outcome: Outcome) -> float:
    return float(outcome.figures["error"])  # type: ignore[arg-type]


def wrong_table(wrong: Found) -> str:
    """Return what the runs that were wrong said of themselves, the worst first."""
    names = ("error", "claimed_error", "disagreement_max", "rhat_edges_max", "rhat_log_posterior", "ess_edges_min")
    ordered = sorted(wrong, key=lambda member: -error_of(member[1]))
    lines = [
        [*map(str, task.labels.values()), *(_figure(outcome.figures.get(name)) for name in names)]
        for task, outcome in ordered
    ]
    return markdown_table([*wrong[0][0].labels, *names], lines, left=len(wrong[0][0].labels))


def _figure(value: object) -> str:
    return "–" if value is None else f"{value:.3g}"


VERDICTS = Study(
    name="verdicts",
    about='whether "converged" means right: verdicts against exact posteriors',
    methods=tuple(SAMPLERS),
    sizes={
        "quick": Size(2, 1, 1),
        "standard": Size(None, None, 2),
        "paper": Size(None, None, 10, tuple(SAMPLERS)),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
