"""Networks of classes that others have published: who finds their graphs, from how many rows, in what time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks.bif import NETWORKS
from benchmarks.class_learners import LABELS, LEARNERS, judge
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import Interval, markdown_table, mean_interval, plus_minus
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.studies.accuracy import WHY_NOT
from parnidag.plots._axes import colour_of

IMPORTING = 10.0
COMPILING = 180.0
"""CPU seconds more until a process is ended: imports, and compiling once a machine, are not charged."""
SMALL = ("asia", "cancer", "earthquake", "survey", "child", "insurance", "alarm")
LARGE = ("hailfinder", "hepar2", "win95pts", "pathfinder", "andes", "pigs")
"""By their numbers of nodes."""
GIVEN_UP: Mapping[str, str] = {"ges": "andes", "hill-climb": "pigs"}
"""The first of these networks that a method is not asked for: from there on ten CPU minutes are too short, by the time
of its first sweep over all pairs of columns."""


@dataclass(frozen=True)
class Size:
    """Draws of each chain of ours, data sets, numbers of rows, and the CPU seconds that anybody may take."""

    draws: int
    replications: int
    rows: tuple[int, ...]
    networks: tuple[str, ...]
    limit: float


def run(network: str, rows: int, method: str, draws: int, seed: int, folder: str | None) -> Outcome:
    """Judge one method on one data set."""
    return judge(network, rows, method, draws, seed, folder)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and method, small networks first."""
    limit = request.seconds or size.limit
    return [
        Task(
            "benchmarks.studies.discrete:run",
            {"network": network, "rows": rows, "method": method, "draws": size.draws, "seed": request.seed_of(k)},
            {"network": network, "rows": rows, "replication": k, "method": method},
            {"folder": request.folder},
            limit=limit + (COMPILING if method.startswith("parnidag") else IMPORTING),
        )
        for k in range(request.replications or size.replications)
        for network in size.networks
        for rows in size.rows
        for method in request.chosen(tuple(LEARNERS))
        if is_tried(method, network)
    ]


def is_tried(method: str, network: str) -> bool:
    """Is there hope that a method finishes?"""
    hopeless = LARGE[LARGE.index(GIVEN_UP[method]) :] if method in GIVEN_UP else ()
    return network not in hopeless


def report(request: Request, size: Size, found: Found) -> Report:
    """Return a table of distances, one of distances between classes, and one of CPU seconds."""
    limit = request.seconds or size.limit
    found = [(task, in_time(outcome, limit)) for task, outcome in found]
    groups = grouped(found, ["network", "rows", "method"])
    methods = [name for name in LEARNERS if any(key[2] == name for key in groups)]
    parts = [
        "Distance to the true graph (a turned edge counts once); of methods that leave directions open, a DAG of their "
        f"class. A method may take {limit:g} CPU seconds (“no time” else)."
    ]
    if any(unconverged(members) for members in groups.values()):
        parts[0] += " † does not say of itself that its chains have converged."
    tables: Sequence[tuple[str, str, str]] = (
        ("", "shd", ".1f"),
        ("Between equivalence classes (CPDAGs), which is all that data can tell:", "cpdag_shd", ".1f"),
        ("CPU seconds:", "cpu_seconds", ".2f"),
    )
    for words, figure, form in tables:
        parts += [words] if words else []
        parts += [table(groups, methods, figure, form)]
    return Report(rows_of(found), "\n\n".join(parts), {"": drawn(groups, methods)})


def in_time(outcome: Outcome, limit: float) -> Outcome:
    """Return an outcome, or none if it used the time that is meant for imports and compiling."""
    late = outcome.status == "done" and float(outcome.figures["cpu_seconds"]) > limit  # type: ignore[arg-type]
    return Outcome("stopped", note=f"done after more than {limit:g} CPU seconds") if late else outcome


def table(groups: dict[tuple[object, ...], Found], methods: list[str], figure: str, form: str) -> str:
    lines = []
    for network, rows in dict.fromkeys(key[:2] for key in groups):
        members = [groups.get((network, rows, method), []) for method in methods]
        known = next((one.figures for found in members for _, one in found if one.status == "done"), None)
        size = "" if known is None else f" ({known['nodes']} nodes, {known['edges']} edges)"
        lines.append([f"{network}{size}", f"{int(str(rows)):,}", *(cell(found, figure, form) for found in members)])
    return markdown_table(["", "rows", *(LABELS[method] for method in methods)], lines, 2)


def cell(members: Found, figure: str, form: str) -> str:
    """Write the mean, with its interval from three data sets on; or why there is none."""
    done = [float(one.figures[figure]) for _, one in members if one.status == "done"]  # type: ignore[arg-type]
    if not done:
        return WHY_NOT.get(members[0][1].status, "–") if members else "not measured"
    mean = mean_interval(done)
    if len(done) < 3 or figure == "cpu_seconds":
        mean = Interval(mean.middle, float("nan"), float("nan"))
    lost = f" ({len(done)} of {len(members)} sets)" if len(done) < len(members) else ""
    return plus_minus(mean, form) + lost + (" †" if unconverged(members) else "")


def unconverged(members: Found) -> bool:
    """Does any of the runs say that it has not converged, or not that it has?"""
    return any(str(one.figures.get("converged", True)) != "True" for _, one in members)


def drawn(groups: dict[tuple[object, ...], Found], methods: list[str]) -> Figure:
    """Distance between classes against CPU seconds, a point for each network and number of rows."""
    figure, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
    for k, method in enumerate(methods):
        points = [
            (one.figures["cpu_seconds"], float(one.figures["cpdag_shd"]) / float(one.figures["edges"]))  # type: ignore[arg-type]
            for key, members in groups.items()
            if key[2] == method
            for _, one in members
            if one.status == "done"
        ]
        if points:
            ax.plot(*zip(*points, strict=True), "o", color=colour_of(k), label=LABELS[method], markersize=4, alpha=0.8)
    ax.set(xscale="log", xlabel="CPU seconds", ylabel="distance between classes, by the number of edges")
    ax.legend(frameon=False, fontsize="small")
    return figure


DISCRETE = Study(
    name="discrete",
    about="published networks of classes: our default beside PC, GES and hill climb",
    methods=tuple(LEARNERS),
    sizes={
        "quick": Size(100, 1, (500, 1000), SMALL[:4], 60.0),
        "standard": Size(250, 1, (500, 1000, 10_000), SMALL, 600.0),
        "paper": Size(1000, 5, (500, 1000, 10_000), NETWORKS, 600.0),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
LARGER = replace(
    DISCRETE,
    name="larger",
    about="the same for published networks of 56 to 441 nodes",
    sizes={
        "quick": Size(100, 1, (500,), LARGE[:1], 60.0),
        "standard": Size(250, 1, (500, 1000, 10_000), LARGE, 600.0),
        "paper": Size(1000, 5, (500, 1000, 10_000), LARGE, 600.0),
    },
)
