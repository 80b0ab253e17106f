"""Where no sum over all graphs can referee, 25 to 60 columns: do two whole runs that say "converged" agree?

Two runs of one data set differ in their seed alone, and so in their searches, starts and chains. What one of them finds
and the other does not, neither may claim. Agreement does not prove that both are right; disagreement proves that one is
wrong.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import parnidag
from benchmarks.battery import FAMILIES, SAMPLERS, Shape, own_figures
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task

# fmt: off
SHAPES: dict[str, Sequence[Shape]] = {
    "sparse": [(25, 100, 0.1), (40, 500, 0.05), (60, 200, 0.03)],
    "medium": [(25, 500, 0.2), (30, 300, 0.25), (40, 1000, 0.15)],
    "dense": [(25, 1000, 0.35), (26, 1000, 0.5), (40, 500, 0.2)],
    "weak": [(25, 1000, 0.3), (40, 300, 0.3)],
    "near-deterministic": [(25, 200, 0.1), (30, 1000, 0.05)],
    "hubs": [(30, 200, 1), (30, 500, 0)],
    "wild units": [(25, 300, 6), (40, 1000, 3)],
    "near-copies": [(25, 200, 0.1), (30, 500, 0.3)],
    "BGe": [(25, 300, 0.2), (40, 1000, 0.1)],
    "interactions": [(25, 500, 0.5), (40, 1000, 0.5)],
    "parity": [(25, 1000, 3)],
    "interventions": [(25, 500, 0.2), (40, 1000, 0.1)],
    "tiers": [(25, 200, 2), (40, 500, 3)],
}
# fmt: on
"""Of the families of `benchmarks.battery`: nodes, rows and level."""
LIMITS = (0.05, 0.2)


@dataclass(frozen=True)
class Size:
    """Shapes of each family, and data sets of each."""

    shapes: int | None
    replications: int


def two_runs(family: str, shape: Shape, method: str, seed: int) -> Outcome:
    """Run a sampler twice on one data set."""
    question = FAMILIES[family].make(*shape, seed)
    sampler, began, runs = SAMPLERS[method], time.process_time(), []
    for offset in (0, 1):
        options = {"score": question.score, "prior": question.prior, "sampler": sampler, "seed": 2 * seed + offset}
        runs.append(parnidag.sample(question.data, progress=False, **options))
    seconds = (time.process_time() - began) / 2
    found = [own_figures(run) for run in runs]
    gaps = np.abs(runs[0].edge_probabilities.to_numpy() - runs[1].edge_probabilities.to_numpy())
    return Outcome(
        figures={
            "difference": float(gaps.max()),
            "differing": int((gaps > LIMITS[0]).sum()),
            "believed": sum(one["converged"] == "yes" for one in found),
            "on_ladders": sum("ladders_after" in run.settings for run in runs),
            "cpu_seconds": seconds,
            "verdicts": " / ".join(str(one["verdict"]) for one in found),
        }
    )


def tasks(request: Request, size: Size) -> list[Task]:
    return [
        Task(
            function="benchmarks.studies.agreement:two_runs",
            settings={
                "family": family,
                "shape": list(shape),
                "method": method,
                "seed": request.seed_of(100 * replication + number),
            },
            labels={
                "family": family,
                "shape": "-".join(map(str, shape)),
                "replication": replication,
                "method": method,
            },
        )
        for replication in range(request.replications or size.replications)
        for family, shapes in SHAPES.items()
        for number, shape in enumerate(shapes[: size.shapes])
        for method in request.chosen(METHODS)
    ]


METHODS = ("default", "parni")
HEADINGS = [
    "pairs",
    "runs believed",
    "pairs believed",
    *(f"of these differ by > {limit}" for limit in LIMITS),
    "worst",
    "worst of all",
    "runs on ladders",
    "CPU s a run",
]


def line_of(members: Found) -> list[str]:
    """Return the cells below `HEADINGS` for some pairs of runs."""
    pairs = pd.DataFrame([outcome.figures for _, outcome in members if outcome.status == "done"])
    if pairs.empty:
        return ["0", *["–"] * (len(HEADINGS) - 1)]
    both = pairs[pairs.believed == 2].difference
    return [
        str(len(pairs)),
        f"{pairs.believed.sum() / (2 * len(pairs)):.0%}",
        f"{len(both) / len(pairs):.0%}",
        *(str((both > limit).sum()) for limit in LIMITS),
        f"{both.max():.3f}" if len(both) else "–",
        f"{pairs.difference.max():.3f}",
        f"{pairs.on_ladders.sum() / (2 * len(pairs)):.0%}",
        f"{pairs.cpu_seconds.mean():.1f}",
    ]


def report(request: Request, size: Size, found: Found) -> Report:
    """Return how far two runs differ: in all, by family, and data set by data set where they were not believed."""
    parts = [
        "Largest difference of any edge probability between two whole runs of one data set. Believed: said to have "
        "converged.",
        markdown_table(
            ["sampler", *HEADINGS],
            [[*map(str, key), *line_of(members)] for key, members in grouped(found, ["method"]).items()],
        ),
        markdown_table(
            ["family", "sampler", *HEADINGS],
            [[*map(str, key), *line_of(members)] for key, members in grouped(found, ["family", "method"]).items()],
            left=2,
        ),
    ]
    open_pairs = [
        [*map(str, task.labels.values()), *(f"{outcome.figures[name]:.3g}" for name in ("difference", "differing"))]
        for task, outcome in found
        if outcome.status == "done" and outcome.figures["believed"] != 2
    ]
    if open_pairs:
        names = ["family", "nodes-rows-level", "data set", "sampler", "difference", f"edges > {LIMITS[0]}"]
        parts += ["Pairs that were not both said to have converged:", markdown_table(names, open_pairs, left=4)]
    failed = [f"- {task.describe()}: {outcome.note.strip()}" for task, outcome in found if outcome.status != "done"]
    parts += ["Without an answer:", "\n".join(failed)] if failed else []
    return Report(rows_of(found), "\n\n".join(parts))


AGREEMENT = Study(
    name="agreement",
    about="whether two whole runs of 25 to 60 columns agree where both say that they converged",
    methods=METHODS,
    sizes={"quick": Size(1, 1), "standard": Size(None, 1), "paper": Size(None, 5)},
    tasks=tasks,
    report=report,
)
