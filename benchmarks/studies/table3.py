"""Table 3: how well the graphs of four known networks are found from a hundred rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from benchmarks.drawing import row_of_panels
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table, mean_interval
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import ESTIMATES, LEARNERS, METHODS, OF_ONE_GRAPH, describe, estimate_of, label_of, peer_of
from benchmarks.networks import NETWORKS, asked_network
from benchmarks.published import TABLE3 as PUBLISHED
from benchmarks.studies.accuracy import (
    cell,
    counted,
    distance_tables,
    run_on,
    seconds_table,
    task_of,
)
from parnidag.plots._axes import GREY, colour_of

ROWS = 100


@dataclass(frozen=True)
class Size:
    """How much of it: CPU seconds of a chain, data sets, CPU seconds that a baseline may take, and networks."""

    seconds: float
    replications: int
    limit: float
    networks: tuple[str, ...] = NETWORKS
    fewer: Mapping[str, int] = field(default_factory=dict)
    """Slow methods, and how many data sets they get."""


def run(
    network: str, numbers: str, method: str, described: object, rows: int, seconds: float, seed: int, folder: str | None
) -> Outcome:
    """Run a method on one data set."""
    known = asked_network(network, folder)
    assert (known.digest(), describe(method)) == (numbers, described)
    return run_on(known, method, rows, seconds, seed)


def replications_of(method: str, request: Request, size: Size) -> int:
    """Return how many data sets a method gets; what the user asks for is for all."""
    return request.replications or size.fewer.get(method, size.replications)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and method."""
    digests = {network: asked_network(network, request.folder).digest() for network in size.networks}
    return [
        task_of(
            "benchmarks.studies.table3:run",
            {
                "network": network,
                "numbers": digests[network],
                "method": method,
                "rows": ROWS,
                "seconds": request.seconds or size.seconds,
                "seed": request.seed_of(replication),
            },
            {"network": network, "replication": replication},
            {"folder": request.folder},
            size.limit,
        )
        for replication in range(request.replications or size.replications)
        for network in size.networks
        for method in request.chosen(METHODS)
        if replication < replications_of(method, request, size)
    ]


def beside_paper(found: Found) -> str:
    """Return each method by the estimate that the paper reports of it, with the paper's figures."""
    columns = list(dict.fromkeys(str(task.labels["network"]) for task, _ in found))
    groups = grouped(found, ["method", "network"])
    lines = []
    for method in (*METHODS, "DECI"):
        peer, members = PUBLISHED.get(peer_of(method) or "", {}), []
        if not peer and not any((method, column) in groups for column in columns):
            continue
        cells = []
        for column in columns:
            here = groups.get((method, column), [])
            paper = peer.get(column)
            cells.append(cell(here, f"shd_{estimate_of(method)}") if here else "not run")
            cells.append("–" if paper is None else f"{paper[0]:.2f} ± {paper[1]:.2f}")
            members += here
        lines.append([counted(method, members), judged_by(method), *cells])
    heads = [text for column in columns for text in (column, "paper's")]
    return markdown_table(["", "by", *heads], lines, left=2)


def judged_by(method: str) -> str:
    """Return the name of the estimate that stands for a method in the paper's table."""
    if method == "DECI":
        return ""
    kinds = ESTIMATES if method in LEARNERS or method.startswith("DiBS") else OF_ONE_GRAPH
    return kinds[estimate_of(method)]


def report(request: Request, size: Size, found: Found) -> Report:
    """Return the paper's table with ours, then every estimate and both distances."""
    parts = [
        f"SHD to the true DAG (a turned edge counts once), N = {ROWS}, mean over data sets with the 95 % interval; "
        "the column “by” names the estimate: the paper's own for its methods, and for parnidag another one, the "
        "pairwise mode, which is usually closer to the truth; further down samplers are compared by the same one. PC "
        "and GES are taken as they are, an undirected edge being an error. "
        f"Every sampler had {request.seconds or size.seconds:g} CPU seconds. Order, iterative and partition MCMC: BGe, "
        "odds of an edge 1/(2 log n). parnidag's default: BGe with a learned scale, h = 2/n. All others: the paper's "
        "score, g = 10, with h = 1/100 (ADR, PARNI-DAG) or as said. DECI was not run: its package does not install on "
        "current Python.",
        beside_paper(found),
        *distance_tables(found, "network"),
        "CPU seconds a data set:",
        seconds_table(found, "network", list(size.networks)),
    ]
    return Report(rows_of(found), "\n\n".join(parts), {"": figure_of(found)})


def figure_of(found: Found) -> Figure:
    """Draw means and intervals, ours filled and the paper's open, one panel a network."""
    columns = list(dict.fromkeys(str(task.labels["network"]) for task, _ in found))
    groups = grouped(found, ["method", "network"])
    present = [method for method in METHODS if any((method, column) in groups for column in columns)]
    names = [*present, "DECI"]
    figure, axes = row_of_panels(len(columns), 2.3 * len(columns) + 2.2, 0.32 * len(names) + 1.2)
    for ax, column in zip(axes.flat, columns, strict=True):
        for k, method in enumerate(names):
            peer = PUBLISHED.get(peer_of(method) or "", {}).get(column)
            if peer is not None:
                ax.errorbar(peer[0], k + 0.16, xerr=peer[1], fmt="o", ms=5, mfc="white", color=colour_of(1), lw=1)
            members = groups.get((method, column), [])
            values = [float(one.figures[f"shd_{estimate_of(method)}"]) for _, one in members if one.status == "done"]
            if values:
                middle = mean_interval(values)
                reach = 0.0 if np.isnan(middle.low) else middle.half
                ax.errorbar(middle.middle, k - 0.16, xerr=reach, fmt="s", ms=5, color=colour_of(0), lw=1.4)
        ax.set_title(column, fontsize="medium")
        ax.grid(axis="x", color="#e6e6e6", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    said = {name: f" ({judged_by(name)})" if name in LEARNERS else "" for name in names}
    axes.flat[0].set_yticks(range(len(names)), [label_of(name) + said[name] for name in names])
    axes.flat[0].invert_yaxis()
    axes.flat[-1].plot([], [], "s", color=colour_of(0), label="here")
    axes.flat[-1].plot([], [], "o", mfc="white", color=colour_of(1), label="paper's")
    figure.legend(loc="outside lower right", ncols=2, frameon=False, fontsize="small")
    figure.supxlabel("SHD to the true DAG, lower is better", fontsize="small", color=GREY)
    return figure


TABLE3 = Study(
    name="table3",
    about="four known networks: distance to the true graph, beside baselines",
    methods=METHODS,
    sizes={
        "quick": Size(1.0, 1, 10.0, ("ecoli70", "magic-niab")),
        "standard": Size(3.0, 20, 300.0, NETWORKS, {"DiBS": 1, "DiBS+": 1}),
        "paper": Size(60.0, 20, 3600.0),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
