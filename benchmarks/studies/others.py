"""Somebody else's benchmark: the settings of SVI-DAG's study, and what its authors published beside what we find."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks import published_svi_dag as published
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import Interval, markdown_table, mean_interval, plus_minus
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.svi_dag import CASES, METHODS, digest_of_files, judge
from parnidag.plots._axes import GREY, colour_of

COVERAGE_ROWS = 1000
ALWAYS = {False: ("rule",), True: ("rule", "auto")}
"""Methods that are run unless `--methods` says otherwise, where relations are straight and where they are curved."""
LABELS = {"rule": "parnidag, score by the rule", "auto": "parnidag, default", "spline": 'parnidag, score="spline"'}


@dataclass(frozen=True)
class Size:
    """Draws of each of four chains, data sets of each kind, and their numbers of rows."""

    draws: int
    replications: int
    rows: tuple[int, ...]
    cases: tuple[str, ...] = ("case2", "case5", "case3", "case6")


def run(
    case: str, rows: int, method: str, draws: int, seed: int, replication: int, folder: str | None, files: str = ""
) -> Outcome:
    """Judge our answer on one data set; `files` only tells data sets of a folder apart."""
    return judge(case, rows, method, draws, seed, replication, None if case == "coverage" else folder)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and method; a seed has the same graphs at every number of rows."""
    asked = [(case, rows) for case in size.cases for rows in size.rows] + [("coverage", COVERAGE_ROWS)]
    found = []
    for replication in range(request.replications or size.replications):
        for case, rows in asked:
            methods = request.chosen(METHODS if request.methods else ALWAYS[CASES[case].curved])
            for method in methods:
                settings = {"case": case, "rows": rows, "method": method, "draws": size.draws}
                settings |= {"seed": request.seed_of(replication), "replication": replication}
                labels = {"case": case, "rows": rows, "replication": replication, "method": method}
                place = {"folder": request.folder}
                if request.folder is not None and case != "coverage":
                    settings["files"] = digest_of_files(request.folder, case, rows, replication)
                found.append(Task("benchmarks.studies.others:run", settings, labels, place))
    return found


def report(request: Request, size: Size, found: Found) -> Report:
    """Return a table for each case, what is published of all methods, coverage, and a figure."""
    groups = grouped(found, ["case", "rows", "method"])
    parts = [
        "Expected distance to the true graph (lower is better): between CPDAGs where relations are straight, between "
        "DAGs with turned edges counted twice where they are curved. Means over data sets with the 95 % interval; F1, "
        "Brier score and area under the ROC curve as that study defines them. A graph without edges has a distance of "
        "the number of edges."
    ]
    for case in size.cases:
        keys = [key for key in groups if key[0] == case]
        if keys:
            parts += [f"**{CASES[case].label}**", markdown_table(HEADINGS, [line(key, groups[key]) for key in keys], 2)]
    parts += ["All that is published, expected distances:", everything_published(size)]
    parts += [coverage_text(groups)] if any(key[0] == "coverage" for key in groups) else []
    return Report(rows_of(found), "\n\n".join(parts), {"": figure(groups, size)})


HEADINGS = ["rows", "", "SHD", "F1", "Brier", "ROC area", "CPU s", "spline chosen", "best published SHD"]


def line(key: tuple[object, ...], members: Found) -> list[str]:
    case, rows, method = key
    best = published.closest(str(case), int(str(rows)))
    cells = [summed(members, "shd", ".1f"), summed(members, "f1", ".2f"), summed(members, "brier", ".3f")]
    cells += [summed(members, "roc_area", ".3f"), summed(members, "cpu_seconds", ".1f", interval=False)]
    done = [outcome for _, outcome in members if outcome.status == "done"]
    cells += [f"{sum(outcome.figures['score'] == 'Spline' for outcome in done)} of {len(done)}"]
    return [
        f"{int(str(rows)):,}",
        LABELS[str(method)],
        *cells,
        "–" if best is None else f"{best[1].shd:.1f} ({best[0]})",
    ]


def values_of(members: Found, figure: str) -> list[float]:
    return [float(outcome.figures[figure]) for _, outcome in members if outcome.status == "done"]  # type: ignore[arg-type]


def summed(members: Found, figure: str, form: str, interval: bool = True) -> str:
    """Write a mean; the interval of two values is too wide to say anything."""
    found = values_of(members, figure)
    mean = mean_interval(found)
    if not interval or len(found) < 3:
        mean = Interval(mean.middle, float("nan"), float("nan"))
    return plus_minus(mean, form)


def everything_published(size: Size) -> str:
    lines = []
    for case in size.cases:
        for place, rows in enumerate(published.ROWS):
            cells = [f"{figures[place].shd:.1f}" for figures in published.FIGURES[case].values()]
            lines.append([CASES[case].label, f"{rows:,}", *cells, f"{CASES[case].edges}"])
    return markdown_table(["", "rows", *published.FIGURES[size.cases[0]], "no edges at all"], lines, 2)


def coverage_text(groups: dict[tuple[object, ...], Found]) -> str:
    members = next(found for key, found in groups.items() if key[0] == "coverage")
    theirs, error = published.COVERAGE
    mean = plus_minus(mean_interval(values_of(members, "coverage")))
    return (
        f"Coverage of the true class ({CASES['coverage'].label}, N = {COVERAGE_ROWS}): of the graphs that data cannot "
        f"tell from the true one, {mean} are among 1000 draws (mean over {len(members)} data sets with the 95 % "
        f"interval); SVI-DAG's authors report {theirs:.2f} ± {error:.2f} (standard error)."
    )


def figure(groups: dict[tuple[object, ...], Found], size: Size) -> Figure:
    """Distances against rows, a panel for each case."""
    drawn, axes = plt.subplots(1, len(size.cases), figsize=(3.2 * len(size.cases), 3.4), layout="constrained")
    for ax, case in zip(drawn.axes if len(size.cases) > 1 else [axes], size.cases, strict=True):
        for figures in published.FIGURES[case].values():
            known = [(rows, one.shd) for rows, one in zip(published.ROWS, figures, strict=True)]
            ax.plot(*zip(*known, strict=True), "o-", color=GREY, linewidth=0.8, markersize=3)
        for place, method in enumerate(METHODS):
            keys = [key for key in groups if key[0] == case and key[2] == method]
            if keys:
                means = [mean_interval(values_of(groups[key], "shd")).middle for key in keys]
                rows = [int(str(key[1])) for key in keys]
                ax.plot(rows, means, "o-", color=colour_of(place), label=LABELS[method], markersize=5)
        ax.axhline(CASES[case].edges, color=GREY, linewidth=0.8, linestyle=":")
        ax.set(title=CASES[case].label, xscale="log", yscale="symlog", xlabel="rows")
        ax.set_ylim(bottom=0)
    drawn.axes[0].set_ylabel("expected distance (grey: published, dotted: no edges)")
    drawn.axes[-1].legend(frameon=False, fontsize="small")
    return drawn


OTHERS = Study(
    name="others",
    about="another study's settings (SVI-DAG, arXiv 2608.04930), with its published figures beside ours",
    methods=METHODS,
    sizes={
        "quick": Size(100, 1, (100, 1000), ("case2", "case3")),
        "standard": Size(250, 3, (10, 100, 1000, 10_000)),
        "paper": Size(250, 5, (10, 32, 100, 316, 1000, 3162, 10_000)),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
